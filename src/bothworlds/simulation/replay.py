"""``bw.replay``: what a policy would have played on a given history."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check, rng
from bothworlds._changeover import run_short
from bothworlds._jit import FloatArray, IntArray, advise_numba, entry, what_to_do
from bothworlds._words import counted
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
    step,
    weighs,
    weight_of,
)
from bothworlds.policies.several import pass_round
from bothworlds.problem import SETS, Problem
from bothworlds.simplex.kernel import FAILED
from bothworlds.simulation.trace import Trace

# rounds times arms: what takes less time as Python than compiling would, and what takes seconds as Python
SHORT, LONG = 500, 100_000

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
        weight = weight_of(params, state, arms[t])
        if weighs(params) and not weight >= 1e-300:  # 1/weight must stay finite
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
def _replay_rounds(
    params: Any,
    state: Any,
    ends: IntArray,
    shown: IntArray,
    losses: FloatArray,
    uniforms: FloatArray,
    out_p: FloatArray,
    out_rates: FloatArray,
    out_estimates: FloatArray,
    weights: FloatArray,
) -> tuple[int, int]:
    # round t shows number ends[t] to ends[t+1] of ``shown``
    n = ends.size - 1
    for t in range(n):
        before_draw(params, state, 0, uniforms[t, :0])  # all arms are awake
        distribution(params, state, out_p[t])
        inspect(params, state, out_rates[t], out_estimates[t])
        for k in range(ends[t], ends[t + 1]):
            weights[k] = weight_of(params, state, shown[k])
            if weighs(params) and not weights[k] >= 1e-300:  # 1/weight must stay finite
                return _IMPOSSIBLE, t
        for k in range(ends[t], ends[t + 1]):
            memo = memo_of(params, state, shown[k], uniforms[t])
            learn(params, state, shown[k], losses[k], weights[k], memo)
        ended = step(params, state) if ends[t] < ends[t + 1] else pass_round(params, state)
        if ended == FAILED:
            return _UNSOLVED, t
    distribution(params, state, out_p[n])
    inspect(params, state, out_rates[n], out_estimates[n])
    return _DONE, n


def replay(
    policy: Policy,
    *,
    n_arms: int,
    arms: ArrayLike,
    losses: ArrayLike | Sequence[ArrayLike],
    horizon: int | None = None,
    seed: int = 0,
    choose: int | tuple[int, int] | Literal["any"] = 1,
    slots: Sequence[int] | None = None,
    outside: float = 0.5,
    shows: Literal["all"] | Sequence[Sequence[int]] | None = None,
) -> Trace:
    """Run a policy along a forced history and record what it would have done.

    The policy learns each (arm, loss) as if it had drawn that arm, with the weight it would have had. The
    kernels are those of :class:`Bandit`: replaying a bandit's own history gives its probabilities bit by bit,
    with its ``seed`` if its learning is random.

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
        For policies whose learning is random: that of the bandit whose history it is. :class:`Thompson` and
        its kin round fractional losses (those of 0 and 1 need no seed), :class:`EliminationRace` has layers.
    choose:
        m, where sets of m arms were chosen: then ``arms`` and ``losses`` have a row of m for each round. A
        pair or ``"any"``, where sets had different sizes: then rows have as many as were chosen, or none.
    slots, outside:
        As of :class:`Problem`: the number of arms of each slot, with a row of one arm for each; the loss of
        an arm that is left out.
    shows:
        For each arm, the arms that it shows (``"all"``: always all). Then ``arms`` are those played, and
        ``losses`` has a row for each round: the losses of those shown, in the order of their numbers.

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
    policy = Policy.require(policy)
    problem = Problem(choose=choose, slots=slots, outside=outside, shows=shows)  # type: ignore[arg-type]
    params = policy.resolve(n_arms, horizon, problem)
    if SETS in problem.asks:
        sets, losses, ends = _sets(problem, n_arms, arms, losses)
        n, shown = ends.size - 1, np.concatenate([np.empty(0, dtype=np.int64), *sets])
    else:
        arm_array = _check.indices("arms", arms, below=n_arms)
        n, shown, ends = arm_array.size, arm_array, np.arange(arm_array.size + 1, dtype=np.int64)
        if problem.shows is not None:
            shown, ends, losses = _shown(problem, n_arms, arm_array, losses)
    loss_array = _check.vector(
        "losses", losses, size=shown.size, at_least=0.0, at_most=1.0, fix="rescale losses to [0, 1]"
    )
    if n * n_arms >= LONG:
        advise_numba()
    if horizon is not None and n > horizon:
        raise InvalidArgumentError("horizon", horizon, f"at least the {n} rounds of the history")
    p, rates, estimates = (np.empty((n + 1, n_arms)) for _ in range(3))
    uniforms = rng.stream(seed).random((n, policy.draws))
    state = init(params)
    play: Any = run_short if n * n_arms <= SHORT else operator.call
    if problem.several:
        room = np.empty(shown.size)
        history: tuple[Any, ...] = (ends, shown, loss_array, uniforms, p, rates, estimates, room)
        outcome, t = play(_replay_rounds, params, state, *history)
        if SETS in problem.asks:
            parts = [loss_array[first:last] for first, last in pairwise(ends)]
            arm_array, loss_array = _table(sets, -1), _table(parts, np.nan)
    else:
        history = (arm_array, loss_array, uniforms, p, rates, estimates)
        outcome, t = play(_replay, params, state, *history)
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
        fix = what_to_do(params, "history")
        raise SolverError(f"{policy!r} found no solution in round {t + 1}; {fix}")
    return Trace(policy, n_arms, horizon, arm_array, loss_array, p, rates, estimates)


def _shown(
    problem: Problem, n_arms: int, arms: IntArray, losses: Any
) -> tuple[IntArray, IntArray, list[Any]]:
    """What was shown in all rounds, one after the other, where each round ends, and the losses."""
    shows = problem.neighbors(n_arms)
    rows = [np.atleast_1d(np.asarray(row)).tolist() for row in losses]
    if len(rows) != arms.size:
        raise InvalidArgumentError(
            "losses", losses, f"a row for each of {arms.size} rounds", got=str(len(rows))
        )
    for t, (arm, row) in enumerate(zip(arms.tolist(), rows, strict=True)):
        if len(row) != len(shows[arm]):
            wanted = f"one for each arm that arm {arm} shows: {list(shows[arm])}"
            raise InvalidArgumentError("losses", row, wanted, got=counted(len(row), "number"), index=(t,))
    shown = np.array([i for arm in arms.tolist() for i in shows[arm]], dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return shown, ends, [loss for row in rows for loss in row]


def _sets(
    problem: Problem, n_arms: int, arms: Any, losses: Any
) -> tuple[list[IntArray], list[Any], IntArray]:
    """The arms of each round, their losses one after the other, and where each round ends."""
    fewest, most = problem.sizes(n_arms)
    wanted = f"a row of {most if fewest == most else f'{fewest} to {most}'} for each round"
    rows, values = _rows("arms", arms, wanted), _rows("losses", losses, wanted)
    if len(rows) != len(values):
        raise InvalidArgumentError("losses", losses, wanted, got=f"{len(values)} rows for {len(rows)} rounds")
    groups = problem.groups(n_arms)
    sets = []
    for t, (row, seen) in enumerate(zip(rows, values, strict=True)):
        found = _check.indices("arms", row, below=n_arms)
        if np.unique(found).size < found.size:
            raise InvalidArgumentError("arms", row, "distinct in each round", index=(t,))
        each = [((first <= found) & (found < last)).sum() for first, last in zip(*groups[:2], strict=True)]
        if (each < groups.fewest).any() or (each > groups.most).any():
            raise InvalidArgumentError("arms", row, f"a set that {problem} allows", index=(t,))
        if len(seen) != found.size:
            got = counted(len(seen), "number")
            raise InvalidArgumentError("losses", seen, f"one for each of {row}", got=got, index=(t,))
        sets.append(found)
    ends = np.concatenate([[0], np.cumsum([row.size for row in sets])]).astype(np.int64)
    return sets, [loss for seen in values for loss in seen], ends


def _rows(name: str, values: Any, wanted: str) -> list[list[Any]]:
    """The rows as lists."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InvalidArgumentError(name, values, wanted)
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in values]
    for t, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence):
            raise InvalidArgumentError(name, row, wanted, got=f"{row!r}, which is no row", index=(t,))
    return [list(row) for row in rows]


def _table(rows: Sequence[Any], filler: float) -> Any:
    """Rows of different lengths as one array, with a filler at their ends."""
    table = np.full((len(rows), max(map(len, rows), default=0)), filler)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table
