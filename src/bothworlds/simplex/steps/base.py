"""One round's step from the last one's solution: kernels for single regularizers, beside the general solver.

Between two rounds little changes: one loss, and the rates by a little. The kernels here start from what the
last solution left behind (``carried``), take a third-order step, *verify* it with a pass over the arms, and
apply what is left, at most 2e-5 of y, as a series. One pass almost always suffices.

Each is chosen by the type of its ``step`` tuple and solves the same problem as
:func:`~bothworlds.simplex.kernel.solve_step`. What its own passes do not confirm (an iterate beyond the end
of the bracket that does not come back, a sum that is off, cancellation in L − λ) goes to the general solver.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, generic, kernel
from bothworlds.simplex.kernel import solve_step
from bothworlds.simplex.regularizers.base import DEEPEST, slope

MULTIPLIER = 0  # λ: y_i = L_i − λ
TOTAL = 1  # Σp
TAKEN_OVER = 2  # how often the general solver had to take over
N_CARRIED = 3

SEVERAL = -1  # in place of the one arm whose loss has changed
PASSES = 12  # over the arms, before the general solver takes over
NEAR = 2e-5  # a last step of at most this, relative to the smallest y, is applied as a series
SUM_TOLERANCE = 1e-12  # of Σp; beyond it the general solver takes over
MANY = 100_000  # arms, beyond which adding up p alone may be off by more: the tolerance grows with them
SLACK = 1e-4  # p ≤ 1 + 2·SLACK is still called within the bracket
SMALLEST = math.exp(-DEEPEST)  # p of a policy: no arm is ever impossible
CANCELLATION = 1024.0  # |λ| beyond this many times the smallest y costs digits of y = L − λ


class GeneralStep(NamedTuple):
    """The general solver, for any regularizer."""


@generic
def carries(step: Any, n_arms: int) -> int:
    """How many numbers are kept from round to round (called from Python only)."""
    return N_CARRIED


@generic
def begin(
    step: Any, regularizer: Any, rate: float, log_barrier: float, carried: FloatArray, p: FloatArray
) -> bool:
    """Fill ``p`` and ``carried`` for arms with equal losses and this rate; is it the solution already?

    By default uniform, with the multiplier of that.
    """
    n = p.size
    for i in range(n):
        p[i] = 1.0 / n
    carried[TOTAL] = 1.0
    carried[MULTIPLIER] = -(rate * slope(regularizer, math.log(n))[0] + log_barrier * n)
    return True


@generic(inline=True)
def note_round(step: Any, carried: FloatArray, t: float, offset: float) -> None:
    """Take note of the round to come, and of what was subtracted from all losses, before ``advance``."""


@generic(inline=True)
def shift_multipliers(step: Any, carried: FloatArray, shift: float) -> None:
    """The same number has been subtracted from all losses."""
    carried[MULTIPLIER] -= shift


@generic
def one_rate(step: Any) -> bool:
    """Is ``rates[0]`` the only rate that is read? Then a rate for all arms need not be copied to each."""
    return False


@generic
def advance(
    step: Any,
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    carried: FloatArray,
    p: FloatArray,
    moved: int,
    before: float,
    drift: float,
) -> int:
    """Bring ``p`` and ``carried`` up to date with ``losses`` and ``rates``; return the status of the solver.

    ``moved`` is the one arm whose loss has changed, from ``before``; or it is ``SEVERAL``, and then most
    losses have grown by about ``drift``. Both only save passes.
    """
    return general(regularizer, losses, rates, log_barrier, carried, p)


@kernel(inline=True)
def adds_up(total: float, n: int) -> bool:
    """Is Σp = 1, as far as a sum of n numbers can tell?"""
    return abs(total - 1.0) <= SUM_TOLERANCE * max(1.0, n / MANY)


@kernel
def general(
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    carried: FloatArray,
    p: FloatArray,
) -> int:
    """The general solver, started from p and λ; what would underflow is held at e^{−700}, as by all steps."""
    smallest, shift, excess, _, status = solve_step(
        regularizer, losses, rates, log_barrier, 1.0, carried[MULTIPLIER], p
    )
    for i in range(p.size):
        p[i] = max(p[i], SMALLEST)
    carried[MULTIPLIER] = smallest - shift
    carried[TOTAL] = 1.0 + excess
    return status


@kernel
def cold(
    step: Any,
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    carried: FloatArray,
    p: FloatArray,
) -> int:
    """The general solver from scratch, and nothing carried."""
    for i in range(p.size):
        p[i] = 0.0
        if one_rate(step):
            rates[i] = rates[0]
    for k in range(N_CARRIED, carried.size):
        carried[k] = 0.0
    carried[MULTIPLIER] = math.nan
    carried[TAKEN_OVER] += 1.0
    return general(regularizer, losses, rates, log_barrier, carried, p)
