"""Avner, Mannor and Shamir's decoupled exponential weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bothworlds.policies.base import Policy
from bothworlds.policies.decoupled import DecoupledParameters
from bothworlds.policies.exp3 import exponential_weights


@dataclass(frozen=True, repr=False)
class Avner(Policy):
    """Decoupled exponential weights: play from p ∝ exp(−η_t·L), observe from q with q_i ∝ √p_i.

    For problems in which each round plays one arm and shows the loss of another: ``pull.arm`` is to be
    played, ``pull.observe`` is the arm whose loss ``update`` wants. η_t = √(log K/(tK)) and
    ℓ̂_i = 1[observed i]·ℓ_i/q_i. Regret O(√(TK log K)) against any adversary.

    This is the form for losses; the original is for gains. That q is the right one can be seen from the
    stability term Σ_i p_i·E[ℓ̂_i²] ≤ Σ_i p_i/q_i, which over distributions q is least at q ∝ √p, where it is
    (Σ_i √p_i)² ≤ K. So the bound, and the best rate, are those of EXP3, and smaller when p is concentrated.

    References
    ----------
    O. Avner, S. Mannor, O. Shamir: Decoupling Exploration and Exploitation in Multi-Armed Bandits. ICML 2012.
    C. Rouyer, Y. Seldin: Tsallis-INF for Decoupled Exploration and Exploitation in Multi-armed Bandits.
    COLT 2020.
    """

    draws: ClassVar[int] = 2

    def parameters(self, n_arms: int, horizon: int | None) -> DecoupledParameters:
        """EXP3 inside, and the exploration power ½; the horizon plays no part."""
        return DecoupledParameters(exponential_weights(n_arms), 0.5)
