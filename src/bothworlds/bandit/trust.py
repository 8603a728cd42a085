"""Whom to trust: distributions over experts, learned from what their advice would have cost.

The kernels are those of the policies, called as Python: an expert is asked in Python, too, and takes longer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.policies.shared.matching import VANISHED, star_and_penalty, with_weight
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.regularizers.base import slope
from bothworlds.simplex.regularizers.hybrid import HybridParameters
from bothworlds.simplex.regularizers.tsallis import Tsallis
from bothworlds.simplex.steps.base import MULTIPLIER, N_CARRIED, TOTAL, general


class TrustState(NamedTuple):
    """What is known of the experts."""

    losses: FloatArray
    """Cumulative estimated losses of their advice, minus the smallest."""
    q: FloatArray
    """The trust in each: a distribution."""
    carried: FloatArray
    """What the solver starts from."""
    scalars: FloatArray
    """The single number below."""


TUNING = 0  # what the rate is computed from: see ``begin`` of each rule


class Trust(Protocol):
    """A rule by which the distribution over experts is learned."""

    def begin(self) -> TrustState:
        """Before the first round: the same trust in all."""

    def learn(self, state: TrustState, estimates: FloatArray) -> int:
        """Learn the estimated losses of a round, in place; return the status of the solver."""


class Exponential:
    """EXP4: q_i ∝ exp(−η_t·L_i) with η_t = √(log N/(M·t)), for N experts and M arms."""

    def __init__(self, n_experts: int, n_arms: int) -> None:
        self.n_experts, self.n_arms = n_experts, n_arms

    def begin(self) -> TrustState:
        """Before the first round; the scalar is the number of the round."""
        n = self.n_experts
        return TrustState(np.zeros(n), np.full(n, 1.0 / n), np.zeros(0), np.ones(1))

    def learn(self, state: TrustState, estimates: FloatArray) -> int:
        """Learn the estimates; the distribution has a closed form."""
        add_to_sums(state, estimates)
        state.scalars[TUNING] += 1.0
        rate = math.sqrt(math.log(self.n_experts) / (self.n_arms * state.scalars[TUNING]))
        weights = np.exp(-rate * state.losses)
        np.divide(weights, weights.sum(), out=state.q)
        return CONVERGED


class Matched:
    """Stability–penalty matching, the rule of ``MatchedTsallis`` with the stability of advice.

    z = M·q_*^{1−α}/(1−α) and α = 1 − 1/(4·log N), for N experts and M arms; β_1 = 1, β̄ = 0 and half of z if
    ``light``, else β_1 = 8N/(1−α) and β̄ = 32M/((1−α)²·β_1).
    """

    def __init__(self, n_experts: int, n_arms: int, *, light: bool) -> None:
        self.n_experts, self.n_arms = n_experts, n_arms
        self.alpha = alpha = 1.0 - 0.25 / math.log(max(2, n_experts))
        self.scale, self.first_rate, self.fixed_rate = 0.5, 1.0, 0.0
        self.regularizer: Any = Tsallis(alpha).parameters()
        if not light:
            self.scale, self.first_rate = 1.0, 8.0 * n_experts / (1.0 - alpha)
            self.fixed_rate = 32.0 * n_arms / ((1.0 - alpha) ** 2 * self.first_rate)
            self.regularizer = HybridParameters(self.regularizer, Tsallis(1.0 - alpha).parameters(), 1.0)

    def begin(self) -> TrustState:
        """Before the first round; the scalar is β."""
        n = self.n_experts
        state = TrustState(np.zeros(n), np.full(n, 1.0 / n), np.zeros(N_CARRIED), np.array([self.first_rate]))
        rate, regularizer = self._rate_and_regularizer(state)
        state.carried[TOTAL] = 1.0
        state.carried[MULTIPLIER] = -rate * slope(regularizer, math.log(n))[0]
        return state

    @np.errstate(all="ignore")  # like machine code, through infinities without a warning
    def learn(self, state: TrustState, estimates: FloatArray) -> int:
        """Match the rate to the distribution so far, learn the estimates, and solve for the next one."""
        star, h = star_and_penalty(self.alpha, state.q)
        z = self.n_arms * star ** (1.0 - self.alpha) / (1.0 - self.alpha)
        beta = state.scalars[TUNING]
        if h >= VANISHED:
            state.scalars[TUNING] = beta + self.scale * z / (beta * h)
        state.carried[MULTIPLIER] -= add_to_sums(state, estimates)
        rate, regularizer = self._rate_and_regularizer(state)
        rates = np.full(self.n_experts, rate)
        return general(regularizer, state.losses, rates, 0.0, state.carried, state.q)

    def _rate_and_regularizer(self, state: TrustState) -> tuple[float, Any]:
        """γ = β(1−α)/α, with which β·ψ_α is γ·``Tsallis(α)`` up to a constant, and β̄ likewise."""
        alpha, beta = self.alpha, float(state.scalars[TUNING])
        rate = beta * (1.0 - alpha) / alpha
        return rate, with_weight(self.regularizer, self.fixed_rate * alpha / (1.0 - alpha) / rate)


def add_to_sums(state: TrustState, estimates: FloatArray) -> float:
    """Add the estimates of a round; return the smallest sum, which is subtracted from all."""
    losses = state.losses
    losses += estimates
    smallest = float(losses.min())
    losses -= smallest
    return smallest


def trust_of(method: str, n_experts: int, n_arms: int) -> Trust:
    """The rule of this name, one of ``METHODS``."""
    if method == "exp4":
        return Exponential(n_experts, n_arms)
    return Matched(n_experts, n_arms, light=method == "spm")


METHODS = ("exp4", "spm", "spm-paper")
