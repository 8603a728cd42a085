"""EXP2: exponential weights for linear bandits, with a G-optimal design to explore."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from bothworlds._jit import kernel
from bothworlds.policies.base import init, step
from bothworlds.policies.linear.model import (
    LinearPolicy,
    LinearState,
    Space,
    add_latest_minus_half,
    end_learning,
    learns_linear_losses,
    mix_in_design,
    new_linear_state,
)
from bothworlds.policies.shared.estimated_losses import TUNING
from bothworlds.settings import Positive
from bothworlds.simplex.kernel import CONVERGED


class EXP2Parameters(NamedTuple):
    """The arms, the constant of the rate, log K, d, and c·d."""

    space: Space
    rate: float
    log_arms: float
    dimension: int
    worst: float


@dataclass(frozen=True, repr=False)
class EXP2(LinearPolicy, name="exp2"):
    """EXP2: exponential weights for linear bandits with listed arms; a baseline, for adversarial worlds.

    With arms, estimates ô and design p_0 as in :class:`LinearSPM`, and L the sums of ô,

        q_i ∝ exp(−η_t·L_i),   p = (1 − γ_t)·q + γ_t·p_0,   γ_t = c·d·η_t,

    η_t = min{k·√(log K/(d·t)), 1/(2cd)}.

    *What is proved.* Adversarial regret of at most ½·(1/k + 4k(1 + c))·√(d·T·log K) + c·d·log K, and no
    logarithm in stochastic worlds.

    Parameters
    ----------
    features:
        As in :class:`LinearSPM`.
    rate:
        k > 0. The bound is smallest with k = 0.35; on what we measured larger ones had less regret.

    Notes
    -----
    The bound is for o = 2ℓ − 1, of which the regret is twice that of ℓ. γ_t ≤ ½, and η_t·ô_i ≥ −1 by
    Cauchy and Schwarz, because S(p) ⪰ γ_t·S(p_0). With e^{−x} ≤ 1 − x + x² for x ≥ −1, and rates that do
    not grow, exponential weights have Σ_t <q, ô> − ô_i ≤ log K/η_T + Σ_t η_t·<q, ô²>, where
    E<q, ô²> ≤ Σ_i q_i·φ_iᵀS(p)^{-1}φ_i ≤ d/(1 − γ_t) ≤ 2d, because S(p) ⪰ (1 − γ_t)·S(q). Exploring costs at
    most 2γ_t a round. So regret is at most log K/η_T + 2d(1 + c)·Σ_t η_t, where
    1/η_T ≤ √(d·T/log K)/k + 2cd and Σ_t η_t ≤ 2k·√(T·log K/d).

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["low", "mid", "high"], bw.EXP2([[0.0], [0.5], [1.0]]), seed=7)
    >>> for _ in range(200):
    ...     pull = bandit.pull()
    ...     bandit.update(pull, reward={"low": 0.2, "mid": 0.5, "high": 0.8}[pull.arm])
    >>> max(bandit.probabilities, key=bandit.probabilities.get)
    'high'

    References
    ----------
    S. Bubeck, N. Cesa-Bianchi, S. Kakade: Towards Minimax Policies for Online Linear Optimization with Bandit
    Feedback. COLT 2012.
    """

    _: KW_ONLY
    rate: Positive = 1.0

    def parameters(self, n_arms: int, horizon: int | None) -> EXP2Parameters:
        """In numbers; the horizon plays no part."""
        space = self.space(n_arms)
        worst = self.design.certificate * self.dimension
        return EXP2Parameters(space, self.rate, math.log(n_arms), self.dimension, worst)


learns_linear_losses(EXP2Parameters)


@kernel
def set_p(params: EXP2Parameters, state: LinearState) -> int:
    """q, p and S(p) of the round to come; sums are of ℓ̂ − ½ = ô/2, hence the 2."""
    t = state.scalars[TUNING]
    eta = min(params.rate * math.sqrt(params.log_arms / (params.dimension * t)), 0.5 / params.worst)
    q, losses = state.q, state.losses
    smallest = losses[0]
    for i in range(1, q.size):
        smallest = min(smallest, losses[i])
    total = 0.0
    for i in range(q.size):
        q[i] = math.exp(-2.0 * eta * (losses[i] - smallest))
        total += q[i]
    for i in range(q.size):
        q[i] /= total
        state.rates[i] = 0.5 / eta if eta > 0.0 else 0.0  # a single arm has no rate
    return mix_in_design(params.space, state, params.worst * eta)


@init.register(EXP2Parameters)
def _(params: EXP2Parameters) -> LinearState:
    state = new_linear_state(params.space, 0)
    state.scalars[TUNING] = 1.0
    set_p(params, state)
    return state


@step.register(EXP2Parameters)
def _(params: EXP2Parameters, state: LinearState) -> int:
    if not end_learning(state):
        return CONVERGED
    state.scalars[TUNING] += 1.0
    add_latest_minus_half(state)
    return set_p(params, state)
