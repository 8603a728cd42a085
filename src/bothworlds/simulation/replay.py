"""``bw.replay``: what a policy would have played on a given history."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check, rng
from bothworlds._jit import FloatArray, IntArray, advise_numba, entry
from bothworlds.errors import InvalidArgumentError, SolverError
from bothworlds.policies.base import (
    Policy,
    after_draw,
    before_draw,
    distribution,
    init,
    inspect,
    learn,
    memo_of,
    require_policy,
    step,
    weighs,
    weight_of,
)
from bothworlds.problem import Problem
from bothworlds.simplex.kernel import FAILED
from bothworlds.simulation.trace import Trace

LONG = 100_000  # rounds times arms: seconds, as plain Python

_DONE = 0
_IMPOSSIBLE = 1
_UNSOLVED = 2


@entry
def _replay(
    params: Any,
    state: Any,
    arms: IntArray,
    losses: FloatArray,
    uniforms: FloatArray,
    out_p: FloatArray,
    out_rates: FloatArray,
    out_estimates: FloatArray,
) -> tuple[int, int]:
    for t in range(arms.size):
        before_draw(params, state, 0, uniforms[t, :0])  # all arms are awake
        distribution(params, state, out_p[t])
        inspect(params, state, out_rates[t], out_estimates[t])
        weight = weight_of(params, state, arms[t]) if weighs(params) else 1.0
        if not weight >= 1e-300:  # 1/weight must stay finite
            return _IMPOSSIBLE, t
        memo = memo_of(params, state, arms[t], uniforms[t])
        after_draw(params, state, arms[t])
        learn(params, state, arms[t], losses[t], weight, memo)
        if step(params, state) == FAILED:
            return _UNSOLVED, t
    n = arms.size
    distribution(params, state, out_p[n])
    inspect(params, state, out_rates[n], out_estimates[n])
    return _DONE, n


@entry
def _replay_sets(
    params: Any,
    state: Any,
    arms: IntArray,
    losses: FloatArray,
    uniforms: FloatArray,
    out_p: FloatArray,
    out_rates: FloatArray,
    out_estimates: FloatArray,
    weights: FloatArray,
) -> tuple[int, int]:
    n, m = arms.shape
    for t in range(n):
        before_draw(params, state, 0, uniforms[t, :0])  # all arms are awake
        distribution(params, state, out_p[t])
        inspect(params, state, out_rates[t], out_estimates[t])
        for j in range(m):
            weights[j] = weight_of(params, state, arms[t, j]) if weighs(params) else 1.0
            if not weights[j] >= 1e-300:  # 1/weight must stay finite
                return _IMPOSSIBLE, t
        for j in range(m):
            memo = memo_of(params, state, arms[t, j], uniforms[t])
            learn(params, state, arms[t, j], losses[t, j], weights[j], memo)
        if step(params, state) == FAILED:
            return _UNSOLVED, t
    distribution(params, state, out_p[n])
    inspect(params, state, out_rates[n], out_estimates[n])
    return _DONE, n


def replay(
    policy: Policy,
    *,
    n_arms: int,
    arms: ArrayLike,
    losses: ArrayLike,
    horizon: int | None = None,
    seed: int = 0,
    choose: int = 1,
) -> Trace:
    """Run a policy along a forced history and record what it would have done.

    The policy learns each (arm, loss) as if it had drawn that arm, with the weight it would have had. The
    kernels are those of :class:`Bandit`: replaying a bandit's own history gives its probabilities bit by bit.

    Parameters
    ----------
    policy:
        Any policy.
    n_arms:
        The number of arms.
    arms:
        The arms whose losses were seen, 0 … n_arms−1 (for a decoupled policy, the arms observed).
    losses:
        Their losses, in [0, 1].
    horizon:
        The horizon the policy was told; None if unknown.
    seed:
        For policies whose learning is random (:class:`Thompson` rounds fractional losses,
        :class:`EliminationRace` has layers): that of the bandit whose history it is.
    choose:
        m, where sets of m arms were chosen: then ``arms`` and ``losses`` have a row of m for each round.

    Returns
    -------
    Trace
        With ``p``, ``rates`` and ``estimates`` before every round.

    Examples
    --------
    >>> import bothworlds as bw
    >>> trace = bw.replay(bw.TsallisINF(), n_arms=3, arms=[0, 2, 2], losses=[1.0, 0.0, 1.0])
    >>> trace.p.round(3)
    array([[0.333, 0.333, 0.333],
           [0.077, 0.461, 0.461],
           [0.096, 0.452, 0.452],
           [0.136, 0.679, 0.186]])
    """
    policy = require_policy(policy)
    problem = Problem(choose=choose)
    params = policy.resolve(n_arms, horizon, problem)
    if problem.several:
        arms, losses = _rows("arms", arms, choose), _rows("losses", losses, choose)
    arm_array = _check.indices("arms", arms, below=n_arms)
    loss_array = _check.vector(
        "losses", losses, size=arm_array.size, at_least=0.0, at_most=1.0, fix="rescale losses to [0, 1]"
    )
    n = arm_array.size // problem.choose
    if n * n_arms >= LONG:
        advise_numba()
    if horizon is not None and n > horizon:
        raise InvalidArgumentError("horizon", horizon, f"at least the {n} rounds of the history")
    p, rates, estimates = (np.empty((n + 1, n_arms)) for _ in range(3))
    uniforms = rng.stream(seed).random((n, policy.draws))
    state = init(params)
    if problem.several:
        arm_array, loss_array = _sets(arm_array, choose), loss_array.reshape(n, choose)
        room = np.empty(choose)
        outcome, t = _replay_sets(params, state, arm_array, loss_array, uniforms, p, rates, estimates, room)
    else:
        outcome, t = _replay(params, state, arm_array, loss_array, uniforms, p, rates, estimates)
    if outcome == _IMPOSSIBLE:
        raise InvalidArgumentError(
            "arms",
            arm_array[t].tolist(),
            "possible",
            got=f"{arm_array[t]}, which {policy!r} observes with probability below 1e-300 in that round: no "
            "estimate can be made from it",
            index=(t,),
        )
    if outcome == _UNSOLVED:
        raise SolverError(f"{policy!r} found no solution in round {t + 1}; please report this history")
    return Trace(policy, n_arms, horizon, arm_array, loss_array, p, rates, estimates)


def _rows(name: str, values: Any, choose: int) -> Any:
    """The numbers of rows of so many, one after the other."""
    table = np.asarray(values)
    if table.ndim != 2 or table.shape[1] != choose:
        wanted = f"a row of {choose} for each round"
        raise InvalidArgumentError(name, values, wanted, got=f"an array of shape {table.shape}")
    return table.ravel()


def _sets(arms: IntArray, choose: int) -> IntArray:
    """The same as rows of distinct arms."""
    table = arms.reshape(-1, choose)
    twice = np.flatnonzero((np.diff(np.sort(table, axis=1), axis=1) == 0).any(axis=1))
    if twice.size:
        wanted = "distinct in each round"
        raise InvalidArgumentError("arms", table[twice[0]].tolist(), wanted, index=(int(twice[0]),))
    return table
