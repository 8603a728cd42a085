"""The moves of a round: p^t to p^{t+1}, q^t to q^{t+1}, p^t to p̄^{t+1} to p^{t+1}; and their divergences.

``page`` and ``after`` are where the pages of rounds t and t + 1 begin on the sheet, ``side`` is where V does.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds._simd import LANES, add_up, all_at_most, fill, load, most, store, whole
from bothworlds.simplex.growth import fading, size
from bothworlds.simplex.kernel import FAILED, solve_step
from bothworlds.theory.follow import NOTHING, follow, from_end, from_start, guess, potential_sums
from bothworlds.theory.layout import (
    BAR_HEIGHTS,
    BENCHMARK,
    END_HEIGHTS,
    ESTIMATES,
    GAP,
    GROWTHS,
    HEIGHTS,
    LAMBDA_K,
    LAMBDA_U,
    LAMBDA_V,
    LOSSES,
    MIXED,
    MIXED_GROWTHS,
    OPTIMAL,
    P_BAR,
    P_TILDE,
    PENALTY,
    PUSH,
    Q_HEIGHTS,
    RATES,
    RESIDUAL,
    STABILITY,
    SUBOPTIMAL,
    TILDE_HEIGHTS,
    TOTAL,
    U_ALL,
    U_BAR,
    U_TILDE,
    P,
    Q,
    U,
)

NO_HINT = 0.0  # of a multiplier: the equations are linear in it, so Newton finds it in one step from anywhere


@kernel
def place(
    reg: Any, barrier: float, sheet: FloatArray, first: int, count: int, rates: int, total: float, x: int
) -> bool:
    """Fill x with the minimiser over mass ``total`` on ``count`` arms; was it found?"""
    last = first + count
    for i in range(first, last):
        sheet[x, i] = 0.0
    if total < NOTHING:
        return True
    losses, gammas, p = sheet[LOSSES, first:last], sheet[rates, first:last], sheet[x, first:last]
    return solve_step(reg, losses, gammas, barrier, total, math.nan, p)[4] != FAILED


@kernel
def copy(sheet: FloatArray, first: int, last: int, source: int, out: int) -> None:
    """Copy a row."""
    for i in range(first, last, LANES):
        store(sheet[out], i, load(sheet[source], i))


@kernel
def push_from(sheet: FloatArray, first: int, last: int, estimates: int, growths: int, slopes: int) -> None:
    """b_i = ℓ̂_i − (γ'_i − γ_i)·h_i, see follow.py."""
    for i in range(first, last, LANES):
        push = load(sheet[estimates], i) - load(sheet[growths], i) * load(sheet[slopes], i)
        store(sheet[PUSH], i, push)


@kernel
def move_all(
    reg: Any, barrier: float, sheet: FloatArray, page: int, after: int, terms: FloatArray, skew: float
) -> bool:
    """From p^t to p^{t+1}: λ_K and D^{t,t+1}(p^t, p^{t+1})."""
    last, rates = sheet.shape[1], after + RATES
    push_from(sheet, 0, last, page + ESTIMATES, page + GROWTHS, HEIGHTS)
    guess(reg, barrier, sheet, 0, last, page + P, after + P, HEIGHTS, rates, NO_HINT, U_ALL)
    terms[LAMBDA_K], settled = follow(
        reg, barrier, sheet, 0, last, page + P, HEIGHTS, rates, NO_HINT, U_ALL, END_HEIGHTS
    )
    terms[TOTAL] = -skew + from_end(
        reg, barrier, sheet, 0, last, page + P, after + P, END_HEIGHTS, rates, U_ALL
    )
    return settled


@kernel
def move_to(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    first: int,
    last: int,
    count: int,
    estimates: int,
    x: int,
    slopes: int,
    rates: int,
    hint: float,
    out: int,
    u: int,
    ends: int,
    anew: bool,
) -> tuple[float, bool]:
    """Move x to its minimiser over the same mass on ``count`` arms under the push b; returns λ.

    The way of p^t to p^{t+1} is nearly always so good a guess that Newton settles, and where no loss was
    estimated it is better not to move; the solver is for when neither is, and to place the point ``anew``.
    """
    sums, lost = fill(0.0), fill(0.0)
    for i in range(first, last, LANES):
        sums = sums + load(sheet[x], i)
        lost = most(lost, size(load(sheet[estimates], i)))
    total = add_up(sums)
    moved = 0.0 if all_at_most(lost, 0.0) else 1.0
    for i in range(first, last, LANES):
        store(sheet[u], i, moved * load(sheet[U_ALL], i))
    hint = moved * hint
    if total < NOTHING:
        copy(sheet, first, last, x, out)
        copy(sheet, first, last, slopes, ends)
        return math.nan, True
    multiplier, settled = hint, False
    if not anew:
        multiplier, settled = follow(reg, barrier, sheet, first, last, x, slopes, rates, hint, u, ends)
    if not settled:
        if not place(reg, barrier, sheet, first, count, rates, total, out):
            return multiplier, False
        guess(reg, barrier, sheet, first, last, x, out, slopes, rates, hint, u)
        multiplier, settled = follow(reg, barrier, sheet, first, last, x, slopes, rates, hint, u, ends)
    if not anew:
        for i in range(first, last, LANES):
            store(sheet[out], i, load(sheet[x], i) * fading(load(sheet[u], i))[1])
    return multiplier, settled


@kernel
def move_benchmark(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    page: int,
    after: int,
    terms: FloatArray,
    m: int,
    side: int,
    anew: bool,
) -> bool:
    """From q^t to q^{t+1}, and D_U^{t,t+1}(q^t, q^{t+1})."""
    rates, growths = after + RATES, page + GROWTHS
    push_from(sheet, 0, side, page + ESTIMATES, growths, Q_HEIGHTS)
    _, settled = move_to(
        *(reg, barrier, sheet, 0, side, m, page + ESTIMATES, page + Q, Q_HEIGHTS, rates),
        *(terms[LAMBDA_K], after + Q, U, END_HEIGHTS, anew),
    )
    distance = from_end(reg, barrier, sheet, 0, side, page + Q, after + Q, END_HEIGHTS, rates, U)
    terms[BENCHMARK] = distance - potential_sums(reg, sheet, 0, side, side, page + Q, Q_HEIGHTS, growths)[0]
    return settled


@kernel
def move_sides(
    reg: Any, barrier: float, sheet: FloatArray, page: int, rates: int, terms: FloatArray, m: int, n: int
) -> tuple[float, float, bool]:
    """From p^t to p̄^{t+1}: λ_U, λ_V, and D_U and D_V of the two at the mixed rates."""
    start, bar, width = page + P, page + P_BAR, sheet.shape[1]
    fine = True
    distance_u = distance_v = 0.0
    side = whole(m + LANES - 1)
    for k in range(2):
        first, last, count = (side, width, n - m) if k else (0, side, m)
        terms[LAMBDA_U + k], found = move_to(
            *(reg, barrier, sheet, first, last, count, page + ESTIMATES, start, HEIGHTS, rates),
            *(terms[LAMBDA_K], bar, U_BAR, BAR_HEIGHTS, False),
        )
        distance = from_end(reg, barrier, sheet, first, last, start, bar, BAR_HEIGHTS, rates, U_BAR)
        fine = fine and found
        if k:
            distance_v = distance
        else:
            distance_u = distance
    return distance_u, distance_v, fine


@kernel
def stability(reg: Any, barrier: float, sheet: FloatArray, page: int, side: int) -> float:
    """<p_V^t − p̄_V^{t+1}, ℓ̂^t> − D_V^t(p̄^{t+1}, p^t)."""
    last = sheet.shape[1]
    gained = fill(0.0)
    for i in range(side, last, LANES):
        lost = load(sheet[page + P], i) * fading(load(sheet[U_BAR], i))[2]
        gained = gained + load(sheet[page + ESTIMATES], i) * lost
    return add_up(gained) - from_start(
        reg, barrier, sheet, side, last, page + P, HEIGHTS, page + RATES, U_BAR
    )


@kernel
def move_tilde(
    reg: Any, barrier: float, sheet: FloatArray, page: int, after: int, terms: FloatArray, side: int
) -> bool:
    """The decoupled p̃^{t+1} (φ^{t+1} on U, φ^t on V), its λ_K, and the gap D^{t̃}(p^{t+1}, p̃^{t+1})."""
    tilde, last = page + P_TILDE, sheet.shape[1]
    before = terms[LAMBDA_K]
    push_from(sheet, 0, last, page + ESTIMATES, MIXED_GROWTHS, HEIGHTS)
    terms[LAMBDA_K], found = move_to(
        *(reg, barrier, sheet, 0, last, last, page + ESTIMATES, page + P, HEIGHTS, MIXED),
        *(before, tilde, U_TILDE, TILDE_HEIGHTS, False),
    )
    for i in range(0, last, LANES):
        grown = load(sheet[page + GROWTHS], i) * load(sheet[TILDE_HEIGHTS], i)
        store(sheet[U], i, load(sheet[U_ALL], i) - load(sheet[U_TILDE], i))
        store(sheet[PUSH], i, fill(0.0) if i < side else -grown)
    hint = before - terms[LAMBDA_K]
    _, settled = follow(
        reg, barrier, sheet, 0, last, tilde, TILDE_HEIGHTS, after + RATES, hint, U, END_HEIGHTS
    )
    terms[GAP] = from_start(reg, barrier, sheet, 0, last, tilde, TILDE_HEIGHTS, MIXED, U)
    return found and settled


@kernel
def move_rest(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    bar: int,
    end: int,
    way: int,
    rates: int,
    terms: FloatArray,
    side: int,
) -> bool:
    """The residual regret: from p̄^{t+1} to ``end`` = p^{t+1} (or p̃^{t+1}), to which ``way`` led from p^t."""
    last = sheet.shape[1]
    apart = terms[LAMBDA_V] - terms[LAMBDA_U]
    hint = terms[LAMBDA_K] - terms[LAMBDA_U]
    if math.isnan(apart):  # one side has underflowed
        apart, hint = 0.0, 0.0
    for i in range(0, last, LANES):
        store(sheet[U], i, load(sheet[way], i) - load(sheet[U_BAR], i))
        store(sheet[PUSH], i, fill(0.0 if i < side else apart))
    _, settled = follow(reg, barrier, sheet, 0, last, bar, BAR_HEIGHTS, rates, hint, U, END_HEIGHTS)
    terms[RESIDUAL] = from_end(reg, barrier, sheet, 0, last, bar, end, END_HEIGHTS, rates, U)
    return settled


@kernel
def account_round(
    reg: Any,
    barrier: float,
    sheet: FloatArray,
    page: int,
    after: int,
    terms: FloatArray,
    m: int,
    n: int,
    decoupled: bool,
    anew: bool,
) -> bool:
    """All terms of round t, in which p, rates, growths and estimates are in place."""
    growths, end, rates, way = page + GROWTHS, after + P, after + RATES, U_ALL
    side, last = whole(m + LANES - 1), sheet.shape[1]
    skew_u, skew_v = potential_sums(reg, sheet, 0, last, side, page + P, HEIGHTS, growths)
    fine = move_all(reg, barrier, sheet, page, after, terms, skew_u + skew_v)
    # the penalty −Σ_V (γ'−γ)ψ is taken at p̄^{t+1}, for a decoupled policy at p^{t+1}
    if decoupled:
        skew_v = potential_sums(reg, sheet, side, last, side, end, END_HEIGHTS, growths)[1]
        for i in range(0, last, LANES):
            store(sheet[MIXED], i, load(sheet[rates if i < side else page + RATES], i))
            store(sheet[MIXED_GROWTHS], i, load(sheet[growths], i) if i < side else fill(0.0))
        rates = MIXED
        push_from(sheet, 0, last, page + ESTIMATES, MIXED_GROWTHS, HEIGHTS)
    on_u, on_v, found = move_sides(reg, barrier, sheet, page, rates, terms, m, n)
    terms[STABILITY] = stability(reg, barrier, sheet, page, side)
    terms[SUBOPTIMAL] = on_v - skew_v
    terms[PENALTY] = -skew_v
    if not decoupled:
        terms[PENALTY] = -potential_sums(reg, sheet, side, last, side, page + P_BAR, BAR_HEIGHTS, growths)[1]
    settled = move_benchmark(reg, barrier, sheet, page, after, terms, m, side, anew)
    terms[OPTIMAL] = on_u - skew_u - terms[BENCHMARK]
    terms[GAP] = 0.0
    if decoupled:
        reached = move_tilde(reg, barrier, sheet, page, after, terms, side)
        fine = fine and reached
        end, way = page + P_TILDE, U_TILDE
    arrived = move_rest(reg, barrier, sheet, page + P_BAR, end, way, rates, terms, side)
    return fine and found and settled and arrived
