"""The Taylor series of Σ b_i·(L_i − x)^−k around a center, from the buckets, and along with single arms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds._simd import LANES, fill, load, store
from bothworlds.policies.ftrl.many.buckets import COARSE_UNITS, FINE_UNITS, REACH
from bothworlds.policies.ftrl.many.state import (
    AGE,
    CENTER,
    COARSE,
    EMPTY,
    FINE,
    FOUR,
    LOW,
    MOMENTS,
    NEARNESS,
    SCRATCH,
    SERIES,
    SHIFT,
    SIZE,
    TERMS,
    UNIT,
    USED,
    WIDTH,
    whole_power,
)

POWERS = 2 + TERMS  # k up to 1 + TERMS
NEGLIGIBLE = 1e-18
BINOMIAL = np.array(  # C(k+j−1, j) at j·POWERS + k
    [math.comb(max(k + j - 1, 0), j) for j in range(MOMENTS) for k in range(POWERS)], dtype=float
)


@kernel
def four_powers(base: float, scale: float, scalars: FloatArray) -> Any:
    """scale·(1, base, base², base³) as a block."""
    scalars[FOUR] = scale
    scalars[FOUR + 1] = scale * base
    scalars[FOUR + 2] = scale * (base * base)
    scalars[FOUR + 3] = scale * (base * base * base)
    return load(scalars, FOUR)


@kernel
def add_bucket(buckets: FloatArray, scalars: FloatArray, bucket: int, first_power: int) -> None:
    """Add what one bucket contributes to the series."""
    half = 0.5 * buckets[WIDTH + bucket]
    distance = buckets[LOW + bucket] - scalars[CENTER]
    inverse = 1.0 / (distance + half)
    terms = 1
    size = 1.0
    while size > NEGLIGIBLE and terms < TERMS:  # the farther away, the fewer terms count within the reach
        size *= REACH * scalars[UNIT] / distance
        terms += 1
    ratio = -half * inverse
    powers = four_powers(ratio, buckets[SIZE + bucket] / COARSE_UNITS, scalars)
    fourth = (ratio * ratio) * (ratio * ratio)
    first = MOMENTS * bucket
    for j in range(0, MOMENTS, LANES):
        moments = load(buckets, COARSE + first + j) + load(buckets, FINE + first + j) * (1.0 / FINE_UNITS)
        store(scalars, SCRATCH + j, moments * powers)
        powers = powers * fourth
    add_terms(scalars, first_power, terms, scalars[UNIT] * inverse)


@kernel
def add_terms(scalars: FloatArray, first_power: int, terms: int, step: float) -> None:
    """The binomials times the moments, which are in the scratch, for so many terms, or up to three more."""
    scale = whole_power(step, first_power)
    for k in range(0, terms, LANES):
        even, odd = fill(0.0), fill(0.0)
        row = first_power + k
        for j in range(SCRATCH, SCRATCH + MOMENTS, 2):
            even = even + load(BINOMIAL, row) * scalars[j]
            odd = odd + load(BINOMIAL, row + POWERS) * scalars[j + 1]
            row += 2 * POWERS
        sums = even + odd
        at = SERIES + k
        store(scalars, at, load(scalars, at) + sums * four_powers(step, scale, scalars))
        scale *= (step * step) * (step * step)


@kernel
def nearest_edge(buckets: FloatArray, scalars: FloatArray) -> float:
    """The smallest low end: all arms have an L of at least this."""
    smallest = EMPTY
    for bucket in range(1, int(scalars[USED])):
        smallest = min(smallest, buckets[LOW + bucket])
    return smallest


@kernel
def expand_series(buckets: FloatArray, scalars: FloatArray, first_power: int) -> None:
    """Make the series from the buckets, around the center, and bound the members of every bucket."""
    unit = nearest_edge(buckets, scalars) - scalars[CENTER]
    scalars[UNIT] = unit
    scalars[SHIFT] = 0.0
    scalars[AGE] = 0.0
    for k in range(TERMS):
        scalars[SERIES + k] = 0.0
    for bucket in range(1, int(scalars[USED])):
        if buckets[LOW + bucket] != EMPTY:
            add_bucket(buckets, scalars, bucket, first_power)
            buckets[NEARNESS + bucket] = 1.0 / (buckets[LOW + bucket] - scalars[CENTER] - REACH * unit)


@kernel
def correct_series(
    scalars: FloatArray, first_power: int, loss: float, weight: float, new_loss: float, new_weight: float
) -> None:
    """Replace one arm in the series."""
    old_step = scalars[UNIT] / (loss - scalars[CENTER])
    new_step = scalars[UNIT] / (new_loss - scalars[CENTER])
    old, new = weight * whole_power(old_step, first_power), new_weight * whole_power(new_step, first_power)
    for k in range(TERMS):
        scalars[SERIES + k] += new - old
        old *= old_step
        new *= new_step
    scalars[AGE] += 1.0


@kernel
def sum_up(scalars: FloatArray, power: int, skip: int, shift: float) -> tuple[float, float, float]:
    """Σ b_i·(UNIT/(L_i − x))^power at ``shift`` and its first two derivatives; as many terms as it takes."""
    size = abs(shift)
    terms = 6 if size < 1e-3 else 10 if size < 1.5e-2 else TERMS - skip
    value, first, second = 0.0, 0.0, 0.0
    for j in range(terms - 1, -1, -1):
        second = second * shift + first
        first = first * shift + value
        value = value * shift + BINOMIAL[j * POWERS + power] * scalars[SERIES + skip + j]
    return value, first, 2.0 * second
