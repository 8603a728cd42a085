"""The step: x with Σ b_i·(c/(L_i − x))^s = 1, from a series where it reaches, from the buckets where not.

*Search.* F(x) = Σ p_i increases, and F^(−1/s) is concave (for equal arms it is linear). Newton on it, from
the right of the root, never passes the root; from the left it passes the root once, at most. A third-order
correction makes steps below 1e-5 of the smallest L − x exact.

*Reach.* The series around a center is used up to REACH times the smallest L − x there (UNIT), where the
terms left out are below 1e-16. A step beyond makes a new series at its end; a step to the right is cut to
half a UNIT, which stays left of every arm.

*Precision.* Every change of an arm leaves a rounding error in the series; after OLD changes it is made anew.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.ftrl.many.buckets import (
    REACH,
    add_moments,
    dissolve_near,
    new_bucket,
    settle_all,
    size_of,
    take_out,
)
from bothworlds.policies.ftrl.many.series import correct_series, expand_series, sum_up
from bothworlds.policies.ftrl.many.state import (
    AGE,
    BUCKETS,
    CENTER,
    COUNT,
    EMPTY,
    FAR_EDGE,
    FILLED,
    HOME,
    LOSS,
    LOW,
    OFFSET,
    PER_ARM,
    ROOM,
    SCALE,
    SHIFT,
    SIZE,
    START,
    UNIT,
    USED,
    WEIGHT,
    ManyArmsState,
    first_power,
    whole_power,
)
from bothworlds.simplex.kernel import CONVERGED, FAILED

OLD = 256.0  # changes
CROWDED = 2.0 * OLD  # as an age: there was no bucket left for an arm
SETTLED = 1e-5  # a step of this size, in units of UNIT, is the last
SEARCHES = 500  # series made in one search, at most: two of them halve the distance to the arms, or more
FAR_WEIGHT = 1e-15  # far arms have less than this altogether …
FAR_MARGIN = 128.0  # … as long as c and L − x have not changed by this factor
LARGE = 4096.0  # how large x may become, and 4 for each arm, before all losses are shifted: exact, and O(K)


@kernel
def step_to_one(value: float, first: float, second: float, power: int) -> float:
    """How far to go until F, now at ``value``, is 1."""
    excess = value - 1.0
    s = float(power)
    if abs(excess) < 1e-3:  # 1 − F^(1/s) by its series: no cancellation, no root
        cubic = 1.0 - (2.0 * s - 1.0) / (3.0 * s) * excess
        lack = -excess / s * (1.0 - (s - 1.0) / (2.0 * s) * excess * cubic)
    else:
        lack = 1.0 - math.pow(value, 1.0 / s)
    step = s * value * lack / first
    bend = 0.5 * ((1.0 + 1.0 / s) * first / value - second / first) * step
    return step * (1.0 + bend) if abs(bend) < 0.25 else step


@kernel
def far_distance(params: Any, scale: float, largest: float) -> float:
    """From here on all arms together, were they as large as the largest, have less than FAR_WEIGHT."""
    return scale * math.pow(params.n_arms * largest / FAR_WEIGHT, 1.0 / params.power)


@kernel
def empty_buckets(buckets: FloatArray, scalars: FloatArray) -> None:
    """No buckets."""
    scalars[USED] = 1.0
    scalars[FILLED] = 0.0
    for bucket in range(BUCKETS):
        buckets[LOW + bucket] = EMPTY
        buckets[COUNT + bucket] = 0.0


@kernel
def fill_one_bucket(params: Any, state: ManyArmsState, weight: float) -> None:
    """All arms, which stand in a row, are equal, and x is known: one bucket without width."""
    arms, _, buckets, scalars = state
    n_arms = params.n_arms
    empty_buckets(buckets, scalars)
    scalars[OFFSET] = 0.0
    scalars[CENTER] = -scalars[SCALE] * math.pow(n_arms * weight, 1.0 / params.power)
    scalars[UNIT] = -scalars[CENTER]
    scalars[FAR_EDGE] = scalars[CENTER] + FAR_MARGIN * far_distance(params, scalars[SCALE], weight)
    bucket = new_bucket(buckets, scalars, 0.0, 0.0, size_of(weight))
    arms[LOSS::PER_ARM] = 0.0
    arms[WEIGHT::PER_ARM] = weight
    arms[HOME::PER_ARM] = bucket
    buckets[ROOM + bucket] = n_arms
    buckets[COUNT + bucket] = n_arms
    scalars[FILLED] = n_arms
    add_moments(buckets, bucket, 0.0, weight, float(n_arms))
    expand_series(buckets, scalars, first_power(params))


@kernel
def begin_anew(params: Any, state: ManyArmsState) -> None:
    """Give up all buckets, so that all arms must settle, and take a whole number off all losses."""
    arms, members, buckets, scalars = state
    empty_buckets(buckets, scalars)
    shift = math.floor(scalars[CENTER])
    scalars[CENTER] -= shift
    scalars[OFFSET] += shift
    largest = 0.0
    nearest = EMPTY
    for arm in range(params.n_arms):
        arms[PER_ARM * arm + LOSS] -= shift
        largest = max(largest, arms[PER_ARM * arm + WEIGHT])
        nearest = min(nearest, arms[PER_ARM * arm + LOSS])
        members[arm] = arm
    scalars[UNIT] = 0.5 * (nearest - scalars[CENTER])
    scalars[FAR_EDGE] = scalars[CENTER] + FAR_MARGIN * far_distance(params, scalars[SCALE], largest)
    scalars[FILLED] = params.n_arms
    scalars[USED] = 2.0
    buckets[START + 1] = 0.0
    buckets[COUNT + 1] = params.n_arms
    buckets[ROOM + 1] = params.n_arms


@kernel
def move_center(params: Any, state: ManyArmsState, center: float) -> None:
    """Move the center, and give up the buckets for which that is too near: some, or all."""
    buckets, scalars = state.buckets, state.scalars
    scalars[CENTER] = center
    largest = 0.0
    for bucket in range(1, int(scalars[USED])):
        if buckets[LOW + bucket] != EMPTY:
            largest = max(largest, buckets[SIZE + bucket])
    too_near = scalars[FAR_EDGE] - center < far_distance(params, scalars[SCALE], largest)
    if too_near or scalars[AGE] >= CROWDED or center > LARGE + 4.0 * params.n_arms:
        begin_anew(params, state)
    else:
        dissolve_near(buckets, scalars)


@kernel
def search_series(params: Any, scalars: FloatArray) -> float:
    """The shift at which F is 1, if the series reaches it; else where it leaves the reach."""
    power = params.power
    skip = power - first_power(params)
    shift = scalars[SHIFT]
    factor = whole_power(scalars[SCALE] / scalars[UNIT], power)
    for _ in range(8):
        value, first, second = sum_up(scalars, power, skip, shift)
        step = step_to_one(factor * value, factor * first, factor * second, power)
        shift += step
        if not abs(shift) <= REACH or abs(step) <= SETTLED:
            break
    return float(shift)


@kernel
def search_multiplier(params: Any, state: ManyArmsState, arm: int) -> int:
    """Bring x up to date with c and with ``arm``, which has changed (−1: none has)."""
    scalars = state.scalars
    shift = scalars[SHIFT]
    reached = scalars[AGE] < OLD
    for _ in range(SEARCHES):
        if not reached:
            if not abs(shift) <= EMPTY:
                break
            move_center(params, state, scalars[CENTER] + min(shift, 0.5) * scalars[UNIT])
        if not settle_all(state, arm, not reached):
            if scalars[AGE] >= CROWDED:
                break
            scalars[AGE] = CROWDED  # all arms into new buckets: then there are fewer
            reached = False
            arm = -1
            shift = 0.0
            continue
        arm = -1
        if not reached:
            expand_series(state.buckets, scalars, first_power(params))
        shift = search_series(params, scalars)
        if abs(shift) <= REACH:
            scalars[SHIFT] = shift
            return CONVERGED
        reached = False
    return FAILED


@kernel
def resettle(params: Any, state: ManyArmsState) -> int:
    """Bring x up to date after any number of arms have changed, to larger L: all go into new buckets."""
    state.scalars[AGE] = CROWDED
    return search_multiplier(params, state, -1)


@kernel
def change_arm(params: Any, state: ManyArmsState, arm: int, loss: float, weight: float) -> None:
    """Give an arm another L and b; it is out of its bucket until the search, which comes next."""
    arms, scalars = state.arms, state.scalars
    before, weight_before = arms[PER_ARM * arm + LOSS], arms[PER_ARM * arm + WEIGHT]
    correct_series(scalars, first_power(params), before, weight_before, loss, weight)
    take_out(state, arm)
    arms[PER_ARM * arm + LOSS] = loss
    arms[PER_ARM * arm + WEIGHT] = weight
