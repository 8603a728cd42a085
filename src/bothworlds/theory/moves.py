"""The moves of a round: p^t to p^{t+1}, q^t to q^{t+1}, p^t to p̄^{t+1} to p^{t+1}; and their divergences."""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds.simplex.growth import growth
from bothworlds.simplex.kernel import FAILED, solve_step
from bothworlds.theory.follow import (
    NOTHING,
    decay,
    follow,
    from_end,
    from_start,
    guess,
    potential_sum,
    weighted,
)
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
    POTENTIALS,
    PUSH,
    Q_HEIGHTS,
    Q_POTENTIALS,
    RATES,
    RESIDUAL,
    ROOM,
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
    reg: Any,
    barrier: float,
    losses: FloatArray,
    rates: FloatArray,
    total: float,
    hint: float,
    x: FloatArray,
) -> tuple[float, bool]:
    """Fill x with the minimiser over mass ``total``; return its multiplier and whether it was found."""
    if total < NOTHING:
        x[:] = 0.0
        return hint, True
    smallest, shift, _, _, status = solve_step(reg, losses, rates, barrier, total, hint, x)
    return smallest - shift, status != FAILED


@kernel
def copy(source: FloatArray, out: FloatArray) -> None:
    """Copy: a loop compiles faster than an assignment that may have to broadcast."""
    for i in range(out.size):
        out[i] = source[i]


@kernel
def push_from(estimates: FloatArray, growths: FloatArray, heights: FloatArray, out: FloatArray) -> None:
    """b_i = ℓ̂_i − (γ'_i − γ_i)·h_i, see follow.py."""
    for i in range(out.size):
        out[i] = estimates[i] - growths[i] * heights[i]


@kernel
def walk(
    reg: Any,
    barrier: float,
    pad: FloatArray,
    first: int,
    last: int,
    x: FloatArray,
    heights: FloatArray,
    rates: FloatArray,
    hint: float,
    u: FloatArray,
    out_heights: FloatArray,
) -> tuple[float, bool]:
    """Follow x on the arms first … last−1 under pad[PUSH]: from guesses to u, λ and h where it ends."""
    return follow(
        reg,
        barrier,
        x,
        heights,
        rates,
        pad[PUSH, first:last],
        hint,
        u,
        out_heights,
        pad[ROOM, first:last],
        pad[ROOM + 1, first:last],
        pad[ROOM + 2, first:last],
    )


@kernel
def move_benchmark(
    reg: Any,
    barrier: float,
    page: FloatArray,
    after: FloatArray,
    terms: FloatArray,
    pad: FloatArray,
    m: int,
    hint: float,
) -> tuple[float, bool]:
    """From q^t to q^{t+1}, and D_U^{t,t+1}(q^t, q^{t+1}); ``hint`` guesses the multiplier."""
    q, new, rates, growths = page[Q, :m], after[Q, :m], after[RATES, :m], page[GROWTHS, :m]
    u, end, heights = pad[U, :m], pad[END_HEIGHTS, :m], pad[Q_HEIGHTS, :m]
    copy(q, new)
    level, found = place(reg, barrier, pad[LOSSES, :m], rates, 1.0, hint, new)
    guess(q, new, u)
    push_from(page[ESTIMATES, :m], growths, heights, pad[PUSH, :m])
    _, settled = walk(reg, barrier, pad, 0, m, q, heights, rates, level - hint, u, end)
    terms[BENCHMARK] = from_end(reg, barrier, q, new, end, rates, u) - weighted(
        growths, pad[Q_POTENTIALS, :m]
    )
    return level, found and settled


@kernel
def move_all(
    reg: Any,
    barrier: float,
    page: FloatArray,
    after: FloatArray,
    terms: FloatArray,
    pad: FloatArray,
) -> bool:
    """From p^t to p^{t+1}: λ_K and D^{t,t+1}(p^t, p^{t+1})."""
    p, end, rates, growths, heights = (
        page[P],
        after[P],
        after[RATES],
        page[GROWTHS],
        pad[HEIGHTS],
    )
    guess(p, end, pad[U_ALL])
    push_from(page[ESTIMATES], growths, heights, pad[PUSH])
    terms[LAMBDA_K], settled = walk(
        reg, barrier, pad, 0, end.size, p, heights, rates, NO_HINT, pad[U_ALL], pad[END_HEIGHTS]
    )
    distance = from_end(reg, barrier, p, end, pad[END_HEIGHTS], rates, pad[U_ALL])
    terms[TOTAL] = distance - weighted(growths, pad[POTENTIALS])
    return settled


@kernel
def move_to(
    reg: Any,
    barrier: float,
    page: FloatArray,
    pad: FloatArray,
    first: int,
    last: int,
    hint: float,
    out: FloatArray,
    u: FloatArray,
    out_heights: FloatArray,
) -> tuple[float, bool]:
    """Move p^t to its minimiser over the same mass on the arms first … last−1, at the mixed rates; returns λ.

    The way to p^{t+1} is nearly always so good a guess that Newton settles; the solver is for when it is not.
    """
    p, rates, heights = page[P, first:last], pad[MIXED, first:last], pad[HEIGHTS, first:last]
    total = 0.0
    for i in range(p.size):
        total += p[i]
    push_from(page[ESTIMATES, first:last], pad[MIXED_GROWTHS, first:last], heights, pad[PUSH, first:last])
    copy(pad[U_ALL, first:last], u)
    if total < NOTHING:
        copy(p, out)
        copy(heights, out_heights)
        return math.nan, True
    found = True
    multiplier, settled = walk(reg, barrier, pad, first, last, p, heights, rates, hint, u, out_heights)
    if not settled:
        copy(p, out)
        _, found = place(reg, barrier, pad[LOSSES, first:last], rates, total, math.nan, out)
        guess(p, out, u)
        multiplier, settled = walk(reg, barrier, pad, first, last, p, heights, rates, hint, u, out_heights)
    for i in range(p.size):
        out[i] = p[i] * decay(u[i])
    return multiplier, found and settled


@kernel
def move_sides(
    reg: Any, barrier: float, page: FloatArray, terms: FloatArray, pad: FloatArray, m: int
) -> tuple[float, float, bool]:
    """From p^t to p̄^{t+1}: λ_U, λ_V, and D_U and D_V of the two at the mixed rates."""
    n = page.shape[1]
    fine = True
    distance_u = distance_v = 0.0
    for side in range(2):
        first, last = (m, n) if side else (0, m)
        out, u, heights = page[P_BAR, first:last], pad[U_BAR, first:last], pad[BAR_HEIGHTS, first:last]
        multiplier, found = move_to(reg, barrier, page, pad, first, last, terms[LAMBDA_K], out, u, heights)
        distance = from_end(reg, barrier, page[P, first:last], out, heights, pad[MIXED, first:last], u)
        fine = fine and found
        terms[LAMBDA_U + side] = multiplier
        if side:
            distance_v = distance
        else:
            distance_u = distance
    return distance_u, distance_v, fine


@kernel
def stability(reg: Any, barrier: float, page: FloatArray, pad: FloatArray, m: int) -> float:
    """<p_V^t − p̄_V^{t+1}, ℓ̂^t> − D_V^t(p̄^{t+1}, p^t)."""
    p, u = page[P, m:], pad[U_BAR, m:]
    gained = 0.0
    for i in range(p.size):
        gained -= page[ESTIMATES, m + i] * p[i] * growth(-u[i])
    return gained - from_start(reg, barrier, p, pad[HEIGHTS, m:], page[RATES, m:], u)


@kernel
def move_tilde(
    reg: Any,
    barrier: float,
    page: FloatArray,
    after: FloatArray,
    terms: FloatArray,
    pad: FloatArray,
    m: int,
) -> bool:
    """The decoupled p̃^{t+1} (φ^{t+1} on U, φ^t on V), its λ_K, and the gap D^{t̃}(p^{t+1}, p̃^{t+1})."""
    tilde, n = page[P_TILDE], page.shape[1]
    before = terms[LAMBDA_K]
    terms[LAMBDA_K], found = move_to(
        reg, barrier, page, pad, 0, n, before, tilde, pad[U_TILDE], pad[TILDE_HEIGHTS]
    )
    for i in range(n):
        pad[U, i] = pad[U_ALL, i] - pad[U_TILDE, i]
        pad[PUSH, i] = 0.0 if i < m else -page[GROWTHS, i] * pad[TILDE_HEIGHTS, i]
    _, settled = walk(
        reg,
        barrier,
        pad,
        0,
        n,
        tilde,
        pad[TILDE_HEIGHTS],
        after[RATES],
        before - terms[LAMBDA_K],
        pad[U],
        pad[END_HEIGHTS],
    )
    terms[GAP] = from_start(reg, barrier, tilde, pad[TILDE_HEIGHTS], pad[MIXED], pad[U])
    return found and settled


@kernel
def move_rest(
    reg: Any,
    barrier: float,
    page: FloatArray,
    end: FloatArray,
    way: int,
    terms: FloatArray,
    pad: FloatArray,
    m: int,
) -> bool:
    """From p̄^{t+1} to ``end`` = p^{t+1} (or p̃^{t+1}), to which pad[way] led from p^t: the residual regret."""
    bar = page[P_BAR]
    apart = terms[LAMBDA_V] - terms[LAMBDA_U]
    hint = terms[LAMBDA_K] - terms[LAMBDA_U]
    if math.isnan(apart):  # one side has underflowed
        apart, hint = 0.0, 0.0
    for i in range(bar.size):
        pad[U, i] = pad[way, i] - pad[U_BAR, i]
        pad[PUSH, i] = 0.0 if i < m else apart
    _, settled = walk(
        reg, barrier, pad, 0, bar.size, bar, pad[BAR_HEIGHTS], pad[MIXED], hint, pad[U], pad[END_HEIGHTS]
    )
    terms[RESIDUAL] = from_end(reg, barrier, bar, end, pad[END_HEIGHTS], pad[MIXED], pad[U])
    return settled


@kernel
def account_round(
    reg: Any,
    barrier: float,
    page: FloatArray,
    after: FloatArray,
    terms: FloatArray,
    pad: FloatArray,
    m: int,
    decoupled: bool,
) -> bool:
    """All terms of round t but the benchmark, which is in place like p, rates, growths and estimates."""
    growths, end = page[GROWTHS], after[P]
    fine = move_all(reg, barrier, page, after, terms, pad)
    # the penalty −Σ_V (γ'−γ)ψ is taken at p̄^{t+1}, for a decoupled policy at p^{t+1}
    penalty = potential_sum(reg, end[m:], pad[END_HEIGHTS, m:], growths[m:]) if decoupled else 0.0
    for i in range(end.size):
        kept = decoupled and i >= m
        pad[MIXED, i] = page[RATES, i] if kept else after[RATES, i]
        pad[MIXED_GROWTHS, i] = 0.0 if kept else growths[i]
    on_u, on_v, found = move_sides(reg, barrier, page, terms, pad, m)
    terms[OPTIMAL] = on_u - weighted(growths[:m], pad[POTENTIALS, :m]) - terms[BENCHMARK]
    terms[STABILITY] = stability(reg, barrier, page, pad, m)
    skew = penalty
    if not decoupled:
        penalty = potential_sum(reg, page[P_BAR, m:], pad[BAR_HEIGHTS, m:], growths[m:])
        skew = weighted(growths[m:], pad[POTENTIALS, m:])
    terms[PENALTY] = -penalty
    terms[SUBOPTIMAL] = on_v - skew
    terms[GAP] = 0.0
    way = U_ALL
    if decoupled:
        reached = move_tilde(reg, barrier, page, after, terms, pad, m)
        fine = fine and reached
        end, way = page[P_TILDE], U_TILDE
    settled = move_rest(reg, barrier, page, end, way, terms, pad, m)
    return fine and found and settled
