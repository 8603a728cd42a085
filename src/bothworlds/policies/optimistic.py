"""Optimistic FTRL: the leader also weighs in a prediction m_i of every arm's next loss.

    p^t = argmin <p, Σ_{s<t} ℓ̂^s + m^t> + regularizer,    ℓ̂^t = m^t + (ℓ_a − m_a)/p_a·e_a .

The machine is the plain FTRL one; what it calls losses is Σℓ̂ + m here. From round to round that sum grows
by ℓ̂^t − m^t + m^{t+1}, in which m^t cancels: add m^{t+1} to all arms and (ℓ_a − m_a^t)/p_a to arm a.
Predictions survive restarts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import act, copy, distribution, init, inspect, observation_weight, update
from bothworlds.policies.ftrl_kernel import FTRLParameters, solve
from bothworlds.policies.ftrl_state import EPOCH, FTRLState
from bothworlds.simplex.steps import SEVERAL


class OptimisticParameters(NamedTuple):
    """The FTRL inside, with plain importance weighting, and the step of the predictions.

    m_i moves towards each loss of arm i by ``step`` of the difference (NaN: so as to be the mean
    (½ + Σ losses seen)/(1 + number seen)).
    """

    ftrl: FTRLParameters
    step: float


class OptimisticState(NamedTuple):
    """The FTRL state, m, and how often each arm has been seen."""

    ftrl: FTRLState
    predictions: FloatArray
    counts: FloatArray


@init.register(OptimisticParameters)
def _(params: OptimisticParameters) -> OptimisticState:
    n = params.ftrl.n_arms
    state = OptimisticState(init(params.ftrl), np.full(n, 0.5), np.zeros(n))
    begin(params, state)
    return state


@kernel
def begin(params: OptimisticParameters, state: OptimisticState) -> int:
    """The first round after a (re)start, when Σℓ̂ = 0."""
    copy(state.predictions, state.ftrl.losses)
    return solve(params.ftrl, state.ftrl, SEVERAL, 0.0, 0.0)


@act.register(OptimisticParameters)
def _(
    params: OptimisticParameters, state: OptimisticState, uniforms: FloatArray
) -> tuple[int, int, float, float, int]:
    return act(params.ftrl, state.ftrl, uniforms)


@observation_weight.register(OptimisticParameters)
def _(params: OptimisticParameters, state: OptimisticState, arm: int) -> tuple[float, int]:
    return observation_weight(params.ftrl, state.ftrl, arm)


@update.register(OptimisticParameters)
def _(
    params: OptimisticParameters, state: OptimisticState, observe: int, loss: float, weight: float, epoch: int
) -> int:
    ftrl = state.ftrl
    error = loss - state.predictions[observe]
    state.counts[observe] += 1.0
    step = 1.0 / (1.0 + state.counts[observe]) if math.isnan(params.step) else params.step
    state.predictions[observe] += step * error
    current = int(ftrl.scalars[EPOCH])
    if epoch != current:  # drawn before the last restart: only the prediction survives restarts
        ftrl.losses[observe] += step * error
        return solve(params.ftrl, ftrl, SEVERAL, 0.0, 0.0)
    for i in range(ftrl.losses.size):
        ftrl.losses[i] += state.predictions[i]
    status = update(params.ftrl, ftrl, observe, error, weight, epoch)
    if int(ftrl.scalars[EPOCH]) != current:
        return begin(params, state)
    return status


@distribution.register(OptimisticParameters)
def _(params: OptimisticParameters, state: OptimisticState, out: FloatArray) -> None:
    copy(state.ftrl.p, out)


@inspect.register(OptimisticParameters)
def _(
    params: OptimisticParameters, state: OptimisticState, out_rates: FloatArray, out_estimates: FloatArray
) -> None:
    inspect(params.ftrl, state.ftrl, out_rates, out_estimates)
    out_estimates -= state.predictions
