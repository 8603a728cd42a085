"""Arms that sleep, arrive and retire: against published pseudocode, and what a user relies on."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.policies.base import (
    grow,
    init,
    inspect,
    pull_among,
    pull_once,
    read_among,
    read_distribution,
    update_among,
    update_once,
)
from cases import CASES
from oracle import sleeping
from playing import interpret

HORIZON = 1000
ORACLES = {
    "tsallis-inf": (bw.TsallisINF(), sleeping.FTARL),
    "exp3": (bw.EXP3(), sleeping.SBEXP3),
    "light-barrier": (bw.LightBarrier(), sleeping.LightBarrier),
    "ito21": (bw.Ito21(), lambda n, ever: sleeping.Ito21(n, ever, HORIZON, 0.25)),
}


DEEP = ("light-barrier", "ito21")  # 60 digits of them take seconds


@pytest.fixture(autouse=True)
def _as_python(request, monkeypatch):
    """Kernels for some of the arms take seconds to compile, for every policy; with ``compiled`` they are."""
    if "compiled" not in request.keywords:
        monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
        interpret(
            monkeypatch, pull_among, pull_once, read_among, read_distribution, update_among, update_once
        )


@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in DEEP else []) for name in ORACLES]
)
def test_round_by_round(name, late):
    policy, reference = ORACLES[name]
    bandit = bw.Bandit(4, policy, seed=3, horizon=HORIZON if name == "ito21" else None)
    oracle = reference(4, 6)
    random = np.random.default_rng(5)
    drawn = {}
    for t in range(90):
        if t in (20, 50):
            bandit.add(oracle.seen)
            oracle.arrive()
        if t == 35:
            bandit.disable(1)
        if t == 60:
            bandit.enable(1)
        if t == 65:
            bandit.retire(0)
            oracle.retire(0)
        enabled = [arm for arm in bandit.arms if arm not in bandit.disabled]
        np.testing.assert_allclose(
            [bandit.probabilities[arm] for arm in enabled],
            [float(p) for p in oracle.distribution(enabled).values()],
            rtol=1e-9,
        )
        asked = [arm for arm in enabled if random.random() < 0.6] if t % 3 == 0 else enabled
        asked = asked or enabled
        pull = bandit.pull(among=asked)
        p = oracle.distribution(asked)
        assert pull.probability == pytest.approx(float(p[pull.arm]), rel=1e-9)
        drawn[pull.round] = (pull, asked, p[pull.arm])
        due = [number for number in drawn if not late or random.random() < 0.3]
        for number in sorted(due, key=lambda _: random.random()):
            answered, awake, weight = drawn.pop(number)
            loss = float(random.random() < 0.3 + 0.1 * answered.arm)
            bandit.update(answered, loss=loss)
            oracle.update(answered.arm, loss, awake, weight)


def changed_bandit(policy, n_arms=5, horizon=500):
    """A bandit with all kinds of changes behind it, and pulls of all kinds outstanding."""
    bandit = bw.Bandit(n_arms, policy, horizon=horizon, seed=1)
    for t in range(60):
        if t == 10:
            bandit.disable(2)
        elif t == 20:
            bandit.add("new")
        elif t == 40:
            bandit.retire(0)
        pull = bandit.pull(among=[1, 2, 3]) if t % 3 == 0 else bandit.pull()
        if t % 4:
            bandit.update(pull, loss=(t % 7) / 7)
    return bandit


def known(bandit):
    """All that decides what comes next."""
    data = bandit.to_dict()
    return [data[key] for key in ("state", "random", "disabled", "retired", "pulls", "seen", "loss_sums")]


CHANGING = [
    pytest.param(case.policy, marks=[pytest.mark.slow] if case.again else [])
    for case in CASES
    if case.policy.fixed_arms is None
]
FIXED = [case for case in CASES if case.policy.fixed_arms is not None]


@pytest.mark.parametrize("policy", CHANGING, ids=repr)
def test_copies_continue_the_same_run(policy):
    bandit = changed_bandit(policy)
    twins = [
        bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))),
        pickle.loads(pickle.dumps(bandit)),
        copy.deepcopy(bandit),
        changed_bandit(policy),  # the same seed
    ]
    for each in (bandit, *twins):
        for pull in each.outstanding:
            each.update(pull, loss=0.25)
        each.enable(2)
        each.add("newer")
        for t in range(20):
            each.update(each.pull(among=[1, "new", "newer"] if t % 2 else None), loss=(t % 5) / 5)
    for twin in twins:
        assert known(twin) == known(bandit)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(bw.policies.DEFAULT, marks=pytest.mark.slow),
        pytest.param(bw.EXP3(), marks=pytest.mark.slow),
        bw.LightBarrier(),
        pytest.param(bw.Ito21(), marks=pytest.mark.slow),
        pytest.param(bw.Thompson(), marks=pytest.mark.slow),
        bw.UCB1(),
    ],
    ids=repr,
)
def test_compiled_they_have_the_same_bits(policy, monkeypatch):
    played = []
    for way in ("wait", "never"):
        monkeypatch.setenv("BOTHWORLDS_COMPILE", way)
        bandit = changed_bandit(policy)
        for t in range(40):
            bandit.update(bandit.pull(among=[1, "new"] if t % 2 else None), loss=(t % 5) / 5)
        played.append(known(bandit))
    assert played[0] == played[1]


@pytest.mark.parametrize("case", FIXED, ids=lambda case: repr(case.policy))
def test_others_say_why_not(case):
    n_arms = case.arms or 3
    bandit = bw.Bandit(n_arms, case.policy, horizon=500, seed=1)
    before = bandit.to_dict()
    actions = (
        lambda: bandit.pull(among=[0]),
        lambda: bandit.disable(0),
        lambda: bandit.retire(0),
        lambda: bandit.add("new"),
    )
    for act in actions:
        with pytest.raises(
            InvalidArgumentError, match="policy must be one whose arms can change, got"
        ) as told:
            act()
        assert case.policy.fixed_arms in str(told.value)
        assert "LightBarrier" in told.value.fix
    assert bandit.to_dict() == before
    assert bandit.pull(among=range(n_arms)).round == 1  # all of them: nothing is asked


def test_all_arms_are_no_restriction():
    plain, asked = bw.Bandit(4, seed=2), bw.Bandit(4, seed=2)
    asked.disable(3)
    asked.enable(3)
    for t in range(50):
        one, other = plain.pull(), asked.pull(among=[3, 2, 1, 0, 0])
        assert one[:4] == other[:4]
        plain.update(one, loss=t % 2)
        asked.update(other, loss=t % 2)
    assert plain.probabilities == asked.probabilities


def test_a_new_arm_starts_with_the_learners_own_loss():
    """With that since the last restart of the policy; late losses from before it do not count."""
    policy = bw.FTRL(bw.LogBarrier(), constants="light")  # restarts after 4 and 16 more rounds
    bandit = bw.Bandit(3, policy, seed=4)
    first = bandit.pull()
    losses = []
    for t in range(30):
        losses.append(t % 3 / 2)
        bandit.update(bandit.pull(), loss=losses[-1])
    bandit.update(first, loss=1.0)
    bandit.add("new")
    assert bandit._state.scalars[3] == 2.0  # two restarts
    rates, estimates = np.empty(4), np.empty(4)
    inspect(bandit._params, bandit._state, rates, estimates)
    assert estimates[3] == pytest.approx(sum(losses[20:]), abs=1e-12)


STAYS = [
    bw.UCB1(),
    bw.KLUCB(),
    bw.GLRKLUCB(explore=0.0),
    bw.Thompson(),
    bw.DiscountedThompson(0.9),
    bw.SlidingWindowThompson(window=20),
    bw.EpsilonGreedy(0.2),
    bw.Uniform(),
    bw.FTRL(bw.Shannon(), rates=bw.rates.ConstantRate(3.0)),
    bw.FTRL(bw.Shannon(), rates=bw.rates.SlowRootRate(2.0)),
    bw.FTRL(bw.Shannon(), rates=bw.rates.RootRate(1.0), estimator=bw.estimators.ImplicitExploration()),
]


@pytest.mark.parametrize("policy", STAYS, ids=repr)
def test_a_newcomer_that_sleeps_leaves_the_others_alone(policy):
    """For policies that compare, and for exponential weights, whose ratios depend on the two arms alone."""
    few, more = policy.resolve(3, 500), policy.resolve(4, 500)
    alone = init(few)
    beside = room = init(more)
    awake = np.array([1.0, 1.0, 1.0, 0.0])
    p, q = np.empty(3), np.empty(4)
    random = np.random.default_rng(1)
    for t in range(80):
        if t == 30:
            beside, room = grow(more, alone), init(more)
        read_distribution(few, alone, p)
        arm, _, _, weight, memo = pull_once(few, alone, random.random(policy.draws), 0)
        loss = float(random.random() < 0.3 + 0.2 * arm)
        assert update_once(few, alone, arm, loss, weight, memo) == 0
        if t >= 30:
            read_among(more, beside, awake, q)
            np.testing.assert_allclose(q, [*p, 0.0], rtol=1e-6)
            assert update_among(more, beside, room, arm, loss, weight, memo, awake) == 0


@pytest.mark.parametrize("policy", CHANGING, ids=repr)
def test_who_has_retired_is_never_drawn(policy):
    bandit = bw.Bandit(["a", "b", "c"], policy, horizon=500, seed=1)
    for _ in range(40):
        pull = bandit.pull()
        bandit.update(pull, loss=0.0 if pull.arm == "a" else 1.0)
    late = bandit.pull(among=["a"])
    bandit.retire("a")
    assert bandit.arms == ("b", "c")
    assert bandit.retired == ("a",)
    assert set(bandit.probabilities) == {"b", "c"}
    bandit.update(late, loss=0.5)
    for t in range(30):
        pull = bandit.pull()
        assert pull.arm != "a"
        bandit.update(pull, loss=t % 2)
    bandit.restart()
    assert {bandit.pull().arm for _ in range(20)} <= {"b", "c"}
    assert "a" not in str(bandit).split()
    assert "2 arms" in repr(bandit)


def test_the_best_arm_retires_and_the_second_best_is_known():
    """Its weight is gone: beside it, all others would look alike for as long as it was the best."""
    bandit = bw.Bandit(3, bw.TsallisINF(), seed=1)
    random = np.random.default_rng(2)
    for _ in range(3000):
        pull = bandit.pull()
        bandit.update(pull, loss=float(random.random() < (0.1, 0.4, 0.9)[pull.arm]))
    bandit.disable(0)
    asleep = bandit.probabilities[1]
    bandit.retire(0)
    assert asleep < 0.9
    assert bandit.probabilities[1] > 0.98


@pytest.mark.parametrize("policy", [bw.TsallisINF(), bw.CountedBarrier()], ids=repr)
def test_many_arms_sleep_as_few_do(policy):
    n = 420
    machines = policy.resolve(n, 5000), policy.parameters(n, 5000)
    assert type(machines[0]) is not type(machines[1])
    random = np.random.default_rng(3)
    states = [init(params) for params in machines]
    rooms = [init(params) for params in machines]
    p, q = np.empty(n), np.empty(n)
    for t in range(60):
        awake = (random.random(n) < (0.9 if t % 2 else 0.05)).astype(float)
        uniforms, loss = random.random(1), float(random.random())
        drawn = [
            pull_among(params, state, uniforms, 0, awake, out)
            for params, state, out in zip(machines, states, (p, q), strict=True)
        ]
        np.testing.assert_allclose(p, q, rtol=1e-9)
        arm, weight, memo = drawn[1]
        for params, state, room in zip(machines, states, rooms, strict=True):
            assert update_among(params, state, room, arm, loss, weight, memo, awake) == 0
    read_distribution(machines[0], states[0], p)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    bandit = bw.Bandit(n, policy, horizon=5000, seed=1)
    bandit.retire(7)
    bandit.update(bandit.pull(), loss=1.0)
    assert sum(bandit.probabilities.values()) == pytest.approx(1.0)
    with pytest.raises(
        InvalidArgumentError, match=r"arms must be fewer than 400 .* disable those that are yet"
    ):
        bandit.add("new")
    few = bw.Bandit(399, policy, horizon=5000)
    with pytest.raises(InvalidArgumentError, match="arms must be fewer than 400"):
        few.add("new")
    assert len(few.arms) == 399


def test_thompson_compares_those_awake():
    bandit = bw.Bandit(3, bw.Thompson(), seed=1)
    for arm, loss in ((0, 0.0), (0, 0.0), (1, 1.0), (2, 0.0)):
        bandit.update(bandit.pull(among=[arm]), loss=loss)
    # P(Beta(2, 1) < Beta(1, 2)) = ∫ 2x(1 − x)² dx = 1/6
    assert bandit.pull(among=[1]).probability == 1.0
    bandit.disable(0)
    assert bandit.probabilities[1] == pytest.approx(1 / 6, abs=1e-6)


def test_ucb_compares_those_awake():
    bandit = bw.Bandit(3, bw.UCB1(), seed=1)
    for arm, loss in ((0, 0.0), (1, 0.5), (2, 1.0)):
        bandit.update(bandit.pull(among=[arm]), loss=loss)
    assert bandit.pull().arm == 0
    assert bandit.pull(among=[1, 2]).arm == 1
    bandit.add("new")
    assert bandit.pull(among=[1, 2]).arm == 1
    assert bandit.pull(among=[2, "new"]).arm == "new"  # not seen yet


def test_states_of_version_2_are_read():
    bandit = bw.Bandit(3, seed=1)
    for t in range(20):
        bandit.update(bandit.pull(), loss=t % 2)
    bandit.pull()
    data = json.loads(json.dumps(bandit.to_dict()))
    for key in ("disabled", "retired"):
        del data[key]
    for item in data["outstanding"]:
        del item["asleep"]
    data["state"]["scalars"] = data["state"]["scalars"][:11]
    data["version"] = 2
    twin = bw.Bandit.from_dict(data)
    for each in (bandit, twin):
        each.add("new")
        each.update(each.outstanding[0], loss=0.5)
    assert known(twin) == known(bandit)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"disabled": [0, 1], "retired": [2]}, "cannot be restored: arm must be an arm beside which another"),
        ({"retired": [3]}, r"retired\[0\] must be in 0..2, got 3"),
        ({"disabled": "x"}, "disabled must be a one-dimensional sequence of integers"),
    ],
)
def test_tampered_files_are_refused(change, message):
    data = bw.Bandit(3, seed=1).to_dict()
    with pytest.raises(StateError, match=message):
        bw.Bandit.from_dict(data | change)


def test_an_outstanding_pull_of_a_sleeper_is_refused():
    bandit = bw.Bandit(3, seed=1)
    pull = bandit.pull(among=[1, 2])
    data = bandit.to_dict()
    data["outstanding"][0]["asleep"] = [pull.arm]
    with pytest.raises(StateError, match="outstanding round 1 has an arm that was asleep"):
        bw.Bandit.from_dict(data)


BAD = [
    (
        lambda b: b.pull(among=["blue", "gren"]),
        r"among must be an arm of this bandit, got 'gren'; did you mean 'green'\?",
    ),
    (lambda b: b.pull(among=[]), "among must be at least one arm that is enabled, got none"),
    (lambda b: b.pull(among=["red"]), "among must be at least one arm that is enabled, got none; enable one"),
    (lambda b: b.pull(among="blue"), r"among must be a sequence of arms, got 'blue'; write \['blue'\]"),
    (lambda b: b.pull(among=5), "among must be a sequence of arms, got 5"),
    (lambda b: b.pull(among=[["blue"]]), "among must be an arm of this bandit"),
    (lambda b: b.pull(among=["old"]), "among must be an arm of this bandit, got 'old'; it has retired"),
    (lambda b: b.disable("geen"), r"arm must be an arm of this bandit, got 'geen'; did you mean 'green'\?"),
    (lambda b: b.enable("old"), "arm must be an arm of this bandit, got 'old'; it has retired"),
    (lambda b: b.retire("old"), "arm must be an arm of this bandit, got 'old'; it has retired"),
    (lambda b: b.add("green"), "arm must be a new label, got 'green', which is there; choose another"),
    (lambda b: b.add("old"), "arm must be a new label, got 'old', which has retired; choose another"),
    (lambda b: b.add(""), "must be a non-empty string"),
]


@pytest.mark.parametrize(("act", "message"), BAD)
def test_bad_input_changes_nothing(act, message):
    bandit = bw.Bandit(["blue", "green", "red", "old"], seed=1)
    bandit.retire("old")
    bandit.disable("red")
    bandit.pull()
    before = bandit.to_dict()
    with pytest.raises(InvalidArgumentError, match=message):
        act(bandit)
    assert bandit.to_dict() == before


@pytest.mark.parametrize("how", ["disable", "retire"])
def test_the_last_arm_stays(how):
    bandit = bw.Bandit(["blue", "green", "red"], seed=1)
    bandit.retire("red")
    bandit.disable("green")
    bandit.disable("green")  # again: harmless
    before = bandit.to_dict()
    with pytest.raises(
        InvalidArgumentError, match=r"beside which another is enabled, got 'blue', the last one; enable or"
    ):
        getattr(bandit, how)("blue")
    assert bandit.to_dict() == before
    bandit.enable("green")
    bandit.enable("green")
    getattr(bandit, how)("blue")
    assert bandit.probabilities["green"] == 1.0


def test_a_life_that_is_too_short_for_another_arm():
    bandit = bw.Bandit(3, bw.Restarting(bw.LightBarrier(), every=3), seed=1)
    before = bandit.to_dict()
    with pytest.raises(InvalidArgumentError, match="must be at least"):
        bandit.add("new")
    assert bandit.to_dict() == before
