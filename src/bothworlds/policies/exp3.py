"""EXP3 and EXP3-IX: exponential weights, which is FTRL with Shannon entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bothworlds.policies.base import Policy
from bothworlds.policies.estimators import Estimator, ImplicitExploration
from bothworlds.policies.ftrl import FTRL, IMPORTANCE_WEIGHTED
from bothworlds.policies.ftrl_kernel import FTRLParameters
from bothworlds.policies.rates import log_arms
from bothworlds.simplex.regularizers import Shannon


def exponential_weights(
    n_arms: int, scale: float = 1.0, estimator: Estimator = IMPORTANCE_WEIGHTED
) -> FTRLParameters:
    """p ∝ exp(−η_t·L) with η_t = scale·√(log K/(tK)): Shannon entropy at the rate γ_t = 1/η_t = θ·√t."""
    theta = math.sqrt(n_arms / log_arms(n_arms)) / scale
    return FTRL(Shannon(), log_barrier=0.0, theta=theta, alpha=0.5, estimator=estimator).parameters(
        n_arms, None
    )


@dataclass(frozen=True, repr=False)
class EXP3(Policy):
    """EXP3 in its anytime form: p_i ∝ exp(−η_t·L_i) with η_t = √(log K/(tK)), no mixing.

    L are importance-weighted losses. Regret ≤ 2·√(TK log K) against any oblivious adversary; no better
    in benign worlds. Needs no horizon.

    The rate rests on this: with decreasing η_t the regret is at most log K/η_T + ½·Σ_t η_t·Σ_i p_i·E[ℓ̂_i²]
    ≤ log K/η_T + (K/2)·Σ_t η_t, and η_t = c/√t makes that √T·(log K/c + Kc), least at c = √(log K/K).

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.EXP3(), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.3031, 0.6969]])

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire: The Nonstochastic Multiarmed Bandit Problem. 2002.
    S. Bubeck, N. Cesa-Bianchi: Regret Analysis of Stochastic and Nonstochastic Multi-armed Bandit Problems.
    2012 (Theorem 3.1: the anytime form).
    """

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """Those of FTRL with Shannon entropy; the horizon plays no part."""
        return exponential_weights(n_arms)


@dataclass(frozen=True, repr=False)
class EXP3IX(Policy):
    """EXP3-IX: EXP3 with implicit exploration, for regret bounds that hold with high probability.

    p_i ∝ exp(−η_t·L_i) with η_t = √(log K/(tK)) and ℓ̂_i = 1[i = a]·ℓ_a/(p_a + γ_t), γ_t = η_t/2.
    Regret O(√(TK log K) + √(TK/log K)·log(1/δ)) with probability 1 − δ, for all δ at once. No horizon needed.

    What the tuning rests on: each L_i exceeds the true loss by at most log(K/δ)/(2γ_T) with probability
    1 − δ, at the price ℓ_a − Σ_i p_i·ℓ̂_i = γ_t·Σ_i ℓ̂_i per round. The regret is then at most
    log K/η_T + K·Σ_t (η_t/2 + γ_t) + O(log(K/δ)/γ_T), and with γ_t = η_t/2 its first two terms are
    log K/η_T + K·Σ_t η_t ≤ 3·√(TK log K).

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.EXP3IX(), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.3719, 0.6281]])

    References
    ----------
    G. Neu: Explore No More: Improved High-Probability Regret Bounds for Non-Stochastic Bandits. NeurIPS 2015.
    """

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """Those of EXP3 with the other estimator; the horizon plays no part."""
        return exponential_weights(n_arms, estimator=ImplicitExploration(scale=0.5))
