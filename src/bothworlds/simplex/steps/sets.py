"""The step over sets of arms: the same problem with every p below 1, and Σp = m, or between two numbers.

For regularizers whose slope is infinite at p = 1 (``ComplementBarrier``, ``ComplementTsallis``), so that the
box never binds. The unknown of an arm is o = (1−p)/p, the odds against it, in which both are concave and
increasing: y_i = L_i − λ = γ_i h(o_i) + C(1 + o_i). The odds are carried from round to round as numbers of
their own, for the best arms have 1 − p of 1e-6 and less.

*Groups* of arms, each with limits for its own Σp, are problems of their own, with a λ for each.

*Newton*, where Σp = m, in all o and λ at once, from the last round: with the defects r_i and
F_i = γ_i h'(o_i) + C it is Δo_i = (r_i − Δλ)/F_i, and Σp = m to first order gives
Δλ = (Σ p_i²r_i/F_i − (Σp − m)) / Σ p_i²/F_i. Arms that are far from their equation, as those that were just
seen, are first brought near it alone. The last step is at most 2e-7 of any o, so that what it leaves is of
order 4e-14. What is not confirmed then by Σp, or does not come to that, goes to the general solver.

*Limits.* Where Σp may be anything from a to b, minimize <p, L − λ₀> with λ₀ the loss so far of leaving an arm
out. With λ = λ₀ every arm has an equation of its own. Σp increases in λ, so by the KKT conditions that is
the solution if a ≤ Σp ≤ b; else Σp is the limit that it is beyond, with λ < λ₀ at b and λ > λ₀ at a.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, kernel
from bothworlds.problem import Groups
from bothworlds.simplex.kernel import CONVERGED, solve_step
from bothworlds.simplex.regularizers.base import against, respond, slope
from bothworlds.simplex.steps.base import (
    MULTIPLIER,
    N_CARRIED,
    SUM_TOLERANCE,
    TAKEN_OVER,
    TOTAL,
    advance,
    begin,
    carries,
    note_round,
    shift_multipliers,
)

PASSES = 25  # over the arms, before the general solver takes over
NEAR = 2e-7  # the last step, relative to o
FAR = 0.3  # a step beyond this, relative to o, is taken alone
ALONE = 60  # such steps
LEAST = 1e-44  # odds below which p is 1 to the last bit, and no arm is followed

OUTSIDE = N_CARRIED  # λ₀
OF_GROUPS = N_CARRIED + 1  # λ of each group, then where its Σp is; then the odds of all arms, and room

AT_FEWEST, BETWEEN, AT_MOST = -1.0, 0.0, 1.0  # Σp of a group


class SetStep(NamedTuple):
    """The sets; of how many rounds to come the losses hold predictions; and a linear part.

    The regularizer that is meant is ψ(p) − ``tilt``·p, which matters where sets have different sizes. Rates
    must be the same for all arms then.
    """

    groups: Groups
    ahead: float
    tilt: float


@carries.register(SetStep)
def _(step: SetStep, n_arms: int) -> int:
    return OF_GROUPS + 2 * step.groups.first.size + 3 * n_arms  # odds, and room for the two parts of a step


@begin.register(SetStep)
def _(
    step: SetStep, regularizer: Any, rate: float, log_barrier: float, carried: FloatArray, p: FloatArray
) -> bool:
    groups = step.groups
    n_groups = groups.first.size
    solved = True
    carried[TOTAL] = 0.0
    for g in range(n_groups):
        size = groups.last[g] - groups.first[g]
        total = float(groups.most[g])
        if groups.fewest[g] < groups.most[g]:
            total = min(max(0.5 * size, float(groups.fewest[g])), total)
            solved = False
        for i in range(groups.first[g], groups.last[g]):
            p[i] = total / size
        depth = math.log(size) - math.log(total)
        carried[OF_GROUPS + g] = -(rate * slope(regularizer, depth)[0] + log_barrier * (size / total))
        carried[OF_GROUPS + n_groups + g] = BETWEEN
        carried[TOTAL] += total
    carried[MULTIPLIER] = carried[OF_GROUPS]
    return solved


@note_round.register(SetStep, inline=True)
def _(step: SetStep, carried: FloatArray, t: float, offset: float) -> None:
    carried[OUTSIDE] = step.groups.outside * (t - 1.0 + step.ahead) - offset


@shift_multipliers.register(SetStep)
def _(step: SetStep, carried: FloatArray, shift: float) -> None:
    carried[MULTIPLIER] -= shift
    for g in range(step.groups.first.size):
        carried[OF_GROUPS + g] -= shift


@kernel(inline=True)
def moved_by(odds: float, change: float) -> float:
    """The odds after a step, which may take them to a tenth at most."""
    return max(odds + change, 0.1 * odds, LEAST)


@kernel
def approach(regularizer: Any, y: float, rate: float, log_barrier: float, odds: float, near: float) -> float:
    """Odds near the solution of an arm's equation: Newton on a concave, increasing function.

    The last step is at most ``near`` of them; NaN if it is not.
    """
    for _ in range(ALONE):
        height, steepness = against(regularizer, odds, 1.0 / (1.0 + odds))
        defect = y - rate * height - log_barrier * (1.0 + odds)
        new = moved_by(odds, defect / (rate * steepness + log_barrier))
        if abs(new - odds) <= near * odds:
            return new
        odds = new
    return math.nan


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
    groups = step.groups
    n_groups = groups.first.size
    odds = carried[OF_GROUPS + 2 * n_groups : OF_GROUPS + 2 * n_groups + p.size]
    room = carried[OF_GROUPS + 2 * n_groups + p.size :]
    status = CONVERGED
    total = 0.0
    carried[MULTIPLIER] = -math.inf
    for g in range(n_groups):
        first, last = groups.first[g], groups.last[g]
        fewest, most = float(groups.fewest[g]), float(groups.most[g])
        if odds[first] == 0.0:  # the first time
            for i in range(first, last):
                odds[i] = (1.0 - p[i]) / p[i]
        group = Part(losses[first:last], rates[first:last], log_barrier, odds[first:last], p[first:last])
        place = AT_MOST if fewest == most else carried[OF_GROUPS + n_groups + g]
        multiplier = carried[OF_GROUPS + g]
        outside = carried[OUTSIDE] + step.tilt * rates[first]
        here = CONVERGED
        if place != BETWEEN:
            limit = most if place == AT_MOST else fewest
            multiplier, here = solve_part(regularizer, group, room, limit, multiplier, carried)
            if fewest < most and (multiplier - outside) * place > 0.0:  # the limit does not bind any more
                place = BETWEEN
                free_part(regularizer, group, outside)
        else:
            free_part(regularizer, group, outside)
        if place == BETWEEN:
            multiplier = outside
            reached = sum_in_order(group.p)
            if not fewest <= reached <= most:
                place = AT_MOST if reached > most else AT_FEWEST
                limit = most if place == AT_MOST else fewest
                multiplier, here = solve_part(regularizer, group, room, limit, multiplier, carried)
        carried[OF_GROUPS + g] = multiplier
        carried[OF_GROUPS + n_groups + g] = place
        carried[MULTIPLIER] = max(carried[MULTIPLIER], multiplier)
        total += sum_in_order(group.p)
        status = max(status, here)
    carried[TOTAL] = total
    return status


class Part(NamedTuple):
    """The problem of a group, the odds of its arms, and their p."""

    losses: FloatArray
    rates: FloatArray
    log_barrier: float
    odds: FloatArray
    p: FloatArray


@kernel
def sum_in_order(values: FloatArray) -> float:
    """The sum of ``values``, one after another from the first to the last."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@kernel
def free_part(regularizer: Any, group: Part, outside: float) -> None:
    """Every arm on its own, with λ = λ₀."""
    for i in range(group.p.size):
        y, rate = group.losses[i] - outside, group.rates[i]
        odds = approach(regularizer, y, rate, group.log_barrier, group.odds[i], NEAR)
        if math.isnan(odds):
            share = respond(regularizer, y, rate, group.log_barrier, 0.0)[0]
            odds = max((1.0 - share) / share, LEAST)
        group.odds[i] = odds
        group.p[i] = 1.0 / (1.0 + odds)


@kernel
def solve_part(
    regularizer: Any, group: Part, room: FloatArray, total: float, multiplier: float, carried: FloatArray
) -> tuple[float, int]:
    """Fill p and the odds of a group with Σp = total, from the odds and λ given; return λ and the status."""
    losses, rates, log_barrier, odds, p = group
    n = p.size
    steps = room[:n]
    gains = room[n : 2 * n]
    far = math.inf
    for _ in range(PASSES):
        excess = -total
        weighed = 0.0
        weight = 0.0
        for i in range(n):
            y = losses[i] - multiplier
            share = 1.0 / (1.0 + odds[i])
            height, steepness = against(regularizer, odds[i], share)
            gain = 1.0 / (rates[i] * steepness + log_barrier)
            change = (y - rates[i] * height - log_barrier * (1.0 + odds[i])) * gain
            if abs(change) > FAR * odds[i]:
                near = approach(regularizer, y, rates[i], log_barrier, odds[i], 0.01)
                odds[i] = odds[i] if math.isnan(near) else near
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
    reached = 0.0
    for i in range(n):
        p[i] = 1.0 / (1.0 + odds[i])
        reached += p[i]
    if far <= 0.0 and abs(reached - total) <= SUM_TOLERANCE * total:
        return multiplier, CONVERGED
    smallest, shift, _, _, status = solve_step(regularizer, losses, rates, log_barrier, total, multiplier, p)
    for i in range(n):
        odds[i] = max((1.0 - p[i]) / p[i], LEAST)
    carried[TAKEN_OVER] += 1.0
    return smallest - shift, status
