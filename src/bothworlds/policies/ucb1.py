"""UCB1, the classic for stochastic worlds, and what best-of-both-worlds policies are measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds._simd import LANES, lane, load, root, whole
from bothworlds.policies.base import Policy, init, learn, step
from bothworlds.policies.graphs.graph import require_loops
from bothworlds.policies.shared.index import (
    index,
    learn_mean,
    next_arm,
    plays_its_choice,
    register_index_policy,
    round_to_come,
)
from bothworlds.problem import GRAPHS, Problem
from bothworlds.settings import Positive
from bothworlds.simplex.kernel import CONVERGED


class UCB1Parameters(NamedTuple):
    """The exploration constant and the number of arms."""

    alpha: float
    n_arms: int


class UCBNParameters(NamedTuple):
    """The same, where a round may show several losses."""

    alpha: float
    n_arms: int


class UCBNState(NamedTuple):
    """Number and sum of the losses seen of every arm, the arm of the round to come, and t."""

    counts: FloatArray
    sums: FloatArray
    chosen: FloatArray
    round: FloatArray


@dataclass(frozen=True, repr=False)
class UCB1(Policy, name="ucb1"):
    """UCB1: after each arm once, the arm with the smallest  mean loss − √(α·log t/n_i).

    Deterministic: its distribution puts all mass on one arm. Regret O(Σ log T/Δ_i) on iid losses; an
    adversary, even a stochastically constrained one, makes it linear. It learns from all that a feedback
    graph shows (UCB-N), if each arm shows itself: n_i is how often arm i was seen, and t counts rounds.

    Parameters
    ----------
    alpha:
        α > 0; 2 is Auer et al.'s, 1.5 is used in Zimmert and Seldin's comparisons.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.UCB1(), n_arms=2, arms=[0, 1], losses=[1.0, 0.0]).p
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time Analysis of the Multiarmed Bandit Problem. 2002.
    S. Caron, B. Kveton, M. Lelarge, S. Bhagat: Leveraging Side Observations in Stochastic Bandits. UAI 2012
    (UCB-N).
    """

    explicit: ClassVar[bool] = False
    fixed_arms: ClassVar[str | None] = None
    fits: ClassVar[frozenset[str]] = frozenset({GRAPHS})

    alpha: Positive = 2.0

    def parameters(self, n_arms: int, horizon: int | None) -> UCB1Parameters:
        """α and K; the horizon plays no part."""
        return UCB1Parameters(self.alpha, n_arms)

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> UCBNParameters:
        """The same for a graph."""
        require_loops(problem, n_arms)
        return UCBNParameters(self.alpha, n_arms)


register_index_policy(UCB1Parameters)


@index.register(UCB1Parameters)
@index.register(UCBNParameters)
def _(params: UCB1Parameters, mean: float, count: float, log_round: float) -> float:
    return mean - math.sqrt(params.alpha * log_round / count)


@next_arm.register(UCB1Parameters)
@next_arm.register(UCBNParameters)
def _(params: UCB1Parameters, state: Any) -> int:
    # the indices of four arms at a time: roots and quotients are most of the work
    counts, sums, n = state.counts, state.sums, params.n_arms
    for i in range(n):
        if counts[i] == 0.0:
            return i
    log_round = math.log(round_to_come(params, state))
    best, smallest = 0, math.inf
    for i in range(0, whole(n), LANES):
        count = load(counts, i)
        indices = load(sums, i) / count - root(params.alpha * log_round / count)
        for k in range(LANES):
            value = lane(indices, k)
            if value < smallest:
                best, smallest = i + k, value
    for i in range(whole(n), n):
        value = index(params, sums[i] / counts[i], counts[i], log_round)
        if value < smallest:
            best, smallest = i, value
    return best


# --- graphs -------------------------------------------------------------------------------------------------

plays_its_choice(UCBNParameters)
learn.register(UCBNParameters)(learn_mean)


@init.register(UCBNParameters)
def _(params: UCBNParameters) -> UCBNState:
    n = params.n_arms
    return UCBNState(np.zeros(n), np.zeros(n), np.zeros(1), np.ones(1))


@round_to_come.register(UCBNParameters, inline=True)
def _(params: UCBNParameters, state: UCBNState) -> float:
    return float(state.round[0])


@step.register(UCBNParameters)
def _(params: UCBNParameters, state: UCBNState) -> int:
    state.round[0] += 1.0
    state.chosen[0] = next_arm(params, state)
    return CONVERGED
