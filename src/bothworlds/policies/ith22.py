"""Ito, Tsuchiya and Honda's rate driven by the entropy of the policy's own distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from bothworlds._jit import kernel
from bothworlds.policies.base import Policy
from bothworlds.policies.ftrl_kernel import FTRLParameters, importance_weighted
from bothworlds.policies.ftrl_state import ROUND, FTRLState
from bothworlds.policies.rates import ON, UNUSED, advance_rates, begin_rates, log_arms, log_horizon
from bothworlds.simplex.regularizers import Shannon


class EntropyRate(NamedTuple):
    """K/log K, log K, log T (0: unknown), and a horizon that plays no part."""

    ratio: float
    log_arms: float
    log_horizon: float
    horizon: float


@dataclass(frozen=True, repr=False)
class ITH22(Policy):
    """Shannon entropy with an entropy-driven rate: Ito, Tsuchiya and Honda (2022), for plain bandits.

    p^t ∝ exp(−L/β_t) with importance weighting, β_1 = c and

        β_{t+1} = β_t + c/√(1 + Σ_{s≤t} H(p^s)/log K),   c = max{1, ½·√(K log T/log K)},

    H the entropy. Regret O(√(K log T·E Σ_t H(p^t))): that is O(√(KT log K log T)) always, and
    O(K log T log(KT)/Δ_min) in stochastic worlds.

    The original is for feedback graphs; here every arm shows its own loss and losses are not negative, so
    nothing is mixed in. Its c for this case rests on: the stability terms K/(2β_t), with
    β_t ≥ c·t/√(1 + ΣH/log K), add up to at most K(1 + log T)/(2c)·√(1 + ΣH/log K); the penalty terms
    (β_{t+1} − β_t)·H to at most 2c·√(log K·ΣH); the two are equal at c = ½·√(K log T/log K).

    With an unknown horizon, log(t + K) stands for log T in round t. Since log(s + K) ≥ ½·log(t + K) for
    s ≥ √t, this c is within √2 of its value at t in all but the first √t rounds, so both sums above change
    by constant factors only. log T is taken as at least 1, and with one arm so is log K.

    References
    ----------
    S. Ito, T. Tsuchiya, J. Honda: Nearly Optimal Best-of-Both-Worlds Algorithms for Online Learning with
    Feedback Graphs. NeurIPS 2022.
    """

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """Those of FTRL with rates of its own."""
        log_k = log_arms(n_arms)
        log_t = 0.0 if horizon is None else log_horizon(horizon)
        rate = EntropyRate(n_arms / log_k, log_k, log_t, UNUSED)
        return importance_weighted(Shannon(), rate, n_arms)


@kernel
def increment(rate: EntropyRate, t: float, n_arms: int) -> float:
    """c in round t."""
    log_t = rate.log_horizon if rate.log_horizon > 0.0 else max(1.0, math.log(t + n_arms))
    return max(1.0, 0.5 * math.sqrt(rate.ratio * log_t))


@begin_rates.register(EntropyRate)
def _(rate: EntropyRate, state: FTRLState) -> None:
    state.rates[:] = increment(rate, 1.0, state.rates.size)


@advance_rates.register(EntropyRate)
def _(rate: EntropyRate, state: FTRLState, observe: int, error: float) -> float:
    entropy = 0.0
    for i in range(state.p.size):
        if state.p[i] > 0.0:
            entropy -= state.p[i] * math.log(state.p[i])
    c = increment(rate, state.scalars[ROUND], state.rates.size)
    for i in range(state.p.size):
        state.sums[i] += entropy
        state.rates[i] += c / math.sqrt(1.0 + state.sums[i] / rate.log_arms)
    return ON
