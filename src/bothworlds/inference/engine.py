"""One e-process for everything: bets on nonnegative numbers, kept as products.

Let x_i ≥ 0 have mean m_i given the past, and let λ ≥ 0 be a bet. Then Π (1 + λx_i)/(1 + λm_i) is a
nonnegative martingale that starts at 1, and Σ log(1 + λm_i) ≤ n·log(1 + λm̄) because the logarithm is
concave. So with

    A_j = Σ_i log(1 + λ_j x_i)   and   E(m) = Σ_j w_j exp(A_j − n·log(1 + λ_j m))

E at m̄ = (m_1 + … + m_n)/n is below a martingale, at every n, and by Ville's inequality it ever reaches
1/level with probability at most ``level``. E decreases in m: the m at which it is 1/level is a lower
confidence sequence for m̄. An upper one comes from numbers with mean 1 − m. Leaving out an x, or making it
smaller, is always safe.

The grid of bets is part of the definition. The products are kept as 2^octaves·(1 + growth): no logarithm is
taken where data come in. Small bets lose no digits, since 1 is never added to them; exponents are whole
numbers, so that n factors cost at most n·2^−52 of A, were all roundings to go one way.

References: P. Mineiro, arXiv 2210.11133 (2022); I. Waudby-Smith, A. Ramdas, JRSS-B 86 (2024); E. Kaufmann,
W. Koolen, JMLR 22 (2021).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bothworlds._jit import FloatArray, entry, kernel

_POWERS = np.arange(-20, 12)
N_BETS = 32
BETS = 2.0**_POWERS  # λ_j
_DISTANCE = np.maximum(0, np.maximum(-8 - _POWERS, _POWERS - 3))  # from the plateau 2^−8 … 2^3
LOG_WEIGHTS = -1.5 * np.log1p(_DISTANCE) - math.log(np.sum((1.0 + _DISTANCE) ** -1.5))  # log w_j
BETS.flags.writeable = LOG_WEIGHTS.flags.writeable = False

LARGEST = 1e12  # larger x are taken for this: 1/p may be anything
FACTORS = 16  # so many products fit between two looks at their size: (2^11·1e12)^16·2^100 < 2^1023
MUCH = 2.0**100
STEPS = 100  # Newton takes 6; a limit all the same


# --- taking in ------------------------------------------------------------------------------------------


@kernel(inline=True)
def multiply(growth: FloatArray, start: int, x: float) -> None:
    """Take in x ≥ 0: the products at ``start`` times 1 + λ_j x."""
    if x > 0.0:
        y = min(x, LARGEST)
        row = growth[start : start + N_BETS]
        for j in range(N_BETS):
            row[j] += BETS[j] * y * (1.0 + row[j])


@kernel
def normalize(growth: FloatArray, octaves: FloatArray, start: int, stop: int) -> None:
    """Move large powers of two from ``growth`` to ``octaves``; due after every ``FACTORS`` products."""
    for i in range(start, stop):
        if growth[i] >= MUCH:
            mantissa, exponent = math.frexp(growth[i])  # 1 is beyond its last digit
            growth[i] = 2.0 * mantissa - 1.0
            octaves[i] += exponent - 1


def logs_of(growth: FloatArray, octaves: FloatArray) -> FloatArray:
    """A: the logarithms of the products."""
    logs: FloatArray = octaves * math.log(2.0) + np.log1p(growth)
    return logs


def join_products(
    growth: FloatArray, octaves: FloatArray, others: FloatArray, other_octaves: FloatArray
) -> Any:
    """The products of two places as one: (1 + g)(1 + h) = 1 + (g + h + gh)."""
    together = growth + others + growth * others  # below 2^916·2^916 only if both are normalized first
    return together, octaves + other_octaves


# --- asking ---------------------------------------------------------------------------------------------


@kernel(inline=True)
def add_term(
    top: float, total: float, first: float, second: float, term: float, slope: float, square: float
) -> tuple[float, float, float, float]:
    """One term more of Σ exp(term), Σ exp(term)·slope, Σ exp(term)·square, the largest so far taken out."""
    if term > top:
        shrink = math.exp(top - term)
        return term, total * shrink + 1.0, first * shrink + slope, second * shrink + square
    share = math.exp(term - top)
    return top, total + share, first + share * slope, second + share * square


@kernel
def log_e(logs: FloatArray, n: float, mean: float) -> tuple[float, float, float]:
    """log E(mean) with its first and second derivative there: decreasing and convex."""
    if n == 0.0:
        return 0.0, 0.0, 0.0
    top, total, first, second = -math.inf, 0.0, 0.0, 0.0
    for j in range(N_BETS):
        bet = BETS[j]
        term = LOG_WEIGHTS[j] + (logs[j] - n * math.log1p(bet * mean))
        steep = n * bet / (1.0 + bet * mean)
        top, total, first, second = add_term(top, total, first, second, term, steep, steep * steep)
    slope = -first / total
    return top + math.log(total), slope, max(0.0, second / total * (1.0 + 1.0 / n) - slope * slope)


@kernel
def lower(logs: FloatArray, n: float, threshold: float, top: float) -> float:
    """The m in [0, top] at which log E(m) falls below ``threshold`` = log(1/level), from the safe side.

    One term of E alone gives a bound to the left of the root; from there Newton's steps on a decreasing
    convex function stay on the left.
    """
    if n == 0.0:
        return 0.0
    m, best = 0.0, 0
    for j in range(N_BETS):
        alone = math.expm1((logs[j] + LOG_WEIGHTS[j] - threshold) / n) / BETS[j]
        if alone > m:
            m, best = alone, j
    rounding = 1e-15 * (1.0 + logs[best])  # of log E, which is a difference of numbers of this size
    for _ in range(STEPS):
        if m >= top:
            return top
        value, slope, _ = log_e(logs, n, m)
        if value - threshold <= rounding:
            break
        m += (threshold - value) / slope
    return m


@entry
def lower_each(logs: FloatArray, n: FloatArray, threshold: float, top: float, out: FloatArray) -> None:
    """:func:`lower` for every row of ``logs``."""
    for i in range(n.size):
        out[i] = lower(logs[i], n[i], threshold, top)


@entry
def log_e_values(logs: FloatArray, n: FloatArray, means: FloatArray, out: FloatArray) -> None:
    """The value of :func:`log_e` for every row of ``logs``."""
    for i in range(n.size):
        out[i] = log_e(logs[i], n[i], means[i])[0]


def bounds(logs: Any, n: Any, level: float, *, top: float = 1.0) -> FloatArray:
    """Lower bounds, each with one-sided error ``level``, for rows of A and their n."""
    rows, out = _rows(logs)
    lower_each(rows, np.zeros(len(rows)) + n, -math.log(level), top, out)
    return out


def e_values(logs: Any, n: Any, means: Any) -> FloatArray:
    """log E at ``means``, for rows of A and their n."""
    rows, out = _rows(logs)
    log_e_values(rows, np.zeros(len(rows)) + n, np.zeros(len(rows)) + means, out)
    return out


def _rows(logs: Any) -> tuple[FloatArray, FloatArray]:
    rows = np.array(logs, dtype=np.float64).reshape(-1, N_BETS)
    return rows, np.empty(len(rows))
