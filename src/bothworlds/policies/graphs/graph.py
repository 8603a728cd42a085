"""Feedback graphs, and what policies on them share: estimates by the probability of being *observed*.

When arm j is played, the arms that j shows are observed. So arm i is observed with probability P_i, the sum
of p_j over those j that show i, and ℓ̂_i = 1[i is observed]·ℓ_i/P_i has mean ℓ_i. Bandits are the graph in
which each arm shows itself alone (P = p), prediction with expert advice is the one in which every arm shows
all (P = 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, kernel
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import (
    act,
    copy,
    distribution,
    draw,
    learn,
    memo_of,
    probability_of,
    weight_of,
)
from bothworlds.policies.shared.estimated_losses import RECENTER, add_latest_to, recenter_at, shows_its_losses
from bothworlds.problem import Problem


class Graph(NamedTuple):
    """By whom arms are shown: arm i by ``arms[first[i]:last[i]]``; by all, unlisted, if ``complete``."""

    first: IntArray
    last: IntArray
    arms: IntArray
    blind: FloatArray
    """1 for arms that do not show themselves, else 0."""
    complete: bool


class GraphState(NamedTuple):
    """What a policy on a graph knows. Between rounds ``p`` belongs to ``losses``, and ``seen`` to ``p``."""

    losses: FloatArray
    """Cumulative estimated losses minus the whole number ``scalars[OFFSET]``."""
    latest: FloatArray
    """Estimated losses of the round, from ``learn`` to ``step``."""
    p: FloatArray
    seen: FloatArray
    """P_i, the probability of being observed."""
    rates: FloatArray
    carried: FloatArray
    """What the solver starts from."""
    scalars: FloatArray
    """The single numbers below."""


# of the single numbers, beside TUNING and OFFSET
FAVORITE = 2  # 1 + the arm that has more than half of p and does not show itself; 0 if there is none
# from ``learn`` to ``step``, zero between rounds
LEARNED = 3  # number of observations
FAVORED = 4  # FAVORITE at the draw
N_SCALARS = 5


# --- graphs, in Python ------------------------------------------------------------------------------------


def graph_of(problem: Problem, n_arms: int) -> Graph:
    """The graph of a problem, which must be strongly observable.

    That is: each arm shows itself or is shown by all others. (Where one is not, regret is of order T^{2/3} at
    best, and other algorithms are needed.)
    """
    shows = problem.neighbors(n_arms)
    blind = np.array([float(i not in arms) for i, arms in enumerate(shows)])
    if problem.shows == "all" or all(len(arms) == n_arms for arms in shows):
        nothing = np.empty(0, dtype=np.int64)
        return Graph(nothing, nothing, nothing, blind, True)
    shown_by: list[list[int]] = [[] for _ in range(n_arms)]
    for j, arms in enumerate(shows):
        for i in arms:
            shown_by[i].append(j)
    for i in np.flatnonzero(blind).tolist():
        if len(shown_by[i]) < n_arms - 1:
            raise _refused(problem, i, "shows itself or is shown by all others", "neither")
        if not shows[i]:
            raise _refused(problem, i, "shows something", "nothing")
    last = np.cumsum([len(arms) for arms in shown_by]).astype(np.int64)
    first = np.concatenate([[0], last[:-1]]).astype(np.int64)
    return Graph(first, last, np.array([j for arms in shown_by for j in arms], dtype=np.int64), blind, False)


def require_loops(problem: Problem, n_arms: int) -> None:
    """Refuse a graph with an arm that does not show itself: who plays it would never learn what it costs."""
    for i, arms in enumerate(problem.neighbors(n_arms)):
        if i not in arms:
            raise _refused(problem, i, "shows itself", "not itself", "or take MatchedTsallis()")


def _refused(problem: Problem, arm: int, wanted: str, got: str, fix: str = "") -> InvalidArgumentError:
    fix = f"let it show itself{f', {fix}' if fix else ''}"
    return InvalidArgumentError(
        "shows", problem.shows, f"such that each arm {wanted}", got=f"{got} for arm {arm}", fix=fix
    )


def clique_cover(problem: Problem, n_arms: int) -> int:
    """The number of cliques in a greedy cover: at least the independence number."""
    if problem.shows is None:
        return n_arms
    if problem.shows == "all":
        return 1
    shows = [set(arms) for arms in problem.shows]
    cliques: list[list[int]] = []
    for i in range(n_arms):
        for clique in cliques:
            if all(i in shows[j] and j in shows[i] for j in clique):
                clique.append(i)
                break
        else:
            cliques.append([i])
    return len(cliques)


def new_graph_state(graph: Graph, n_carried: int) -> GraphState:
    """Before the first round: the uniform distribution."""
    n = graph.blind.size
    state = GraphState(
        np.zeros(n),
        np.zeros(n),
        np.full(n, 1.0 / n),
        np.empty(n),
        np.empty(n),
        np.zeros(n_carried),
        np.zeros(N_SCALARS),
    )
    update_seen(graph, state)
    return state


# --- kernels ------------------------------------------------------------------------------------------------


@kernel
def update_seen(graph: Graph, state: GraphState) -> None:
    """Bring ``seen`` and the favorite up to date with ``p``: a pass over the edges."""
    p = state.p
    state.scalars[FAVORITE] = 0.0
    for i in range(p.size):
        if graph.complete:
            state.seen[i] = 1.0
            continue
        total = 0.0
        for k in range(graph.first[i], graph.last[i]):
            total += p[graph.arms[k]]
        state.seen[i] = min(1.0, total)
        if graph.blind[i] == 1.0 and p[i] > 0.5:
            state.scalars[FAVORITE] = i + 1.0


@kernel
def complete_estimates(state: GraphState) -> bool:
    """Complete the estimated losses of the round; False if there were none.

    The favorite is observed with probability 1 − p, which is small: its loss minus 1 is estimated and the 1
    added again, observed or not. The estimate is at most 1 then, and never large for the worse.
    """
    scalars = state.scalars
    learned, favored = scalars[LEARNED], int(scalars[FAVORED])
    scalars[LEARNED] = 0.0
    scalars[FAVORED] = 0.0
    if favored > 0:
        state.latest[favored - 1] += 1.0
    return bool(learned > 0.0)


@kernel
def add_latest(state: GraphState) -> float:
    """Add the estimates of the round to the sums; return the whole number subtracted from all of these."""
    smallest = add_latest_to(state.losses, state.latest)
    return 0.0 if smallest <= RECENTER else recenter_at(state.losses, smallest, state.scalars)


def learns_what_it_sees(kind: type) -> None:
    """Register all kernels but init and step of a policy with a :class:`GraphState`."""
    act.register(kind)(_act)
    weight_of.register(kind)(_seen)
    probability_of.register(kind)(_played)
    memo_of.register(kind)(_favorite)
    learn.register(kind)(_learn)
    distribution.register(kind)(_distribution)
    shows_its_losses(kind)


def _act(params: Any, state: GraphState, uniforms: FloatArray) -> int:
    return draw(state.p, uniforms[0])


def _seen(params: Any, state: GraphState, arm: int) -> float:
    return float(state.seen[arm])


def _played(params: Any, state: GraphState, arm: int) -> float:
    return float(state.p[arm])


def _favorite(params: Any, state: GraphState, arm: int, uniforms: FloatArray) -> float:
    return float(state.scalars[FAVORITE])


def _learn(params: Any, state: GraphState, arm: int, loss: float, weight: float, memo: float) -> None:
    state.scalars[LEARNED] += 1.0
    state.scalars[FAVORED] = memo
    state.latest[arm] += (loss - 1.0 if memo == arm + 1.0 else loss) / weight


def _distribution(params: Any, state: GraphState, out: FloatArray) -> None:
    copy(state.p, out)
