"""The one FTRL machine: every policy that is follow-the-regularized-leader is a value of its parameters."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, copy_state, kernel
from bothworlds.policies.base import (
    act,
    begin_again,
    carry_over,
    copy,
    distribution,
    find,
    grow,
    init,
    inspect,
    learn,
    learn_absent,
    memo_of,
    retire,
    step,
    weight_of,
)
from bothworlds.policies.ftrl.estimators import estimate, moves_one
from bothworlds.policies.ftrl.rates import (
    CONTINUE,
    advance_rates,
    begin_rates,
    join_rates,
    note_error,
    rest_rates,
    same_for_all,
)
from bothworlds.policies.ftrl.state import (
    BEFORE,
    BEGUN,
    DRIFT,
    HORIZON,
    LEARNED,
    LOSS_COUNT,
    LOSS_SUM,
    MOVED,
    N_SCALARS,
    OFFSET,
    RESTARTS,
    ROUND,
    FTRLState,
)
from bothworlds.policies.several import act_several, pass_round
from bothworlds.policies.shared.systematic import draw_groups
from bothworlds.problem import Groups
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.steps import (
    MULTIPLIER,
    SEVERAL,
    TOTAL,
    SetStep,
    advance,
    begin,
    carries,
    cold,
    note_round,
    one_rate,
    shift_multipliers,
)


class FTRLParameters(NamedTuple):
    """Regularizer, estimator, rates and step (each a tuple of its own), the extra log-barrier, the arms.

    ``step`` selects the kernel that computes p, ``GeneralStep()`` or a faster one for the same problem.
    """

    regularizer: Any
    estimator: Any
    rate: Any
    log_barrier: float
    n_arms: int
    step: Any


def on_sets(params: FTRLParameters, groups: Groups, *, ahead: int = 0, tilt: float = 0.0) -> FTRLParameters:
    """The same over sets of arms; what the others are is said by ``SetStep``."""
    return params._replace(step=SetStep(groups, float(ahead), tilt))


RECENTER = 4096.0
HOPELESS = 2.0**40  # the estimated loss of an arm that has retired: p of it is nothing beside that of others


@init.register(FTRLParameters)
def _(params: FTRLParameters) -> FTRLState:
    n = params.n_arms
    carried = np.zeros(carries(params.step, n))
    state = FTRLState(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.zeros(N_SCALARS), carried)
    restart(params, state, params.rate.horizon)
    return state


@kernel
def restart(params: FTRLParameters, state: FTRLState, horizon: float) -> int:
    """Forget all but the number of restarts and the mean of the losses seen."""
    n = params.n_arms
    scalars = state.scalars
    state.losses[:] = 0.0
    state.sums[:] = 0.0
    state.carried[:] = 0.0
    scalars[ROUND] = 1.0
    scalars[OFFSET] = 0.0
    scalars[HORIZON] = horizon
    scalars[BEGUN] = scalars[LOSS_SUM]
    begin_rates(params.rate, state)
    solved = begin(
        params.step, params.regularizer, state.rates[0], params.log_barrier, state.carried, state.p
    )
    for i in range(1, n):
        solved = solved and state.rates[i] == state.rates[0]
    return CONVERGED if solved else update_p(params, state, SEVERAL, 0.0, 0.0)


@begin_again.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, fresh: FTRLState, loss_sum: float, loss_count: float) -> None:
    copy_state(fresh, state)
    state.scalars[LOSS_SUM] = loss_sum
    state.scalars[LOSS_COUNT] = loss_count
    state.scalars[BEGUN] = loss_sum


@act.register(FTRLParameters, inline=True)
def _(params: FTRLParameters, state: FTRLState, uniforms: FloatArray) -> int:
    return find(state.p, uniforms[0] * state.carried[TOTAL])


@act_several.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, uniforms: FloatArray, out: IntArray) -> int:
    return draw_groups(params.step.groups, state.p, uniforms[0], out)


@weight_of.register(FTRLParameters, inline=True)
def _(params: FTRLParameters, state: FTRLState, arm: int) -> float:
    return float(state.p[arm])


@memo_of.register(FTRLParameters, inline=True)
def _(params: FTRLParameters, state: FTRLState, arm: int, uniforms: FloatArray) -> float:
    return float(state.scalars[RESTARTS])


@learn.register(FTRLParameters, inline=True)
def _(params: FTRLParameters, state: FTRLState, arm: int, loss: float, weight: float, memo: float) -> None:
    scalars = state.scalars
    mean = (0.5 + scalars[LOSS_SUM]) / (1.0 + scalars[LOSS_COUNT])
    scalars[LOSS_SUM] += loss
    scalars[LOSS_COUNT] += 1.0
    if memo != scalars[RESTARTS]:
        scalars[BEGUN] += loss
        return  # drawn before the last restart: only the mean survives restarts
    before = state.losses[arm]
    baseline = estimate(params.estimator, state, mean, arm, loss, weight)
    note_error(params.rate, state, arm, loss - baseline)
    scalars[LEARNED] += 1.0  # last, where the compiler can pass on to ``step`` what it knows
    scalars[MOVED] = arm
    scalars[BEFORE] = before
    scalars[DRIFT] += baseline


@step.register(FTRLParameters, inline=True)
def _(params: FTRLParameters, state: FTRLState) -> int:
    scalars = state.scalars
    learned, drift = scalars[LEARNED], scalars[DRIFT]
    moved, before = int(scalars[MOVED]), scalars[BEFORE]
    if learned == 0.0:
        return CONVERGED
    scalars[LEARNED] = 0.0
    scalars[DRIFT] = 0.0
    horizon = advance_rates(params.rate, state)
    scalars[ROUND] += 1.0
    if horizon != CONTINUE:
        scalars[RESTARTS] += 1.0
        return restart(params, state, horizon)
    one = learned == 1.0 and moves_one(params.estimator)
    return update_p(params, state, moved if one else SEVERAL, before, drift)


@pass_round.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState) -> int:
    state.scalars[LEARNED] = 1.0  # that nothing was chosen: the estimates of all arms stay
    return step(params, state)


@kernel(inline=True)
def update_p(params: FTRLParameters, state: FTRLState, moved: int, before: float, drift: float) -> int:
    """Bring ``p`` up to date with ``losses`` and ``rates``; return the status of the solver.

    ``moved``, ``before`` and ``drift`` say what has changed, as they do for ``advance`` of simplex/steps.
    """
    if same_for_all(params.rate) and not one_rate(params.step):
        for i in range(1, state.rates.size):
            state.rates[i] = state.rates[0]
    note_round(params.step, state.carried, state.scalars[ROUND], state.scalars[OFFSET])
    status = advance(
        params.step,
        params.regularizer,
        state.losses,
        state.rates,
        params.log_barrier,
        state.carried,
        state.p,
        moved,
        before,
        drift,
    )
    if state.carried[MULTIPLIER] > RECENTER:
        recenter(params, state)
    return status


@kernel
def recenter(params: FTRLParameters, state: FTRLState) -> None:
    """Subtract a whole number from all losses, which is exact below 2^53: p and its precision stay."""
    shift = math.floor(state.carried[MULTIPLIER])
    for i in range(state.losses.size):
        state.losses[i] -= shift
    state.scalars[OFFSET] += shift
    shift_multipliers(params.step, state.carried, shift)


@learn_absent.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, before: FTRLState, awake: FloatArray, loss: float) -> int:
    if state.scalars[ROUND] != before.scalars[ROUND] + 1.0:
        return CONVERGED  # drawn before a restart, or the last round before one
    shift = state.scalars[OFFSET] - before.scalars[OFFSET]
    for i in range(params.n_arms):
        if awake[i] == 0.0:
            state.losses[i] = before.losses[i] - shift + loss
            rest_rates(params.rate, state, before, i)
    return update_p(params, state, SEVERAL, 0.0, 0.0)


@grow.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState) -> FTRLState:
    grown: FTRLState = init(params)
    carry_over(state.scalars, grown.scalars)
    begin_rates(params.rate, grown)  # those of an arm that begins now
    for one, other in ((state.losses, grown.losses), (state.sums, grown.sums), (state.rates, grown.rates)):
        carry_over(one, other)
    scalars = grown.scalars
    grown.losses[-1] = scalars[LOSS_SUM] - scalars[BEGUN] - scalars[OFFSET]
    join_rates(params.rate, grown)
    solve_anew(params, grown)
    return grown


@retire.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, arm: int) -> None:
    state.losses[arm] = HOPELESS
    solve_anew(params, state)


@kernel
def solve_anew(params: FTRLParameters, state: FTRLState) -> int:
    """The same as :func:`update_p`, without help from the last solution."""
    if same_for_all(params.rate):
        for i in range(1, state.rates.size):
            state.rates[i] = state.rates[0]
    return cold(
        params.step, params.regularizer, state.losses, state.rates, params.log_barrier, state.carried, state.p
    )


@distribution.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, out: FloatArray) -> None:
    copy(state.p, out)


@inspect.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    for i in range(out_rates.size):
        out_rates[i] = state.rates[0 if same_for_all(params.rate) else i]
        out_estimates[i] = state.losses[i] + state.scalars[OFFSET]
