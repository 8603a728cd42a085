"""CombUCB1: optimism for sets of arms, the yardstick of stochastic semi-bandits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.policies.base import Policy, draws_from_its_p, init, learn, step
from bothworlds.policies.several import mark_best, pass_round
from bothworlds.policies.shared.systematic import draws_sets_from_its_p
from bothworlds.problem import PLAIN, SETS, Groups, Problem
from bothworlds.settings import Positive
from bothworlds.simplex.kernel import CONVERGED


class CombUCB1Parameters(NamedTuple):
    """The exploration constant, the number of arms, and the sets."""

    alpha: float
    n_arms: int
    groups: Groups


class CombUCB1State(NamedTuple):
    """Number and sum of the losses seen of every arm, their indices, and 1 for arms of the set to come."""

    counts: FloatArray
    sums: FloatArray
    indices: FloatArray
    p: FloatArray
    rounds: FloatArray
    """The number of rounds so far, alone."""


@dataclass(frozen=True, repr=False)
class CombUCB1(Policy, name="comb-ucb1"):
    """CombUCB1: the m arms with the smallest  mean loss − √(α·log t/n_i), arms that were never seen first.

    Where sets have different sizes, of those the arms whose index is below the loss of leaving them out.

    Deterministic: its probabilities are 0 and 1. On iid losses regret O(m·K·log T/Δ), and O(K·log T/Δ) for
    sets of m arms; an adversary, even a stochastically constrained one, makes it linear. t is the number of
    rounds so far. With m = 1 it is UCB1 with this α.

    Parameters
    ----------
    alpha:
        α > 0; 1.5 is that of Kveton et al.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["ale", "bun", "cod"], bw.CombUCB1(), choose=2)
    >>> for _ in range(3):
    ...     pull = bandit.pull()
    ...     bandit.update(pull, rewards={arm: float(arm != "bun") for arm in pull.arms})
    >>> bandit.pull().arms
    ('ale', 'cod')

    References
    ----------
    B. Kveton, Z. Wen, A. Ashkan, C. Szepesvári: Tight Regret Bounds for Stochastic Combinatorial
    Semi-Bandits. AISTATS 2015.
    Y. Gai, B. Krishnamachari, R. Jain: Combinatorial Network Optimization with Unknown Variables. IEEE/ACM
    Transactions on Networking 2012.
    """

    explicit: ClassVar[bool] = False
    fits: ClassVar[frozenset[str]] = frozenset({SETS})
    fixed_arms: ClassVar[str | None] = "it compares sets, not arms"

    alpha: Positive = 1.5

    def parameters(self, n_arms: int, horizon: int | None) -> CombUCB1Parameters:
        """α and K, for sets of one arm; the horizon plays no part."""
        return CombUCB1Parameters(self.alpha, n_arms, PLAIN.groups(n_arms))

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> CombUCB1Parameters:
        """α, K and the sets."""
        return CombUCB1Parameters(self.alpha, n_arms, problem.groups(n_arms))


draws_from_its_p(CombUCB1Parameters, weighs_losses=False)
draws_sets_from_its_p(CombUCB1Parameters)


@init.register(CombUCB1Parameters)
def _(params: CombUCB1Parameters) -> CombUCB1State:
    n = params.n_arms
    state = CombUCB1State(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(1))
    mark_best(params.groups, state.indices, state.p)
    return state


@learn.register(CombUCB1Parameters)
def _(
    params: CombUCB1Parameters, state: CombUCB1State, arm: int, loss: float, weight: float, memo: float
) -> None:
    state.counts[arm] += 1.0
    state.sums[arm] += loss


UNSEEN = -1e300  # the index of an arm that was never seen; finite, so that states are plain JSON


def _step(params: CombUCB1Parameters, state: CombUCB1State) -> int:
    state.rounds[0] += 1.0
    bonus = params.alpha * math.log(state.rounds[0])
    for i in range(params.n_arms):
        count = state.counts[i]
        state.indices[i] = UNSEEN if count == 0.0 else state.sums[i] / count - math.sqrt(bonus / count)
    mark_best(params.groups, state.indices, state.p)
    return CONVERGED


step.register(CombUCB1Parameters)(_step)
pass_round.register(CombUCB1Parameters)(_step)
