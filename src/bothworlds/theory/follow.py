"""From one minimiser to the next: the change itself, not the difference of two rounded points.

Let x be the minimiser for losses L and rates γ, and x' that for L + ℓ and γ' over the same mass, and
let λ be the change of the Lagrange multiplier: ∇φ'(x') = ∇φ(x) − ℓ + λ·1. With the depths v = −log x
and u = v' − v,

    γ'_i [h(v_i + u_i) − h(v_i)] + (C/x_i)·(e^{u_i} − 1) = b_i − λ ,     b_i = ℓ_i − (γ'_i − γ_i)·h(v_i),

    Σ_i x_i (e^{−u_i} − 1) = 0 .

Both equations hold between small quantities. Newton on them gives u and λ to nearly full *relative*
precision, where log(x/x') of two rounded points has an absolute error of 1e-16: nothing, if u = 1e-17.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds.simplex.growth import bend, growth, log_ratio
from bothworlds.simplex.regularizers.base import height, potential, reach, rise, spread

NOTHING = 1e-300  # arms with less have underflowed (Shannon entropy without a barrier): they take no part
SETTLED = 1e-13  # of u: what a Newton step may leave
PASSES = 40
DIVERGED = 700.0  # from NOTHING to everything
HUGE = 1e307


@kernel
def decay(u: float) -> float:
    """e^{−u}; where u is far below 0, 1 + (e^u − 1) would have lost it."""
    return 1.0 + growth(-u) if u < -1.0 else 1.0 / (1.0 + growth(u))


@kernel
def guess(x: FloatArray, target: FloatArray, u: FloatArray) -> None:
    """u from two rounded points; NaN for arms on their way to nothing."""
    for i in range(x.size):
        if x[i] < NOTHING:
            u[i] = 0.0
        elif target[i] < NOTHING:
            u[i] = math.nan
        else:
            u[i] = log_ratio(x[i], target[i])


@kernel
def guess_deep(
    regularizer: Any, x: float, height: float, rate: float, push: float, log_barrier: float
) -> float:
    """u of an arm on its way to nothing, at or beyond the root: Newton from below would overshoot."""
    y = rate * height + push + log_barrier / x
    depth = reach(regularizer, y / rate)
    if log_barrier > 0.0:
        depth = min(depth, math.log(y) - math.log(log_barrier))
    return depth + math.log(x)


@kernel
def follow(
    regularizer: Any,
    log_barrier: float,
    x: FloatArray,
    heights: FloatArray,
    rates: FloatArray,
    push: FloatArray,
    multiplier: float,
    u: FloatArray,
    out_heights: FloatArray,
    steps: FloatArray,
    softness: FloatArray,
    tilts: FloatArray,
) -> tuple[float, bool]:
    """Improve the guesses ``u`` and ``multiplier`` to solutions for the new ``rates`` γ' and ``push`` b.

    Returns λ and whether the search has settled. ``heights`` are h at x, ``out_heights`` becomes h at
    x·e^{−u}; the last three arguments are scratch.
    """
    for i in range(x.size):
        if math.isnan(u[i]):
            u[i] = guess_deep(regularizer, x[i], heights[i], rates[i], push[i] - multiplier, log_barrier)
    for _ in range(PASSES):
        missing = 0.0
        freedom = 0.0
        for i in range(x.size):
            steps[i] = softness[i] = out_heights[i] = tilts[i] = 0.0
            if x[i] < NOTHING:
                continue
            change, steepness = rise(regularizer, x[i], heights[i], u[i])
            out_heights[i] = heights[i] + change
            tilts[i] = steepness
            gain = growth(u[i])
            left = 1.0 / (1.0 + gain) if u[i] >= -1.0 else decay(u[i])
            lost = gain * left if gain < 1e300 else 1.0  # 1 − e^{−u}
            defect = push[i] - multiplier - rates[i] * change
            steepness *= rates[i]
            if log_barrier > 0.0:
                barrier = log_barrier / x[i]
                defect -= barrier * gain
                steepness += barrier * (1.0 + gain)
            if not steepness < HUGE:
                return multiplier, False
            softness[i] = 1.0 / steepness
            steps[i] = defect * softness[i]
            missing += x[i] * (left * steps[i] + lost)
            freedom += x[i] * left * softness[i]
        if not freedom > 0.0:
            return multiplier, False
        shift = missing / freedom
        multiplier += shift
        settled = True
        for i in range(x.size):
            step = steps[i] - shift * softness[i]
            u[i] += step
            if not u[i] > -DIVERGED:
                return multiplier, False
            out_heights[i] += tilts[i] * step
            if u[i] < -1.0:  # h falls by orders of magnitude: nothing of it may be left in a difference
                out_heights[i] = height(regularizer, x[i] * decay(u[i]))
            # Newton is quadratic: what is left of the error is of order step²
            settled = settled and (step * step <= SETTLED * abs(u[i]) or abs(step) <= SETTLED)
        if settled:
            return multiplier, True
    return multiplier, False


@kernel
def heights_of(regularizer: Any, x: FloatArray, out: FloatArray, out_potentials: FloatArray) -> None:
    """h and ψ at x; 0 for arms that have underflowed."""
    for i in range(x.size):
        out[i] = 0.0
        out_potentials[i] = 0.0
        if x[i] >= NOTHING:
            out[i] = height(regularizer, x[i])
            out_potentials[i] = potential(regularizer, x[i], out[i])


@kernel
def potential_sum(regularizer: Any, x: FloatArray, heights: FloatArray, weights: FloatArray) -> float:
    """Σ_i a_i ψ(x_i), given h at x."""
    total = 0.0
    for i in range(x.size):
        if x[i] >= NOTHING:
            total += weights[i] * potential(regularizer, x[i], heights[i])
    return total


@kernel
def from_end(
    regularizer: Any,
    log_barrier: float,
    x: FloatArray,
    y: FloatArray,
    y_heights: FloatArray,
    rates: FloatArray,
    u: FloatArray,
) -> float:
    """D(x, y) at these rates for u = log(x/y), y the point followed to."""
    total = 0.0
    for i in range(x.size):
        if y[i] >= NOTHING:
            if x[i] >= NOTHING:
                total += rates[i] * spread(regularizer, y[i], y_heights[i], u[i])
                if log_barrier > 0.0:
                    total += log_barrier * bend(u[i])
            else:
                total += rates[i] * spread(regularizer, y[i], height(regularizer, y[i]), -math.inf)
        elif x[i] >= NOTHING:  # far apart: nothing cancels in the definition, and y·h(y) → 0
            slope = height(regularizer, x[i])
            total += rates[i] * (potential(regularizer, x[i], slope) + y_heights[i] * x[i])
    return total


@kernel
def from_start(
    regularizer: Any,
    log_barrier: float,
    x: FloatArray,
    x_heights: FloatArray,
    rates: FloatArray,
    u: FloatArray,
) -> float:
    """D(y, x) at these rates for y = x·e^{−u}: the divergence of the point followed to from the start."""
    total = 0.0
    for i in range(x.size):
        if x[i] >= NOTHING:
            total += rates[i] * spread(regularizer, x[i], x_heights[i], -u[i])
            if log_barrier > 0.0:
                total += log_barrier * bend(-u[i])
    return total


@kernel
def weighted(weights: FloatArray, values: FloatArray) -> float:
    """Σ_i a_i b_i."""
    total = 0.0
    for i in range(values.size):
        total += weights[i] * values[i]
    return total
