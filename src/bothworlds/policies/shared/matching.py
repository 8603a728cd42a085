"""Stability–penalty matching: the rate rule of MatchedTsallis and LinearSPM, and the step that follows it.

The leader q minimizes <q, L> + β_t·ψ_α(q) + β̄·ψ_{1−α}(q) with ψ_α(q) = −(1/α)·Σ_i (q_i^α − q_i), and

    β_{t+1} = β_t + c·z_t/(β_t·h_t),   h_t = −ψ_α(q),

z_t the policy's bound on the stability term. Parameters have ``regularizer``, ``alpha``, ``first_rate``
(β_1), ``fixed_rate`` (β̄, for the second part of a hybrid regularizer) and ``scale`` (c). States are as in
``estimated_losses.py``, with ``carried`` for the solver. ``unit`` is 1 where the sums are those of L, ½ where
they are of L/2.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, generic, kernel
from bothworlds.policies.shared.estimated_losses import TUNING
from bothworlds.simplex.regularizers.base import slope
from bothworlds.simplex.regularizers.hybrid import HybridParameters
from bothworlds.simplex.steps.base import MULTIPLIER, TOTAL, general

VANISHED = 1e-300  # a penalty below this is no longer divided by: the distribution is all but a single arm


@generic(inline=True)
def with_weight(regularizer: Any, weight: float) -> Any:
    """The regularizer with this weight of its second part, if it has one."""
    return regularizer


@with_weight.register(HybridParameters, inline=True)
def _(regularizer: HybridParameters, weight: float) -> HybridParameters:
    return HybridParameters(regularizer.first, regularizer.second, weight)


@kernel
def star_and_penalty(alpha: float, p: FloatArray) -> tuple[float, float]:
    """p_* = min{max p, 1 − max p} and h.

    For the likeliest arm p^α − p is taken from 1 − p, the sum of the others, which is small.
    """
    top = 0
    for i in range(1, p.size):
        if p[i] > p[top]:
            top = i
    rest = 0.0
    h = 0.0
    for i in range(p.size):
        if i != top:
            rest += p[i]
            h += p[i] ** alpha - p[i]
    rest = min(rest, 1.0)
    if rest < 1.0:
        h += p[top] * math.expm1((alpha - 1.0) * math.log1p(-rest))
    return min(p[top], rest), h / alpha


@kernel
def set_rates(params: Any, state: Any, unit: float) -> float:
    """γ = β(1−α)/α, with which β·ψ_α is γ·``Tsallis(α)`` up to a constant; return γ̄/γ, likewise."""
    ratio = (1.0 - params.alpha) / params.alpha
    rate = unit * state.scalars[TUNING] * ratio
    for i in range(state.rates.size):
        state.rates[i] = rate
    return float(unit * params.fixed_rate / ratio / rate)


@kernel
def begin_matching(params: Any, state: Any, unit: float) -> None:
    """Before the first round: β_1, and the multiplier at which the leader is uniform."""
    state.scalars[TUNING] = params.first_rate
    state.carried[TOTAL] = 1.0
    regularizer = with_weight(params.regularizer, set_rates(params, state, unit))
    state.carried[MULTIPLIER] = -state.rates[0] * slope(regularizer, math.log(state.rates.size))[0]


@kernel
def raise_beta(params: Any, state: Any, z: float, h: float) -> None:
    """β of the round to come."""
    beta = state.scalars[TUNING]
    if h >= VANISHED:
        state.scalars[TUNING] = beta + params.scale * z / (beta * h)


@kernel
def solve_matched(params: Any, state: Any, shift: float, unit: float, out: FloatArray) -> int:
    """Fill ``out`` with the leader, after ``shift`` was subtracted from all sums; return the status."""
    state.carried[MULTIPLIER] -= shift
    regularizer = with_weight(params.regularizer, set_rates(params, state, unit))
    return general(regularizer, state.losses, state.rates, 0.0, state.carried, out)
