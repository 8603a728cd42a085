"""From one minimiser to the next: the change itself, not the difference of two rounded points.

Let x be the minimiser for losses L and rates γ, and x' that for L + ℓ and γ' over the same mass, and
let λ be the change of the Lagrange multiplier: ∇φ'(x') = ∇φ(x) − ℓ + λ·1. With the depths v = −log x
and u = v' − v,

    γ'_i [h(v_i + u_i) − h(v_i)] + (C/x_i)·(e^{u_i} − 1) = b_i − λ ,     b_i = ℓ_i − (γ'_i − γ_i)·h(v_i),

    Σ_i x_i (e^{−u_i} − 1) = 0 .

Both equations hold between small quantities. Newton on them gives u and λ to nearly full *relative*
precision, where log(x/x') of two rounded points has an absolute error of 1e-16: nothing, if u = 1e-17.

All of it goes by blocks of four arms on the rows of one sheet (layout.py), whose numbers the arguments are.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds._lanes import LANES, add_up, all_at_most, at_most, fill, load, most, store
from bothworlds.simplex.growth import bend, fading, log_ratio, near_log, size
from bothworlds.simplex.regularizers.base import (
    height,
    heights,
    potential,
    potentials,
    reach,
    rises,
    spread,
    spreads,
)
from bothworlds.theory.layout import PUSH, ROOM

NOTHING = 1e-300  # arms with less have underflowed (Shannon entropy without a barrier): they take no part
SETTLED = 1e-13  # of u: what a Newton step may leave
PASSES = 40
DIVERGED = 700.0  # from NOTHING to everything
HUGE = 1e307


@kernel(inline=True)
def present(p: Any) -> Any:
    """1 for arms that take part, 0 for those that have underflowed or only fill up a block."""
    return at_most(NOTHING, p)


@kernel(inline=True)
def among(p: Any, mask: Any) -> Any:
    """p where the mask is 1, and 1 where it is 0: there every ψ is finite, and 0·ψ is 0."""
    return p + (1.0 - mask)


@kernel
def guess(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    first: int,
    last: int,
    x: int,
    target: int,
    slopes: int,
    rates: int,
    hint: float,
    u: int,
) -> None:
    """u from two rounded points, ``hint`` for λ."""
    for i in range(first, last, LANES):
        start, end = load(sheet[x], i), load(sheet[target], i)
        ratio = at_most(NOTHING, start) * (start - end) / most(end, NOTHING)
        if all_at_most(size(ratio), 0.01):
            store(sheet[u], i, near_log(ratio))
            continue
        for k in range(i, i + LANES):
            sheet[u, k] = guess_one(reg, barrier, sheet, k, x, target, slopes, rates, hint)


@kernel
def guess_one(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    k: int,
    x: int,
    target: int,
    slopes: int,
    rates: int,
    hint: float,
) -> float:
    """u of arm k; on its way to nothing at or beyond the root, since Newton from below would overshoot."""
    start, end, rate = sheet[x, k], sheet[target, k], sheet[rates, k]
    if start < NOTHING:
        return 0.0
    if end >= NOTHING:
        return log_ratio(start, end)
    y = rate * sheet[slopes, k] + sheet[PUSH, k] - hint + barrier / start
    depth = reach(reg, y / rate)
    if barrier > 0.0:
        depth = min(depth, math.log(y) - math.log(barrier))
    return depth + math.log(start)


@kernel
def follow(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    first: int,
    last: int,
    x: int,
    slopes: int,
    rates: int,
    multiplier: float,
    u: int,
    ends: int,
) -> tuple[float, bool]:
    """Improve the guesses ``u`` and ``multiplier`` to solutions for the new ``rates`` γ' and push b.

    Returns λ and whether the search has settled. ``slopes`` are h at x, ``ends`` becomes h at x·e^{−u}.
    """
    for _ in range(PASSES):
        lacking, free = fill(0.0), fill(0.0)
        for i in range(first, last, LANES):
            p, old, way, rate = (
                load(sheet[x], i),
                load(sheet[slopes], i),
                load(sheet[u], i),
                load(sheet[rates], i),
            )
            mask = present(p)
            inner = among(p, mask)
            change, steepness = rises(reg, inner, old, way)
            store(sheet[ends], i, old + change)
            store(sheet[ROOM + 2], i, steepness)
            gain, left, lost = fading(way)
            defect = load(sheet[PUSH], i) - multiplier - rate * change
            stiffness = rate * steepness
            if barrier > 0.0:
                wall = barrier * mask / inner
                defect = defect - wall * gain
                stiffness = stiffness + wall * (1.0 + gain)
            if not all_at_most(stiffness, HUGE):
                return multiplier, False
            softness = mask / most(stiffness, NOTHING)
            step = defect * softness
            store(sheet[ROOM], i, step)
            store(sheet[ROOM + 1], i, softness)
            lacking = lacking + p * (left * step + lost)
            free = free + p * left * softness
        freedom = add_up(free)
        if not freedom > 0.0:
            return multiplier, False
        shift = add_up(lacking) / freedom
        multiplier += shift
        settled = True
        for i in range(first, last, LANES):
            step = load(sheet[ROOM], i) - shift * load(sheet[ROOM + 1], i)
            way = load(sheet[u], i) + step
            end = load(sheet[ends], i) + load(sheet[ROOM + 2], i) * step
            if not all_at_most(-1.0, way):
                if not all_at_most(-DIVERGED, way):
                    return multiplier, False
                # h falls by orders of magnitude: nothing of it may be left in a difference
                p = load(sheet[x], i)
                mask = present(p)
                end = mask * heights(reg, among(most(p * fading(way)[1], NOTHING), mask))
            store(sheet[u], i, way)
            store(sheet[ends], i, end)
            # Newton is quadratic: what is left of the error is of order step²
            settled = settled and all_at_most(step * step, SETTLED * most(size(way), size(step)))
        if settled:
            return multiplier, True
    return multiplier, False


@kernel
def heights_of(reg: Any, sheet: FloatArray, last: int, x: int, out: int) -> None:
    """h at x; 0 for arms that have underflowed."""
    for i in range(0, last, LANES):
        p = load(sheet[x], i)
        mask = present(p)
        store(sheet[out], i, mask * heights(reg, among(p, mask)))


@kernel
def potential_sums(
    reg: Any, sheet: FloatArray, first: int, last: int, cut: int, x: int, slopes: int, weights: int
) -> tuple[float, float]:
    """Σ_i a_i ψ(x_i) over the arms before and from ``cut`` on, given h at x."""
    before, beyond = fill(0.0), fill(0.0)
    for i in range(first, last, LANES):
        p = load(sheet[x], i)
        mask = present(p)
        weight = mask * load(sheet[weights], i)
        term = weight * potentials(reg, among(p, mask), load(sheet[slopes], i))
        if i < cut:
            before = before + term
        else:
            beyond = beyond + term
    return add_up(before), add_up(beyond)


@kernel
def from_end(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    first: int,
    last: int,
    x: int,
    y: int,
    slopes: int,
    rates: int,
    u: int,
) -> float:
    """D(x, y) at these rates for u = log(x/y), y the point followed to, where h are the ``slopes``."""
    sums = fill(0.0)
    total = 0.0
    for i in range(first, last, LANES):
        start, end, way, rate = load(sheet[x], i), load(sheet[y], i), load(sheet[u], i), load(sheet[rates], i)
        mask = present(end)
        if all_at_most(size(present(start) - mask), 0.0):
            term = rate * spreads(reg, among(end, mask), load(sheet[slopes], i), way)
            if barrier > 0.0:
                term = term + barrier * bend(way)
            sums = sums + mask * term
            continue
        for k in range(i, i + LANES):
            total += one_from_end(reg, barrier, sheet, k, x, y, slopes, rates, u)
    return total + add_up(sums)


@kernel
def one_from_end(
    reg: Any, barrier: float, sheet: FloatArray, k: int, x: int, y: int, slopes: int, rates: int, u: int
) -> float:
    """What arm k adds to it, where one of x and y may have underflowed."""
    a, b, rate = sheet[x, k], sheet[y, k], sheet[rates, k]
    if b >= NOTHING:
        if a >= NOTHING:
            return float(rate * spread(reg, b, sheet[slopes, k], sheet[u, k]) + barrier * bend(sheet[u, k]))
        return float(rate * spread(reg, b, height(reg, b), -math.inf))
    if a >= NOTHING:  # far apart: nothing cancels in the definition, and y·h(y) → 0
        return float(rate * (potential(reg, a, height(reg, a)) + sheet[slopes, k] * a))
    return 0.0


@kernel
def from_start(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    first: int,
    last: int,
    x: int,
    slopes: int,
    rates: int,
    u: int,
) -> float:
    """D(y, x) at these rates for y = x·e^{−u}: the divergence of the point followed to from the start."""
    sums = fill(0.0)
    for i in range(first, last, LANES):
        p, way = load(sheet[x], i), -load(sheet[u], i)
        mask = present(p)
        term = load(sheet[rates], i) * spreads(reg, among(p, mask), load(sheet[slopes], i), way)
        if barrier > 0.0:
            term = term + barrier * bend(way)
        sums = sums + mask * term
    return add_up(sums)
