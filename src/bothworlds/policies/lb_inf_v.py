"""LB-INF-V: Ito, Tsuchiya and Honda's policy with variance-dependent regret."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from bothworlds import _check
from bothworlds.policies.base import Policy
from bothworlds.policies.confidence import require_horizon
from bothworlds.policies.ftrl_kernel import importance_weighted
from bothworlds.policies.ftrl_state import FTRLState
from bothworlds.policies.optimistic import OptimisticParameters
from bothworlds.policies.rates import ON, advance_rates, begin_rates, log_horizon
from bothworlds.simplex.regularizers import ComplementBarrier, LogBarrier


class VarianceRate(NamedTuple):
    """1 + ε, γ = log T, and T."""

    first: float
    gamma: float
    horizon: float


@dataclass(frozen=True, repr=False)
class LBINFV(Policy):
    """LB-INF-V: optimistic FTRL whose rates follow the variance of each arm's losses.

    p^t = argmin <p, Σ_{s<t} ℓ̂^s + m^t> + Σ_i β_i^t φ(p_i) with γ = log T,

        φ(x) = x − 1 − log x + γ·(x + (1−x)·log(1−x)),   β_i^t = √((1+ε)² + Σ_{s<t} α_i^s/γ),

        α_i = 1[i = a]·(ℓ_a − m_a)²·min{1, 2(1−p_a)/(p_a²·γ)},

    predictions m_i = (½ + Σ losses seen of i)/(1 + number seen of i) and ℓ̂ = m + (ℓ_a − m_a)/p_a·e_a. In
    stochastic worlds the regret is O(Σ_i (σ_i²/Δ_i + 1)·log T), σ_i² the variance of arm i. Needs the
    horizon.

    Formulas and ε = 1/5 are those of the authors' own code for combinatorial semi-bandits (least-squares
    predictions), with sets of one arm.

    Parameters
    ----------
    epsilon:
        ε in (0, ½].

    References
    ----------
    S. Ito, T. Tsuchiya, J. Honda: Adversarially Robust Multi-Armed Bandit Algorithm with Variance-Dependent
    Regret Bounds. COLT 2022.
    T. Tsuchiya, S. Ito, J. Honda: Further Adaptive Best-of-Both-Worlds Algorithm for Combinatorial
    Semi-Bandits. AISTATS 2023.
    """

    epsilon: float = 0.2

    def __post_init__(self) -> None:
        value = _check.number("epsilon", self.epsilon, above=0.0, at_most=0.5)
        object.__setattr__(self, "epsilon", value)

    def parameters(self, n_arms: int, horizon: int | None) -> OptimisticParameters:
        """The FTRL inside, with least-squares predictions."""
        horizon = require_horizon(self, horizon, "Ito21()")
        gamma = log_horizon(horizon)
        # a single arm cannot be kept away from p = 1, and needs no regularizer
        regularizer = ComplementBarrier(gamma) if n_arms > 1 else LogBarrier()
        rate = VarianceRate(1.0 + self.epsilon, gamma, float(horizon))
        return OptimisticParameters(importance_weighted(regularizer, rate, n_arms), math.nan)


@begin_rates.register(VarianceRate)
def _(rate: VarianceRate, state: FTRLState) -> None:
    state.rates[:] = rate.first


@advance_rates.register(VarianceRate)
def _(rate: VarianceRate, state: FTRLState, observe: int, error: float) -> float:
    p = state.p[observe]
    spread = min(1.0, 2.0 * (1.0 - p) / (p * p * rate.gamma))
    state.sums[observe] += error * error * spread / rate.gamma
    state.rates[observe] = math.sqrt(rate.first * rate.first + state.sums[observe])
    return ON
