"""EXP3.S: exponential weights that keep a share for every arm, so that they can follow switches."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.policies.base import Policy, draws_from_its_p, init, learn, step
from bothworlds.policies.shared.confidence import require_horizon
from bothworlds.settings import UnitInterval, Within
from bothworlds.simplex.kernel import CONVERGED


class EXP3SParameters(NamedTuple):
    """γ, α and the number of arms."""

    gamma: float
    share: float
    n_arms: int


class EXP3SState(NamedTuple):
    """Weights, which sum to one, and the distribution of the round to come."""

    weights: FloatArray
    p: FloatArray


@dataclass(frozen=True, repr=False)
class EXP3S(Policy, name="exp3-s"):
    """EXP3.S of Auer et al., for a best arm that switches. Needs the horizon T, or ``gamma`` and ``share``.

    With gains g = 1 − ℓ and ĝ_i = 1[i is drawn]·g_i/p_i, in each round

        p = (1 − γ)·w/Σ_j w_j + γ/K,   w_i ← w_i·exp(γ·ĝ_i/K) + (e·α/K)·Σ_j w_j.

    Against any sequence of arms that switches at most S − 1 times the expected regret is at most
    2·√(e−1)·√(K·T·(S·log(K·T) + e)) in any world with losses in [0, 1], where

        α = 1/T,   γ = min{1, √(K·(S·log(K·T) + e)/((e − 1)·T))}.

    Parameters
    ----------
    switches:
        S − 1, how often the best arm is expected to switch. More switches cost more, not everything.
    gamma, share:
        γ in (0, 1] and α in [0, 1], in place of the above. If both are given, there need be no horizon.

    Notes
    -----
    A late loss is divided by the probability it was drawn with.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.EXP3S(gamma=0.1, share=0.01), n_arms=2, arms=[0], losses=[0.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.5219, 0.4781]])

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire: The Nonstochastic Multiarmed Bandit Problem. 2002.
    Section 8.
    """

    fixed_arms: ClassVar[str | None] = (
        "its weights keep no record of the learner's own loss, which absent arms are to get"
    )

    switches: Annotated[int, Within(at_least=0)] = 1
    _: KW_ONLY
    gamma: Annotated[float, Within(above=0.0, at_most=1.0)] | None = None
    share: UnitInterval | None = None

    def parameters(self, n_arms: int, horizon: int | None) -> EXP3SParameters:
        """γ and α for this horizon."""
        gamma, share = self.gamma, self.share
        if gamma is None or share is None:
            horizon = require_horizon(self, horizon, "EXP3S(gamma=0.05, share=1e-5)")
            difficulty = (self.switches + 1) * math.log(n_arms * horizon) + math.e
            tuned = min(1.0, math.sqrt(n_arms * difficulty / ((math.e - 1.0) * horizon)))
            gamma = tuned if gamma is None else gamma
            share = 1.0 / horizon if share is None else share
        return EXP3SParameters(gamma, share, n_arms)


draws_from_its_p(EXP3SParameters)


@init.register(EXP3SParameters)
def _(params: EXP3SParameters) -> EXP3SState:
    n = params.n_arms
    return EXP3SState(np.full(n, 1.0 / n), np.full(n, 1.0 / n))


@learn.register(EXP3SParameters)
def _(params: EXP3SParameters, state: EXP3SState, arm: int, loss: float, weight: float, memo: float) -> None:
    n = params.n_arms
    # the exponent is at most 1: weights are at least γ/K
    state.weights[arm] *= math.exp(params.gamma * (1.0 - loss) / (weight * n))
    total = 0.0
    for i in range(n):
        state.weights[i] += math.e * params.share / n
        total += state.weights[i]
    for i in range(n):
        state.weights[i] /= total


@step.register(EXP3SParameters)
def _(params: EXP3SParameters, state: EXP3SState) -> int:
    for i in range(params.n_arms):
        state.p[i] = (1.0 - params.gamma) * state.weights[i] + params.gamma / params.n_arms
    return CONVERGED
