"""The step of root_tsallis.py for four problems at once, one per lane: the same operations in the same order.

Arrays are interleaved: number i of problem w is at 4i + w. What a lane cannot confirm at its first pass
is left to the kernel for one problem, so that every lane has the bits that it would have alone.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds._lanes import LANES, add_up, at_most, fill, least, load, most, root, store, whole
from bothworlds.simplex.steps.base import (
    CANCELLATION,
    MULTIPLIER,
    NEAR,
    SLACK,
    SUM_TOLERANCE,
    TAKEN_OVER,
    TOTAL,
)
from bothworlds.simplex.steps.root_tsallis import (
    CURVE,
    SLOPE,
    SUM,
    little_missing,
    power,
    predict,
    shifted,
    third_order,
)

CONFIRMED = TAKEN_OVER  # where ``fresh`` says which lanes are


@kernel(inline=True)
def invert_lanes(
    step: Any, losses: FloatArray, shift: Any, r: FloatArray, n: int
) -> tuple[Any, Any, Any, Any]:
    """``invert`` in lanes: its sums have four parts, by the number of the arm modulo four."""
    a0, a1, a2, a3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    b0, b1, b2, b3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    c0, c1, c2, c3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    low = fill(math.inf)
    for i in range(0, whole(n), LANES):
        at = LANES * i
        r0, t0, y0 = terms(step, losses, shift, r, at)
        a0, b0, c0 = a0 + t0, b0 + t0 * r0, c0 + (t0 * r0) * r0
        r1, t1, y1 = terms(step, losses, shift, r, at + LANES)
        a1, b1, c1 = a1 + t1, b1 + t1 * r1, c1 + (t1 * r1) * r1
        r2, t2, y2 = terms(step, losses, shift, r, at + 2 * LANES)
        a2, b2, c2 = a2 + t2, b2 + t2 * r2, c2 + (t2 * r2) * r2
        r3, t3, y3 = terms(step, losses, shift, r, at + 3 * LANES)
        a3, b3, c3 = a3 + t3, b3 + t3 * r3, c3 + (t3 * r3) * r3
        low = least(least(least(y0, y1), least(y2, y3)), low)
    s, slope, curve = (a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3), (c0 + c1) + (c2 + c3)
    for i in range(whole(n), n):
        r0, t0, y0 = terms(step, losses, shift, r, LANES * i)
        s, slope, curve = s + t0, slope + t0 * r0, curve + (t0 * r0) * r0
        low = least(y0, low)
    return s, slope, curve, low


@kernel(inline=True)
def terms(step: Any, losses: FloatArray, shift: Any, r: FloatArray, at: int) -> tuple[Any, Any, Any]:
    """1/y, which is stored, its m-th power, and y."""
    y = load(losses, at) - shift
    inverse = 1.0 / y
    store(r, at, inverse)
    return inverse, power(step, inverse), y


@kernel(inline=True)
def finish_lanes(step: Any, r: FloatArray, scale: float, dx: Any, n: int) -> Any:
    """``finish`` in lanes."""
    a0, a1, a2, a3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    for i in range(0, whole(n), LANES):
        at = LANES * i
        a0 = a0 + finished(step, r, scale, dx, at)
        a1 = a1 + finished(step, r, scale, dx, at + LANES)
        a2 = a2 + finished(step, r, scale, dx, at + 2 * LANES)
        a3 = a3 + finished(step, r, scale, dx, at + 3 * LANES)
    total = (a0 + a1) + (a2 + a3)
    for i in range(whole(n), n):
        total = total + finished(step, r, scale, dx, LANES * i)
    return total


@kernel(inline=True)
def finished(step: Any, r: FloatArray, scale: float, dx: Any, at: int) -> Any:
    """p, which is stored."""
    block = load(r, at)
    u = block * dx
    block = power(step, block * (1.0 + u * (1.0 + u))) * scale
    store(r, at, block)
    return block


@kernel(inline=True)
def advance_lanes(
    step: Any,
    end: float,
    losses: FloatArray,
    carried: FloatArray,
    p: FloatArray,
    before: Any,
    after: Any,
    n: int,
    fresh: FloatArray,
) -> int:
    """``advance`` for four problems with the same rate, in each of which the loss of one arm has changed.

    Returns how many are confirmed. If not all are, ``carried`` is left as it was; ``fresh``, of its size,
    holds what it would be, with 1 at ``CONFIRMED`` for the lanes that are.
    """
    scale = power(step, end)
    shift = load(carried, LANES * MULTIPLIER)
    kept = load(carried, LANES * SUM)
    old, new = 1.0 / (before - shift), 1.0 / (after - shift)
    old_power, new_power = power(step, old), power(step, new)
    s = kept + (new_power - old_power)
    old_power, new_power = old_power * old, new_power * new
    slope = load(carried, LANES * SLOPE) + (new_power - old_power)
    curve = load(carried, LANES * CURVE) + (new_power * new - old_power * old)
    shift = shift + predict(step, 1.0 - root(scale * s), s, slope, curve)
    s, slope, curve, closest = invert_lanes(step, losses, shift, p, n)
    excess = scale * s - 1.0
    dx = third_order(step, little_missing(step, excess), s, slope, curve)
    shift = shift + dx
    total = finish_lanes(step, p, scale, dx, n)
    error = total - 1.0
    confirmed = (
        at_most(1e-300, kept)
        * at_most(end * (1.0 - SLACK), closest)
        * at_most(most(excess, 0.0 - excess), 1e-3)
        * at_most(most(dx, 0.0 - dx), NEAR * end)
        * at_most(most(error, 0.0 - error), SUM_TOLERANCE)  # NaN, wherever it comes from, is in the total
        * at_most(most(shift, 0.0 - shift), CANCELLATION * end)
    )
    count = int(add_up(confirmed))
    target = carried if count == LANES else fresh
    store(target, LANES * MULTIPLIER, shift)
    store(target, LANES * TOTAL, total)
    s, slope = shifted(step, s, slope, curve, dx)
    store(target, LANES * SUM, s)
    store(target, LANES * SLOPE, slope)
    store(target, LANES * CURVE, curve)
    store(fresh, LANES * CONFIRMED, confirmed)
    return count
