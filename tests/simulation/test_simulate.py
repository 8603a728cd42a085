"""The engine: labels, checkpoints, what the policies see, bad input, and worlds of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.environments.base import cost_of, loss_of
from bothworlds.errors import InvalidArgumentError, SolverError
from bothworlds.policies.base import Policy, draws_from_its_p, init, learn, step
from bothworlds.simplex.kernel import FAILED
from bothworlds.simulation import run as engine_room
from interpreting import plain_python  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled it is the same: see the contract

POLICY = bw.TsallisINF()
WORLD = en.Bernoulli(n_arms=4, gap=0.25)
TABLE = np.random.default_rng(3).random((400, 4))


def test_one_policy_several_or_a_mapping():
    one = bw.simulate(POLICY, WORLD, horizon=30)
    many = bw.simulate((p for p in [POLICY, bw.INF()]), WORLD, horizon=30)
    named = bw.simulate({"first": POLICY, 2: POLICY}, WORLD, horizon=30)
    assert one.labels == ("TsallisINF()",)
    assert many.labels == ("TsallisINF()", "INF()")
    assert named.labels == ("first", "2")
    assert named.policies == (POLICY, POLICY)
    for run in (one, many, named):
        assert run.regret.shape == (len(run.labels), 1, len(run.checkpoints))
        assert np.array_equal(run.measured[0], one.measured[0])
        assert run.traces == ()


def test_a_range_plays_some_of_the_replications_of_a_longer_series():
    whole = bw.simulate(POLICY, WORLD, horizon=60, replications=5, seed=3)
    part = bw.simulate(POLICY, WORLD, horizon=60, replications=range(2, 5), seed=3)
    assert np.array_equal(part.measured, whole.measured[:, 2:])
    for empty in (range(3, 3), range(-1, 2), range(4, 2, -1)):
        with pytest.raises(
            InvalidArgumentError, match="replications must be a number or an increasing range"
        ):
            bw.simulate(POLICY, WORLD, horizon=60, replications=empty)


def test_probabilities_at_the_checkpoints_are_those_of_the_trace():
    run = bw.simulate(POLICY, WORLD, horizon=60, replications=2, trace=True, probabilities=True)
    assert run.probabilities is not None
    assert run.probabilities.shape == (1, 2, len(run.checkpoints), 4)
    for number, trace in enumerate(run.traces[0]):
        assert np.array_equal(run.probabilities[0, number], trace.p[run.checkpoints])
    assert bw.simulate(POLICY, WORLD, horizon=60).probabilities is None


@pytest.mark.parametrize("horizon", [1, 2, 99, 10**5, 10**9 + 7])
def test_default_checkpoints(horizon):
    marks = engine_room.default_checkpoints(horizon)
    assert marks[0] == 1
    assert marks[-1] == horizon
    assert (np.diff(marks) > 0).all()
    assert len(marks) <= 100


def test_decoupled_policies_learn_from_one_arm_and_pay_for_another():
    run = bw.simulate(
        bw.DecoupledTsallisINF(), en.LossTable(TABLE), horizon=400, trace=True, checkpoints=range(1, 401)
    )
    trace, t = run.traces[0][0], np.arange(400)
    assert 0 < np.mean(trace.arms != trace.played) < 1
    assert np.array_equal(trace.losses, TABLE[t, trace.arms])
    np.testing.assert_allclose(run.losses[0, 0], np.cumsum(TABLE[t, trace.played]), rtol=1e-12)
    best = np.cumsum(TABLE, axis=0).min(axis=1)
    np.testing.assert_allclose(run.regret[0, 0], run.losses[0, 0] - best, rtol=0, atol=1e-10)
    again = bw.replay(trace.policy, n_arms=4, horizon=400, arms=trace.arms, losses=trace.losses)
    assert np.array_equal(again.p, trace.p)


def test_arms_are_drawn_from_the_distribution_in_force():
    run = bw.simulate(POLICY, WORLD, horizon=300, seed=7, replications=2, trace=True)
    for replication, trace in enumerate(run.traces[0]):
        uniforms = bw.rng.stream(7, 0, replication).random(300)
        reached = np.cumsum(trace.p[:-1], axis=1)
        expected = (uniforms[:, None] * reached[:, -1:] >= reached).sum(axis=1)
        assert np.array_equal(trace.played, expected)


def test_all_policies_meet_the_same_world():
    run = bw.simulate([POLICY, bw.INF()], WORLD, horizon=300, seed=7, trace=True)
    a, b = (traces[0] for traces in run.traces)
    met = a.played == b.played
    assert 0.1 < met.mean() < 1.0
    assert np.array_equal(a.losses[met], b.losses[met])


class TooMuchParameters(NamedTuple):
    at: int
    loss: float


@dataclass(frozen=True, repr=False, kw_only=True)
class TooMuch(en.Environment):
    """All losses 0, until one of them is what it must not be."""

    at: int
    loss: float
    n_arms: int = 3

    def parameters(self, horizon: int) -> TooMuchParameters:
        return TooMuchParameters(self.at, float(self.loss))


@loss_of.register(TooMuchParameters)
def _(env: TooMuchParameters, world: Any, t: int, arm: int, uniforms: Any) -> float:
    return env.loss if t == env.at else 0.0


@cost_of.register(TooMuchParameters)
def _(env: TooMuchParameters, world: Any, t: int, arm: int, uniforms: Any) -> tuple[float, float]:
    return 0.0, 0.0


@pytest.mark.parametrize("loss", [1.5, -0.25, float("nan"), float("inf")])
def test_a_world_of_ones_own_that_leaves_the_range(loss):
    world = TooMuch(at=17, loss=loss)
    assert not bw.simulate(POLICY, world, horizon=16).losses.any()
    with pytest.raises(
        InvalidArgumentError,
        match=rf"losses must be in \[0, 1\], got {loss} from TooMuch\(at=17, .* in round 17",
    ):
        bw.simulate(POLICY, world, horizon=30, replications=4, block=5)


class StuckParameters(NamedTuple):
    n_arms: int


class StuckState(NamedTuple):
    p: np.ndarray
    scalars: np.ndarray


@dataclass(frozen=True, repr=False)
class Stuck(Policy):
    """Uniform, until the solver fails in round 12."""

    def parameters(self, n_arms: int, horizon: int | None) -> StuckParameters:
        return StuckParameters(n_arms)


draws_from_its_p(StuckParameters, weighs_losses=False)


@init.register(StuckParameters)
def _(params: StuckParameters) -> StuckState:
    return StuckState(np.full(params.n_arms, 1.0 / params.n_arms), np.zeros(1))


@learn.register(StuckParameters)
def _(params: Any, state: Any, arm: int, loss: float, weight: float, memo: float) -> None:
    state.scalars[0] += 1.0


@step.register(StuckParameters)
def _(params: Any, state: Any) -> int:
    return FAILED if state.scalars[0] == 12.0 else 0


@pytest.mark.parametrize(("world", "t"), [(WORLD, 12), (en.Delayed(WORLD, 3), 15)], ids=repr)
def test_a_solver_that_fails_is_not_hidden(world, t):
    assert bw.simulate(Stuck(), world, horizon=t - 1).losses.any()
    said = rf"Stuck\(\) found no solution in round {t}; bothworlds\.testing\.check_policy and"
    with pytest.raises(SolverError, match=said):
        bw.simulate(Stuck(), world, horizon=30)


def test_whose_kernels_fail_is_told_what_to_do():
    said = r"Stuck\(\) found no solution .*; bothworlds\.testing\.check_policy and check_regularizer say"
    with pytest.raises(SolverError, match=said):
        bw.replay(Stuck(), n_arms=2, arms=[0] * 12, losses=[0.5] * 12)
    bandit = bw.Bandit(2, Stuck(), seed=1)
    for _ in range(11):
        bandit.update(bandit.pull(), loss=0.5)
    pull = bandit.pull()
    with pytest.raises(SolverError, match=said):
        bandit.update(pull, loss=0.5)


def test_policies_by_name():
    named, made = (bw.simulate(p, WORLD, horizon=20, replications=2, seed=1) for p in ("ucb1", bw.UCB1()))
    assert named.labels == made.labels == ("UCB1()",)
    assert np.array_equal(named.measured, made.measured, equal_nan=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": []}, r"policies must be at least one policy, got none"),
        ({"policies": {}}, r"policies must be at least one policy, got none"),
        ({"policies": "ucb"}, r"no policy is called 'ucb'; did you mean '\w*ucb\w*'\? Known: "),
        ({"policies": "watched"}, r"policies must be a policy that can do without settings.*; write Watched"),
        ({"policies": bw.UCB1}, r"policies must be a policy, a list .*, got <class .*; write UCB1\(\)"),
        ({"policies": [bw.UCB1]}, r"policies\[0\] must be a policy such as .*; write UCB1\(\)"),
        ({"policies": {"a": 3}}, r"policy must be a policy such as .*, got 3"),
        (
            {"policies": [POLICY, POLICY]},
            r"policies must be distinct, .*; give a mapping with labels to repeat one",
        ),
        ({"policies": {1: POLICY, "1": POLICY}}, r"policies must be labeled distinctly, got \[1, '1'\]"),
        ({"environment": "bernoulli"}, r"environment must be an environment such as .*, got 'bernoulli'"),
        ({"environment": en.Bernoulli}, r"environment must be an environment such as .*, got <class"),
        ({"horizon": 0}, r"horizon must be at least 1, got 0"),
        ({"horizon": None}, r"horizon must be an integer, got None"),
        ({"horizon": 1e4}, r"horizon must be an integer, got 10000.0"),
        ({"replications": 0}, r"replications must be at least 1, got 0"),
        ({"replications": True}, r"replications must be an integer, got True"),
        ({"seed": -1}, r"seed must be at least 0, got -1"),
        ({"seed": None}, r"seed must be an integer, got None"),
        ({"jobs": 0}, r"jobs must be at least 1, got 0"),
        ({"block": 0}, r"block must be at least 1, got 0"),
        ({"checkpoints": []}, r"checkpoints must be increasing rounds in 1..20, got \[\]"),
        ({"checkpoints": [0, 5]}, r"checkpoints must be increasing rounds in 1..20, got \[0, 5\]"),
        ({"checkpoints": [5, 5]}, r"checkpoints must be increasing rounds in 1..20, got \[5, 5\]"),
        ({"checkpoints": [7, 5]}, r"checkpoints must be increasing rounds in 1..20, got \[7, 5\]"),
        ({"checkpoints": [5, 21]}, r"checkpoints\[1\] must be in 0..20, got 21"),
        ({"checkpoints": [2.5]}, r"checkpoints must be a one-dimensional sequence of integers"),
        ({"checkpoints": 5}, r"checkpoints must be a one-dimensional sequence of integers .*, got 5"),
        (
            {"trace": True, "horizon": 10**9, "replications": 3},
            r"trace must be False .* would need 360 GB, got True; shorten the horizon or take fewer",
        ),
        (
            {"policies": bw.DecoupledTsallisINF(), "environment": en.Logged([0, 1], [0, 1], [0.5, 0.5])},
            r"policy must be one .*: Logged data shows no other, got DecoupledTsallisINF\(\)",
        ),
        (
            {
                "policies": bw.DecoupledTsallisINF(),
                "environment": en.Delayed(en.Logged([0, 1], [0, 1], [0.5, 0.5]), 3),
            },
            r"Logged data shows no other",
        ),
    ],
)
def test_bad_input_is_named_before_the_first_round(arguments, message, monkeypatch):
    monkeypatch.setattr(engine_room, "_run_all", None)  # never reached
    good = {"policies": POLICY, "environment": WORLD, "horizon": 20}
    arguments = good | arguments
    with pytest.raises(InvalidArgumentError, match=message):
        bw.simulate(arguments.pop("policies"), arguments.pop("environment"), **arguments)


def test_policies_that_need_a_horizon_get_it():
    run = bw.simulate(bw.INF(), WORLD, horizon=50, trace=True)
    assert run.traces[0][0].rates[0].tolist() == [5.0] * 4  # √(T/2)


def test_a_long_horizon_takes_no_memory_before_it_starts(monkeypatch):
    def refuse(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine_room, "_run_all", refuse)
    with pytest.raises(KeyboardInterrupt):
        bw.simulate(POLICY, WORLD, horizon=10**15, replications=3)


def test_a_horizon_that_is_not_told():
    world = en.Bernoulli(n_arms=3, gap=0.2)
    policy = bw.FTRL(bw.LogBarrier(), constants="light")
    run = bw.simulate(policy, world, horizon=100, seed=3, trace=True, tell_horizon=False)
    trace = run.traces[0][0]
    assert trace.horizon is None
    assert np.flatnonzero((trace.estimates == 0).all(axis=1)).tolist()[:3] == [0, 4, 20]  # it restarts
    told = bw.simulate(policy, world, horizon=100, seed=3, trace=True).traces[0][0]
    assert told.horizon == 100
    assert not np.array_equal(told.p, trace.p)
    with pytest.raises(
        InvalidArgumentError, match="horizon must be given for INF, which is tuned to it, got None"
    ):
        bw.simulate(bw.INF(), world, horizon=100, tell_horizon=False)
