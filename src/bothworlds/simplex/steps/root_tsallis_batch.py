"""The step of root_tsallis.py for four problems at once, one per lane: the same operations in the same order.

It comes in five parts, which leave in ``fresh`` what the next one wants, so that a caller with more than four
problems can do each part for all: predict, invert, correct, finish, confirm.

Arrays are interleaved: number i of problem w is at 4i + w. What a lane cannot confirm at its first pass
is left to the kernel for one problem, so that every lane has the bits that it would have alone.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds._simd import LANES, each_at_most, fill, least, load, most, root, smallest, store, whole
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
    mth_power,
    predict,
    shifted,
    third_order,
)

CONFIRMED = TAKEN_OVER  # in ``fresh``: 1 for the lanes that are, 0 for the others
CLOSEST = CURVE + 1  # … and two numbers more than are carried: the smallest y
LAST = CURVE + 2  # … and the last step
N_FRESH = CURVE + 3


@kernel(inline=True)
def predict_batch(
    step: Any, end: float, carried: FloatArray, before: Any, after: Any, fresh: FloatArray
) -> None:
    """Where λ leads, after the loss of one arm has changed in each lane."""
    shift = load(carried, LANES * MULTIPLIER)
    old, new = 1.0 / (before - shift), 1.0 / (after - shift)
    old_power, new_power = mth_power(step, old), mth_power(step, new)
    s = load(carried, LANES * SUM) + (new_power - old_power)
    old_power, new_power = old_power * old, new_power * new
    slope = load(carried, LANES * SLOPE) + (new_power - old_power)
    curve = load(carried, LANES * CURVE) + (new_power * new - old_power * old)
    lacking = 1.0 - root(mth_power(step, end) * s)
    store(fresh, LANES * MULTIPLIER, shift + predict(step, lacking, s, slope, curve))


@kernel(inline=True)
def invert_batch(step: Any, losses: FloatArray, r: FloatArray, n: int, fresh: FloatArray) -> None:
    """``invert`` in lanes: its sums have four parts, by the number of the arm modulo four."""
    shift = load(fresh, LANES * MULTIPLIER)
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
    store(fresh, LANES * SUM, s)
    store(fresh, LANES * SLOPE, slope)
    store(fresh, LANES * CURVE, curve)
    store(fresh, LANES * CLOSEST, low)


@kernel(inline=True)
def terms(step: Any, losses: FloatArray, shift: Any, r: FloatArray, at: int) -> tuple[Any, Any, Any]:
    """1/y, which is stored, its m-th power, and y."""
    y = load(losses, at) - shift
    inverse = 1.0 / y
    store(r, at, inverse)
    return inverse, mth_power(step, inverse), y


@kernel(inline=True)
def correct_batch(step: Any, end: float, fresh: FloatArray) -> None:
    """The last correction of λ, by the sums at where it has led."""
    s = load(fresh, LANES * SUM)
    excess = mth_power(step, end) * s - 1.0
    slope, curve = load(fresh, LANES * SLOPE), load(fresh, LANES * CURVE)
    store(fresh, LANES * LAST, third_order(step, little_missing(step, excess), s, slope, curve))


@kernel(inline=True)
def finish_batch(step: Any, end: float, r: FloatArray, n: int, fresh: FloatArray) -> None:
    """``finish`` for four problems at once, one in each lane."""
    scale, dx = mth_power(step, end), load(fresh, LANES * LAST)
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
    store(fresh, LANES * TOTAL, total)


@kernel(inline=True)
def finished(step: Any, r: FloatArray, scale: float, dx: Any, at: int) -> Any:
    """p of an arm in all four problems, stored in place of 1/y."""
    block = load(r, at)
    u = block * dx
    block = mth_power(step, block * (1.0 + u * (1.0 + u))) * scale
    store(r, at, block)
    return block


@kernel(inline=True)
def confirm_batch(step: Any, end: float, carried: FloatArray, fresh: FloatArray) -> bool:
    """Are all lanes confirmed? Only then ``carried`` is renewed; else ``CONFIRMED`` says which lanes are."""
    s, slope, curve = load(fresh, LANES * SUM), load(fresh, LANES * SLOPE), load(fresh, LANES * CURVE)
    dx, total = load(fresh, LANES * LAST), load(fresh, LANES * TOTAL)
    shift = load(fresh, LANES * MULTIPLIER) + dx
    excess, error = mth_power(step, end) * s - 1.0, total - 1.0
    confirmed = (
        each_at_most(1e-300, load(carried, LANES * SUM))
        * each_at_most(end * (1.0 - SLACK), load(fresh, LANES * CLOSEST))
        * each_at_most(most(excess, 0.0 - excess), 1e-3)
        * each_at_most(most(dx, 0.0 - dx), NEAR * end)
        * each_at_most(
            most(error, 0.0 - error), SUM_TOLERANCE
        )  # NaN, wherever it comes from, is in the total
        * each_at_most(most(shift, 0.0 - shift), CANCELLATION * end)
    )
    all_confirmed = smallest(confirmed) == 1.0
    target = carried if all_confirmed else fresh
    s, slope = shifted(step, s, slope, curve, dx)
    store(target, LANES * MULTIPLIER, shift)
    store(target, LANES * TOTAL, total)
    store(target, LANES * SUM, s)
    store(target, LANES * SLOPE, slope)
    store(target, LANES * CURVE, curve)
    store(fresh, LANES * CONFIRMED, confirmed)
    return all_confirmed
