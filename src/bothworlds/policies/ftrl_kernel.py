"""The one FTRL machine: every policy that is follow-the-regularized-leader is a value of its parameters."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import act, distribution, draw, init, inspect, observation_weight, update
from bothworlds.policies.estimators import estimate
from bothworlds.policies.rates import RESTARTS, RateParameters, accumulate, coefficient
from bothworlds.simplex.kernel import CONVERGED, solve_step
from bothworlds.simplex.regularizers.base import slope


class FTRLParameters(NamedTuple):
    """Regularizer, estimator and rates (each a tuple of its own), the extra log-barrier, number of arms."""

    regularizer: Any
    estimator: Any
    rate: RateParameters
    log_barrier: float
    n_arms: int


class FTRLState(NamedTuple):
    """All that an FTRL policy knows. Between updates ``p`` is the solution for ``losses`` and ``rates``."""

    losses: FloatArray
    """Cumulative estimated losses minus the whole number ``scalars[OFFSET]``."""
    sums: FloatArray
    """Σ_τ w_τ·max(p_i^τ, 1/T)^{1−2α}."""
    rates: FloatArray
    """γ_i of the round to come."""
    p: FloatArray
    """Distribution of the round to come."""
    scalars: FloatArray
    """The single numbers below."""


ROUND = 0  # t, the round to come, counted from the last restart
OFFSET = 1  # what has been subtracted from all losses so far
MULTIPLIER = 2  # λ of p
SMALLEST = 3  # min L
HORIZON = 4  # T, or T_k of the segment
EPOCH = 5  # number of restarts so far
LOSS_SUM = 6  # losses seen, restarts survived
LOSS_COUNT = 7
N_SCALARS = 8

RECENTRE = 4096.0


@init.register(FTRLParameters)
def _(params: FTRLParameters) -> FTRLState:
    n = params.n_arms
    state = FTRLState(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.zeros(N_SCALARS))
    restart(params, state, params.rate.horizon)
    return state


@kernel
def restart(params: FTRLParameters, state: FTRLState, horizon: float) -> None:
    """Forget all but the mean of the losses seen, and begin with the uniform distribution."""
    n = params.n_arms
    theta = coefficient(params.rate, 1.0, horizon, n)
    state.losses[:] = 0.0
    state.sums[:] = 0.0
    state.rates[:] = theta
    state.p[:] = 1.0 / n
    scalars = state.scalars
    scalars[ROUND] = 1.0
    scalars[OFFSET] = 0.0
    scalars[MULTIPLIER] = -(theta * slope(params.regularizer, math.log(n))[0] + params.log_barrier * n)
    scalars[SMALLEST] = 0.0
    scalars[HORIZON] = horizon


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
    rate = params.rate
    prediction = estimate(
        params.estimator, state.losses, state.p, scalars[MULTIPLIER], mean, observe, loss, weight
    )
    error = 4.0 * (loss - prediction) ** 2 if rate.error_weighted else 1.0
    accumulate(rate, scalars[ROUND], scalars[HORIZON], error, state.p, state.sums)
    scalars[ROUND] += 1.0
    if rate.schedule == RESTARTS and scalars[ROUND] > scalars[HORIZON]:
        scalars[EPOCH] += 1.0
        restart(params, state, scalars[HORIZON] * scalars[HORIZON])
        return CONVERGED
    theta = coefficient(rate, scalars[ROUND], scalars[HORIZON], params.n_arms)
    for i in range(params.n_arms):
        state.rates[i] = theta * math.sqrt(1.0 + state.sums[i])
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
