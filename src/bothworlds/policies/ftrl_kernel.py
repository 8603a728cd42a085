"""The one FTRL machine: every policy that is follow-the-regularized-leader is a value of its parameters."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import act, distribution, draw, init, inspect, observation_weight, update
from bothworlds.policies.estimators import ImportanceWeightedParameters, estimate
from bothworlds.policies.ftrl_state import (
    EPOCH,
    HORIZON,
    LOSS_COUNT,
    LOSS_SUM,
    MULTIPLIER,
    N_SCALARS,
    OFFSET,
    ROUND,
    SMALLEST,
    FTRLState,
)
from bothworlds.policies.rates import ON, advance_rates, begin_rates
from bothworlds.simplex.kernel import CONVERGED, solve_step
from bothworlds.simplex.regularizers.base import Regularizer, slope


class FTRLParameters(NamedTuple):
    """Regularizer, estimator and rates (each a tuple of its own), the extra log-barrier, number of arms."""

    regularizer: Any
    estimator: Any
    rate: Any
    log_barrier: float
    n_arms: int


RECENTRE = 4096.0


def importance_weighted(regularizer: Regularizer, rate: Any, n_arms: int) -> FTRLParameters:
    """FTRL with plain importance weighting, without an extra log-barrier, and with any schedule of rates."""
    return FTRLParameters(regularizer.parameters(), ImportanceWeightedParameters(), rate, 0.0, n_arms)


@init.register(FTRLParameters)
def _(params: FTRLParameters) -> FTRLState:
    n = params.n_arms
    state = FTRLState(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.zeros(N_SCALARS))
    restart(params, state, params.rate.horizon)
    return state


@kernel
def restart(params: FTRLParameters, state: FTRLState, horizon: float) -> int:
    """Forget all but the number of restarts and the mean of the losses seen."""
    n = params.n_arms
    scalars = state.scalars
    state.losses[:] = 0.0
    state.sums[:] = 0.0
    scalars[ROUND] = 1.0
    scalars[OFFSET] = 0.0
    scalars[SMALLEST] = 0.0
    scalars[HORIZON] = horizon
    begin_rates(params.rate, state)
    state.p[:] = 1.0 / n
    scalars[MULTIPLIER] = -(
        state.rates[0] * slope(params.regularizer, math.log(n))[0] + params.log_barrier * n
    )
    for i in range(1, n):
        if state.rates[i] != state.rates[0]:
            return solve(params, state)
    return CONVERGED  # equal arms: uniform, and the multiplier is exact


@act.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, uniforms: FloatArray) -> tuple[int, int, float, float, int]:
    arm = draw(state.p, uniforms[0])
    p = state.p[arm]
    return arm, arm, p, p, int(state.scalars[EPOCH])


@update.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, observe: int, loss: float, weight: float, epoch: int) -> int:
    scalars = state.scalars
    mean = (0.5 + scalars[LOSS_SUM]) / (1.0 + scalars[LOSS_COUNT])
    scalars[LOSS_SUM] += loss
    scalars[LOSS_COUNT] += 1.0
    if epoch != int(scalars[EPOCH]):
        return CONVERGED  # drawn before the last restart: only the mean survives restarts
    error = loss - estimate(params.estimator, state, mean, observe, loss, weight)
    horizon = advance_rates(params.rate, state, observe, error)
    scalars[ROUND] += 1.0
    if horizon != ON:
        scalars[EPOCH] += 1.0
        return restart(params, state, horizon)
    return solve(params, state)


@kernel
def solve(params: FTRLParameters, state: FTRLState) -> int:
    """Bring ``p`` up to date with ``losses`` and ``rates``; return the status of the solver."""
    scalars = state.scalars
    if scalars[SMALLEST] > RECENTRE:
        recentre(state)
    smallest, shift, _, _, status = solve_step(
        params.regularizer, state.losses, state.rates, params.log_barrier, 1.0, scalars[MULTIPLIER], state.p
    )
    scalars[SMALLEST] = smallest
    scalars[MULTIPLIER] = smallest - shift
    return status


@kernel
def recentre(state: FTRLState) -> None:
    """Subtract a whole number from all losses, which is exact below 2^53: p and its precision stay."""
    scalars = state.scalars
    shift = math.floor(scalars[SMALLEST])
    for i in range(state.losses.size):
        state.losses[i] -= shift
    scalars[OFFSET] += shift
    scalars[MULTIPLIER] -= shift


@distribution.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, out: FloatArray) -> None:
    out[:] = state.p


@observation_weight.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, arm: int) -> tuple[float, int]:
    return state.p[arm], int(state.scalars[EPOCH])


@inspect.register(FTRLParameters)
def _(params: FTRLParameters, state: FTRLState, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    out_rates[:] = state.rates
    out_estimates[:] = state.losses + state.scalars[OFFSET]
