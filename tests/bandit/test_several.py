"""Bandits whose pulls have several arms, or show several outcomes."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from datetime import timedelta

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, RepeatedPullError, StateError

ITEMS = ["ale", "bun", "cod", "dip", "egg", "fig"]


def slate(**options):
    return bw.Bandit(ITEMS, choose=3, horizon=1000, seed=7, **options)


def played(bandit, rounds=50):
    for _ in range(rounds):
        pull = bandit.pull()
        bandit.update(pull, rewards=[float(arm in ITEMS[:3]) for arm in pull.arms])
    return bandit


def test_a_pull_has_as_many_arms_as_are_chosen():
    bandit = slate()
    pull = bandit.pull()
    assert len(set(pull.arms)) == 3
    assert pull.observe == pull.arms
    assert pull.probabilities == pytest.approx((0.5, 0.5, 0.5))
    assert sum(bandit.probabilities.values()) == pytest.approx(3.0, abs=1e-12)
    assert bw.Pull.from_dict(json.loads(json.dumps(pull.to_dict()))) == pull
    with pytest.raises(AttributeError, match=r"a pull of 3 arms has no arm: see pull\.arms"):
        _ = pull.arm
    single = bw.Bandit(ITEMS, seed=7).pull()
    assert single.arms == (single.arm,)
    assert single.probabilities == (single.probability,)


def test_it_learns_the_best_set():
    best = sorted(played(slate(), 300).probabilities.items(), key=lambda item: -item[1])[:3]
    assert {arm for arm, _ in best} == set(ITEMS[:3])
    assert all(p > 0.9 for _, p in best)


def test_rewards_by_place_by_arm_and_losses_are_the_same():
    one, other, third = slate(), slate(), slate()
    for k in range(20):
        pull, twin, another = one.pull(), other.pull(), third.pull()
        rewards = [(k + i) % 3 / 2 for i in range(3)]
        one.update(pull, rewards=rewards)
        other.update(twin.id, rewards=dict(zip(twin.arms, rewards, strict=True)))
        third.update(another, losses=np.array([1.0 - reward for reward in rewards]))
    assert one.probabilities == other.probabilities == third.probabilities
    assert [row.split()[:3] for row in str(one).splitlines()] == [
        row.split()[:3] for row in str(other).splitlines()
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"reward": 1.0}, "reward must be given as rewards for choose=3"),
        ({"rewards": [1.0, 0.0]}, "got 2 numbers"),
        ({"rewards": 1.0}, "rewards must be one for each of"),
        ({"rewards": {"ham": 1.0}}, "got one for 'ham'"),
        ({"rewards": {}}, "rewards must be given for all that was shown"),
        ({"rewards": [0.0, 7.0, 0.0]}, "must be a finite number at least 0 and at most 1, got 7.0"),
        ({"rewards": [0.0, None, 0.0]}, "must be a finite number"),
    ],
)
def test_what_is_wrong_with_feedback_is_said_and_changes_nothing(words, message):
    bandit = played(slate())
    pull = bandit.pull()
    before = bandit.to_dict()
    with pytest.raises(InvalidArgumentError, match=message):
        bandit.update(pull, **words)
    assert bandit.to_dict() == before
    bandit.update(pull, rewards=[0.0, 0.0, 0.0])
    with pytest.raises(RepeatedPullError):
        bandit.update(pull, rewards=[0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"choose": 6}, "choose must be below the number of arms, 6, got 6; choose fewer"),
        ({"choose": 0}, "choose must be"),
        ({"choose": "any"}, "low must be below 0, and high above, for choose='any': an arm that is left out"),
        ({"choose": (0, 3)}, r"never worse than leaving it out; give low .* or write choose=3"),
        ({"choose": (0, 3), "low": -2.0, "high": 0.0}, "got low=-2 and high=0: no arm is worth it"),
        ({"choose": (0, 7), "low": -1.0}, r"choose must be a pair of numbers up to that of the arms, 6"),
        (
            {"choose": (3, 3), "low": -1.0},
            r"the fewest and the most, which differ, got \(3, 3\); write choose=3",
        ),
        ({"choose": (0, 1, 2), "low": -1.0}, "choose must be a pair of numbers"),
        ({"choose": "some", "low": -1.0}, r"choose must be a number, a pair such as \(0, 3\), or 'any'"),
        ({"choose": "any", "low": -1.0, "policy": bw.UCB1()}, "which is not for sets; these are: .*LBINFV"),
        ({"choose": "any", "low": -1.0, "high": None}, "high must be given for choose='any'"),
        ({"choose": 2.5}, "choose must be"),
        ({"shows": {"ale": ["ale"], "ham": []}}, "shows must be an arm of this bandit, got 'ham'"),
        ({"shows": {"ale": ITEMS}}, "shows must be given for every arm"),
        ({"shows": {arm: ["ale"] for arm in ITEMS}}, "nothing that shows 'bun'; let it show itself"),
        (
            {"shows": {arm: arm for arm in ITEMS}},
            r"a list of arms for 'ale', got 'ale'; write {'ale': \['ale'\]",
        ),
        ({"shows": dict.fromkeys(ITEMS)}, "a list of arms for 'ale', got None"),
        ({"shows": {arm: [arm, arm] for arm in ITEMS}}, r"distinct arms for 'ale', got \['ale', 'ale'\]"),
        ({"choose": 2, "policy": bw.LBINFV(), "horizon": None}, r"for sets HybridINF\(\)"),
        ({"shows": "some"}, "shows must be a dict of arms"),
        ({"shows": "all", "policy": bw.KLUCB()}, r"got KLUCB\(\), which is not for graphs; these .*AdaHedge"),
        ({"switching_cost": -1.0}, "switching_cost must be a finite number at least 0, got -1.0"),
        ({"switching_cost": 1.0, "policy": bw.UCB1()}, "which is not for switching costs"),
        ({"switching_cost": 1.0, "high": None}, "switching_cost must be 0 where the range of rewards is not"),
        (
            {"switching_cost": 1.0, "policy": bw.TsallisSwitch(2.0)},
            "policy must be with the cost of the",
        ),
        ({"choose": 2, "shows": "all"}, "no policy plays both"),
        ({"choose": 2, "policy": bw.UCB1()}, r"got UCB1\(\), which is not for sets; these are: .*LBINFV"),
        ({"choose": 2, "policy": bw.Watched(bw.TsallisINF())}, "which is not for sets"),
        ({"choose": 2, "evidence": "full"}, "evidence must be left out for choose=2"),
        ({"choose": 2, "high": None}, "high must be given for choose=2"),
        ({"choose": 2, "floor": 0.01}, "floor must be left out for choose=2"),
        ({"choose": 2, "fixed": {"ale": 0.1}}, "fixed must be left out for choose=2"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.Bandit(ITEMS, **({"horizon": 1000} | options))


def test_switching_costs_are_in_units_of_the_rewards():
    bandit = bw.Bandit(ITEMS, high=10, switching_cost=5.0, seed=7)
    same = bw.Bandit(ITEMS, bw.TsallisSwitch(0.5), high=10, seed=7)
    assert bandit.policy == same.policy
    for _ in range(40):
        pull, twin = bandit.pull(), same.pull()
        assert (pull.arm, pull.probability) == (twin.arm, twin.probability)
        bandit.update(pull, reward=3.0)
        same.update(twin, reward=3.0)
    again = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    assert again.pull().arm == bandit.pull().arm


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda bandit: bandit.pull(5), "n must be left out for choose=3"),
        (lambda bandit: bandit.pull(among=ITEMS[:4]), "among must be left out for choose=3"),
        (lambda bandit: bandit.disable("ale"), "arms must be those of the beginning"),
        (lambda bandit: bandit.retire("ale"), "arms must be those of the beginning"),
        (lambda bandit: bandit.add("ham"), "arms must be those of the beginning"),
        (lambda bandit: bandit.explain(bandit.outstanding[0]), "pull must be left out for choose=3"),
        (lambda bandit: bandit.learn({"action": ["ale"], "reward": [1.0]}), "log must be left out"),
        (lambda bandit: bandit.evidence(), "evidence must be kept from the beginning"),
    ],
)
def test_what_is_for_single_arms_is_refused(call, message):
    bandit = played(slate(), 5)
    bandit.pull()
    before = bandit.to_dict()
    with pytest.raises(InvalidArgumentError, match=message):
        call(bandit)
    assert bandit.to_dict() == before


def test_a_log_of_decisions_is_for_single_arms(tmp_path):
    bandit = slate()
    with bw.DecisionLog(tmp_path / "decisions.jsonl") as log:
        with pytest.raises(InvalidArgumentError, match="log must be left out for choose=3"):
            bandit.log = log
        assert bandit.log is None


def keep_copying(bandit):
    yield copy.deepcopy(bandit)
    yield pickle.loads(pickle.dumps(bandit))
    yield bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))


def test_saved_copied_and_loaded_it_continues_the_same():
    bandit = played(slate())
    pulls = [bandit.pull() for _ in range(3)]
    for twin in keep_copying(bandit):
        assert twin.problem == bandit.problem
        assert [pull.arms for pull in twin.outstanding] == [pull.arms for pull in pulls]
        twin.update(pulls[1].id, rewards=[1.0, 0.0, 0.5])
        twin.forget(pulls[0])
        following = twin.pull()
        again = copy.deepcopy(bandit)
        again.update(pulls[1], rewards=[1.0, 0.0, 0.5])
        again.forget(pulls[0].id)
        assert again.pull()[:4] == following[:4]
        assert again.probabilities == twin.probabilities
        assert len(twin.outstanding) == 2


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data["outstanding"][0]["draw"]["arms"].pop(), "has 2 arms"),
        (lambda data: data["outstanding"][0]["draw"]["weights"].__setitem__(0, 0.0), "weights"),
        (lambda data: data["outstanding"][0]["draw"]["shown"].__setitem__(0, 9), "shown"),
        (lambda data: data["problem"].__setitem__("choose", 2), "sum to 2"),
        (lambda data: data["problem"].__setitem__("choose", 6), "choose must be below"),
    ],
)
def test_a_damaged_file_is_refused(damage, message):
    bandit = slate()
    bandit.pull()
    data = json.loads(json.dumps(bandit.to_dict()))
    damage(data)
    with pytest.raises(StateError, match=message):
        bw.Bandit.from_dict(data)


def test_a_wait_and_what_is_missing():
    bandit = slate(wait=1, missing=0.0)
    told = slate()
    pull, same = bandit.pull(), told.pull()
    told.update(same, rewards=[0.0, 0.0, 0.0])
    bandit.pull()  # the wait of the first is over
    assert bandit.probabilities == told.probabilities
    bandit.update(pull, rewards=[1.0, 1.0, 1.0])
    assert bandit.late == 1
    assert bandit.probabilities == told.probabilities


def test_at_the_deadline_it_learns_in_the_order_of_decision():
    deferred = slate(wait=timedelta(days=1), learn_at="deadline")
    pull = deferred.pull()
    deferred.update(pull, rewards=[1.0, 0.0, 1.0])
    fresh = slate().probabilities
    assert deferred.probabilities == fresh
    assert deferred.outstanding == ()
    with pytest.raises(RepeatedPullError):
        deferred.update(pull, rewards=[1.0, 0.0, 1.0])
    loaded = bw.Bandit.from_dict(deferred.to_dict())
    loaded._wait = deferred._wait = type(deferred._wait)(None, 0.0)  # a day later
    assert loaded.probabilities == deferred.probabilities != fresh


def test_a_key_has_its_set():
    bandit = played(slate())
    assert len({bandit.pull(key="ann").arms for _ in range(5)}) == 1
    assert len({bandit.pull(key=number).arms for number in range(50)}) > 1


def test_a_restart_forgets_and_outdates():
    bandit = played(slate())
    pull = bandit.pull()
    bandit.restart()
    bandit.update(pull, rewards=[1.0, 1.0, 1.0])
    assert bandit.probabilities == slate().probabilities


def test_threads_share_it():
    bandit = slate()

    def play():
        for _ in range(20):
            pull = bandit.pull()
            bandit.update(pull, rewards=[float(arm in ITEMS[:3]) for arm in pull.arms])

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bandit.rounds == 80
    assert sum(bandit._pulls) == sum(bandit._seen) == 240
    assert bandit.outstanding == ()


def test_segments(tmp_path):
    bandits = bw.Bandits(ITEMS, choose=3, horizon=1000, seed=7)
    pull = bandits["nl"].pull()
    bandits["nl"]._pack()
    bandits["nl"].update(pull, rewards=[1.0, 0.0, 0.0])
    bandits.save(tmp_path / "segments")
    loaded = bw.Bandits.load(tmp_path / "segments")
    assert loaded["nl"].probabilities == bandits["nl"].probabilities
    assert loaded["be"].problem == bandits["be"].problem


def any_set(**options):
    return bw.Bandit(ITEMS, choose="any", low=-1.0, seed=7, **options)


def test_any_set_learns_which_arms_are_worth_it():
    bandit = any_set()
    sizes = set()
    for _ in range(300):
        pull = bandit.pull()
        sizes.add(len(pull.arms))
        bandit.update(pull, rewards={arm: 0.5 if arm in ITEMS[:2] else -0.5 for arm in pull.arms})
    assert len(sizes) > 1
    assert {arm for arm, p in bandit.probabilities.items() if p > 0.5} == set(ITEMS[:2])


def test_an_empty_set_is_a_round_too():
    bandit = bw.Bandit(ITEMS[:2], bw.HybridINF(), choose="any", low=-1.0, seed=7)
    pull = bandit.pull()
    while pull.arms:
        bandit.update(pull, rewards=[-1.0] * len(pull.arms))
        pull = bandit.pull()
    assert bw.Pull.from_dict(json.loads(json.dumps(pull.to_dict()))) == pull
    with pytest.raises(AttributeError, match="a pull of 0 arms has no arm"):
        _ = pull.arm
    for twin in keep_copying(bandit):
        before = twin.probabilities
        with pytest.raises(InvalidArgumentError, match="got one for 'ale'"):
            twin.update(pull, rewards={"ale": 1.0})
        twin.update(pull, rewards={})
        assert all(p > before[arm] for arm, p in twin.probabilities.items())  # they have not been seen lately
    bandit.update(pull, rewards=[])
    with pytest.raises(RepeatedPullError):
        bandit.update(pull, rewards=[])


def test_an_empty_set_is_learned_at_its_deadline():
    late, prompt = (
        bw.Bandit(ITEMS[:2], choose=(0, 1), low=-1.0, seed=3, **options)
        for options in ({"wait": 1, "learn_at": "deadline"}, {})
    )
    sets = []
    for _ in range(30):
        for bandit in (late, prompt):
            pull = bandit.pull(key="one") if not sets else bandit.pull()
            bandit.update(pull, rewards=[-0.5] * len(pull.arms))
        sets.append(pull.arms)
    assert () in sets
    assert late.rounds == 30
    pull = late.pull()
    late.update(pull, rewards=[-0.5] * len(pull.arms))
    with pytest.raises(RepeatedPullError):
        late.update(pull, rewards=[-0.5] * len(pull.arms))


def test_where_sizes_differ_losses_are_refused():
    bandit = any_set()
    pull = bandit.pull()
    with pytest.raises(InvalidArgumentError, match="losses must be given as rewards for choose='any'"):
        bandit.update(pull, losses=[0.0] * len(pull.arms))


PAGE = {"headline": ["short", "long", "pun"], "picture": ["cat", "dog"]}


def test_one_for_each_slot():
    bandit = bw.Bandit(PAGE, seed=7, horizon=1000)
    for _ in range(200):
        pull = bandit.pull()
        headline, picture = pull.arms
        assert headline in PAGE["headline"]
        assert picture in PAGE["picture"]
        bandit.update(pull, rewards={arm: float(arm in ("pun", "dog")) for arm in pull.arms})
    assert min(bandit.probabilities["pun"], bandit.probabilities["dog"]) > 0.9
    assert bandit.slots == {name: tuple(arms) for name, arms in PAGE.items()}
    pull = bandit.pull()
    for twin in keep_copying(bandit):
        assert twin.slots == bandit.slots
        assert twin.probabilities == bandit.probabilities
        twin.update(pull.id, rewards=[1.0, 0.0])


def test_slots_are_bandits_side_by_side():
    """With policies that solve each slot on its own; draws differ, so both are fed the same rounds."""
    losses = 0.1 * np.random.default_rng(1).random((20, 2))
    rows = [[t % 3, 3 + t % 2] for t in range(20)]
    both = bw.replay(bw.HybridINF(), n_arms=5, arms=rows, losses=losses, slots=[3, 2])
    for first, last, place in ((0, 3, 0), (3, 5, 1)):
        arms = [row[place] - first for row in rows]
        alone = bw.replay(bw.HybridINF(), n_arms=last - first, arms=arms, losses=losses[:, place])
        np.testing.assert_allclose(both.p[:, first:last], alone.p, rtol=1e-9)


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ({}, "arms must be a dict of slots and the arms for each"),
        (
            {"headline": "short", "picture": ["cat", "dog"]},
            "a list of arms for the slot 'headline', got 'short'",
        ),
        (
            {"headline": ["short"], "picture": ["cat", "dog"]},
            "two or more for the slot 'headline', got 1 arm",
        ),
        ({"headline": ["a", "b"], "picture": ["b", "c"]}, r"got 'b' for both .*; write \('picture', 'b'\)"),
        ({"a": 1.0, "b": 2.0}, r"without slots list\(arms\)"),
    ],
)
def test_bad_slots(arms, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.Bandit(arms)


def test_slots_of_a_damaged_file():
    data = bw.Bandit(PAGE, seed=7).to_dict()
    for damage in ({"problem": {"slots": [3, 3]}}, {"slots": ["headline"]}):
        with pytest.raises(StateError, match="slots"):
            bw.Bandit.from_dict(data | damage)


def test_one_arm_is_the_usual_bandit():
    usual, chosen = bw.Bandit(ITEMS, seed=7), bw.Bandit(ITEMS, seed=7, choose=1)
    assert usual.policy == chosen.policy
    assert usual.pull()[:4] == chosen.pull()[:4]
    assert usual.problem == bw.Problem()
