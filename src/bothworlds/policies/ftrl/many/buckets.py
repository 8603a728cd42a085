"""Buckets: arms with similar L, and the moments of their places.

A bucket covers an interval [low, low + width) with middle m and half-width h. With d_i = (L_i − m)/h in
[−1, 1) its arms have

    Σ b_i·(L_i − x)^−k = (m − x)^−k · Σ_j C(k+j−1, j)·(−v)^j·Σ b_i·d_i^j,      v = h/(m − x).

The series is cut after MOMENTS terms. That is exact to 1e-14 as long as v ≤ NEAR, for k ≤ 3; larger k count
for less in the sums they are used in. Only a growing x brings a bucket near; then it is given up, and its
members settle in narrower ones. An arm that finds no bucket gets a new one, of a width 2^e at a whole
multiple of it, with v < NEAR/SLACK.

Moments are sums of numbers that were rounded to whole units first (in two parts, the second for what the
first leaves): they are exact, so that a million arms may come and go without a trace.
"""

from __future__ import annotations

import math

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.ftrl.many.members import join_bucket, leave_bucket
from bothworlds.policies.ftrl.many.state import (
    BUCKETS,
    CENTER,
    COARSE,
    COUNT,
    EMPTY,
    FAR,
    FAR_EDGE,
    FILLED,
    FINE,
    HOME,
    LOSS,
    LOW,
    MOMENTS,
    NEARNESS,
    PER_ARM,
    ROOM,
    SIZE,
    START,
    UNIT,
    USED,
    WEIGHT,
    WIDTH,
    ManyArmsState,
)

NEAR = 0.2
SLACK = 1.25
WIDEST = 2.0 / (1.0 + SLACK / NEAR)  # width over L − x at which v < NEAR/SLACK, wherever in it L is
REACH = 1.0 / 16.0  # how far from its center the series is used, in units of UNIT

COARSE_UNITS = 2.0**26
FINE_UNITS = 2.0**26  # in a coarse one
ROUNDER = 1.5 * 2.0**52  # adding and subtracting this rounds to a whole number


@kernel
def nearest_whole(value: float) -> float:
    """The nearest whole number."""
    return (value + ROUNDER) - ROUNDER


@kernel
def add_moments(buckets: FloatArray, bucket: int, loss: float, weight: float, times: float) -> None:
    """Add an arm to the moments of a bucket, so many times; −1 takes it out again."""
    half = 0.5 * buckets[WIDTH + bucket]
    place = (loss - (buckets[LOW + bucket] + half)) / half if half > 0.0 else 0.0
    units = weight / buckets[SIZE + bucket] * COARSE_UNITS
    for j in range(MOMENTS):
        coarse = nearest_whole(units)
        buckets[COARSE + MOMENTS * bucket + j] += times * coarse
        buckets[FINE + MOMENTS * bucket + j] += times * nearest_whole((units - coarse) * FINE_UNITS)
        units *= place


@kernel
def power_of_two(at_most: float) -> float:
    """The largest one."""
    return math.ldexp(1.0, math.frexp(at_most)[1] - 1)


@kernel
def size_of(weight: float) -> float:
    """The smallest power of two that is not below."""
    below = power_of_two(weight)
    return below if below == weight else 2.0 * below


@kernel
def new_bucket(buckets: FloatArray, scalars: FloatArray, low: float, width: float, size: float) -> int:
    """An empty bucket; FAR if there is no number left for one."""
    used = int(scalars[USED])
    bucket = 1
    while bucket < used and (buckets[LOW + bucket] != EMPTY or buckets[COUNT + bucket] > 0.0):
        bucket += 1
    if bucket == BUCKETS:
        return FAR
    if bucket == used:
        scalars[USED] = used + 1.0
        buckets[START + bucket] = scalars[FILLED]
        buckets[ROOM + bucket] = 0.0
    buckets[LOW + bucket] = low
    buckets[WIDTH + bucket] = width
    buckets[SIZE + bucket] = size
    buckets[NEARNESS + bucket] = 1.0 / (low - scalars[CENTER] - REACH * scalars[UNIT])
    for j in range(MOMENTS * bucket, MOMENTS * (bucket + 1)):
        buckets[COARSE + j] = 0.0
        buckets[FINE + j] = 0.0
    return bucket


@kernel
def find_bucket(buckets: FloatArray, scalars: FloatArray, loss: float, weight: float) -> int:
    """The bucket for an arm, a new one if need be; FAR if there is no number left for one."""
    size = size_of(weight)
    for bucket in range(1, int(scalars[USED])):
        low = buckets[LOW + bucket]
        if low <= loss < low + buckets[WIDTH + bucket] and size == buckets[SIZE + bucket]:
            return bucket
    width = power_of_two(WIDEST * (loss - scalars[CENTER]))
    return new_bucket(buckets, scalars, math.floor(loss / width) * width, width, size)


@kernel
def settle(state: ManyArmsState, arm: int) -> bool:
    """Put an arm into its bucket. False if there are too many buckets."""
    arms, members, buckets, scalars = state
    loss, weight = arms[PER_ARM * arm + LOSS], arms[PER_ARM * arm + WEIGHT]
    if loss >= scalars[FAR_EDGE]:
        arms[PER_ARM * arm + HOME] = FAR
        return True
    bucket = find_bucket(buckets, scalars, loss, weight)
    if bucket == FAR:
        return False
    join_bucket(arms, members, buckets, scalars, arm, bucket)
    add_moments(buckets, bucket, loss, weight, 1.0)
    return True


@kernel
def settle_all(state: ManyArmsState, arm: int, dissolving: bool) -> bool:
    """Settle ``arm`` (−1: none) and the members of buckets that are to be dissolved, if there are any.

    One place for all, because a kernel is compiled again for every place from which it is called.
    """
    members, buckets, scalars = state.members, state.buckets, state.scalars
    bucket = 1
    while True:
        if arm < 0:
            if not dissolving:
                return True
            while bucket < scalars[USED] and (
                buckets[LOW + bucket] != EMPTY or buckets[COUNT + bucket] == 0.0
            ):
                bucket += 1
            if bucket >= scalars[USED]:
                return True
            buckets[COUNT + bucket] -= 1.0  # the last one may find its new bucket under this very number
            arm = int(members[int(buckets[START + bucket] + buckets[COUNT + bucket])])
        if not settle(state, arm):
            return False
        arm = -1


@kernel
def take_out(state: ManyArmsState, arm: int) -> None:
    """Take an arm out of its bucket."""
    arms, members, buckets, _ = state
    at = PER_ARM * arm
    home = int(arms[at + HOME])
    if home != FAR:
        add_moments(buckets, home, arms[at + LOSS], arms[at + WEIGHT], -1.0)
        leave_bucket(arms, members, buckets, arm, home)


@kernel
def dissolve_near(buckets: FloatArray, scalars: FloatArray) -> None:
    """Give up the buckets that are too wide for their distance from the center; their members must settle."""
    for bucket in range(1, int(scalars[USED])):
        half = 0.5 * buckets[WIDTH + bucket]
        if half > NEAR * (buckets[LOW + bucket] + half - scalars[CENTER]):  # never of one that is EMPTY
            buckets[LOW + bucket] = EMPTY
