"""UCB1, the classic for stochastic worlds, and what best-of-both-worlds policies are measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, act, distribution, init, update
from bothworlds.simplex.kernel import CONVERGED


class UCB1Parameters(NamedTuple):
    """The exploration constant and the number of arms."""

    alpha: float
    n_arms: int


class UCB1State(NamedTuple):
    """Number and sum of the losses seen of every arm."""

    counts: FloatArray
    sums: FloatArray


@dataclass(frozen=True, repr=False)
class UCB1(Policy):
    """UCB1: after each arm once, the arm with the smallest  mean loss − √(α·log t/n_i).

    Deterministic: its distribution puts all mass on one arm. Regret O(Σ log T/Δ_i) on iid losses; an
    adversary, even a stochastically constrained one, makes it linear.

    Parameters
    ----------
    alpha:
        α > 0; 2 is Auer et al.'s, 1.5 is used in Zimmert and Seldin's comparisons.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time Analysis of the Multiarmed Bandit Problem. 2002.
    """

    alpha: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _check.number("alpha", self.alpha, above=0.0))

    def parameters(self, n_arms: int, horizon: int | None) -> UCB1Parameters:
        """α and K; the horizon plays no part."""
        return UCB1Parameters(self.alpha, n_arms)


@init.register(UCB1Parameters)
def _(params: UCB1Parameters) -> UCB1State:
    return UCB1State(np.zeros(params.n_arms), np.zeros(params.n_arms))


@kernel
def choose(params: UCB1Parameters, state: UCB1State) -> int:
    """The first unseen arm, else the arm with the smallest index."""
    seen = 0.0
    for i in range(params.n_arms):
        if state.counts[i] == 0.0:
            return i
        seen += state.counts[i]
    scale = params.alpha * math.log(seen + 1.0)
    best = 0
    smallest = math.inf
    for i in range(params.n_arms):
        index = state.sums[i] / state.counts[i] - math.sqrt(scale / state.counts[i])
        if index < smallest:
            smallest = index
            best = i
    return best


@act.register(UCB1Parameters)
def _(params: UCB1Parameters, state: UCB1State, uniforms: FloatArray) -> tuple[int, int, float, float, int]:
    arm = choose(params, state)
    return arm, arm, 1.0, 1.0, 0


@update.register(UCB1Parameters)
def _(params: UCB1Parameters, state: UCB1State, observe: int, loss: float, weight: float, epoch: int) -> int:
    state.counts[observe] += 1.0
    state.sums[observe] += loss
    return CONVERGED


@distribution.register(UCB1Parameters)
def _(params: UCB1Parameters, state: UCB1State, out: FloatArray) -> None:
    out[:] = 0.0
    out[choose(params, state)] = 1.0
