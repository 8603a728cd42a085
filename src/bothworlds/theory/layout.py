"""Where the ledger keeps what: names for the rows and columns of its arrays.

A policy with U of m arms is accounted for with the arms in the order U, V, so that both are slices.
"""

from __future__ import annotations

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

# The rows of a page: vectors of round t. (Few large arrays: a tuple of many makes numba slow.)
P, RATES, Q, GROWTHS, ESTIMATES, P_BAR, P_TILDE = range(7)
PAGE = ("p", "rates", "q", "growths", "estimates", "p_bar", "p_tilde")

# The rows of the scratch pad. MIXED are the rates of p̄^{t+1}: those of round t+1, but for a decoupled policy
# those of round t on V; MIXED_GROWTHS is what they have gained on round t. U_… are logarithms of ratios: from
# p^t to p^{t+1}, to p̄^{t+1}, to p̃^{t+1}.
BEFORE, LOSSES, MIXED, MIXED_GROWTHS, HEIGHTS, POTENTIALS, Q_HEIGHTS, Q_POTENTIALS = range(8)
BAR_HEIGHTS, END_HEIGHTS, TILDE_HEIGHTS, U, U_ALL, U_BAR, U_TILDE, PUSH, INCREMENTS, ROOM = range(8, 18)
N_PAD = ROOM + 3

# What may stand for an arm in a history: draw it from the policy, or let an adversary who sees p choose it.
DRAWN, RAREST, LIKELIEST = -1, -2, -3
RARE = 1e-6
