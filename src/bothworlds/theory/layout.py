"""Where the ledger keeps what: names for the rows and columns of its arrays.

A policy with U of m arms is accounted for with the arms in the order U, V, each filled up to whole blocks
with arms that have p = 0 and take no part, so that both are slices and every loop goes by blocks.
"""

from __future__ import annotations

import numpy as np

from bothworlds._jit import FloatArray, IntArray
from bothworlds._simd import LANES, whole

# how it ended
DONE, IMPOSSIBLE, UNSOLVED, RESTARTED = range(4)

# The columns of the terms: λ_U, λ_V, λ_K, and the parts of the decomposition.
LAMBDA_U, LAMBDA_V, LAMBDA_K, TOTAL, BENCHMARK, SUBOPTIMAL, STABILITY, PENALTY = range(8)
OPTIMAL, RESIDUAL, GAP, REGRET, PREPROCESSING = range(8, 13)
TERMS = (
    *(
        "U",
        "V",
        "K",
        "total",
        "benchmark",
        "suboptimal",
        "stability",
        "penalty",
        "optimal",
        "residual",
        "gap",
    ),
    *("regret", "preprocessing"),
)

# A sheet holds all vectors of a round: each array makes every call slower, and many make numba slow. Its
# first rows are two pages, of round t and of round t + 1, which take turns.
P, RATES, Q, GROWTHS, ESTIMATES, P_BAR, P_TILDE = range(7)
PAGE = ("p", "rates", "q", "growths", "estimates", "p_bar", "p_tilde")
N_PAGE = len(PAGE)

# The others are scratch. MIXED are the rates of a decoupled p̄^{t+1}: those of round t+1 on U and of round t
# on V; MIXED_GROWTHS is what they have gained on round t. U_… are logarithms of ratios: from p^t to p^{t+1},
# to p̄^{t+1}, to p̃^{t+1}, and U from any point to any other.
BEFORE, LOSSES, MIXED, MIXED_GROWTHS, HEIGHTS, Q_HEIGHTS, BAR_HEIGHTS, END_HEIGHTS, TILDE_HEIGHTS = range(
    2 * N_PAGE, 2 * N_PAGE + 9
)
U, U_ALL, U_BAR, U_TILDE, PUSH, INCREMENTS, ROOM = range(2 * N_PAGE + 9, 2 * N_PAGE + 16)
N_SHEET = ROOM + 3

# What may stand for an arm in a history: draw it from the policy, or let an adversary who sees p choose it.
DRAWN, RAREST, LIKELIEST = -1, -2, -3
RARE = 1e-6


def blank_sheet(order: IntArray, m: int) -> tuple[FloatArray, IntArray]:
    """A sheet, and the place on it of every arm; ``order`` are the arms, the m of U first."""
    side = whole(m + LANES - 1)
    slots = np.empty_like(order)
    slots[order[:m]] = np.arange(m)
    slots[order[m:]] = side + np.arange(order.size - m)
    sheet = np.zeros((N_SHEET, side + whole(order.size - m + LANES - 1)))
    sheet[[RATES, N_PAGE + RATES]] = 1.0  # of the arms that fill up blocks: anything
    sheet[LOSSES] = 1e200  # of the same: no solver will give them any weight
    return sheet, slots
