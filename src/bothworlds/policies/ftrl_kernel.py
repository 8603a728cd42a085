"""The one FTRL machine: every policy that is follow-the-regularized-leader is a value of its parameters."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import act, copy, distribution, find, init, inspect, observation_weight, update
from bothworlds.policies.estimators import ImportanceWeightedParameters, estimate, moves_one
from bothworlds.policies.ftrl_state import (
    EPOCH,
    HORIZON,
    LOSS_COUNT,
    LOSS_SUM,
    N_SCALARS,
    OFFSET,
    ROUND,
    FTRLState,
)
from bothworlds.policies.rates import ON, advance_rates, begin_rates, same_for_all
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.regularizers.base import Regularizer, slope
from bothworlds.simplex.steps import MULTIPLIER, SEVERAL, TOTAL, advance, carries, choose, one_rate


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


RECENTRE = 4096.0


def follow(
    regularizer: Regularizer, estimator: Any, rate: Any, log_barrier: float, n_arms: int
) -> FTRLParameters:
    """The parameters, with the fastest step for them."""
    inner = regularizer.parameters()
    step = choose(inner, log_barrier, same_for_all(rate), n_arms)
    return FTRLParameters(inner, estimator, rate, log_barrier, n_arms, step)


def importance_weighted(regularizer: Regularizer, rate: Any, n_arms: int) -> FTRLParameters:
    """FTRL with plain importance weighting, without an extra log-barrier, and with any schedule of rates."""
    return follow(regularizer, ImportanceWeightedParameters(), rate, 0.0, n_arms)


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
    begin_rates(params.rate, state)
    state.p[:] = 1.0 / n
    state.carried[TOTAL] = 1.0
    state.carried[MULTIPLIER] = -(
        state.rates[0] * slope(params.regularizer, math.log(n))[0] + params.log_barrier * n
    )
    for i in range(1, n):
        if state.rates[i] != state.rates[0]:
            return solve(params, state, SEVERAL, 0.0, 0.0)
    return CONVERGED  # equal arms: uniform, and the multiplier is exact


@act.register(FTRLParameters, inline=True)
def _(params: FTRLParameters, state: FTRLState, uniforms: FloatArray) -> tuple[int, int, float, float, int]:
    arm = find(state.p, uniforms[0] * state.carried[TOTAL])
    p = state.p[arm]
    return arm, arm, p, p, int(state.scalars[EPOCH])


@update.register(FTRLParameters, inline=True)
def _(params: FTRLParameters, state: FTRLState, observe: int, loss: float, weight: float, epoch: int) -> int:
    scalars = state.scalars
    mean = (0.5 + scalars[LOSS_SUM]) / (1.0 + scalars[LOSS_COUNT])
    scalars[LOSS_SUM] += loss
    scalars[LOSS_COUNT] += 1.0
    if epoch != int(scalars[EPOCH]):
        return CONVERGED  # drawn before the last restart: only the mean survives restarts
    before = state.losses[observe]
    baseline = estimate(params.estimator, state, mean, observe, loss, weight)
    horizon = advance_rates(params.rate, state, observe, loss - baseline)
    scalars[ROUND] += 1.0
    if horizon != ON:
        scalars[EPOCH] += 1.0
        return restart(params, state, horizon)
    return solve(params, state, observe if moves_one(params.estimator) else SEVERAL, before, baseline)


@kernel(inline=True)
def solve(params: FTRLParameters, state: FTRLState, moved: int, before: float, drift: float) -> int:
    """Bring ``p`` up to date with ``losses`` and ``rates``; return the status of the solver.

    ``moved``, ``before`` and ``drift`` say what has changed, as they do for ``advance`` of simplex/steps.
    """
    if same_for_all(params.rate) and not one_rate(params.step):
        for i in range(1, state.rates.size):
            state.rates[i] = state.rates[0]
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
    if state.carried[MULTIPLIER] > RECENTRE:
        recentre(state)
    return status


@kernel
def recentre(state: FTRLState) -> None:
    """Subtract a whole number from all losses, which is exact below 2^53: p and its precision stay."""
    shift = math.floor(state.carried[MULTIPLIER])
    for i in range(state.losses.size):
        state.losses[i] -= shift
    state.scalars[OFFSET] += shift
    state.carried[MULTIPLIER] -= shift


@distribution.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, out: FloatArray) -> None:
    copy(state.p, out)


@observation_weight.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, arm: int) -> tuple[float, int]:
    return state.p[arm], int(state.scalars[EPOCH])


@inspect.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    for i in range(out_rates.size):
        out_rates[i] = state.rates[0 if same_for_all(params.rate) else i]
        out_estimates[i] = state.losses[i] + state.scalars[OFFSET]
