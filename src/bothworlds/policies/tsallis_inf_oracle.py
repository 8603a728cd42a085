"""Tsallis-INF that is told the gaps: a yardstick, not a policy for use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, kernel
from bothworlds._words import short
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy
from bothworlds.policies.ftrl_kernel import FTRLParameters, importance_weighted
from bothworlds.policies.ftrl_state import ROUND, FTRLState
from bothworlds.policies.rates import ON, UNUSED, advance_rates, begin_rates
from bothworlds.simplex.regularizers import CentredTsallis


class GapTunedRate(NamedTuple):
    """α and, per arm, 1/ξ_i."""

    alpha: float
    weights: FloatArray
    horizon: float


@dataclass(frozen=True, repr=False)
class TsallisINFOracle(Policy):
    """Tsallis-INF with any power α, tuned to known gaps: Zimmert and Seldin's infeasible algorithm.

    p^t = argmin <p, L> − (1/η_t)·Σ_i (p_i^α − α·p_i)/(α(1−α)·ξ_i), importance weighting, and

        η_t = (16^α/4)·(1 − t̄^{α−1})/((1−α)·t^α),  t̄ = max(e, t),    ξ_i = Δ_i^{1−2α},

    Δ_i the gap of arm i and, for optimal arms, the smallest positive gap. It has regret O(Σ log T/Δ_i) for
    every α, which without the gaps only α = ½ has: there ξ = 1, and η_t approaches Tsallis-INF's 2/√t.
    α = 0 and α = 1 are the limits (log-barrier, η_t = (1 − 1/t̄)/4; Shannon entropy, η_t = 4·log t̄/t).
    Because of ξ the linear term αp matters, hence the regularizer ``CentredTsallis``. Needs no horizon.

    Parameters
    ----------
    gaps:
        Δ_i in [0, 1], one per arm, at least one of them 0.
    alpha:
        α in [0, 1].

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.TsallisINFOracle([0.0, 0.1, 0.4], alpha=0.3)
    >>> bw.replay(policy, n_arms=3, arms=[1], losses=[1.0]).p.round(3)
    array([[0.379, 0.379, 0.243],
           [0.401, 0.337, 0.262]])

    References
    ----------
    J. Zimmert, Y. Seldin: Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits.
    JMLR 2021.
    """

    gaps: Sequence[float]
    alpha: float

    def __post_init__(self) -> None:
        values = _check.vector("gaps", self.gaps, at_least=0.0, at_most=1.0)
        if values.size == 0 or values.min() > 0.0:
            raise InvalidArgumentError(
                "gaps",
                values.tolist(),
                "numbers of which one is 0, that of a best arm",
                fix="subtract the smallest mean loss from all mean losses",
            )
        object.__setattr__(self, "gaps", tuple(values.tolist()))
        object.__setattr__(self, "alpha", _check.number("alpha", self.alpha, at_least=0.0, at_most=1.0))

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """1/ξ_i in numbers; the horizon plays no part."""
        if len(self.gaps) != n_arms:
            raise InvalidArgumentError(
                "gaps",
                self.gaps,
                f"one gap for each of the {n_arms} arms",
                got=f"{len(self.gaps)}: {short(self.gaps)}",
            )
        gaps = np.array(self.gaps)
        smallest = gaps[gaps > 0.0].min(initial=1.0)  # without a positive gap there is nothing to tune
        weights = np.where(gaps > 0.0, gaps, smallest) ** (2.0 * self.alpha - 1.0)
        return importance_weighted(
            CentredTsallis(self.alpha), GapTunedRate(self.alpha, weights, UNUSED), n_arms
        )


@kernel
def fill(rate: GapTunedRate, t: float, rates: FloatArray) -> None:
    """γ_i = 1/(η_t ξ_i)."""
    power = 1.0 - rate.alpha
    logarithm = max(1.0, math.log(t))  # log t̄
    growth = logarithm if power == 0.0 else -math.expm1(-power * logarithm) / power
    inverse = 4.0 * (t / 16.0) ** rate.alpha / growth
    for i in range(rates.size):
        rates[i] = rate.weights[i] * inverse


@begin_rates.register(GapTunedRate)
def _(rate: GapTunedRate, state: FTRLState) -> None:
    fill(rate, 1.0, state.rates)


@advance_rates.register(GapTunedRate)
def _(rate: GapTunedRate, state: FTRLState, observe: int, error: float) -> float:
    fill(rate, state.scalars[ROUND] + 1.0, state.rates)
    return ON
