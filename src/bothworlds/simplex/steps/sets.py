"""The step over sets of m arms: the same problem with Σp = m and every p below 1.

For regularizers whose slope is infinite at p = 1 (``ComplementBarrier``, ``ComplementTsallis``) the box never
binds, and the general solver serves it with ``total`` = m.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bothworlds._jit import FloatArray
from bothworlds.simplex.kernel import solve_step
from bothworlds.simplex.steps.base import MULTIPLIER, TOTAL, advance, mass


class SetStep(NamedTuple):
    """How many arms are chosen."""

    total: float


@mass.register(SetStep, inline=True)
def _(step: SetStep) -> float:
    return step.total


@advance.register(SetStep)
def _(
    step: SetStep,
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
    smallest, shift, excess, _, status = solve_step(
        regularizer, losses, rates, log_barrier, step.total, carried[MULTIPLIER], p
    )
    carried[MULTIPLIER] = smallest - shift
    carried[TOTAL] = step.total + excess
    return status
