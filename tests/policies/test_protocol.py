"""What the kernels' protocol promises beyond one arm and one loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import KernelError
from bothworlds.policies.base import (
    act_among,
    after_draw,
    before_draw,
    draws_from_its_p,
    init,
    learn,
    memo_of,
    read_distribution,
    step,
    update_once,
    weight_of,
)
from bothworlds.problem import GRAPHS
from cases import CASES


@pytest.mark.parametrize("regularizer", [bw.LogBarrier(), bw.Tsallis(0.5), bw.Shannon()], ids=repr)
def test_a_round_may_show_several_arms(regularizer):
    """Losses add up in ``learn``; one ``step`` ends the round, and p is the minimizer."""
    policy = bw.FTRL(regularizer, rates=bw.rates.RootRate(1.0), log_barrier=0.1)
    params = policy.resolve(4, None)
    state = init(params)
    expected = np.zeros(4)
    rng = np.random.default_rng(1)
    for t in range(1, 30):
        shown = rng.permutation(4)[: rng.integers(1, 5)]
        for arm in shown:
            loss, weight = rng.random(), weight_of(params, state, arm)
            expected[arm] += loss / weight
            learn(params, state, arm, loss, weight, memo_of(params, state, arm, np.zeros(1)))
        assert step(params, state) == 0
        exact = bw.solve(expected, np.sqrt(t + 1.0), regularizer, log_barrier=0.1)
        p = np.empty(4)
        read_distribution(params, state, p)
        np.testing.assert_allclose(p, exact.p, rtol=1e-10)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.policy))
def test_a_round_without_observations_changes_nothing_but_for_predictions(case):
    params = case.policy.resolve(case.arms or 3, 200)
    state, p, q = init(params), np.empty(case.arms or 3), np.empty(case.arms or 3)
    for t in range(20):
        arm = t % len(p)
        weight = weight_of(params, state, arm)
        if weight <= 1e-3:
            continue
        memo = memo_of(params, state, arm, np.full(case.policy.draws, 0.3))
        update_once.py_func(params, state, arm, 0.5 * (t % 3), weight, memo)
    read_distribution.python(params, state, p)
    step(params, state)
    read_distribution.python(params, state, q)
    np.testing.assert_allclose(q, p, rtol=1e-12)


class CautiousParameters(NamedTuple):
    n_arms: int


class CautiousState(NamedTuple):
    p: np.ndarray
    noted: np.ndarray


@dataclass(frozen=True, repr=False)
class Cautious(bw.Policy):
    """Uniform; keeps the largest number of outstanding pulls it was told of."""

    notes_draws = True

    def parameters(self, n_arms, horizon):
        return CautiousParameters(n_arms)


draws_from_its_p(CautiousParameters, weighs_losses=False)


@init.register(CautiousParameters)
def _(params):
    return CautiousState(np.full(params.n_arms, 1.0 / params.n_arms), np.zeros(2))


@learn.register(CautiousParameters)
def _(params, state, arm, loss, weight, memo):
    pass


@before_draw.register(CautiousParameters)
def _(params, state, outstanding, awake):
    state.noted[0] = max(state.noted[0], outstanding)
    state.noted[1] += 1.0
    if outstanding > 15:  # lean on the first arm while much is unknown
        state.p[:] = 0.0
        state.p[0] = 1.0


def test_a_bandit_tells_how_many_pulls_are_outstanding():
    bandit = bw.Bandit(3, Cautious(), seed=1)
    pulls = [bandit.pull() for _ in range(5)]
    assert bandit._state.noted.tolist() == [4.0, 5.0]
    for pull in pulls:
        bandit.update(pull, loss=0.5)
    bandit.pull()
    assert bandit._state.noted.tolist() == [4.0, 6.0]


def test_the_engine_tells_how_much_feedback_is_on_its_way():
    world = bw.environments.Bernoulli(n_arms=3, gap=0.2)
    at_once = bw.simulate(Cautious(), world, horizon=100, trace=True).traces[0][0]
    assert (at_once.p == 1 / 3).all()
    late = bw.simulate(Cautious(), bw.environments.Delayed(world, 20), horizon=100, trace=True).traces[0][0]
    assert (late.p[:16] == 1 / 3).all()  # in round t, t − 1 pulls are outstanding
    assert (late.p[16:] == [1.0, 0.0, 0.0]).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.policy))
def test_arms_that_sleep_are_never_drawn(case):
    n = case.arms or 5
    params = case.policy.resolve(n, 200)
    state, p = init(params), np.empty(n)
    awake = np.array([0.0, 1.0] * n)[:n]
    for uniform in (0.0, 0.3, 0.999999):
        arm, weight = act_among(params, state, np.full(case.policy.draws, uniform), awake, p)
        assert awake[arm] == 1.0
        assert weight == p[arm] > 0.0
        assert p[awake == 0.0].sum() == 0.0
        np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)


class BareParameters(NamedTuple):
    n_arms: int


@dataclass(frozen=True, repr=False)
class Bare(bw.Policy):
    """A policy whose author has not written its kernels yet."""

    kind: str = "tuple"

    def parameters(self, n_arms, horizon):
        return {"tuple": BareParameters(n_arms), "dict": {"n_arms": n_arms}, "nothing": None}[self.kind]


def test_a_kernel_that_is_missing_is_named_with_its_class_and_the_fix(monkeypatch):
    for kernel in (init, learn):
        assert BareParameters not in kernel.implementations
    said = (
        r"init of BareParameters is missing: Bare cannot do without; write @init\.register\(BareParameters\)"
    )
    with pytest.raises(bw.errors.KernelError, match=said):
        bw.Bandit(3, Bare())
    monkeypatch.setitem(init.implementations, BareParameters, lambda params: params)
    said = r"act of BareParameters is missing: .*, or draws_from_its_p\(BareParameters\)"
    with pytest.raises(bw.errors.KernelError, match=said):
        bw.simulate(Bare(), bw.environments.Bernoulli(n_arms=3, gap=0.2), horizon=10)


@pytest.mark.parametrize(("kind", "got"), [("dict", r"\{'n_arms': 3\}"), ("nothing", "None")])
def test_parameters_are_a_named_tuple(kind, got):
    said = rf"parameters of Bare must be a NamedTuple .*, got {got}; does Bare\.parameters return one\?"
    with pytest.raises(bw.errors.InvalidArgumentError, match=said):
        bw.Bandit(3, Bare(kind))


class WeighingParameters(NamedTuple):
    n_arms: int


class WeighingState(NamedTuple):
    p: np.ndarray
    sums: np.ndarray


@dataclass(frozen=True, repr=False)
class Weighing(bw.Policy):
    """Says that it does not weigh losses, and does."""

    fits = frozenset({GRAPHS})

    def parameters(self, n_arms, horizon):
        return WeighingParameters(n_arms)

    def parameters_for(self, problem, n_arms, horizon):
        return WeighingParameters(n_arms)


draws_from_its_p(WeighingParameters, weighs_losses=False)


@init.register(WeighingParameters)
def _(params):
    return WeighingState(np.full(params.n_arms, 1.0 / params.n_arms), np.zeros(params.n_arms))


@learn.register(WeighingParameters)
def _(params, state, arm, loss, weight, memo):
    state.sums[arm] += loss / weight


@step.register(WeighingParameters)
def _(params, state):
    state.p[:] = 1.0 / (1.0 + state.sums)
    state.p[:] /= state.p.sum()
    return 0


@after_draw.register(WeighingParameters)
def _(params, state, arm):
    pass


def test_replay_has_the_weights_of_live_play_whatever_a_policy_says_of_itself(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    bandit, arms, losses = bw.Bandit(3, Weighing(), seed=2), [], []
    for t in range(60):
        pull = bandit.pull()
        arms.append(pull.arm)
        losses.append((t % 7) / 7.0)
        bandit.update(pull, loss=losses[-1])
    trace = bw.replay(Weighing(), n_arms=3, arms=arms, losses=losses)
    assert trace.p[-1].tolist() == list(bandit.probabilities.values())


def test_a_policy_that_takes_note_of_its_draws_is_refused_where_rounds_have_several_arms():
    with pytest.raises(KernelError, match="after_draw of WeighingParameters is for one arm: rounds"):
        bw.Bandit(3, Weighing(), shows="all")
