"""The compiled ledger: a policy along a history, and every term of its regret in every round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, generic, kernel
from bothworlds.policies.base import act, distribution, inspect, observation_weight, update
from bothworlds.policies.decoupled import DecoupledParameters, DecoupledState
from bothworlds.policies.estimators import ImportanceWeightedParameters
from bothworlds.policies.ftrl_state import EPOCH, HORIZON, OFFSET, ROUND, FTRLState
from bothworlds.policies.rates import (
    RUNNING,
    CommonRateParameters,
    RateParameters,
    accumulate,
    coefficient,
)
from bothworlds.simplex.kernel import FAILED
from bothworlds.theory.follow import NOTHING, heights_of
from bothworlds.theory.layout import (
    BEFORE,
    BENCHMARK,
    DONE,
    DRAWN,
    ESTIMATES,
    GROWTHS,
    HEIGHTS,
    IMPOSSIBLE,
    INCREMENTS,
    LOSSES,
    POTENTIALS,
    PREPROCESSING,
    PUSH,
    Q_HEIGHTS,
    Q_POTENTIALS,
    RARE,
    RAREST,
    RATES,
    REGRET,
    RESTARTED,
    TOTAL,
    UNSOLVED,
    P,
    Q,
    U,
)
from bothworlds.theory.moves import account_round, copy, move_benchmark, place


@generic
def machine(params: Any) -> Any:
    """The FTRL machine inside a policy's parameters: itself, or that of a decoupled policy."""
    return params


@machine.register(DecoupledParameters)
def _(params: DecoupledParameters) -> Any:
    return params.ftrl


@generic
def machine_state(params: Any, state: Any) -> FTRLState:
    """Its state."""
    return state  # type: ignore[no-any-return]


@machine_state.register(DecoupledParameters)
def _(params: DecoupledParameters, state: DecoupledState) -> FTRLState:
    return state.ftrl


@generic
def rate_increments(rate: Any, state: FTRLState, out: FloatArray) -> float:
    """Fill ``out`` with s and return a ≥ 0 if γ'² − γ² = a·s is known, else return −1.

    Then γ' − γ = a·s/(γ' + γ), exact where the difference of two rounded rates has lost its digits.
    """
    return -1.0


@rate_increments.register(RateParameters)
def _(rate: RateParameters, state: FTRLState, out: FloatArray) -> float:
    if rate.error_weighted or (rate.schedule == RUNNING and rate.over_log):
        return -1.0
    horizon = state.scalars[HORIZON]
    t = state.scalars[ROUND]
    out[:] = 0.0
    accumulate(rate, t, horizon, 1.0, state.p, out)
    return coefficient(rate, t, horizon, out.size) ** 2


@rate_increments.register(CommonRateParameters)
def _(rate: CommonRateParameters, state: FTRLState, out: FloatArray) -> float:
    out[:] = 1.0
    return rate.theta**2 if rate.growing else 0.0


@generic
def read_estimate(
    estimator: Any, observe: int, loss: float, weight: float, before: FloatArray, out: FloatArray
) -> None:
    """Turn ``out``, the cumulative losses after the round, into ℓ̂: what they have gained on ``before``."""
    for i in range(out.size):
        out[i] -= before[i]


@read_estimate.register(ImportanceWeightedParameters)
def _(
    estimator: ImportanceWeightedParameters,
    observe: int,
    loss: float,
    weight: float,
    before: FloatArray,
    out: FloatArray,
) -> None:
    out[:] = 0.0  # not the difference, which has lost the digits that a large sum could not hold
    out[observe] = loss / weight


@kernel
def gather(source: FloatArray, order: IntArray, out: FloatArray) -> None:
    """Put the arms in the order U, V."""
    for i in range(order.size):
        out[i] = source[order[i]]


@kernel
def scatter(source: FloatArray, order: IntArray, out: FloatArray) -> None:
    """Put the arms in their own order again."""
    for i in range(order.size):
        out[order[i]] = source[i]


@kernel
def settle(page: FloatArray, terms: FloatArray, m: int, epsilon: float) -> None:
    """<ℓ̂^t, p^t − q̃^t>, and what of it is not total − benchmark."""
    n = page.shape[1]
    regret = 0.0
    for i in range(n):
        q_tilde = (1.0 - epsilon) * page[Q, i] if i < m else epsilon / (n - m)
        regret += page[ESTIMATES, i] * (page[P, i] - q_tilde)
    terms[REGRET] = regret
    terms[PREPROCESSING] = regret - terms[TOTAL] + terms[BENCHMARK]


@kernel
def read(params: Any, state: Any, order: IntArray, page: FloatArray, pad: FloatArray) -> None:
    """Write down p and the rates in force."""
    distribution(params, state, pad[U])
    gather(pad[U], order, page[P])
    inspect(params, state, pad[U], pad[PUSH])
    gather(pad[U], order, page[RATES])


@kernel
def learn(
    params: Any,
    state: FTRLState,
    page: FloatArray,
    after: FloatArray,
    pad: FloatArray,
    order: IntArray,
    arm: int,
    loss: float,
    weight: float,
    factor: float,
) -> None:
    """Write down the growth of the rates, and ℓ̂, once the policy has learned a round."""
    for i in range(order.size):
        new, old = after[RATES, i], page[RATES, i]
        page[GROWTHS, i] = new - old if factor < 0.0 else factor * pad[INCREMENTS, order[i]] / (new + old)
    copy(state.losses, pad[PUSH])
    read_estimate(params.estimator, arm, loss, weight, pad[BEFORE], pad[PUSH])
    gather(pad[PUSH], order, page[ESTIMATES])
    gather(state.losses, order, pad[LOSSES])


@kernel
def choose(params: Any, state: Any, p: FloatArray, wish: int, uniforms: FloatArray) -> int:
    """The arm itself, or the one that a wish (DRAWN, RAREST, LIKELIEST) comes to."""
    if wish >= 0:
        return wish
    if wish == DRAWN:
        return act(params, state, uniforms)[1]
    best = int(np.argmax(p))
    if wish == RAREST:  # among those that are played at all: an arm of 1e-30 cannot be hit twice
        for i in range(p.size):
            if RARE < p[i] < p[best]:
                best = i
    return best


@entry
def keep_book(
    params: Any,
    state: Any,
    arms: IntArray,
    losses: FloatArray,
    uniforms: FloatArray,
    order: IntArray,
    m: int,
    decoupled: bool,
    epsilon: float,
    pages: FloatArray,
    pad: FloatArray,
    out: FloatArray,
    out_terms: FloatArray,
) -> tuple[int, int]:
    """Play the history; return how it ended and in which round (counted from 0).

    ``losses`` has a row for every round with one number, or one for each arm. Wishes in ``arms`` are
    replaced by arms; DRAWN takes its row of ``uniforms``. ``pages`` and ``pad`` are scratch.
    """
    inner, within = machine(params), machine_state(params, state)
    reg, barrier, scalars = inner.regularizer, inner.log_barrier, within.scalars
    page, after = pages[0], pages[1]
    read(params, state, order, page, pad)
    gather(within.losses, order, pad[LOSSES])
    level_q, fine = place(reg, barrier, pad[LOSSES, :m], page[RATES, :m], 1.0, math.nan, page[Q, :m])
    for t in range(arms.size):
        offset = scalars[OFFSET]
        copy(within.losses, pad[BEFORE])
        factor = rate_increments(inner.rate, within, pad[INCREMENTS])
        heights_of(reg, page[P], pad[HEIGHTS], pad[POTENTIALS])
        heights_of(reg, page[Q, :m], pad[Q_HEIGHTS, :m], pad[Q_POTENTIALS, :m])
        arms[t] = choose(params, state, within.p, arms[t], uniforms[min(t, uniforms.shape[0] - 1)])
        loss = losses[t, min(arms[t], losses.shape[1] - 1)]
        weight, epoch = observation_weight(params, state, arms[t])
        if not weight >= NOTHING:
            return IMPOSSIBLE, t
        if update(params, state, arms[t], loss, weight, epoch) == FAILED or not fine:
            return UNSOLVED, t
        if epoch != int(scalars[EPOCH]):
            return RESTARTED, t
        # losses may have been recentred by a whole number: put what was before the round on the new scale
        recentred = scalars[OFFSET] - offset
        level_q -= recentred
        for i in range(order.size):
            pad[BEFORE, i] -= recentred
        read(params, state, order, after, pad)
        learn(inner, within, page, after, pad, order, arms[t], loss, weight, factor)
        terms = out_terms[t]
        level_q, fine = move_benchmark(reg, barrier, page, after, terms, pad, m, level_q)
        if not account_round(reg, barrier, page, after, terms, pad, m, decoupled):
            return UNSOLVED, t
        settle(page, terms, m, epsilon)
        for row in range(page.shape[0]):
            scatter(page[row], order, out[t, row])
        page, after = after, page
    for row in range(Q + 1):
        scatter(page[row], order, out[arms.size, row])
    return DONE, arms.size
