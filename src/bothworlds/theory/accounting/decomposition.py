"""The decomposition of one round: six moves between its points, and the terms that their divergences give."""

from __future__ import annotations

import math
from itertools import count
from typing import NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, kernel
from bothworlds._simd import LANES, add_up, fill, load, store, whole
from bothworlds.simplex.growth import exponentials
from bothworlds.theory.accounting.move import (
    ArmColumns,
    Move,
    Phi,
    PointRows,
    divergence_to_end,
    divergence_to_start,
    fill_push,
    guess,
    newton,
    solve_move,
    weighted_potential,
)

NO_HINT = 0.0  # of a multiplier: the equations are linear in it, so Newton finds it in one step from anywhere


class Terms(NamedTuple):
    """What a round comes to: the multipliers, and the terms of :func:`bothworlds.theory.account`."""

    lambda_u: float
    lambda_v: float
    lambda_k: float
    total: float
    benchmark: float
    suboptimal: float
    stability: float
    penalty: float
    optimal: float
    residual: float
    gap: float
    regret: float
    preprocessing: float


class RoundRows(NamedTuple):
    """The rows of a round t: its points, and the moves between them, which share most rows.

    Attributes
    ----------
    optimal, suboptimal, every:
        U, V and both. The arms are in the order U, V, each filled up to whole blocks with padding.
    p, q, rates, growths:
        p^t, q^t, γ^t and γ^{t+1} − γ^t.
    mixed_growths:
        What the rates of φ̃ (those of round t+1 on U, of round t on V) have gained on γ^t; for a policy
        that is not decoupled, the growths.
    total:
        p^t → p^{t+1}.
    benchmark:
        q^t → q^{t+1}, on U.
    sides:
        p^t → p̄^{t+1}, on U and on V.
    tilde:
        p^t → p̃^{t+1}; for a policy that is not decoupled, the move ``total``.
    gap:
        p̃^{t+1} → p^{t+1}.
    residual:
        p̄^{t+1} → p̃^{t+1}.
    """

    optimal: ArmColumns
    suboptimal: ArmColumns
    every: ArmColumns
    p: PointRows
    q: PointRows
    rates: int
    growths: int
    mixed_growths: int
    total: Move
    benchmark: Move
    sides: Move
    tilde: Move
    gap: Move
    residual: Move


def blank_round(order: IntArray, m: int, decoupled: bool) -> tuple[RoundRows, FloatArray, IntArray]:
    """A round, the table of its rows, and the column of every arm; ``order``: the arms, those of U first."""
    n, side = order.size, whole(m + LANES - 1)
    width = side + whole(n - m + LANES - 1)
    columns = np.empty_like(order)
    columns[order[:m]] = np.arange(m)
    columns[order[m:]] = side + np.arange(n - m)
    row = count().__next__

    def point() -> PointRows:
        return PointRows(row(), row())

    def move(start: PointRows, end: PointRows, rates: int, push: int) -> Move:
        return Move(start, end, losses, estimates, rates, push, row(), *scratch)

    losses, estimates, rates, after, growths = row(), row(), row(), row(), row()
    mixed, mixed_growths = (row(), row()) if decoupled else (after, growths)
    scratch = row(), row(), row()
    p, q, p_bar = point(), point(), point()
    total = move(p, point(), after, row())
    sides = move(p, p_bar, mixed, row() if decoupled else total.push)
    tilde = move(p, point(), mixed, sides.push) if decoupled else total
    now = RoundRows(
        optimal=ArmColumns(0, side, m),
        suboptimal=ArmColumns(side, width, n - m),
        every=ArmColumns(0, width, width),
        p=p,
        q=q,
        rates=rates,
        growths=growths,
        mixed_growths=mixed_growths,
        total=total,
        benchmark=move(q, point(), after, row()),
        sides=sides,
        tilde=tilde,
        gap=move(tilde.end, PointRows(total.end.p, row()), after, row()),
        residual=move(p_bar, PointRows(tilde.end.p, row()), mixed, row()),
    )
    rows = np.zeros((row(), width))
    rows[[rates, after]] = 1.0  # of padding: anything
    rows[losses] = 1e200  # of padding: no solver will give it any weight
    return now, rows, columns


@kernel
def decompose_round(
    phi: Phi, rows: FloatArray, now: RoundRows, decoupled: bool, anew: bool, epsilon: float
) -> tuple[Terms, bool]:
    """All terms of a round in which p, q with their heights, rates, losses and p^{t+1} are in place.

    ``anew``: q^{t+1} is computed by the solver. Returns also whether all points were found.
    """
    on_u, on_v, every = now.optimal, now.suboptimal, now.every
    skew_u = weighted_potential(phi, rows, now.p, now.growths, on_u)
    skew_v = weighted_potential(phi, rows, now.p, now.growths, on_v)
    fill_push(rows, now.total, now.growths, every)
    guess(phi, rows, now.total, NO_HINT, every)
    lambda_k, found_p = newton(phi, rows, now.total, NO_HINT, every)
    total = -(skew_u + skew_v) + divergence_to_end(phi, rows, now.total, every)

    if decoupled:
        mix_rates(rows, now)
        fill_push(rows, now.sides, now.mixed_growths, every)
        skew_v = weighted_potential(phi, rows, now.total.end, now.growths, on_v)
    lambda_u, found_u = solve_move(phi, rows, now.sides, now.total.u, lambda_k, False, on_u)
    lambda_v, found_v = solve_move(phi, rows, now.sides, now.total.u, lambda_k, False, on_v)
    suboptimal = divergence_to_end(phi, rows, now.sides, on_v) - skew_v
    stability = saved_loss(rows, now) - divergence_to_start(phi, rows, now.sides, now.rates, on_v)
    # the penalty −Σ_V (γ'−γ)ψ is taken at p̄^{t+1}, for a decoupled policy at p^{t+1}
    penalty = -skew_v
    if not decoupled:
        penalty = -weighted_potential(phi, rows, now.sides.end, now.growths, on_v)

    fill_push(rows, now.benchmark, now.growths, on_u)
    _, found_q = solve_move(phi, rows, now.benchmark, now.total.u, lambda_k, anew, on_u)
    benchmark = divergence_to_end(phi, rows, now.benchmark, on_u)
    benchmark -= weighted_potential(phi, rows, now.q, now.growths, on_u)
    optimal = divergence_to_end(phi, rows, now.sides, on_u) - skew_u - benchmark

    gap, found_tilde = 0.0, True
    if decoupled:
        lambda_k, gap, found_tilde = decoupled_move(phi, rows, now, lambda_k)
    residual, found_rest = residual_move(phi, rows, now, lambda_u, lambda_v, lambda_k)
    regret = estimated_regret(rows, now, epsilon)
    terms = Terms(
        *(lambda_u, lambda_v, lambda_k, total, benchmark, suboptimal, stability, penalty),
        *(optimal, residual, gap, regret, regret - total + benchmark),
    )
    return terms, found_p and found_u and found_v and found_q and found_tilde and found_rest


@kernel
def mix_rates(rows: FloatArray, now: RoundRows) -> None:
    """The rates of φ̃: those of round t+1 on U and of round t on V."""
    for i in range(now.every.first, now.every.last, LANES):
        on_u = i < now.optimal.last
        store(rows[now.sides.rates], i, load(rows[now.total.rates if on_u else now.rates], i))
        store(rows[now.mixed_growths], i, load(rows[now.growths], i) if on_u else fill(0.0))


@kernel
def saved_loss(rows: FloatArray, now: RoundRows) -> float:
    """<p_V^t − p̄_V^{t+1}, ℓ̂^t>."""
    sums = fill(0.0)
    for i in range(now.suboptimal.first, now.suboptimal.last, LANES):
        moved = load(rows[now.p.p], i) * exponentials(load(rows[now.sides.u], i))[2]
        sums = sums + load(rows[now.sides.estimates], i) * moved
    return add_up(sums)


@kernel
def decoupled_move(phi: Phi, rows: FloatArray, now: RoundRows, lambda_p: float) -> tuple[float, float, bool]:
    """λ_K of p̃^{t+1}, and the gap D^{t̃}(p^{t+1}, p̃^{t+1}); ``lambda_p`` is that of p^{t+1}."""
    tilde, gap = now.tilde, now.gap
    lambda_k, found = solve_move(phi, rows, tilde, now.total.u, lambda_p, False, now.every)
    for i in range(now.every.first, now.every.last, LANES):
        grown = load(rows[now.growths], i) * load(rows[tilde.end.heights], i)
        store(rows[gap.u], i, load(rows[now.total.u], i) - load(rows[tilde.u], i))
        store(rows[gap.push], i, fill(0.0) if i < now.optimal.last else -grown)
    _, converged = newton(phi, rows, gap, lambda_p - lambda_k, now.every)
    return lambda_k, divergence_to_start(phi, rows, gap, tilde.rates, now.every), found and converged


@kernel
def residual_move(
    phi: Phi, rows: FloatArray, now: RoundRows, lambda_u: float, lambda_v: float, lambda_k: float
) -> tuple[float, bool]:
    """The residual regret D^{t+1}(p̄^{t+1}, p^{t+1}), for a decoupled policy D^{t̃}(p̄^{t+1}, p̃^{t+1})."""
    difference, hint = lambda_v - lambda_u, lambda_k - lambda_u
    if math.isnan(difference):  # one side has underflowed
        difference, hint = 0.0, 0.0
    for i in range(now.every.first, now.every.last, LANES):
        store(rows[now.residual.u], i, load(rows[now.tilde.u], i) - load(rows[now.sides.u], i))
        store(rows[now.residual.push], i, fill(0.0 if i < now.optimal.last else difference))
    _, converged = newton(phi, rows, now.residual, hint, now.every)
    return divergence_to_end(phi, rows, now.residual, now.every), converged


@kernel
def estimated_regret(rows: FloatArray, now: RoundRows, epsilon: float) -> float:
    """<ℓ̂^t, p^t − q̃^t>."""
    sums = fill(0.0)
    for i in range(now.every.first, now.every.last, LANES):
        on_u = i < now.optimal.last
        q_tilde = (1.0 - epsilon) * load(rows[now.q.p], i) if on_u else fill(epsilon / now.suboptimal.n_arms)
        sums = sums + load(rows[now.total.estimates], i) * (load(rows[now.p.p], i) - q_tilde)
    return add_up(sums)
