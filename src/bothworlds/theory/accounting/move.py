"""A move: the change from one minimizer to the next, and the divergences between the two.

Let x be the minimizer for losses L and rates γ, and x' that for L + ℓ and γ' over the same mass, and
let λ be the change of the Lagrange multiplier: ∇φ'(x') = ∇φ(x) − ℓ + λ·1. With the depths v = −log x
and u = v' − v,

    γ'_i [h(v_i + u_i) − h(v_i)] + (C/x_i)·(e^{u_i} − 1) = b_i − λ ,     b_i = ℓ_i − (γ'_i − γ_i)·h(v_i),

    Σ_i x_i (e^{−u_i} − 1) = 0 .

Both equations hold between small quantities. Newton on them gives u and λ to nearly full *relative*
precision, where log(x/x') of two rounded points has an absolute error of 1e-16: nothing, if u = 1e-17.

All vectors are rows of one table, with a column for each arm: points and moves are tuples of row numbers.
Loops go by blocks of four arms. Arms that have underflowed, and columns that only fill up a block, have
p < 1e-300 and are left out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, kernel
from bothworlds._simd import LANES, add_up, all_at_most, each_at_most, fill, load, most, store
from bothworlds.simplex.growth import bend, exponentials, log_ratio, near_log, size
from bothworlds.simplex.kernel import FAILED, solve_step
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

NEGLIGIBLE = 1e-300  # arms with less have underflowed (Shannon entropy without a barrier), or are padding
PRECISION = 1e-13  # of u: what a Newton step may leave
MOVE_NEWTON_LIMIT = 40  # beyond it the search is said to have failed
DIVERGED = 700.0  # from NEGLIGIBLE to everything
HUGE = 1e307


class Phi(NamedTuple):
    """φ(x) = Σ_i γ_i ψ(x_i) − C Σ_i log x_i, but for its rates γ."""

    regularizer: Any
    log_barrier: float


class ArmColumns(NamedTuple):
    """A range of columns in whole blocks: ``n_arms`` arms, then padding."""

    first: int
    last: int
    n_arms: int


class PointRows(NamedTuple):
    """The rows of a distribution, and of h at it (0 for arms that are left out)."""

    p: int
    heights: int


class Move(NamedTuple):
    """The rows of a move.

    Attributes
    ----------
    start, end:
        x and x'.
    losses, estimates, rates:
        L + ℓ, ℓ and γ'.
    push:
        b.
    u:
        log(x/x'), the solution.
    newton_u, softness, steepness:
        Of the Newton step: the part of it without λ, −du/dλ and h'(v + u).
    """

    start: PointRows
    end: PointRows
    losses: int
    estimates: int
    rates: int
    push: int
    u: int
    newton_u: int
    softness: int
    steepness: int


@kernel(inline=True)
def takes_part(p: Any) -> Any:
    """1 for arms that take part, 0 for those that are left out."""
    return each_at_most(NEGLIGIBLE, p)


@kernel(inline=True)
def inside(p: Any, mask: Any) -> Any:
    """p where the mask is 1, and 1 where it is 0: there every ψ is finite, and 0·ψ is 0."""
    return p + (1.0 - mask)


@kernel
def fill_heights(phi: Phi, rows: FloatArray, point: PointRows, arms: ArmColumns) -> None:
    """Fill the row ``point.heights`` with h at ``point.p``."""
    for i in range(arms.first, arms.last, LANES):
        p = load(rows[point.p], i)
        mask = takes_part(p)
        store(rows[point.heights], i, mask * heights(phi.regularizer, inside(p, mask)))


@kernel
def fill_push(rows: FloatArray, move: Move, growths: int, arms: ArmColumns) -> None:
    """b_i = ℓ_i − (γ'_i − γ_i)·h_i, given γ' − γ."""
    for i in range(arms.first, arms.last, LANES):
        push = load(rows[move.estimates], i) - load(rows[growths], i) * load(rows[move.start.heights], i)
        store(rows[move.push], i, push)


@kernel
def minimize(
    phi: Phi, rows: FloatArray, losses: int, rates: int, total: float, arms: ArmColumns, out: int
) -> bool:
    """Fill row ``out`` with the minimizer of <x, L> + φ(x) over mass ``total`` on these arms; found?"""
    first, last = arms.first, arms.first + arms.n_arms
    for i in range(first, last):
        rows[out, i] = 0.0
    if total < NEGLIGIBLE:
        return True
    costs, gammas, p = rows[losses, first:last], rows[rates, first:last], rows[out, first:last]
    status = solve_step(phi.regularizer, costs, gammas, phi.log_barrier, total, math.nan, p)[4]
    return status != FAILED


# --- the change -----------------------------------------------------------------------------------------


@kernel
def guess(phi: Phi, rows: FloatArray, move: Move, multiplier: float, arms: ArmColumns) -> None:
    """u from the two rounded points."""
    for i in range(arms.first, arms.last, LANES):
        start, end = load(rows[move.start.p], i), load(rows[move.end.p], i)
        ratio = takes_part(start) * (start - end) / most(end, NEGLIGIBLE)
        if all_at_most(size(ratio), 0.01):
            store(rows[move.u], i, near_log(ratio))
            continue
        for k in range(i, i + LANES):
            rows[move.u, k] = guess_one(phi, rows, move, multiplier, k)


@kernel
def guess_one(phi: Phi, rows: FloatArray, move: Move, multiplier: float, k: int) -> float:
    """u of arm k; on its way to nothing at or beyond the root, since Newton from below would overshoot."""
    start, end, rate = rows[move.start.p, k], rows[move.end.p, k], rows[move.rates, k]
    if start < NEGLIGIBLE:
        return 0.0
    if end >= NEGLIGIBLE:
        return log_ratio(start, end)
    y = rate * rows[move.start.heights, k] + rows[move.push, k] - multiplier + phi.log_barrier / start
    depth = reach(phi.regularizer, y / rate)
    if phi.log_barrier > 0.0:
        depth = min(depth, math.log(y) - math.log(phi.log_barrier))
    return depth + math.log(start)


@kernel
def newton(phi: Phi, rows: FloatArray, move: Move, multiplier: float, arms: ArmColumns) -> tuple[float, bool]:
    """Improve the guesses ``move.u`` and ``multiplier`` to solutions; h at the end comes with them.

    Returns λ and whether the search has converged.
    """
    reg, barrier = phi.regularizer, phi.log_barrier
    for _ in range(MOVE_NEWTON_LIMIT):
        lacking, free = fill(0.0), fill(0.0)
        for i in range(arms.first, arms.last, LANES):
            p, h = load(rows[move.start.p], i), load(rows[move.start.heights], i)
            u, rate = load(rows[move.u], i), load(rows[move.rates], i)
            mask = takes_part(p)
            x = inside(p, mask)
            change, steepness = rises(reg, x, h, u)
            store(rows[move.end.heights], i, h + change)
            store(rows[move.steepness], i, steepness)
            gain, left, lost = exponentials(u)
            defect = load(rows[move.push], i) - multiplier - rate * change
            stiffness = rate * steepness
            if barrier > 0.0:
                wall = barrier * mask / x
                defect = defect - wall * gain
                stiffness = stiffness + wall * (1.0 + gain)
            if not all_at_most(stiffness, HUGE):
                return multiplier, False
            softness = mask / most(stiffness, NEGLIGIBLE)
            newton_u = defect * softness
            store(rows[move.newton_u], i, newton_u)
            store(rows[move.softness], i, softness)
            lacking = lacking + p * (left * newton_u + lost)
            free = free + p * left * softness
        freedom = add_up(free)
        if not freedom > 0.0:
            return multiplier, False
        shift = add_up(lacking) / freedom
        multiplier += shift
        converged = True
        for i in range(arms.first, arms.last, LANES):
            du = load(rows[move.newton_u], i) - shift * load(rows[move.softness], i)
            u = load(rows[move.u], i) + du
            end = load(rows[move.end.heights], i) + load(rows[move.steepness], i) * du
            if not all_at_most(-1.0, u):
                if not all_at_most(-DIVERGED, u):
                    return multiplier, False
                # h falls by orders of magnitude: nothing of it may be left in a difference
                p = load(rows[move.start.p], i)
                mask = takes_part(p)
                end = mask * heights(reg, inside(most(p * exponentials(u)[1], NEGLIGIBLE), mask))
            store(rows[move.u], i, u)
            store(rows[move.end.heights], i, end)
            # Newton is quadratic: what is left of the error is of order du²
            converged = converged and all_at_most(du * du, PRECISION * most(size(u), size(du)))
        if converged:
            return multiplier, True
    return multiplier, False


@kernel
def solve_move(
    phi: Phi, rows: FloatArray, move: Move, guessed: int, multiplier: float, anew: bool, arms: ArmColumns
) -> tuple[float, bool]:
    """Find the end of a move, and with it u and λ; returns λ and whether it was found.

    ``guessed`` is u of the move from p^t to p^{t+1}, nearly always so good a guess that Newton converges;
    where no loss was estimated it is better not to move. The solver is for when neither is, and to compute
    the end ``anew``.
    """
    sums, lost = fill(0.0), fill(0.0)
    for i in range(arms.first, arms.last, LANES):
        sums = sums + load(rows[move.start.p], i)
        lost = most(lost, size(load(rows[move.estimates], i)))
    total = add_up(sums)
    moved = 0.0 if all_at_most(lost, 0.0) else 1.0
    for i in range(arms.first, arms.last, LANES):
        store(rows[move.u], i, moved * load(rows[guessed], i))
    hint = moved * multiplier
    if total < NEGLIGIBLE:
        copy_row(rows, move.start.p, arms, move.end.p)
        copy_row(rows, move.start.heights, arms, move.end.heights)
        return math.nan, True
    found, converged = hint, False
    if not anew:
        found, converged = newton(phi, rows, move, hint, arms)
    if not converged:
        if not minimize(phi, rows, move.losses, move.rates, total, arms, move.end.p):
            return found, False
        guess(phi, rows, move, hint, arms)
        found, converged = newton(phi, rows, move, hint, arms)
    if not anew:
        for i in range(arms.first, arms.last, LANES):
            store(rows[move.end.p], i, load(rows[move.start.p], i) * exponentials(load(rows[move.u], i))[1])
    return found, converged


@kernel
def copy_row(rows: FloatArray, source: int, arms: ArmColumns, out: int) -> None:
    """Copy a row, as far as these arms go."""
    for i in range(arms.first, arms.last, LANES):
        store(rows[out], i, load(rows[source], i))


# --- divergences ----------------------------------------------------------------------------------------


@kernel
def weighted_potential(phi: Phi, rows: FloatArray, point: PointRows, weights: int, arms: ArmColumns) -> float:
    """Σ_i a_i ψ(x_i) for weights a."""
    sums = fill(0.0)
    for i in range(arms.first, arms.last, LANES):
        p = load(rows[point.p], i)
        mask = takes_part(p)
        weight = mask * load(rows[weights], i)
        sums = sums + weight * potentials(phi.regularizer, inside(p, mask), load(rows[point.heights], i))
    return add_up(sums)


@kernel
def divergence_to_end(phi: Phi, rows: FloatArray, move: Move, arms: ArmColumns) -> float:
    """D(x, x') at the rates γ'."""
    sums = fill(0.0)
    total = 0.0
    for i in range(arms.first, arms.last, LANES):
        start, end, u = load(rows[move.start.p], i), load(rows[move.end.p], i), load(rows[move.u], i)
        mask = takes_part(end)
        if all_at_most(size(takes_part(start) - mask), 0.0):
            h = load(rows[move.end.heights], i)
            term = load(rows[move.rates], i) * spreads(phi.regularizer, inside(end, mask), h, u)
            if phi.log_barrier > 0.0:
                term = term + phi.log_barrier * bend(u)
            sums = sums + mask * term
            continue
        for k in range(i, i + LANES):
            total += one_divergence_to_end(phi, rows, move, k)
    return total + add_up(sums)


@kernel
def one_divergence_to_end(phi: Phi, rows: FloatArray, move: Move, k: int) -> float:
    """What arm k adds to it, where it may be negligible at one end."""
    reg, start, end, u = phi.regularizer, rows[move.start.p, k], rows[move.end.p, k], rows[move.u, k]
    rate, h = rows[move.rates, k], rows[move.end.heights, k]
    if end >= NEGLIGIBLE:
        if start >= NEGLIGIBLE:
            return float(rate * spread(reg, end, h, u) + phi.log_barrier * bend(u))
        return float(rate * spread(reg, end, height(reg, end), -math.inf))
    if start >= NEGLIGIBLE:  # far apart: nothing cancels in the definition, and x'·h(x') → 0
        return float(rate * (potential(reg, start, height(reg, start)) + h * start))
    return 0.0


@kernel
def divergence_to_start(phi: Phi, rows: FloatArray, move: Move, rates: int, arms: ArmColumns) -> float:
    """D(x', x) at these rates."""
    sums = fill(0.0)
    for i in range(arms.first, arms.last, LANES):
        p, w = load(rows[move.start.p], i), -load(rows[move.u], i)
        mask = takes_part(p)
        term = load(rows[rates], i) * spreads(
            phi.regularizer, inside(p, mask), load(rows[move.start.heights], i), w
        )
        if phi.log_barrier > 0.0:
            term = term + phi.log_barrier * bend(w)
        sums = sums + mask * term
    return add_up(sums)
