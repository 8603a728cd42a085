"""½-Tsallis entropy with one rate for all arms and no extra barrier: p_i = (γ/y_i)², y_i = L_i − λ.

*Predict.* F(λ) = γ²·S2 with S_m = Σ y_i^{−m}. F^{−½} is concave and nearly linear; Newton on it, with its
second-order term, is  d + 1.5·(S3/S2 − S4/S3)·d²,  d = (1 − γ√S2)·S2/S3. The S_m of the last solution are
carried, and corrected for the one loss that has changed.

*Verify.* A pass computes r_i = 1/y_i and the S_m where the prediction led. Above the upper end of the
bracket, λ = min L − γ, where some p_i = 1 and F ≥ 1, the search goes on from that end, from where Newton
on F^{−½} descends to the root without leaving the bracket.

*Finish.* For a last step dx, 1/(y − dx) = r·(1 + u + u² + …) with u = r·dx; γ·r ≤ 1 bounds u by dx/γ, so
that u³ < 1e-14.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, kernel
from bothworlds._lanes import LANES, add_up, fill, least, load, smallest, store, whole
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.steps.base import (
    CANCELLATION,
    MULTIPLIER,
    N_CARRIED,
    NEAR,
    PASSES,
    SLACK,
    SUM_TOLERANCE,
    TOTAL,
    advance,
    carries,
    cold,
    one_rate,
)

S2 = N_CARRIED
S3 = N_CARRIED + 1
S4 = N_CARRIED + 2


class HalfTsallisStep(NamedTuple):
    """No parameter; the type selects the kernel."""


@carries.register(HalfTsallisStep)
def _(step: HalfTsallisStep, n_arms: int) -> int:
    return N_CARRIED + 3


@one_rate.register(HalfTsallisStep)
def _(step: HalfTsallisStep) -> bool:
    return True


@kernel(inline=True)
def invert(losses: FloatArray, shift: float, r: FloatArray) -> tuple[float, float, float, float]:
    """Fill r with 1/(L − λ); return S2, S3, S4 and the smallest y."""
    n = losses.size
    a2, a3, a4, low = fill(0.0), fill(0.0), fill(0.0), fill(math.inf)
    for i in range(0, whole(n), LANES):
        y = load(losses, i) - shift
        block = 1.0 / y
        store(r, i, block)
        square = block * block
        a2 = a2 + square
        a3 = a3 + square * block
        a4 = a4 + square * square
        low = least(y, low)
    s2, s3, s4, closest = add_up(a2), add_up(a3), add_up(a4), smallest(low)
    for i in range(whole(n), n):
        last = losses[i] - shift
        inverse = 1.0 / last
        r[i] = inverse
        power = inverse * inverse
        s2 += power
        s3 += power * inverse
        s4 += power * power
        closest = min(last, closest)
    return s2, s3, s4, closest


@kernel(inline=True)
def finish(r: FloatArray, square: float, dx: float) -> float:
    """Turn r = 1/y into p = γ²/(y − dx)², in place; return Σp."""
    n = r.size
    sums = fill(0.0)
    for i in range(0, whole(n), LANES):
        block = load(r, i)
        u = block * dx
        block = block * (1.0 + u * (1.0 + u))
        block = (block * block) * square
        store(r, i, block)
        sums = sums + block
    total = add_up(sums)
    for i in range(whole(n), n):
        u1 = r[i] * dx
        one = r[i] * (1.0 + u1 * (1.0 + u1))
        one = (one * one) * square
        r[i] = one
        total += one
    return total


@kernel(inline=True)
def third_order(missing: float, s2: float, s3: float, s4: float) -> float:
    """The step of λ towards γ²·S2 = 1, given 1 − γ√S2."""
    d = missing * (s2 / s3)
    return d + 1.5 * ((s3 * s3 - s2 * s4) / (s2 * s3)) * (d * d)


@advance.register(HalfTsallisStep, inline=True)
def _(
    step: HalfTsallisStep,
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
    rate = rates[0]
    square = rate * rate
    shift = carried[MULTIPLIER]
    if moved >= 0 and carried[S2] > 0.0:
        old = 1.0 / (before - shift)
        new = 1.0 / (losses[moved] - shift)
        old2, new2 = old * old, new * new
        s2 = carried[S2] + (new2 - old2)
        s3 = carried[S3] + (new2 * new - old2 * old)
        s4 = carried[S4] + (new2 * new2 - old2 * old2)
        shift += third_order(1.0 - math.sqrt(square * s2), s2, s3, s4)
    else:
        shift += drift
    for _ in range(PASSES):
        s2, s3, s4, closest = invert(losses, shift, p)
        if not closest >= rate * (1.0 - SLACK):  # beyond the upper end, or NaN
            shift += closest - rate
            continue
        excess = square * s2 - 1.0
        if abs(excess) > 1e-3:
            shift += third_order(1.0 - math.sqrt(square * s2), s2, s3, s4)
            continue
        # 1 − √(1 + e) by its series: sooner there, and nothing cancels
        dx = third_order(-0.5 * excess * (1.0 - excess * (0.25 - 0.125 * excess)), s2, s3, s4)
        shift += dx
        if abs(dx) <= NEAR * rate:
            total = finish(p, square, dx)
            if abs(total - 1.0) <= SUM_TOLERANCE and abs(shift) <= CANCELLATION * rate:
                carried[MULTIPLIER] = shift
                carried[TOTAL] = total
                carried[S2] = s2 + dx * (2.0 * s3 + 3.0 * s4 * dx)
                carried[S3] = s3 + 3.0 * s4 * dx
                carried[S4] = s4
                return CONVERGED
            break
    return cold(step, regularizer, losses, rates, log_barrier, carried, p)
