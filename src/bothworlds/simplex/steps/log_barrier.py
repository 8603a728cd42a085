"""The log-barrier with any rates and any extra barrier: p_i = c_i/y_i, c_i = γ_i + C, y_i = L_i − λ.

*Step.* F(λ) = S1 with S_m = Σ c_i·y_i^{−m}. 1/F is concave, and linear for equal arms; Newton on it, with its
second-order term, is  d + (S2/S1 − S3/S2)·d²,  d = S1·(1 − S1)/S2.

*Passes.* All c_i change in every round, so nothing is carried but λ: a first pass at the old λ, where the
step is from, and a second one that verifies it. Above the upper end of the bracket, λ = min(L_i − c_i),
where some p_i = 1 and F ≥ 1, the search goes on from that end, from where Newton on 1/F descends to the root
without leaving the bracket.

*Finish.* As for ½-Tsallis entropy: 1/(y − dx) = r·(1 + u + u² + …), u = r·dx.
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
    NEAR,
    PASSES,
    SLACK,
    SUM_TOLERANCE,
    TOTAL,
    advance,
    cold,
)


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
    shift = carried[MULTIPLIER] + drift
    for _ in range(PASSES):
        s1, s2, s3, closest, space = invert(losses, rates, log_barrier, shift, p)
        if not (closest > 0.0 and space >= -SLACK * closest):  # beyond the upper end, or NaN
            shift += space
            continue
        d = s1 * (1.0 - s1) / s2
        dx = d + (s2 / s1 - s3 / s2) * (d * d)
        shift += dx
        if abs(dx) <= NEAR * closest:
            total = finish(rates, log_barrier, dx, p)
            if abs(total - 1.0) <= SUM_TOLERANCE and abs(shift) <= CANCELLATION * closest:
                carried[MULTIPLIER] = shift
                carried[TOTAL] = total
                return CONVERGED
            break
    return cold(step, regularizer, losses, rates, log_barrier, carried, p)
