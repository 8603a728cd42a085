"""The contract of policies."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _jit, policies, rng
from bothworlds._jit import FloatArray, copy_state
from bothworlds.bandit import Bandit
from bothworlds.errors import InvalidArgumentError, StateError, in_words
from bothworlds.policies import Policy
from bothworlds.policies.base import (
    act,
    act_among,
    before_draw,
    init,
    learn_absent,
    pull_once,
    read_distribution,
    restrict,
    step,
    update_once,
    weighs,
    weight_of,
)
from bothworlds.simulation import replay
from bothworlds.statefile import clone_state, pack
from bothworlds.testing.promise import FAR_OUT, in_bounds, require, require_hashable


class PolicyCase(NamedTuple):
    """A policy, and the game in which it is checked."""

    policy: Policy
    n_arms: int
    horizon: int
    learns: bool = False


def check_policy(policy: Policy, *, n_arms: int = 4, horizon: int = 500, learns: bool = False) -> None:
    """Hold a policy to its contract: a value, a distribution, honest weights, replay, saving, compiling.

    Parameters
    ----------
    policy:
        The policy.
    n_arms, horizon:
        The game; give them if the policy can only play some.
    learns:
        Must it lose less than half of what uniform play does within ``horizon`` easy rounds, in which one arm
        is far better than all others? Most policies do in 3000; those with the constants of a theorem do not.

    Raises
    ------
    AssertionError
        Which promise is broken, and how.
    """
    case = PolicyCase(Policy.require(policy), n_arms, horizon, learns)
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
    except TypeError as error:
        message = f"horizon may be None, where parameters says {in_words(error)}"
        fix = "do without it, or raise an InvalidArgumentError that names it"
        raise AssertionError(f"{case.policy!r}: {message}; {fix}") from error
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
    require(dataclasses.is_dataclass(policy), policy, "a policy is a frozen dataclass")
    require_hashable(policy)
    fix = "leave __eq__ and __hash__ to dataclass, and let fields be numbers, words, tuples and parts"
    twin = copy.deepcopy(policy)
    require(twin == policy and hash(twin) == hash(policy), policy, f"a copy must be equal: {fix}")
    require(
        pickle.loads(pickle.dumps(policy)) == policy, policy, f"a pickle must give back an equal one: {fix}"
    )
    try:
        again = policies.from_dict(json.loads(json.dumps(policies.to_dict(policy))))
    except StateError as error:
        raise AssertionError(f"{policy!r}: it must have a name to be saved: {error}") from error
    fix = "turn lists into tuples in __post_init__, self._set(x=tuple(self.x))"
    require(again == policy, policy, f"JSON must give back an equal policy, got {again!r}: {fix}")


def _arrays(state: Any, name: str = "state") -> Iterator[tuple[str, Any]]:
    """The arrays of a state, with their names."""
    if isinstance(state, np.ndarray):
        yield name, state
        return
    for key, value in zip(state._fields, state, strict=True):
        yield from _arrays(value, f"{name}.{key}")


def policy_has_a_state_of_its_own(case: PolicyCase) -> None:
    """A state is made of vectors of float64, and no two of them have memory in common."""
    params = case.policy.resolve(case.n_arms, case.horizon)
    state, other = init(params), init(params)
    pack(state)  # says what is neither an array nor a NamedTuple
    named = dict(_arrays(state))
    for name, array in named.items():
        fine = array.dtype == np.float64 and array.ndim == 1
        got = f"got {array.dtype} of shape {array.shape}"
        fix = "write np.zeros(n) or np.array(values, dtype=float), whole numbers too"
        require(fine, case.policy, f"{name} must be float64 with one dimension, {got}: {fix}")
    for name, array in _arrays(other):
        message = f"init must make new arrays at each call, but {name} is the same in two states"
        shared = any(np.shares_memory(array, one) for one in named.values())
        require(not shared, case.policy, f"{message}: copy it, for kernels change it in place")
    for (one, first), (another, second) in itertools.combinations(named.items(), 2):
        message = f"{one} and {another} must not have memory in common"
        fix = "copy one of them, for they are saved and restored one by one"
        require(not np.shares_memory(first, second), case.policy, f"{message}: {fix}")


def policy_acts_on_what_it_learns(case: PolicyCase) -> None:
    """``act`` gives the number of an arm; where ``learn`` changes the state, the distribution moves."""
    policy, n = case.policy, case.n_arms
    params = policy.resolve(n, case.horizon)

    def play(draws: int) -> tuple[Any, bool]:
        state, random = init(params), np.random.default_rng(10)
        first, p = np.empty(n), np.empty(n)
        read_distribution.python(params, state, first)
        moved = n == 1
        for t in range(1, 101):
            uniforms = random.random(draws)
            before_draw(params, state, 0, uniforms[:0])
            arm = act(params, state, uniforms)
            is_arm = isinstance(arm, (int, np.integer)) and 0 <= arm < n
            message = f"act must return an arm, a whole number in 0..{n - 1}, got {arm!r} in round {t}"
            require(is_arm, policy, f"{message}: draw(p, uniforms[0]) gives one")
            _, observed, _, weight, memo = pull_once.python(params, state, uniforms, 0)
            loss = float(_losses(random, n, False)[observed])
            update_once.python(params, state, observed, loss, weight, memo)
            read_distribution.python(params, state, p)
            moved = moved or not np.array_equal(p, first)
        return state, moved

    state, moved = in_bounds(policy, policy.draws, play)
    if type(params) not in step.implementations:
        idle = moved or pack(state) == pack(init(params))
        message = "learn changes the state, but in 100 rounds the distribution never moved"
        require(idle, policy, f"{message}: register step, which computes it from the state")


def policy_weighs_what_it_learns(case: PolicyCase) -> None:
    """``learn`` depends on the weight it is given if ``weighs`` says so, and on none otherwise.

    Policies that play in blocks may take it from the memo: see ``weight_of``.
    """
    params = case.policy.resolve(case.n_arms, case.horizon)
    weighed, depends = bool(weighs(params)), False
    if case.n_arms == 1 or (weighed and case.policy.in_blocks):
        return
    state, random = init(params), np.random.default_rng(11)
    for t in range(8):
        _, observed, _, weight, memo = pull_once.python(params, state, random.random(case.policy.draws), 0)
        weight = 0.5 if math.isnan(weight) else weight
        loss = 0.25 if t % 2 else 1.0  # estimates of losses are 0 for a loss of 0, those of gains for 1
        twin = clone_state(state)
        update_once.python(params, twin, observed, loss, 0.5 * weight, memo)
        update_once.python(params, state, observed, loss, weight, memo)
        depends = depends or pack(twin) != pack(state)
    if weighed:
        message = "weighs is True, but half the weight taught learn the same in 8 rounds: divide by weight"
        fix = "which belongs to the draw (p may be another by now), or say weighs_losses=False"
        require(depends, case.policy, f"{message}, {fix}")
    else:
        message = "weighs is False, but learn depends on the weight, which may be NaN or that of others"
        require(not depends, case.policy, f"{message}: leave out weighs_losses=False")


def policy_plays_a_distribution(case: PolicyCase) -> None:
    """Probabilities are not negative and sum to one in every round."""
    for horizon in _horizons(case):
        _, _, p = _play(Bandit(case.n_arms, case.policy, horizon=horizon, seed=3), 200)
        fix = "compute it numerically, as Thompson does, or write a PythonPolicy, which needs none"
        require(not np.isnan(p).any(), case.policy, f"distribution must be known, got NaN: {fix}")
        fix = "let step end with numbers that are at least 0"
        require((p >= 0.0).all(), case.policy, f"probabilities must not be negative, got {p.min()}: {fix}")
        worst = float(np.abs(p.sum(axis=1) - 1.0).max())
        fix = "let step divide them by their sum"
        require(worst <= 1e-12, case.policy, f"probabilities must sum to 1, off by {worst:.3g}: {fix}")


def policy_has_honest_weights(case: PolicyCase) -> None:
    """``weight_of`` is the probability of being observed: it sums to one, and is p unless decoupled."""
    policy, n = case.policy, case.n_arms
    params = policy.resolve(n, case.horizon)
    state = init(params)
    random, p = np.random.default_rng(2), np.empty(n)
    for t in range(1, 101):
        read_distribution(params, state, p)
        weights = np.array([weight_of(params, state, arm) for arm in range(n)])
        known = not np.isnan(weights).any()
        require(known or not weighs(params), policy, "weight_of must not be NaN: learn divides by it")
        if known:
            what = f"in round {t} weight_of gives {weights}"
            total = math.fsum(weights)
            fix = "it must be the probability with which an arm is observed"
            require(abs(total - 1.0) <= 1e-9, policy, f"{what}, which sums to {total}, not to 1: {fix}")
            same = policy.decoupled or np.allclose(weights, p, rtol=1e-9, atol=1e-300)
            require(same, policy, f"{what}, distribution {p}: they must agree (or set decoupled = True)")
        arm, observed, probability, weight, memo = pull_once(params, state, random.random(policy.draws), 0)
        honest = math.isnan(probability) or math.isclose(probability, p[arm], rel_tol=1e-9)
        message = f"probability_of says {probability} of arm {arm}, distribution {p[arm]}: register it"
        require(honest, policy, message)
        require(policy.decoupled or observed == arm, policy, "it observes another arm: set decoupled = True")
        update_once(params, state, observed, float(_losses(random, n, False)[observed]), weight, memo)


def policy_draws_from_its_distribution(case: PolicyCase) -> None:
    """Arms are drawn as often as the distribution says, and observed as often as the weights say."""
    policy, n = case.policy, case.n_arms
    params = policy.resolve(n, case.horizon)
    state = init(params)
    random, p, count = np.random.default_rng(5), np.empty(n), 4000
    for rounds in (0, 60):
        for uniforms in random.random((rounds, policy.draws)):
            _, observed, _, weight, memo = pull_once(params, state, uniforms, 0)
            update_once(params, state, observed, float(_losses(random, n, True)[observed]), weight, memo)
        read_distribution(params, state, p)
        uniforms = random.random((count, policy.draws))
        before = copy.deepcopy(state)
        drawn = np.empty((count, 2), np.int64)
        for i in range(count):
            drawn[i] = pull_once(params, state, uniforms[i], 0)[:2]
            if policy.notes_draws:  # each is to be the first
                copy_state(before, state)
        weights = np.array([weight_of(params, state, arm) for arm in range(n)])
        for arms, expected in ((drawn[:, 0], p), (drawn[:, 1], weights)):
            if np.isnan(expected).any():
                continue
            counts = np.bincount(arms, minlength=n)
            allowed = FAR_OUT * np.sqrt(count * expected * (1.0 - expected)) + FAR_OUT
            message = f"of {count} draws {counts} fell on the arms, expected {count * expected}"
            fix = "draw from what distribution (and for observe weight_of) says, as draw(p, uniforms[0]) does"
            require((np.abs(counts - count * expected) <= allowed).all(), policy, f"{message}: {fix}")


def policy_replays_what_it_played(case: PolicyCase) -> None:
    """``replay`` of a bandit's own history gives its probabilities bit by bit."""
    for horizon in _horizons(case):
        bandit = Bandit(case.n_arms, case.policy, horizon=horizon, seed=5)
        arms, losses, p = _play(bandit, 200)
        how: dict[str, Any] = {"n_arms": case.n_arms, "horizon": horizon, "seed": 5}
        trace = replay(case.policy, arms=arms, losses=losses, **how)
        bad = np.flatnonzero((trace.p != p).any(axis=1))
        message = (
            f"replay differs from live play in {bad.size} of {len(p)} rounds, first in round {bad[:1] + 1}"
        )
        fix = (
            "learn may use nothing but arm, loss, weight and memo, and act, weight_of, memo_of change nothing"
        )
        require(bad.size == 0, case.policy, f"{message}; {fix}")


def policy_learns_only_from_feedback(case: PolicyCase) -> None:
    """The same seed gives the same run, and pulls without feedback do not move the policy."""
    runs = [_play(Bandit(case.n_arms, case.policy, horizon=case.horizon, seed=9), 60) for _ in range(2)]
    fix = "kernels may use nothing random but their uniforms, and bothworlds.rng.expand where these are few"
    require(runs[0][:2] == runs[1][:2], case.policy, f"the same seed must give the same run: {fix}")
    if case.policy.notes_draws:
        return
    bandit = Bandit(case.n_arms, case.policy, horizon=case.horizon, seed=9)
    _play(bandit, 40)
    before = bandit.probabilities
    for _ in range(20):
        bandit.pull()
    fix = "let learn and step alone change the state, or set notes_draws = True"
    require(bandit.probabilities == before, case.policy, f"pulls without feedback must not move it: {fix}")


def policy_draws_replications_independently(case: PolicyCase) -> None:
    """Between replications, and between seeds, what is drawn is uncorrelated given the distributions.

    It looks at draws alone. It cannot see randomness inside ``learn`` that is the same in all replications,
    for instance a chain of hashes that starts at a constant: that moves the distributions, which are given
    here. What ``learn`` needs of randomness should be the memo of the draw.
    """
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
            arm, observed, _, weight, memo = pull_once(params, state, uniforms[t], 0)
            update_once(params, state, observed, float(_losses(world, n, False)[observed]), weight, memo)
            surprise[t], variance[t] = (arm == 0) - p[0], p[0] * (1.0 - p[0])
        surprises.append(surprise)
        variances.append(variance)
    pairs = np.triu_indices(len(surprises), 1)
    found = (np.array(surprises) @ np.array(surprises).T)[pairs].sum()
    expected = math.sqrt((np.array(variances) @ np.array(variances).T)[pairs].sum())
    message = f"draws of different replications are correlated: {found:.3g}, expected 0 ± {expected:.3g}"
    fix = "act may use nothing random but its uniforms, and bothworlds.rng.expand where these are few"
    require(abs(found) <= FAR_OUT * expected + 1e-9, case.policy, f"{message}; {fix}")


def policy_prefers_small_losses(case: PolicyCase) -> None:
    """It does not seek an arm that loses more than all others, and where ``learns`` is asked for, it learns.

    Blocks may be longer than the game, so policies that play in blocks are not held to the former.
    """
    n, policy = case.n_arms, case.policy
    if n == 1:
        return
    if not policy.in_blocks:
        means = np.full(n, 0.1)
        means[0] = 0.9
        arms, _ = _suffer(case, means)
        share, most = float(np.mean(arms == 0)), 0.5 + 0.5 / n
        message = f"it plays an arm with mean loss 0.9 in {share:.0%} of rounds, where all others have 0.1"
        require(share <= most, policy, f"{message}: learn gets a loss, not a reward")
    if case.learns:
        means = np.full(n, 0.9)
        means[0] = 0.1
        _, suffered = _suffer(case, means)
        uniform = float(means.mean())
        message = f"it lost {suffered:.3g} a round in {case.horizon} rounds, uniform play {uniform:.3g}"
        fix = "learn gets a loss, not a reward; or give more rounds, horizon=3000, or no learns=True"
        require(suffered < 0.5 * uniform, policy, f"{message}, the best arm 0.1: {fix}")


def _suffer(case: PolicyCase, means: FloatArray) -> tuple[Any, float]:
    """The arms played on Bernoulli losses with these means, and the mean loss."""
    params = case.policy.resolve(case.n_arms, case.horizon)
    state, arms, suffered = init(params), [], 0.0
    losses = (np.random.default_rng(12).random((case.horizon, case.n_arms)) < means).astype(float).tolist()
    for uniforms, row in zip(rng.stream(11).random((case.horizon, case.policy.draws)), losses, strict=True):
        arm, observed, _, weight, memo = pull_once(params, state, uniforms, 0)
        update_once(params, state, observed, row[observed], weight, memo)
        arms.append(arm)
        suffered += row[arm]
    return np.array(arms), suffered / case.horizon


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
        require(
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
        message = f"in round {t} the compiled kernels draw {one}, the Python source {other}"
        require(same, case.policy, f"{message} (arm, arm observed, their probabilities, memo)")
        statuses = (
            update_once(params, states[0], one[1], loss, *one[3:]),
            update_once.py_func(params, states[1], other[1], loss, *other[3:]),
        )
        require(statuses == (0, 0), case.policy, f"step must return 0 in round {t}, got {statuses}")


def policy_compiles_once(case: PolicyCase) -> None:
    """Other numbers, another seed and another horizon compile nothing again."""
    Bandit(case.n_arms, case.policy, horizon=case.horizon)
    entries = (pull_once, update_once)
    before = [entry.versions for entry in entries]
    bandit = Bandit(case.n_arms, case.policy, horizon=2 * case.horizon, seed=1)
    bandit.update(bandit.pull(), reward=1)
    after = [entry.versions for entry in entries]
    message = "its parameters must have the same types whatever their numbers (an int that may be a float?)"
    require(after == before, case.policy, f"another horizon compiled the kernels again: {message}")


def policy_keeps_its_memory(case: PolicyCase) -> None:
    """Rounds take no memory that they do not give back."""
    params = case.policy.resolve(case.n_arms, case.horizon)
    state = init(params)
    uniforms = np.random.default_rng(6).random((300, case.policy.draws))

    def rounds() -> None:
        for row in uniforms:
            _, observed, _, weight, memo = pull_once(params, state, row, 0)
            update_once(params, state, observed, 0.5, weight, memo)

    rounds()
    before = _jit.arrays_alive()
    rounds()
    leaked = _jit.arrays_alive() - before
    message = f"{leaked} arrays were not freed in {len(uniforms)} rounds"
    require(leaked <= 0, case.policy, f"{message}: make no array in a kernel, keep room for it in the state")


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
    message = f"restrict gives {conditioned}, where the arms that are awake are {awake}"
    drawn = awake[arm] == 1.0 and weight == conditioned[arm]
    fix = "set out[i] = 0 where awake[i] is 0, and let the others sum to 1"
    require(drawn, case.policy, f"{message}, and arm {arm} was drawn: {fix}")
    require(np.allclose(conditioned, expected, rtol=1e-12), case.policy, f"{message}, not {expected}: {fix}")


def policy_plays_arms_that_change(case: PolicyCase) -> None:
    """Arms that sleep, arrive and retire: drawn as told, saved in the middle; or it says why not."""
    if case.policy.fixed_arms is not None:
        return
    params = case.policy.resolve(case.n_arms, case.horizon)
    told = type(params) in learn_absent.implementations or not weighs(params)
    message = "fixed_arms is None and learn divides by the weight, so absent arms must learn something too"
    require(told, case.policy, f"{message}: register learn_absent (docs/arms.md)")
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
            message = f"in round {t + 1} it drew {pull!r} from {p}, asked for {asked}"
            allowed = asked if asked and t % 2 else [arm for arm in p if arm not in each.disabled]
            require(pull.arm in allowed and 0.0 < pull.probability <= 1.0, case.policy, message)
            require(abs(sum(p.values()) - 1.0) < 1e-9, case.policy, f"probabilities sum to {sum(p.values())}")
            if t % 4 == 3:
                for late in each.outstanding:
                    each.update(late, loss=(late.round % 7) / 7)
    assert twin is not None
    same = twin.to_dict() == bandit.to_dict()
    require(same, case.policy, "a bandit whose arms have changed must continue the same run after loading")


POLICY_CHECKS: tuple[Callable[[PolicyCase], None], ...] = (
    policy_is_a_value,
    policy_has_a_state_of_its_own,
    policy_acts_on_what_it_learns,
    policy_weighs_what_it_learns,
    policy_plays_a_distribution,
    policy_has_honest_weights,
    policy_learns_only_from_feedback,
    policy_draws_from_its_distribution,
    policy_replays_what_it_played,
    policy_draws_replications_independently,
    policy_prefers_small_losses,
    policy_survives_saving,
    policy_compiles_to_its_source,
    policy_compiles_once,
    policy_keeps_its_memory,
    policy_can_be_restricted,
    policy_plays_arms_that_change,
)
