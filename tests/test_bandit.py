"""The friendly face: labels, ranges, delay, threads, printing, and mistakes that change nothing."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
import threading
import tracemalloc

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import (
    ForeignPullError,
    InvalidArgumentError,
    OutOfRangeError,
    PullError,
    RepeatedPullError,
    SolverError,
    StateError,
    UnknownPullError,
)
from bothworlds.simplex.kernel import FAILED


def test_three_lines():
    bandit = bw.Bandit(["blue", "green", "red"], seed=7)
    pull = bandit.pull()
    bandit.update(pull, reward=0.0)
    assert pull.round == 1
    assert pull.arm == pull.observe
    assert pull.probability == 1 / 3
    assert bandit.probabilities[pull.arm] == min(bandit.probabilities.values()) < 1 / 3
    assert bandit.policy == bw.policies.DEFAULT == bw.Watched(bw.InsuredSampler())


def test_policies_by_name():
    assert bw.Bandit(2, "thompson").policy == bw.Thompson()
    assert bw.Bandit(2, policy="tsallis-inf").policy == bw.TsallisINF()


@pytest.mark.parametrize("kind", [bw.Bandit, bw.Bandits])
def test_an_argument_that_does_not_exist_is_refused_in_the_name_of_bandit(kind):
    with pytest.raises(TypeError, match=r"^Bandit\(\) got an unexpected keyword argument 'drift'"):
        kind(3, drift=0.1)
    with pytest.raises(TypeError, match=r"^Bandit\(\) missing 1 required positional argument: 'arms'$"):
        bw.Bandit()


def test_its_length_is_the_number_of_arms():
    assert len(bw.Bandit(["a", "b", "c"])) == 3


def test_feedback_without_a_name_is_refused():
    bandit = bw.Bandit(2, seed=1)
    pull = bandit.pull()
    unchanged(
        bandit,
        InvalidArgumentError,
        r"reward must be given by its name, got 0.7; write update\(pull, reward=0.7\) or update\(pull, loss",
        lambda: bandit.update(pull, 0.7),
    )


def test_arms_by_number_and_numpy_labels():
    assert bw.Bandit(3).arms == (0, 1, 2)
    assert bw.Bandit(np.int64(2)).arms == (0, 1)
    assert bw.Bandit(np.array([10, 20])).arms == (10, 20)
    assert bw.Bandit(["a", 1]).arms == ("a", 1)
    assert bw.Bandit([9.99, 12.99]).arms == (9.99, 12.99)
    assert bw.Bandit([False, True]).arms == (False, True)
    for array in (np.array(["a", "b"]), np.array([1.5, 2.5]), np.array([True, False])):
        assert [type(label) for label in bw.Bandit(array).arms] == [type(array[0].item())] * 2


def test_labels_of_all_kinds_survive_saving():
    arms = ["a", 1, 2.5, False, ("a", 1), ("b", (2.5, "c"))]
    bandit = bw.Bandit(arms, seed=1)
    pulls = [bandit.pull() for _ in range(30)]
    twin = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    assert twin.arms == tuple(arms)
    assert list(map(type, twin.arms)) == list(map(type, arms))
    for pull in pulls:
        again = bw.Pull.from_dict(json.loads(json.dumps(pull.to_dict())))
        assert again == pull
        twin.update(again, loss=0.5)


def test_reward_and_loss_are_two_words_for_one_thing():
    by_reward, by_loss = bw.Bandit(3, seed=1), bw.Bandit(3, seed=1)
    scaled = bw.Bandit(3, seed=1, low=-10.0, high=30.0)
    for i in range(50):
        loss = (i % 4) / 4
        by_reward.update(by_reward.pull(), reward=1 - loss)
        by_loss.update(by_loss.pull(), loss=loss)
        scaled.update(scaled.pull(), reward=30.0 - 40.0 * loss)
    assert by_reward.probabilities == by_loss.probabilities
    assert scaled.probabilities == pytest.approx(by_loss.probabilities, rel=1e-12)


@pytest.mark.parametrize("value", [0, 1, 1.0, True, False, np.True_, np.float32(0.5), np.int64(1)])
def test_any_kind_of_number_is_feedback(value):
    bandit = bw.Bandit(2, seed=0)
    bandit.update(bandit.pull(), reward=value)
    assert bandit.outstanding == ()


def after_one(value, **options):
    bandit = bw.Bandit(2, seed=0, **options)
    bandit.update(bandit.pull(), reward=value)
    return bandit.to_dict()["loss_sums"], bandit.probabilities


def test_rounding_is_taken_for_the_end_of_the_range():
    assert after_one(1.0000001) == after_one(1.0) == after_one(True) == after_one(np.float32(1.0000001))
    assert after_one(-1e-7) == after_one(0.0) == after_one(np.False_)
    wide = {"low": -1e6, "high": 1e6}
    assert after_one(1e6 + 1.0, **wide) == after_one(1e6, **wide)
    with pytest.raises(OutOfRangeError, match=r"got 1000003.0"):
        after_one(1e6 + 3.0, **wide)


def test_clip_takes_what_is_beyond_for_the_end():
    assert after_one(70.0, high=50.0, clip=True) == after_one(50.0, high=50.0)
    assert after_one(-3, clip=True) == after_one(0.0)
    for value in (math.nan, math.inf, "much"):
        with pytest.raises(InvalidArgumentError, match="reward must be a finite number"):
            after_one(value, clip=True)
    bandit = bw.Bandit(2, clip=True)
    assert bw.Bandit.from_dict(bandit.to_dict()).to_dict()["clip"] is True


def test_pulls_without_feedback_leave_the_distribution_alone():
    bandit = bw.Bandit(3, seed=1)
    bandit.update(bandit.pull(), loss=1)
    before = bandit.probabilities
    pulls = [bandit.pull() for _ in range(20)]
    assert bandit.probabilities == before
    assert [pull.round for pull in pulls] == list(range(2, 22))
    assert bandit.outstanding == tuple(pulls)


def test_delayed_feedback_is_weighted_by_the_pulls_own_probability():
    # Tsallis-INF (α = ½): the cumulative estimates are Σ loss/p of each pull, in whatever order they come
    bandit = bw.Bandit(3, bw.TsallisINF(), seed=4)
    expected, waiting = np.zeros(3), []
    rng = np.random.default_rng(5)
    for _ in range(200):
        waiting.append(bandit.pull())
        while len(waiting) > 10 or (waiting and rng.random() < 0.3):
            pull = waiting.pop(rng.integers(len(waiting)))
            loss = float(rng.random())
            expected[pull.observe] += loss / pull.probability
            bandit.update(pull, loss=loss)
    seen = 200 - len(waiting)
    s = bw.solve(expected, math.sqrt(1 + seen), bw.Tsallis(0.5))
    np.testing.assert_allclose(list(bandit.probabilities.values()), s.p, rtol=1e-9)


def restarted(policy=None, seed=3):
    """A bandit after a restart, and a pull of it from before and one from after."""
    bandit = bw.Bandit(["a", "b", "c"], policy, seed=seed)
    for _ in range(20):
        pull = bandit.pull()
        bandit.update(pull, reward=float(pull.arm == "a"))
    late = bandit.pull()
    bandit.restart()
    return bandit, late, bandit.pull()


@pytest.mark.parametrize("policy", [None, bw.Thompson(), bw.FTRL(bw.LogBarrier(), constants="light")])
def test_restart_forgets_what_was_learned_and_keeps_the_rest(policy):
    bandit, late, early = restarted(policy)
    fresh = bw.Bandit(["a", "b", "c"], policy)
    assert bandit.probabilities == fresh.probabilities
    assert bandit.rounds == 22
    assert bandit.outstanding == (late, early)
    assert sum(int(line.split()[2]) for line in str(bandit).splitlines()[2:]) == 22
    bandit.update(late, reward=1.0)  # accepted, and not learned from
    assert bandit.probabilities == fresh.probabilities
    assert bandit.to_dict()["seen"] != [0, 0, 0]
    bandit.update(early, reward=0.0)
    assert bandit.probabilities != fresh.probabilities
    with pytest.raises(RepeatedPullError):
        bandit.update(late, reward=1.0)


def test_after_a_restart_it_plays_as_a_new_one_on_the_same_stream():
    bandit, late, early = restarted()
    twin = bw.Bandit(["a", "b", "c"], seed=3)
    for _ in range(21):
        twin.pull()
    assert twin.pull()[:4] == early[:4]
    for each, outstanding in ((bandit, early), (twin, twin.outstanding[-1])):
        each.update(outstanding, reward=0.25)
    bandit.update(late, reward=1.0)
    assert twin.pull()[:4] == bandit.pull()[:4]


def test_restarts_are_saved():
    bandit, late, early = restarted()
    for twin in (
        bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))),
        pickle.loads(pickle.dumps(bandit)),
        copy.deepcopy(bandit),
    ):
        before = twin.probabilities
        twin.update(late, reward=1.0)
        assert twin.probabilities == before
        twin.update(early, reward=0.0)
        assert twin.probabilities != before


def test_a_file_that_knows_of_no_restarts_can_be_loaded():
    bandit = bw.Bandit(3, seed=1)
    pull = bandit.pull()
    data = bandit.to_dict()
    del data["restarts"], data["outstanding"][0]["restarts"]
    twin = bw.Bandit.from_dict(data)
    for each in (bandit, twin):
        each.update(pull, loss=1.0)
    assert twin.probabilities == bandit.probabilities
    with pytest.raises(StateError, match=r"restarts must be at least 0, got -1"):
        bw.Bandit.from_dict(data | {"restarts": -1})


def test_a_pull_from_before_a_restart_is_accepted_and_changes_only_what_survives():
    policy = bw.FTRL(bw.LogBarrier(), constants="light", estimator=bw.estimators.CappedBaseline())
    bandit = bw.Bandit(2, policy, seed=3)
    early = bandit.pull()
    for _ in range(4):  # T_0 = 4: the fourth lesson ends the first segment
        bandit.update(bandit.pull(), loss=1.0)
    assert set(bandit.probabilities.values()) == {0.5}
    before = bandit.to_dict()
    bandit.update(early, loss=1.0)
    after = bandit.to_dict()
    assert bandit.outstanding == ()
    changed = {key for key in before["state"] if before["state"][key] != after["state"][key]}
    assert changed == {"scalars"}
    scalars = np.array(after["state"]["scalars"]) - np.array(before["state"]["scalars"])
    # the sum and the number of losses seen, and how much of the sum is older than the restart
    assert np.count_nonzero(scalars) == 3
    in_time = bandit.pull()
    bandit.update(in_time, loss=1.0)
    assert set(bandit.probabilities.values()) != {0.5}


def test_decoupled_pulls_observe_another_arm():
    bandit = bw.Bandit(["a", "b", "c"], bw.DecoupledTsallisINF(), seed=1)
    differ = 0
    for _ in range(300):
        p = bandit.probabilities
        pull = bandit.pull()
        assert pull.probability == p[pull.arm]
        differ += pull.arm != pull.observe
        bandit.update(pull, loss=1.0 if pull.observe != "b" else 0.0)
    assert differ > 15
    assert bandit.probabilities["b"] > 0.9


def test_a_twin_that_went_its_own_way_cannot_mix_up_the_arms():
    bandit = bw.Bandit(4, seed=1)
    twin = bw.Bandit.from_dict(bandit.to_dict())
    for _ in range(20):
        mine, other = bandit.pull(), twin.pull()
        for foreign in (other, other.id):
            with pytest.raises(UnknownPullError, match="loaded from an older state"):
                bandit.update(foreign, loss=0.5)
        bandit.update(mine, loss=0.5)
        twin.update(other, loss=0.5)


def test_a_copy_leaves_the_original_alone():
    bandit = bw.Bandit(3, seed=1)
    bandit.pull()
    before = bandit.to_dict()
    for twin in (copy.copy(bandit), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
        twin.update(twin.outstanding[0], loss=1.0)
        twin.pull()
        assert bandit.to_dict() == before


def test_draws_follow_the_probabilities():
    bandit = bw.Bandit(4, seed=8)
    for i in range(30):
        bandit.update(bandit.pull(), loss=(i * 7 % 10) / 10)
    p = np.array(list(bandit.probabilities.values()))
    counts = np.bincount([bandit.pull().arm for _ in range(20_000)], minlength=4)
    chi_square = ((counts - 20_000 * p) ** 2 / (20_000 * p)).sum()
    assert chi_square < 21.1  # 99.99% quantile of 3 degrees of freedom


# --- mistakes -------------------------------------------------------------------------------------------


def unchanged(bandit, error, message, act):
    before = bandit.to_dict()
    with pytest.raises(error, match=message):
        act()
    assert bandit.to_dict() == before


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        ({}, r"reward must be given, or loss, and not both, got neither"),
        ({"reward": 1.0, "loss": 0.0}, r"reward must be given, or loss, and not both, got both"),
        ({"reward": math.nan}, r"reward must be a finite number at least 0 and at most 1, got nan"),
        ({"loss": math.inf}, r"loss must be a finite number at least 0 and at most 1, got inf"),
        ({"reward": 1.00001}, r"reward must be a finite number at least 0 and at most 1, got 1.00001"),
        ({"reward": 1.5}, r"low=..., high=...\), or clip=True to cut off what is beyond"),
        ({"loss": -0.1}, r"got -0.1; give the range as Bandit\(..., low=..., high=...\)"),
        ({"reward": 1.5}, r"reward must be .* at most 1, got 1.5; give the range as Bandit"),
        ({"reward": "good"}, r"reward must be a finite number .*, got 'good'"),
        ({"loss": None, "reward": [1.0]}, r"reward must be a finite number .*, got \[1.0\]"),
    ],
)
def test_bad_feedback_changes_nothing(feedback, message):
    bandit = bw.Bandit(["a", "b"], seed=1)
    bandit.update(bandit.pull(), loss=1)
    pull = bandit.pull()
    unchanged(bandit, InvalidArgumentError, message, lambda: bandit.update(pull, **feedback))
    bandit.update(pull, loss=0.5)  # and the pull is still good


def test_each_pull_once():
    bandit = bw.Bandit(2, seed=1)
    pull = bandit.pull()
    bandit.update(pull, reward=1)
    unchanged(
        bandit,
        RepeatedPullError,
        "has had its feedback, or was forgotten; each pull is updated once",
        lambda: bandit.update(pull, reward=1),
    )


def test_foreign_unknown_and_invented_pulls():
    bandit, other = bw.Bandit(2, seed=1), bw.Bandit(2, seed=1)
    pull = other.pull()
    bandit.pull()
    unchanged(bandit, ForeignPullError, "was made by another bandit", lambda: bandit.update(pull, reward=1))
    ahead = bandit.outstanding[0]._replace(round=99)
    unchanged(
        bandit,
        UnknownPullError,
        "is not open in this bandit, which has made 1 pull:",
        lambda: bandit.update(ahead, reward=1),
    )
    strange = bandit.outstanding[0]._replace(round="first")
    for odd in (strange, "hello", "hello-3", "-3", "a-b", ""):
        unchanged(
            bandit,
            PullError,
            "nor the id of one|another bandit",
            lambda odd=odd: bandit.update(odd, reward=1),
        )
    unchanged(
        bandit,
        InvalidArgumentError,
        r"pull must be what Bandit.pull\(\) returned, or its id, got 3",
        lambda: bandit.update(3, reward=1),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": 0}, r"arms must be at least 1, got 0; give at least one arm"),
        ({"arms": -2}, r"arms must be at least 1, got -2"),
        ({"arms": 2.5}, r"arms must be an integer, got 2.5"),
        ({"arms": None}, r"arms must be an integer, got None"),
        ({"arms": []}, r"arms must be at least one label, got an empty sequence"),
        ({"arms": "abc"}, r"arms must be a number or a list of labels, got 'abc'; write \['abc', ...\]"),
        ({"arms": ["a", "b", "a"]}, r"arms must be distinct, got 'a' twice"),
        ({"arms": ["a", ""]}, r"arms\[1\] must be a non-empty string, a finite number, or .*, got ''"),
        ({"arms": ["a", None]}, r"arms\[1\] must be a non-empty string, .*, got None"),
        ({"arms": ["a", math.nan]}, r"arms\[1\] must be a non-empty string, .*, got nan"),
        ({"arms": ["a", ("b", None)]}, r"arms\[1\] must be a non-empty string, .*, got \('b', None\)"),
        ({"arms": [1, True]}, r"arms must be distinct, got 1 and True, which are equal"),
        ({"arms": [("a", 1), ("a", 1.0)]}, r"got \('a', 1\) and \('a', 1.0\), which are equal"),
        (
            {"arms": {"a": 1, "b": 2}},
            r"arms must be a list of arms for the slot 'a', got 1; as in .*; without slots list\(arms\)",
        ),
        ({"arms": {"a", "b"}}, r"a list of labels, got .*; a set has no order: write sorted\(arms\)"),
        ({"horizon": 0}, r"horizon must be at least 1, got 0"),
        ({"horizon": 10.5}, r"horizon must be an integer, got 10.5"),
        ({"seed": -1}, r"seed must be at least 0, got -1; use a non-negative integer, or None"),
        ({"seed": "x"}, r"seed must be an integer, got 'x'"),
        ({"low": 1.0}, r"high must be a finite number above 1, got 1.0; high must exceed low"),
        ({"high": math.inf}, r"high must be a finite number above 0, got inf"),
        (
            {"low": -1e308, "high": 1e308},
            r"high must be within the range of floats above low, which is -1e.308, got 1e.308; give",
        ),
        ({"arms": np.array(3.5)}, r"arms must be an integer, got"),
        ({"clip": "yes"}, r"clip must be one of False, True, got 'yes'"),
        ({"low": math.nan}, r"low must be a finite number, got nan"),
        (
            {"policy": 7},
            r"policy must be a policy such as LightBarrier\(\) or TsallisINF\(\), got 7",
        ),
        ({"policy": "ucb"}, r"no policy is called 'ucb'; did you mean 'ucb1'\? Known: .*, thompson, "),
        (
            {"policy": "restarting"},
            r"policy must be a policy that can do without settings, got 'restarting'; write Restarting\(",
        ),
        ({"policy": bw.UCB1}, r"got <class .*UCB1'>; write UCB1\(\)"),
    ],
)
def test_bad_construction_is_named(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.Bandit(**({"arms": ["a", "b", "c"]} | arguments))


def test_a_failing_solver_is_reported_and_the_pull_stays_open(monkeypatch):
    bandit = bw.Bandit(2, seed=1)
    pull = bandit.pull()
    monkeypatch.setattr(bandit, "_learn", lambda *_: FAILED)
    with pytest.raises(
        SolverError, match=r"Watched\(InsuredSampler\(\)\) found no solution after Pull\(round=1"
    ):
        bandit.update(pull, loss=1)
    assert bandit.outstanding == (pull,)


# --- what it says ---------------------------------------------------------------------------------------


def test_repr_says_what_it_knows():
    bandit = bw.Bandit(["blue", "green", "<red>"], seed=7, horizon=100)
    assert repr(bandit) == (
        "<Bandit: 3 arms, Watched(InsuredSampler()), 0 of 100 pulls; likeliest next: blue (33.3%)>"
    )
    for _ in range(20):
        pull = bandit.pull()
        bandit.update(pull, reward=float(pull.arm == "green"))
    bandit.pull()
    assert "21 of 100 pulls, 1 outstanding; likeliest next: green" in repr(bandit)
    text = str(bandit)
    assert text.splitlines()[1].split() == ["arm", "next", "pull", "pulls", "mean", "reward", "so", "far"]
    assert text.splitlines()[2].startswith("green")
    page = bandit._repr_html_()
    assert "&lt;red&gt;" in page
    assert "<red>" not in page
    assert repr(bandit.outstanding[0]).startswith("Pull(round=21, arm=")


def test_the_table_speaks_the_users_units(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")  # one arm is a step of its own
    bandit = bw.Bandit(1, seed=0, low=-10.0, high=10.0)
    bandit.update(bandit.pull(), loss=4.0)
    assert "mean loss" in str(bandit)
    assert str(bandit).splitlines()[2].split() == ["0", "100.00%", "1", "4"]
    bandit.update(bandit.pull(), reward=-4.0)
    assert "mean reward" in str(bandit)
    assert str(bandit).splitlines()[2].split() == ["0", "100.00%", "2", "-4", "██"]


def test_many_arms_are_cut_short():
    bandit = bw.Bandit(100)
    assert str(bandit).splitlines()[-1] == "… and 80 more arms"
    assert "… and 80 more arms" in bandit._repr_html_()
    assert "–" in str(bandit)  # nothing seen yet


# --- endurance ------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.slow
def test_a_million_pulls_leave_no_memory_behind():
    bandit = bw.Bandit(10, seed=1)
    for _ in range(1000):
        bandit.update(bandit.pull(), loss=0.5)
    size = len(str(bandit.to_dict() | {"history": None}))
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20_000):  # traced: slower, but shows every block that stays
            bandit.update(bandit.pull(), loss=0.5)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 20_000  # less than one byte per pull
    for _ in range(979_000):
        bandit.update(bandit.pull(), loss=0.5)
    assert bandit.rounds == 1_000_000
    assert not bandit._open
    assert len(bandit.history) < 64
    assert len(str(bandit.to_dict() | {"history": None})) < size + 500


def test_threads_share_one_bandit():
    bandit = bw.Bandit(5, seed=1)
    pulls, errors = [], []

    def work(k):
        try:
            for i in range(500):
                pull = bandit.pull()
                pulls.append(pull.round)
                bandit.update(pull, loss=((i + k) % 3) / 3)
                if i % 100 == 0:
                    assert sum(bandit.probabilities.values()) == pytest.approx(1)
                    bandit.to_dict()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(pulls) == list(range(1, 4001))
    assert bandit.outstanding == ()


def test_pulling_on_beyond_the_horizon_is_allowed():
    bandit = bw.Bandit(2, bw.FTRL(bw.Shannon(), constants="light"), horizon=10, seed=1)
    for _ in range(30):
        bandit.update(bandit.pull(), loss=0.5)
    assert "30 of 10 pulls" in repr(bandit)


# --- golden runs: these very arms, on every machine ------------------------------------------------------


def golden(policy):
    bandit = bw.Bandit(4, policy, horizon=1000, seed=2023)
    arms = ""
    for i in range(40):
        pull = bandit.pull()
        arms += str(pull.arm)
        bandit.update(pull, loss=((3 * pull.observe + i) % 5) / 4)
    return arms, [round(p, 9) for p in bandit.probabilities.values()]


GOLDEN = {
    bw.LightBarrier(): (
        "0323303303103001032022001322022100323223",
        [0.151638417, 0.115507259, 0.187778172, 0.545076151],
    ),
    bw.TsallisINF(): (
        "0323203313102001021011001222033001313223",
        [0.180929724, 0.280080288, 0.063244436, 0.475745553],
    ),
    bw.TsallisINF(estimator="rv"): (
        "0323102203101001031113003331133111313111",
        [0.164053791, 0.44196533, 0.004025008, 0.389955871],
    ),
    bw.DecoupledTsallisINF(): (
        "0122011001100101022103031020011201111001",
        [0.187389152, 0.359136945, 0.370741459, 0.082732445],
    ),
    bw.FTRL(bw.LogBarrier(), constants="paper"): (
        "0323313313103111021111000211012000312112",
        [0.249629325, 0.244592907, 0.253491471, 0.252286298],
    ),
    bw.FTRL(bw.Tsallis(beta=0.7), constants="light"): (
        "0323313203102001021111001222023000313223",
        [0.168046607, 0.180744246, 0.132184589, 0.519024558],
    ),
    bw.FTRL(bw.Shannon(), constants="light"): (
        "0323313203102001021111001222023000313233",
        [0.171046528, 0.17421939, 0.182953551, 0.471780531],
    ),
    bw.UCB1(): (
        "0123032101231231003120230133132102300012",
        [0.0, 0.0, 1.0, 0.0],
    ),
}


@pytest.mark.parametrize("policy", GOLDEN, ids=repr)
def test_seeded_runs_stay_what_they_were(policy):
    assert golden(policy) == GOLDEN[policy]
