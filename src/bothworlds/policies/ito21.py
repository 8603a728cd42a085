"""Ito's parameter-free log-barrier policy with predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from bothworlds import _check
from bothworlds.policies.base import Policy
from bothworlds.policies.ftrl_kernel import importance_weighted
from bothworlds.policies.ftrl_state import HORIZON, ROUND, FTRLState
from bothworlds.policies.optimistic import OptimisticParameters
from bothworlds.policies.rates import ON, advance_rates, begin_rates
from bothworlds.simplex.regularizers import LogBarrier

FIRST_SEGMENT = 4.0  # T_k = 2^{2^k}, k = 1, 2, …


class DeviationRate(NamedTuple):
    """Whether the horizon is unknown, and T (or that of the first segment)."""

    restarts: bool
    horizon: float


@dataclass(frozen=True, repr=False)
class Ito21(Policy):
    """Optimistic FTRL with the log-barrier: Algorithm 1 of Ito (2021).

    p^t = argmin <p, Σ_{s<t} ℓ̂^s + m^t> − Σ_i γ_i^t log p_i, with predictions m (all ½ at first),
    ℓ̂ = m + (ℓ_a − m_a)/p_a·e_a for the observed arm a, and

        γ_i^1 = 2,   γ_i^{t+1} = γ_i^t + ν_i/(2·γ_i^t·log T),   ν_i = (ℓ_a − m_a)²·(1[i = a] − p_i)²;

    then m_a moves by η·(ℓ_a − m_a). Regret O(Σ log T/Δ_i) in stochastic worlds, O(√(KT log T)) always, and
    with η > 0 bounds that adapt to small, stable or slowly moving losses.

    An unknown horizon is replaced by T_k = 2^{2^k} in segments of that length (4, 16, 256, …); each
    begins anew but for m, which keeps all the bounds up to constants. log T is taken as at least 1.

    Parameters
    ----------
    eta:
        η in [0, ½]; ¼ is the paper's. With 0, m stays ½: a better constant in the gap-dependent bound, and no
        data-dependent ones.

    References
    ----------
    S. Ito: Parameter-Free Multi-Armed Bandit Algorithms with Hybrid Data-Dependent Regret Bounds. COLT 2021.
    """

    eta: float = 0.25

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", _check.number("eta", self.eta, at_least=0.0, at_most=0.5))

    def parameters(self, n_arms: int, horizon: int | None) -> OptimisticParameters:
        """The FTRL inside, and η."""
        rate = DeviationRate(horizon is None, FIRST_SEGMENT if horizon is None else float(horizon))
        return OptimisticParameters(importance_weighted(LogBarrier(), rate, n_arms), self.eta)


@begin_rates.register(DeviationRate)
def _(rate: DeviationRate, state: FTRLState) -> None:
    state.rates[:] = 2.0


@advance_rates.register(DeviationRate)
def _(rate: DeviationRate, state: FTRLState, observe: int, error: float) -> float:
    horizon = state.scalars[HORIZON]
    if rate.restarts and state.scalars[ROUND] + 1.0 > horizon:
        return float(horizon * horizon)
    scale = 0.5 * error * error / max(1.0, math.log(horizon))
    for i in range(state.p.size):
        deviation = (1.0 if i == observe else 0.0) - state.p[i]
        state.rates[i] += scale * deviation * deviation / state.rates[i]
    return ON
