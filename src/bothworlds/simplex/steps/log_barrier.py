"""The log-barrier with any rates and any extra barrier: p_i = c_i/y_i, c_i = γ_i + C, y_i = L_i − λ.

*Step.* F(λ) = S1 with S_m = Σ c_i·y_i^{−m}. 1/F is concave, and linear for equal arms; Newton on it, with its
second-order term, is  d + (S2/S1 − S3/S2)·d²,  d = S1·(1 − S1)/S2.

*Predict.* S2 and S3 of the last solution are carried, and corrected for the one loss that has changed. All
c_i grow in every round, by a little that itself changes slowly: S1 is corrected by as much as they were
seen to add to it so far (``TREND``). Where several losses have changed, the first pass is at the old λ.

*Verify.* A pass computes r_i = 1/y_i and the S where the prediction led. Above the upper end of the bracket,
λ = min(L_i − c_i), where some p_i = 1 and F ≥ 1, the search goes on from that end, from where Newton on 1/F
descends to the root without leaving the bracket.

*Finish.* As for ½-Tsallis entropy: 1/(y − dx) = r·(1 + u + u² + …), u = r·dx.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, kernel
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
)

# what is carried: S2, S3, and by how much the rates alone increase S1 in a round
SLOPE = N_CARRIED
CURVE = N_CARRIED + 1
TREND = N_CARRIED + 2
MOST_TREND = 1e-2  # a larger one is due to a loss


class LogBarrierStep(NamedTuple):
    """No parameter; the type selects the kernel."""


@kernel(inline=True)
def invert(
    losses: FloatArray, rates: FloatArray, log_barrier: float, shift: float, r: FloatArray
) -> tuple[float, float, float, float, float]:
    """Fill r with 1/(L − λ); return S1, S2, S3, the smallest y and the smallest y − c."""
    n = losses.size
    a1, a2, a3, low, room = fill(0.0), fill(0.0), fill(0.0), fill(math.inf), fill(math.inf)
    for i in range(0, whole(n), LANES):
        y = load(losses, i) - shift
        c = load(rates, i) + log_barrier
        block = 1.0 / y
        store(r, i, block)
        term = c * block
        a1 = a1 + term
        term = term * block
        a2 = a2 + term
        a3 = a3 + term * block
        low = least(y, low)
        room = least(y - c, room)
    s1, s2, s3, closest, space = add_up(a1), add_up(a2), add_up(a3), smallest(low), smallest(room)
    for i in range(whole(n), n):
        last = losses[i] - shift
        c1 = rates[i] + log_barrier
        inverse = 1.0 / last
        r[i] = inverse
        power = c1 * inverse
        s1 += power
        power = power * inverse
        s2 += power
        s3 += power * inverse
        closest = min(last, closest)
        space = min(last - c1, space)
    return s1, s2, s3, closest, space


@kernel(inline=True)
def finish(rates: FloatArray, log_barrier: float, dx: float, r: FloatArray) -> float:
    """Turn r = 1/y into p = c/(y − dx), in place; return Σp."""
    n = r.size
    sums = fill(0.0)
    for i in range(0, whole(n), LANES):
        block = load(r, i)
        u = block * dx
        block = (load(rates, i) + log_barrier) * (block * (1.0 + u * (1.0 + u)))
        store(r, i, block)
        sums = sums + block
    total = add_up(sums)
    for i in range(whole(n), n):
        u1 = r[i] * dx
        one = (rates[i] + log_barrier) * (r[i] * (1.0 + u1 * (1.0 + u1)))
        r[i] = one
        total += one
    return total


@kernel(inline=True)
def third_order(s1: float, s2: float, s3: float) -> float:
    """The step of λ towards F = 1."""
    d = s1 * (1.0 - s1) / s2
    return d + (s2 / s1 - s3 / s2) * (d * d)


@carries.register(LogBarrierStep)
def _(step: LogBarrierStep, n_arms: int) -> int:
    return N_CARRIED + 3


@advance.register(LogBarrierStep, inline=True)
def _(
    step: LogBarrierStep,
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
    shift = carried[MULTIPLIER]
    trend = carried[TREND]
    if moved >= 0 and carried[SLOPE] > 0.0:
        c = rates[moved] + log_barrier
        old, new = 1.0 / (before - shift), 1.0 / (losses[moved] - shift)
        s1 = 1.0 + trend + c * (new - old)
        s2 = carried[SLOPE] + c * (new * new - old * old)
        s3 = carried[CURVE] + c * (new * new * new - old * old * old)
        shift += third_order(s1, s2, s3)
    else:
        shift += drift
    for count in range(PASSES):
        s1, s2, s3, closest, space = invert(losses, rates, log_barrier, shift, p)
        if not (closest > 0.0 and space >= -SLACK * closest):  # beyond the upper end, or NaN
            shift += space
            continue
        if count == 0:
            trend += 0.5 * (s1 - 1.0)  # half of what was seen: the rest may be due to the loss
        dx = third_order(s1, s2, s3)
        shift += dx
        if abs(dx) <= NEAR * closest:
            total = finish(rates, log_barrier, dx, p)
            if adds_up(total, p.size) and abs(shift) <= CANCELLATION * closest:
                carried[MULTIPLIER] = shift
                carried[TOTAL] = total
                carried[SLOPE] = s2 + 2.0 * s3 * dx
                carried[CURVE] = s3
                carried[TREND] = min(max(trend, 0.0), MOST_TREND)
                return CONVERGED
            break
    return cold(step, regularizer, losses, rates, log_barrier, carried, p)
