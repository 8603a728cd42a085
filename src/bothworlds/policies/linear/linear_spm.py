"""Stability–penalty matching for linear bandits: best of both worlds with listed arms."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

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
from bothworlds.policies.shared.matching import begin_matching, raise_beta, solve_matched, star_and_penalty
from bothworlds.simplex.kernel import CONVERGED, FAILED
from bothworlds.simplex.regularizers.hybrid import HybridParameters
from bothworlds.simplex.regularizers.tsallis import Tsallis
from bothworlds.simplex.steps.base import N_CARRIED

HALF = 0.5  # sums are of ℓ̂ − ½ = ô/2


class LinearSPMParameters(NamedTuple):
    """The arms, regularizers, α, β of the first round, β̄, the factors of z in β and in γ, and d."""

    space: Space
    regularizer: Any
    alpha: float
    first_rate: float
    fixed_rate: float
    scale: float
    mixing: float
    dimension: int


@dataclass(frozen=True, repr=False)
class LinearSPM(LinearPolicy, name="linear-spm"):
    """Linear bandits with listed arms, best of both worlds, by stability–penalty matching.

    The loss of arm i is θ_0 + <θ, x_i> in the mean, with known features x_i; what is learned of one arm
    tells about all others. Let φ_i be the features with a constant, d the rank of all φ_i,
    S(p) = Σ_j p_j·φ_j·φ_jᵀ, and p_0 a G-optimal design: φ_iᵀS(p_0)^{-1}φ_i ≤ c·d for all i, c ≤ 1.05.
    With o = 2ℓ − 1 ∈ [−1, 1], the estimates ô_i = o_I·φ_IᵀS(p)^{-1}φ_i of all arms, and L their sums,

        q = argmin <q, L> + β_t·ψ_α(q) + β̄·ψ_{1−α}(q),   ψ_α(q) = −(1/α)·Σ_i (q_i^α − q_i),

        p = (1 − γ_t)·q + γ_t·p_0,   β_{t+1} = β_t + z_t/(β_t·h_t),   h_t = −ψ_α(q),

    z_t = d·q_*^{1−α}/(1−α), q_* = min{max q, 1 − max q}, α = 1 − 1/(4·log K). No horizon is needed.

    *What is proved.* With ``constants="paper"``, β_1 = 8cd/(1−α), β̄ = 32d/((1−α)²·β_1) and γ_t = 4c·z_t/β_t:
    adversarial O(√(d·T·log K)), and O(d·log K·log T/Δ) in stochastic worlds, with corruption, if one arm
    alone is best, by Δ. With ``constants="light"``, β_1 = 1, β̄ = 0, half of z in β, and
    γ_t = min{½, (1−α)·z_t/β_t}, nothing is: they are measured (docs/linear.md).

    Parameters
    ----------
    features:
        A row for each arm, in their order. A constant need not be among them, and features that follow from
        others do no harm: only their span matters, not their scale.
    constants:
        ``"light"`` or ``"paper"``, which has several times the regret for the first thousands of rounds.

    Attributes
    ----------
    design:
        The G-optimal design p_0, with its ``certificate`` c.
    dimension:
        d, the constant included.

    Notes
    -----
    A round takes O(K·d² + d³). Late feedback is learned without bias: the weight of its draw comes with it.
    If the loss is not linear in the features, regret grows with what is left of it: then take a policy
    that learns each arm by itself.

    Examples
    --------
    >>> import bothworlds as bw
    >>> prices = [[p / 10, (p / 10) ** 2] for p in range(11)]        # a parabola over eleven prices
    >>> bandit = bw.Bandit(list(range(11)), bw.LinearSPM(prices), seed=7)
    >>> for _ in range(500):
    ...     pull = bandit.pull()
    ...     bandit.update(pull, reward=1.0 - (pull.arm / 10 - 0.7) ** 2)
    >>> max(bandit.probabilities, key=bandit.probabilities.get)
    7
    >>> bandit.policy.dimension, round(bandit.policy.design.certificate, 2)
    (3, 1.05)

    References
    ----------
    S. Ito, T. Tsuchiya, J. Honda: Adaptive Learning Rate for Follow-the-Regularized-Leader: Competitive
    Analysis and Best-of-Both-Worlds. COLT 2024 (equations (33) to (36), Theorem 18).
    """

    _: KW_ONLY
    constants: Literal["light", "paper"] = "light"

    def parameters(self, n_arms: int, horizon: int | None) -> LinearSPMParameters:
        """In numbers; the horizon plays no part."""
        space = self.space(n_arms)
        d, c = self.dimension, self.design.certificate
        alpha = 1.0 - 0.25 / math.log(max(2, n_arms))
        first = Tsallis(alpha).parameters()
        if self.constants == "light":
            return LinearSPMParameters(space, first, alpha, 1.0, 0.0, 0.5, 1.0 - alpha, d)
        both = HybridParameters(first, Tsallis(1.0 - alpha).parameters(), 1.0)
        rate = 8.0 * c * d / (1.0 - alpha)
        fixed = 32.0 * d / ((1.0 - alpha) ** 2 * rate)
        return LinearSPMParameters(space, both, alpha, rate, fixed, 1.0, 4.0 * c, d)


learns_linear_losses(LinearSPMParameters)


@kernel
def stability_bound(params: LinearSPMParameters, star: float) -> float:
    """z of the leader, from its q_*."""
    return float(params.dimension * star ** (1.0 - params.alpha) / (1.0 - params.alpha))


@init.register(LinearSPMParameters)
def _(params: LinearSPMParameters) -> LinearState:
    state = new_linear_state(params.space, N_CARRIED)
    begin_matching(params, state, HALF)
    set_p(params, state)
    return state


@kernel
def set_p(params: LinearSPMParameters, state: LinearState) -> int:
    """From q to p, with γ of the round to come."""
    star, _ = star_and_penalty(params.alpha, state.q)
    return mix_in_design(
        params.space, state, min(0.5, params.mixing * stability_bound(params, star) / state.scalars[TUNING])
    )


@step.register(LinearSPMParameters)
def _(params: LinearSPMParameters, state: LinearState) -> int:
    if not end_learning(state):
        return CONVERGED
    star, h = star_and_penalty(params.alpha, state.q)
    raise_beta(params, state, stability_bound(params, star), h)
    status = solve_matched(params, state, add_latest_minus_half(state), HALF, state.q)
    return FAILED if set_p(params, state) == FAILED else status
