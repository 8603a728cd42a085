"""The contract of policies, environments and regularizers, as functions that any test can call.

Each says in its error which promise is broken, with numbers, and what to do. They take a few seconds, most of
which is compiling.

>>> import bothworlds as bw
>>> from bothworlds.testing import check_environment, check_policy, check_regularizer
>>> check_policy(bw.UCB1())
>>> check_environment(bw.environments.Bernoulli(n_arms=3, gap=0.2))
>>> check_regularizer(bw.Shannon())

``POLICY_CHECKS``, ``ENVIRONMENT_CHECKS`` and ``REGULARIZER_CHECKS`` hold the single checks, for tests that
want a line each: ``@pytest.mark.parametrize("check", POLICY_CHECKS)``.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _jit, policies, rng
from bothworlds._jit import FloatArray, copy_state
from bothworlds.bandit import Bandit
from bothworlds.environments import Environment
from bothworlds.environments.base import watches
from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.policies import FTRL, Policy, TsallisINF
from bothworlds.policies.base import (
    act_among,
    before_draw,
    draws_from_its_p,
    init,
    learn,
    pull_once,
    read_distribution,
    require_policy,
    restrict,
    update_once,
    weighs,
    weight_of,
)
from bothworlds.simplex.regularizers import Hybrid, Regularizer, Shannon
from bothworlds.simplex.regularizers.base import potential, reach, rise, slope, spread
from bothworlds.simplex.solve import solve
from bothworlds.simulation import replay, simulate
from bothworlds.theory import account

__all__ = [
    "ENVIRONMENT_CHECKS",
    "POLICY_CHECKS",
    "REGULARIZER_CHECKS",
    "check_environment",
    "check_policy",
    "check_regularizer",
]

FAR_OUT = 5.0  # standard errors: one correct policy in two million is accused


def _require(holds: Any, subject: Any, promise: str) -> None:
    if not holds:
        raise AssertionError(f"{subject!r}: {promise}")


# --- policies -------------------------------------------------------------------------------------------


class PolicyCase(NamedTuple):
    """A policy, and the game in which it is checked."""

    policy: Policy
    n_arms: int
    horizon: int


def check_policy(policy: Policy, *, n_arms: int = 4, horizon: int = 500) -> None:
    """Hold a policy to its contract: a value, a distribution, honest weights, replay, saving, compiling.

    Parameters
    ----------
    policy:
        The policy.
    n_arms, horizon:
        The game; give them if the policy can only play some.

    Raises
    ------
    AssertionError
        Which promise is broken, and how.
    """
    case = PolicyCase(require_policy(policy), n_arms, horizon)
    for check in POLICY_CHECKS:
        check(case)


def _losses(random: np.random.Generator, n_arms: int, binary: bool) -> FloatArray:
    means = np.linspace(0.2, 0.8, n_arms)
    drawn = random.random(n_arms) < means if binary else random.beta(2 * means, 2 * (1 - means))
    return np.asarray(drawn, dtype=float)


def _horizons(case: PolicyCase) -> list[int | None]:
    """The horizon, and None if the policy can do without."""
    try:
        case.policy.resolve(case.n_arms, None)
    except InvalidArgumentError:
        return [case.horizon]
    return [case.horizon, None]


def _play(bandit: Bandit, rounds: int, *, binary: bool = False) -> tuple[list[int], list[float], FloatArray]:
    """The arms observed, their losses, and the distribution before every round and after the last."""
    random = np.random.default_rng(1)
    arms: list[int] = []
    losses: list[float] = []
    p = [list(bandit.probabilities.values())]
    for _ in range(rounds):
        pull = bandit.pull()
        arms.append(bandit.arms.index(pull.observe))
        losses.append(float(_losses(random, len(bandit.arms), binary)[arms[-1]]))
        bandit.update(pull, loss=losses[-1])
        p.append(list(bandit.probabilities.values()))
    return arms, losses, np.array(p)


def policy_is_a_value(case: PolicyCase) -> None:
    """Frozen, equal to its copies, hashable; JSON and pickle give it back."""
    policy = case.policy
    _require(dataclasses.is_dataclass(policy), policy, "a policy is a frozen dataclass")
    _require(copy.deepcopy(policy) == policy, policy, "a copy must be equal")
    _require(hash(copy.deepcopy(policy)) == hash(policy), policy, "a copy must have the same hash")
    _require(pickle.loads(pickle.dumps(policy)) == policy, policy, "a pickle must give back an equal policy")
    try:
        again = policies.from_dict(json.loads(json.dumps(policies.to_dict(policy))))
    except StateError as error:
        raise AssertionError(f"{policy!r}: it must have a name to be saved: {error}") from error
    _require(again == policy, policy, f"JSON must give back an equal policy, got {again!r}")


def policy_plays_a_distribution(case: PolicyCase) -> None:
    """Probabilities are not negative and sum to one in every round."""
    for horizon in _horizons(case):
        _, _, p = _play(Bandit(case.n_arms, case.policy, horizon=horizon, seed=3), 200)
        _require((p >= 0.0).all(), case.policy, f"probabilities must not be negative, got {p.min()}")
        worst = float(np.abs(p.sum(axis=1) - 1.0).max())
        _require(worst <= 1e-12, case.policy, f"probabilities must sum to 1, off by {worst:.3g}")


def policy_has_honest_weights(case: PolicyCase) -> None:
    """``weight_of`` is the probability of being shown: it sums to one, and is p unless decoupled."""
    policy, n = case.policy, case.n_arms
    params = policy.resolve(n, case.horizon)
    state = init(params)
    random, p = np.random.default_rng(2), np.empty(n)
    for t in range(1, 101):
        read_distribution(params, state, p)
        weights = np.array([weight_of(params, state, arm) for arm in range(n)])
        known = not np.isnan(weights).any()
        _require(known or not weighs(params), policy, "weight_of must not be NaN: learn divides by it")
        if known:
            what = f"in round {t} weight_of gives {weights}"
            total = math.fsum(weights)
            _require(abs(total - 1.0) <= 1e-9, policy, f"{what}, which sums to {total}, not to 1")
            same = policy.decoupled or np.allclose(weights, p, rtol=1e-9, atol=1e-300)
            _require(same, policy, f"{what}, distribution {p}: they must agree (or set decoupled = True)")
        arm, shown, probability, weight, memo = pull_once(params, state, random.random(policy.draws), 0)
        honest = math.isnan(probability) or math.isclose(probability, p[arm], rel_tol=1e-9)
        told = f"probability_of says {probability} of arm {arm}, distribution {p[arm]}: register it"
        _require(honest, policy, told)
        _require(policy.decoupled or shown == arm, policy, "it shows another arm: set decoupled = True")
        update_once(params, state, shown, float(_losses(random, n, False)[shown]), weight, memo)


def policy_draws_from_its_distribution(case: PolicyCase) -> None:
    """Arms are drawn as often as the distribution says, and shown as often as the weights say."""
    policy, n = case.policy, case.n_arms
    params = policy.resolve(n, case.horizon)
    state = init(params)
    random, p, count = np.random.default_rng(5), np.empty(n), 4000
    for rounds in (0, 60):
        for uniforms in random.random((rounds, policy.draws)):
            _, shown, _, weight, memo = pull_once(params, state, uniforms, 0)
            update_once(params, state, shown, float(_losses(random, n, True)[shown]), weight, memo)
        read_distribution(params, state, p)
        uniforms = random.random((count, policy.draws))
        counts_draws = type(params) in before_draw.implementations  # then each is the first
        before = copy.deepcopy(state)
        drawn = np.empty((count, 2), np.int64)
        for i in range(count):
            drawn[i] = pull_once(params, state, uniforms[i], 0)[:2]
            if counts_draws:
                copy_state(before, state)
        weights = np.array([weight_of(params, state, arm) for arm in range(n)])
        for arms, expected in ((drawn[:, 0], p), (drawn[:, 1], weights)):
            if np.isnan(expected).any():
                continue
            counts = np.bincount(arms, minlength=n)
            allowed = FAR_OUT * np.sqrt(count * expected * (1.0 - expected)) + FAR_OUT
            told = f"of {count} draws {counts} fell on the arms, expected {count * expected}"
            _require((np.abs(counts - count * expected) <= allowed).all(), policy, told)


def policy_replays_what_it_played(case: PolicyCase) -> None:
    """``replay`` of a bandit's own history gives its probabilities bit by bit."""
    for horizon in _horizons(case):
        bandit = Bandit(case.n_arms, case.policy, horizon=horizon, seed=5)
        arms, losses, p = _play(bandit, 200)
        how: dict[str, Any] = {"n_arms": case.n_arms, "horizon": horizon, "seed": 5}
        trace = replay(case.policy, arms=arms, losses=losses, **how)
        bad = np.flatnonzero((trace.p != p).any(axis=1))
        told = f"replay differs from live play in {bad.size} of {len(p)} rounds, first in round {bad[:1] + 1}"
        fix = (
            "learn may use nothing but arm, loss, weight and memo, and act, weight_of, memo_of change nothing"
        )
        _require(bad.size == 0, case.policy, f"{told}; {fix}")


def policy_learns_only_from_feedback(case: PolicyCase) -> None:
    """The same seed gives the same run, and pulls without feedback do not move the policy."""
    runs = [_play(Bandit(case.n_arms, case.policy, horizon=case.horizon, seed=9), 60) for _ in range(2)]
    _require(runs[0][:2] == runs[1][:2], case.policy, "the same seed must give the same run")
    if type(case.policy.resolve(case.n_arms, case.horizon)) in before_draw.implementations:
        return
    bandit = Bandit(case.n_arms, case.policy, horizon=case.horizon, seed=9)
    _play(bandit, 40)
    before = bandit.probabilities
    for _ in range(20):
        bandit.pull()
    _require(bandit.probabilities == before, case.policy, "pulls without feedback must not move it")


def policy_draws_replications_independently(case: PolicyCase) -> None:
    """Between replications, and between seeds, what is drawn is uncorrelated given the distributions."""
    rounds, n = 100, case.n_arms
    params = case.policy.resolve(n, case.horizon)
    surprises, variances = [], []
    for seed, replication in itertools.product((1, 2), range(8)):
        state, p = init(params), np.empty(n)
        uniforms = rng.stream(seed, 0, replication).random((rounds, case.policy.draws))
        world = rng.stream(seed, 1, replication)
        surprise, variance = np.empty(rounds), np.empty(rounds)
        for t in range(rounds):
            read_distribution(params, state, p)
            arm, shown, _, weight, memo = pull_once(params, state, uniforms[t], 0)
            update_once(params, state, shown, float(_losses(world, n, False)[shown]), weight, memo)
            surprise[t], variance[t] = (arm == 0) - p[0], p[0] * (1.0 - p[0])
        surprises.append(surprise)
        variances.append(variance)
    pairs = np.triu_indices(len(surprises), 1)
    found = (np.array(surprises) @ np.array(surprises).T)[pairs].sum()
    expected = math.sqrt((np.array(variances) @ np.array(variances).T)[pairs].sum())
    told = f"draws of different replications are correlated: {found:.3g}, expected 0 ± {expected:.3g}"
    _require(abs(found) <= FAR_OUT * expected + 1e-9, case.policy, told)


def policy_survives_saving(case: PolicyCase) -> None:
    """A bandit that went through JSON, pickle or deepcopy, pulls outstanding, continues the same run."""
    bandit = Bandit(case.n_arms, case.policy, horizon=case.horizon, seed=2)
    for i in range(40):
        pull = bandit.pull()
        if i % 3:
            bandit.update(pull, loss=(i % 7) / 7)
    twins = {
        "JSON": Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))),
        "pickle": pickle.loads(pickle.dumps(bandit)),
        "deepcopy": copy.deepcopy(bandit),
    }
    for each in (bandit, *twins.values()):
        for pull in each.outstanding:
            each.update(pull, loss=0.25)
        for i in range(30):
            each.update(each.pull(), loss=(i % 5) / 5)
    for how, twin in twins.items():
        same = twin.to_dict() == bandit.to_dict()
        _require(
            same, case.policy, f"a bandit restored by {how} must continue the same run: all state in arrays"
        )


def policy_compiles_to_its_source(case: PolicyCase) -> None:
    """Compiled kernels draw the same arms as their Python source, with weights equal to 1e-11."""
    params = case.policy.resolve(case.n_arms, case.horizon)
    states = init(params), init(params)
    random = np.random.default_rng(4)
    for t in range(1, 61):
        uniforms, loss = random.random(case.policy.draws), float(random.random())
        one = pull_once(params, states[0], uniforms, 0)
        other = pull_once.py_func(params, states[1], uniforms, 0)
        same = one[:2] == other[:2] and np.allclose(one[2:], other[2:], rtol=1e-11, equal_nan=True)
        told = f"in round {t} the compiled kernels draw {one}, the Python source {other}"
        _require(same, case.policy, f"{told} (arm, arm shown, their probabilities, memo)")
        statuses = (
            update_once(params, states[0], one[1], loss, *one[3:]),
            update_once.py_func(params, states[1], other[1], loss, *other[3:]),
        )
        _require(statuses == (0, 0), case.policy, f"step must return 0 in round {t}, got {statuses}")


def policy_compiles_once(case: PolicyCase) -> None:
    """Other numbers, another seed and another horizon compile nothing again."""
    Bandit(case.n_arms, case.policy, horizon=case.horizon)
    entries = (pull_once, update_once)
    before = [entry.versions for entry in entries]
    bandit = Bandit(case.n_arms, case.policy, horizon=2 * case.horizon, seed=1)
    bandit.update(bandit.pull(), reward=1)
    after = [entry.versions for entry in entries]
    told = "its parameters must have the same types whatever their numbers (an int that may be a float?)"
    _require(after == before, case.policy, f"another horizon compiled the kernels again: {told}")


def policy_keeps_its_memory(case: PolicyCase) -> None:
    """Rounds take no memory that they do not give back."""
    params = case.policy.resolve(case.n_arms, case.horizon)
    state = init(params)
    uniforms = np.random.default_rng(6).random((300, case.policy.draws))

    def rounds() -> None:
        for row in uniforms:
            _, shown, _, weight, memo = pull_once(params, state, row, 0)
            update_once(params, state, shown, 0.5, weight, memo)

    rounds()
    before = _jit.arrays_alive()
    rounds()
    leaked = _jit.arrays_alive() - before
    _require(leaked <= 0, case.policy, f"{leaked} arrays were not freed in {len(uniforms)} rounds")


def policy_can_be_restricted(case: PolicyCase) -> None:
    """Only arms that are awake are drawn: by default, from the distribution in force conditioned on them."""
    params = case.policy.resolve(case.n_arms, case.horizon)
    state = init(params)
    awake = np.ones(case.n_arms)
    awake[0] = 0.0 if case.n_arms > 1 else 1.0
    p, conditioned = np.empty(case.n_arms), np.empty(case.n_arms)
    read_distribution(params, state, p)
    arm, weight = act_among(params, state, np.full(case.policy.draws, 0.7), awake, conditioned)
    left = p * awake
    expected = left / left.sum() if left.sum() > 0.0 else awake / awake.sum()
    if type(params) in restrict.implementations:
        expected = conditioned * awake / conditioned.sum()
    _require(awake[arm] == 1.0 and weight == conditioned[arm], case.policy, "a sleeping arm was drawn")
    _require(
        np.allclose(conditioned, expected, rtol=1e-12), case.policy, f"{conditioned}, expected {expected}"
    )


def policy_plays_arms_that_change(case: PolicyCase) -> None:
    """Arms that sleep, arrive and retire: drawn as told, saved in the middle; or it says why not."""
    if case.policy.fixed_arms is not None:
        return
    bandit = Bandit(case.n_arms, case.policy, horizon=case.horizon, seed=3)
    twin = None
    for t in range(60):
        if t == 10:
            bandit.add("new")
        elif t == 20 and case.n_arms > 1:
            bandit.disable(0)
        elif t == 40:
            bandit.retire("new" if case.n_arms == 1 else 1)
            if case.n_arms > 1:
                bandit.enable(0)
        elif t == 50:
            twin = Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
        asked = [arm for i, arm in enumerate(bandit.arms) if (i + t) % 3 and arm not in bandit.disabled]
        for each in filter(None, (bandit, twin)):
            p = each.probabilities
            pull = each.pull(among=asked if asked and t % 2 else None)
            told = f"in round {t + 1} it drew {pull!r} from {p}, asked for {asked}"
            allowed = asked if asked and t % 2 else [arm for arm in p if arm not in each.disabled]
            _require(pull.arm in allowed and 0.0 < pull.probability <= 1.0, case.policy, told)
            _require(
                abs(sum(p.values()) - 1.0) < 1e-9, case.policy, f"probabilities sum to {sum(p.values())}"
            )
            if t % 4 == 3:
                for late in each.outstanding:
                    each.update(late, loss=(late.round % 7) / 7)
    assert twin is not None
    same = twin.to_dict() == bandit.to_dict()
    _require(same, case.policy, "a bandit whose arms have changed must continue the same run after loading")


POLICY_CHECKS: tuple[Callable[[PolicyCase], None], ...] = (
    policy_is_a_value,
    policy_plays_a_distribution,
    policy_has_honest_weights,
    policy_draws_from_its_distribution,
    policy_replays_what_it_played,
    policy_learns_only_from_feedback,
    policy_draws_replications_independently,
    policy_survives_saving,
    policy_compiles_to_its_source,
    policy_compiles_once,
    policy_keeps_its_memory,
    policy_can_be_restricted,
    policy_plays_arms_that_change,
)


# --- environments ---------------------------------------------------------------------------------------


class AlwaysParameters(NamedTuple):
    """The arm."""

    n_arms: int
    arm: int


class AlwaysState(NamedTuple):
    """All mass on the arm."""

    p: FloatArray


@dataclass(frozen=True, repr=False)
class Always(Policy):
    """One arm, whatever happens: what the benchmark of an environment is measured by."""

    arm: int

    def parameters(self, n_arms: int, horizon: int | None) -> AlwaysParameters:
        """K and the arm."""
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
    for check in ENVIRONMENT_CHECKS:
        check(EnvironmentCase(environment, horizon))


POLICY = TsallisINF()


def _run(case: EnvironmentCase, policy: Any = POLICY, **options: Any) -> Any:
    how = {"horizon": case.horizon, "replications": 2, "seed": 5, "jobs": 1} | options
    return simulate(policy, case.environment, **how)


def environment_is_a_value(case: EnvironmentCase) -> None:
    """Hashable, and a pickle of it is the same world."""
    world = case.environment
    _require({world: 1}[world] == 1, world, "an environment must be hashable")
    twin = pickle.loads(pickle.dumps(world))
    _require(repr(twin) == repr(world), world, "a pickle must give back the same environment")
    _require(world.n_arms >= 1, world, f"n_arms must be at least 1, got {world.n_arms}")
    _require(bool(world.regret_kind), world, "regret_kind must say in words how regret is measured")
    same = np.array_equal(_run(case).regret, _run(EnvironmentCase(twin, case.horizon)).regret, equal_nan=True)
    _require(same, world, "a pickle must be the same world, bit by bit")


def environment_has_losses_in_range(case: EnvironmentCase) -> None:
    """Losses are in [0, 1], and what is suffered adds up."""
    run = _run(case, trace=True, checkpoints=range(1, case.horizon + 1))
    for trace, losses in zip(run.traces[0], run.losses[0], strict=True):
        inside = ((trace.losses >= 0.0) & (trace.losses <= 1.0)).all()
        _require(inside, case.environment, "losses must be in [0, 1]")
        total = np.cumsum(trace.losses)
        adds_up = np.allclose(losses[: total.size], total, rtol=1e-12)
        _require(adds_up, case.environment, "losses must be the same, however often they are asked for")


def environment_keeps_its_bits(case: EnvironmentCase) -> None:
    """The same seed gives the same bits for any block, any threads, and any other policies beside."""
    run = _run(case).regret
    for options in ({}, {"block": 1}, {"block": 7, "jobs": 2}):
        same = np.array_equal(_run(case, **options).regret, run, equal_nan=True)
        _require(same, case.environment, f"the same seed must give the same bits, but not with {options}")
    beside = _run(case, {"x": POLICY, "y": Always(0)}).regret
    _require(
        np.array_equal(beside[:1], run, equal_nan=True), case.environment, "another policy changed a run"
    )


def environment_replays(case: EnvironmentCase) -> None:
    """A policy replayed on the arms and losses of a trace plays what it played."""
    if case.environment.delay(case.horizon).longest > 0:
        return
    for trace in _run(case, trace=True).traces[0]:
        how: dict[str, Any] = {"n_arms": trace.n_arms, "horizon": case.horizon}
        again = replay(POLICY, arms=trace.arms, losses=trace.losses, **how)
        _require(
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
        told = f"{kind} is {most:.3g} times the number of rounds, at most 1 is possible"
        _require(most <= 1.0 + 1e-9, world, f"{told}: cost_of and benchmark must be on the same scale")
    if watches(world.parameters(case.horizon)):
        return  # each arm meets other losses
    best = np.nanmin(run.regret[1:], axis=0)
    if world.dynamic:
        told = f"an arm has dynamic regret {best.min():.3g}: nothing beats the best arm of each round"
        _require(best.min() >= -1e-8, world, told)
        return
    told = f"the best fixed arm has regret {best.ravel()[np.nanargmax(np.abs(best))]:.3g}, not 0"
    _require(np.allclose(best[np.isfinite(best)], 0.0, atol=1e-8), world, f"{told}: is the benchmark right?")


def environment_agrees_with_its_gaps(case: EnvironmentCase) -> None:
    """Gaps, optimal arms, corruption and spread belong together."""
    world, gaps = case.environment, case.environment.gaps
    if gaps is None:
        _require(world.optimal_arms is None, world, "optimal arms without gaps")
        return
    _require(gaps.shape == (world.n_arms,), world, f"gaps must have {world.n_arms} entries, got {gaps.shape}")
    _require(gaps.min() == 0.0, world, f"the smallest gap must be 0, got {gaps.min()}")
    _require((world.corruption(case.horizon) or 0.0) >= 0.0, world, "corruption must not be negative")
    if world.corruption(case.horizon) == 0.0:
        run = _run(case, {str(arm): Always(arm) for arm in range(world.n_arms)})
        measured = run.regret[:, 0, -1] / case.horizon
        _require(
            np.allclose(measured, gaps, atol=1e-9), world, f"gaps {gaps}, but arms cost {measured} a round"
        )


ENVIRONMENT_CHECKS: tuple[Callable[[EnvironmentCase], None], ...] = (
    environment_is_a_value,
    environment_has_losses_in_range,
    environment_keeps_its_bits,
    environment_replays,
    environment_has_honest_regret,
    environment_agrees_with_its_gaps,
)


# --- regularizers ---------------------------------------------------------------------------------------


def check_regularizer(regularizer: Regularizer) -> None:
    """Hold a regularizer to its contract: slope, reach, the step, hybrids, and accounting if it has it.

    Raises
    ------
    AssertionError
        Which promise is broken, and how.
    """
    for check in REGULARIZER_CHECKS:
        check(regularizer)


DEPTHS = (0.0, 1e-3, 0.1, 1.0, 3.0, 10.0, 30.0)


def regularizer_is_a_value(regularizer: Regularizer) -> None:
    """Equal to its copies, hashable; pickle gives it back."""
    _require(isinstance(regularizer, Regularizer), regularizer, "it must be an instance of bw.Regularizer")
    for again in (copy.deepcopy(regularizer), pickle.loads(pickle.dumps(regularizer))):
        _require(again == regularizer, regularizer, "a copy must be equal")
        _require(hash(again) == hash(regularizer), regularizer, "a copy must have the same hash")


def regularizer_has_a_rising_slope(regularizer: Regularizer) -> None:
    """h increases in the depth v, and its derivatives are derivatives."""
    params = regularizer.parameters()
    for depth in DEPTHS:
        height, first, second = slope(params, depth)
        _require(first > 0.0, regularizer, f"h must increase, but h'({depth}) = {first}")
        d = 1e-4
        up, down = slope(params, depth + d), slope(params, max(0.0, depth - d))
        width = depth + d - max(0.0, depth - d)
        for name, value, a, b in (("h'", first, up[0], down[0]), ("h''", second, up[1], down[1])):
            found = (a - b) / width
            close = abs(found - value) <= 1e-2 * max(abs(found), abs(value)) + 1e-6 * abs(height)
            _require(close, regularizer, f"slope gives {name}({depth}) = {value}, differences give {found}")


def regularizer_reaches(regularizer: Regularizer) -> None:
    """``reach`` gives a depth at which h is at least the height."""
    params = regularizer.parameters()
    lowest = slope(params, 0.0)[0]
    for depth in DEPTHS:
        height = max(lowest, slope(params, depth)[0])
        found = reach(params, height)
        there = slope(params, found)[0]
        told = f"reach({height}) = {found}, where h is only {there}"
        _require(there >= height - 1e-9 * abs(height), regularizer, told)


def regularizer_can_be_solved(regularizer: Regularizer) -> None:
    """The step is solved, alone, with a barrier and in a hybrid: KKT conditions and sum to 1e-12."""
    random = np.random.default_rng(7)
    hybrids = [Hybrid(regularizer, Shannon())] if slope(regularizer.parameters(), 1.0)[2] >= 0.0 else []
    for n_arms in (1, 2, 3, 10):
        for barrier in (0.0, 0.1, 162.0):
            losses, rates = random.exponential(5.0, n_arms), 10.0 ** random.uniform(-1, 2, n_arms)
            for each in (regularizer, *hybrids):
                found = solve(losses, rates=rates, regularizer=each, log_barrier=barrier)
                told = f"losses {losses}, rates {rates}, log_barrier {barrier}: {found}"
                good = found.residual <= 1e-10 and abs(found.sum_error) <= 1e-10
                _require(good, each, f"the step is not solved for {told}")


def regularizer_can_be_accounted(regularizer: Regularizer) -> None:
    """Where ``potential``, ``rise`` and ``spread`` are registered, they agree with h, and accounts close."""
    params = regularizer.parameters()
    kernels: dict[str, Any] = {"potential": potential, "rise": rise, "spread": spread}
    missing = [name for name, kernel in kernels.items() if type(params) not in kernel.implementations]
    if missing:
        _require(len(missing) == 3, regularizer, f"accounts also need {missing}")
        return
    for depth in (0.05, 0.5, 2.0, 6.0):
        p = math.exp(-depth)
        height = slope(params, depth)[0]
        d = 1e-5 * p
        up, down = (potential(params, x, slope(params, -math.log(x))[0]) for x in (p + d, p - d))
        found = (down - up) / (2.0 * d)
        told = f"potential must have the slope −h: at p = {p:.4g} it has {-found:.8g}, h is {height:.8g}"
        _require(abs(found - height) <= 1e-5 * max(1.0, abs(height)), regularizer, told)
        for u in (-0.5 * depth, 0.3):
            climbed, first = rise(params, p, height, u)
            there = slope(params, depth + u)
            told = f"rise at p = {p:.4g} by u = {u} is {climbed, first}, slope gives {there} from {height}"
            close = math.isclose(climbed, there[0] - height, rel_tol=1e-7, abs_tol=1e-9)
            _require(close and math.isclose(first, there[1], rel_tol=1e-7), regularizer, told)
            w = 0.7 * u
            x = p * math.exp(w)
            there_h = slope(params, -math.log(x))[0]
            wanted = potential(params, x, there_h) - potential(params, p, height) + height * (x - p)
            got = spread(params, p, height, w)
            told = f"spread at p = {p:.4g}, w = {w:.3g} is {got}, ψ gives {wanted}"
            _require(math.isclose(got, wanted, rel_tol=1e-5, abs_tol=1e-9), regularizer, told)
    policy = FTRL(regularizer, log_barrier=1.0, theta=1.0, alpha=0.5)
    for inside, outside in ((1, 1), (2, 2), (1, 4), (4, 4), (3, 2)):
        n = inside + outside
        arms = np.random.default_rng(8).integers(n, size=30)
        losses = np.random.default_rng(9).random(30)
        a = account(policy, n_arms=n, horizon=100, arms=arms, losses=losses, optimal=range(inside))
        parts = a.terms["suboptimal"] + a.terms["optimal"] + a.terms["residual"]
        gap = float(np.abs(a.terms["total"] - a.terms["benchmark"] - parts).max())
        told = f"with {inside} optimal of {n} arms the parts of the regret miss the whole by {gap:.3g}"
        _require(gap <= 1e-9, regularizer, told)


REGULARIZER_CHECKS: tuple[Callable[[Regularizer], None], ...] = (
    regularizer_is_a_value,
    regularizer_has_a_rising_slope,
    regularizer_reaches,
    regularizer_can_be_solved,
    regularizer_can_be_accounted,
)
