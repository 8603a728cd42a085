"""The contract of environments."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.environments import Environment
from bothworlds.environments.base import (
    Totals,
    add_to_totals,
    benchmark,
    cost_of,
    loss_of,
    open_world,
    prepare,
    reads_p,
    wake,
)
from bothworlds.policies import Policy, TsallisINF
from bothworlds.policies.base import (
    draws_from_its_p,
    init,
    learn,
)
from bothworlds.simulation import replay, simulate
from bothworlds.testing.promise import FAR_OUT, in_bounds, require, require_hashable


class AlwaysParameters(NamedTuple):
    """The number of arms, and the arm that is always played."""

    n_arms: int
    arm: int


class AlwaysState(NamedTuple):
    """The distribution: 1 for that arm."""

    p: FloatArray


@dataclass(frozen=True, repr=False)
class Always(Policy):
    """One arm, whatever happens: what the benchmark of an environment is measured by."""

    arm: int

    def parameters(self, n_arms: int, horizon: int | None) -> AlwaysParameters:
        """In numbers; the horizon plays no part."""
        return AlwaysParameters(n_arms, self.arm)


draws_from_its_p(AlwaysParameters, weighs_losses=False)


@init.register(AlwaysParameters)
def _(params: AlwaysParameters) -> AlwaysState:
    return AlwaysState(np.eye(params.n_arms)[params.arm])


@learn.register(AlwaysParameters)
def _(
    params: AlwaysParameters, state: AlwaysState, arm: int, loss: float, weight: float, memo: float
) -> None:
    pass


class EnvironmentCase(NamedTuple):
    """An environment, and the number of rounds for which it is checked."""

    environment: Environment
    horizon: int


def check_environment(environment: Environment, *, horizon: int = 120) -> None:
    """Hold an environment to its contract: a value, losses in range, the same bits always, honest regret.

    Parameters
    ----------
    environment:
        The environment.
    horizon:
        For how many rounds it is played.

    Raises
    ------
    AssertionError
        Which promise is broken, and how.
    """
    case = EnvironmentCase(Environment.require(environment, name="environment"), horizon)
    for check in ENVIRONMENT_CHECKS:
        check(case)


POLICY = TsallisINF()
DRAWN = 2000  # rounds by which means are judged


def _run(case: EnvironmentCase, policy: Any = POLICY, **options: Any) -> Any:
    how = {"horizon": case.horizon, "replications": 2, "seed": 5, "jobs": 1} | options
    return simulate(policy, case.environment, **how)


def _uniforms(case: EnvironmentCase) -> FloatArray:
    """A row for every round."""
    return np.random.default_rng(3).random((case.horizon, max(1, case.environment.draws)))


def environment_is_a_value(case: EnvironmentCase) -> None:
    """Hashable, and it says how regret is measured."""
    world = case.environment
    require_hashable(world)
    require(world.n_arms >= 1, world, f"n_arms must be at least 1, got {world.n_arms}")
    by_gaps = world.regret_kind == Environment.regret_kind  # what it is where nothing is said
    compared = type(world.parameters(case.horizon)) in benchmark.implementations
    message = "regret_kind must say in words how regret is measured: to a benchmark, not by gaps"
    require(world.regret_kind and not (by_gaps and compared), world, message)


def environment_stays_in_its_arrays(case: EnvironmentCase) -> None:
    """Kernels read no uniform that the round does not have, and nothing else beyond an array."""
    world, n = case.environment, case.environment.n_arms
    if world.made_in_blocks:
        return
    env = world.parameters(case.horizon)

    def play(draws: int) -> None:
        opened, p, awake = open_world(env), np.full(n, 1.0 / n), np.empty(n)
        for t, uniforms in enumerate(np.random.default_rng(3).random((case.horizon, draws)), 1):
            wake(env, t, uniforms, awake)
            prepare(env, opened, t, p, uniforms)
            add_to_totals(env, opened)
            arm = t % n
            loss_of(env, opened, t, arm, uniforms)
            cost_of(env, opened, t, arm, uniforms)
            benchmark(env, opened, t)

    in_bounds(world, max(1, world.draws), play)


def environment_survives_pickling(case: EnvironmentCase) -> None:
    """A pickle of it is the same world."""
    world = case.environment
    twin = pickle.loads(pickle.dumps(world))
    fix = "keep all that it is in fields"
    require(repr(twin) == repr(world), world, f"a pickle must give back the same environment: {fix}")
    same = np.array_equal(_run(case).regret, _run(EnvironmentCase(twin, case.horizon)).regret, equal_nan=True)
    require(same, world, f"a pickle must be the same world, bit by bit: {fix}")


def environment_has_losses_in_range(case: EnvironmentCase) -> None:
    """Losses are in [0, 1], and what is suffered adds up."""
    run = _run(case, trace=True, checkpoints=range(1, case.horizon + 1))
    for trace, losses in zip(run.traces[0], run.losses[0], strict=True):
        inside = ((trace.losses >= 0.0) & (trace.losses <= 1.0)).all()
        require(inside, case.environment, "losses must be in [0, 1]: scale them in loss_of")
        total = np.cumsum(trace.losses)
        adds_up = np.allclose(losses[: total.size], total, rtol=1e-12)
        require(adds_up, case.environment, "loss_of must give the same however often it is asked")


def environment_prepares_losses_in_range(case: EnvironmentCase) -> None:
    """What ``prepare`` sets, losses or their means, is in [0, 1]."""
    env = case.environment.parameters(case.horizon)
    world, n = open_world(env), case.environment.n_arms
    if case.environment.made_in_blocks or not isinstance(world, Totals):
        return
    for t, uniforms in enumerate(_uniforms(case), 1):
        prepare(env, world, t, np.full(n, 1.0 / n), uniforms)
        inside = ((world.losses >= 0.0) & (world.losses <= 1.0)).all()
        message = f"prepare must set losses or means in [0, 1], got {world.losses} in round {t}"
        require(inside, case.environment, message)


def environment_keeps_its_bits(case: EnvironmentCase) -> None:
    """The same seed gives the same bits for any block, any threads, and any other policies beside."""
    run = _run(case).regret
    for options in ({}, {"block": 1}, {"block": 7, "jobs": 2}):
        same = np.array_equal(_run(case, **options).regret, run, equal_nan=True)
        how = f"with {options}" if options else "when it is played again"
        message = f"the same seed must give the same bits, but other ones come {how}"
        fix = "kernels may use nothing random but their uniforms, and keep nothing outside of their world"
        require(same, case.environment, f"{message}: {fix}")
    beside = _run(case, {"x": POLICY, "y": Always(0)}).regret
    require(
        np.array_equal(beside[:1], run, equal_nan=True),
        case.environment,
        f"another policy changed a run: {fix}",
    )


def environment_sees_what_it_watches(case: EnvironmentCase) -> None:
    """A world that does not register ``reads_p`` makes the same losses whatever the distribution is."""
    world = case.environment
    env = world.parameters(case.horizon)
    if reads_p(env) or world.made_in_blocks:  # the latter are made before anybody plays
        return
    n, twins = world.n_arms, [open_world(env) for _ in range(3)]
    distributions = (np.full(n, 1.0 / n), np.eye(n)[0], np.eye(n)[-1])
    for t, uniforms in enumerate(_uniforms(case), 1):
        losses = []
        for twin, p in zip(twins, distributions, strict=True):
            prepare(env, twin, t, p.copy(), uniforms)
            add_to_totals(env, twin)
            losses.append([float(loss_of(env, twin, t, arm, uniforms)) for arm in range(n)])
        blind = np.array_equal(losses, [losses[0]] * 3, equal_nan=True)
        message = f"prepare reads p, with which the losses of round {t} change, but p is NaN in a run"
        require(blind, world, f"{message}: register reads_p, which returns True")


def environment_replays(case: EnvironmentCase) -> None:
    """A policy replayed on the arms and losses of a trace plays what it played."""
    if case.environment.delay(case.horizon).longest > 0:
        return
    for trace in _run(case, trace=True).traces[0]:
        how: dict[str, Any] = {"n_arms": trace.n_arms, "horizon": case.horizon}
        again = replay(POLICY, arms=trace.arms, losses=trace.losses, **how)
        require(
            np.array_equal(again.p, trace.p), case.environment, "a replay of its trace differs from the run"
        )


def environment_has_honest_regret(case: EnvironmentCase) -> None:
    """Regret is at most the number of rounds, that of the best fixed arm zero (if dynamic: at least)."""
    world, rounds = case.environment, np.arange(1, case.horizon + 1)
    arms = {str(arm): Always(arm) for arm in range(world.n_arms)}
    run = _run(case, {"x": POLICY} | arms, checkpoints=rounds)
    corrupted = (world.corruption(case.horizon) or 0.0) > 0.0  # then losses and means are mixed
    for kind in ("clean_regret",) if corrupted else ("regret", "clean_regret"):
        found = getattr(run, kind)
        most = float(np.nanmax(found / rounds))
        message = f"{kind} is {most:.3g} times the number of rounds, at most 1 is possible"
        require(most <= 1.0 + 1e-9, world, f"{message}: cost_of and benchmark must be on the same scale")
    if reads_p(world.parameters(case.horizon)):
        return  # each arm meets other losses
    best = np.nanmin(run.regret[1:], axis=0)
    if world.dynamic:
        message = f"an arm has dynamic regret {best.min():.3g}: nothing beats the best arm of each round"
        require(best.min() >= -1e-8, world, message)
        return
    fix = "Where the world reacts to what was played, see 'A world of your own' in docs/regret.md."
    message = f"the best fixed arm has regret {best.ravel()[np.nanargmax(np.abs(best))]:.3g}, not 0"
    require(
        np.allclose(best[np.isfinite(best)], 0.0, atol=1e-8),
        world,
        f"{message}: is the benchmark right? {fix}",
    )


def environment_agrees_with_its_gaps(case: EnvironmentCase) -> None:
    """Gaps, optimal arms, corruption and spread belong together."""
    world, gaps = case.environment, case.environment.gaps
    if gaps is None:
        require(world.optimal_arms is None, world, "optimal arms without gaps: override gaps instead")
        return
    require(gaps.shape == (world.n_arms,), world, f"gaps must have {world.n_arms} entries, got {gaps.shape}")
    require(gaps.min() == 0.0, world, f"the smallest gap must be 0, got {gaps.min()}")
    require((world.corruption(case.horizon) or 0.0) >= 0.0, world, "corruption must not be negative")
    if world.corruption(case.horizon) == 0.0:
        run = _run(case, {str(arm): Always(arm) for arm in range(world.n_arms)})
        measured = run.regret[:, 0, -1] / case.horizon
        require(
            np.allclose(measured, gaps, atol=1e-9), world, f"gaps {gaps}, but arms cost {measured} a round"
        )


def environment_agrees_with_its_means(case: EnvironmentCase) -> None:
    """Losses have the means that ``mean_losses`` says, or differ by the gaps, up to chance."""
    world, n = case.environment, case.environment.n_arms
    means, gaps = world.mean_losses(), world.gaps
    if means is not None and gaps is not None:
        fine = np.allclose(means - means.min(), gaps, atol=1e-9)
        require(fine, world, f"gaps must be mean_losses(), {means}, less the smallest, got {gaps}")
    env = world.parameters(case.horizon)
    clean = gaps is not None and world.corruption(case.horizon) == 0.0
    if world.made_in_blocks or reads_p(env) or not (means is not None or clean):
        return
    losses, p, opened = np.empty((DRAWN, n)), np.full(n, math.nan), open_world(env)
    for i, uniforms in enumerate(np.random.default_rng(4).random((DRAWN, max(1, world.draws)))):
        t = i % case.horizon + 1
        if t == 1:
            opened = open_world(env)
        prepare(env, opened, t, p, uniforms)
        add_to_totals(env, opened)
        losses[i] = [loss_of(env, opened, t, arm, uniforms) for arm in range(n)]
    if means is not None:  # losses are in [0, 1], so their variance is at most m(1 − m)
        what, expected, variance = "mean losses", means, means * (1.0 - means)
    else:
        assert gaps is not None
        losses = losses - losses[:, [int(np.argmin(gaps))]]
        what, expected, variance = "mean losses, less that of the best arm,", gaps, np.ones(n)
    found, error = losses.mean(axis=0), np.sqrt(variance / DRAWN)
    message = (
        f"in {DRAWN} rounds the arms have {what} {found.round(4)}, expected {expected} ± {error.round(4)}"
    )
    fix = "loss_of, mean_losses() and gaps must be of the same world"
    require((np.abs(found - expected) <= FAR_OUT * error + 1e-9).all(), world, f"{message}: {fix}")


ENVIRONMENT_CHECKS: tuple[Callable[[EnvironmentCase], None], ...] = (
    environment_is_a_value,
    environment_stays_in_its_arrays,
    environment_keeps_its_bits,
    environment_survives_pickling,
    environment_has_losses_in_range,
    environment_prepares_losses_in_range,
    environment_sees_what_it_watches,
    environment_replays,
    environment_has_honest_regret,
    environment_agrees_with_its_gaps,
    environment_agrees_with_its_means,
)
