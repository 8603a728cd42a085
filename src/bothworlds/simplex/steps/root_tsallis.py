"""Tsallis entropy of β = ½ and ⅔, with one rate for all arms and no extra barrier: p_i = (c/y_i)^m.

Here y_i = L_i − λ, c = γ·β/(1−β), and m = 1/(1−β) is 2 or 3: no powers to compute.

*Predict.* F(λ) = c^m·S_m with S_k = Σ y_i^{−k}. F^{−1/m} is concave and nearly linear; Newton on it, with its
second-order term, is  d + (m+1)/2·(S_{m+1}/S_m − S_{m+2}/S_{m+1})·d²,  d = (1 − F^{1/m})·S_m/S_{m+1}. The S
of the last solution are carried, and corrected for the one loss that has changed. (The first prediction
is made with F^{−½} for m = 3 too: a square root is sooner there.)

*Verify.* A pass computes r_i = 1/y_i and the S where the prediction led. Above the upper end of the
bracket, λ = min L − c, where some p_i = 1 and F ≥ 1, the search goes on from that end, from where Newton
on F^{−1/m} descends to the root without leaving the bracket.

*Finish.* For a last step dx, 1/(y − dx) = r·(1 + u + u² + …) with u = r·dx; c·r ≤ 1 bounds u by dx/c, so
that u³ < 1e-14.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, generic, kernel
from bothworlds._simd import LANES, add_up, fill, least, load, smallest, store, whole
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.steps.base import (
    CANCELLATION,
    MULTIPLIER,
    N_CARRIED,
    NEAR,
    PASSES,
    SLACK,
    TOTAL,
    adds_up,
    advance,
    carries,
    cold,
    one_rate,
)

# what is carried: S_m, S_{m+1}, S_{m+2}
SUM = N_CARRIED
SLOPE = N_CARRIED + 1
CURVE = N_CARRIED + 2


class HalfTsallisStep(NamedTuple):
    """β = ½, m = 2. No parameter; the type selects the kernel."""


class TwoThirdsTsallisStep(NamedTuple):
    """β = ⅔, m = 3. No parameter; the type selects the kernel."""


@generic
def order(step: Any) -> int:
    """m = 1/(1 − β), the power in p = scale/(L − λ)^m: 2 or 3."""
    return 2


@order.register(TwoThirdsTsallisStep)
def _(step: TwoThirdsTsallisStep) -> int:
    return 3


def _carries(step: Any, n_arms: int) -> int:
    return N_CARRIED + 3


def _one_rate(step: Any) -> bool:
    return True


@kernel(inline=True)
def mth_power(step: Any, value: Any) -> Any:
    """The m-th power of a number or a block."""
    return value * value if order(step) == 2 else (value * value) * value


@kernel(inline=True)
def invert(step: Any, losses: FloatArray, shift: float, r: FloatArray) -> tuple[float, float, float, float]:
    """Fill r with 1/(L − λ); return S_m, S_{m+1}, S_{m+2} and the smallest y."""
    n = losses.size
    a, b, c, low = fill(0.0), fill(0.0), fill(0.0), fill(math.inf)
    for i in range(0, whole(n), LANES):
        y = load(losses, i) - shift
        block = 1.0 / y
        store(r, i, block)
        term = mth_power(step, block)
        a = a + term
        term = term * block
        b = b + term
        c = c + term * block
        low = least(y, low)
    s, slope, curve, closest = add_up(a), add_up(b), add_up(c), smallest(low)
    for i in range(whole(n), n):
        last = losses[i] - shift
        inverse = 1.0 / last
        r[i] = inverse
        one = mth_power(step, inverse)
        s += one
        one = one * inverse
        slope += one
        curve += one * inverse
        closest = min(last, closest)
    return s, slope, curve, closest


@kernel(inline=True)
def finish(step: Any, r: FloatArray, scale: float, dx: float) -> float:
    """Turn r = 1/y into p = scale/(y − dx)^m, in place; return Σp."""
    n = r.size
    sums = fill(0.0)
    for i in range(0, whole(n), LANES):
        block = load(r, i)
        u = block * dx
        block = mth_power(step, block * (1.0 + u * (1.0 + u))) * scale
        store(r, i, block)
        sums = sums + block
    total = add_up(sums)
    for i in range(whole(n), n):
        u1 = r[i] * dx
        one = mth_power(step, r[i] * (1.0 + u1 * (1.0 + u1))) * scale
        r[i] = one
        total += one
    return total


@kernel(inline=True)
def missing(step: Any, mass: float) -> float:
    """1 − F^{1/m}, F = ``mass``: how far λ is from where p sums to one, on the scale of Newton's method."""
    return 1.0 - (math.sqrt(mass) if order(step) == 2 else mass ** (1.0 / 3.0))


@kernel(inline=True)
def little_missing(step: Any, excess: Any) -> Any:
    """1 − (1 + e)^{1/m} for |e| ≤ 1e-3, by its series: sooner there, and nothing cancels."""
    if order(step) == 2:
        return -0.5 * excess * (1.0 - excess * (0.25 - 0.125 * excess))
    return (-1.0 / 3.0) * excess * (1.0 - excess * (1.0 / 3.0 - (5.0 / 27.0) * excess))


@kernel(inline=True)
def third_order(step: Any, lacking: Any, s: Any, slope: Any, curve: Any) -> Any:
    """The step of λ towards F = 1, given 1 − F^{1/m}."""
    d = lacking * (s / slope)
    return d + (0.5 * (order(step) + 1)) * ((slope * slope - s * curve) / (s * slope)) * (d * d)


@kernel(inline=True)
def predict(step: Any, lacking: Any, s: Any, slope: Any, curve: Any) -> Any:
    """The third-order step of Newton on F^{−½}, given 1 − √F; for m = 2 it is that of ``third_order``."""
    m = order(step)
    d = (2.0 / m) * lacking * (s / slope)
    return d + ((0.75 * m) * (slope * slope) - (0.5 * (m + 1)) * (s * curve)) / (s * slope) * (d * d)


@kernel(inline=True)
def shifted(step: Any, s: Any, slope: Any, curve: Any, dx: Any) -> tuple[Any, Any]:
    """S_m and S_{m+1} after the last step, by their Taylor series."""
    m = float(order(step))
    return s + (m * dx) * (slope + (0.5 * (m + 1.0)) * curve * dx), slope + (m + 1.0) * curve * dx


def _advance(
    step: Any,
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    carried: FloatArray,
    p: FloatArray,
    moved: int,
    before: float,
    drift: float,
) -> int:
    end = rates[0] * regularizer.factor  # c: y ≥ c in the bracket
    scale = mth_power(step, end)
    shift = carried[MULTIPLIER]
    if moved >= 0 and carried[SUM] > 0.0:
        old, new = 1.0 / (before - shift), 1.0 / (losses[moved] - shift)
        old_power, new_power = mth_power(step, old), mth_power(step, new)
        s = carried[SUM] + (new_power - old_power)
        old_power, new_power = old_power * old, new_power * new
        slope = carried[SLOPE] + (new_power - old_power)
        curve = carried[CURVE] + (new_power * new - old_power * old)
        shift += predict(step, 1.0 - math.sqrt(scale * s), s, slope, curve)
    else:
        shift += drift
    for _ in range(PASSES):
        s, slope, curve, closest = invert(step, losses, shift, p)
        if not closest >= end * (1.0 - SLACK):  # beyond the upper end, or NaN
            shift += closest - end
            continue
        excess = scale * s - 1.0
        if abs(excess) > 1e-3:
            shift += third_order(step, missing(step, scale * s), s, slope, curve)
            continue
        dx = third_order(step, little_missing(step, excess), s, slope, curve)
        shift += dx
        if abs(dx) <= NEAR * end:
            total = finish(step, p, scale, dx)
            if adds_up(total, p.size) and abs(shift) <= CANCELLATION * end:
                carried[MULTIPLIER] = shift
                carried[TOTAL] = total
                carried[SUM], carried[SLOPE] = shifted(step, s, slope, curve, dx)
                carried[CURVE] = curve
                return CONVERGED
            break
    return cold(step, regularizer, losses, rates, log_barrier, carried, p)


for _kind in (HalfTsallisStep, TwoThirdsTsallisStep):
    carries.register(_kind)(_carries)
    one_rate.register(_kind)(_one_rate)
    advance.register(_kind, inline=True)(_advance)
