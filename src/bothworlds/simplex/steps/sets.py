"""The step over sets of m arms: the same problem with Σp = m and every p below 1.

For regularizers whose slope is infinite at p = 1 (``ComplementBarrier``, ``ComplementTsallis``), so that the
box never binds. The unknown of an arm is o = (1−p)/p, the odds against it, in which both are concave and
increasing: y_i = L_i − λ = γ_i h(o_i) + C(1 + o_i). The odds are carried from round to round as numbers of
their own, for the best arms have 1 − p of 1e-6 and less.

*Newton* in all o and λ at once, from the last round: with the defects r_i and F_i = γ_i h'(o_i) + C it is
Δo_i = (r_i − Δλ)/F_i, and Σp = m to first order gives Δλ = (Σ p_i²r_i/F_i − (Σp − m)) / Σ p_i²/F_i. Arms that
are far from their equation, as those that were just seen, are first brought near it alone. The last step is
at most 2e-7 of any o, so that what it leaves is of order 4e-14. What is not confirmed then by Σp, or does not
come to that, goes to the general solver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, kernel
from bothworlds.simplex.kernel import CONVERGED, solve_step
from bothworlds.simplex.regularizers.base import against
from bothworlds.simplex.steps.base import (
    MULTIPLIER,
    N_CARRIED,
    SUM_TOLERANCE,
    TAKEN_OVER,
    TOTAL,
    advance,
    carries,
    mass,
)

PASSES = 25  # over the arms, before the general solver takes over
NEAR = 2e-7  # the last step, relative to o
FAR = 0.3  # a step beyond this, relative to o, is taken alone
ALONE = 60  # such steps
LEAST = 1e-44  # odds below which p is 1 to the last bit, and no arm is followed


class SetStep(NamedTuple):
    """How many arms are chosen."""

    total: float


@mass.register(SetStep, inline=True)
def _(step: SetStep) -> float:
    return step.total


@carries.register(SetStep)
def _(step: SetStep, n_arms: int) -> int:
    return N_CARRIED + 3 * n_arms  # the odds, and room for the two parts of a step


@kernel(inline=True)
def moved_by(odds: float, change: float) -> float:
    """The odds after a step, which may take them to a tenth at most."""
    return max(odds + change, 0.1 * odds, LEAST)


@kernel
def approach(regularizer: Any, y: float, rate: float, log_barrier: float, odds: float) -> float:
    """Odds near the solution of an arm's equation: Newton on a concave, increasing function."""
    for _ in range(ALONE):
        height, steepness = against(regularizer, odds, 1.0 / (1.0 + odds))
        defect = y - rate * height - log_barrier * (1.0 + odds)
        change = defect / (rate * steepness + log_barrier)
        new = moved_by(odds, change)
        if abs(new - odds) <= 0.01 * odds:
            return new
        odds = new
    return odds


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
    n = p.size
    odds = carried[N_CARRIED : N_CARRIED + n]
    steps = carried[N_CARRIED + n : N_CARRIED + 2 * n]
    gains = carried[N_CARRIED + 2 * n :]
    if odds[0] == 0.0:  # the first time
        for i in range(n):
            odds[i] = (1.0 - p[i]) / p[i]
    multiplier = carried[MULTIPLIER]
    for _ in range(PASSES):
        excess = -step.total
        weighed = 0.0
        weight = 0.0
        for i in range(n):
            y = losses[i] - multiplier
            share = 1.0 / (1.0 + odds[i])
            height, steepness = against(regularizer, odds[i], share)
            gain = 1.0 / (rates[i] * steepness + log_barrier)
            change = (y - rates[i] * height - log_barrier * (1.0 + odds[i])) * gain
            if abs(change) > FAR * odds[i]:
                odds[i] = approach(regularizer, y, rates[i], log_barrier, odds[i])
                share = 1.0 / (1.0 + odds[i])
                height, steepness = against(regularizer, odds[i], share)
                gain = 1.0 / (rates[i] * steepness + log_barrier)
                change = (y - rates[i] * height - log_barrier * (1.0 + odds[i])) * gain
            excess += share
            square = share * share
            weighed += square * change
            weight += square * gain
            steps[i] = change
            gains[i] = gain
        raised = (weighed - excess) / weight  # Δλ
        multiplier += raised
        far = 0.0
        for i in range(n):
            new = moved_by(odds[i], steps[i] - raised * gains[i])
            far = max(far, abs(new - odds[i]) - NEAR * odds[i])
            odds[i] = new
        if far <= 0.0:
            break
    total = 0.0
    for i in range(n):
        p[i] = 1.0 / (1.0 + odds[i])
        total += p[i]
    carried[MULTIPLIER] = multiplier
    carried[TOTAL] = total
    if far <= 0.0 and abs(total - step.total) <= SUM_TOLERANCE * step.total:
        return CONVERGED
    return take_over(step, regularizer, losses, rates, log_barrier, carried, p)


@kernel
def take_over(
    step: SetStep,
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    carried: FloatArray,
    p: FloatArray,
) -> int:
    """The general solver, from p and λ."""
    smallest, shift, excess, _, status = solve_step(
        regularizer, losses, rates, log_barrier, step.total, carried[MULTIPLIER], p
    )
    carried[MULTIPLIER] = smallest - shift
    carried[TOTAL] = step.total + excess
    carried[TAKEN_OVER] += 1.0
    carried[N_CARRIED] = 0.0  # the odds are those of p, from the next round on
    return status
