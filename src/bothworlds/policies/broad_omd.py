"""BROAD-OMD in its best-of-both-worlds form: log-barrier FTRL that halves its rate when variance piles up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from bothworlds import _check
from bothworlds.policies.base import Policy
from bothworlds.policies.confidence import require_horizon
from bothworlds.policies.ftrl_kernel import FTRLParameters, importance_weighted
from bothworlds.policies.ftrl_state import EPOCH, HORIZON, ROUND, FTRLState
from bothworlds.policies.rates import ON, UNUSED, advance_rates, begin_rates, log_horizon
from bothworlds.simplex.regularizers import LogBarrier


class HalvingRate(NamedTuple):
    """η of the first epoch, the bound K·log T/3 on η²·V, and T."""

    eta: float
    limit: float
    horizon: float


class AnytimeRate(NamedTuple):
    """A rate that depends on the round alone."""

    horizon: float


@dataclass(frozen=True, repr=False)
class BroadOMD(Policy):
    """BROAD-OMD with the doubling trick: Algorithm 3 (Option II) of Wei and Luo (2018).

    Log-barrier FTRL with importance weighting, p^t = argmin <p, L> − (1/η)·Σ_i log p_i. With the variance
    V = Σ_t Σ_i (1[i = a_t]·ℓ − p_i·ℓ)², ℓ the loss seen, the policy restarts with half the rate as soon as
    V ≥ K·log T/(3η²). Regret O(K log T/Δ_min) in stochastic worlds and O(√(K L* log T) + K log T) always,
    L* the loss of the best arm. With the theorem's η it plays nearly uniformly until T ≫ 162·K·log T/Δ.

    The published form is optimistic mirror descent with m_t = (ℓ, …, ℓ). A constant vector moves no
    minimiser over the simplex, so w_t = w'_t; and mirror steps at a fixed rate add up, −1/(ηw'_{t+1}) =
    −1/(ηw'_t) − ℓ̂_t + λ, from uniform to the FTRL solution above.

    ``anytime=True`` is the variant that Zimmert, Luo and Wei (2019) run as a baseline in their code: no
    restarts, no horizon, and η_t = 4·√(log(1+t)/t) for losses in [−1, 1]. Losses ℓ in [0, 1] are 2ℓ − 1
    there, estimated by 1[i = a]·2ℓ/p_a − 1; the −1 moves no minimiser and the 2 can be divided out, which
    leaves the policy above with 1/(2η_t) = √(t/log(1+t))/8 for 1/η. No regret bound is claimed for it.

    Parameters
    ----------
    eta:
        η of the first epoch, in (0, 1]; the theorem needs at most 1/162. Plays no part with ``anytime``.
    anytime:
        Take the variant.

    References
    ----------
    C.-Y. Wei, H. Luo: More Adaptive Algorithms for Adversarial Bandits. COLT 2018.
    J. Zimmert, H. Luo, C.-Y. Wei: Beating Stochastic and Adversarial Semi-bandits Optimally and
    Simultaneously. ICML 2019.
    """

    eta: float = 1.0 / 162.0
    anytime: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", _check.number("eta", self.eta, above=0.0, at_most=1.0))
        _check.one_of("anytime", self.anytime, (True, False))
        object.__setattr__(self, "anytime", bool(self.anytime))

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """Those of FTRL with rates of its own."""
        if self.anytime:
            return importance_weighted(LogBarrier(), AnytimeRate(UNUSED), n_arms)
        horizon = require_horizon(
            self, horizon, "BroadOMD(anytime=True) or FTRL(LogBarrier(), constants='paper')"
        )
        rate = HalvingRate(self.eta, n_arms * log_horizon(horizon) / 3.0, float(horizon))
        return importance_weighted(LogBarrier(), rate, n_arms)


@begin_rates.register(HalvingRate)
def _(rate: HalvingRate, state: FTRLState) -> None:
    state.rates[:] = 2.0 ** state.scalars[EPOCH] / rate.eta


@advance_rates.register(HalvingRate)
def _(rate: HalvingRate, state: FTRLState, observe: int, error: float) -> float:
    variance = 0.0
    for i in range(state.p.size):
        deviation = (1.0 if i == observe else 0.0) - state.p[i]
        state.sums[i] += (error * deviation) ** 2
        variance += state.sums[i]
    if variance >= rate.limit * state.rates[0] ** 2:
        return float(state.scalars[HORIZON])
    return ON


@begin_rates.register(AnytimeRate)
def _(rate: AnytimeRate, state: FTRLState) -> None:
    state.rates[:] = 0.125 * math.sqrt(1.0 / math.log(2.0))


@advance_rates.register(AnytimeRate)
def _(rate: AnytimeRate, state: FTRLState, observe: int, error: float) -> float:
    t = state.scalars[ROUND] + 1.0
    state.rates[:] = 0.125 * math.sqrt(t / math.log1p(t))
    return ON
