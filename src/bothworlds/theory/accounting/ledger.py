"""The ledger: a policy along a history, and every term of its regret in every round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, generic, kernel
from bothworlds._simd import LANES, load, store
from bothworlds.policies.base import act, learn, memo_of, observe, step, weight_of
from bothworlds.policies.decoupled import DecoupledParameters, DecoupledState
from bothworlds.policies.ftrl.estimators import ImportanceWeightedParameters
from bothworlds.policies.ftrl.kernel import FTRLParameters
from bothworlds.policies.ftrl.rates import (
    CommonRateParameters,
    PaperRateParameters,
    accumulate,
    coefficient,
    same_for_all,
)
from bothworlds.policies.ftrl.state import HORIZON, OFFSET, RESTARTS, FTRLState
from bothworlds.simplex.kernel import FAILED
from bothworlds.theory.accounting.decomposition import RoundRows, decompose_round
from bothworlds.theory.accounting.move import NEGLIGIBLE, Phi, copy_row, fill_heights, minimize

# how a ledger ended
DONE, IMPOSSIBLE, UNSOLVED, RESTARTED = range(4)
ANEW = 64  # q is followed from round to round, and solved for every so often: no error adds up

# What may stand for an arm in a history: draw it from the policy, or let an adversary who sees p choose it.
DRAWN, RAREST, LIKELIEST = -1, -2, -3
RARE = 1e-6


class Record(NamedTuple):
    """What is kept of each round, rounds × arms; p, rates and q also after the last. p̃ may be empty."""

    p: FloatArray
    rates: FloatArray
    q: FloatArray
    growths: FloatArray
    estimates: FloatArray
    p_bar: FloatArray
    p_tilde: FloatArray


@generic
def ftrl_of(params: Any) -> Any:
    """The FTRL parameters inside those of a policy. Registered: the policies that play an FTRL minimizer."""
    raise NotImplementedError("this policy does not play an FTRL minimizer")


@ftrl_of.register(FTRLParameters)
def _(params: FTRLParameters) -> Any:
    return params


@ftrl_of.register(DecoupledParameters)
def _(params: DecoupledParameters) -> Any:
    return params.ftrl


@generic
def ftrl_state_of(params: Any, state: Any) -> FTRLState:
    """The state of the FTRL inside a policy."""
    return state  # type: ignore[no-any-return]


@ftrl_state_of.register(DecoupledParameters)
def _(params: DecoupledParameters, state: DecoupledState) -> FTRLState:
    return state.ftrl


@generic
def rate_increments(rate: Any, state: FTRLState, out: FloatArray) -> float:
    """Fill ``out`` with s and return a ≥ 0 if γ'² − γ² = a·s is known, else return −1.

    Then γ' − γ = a·s/(γ' + γ), exact where the difference of two rounded rates has lost its digits.
    """
    return -1.0


@rate_increments.register(PaperRateParameters)
def _(rate: PaperRateParameters, state: FTRLState, out: FloatArray) -> float:
    horizon = state.scalars[HORIZON]
    out[:] = 0.0
    accumulate(1.0 - 2.0 * rate.alpha, 1.0 / horizon, state.p, out)
    root = coefficient(rate, horizon)
    return root * root


@rate_increments.register(CommonRateParameters)
def _(rate: CommonRateParameters, state: FTRLState, out: FloatArray) -> float:
    out[:] = 1.0
    return rate.theta * rate.theta if rate.growing else 0.0


@generic
def read_estimate(
    estimator: Any,
    observe: int,
    loss: float,
    weight: float,
    losses: FloatArray,
    before: FloatArray,
    columns: IntArray,
    out: FloatArray,
) -> None:
    """Fill ``out`` with ℓ̂: what the cumulative losses have gained on ``before``."""
    for i in range(columns.size):
        out[columns[i]] = losses[i] - before[i]


@read_estimate.register(ImportanceWeightedParameters)
def _(
    estimator: ImportanceWeightedParameters,
    observe: int,
    loss: float,
    weight: float,
    losses: FloatArray,
    before: FloatArray,
    columns: IntArray,
    out: FloatArray,
) -> None:
    out[:] = 0.0  # not the difference, which has lost the digits that a large sum could not hold
    out[columns[observe]] = loss / weight


@kernel
def put_arms(source: FloatArray, columns: IntArray, out: FloatArray) -> None:
    """Put the arms in their columns of a row."""
    for i in range(columns.size):
        out[columns[i]] = source[i]


@kernel
def take_arms(source: FloatArray, columns: IntArray, out: FloatArray) -> None:
    """Take the arms from their columns of a row."""
    for i in range(columns.size):
        out[i] = source[columns[i]]


@kernel
def read_rates(rate: Any, state: FTRLState, columns: IntArray, out: FloatArray) -> None:
    """Put the rates in force in their columns of a row."""
    if same_for_all(rate):
        out[:] = state.rates[0]
    else:
        put_arms(state.rates, columns, out)


@kernel
def read_growths(
    rows: FloatArray, now: RoundRows, factor: float, increments: FloatArray, columns: IntArray
) -> None:
    """γ^{t+1} − γ^t, from ``rate_increments`` where these are known."""
    if factor >= 0.0:
        put_arms(increments, columns, rows[now.growths])
    for i in range(now.every.first, now.every.last, LANES):
        new, old = load(rows[now.total.rates], i), load(rows[now.rates], i)
        increment = load(rows[now.growths], i)
        store(rows[now.growths], i, new - old if factor < 0.0 else factor * increment / (new + old))


@kernel
def choose_arm(params: Any, state: Any, p: FloatArray, choice: int, uniforms: FloatArray) -> int:
    """The arm itself, or the one that DRAWN, RAREST or LIKELIEST comes to."""
    if choice >= 0:
        return choice
    if choice == DRAWN:
        return observe(params, state, act(params, state, uniforms), uniforms)
    best = int(np.argmax(p))
    if choice == RAREST:  # among those that are played at all: an arm of 1e-30 cannot be hit twice
        for i in range(p.size):
            if RARE < p[i] < p[best]:
                best = i
    return best


@entry
def keep_ledger(
    params: Any,
    state: Any,
    arms: IntArray,
    losses: FloatArray,
    uniforms: FloatArray,
    epsilon: float,
    decoupled: bool,
    now: RoundRows,
    rows: FloatArray,
    columns: IntArray,
    scratch: FloatArray,
    out: Record,
    out_terms: FloatArray,
) -> tuple[int, int]:
    """Play the history; return how it ended and in which round (counted from 0).

    ``losses`` has a row for every round with one number, or one for each arm. DRAWN, RAREST and LIKELIEST
    in ``arms`` are replaced by arms; DRAWN takes its row of ``uniforms``. ``now``, ``rows`` and ``columns``
    are a blank round; ``scratch`` has two rows of arms.
    """
    ftrl, inner, n = ftrl_of(params), ftrl_state_of(params, state), columns.size
    phi, scalars = Phi(ftrl.regularizer, ftrl.log_barrier), inner.scalars
    before, increments = scratch[0], scratch[1]
    put_arms(inner.p, columns, rows[now.p.p])
    put_arms(inner.losses, columns, rows[now.total.losses])
    read_rates(ftrl.rate, inner, columns, rows[now.rates])
    if not minimize(phi, rows, now.total.losses, now.rates, 1.0, now.optimal, now.q.p):
        return UNSOLVED, 0
    for t in range(arms.size):
        offset = scalars[OFFSET]
        for i in range(n):
            before[i] = inner.losses[i]
        factor = rate_increments(ftrl.rate, inner, increments)
        fill_heights(phi, rows, now.p, now.every)
        fill_heights(phi, rows, now.q, now.optimal)
        draws = uniforms[min(t, uniforms.shape[0] - 1)]
        arm = choose_arm(params, state, inner.p, arms[t], draws)
        arms[t] = arm
        loss = losses[t, min(arm, losses.shape[1] - 1)]
        weight, restarts = weight_of(params, state, arm), scalars[RESTARTS]
        if not weight >= NEGLIGIBLE:
            return IMPOSSIBLE, t
        learn(params, state, arm, loss, weight, memo_of(params, state, arm, draws))
        if step(params, state) == FAILED:
            return UNSOLVED, t
        if restarts != scalars[RESTARTS]:
            return RESTARTED, t
        # losses may have been recentered by a whole number: put what was before the round on the new scale
        recentered = scalars[OFFSET] - offset
        if recentered != 0.0:
            for i in range(n):
                before[i] -= recentered
        estimates = rows[now.total.estimates]
        read_estimate(ftrl.estimator, arm, loss, weight, inner.losses, before, columns, estimates)
        put_arms(inner.p, columns, rows[now.total.end.p])
        put_arms(inner.losses, columns, rows[now.total.losses])
        read_rates(ftrl.rate, inner, columns, rows[now.total.rates])
        read_growths(rows, now, factor, increments, columns)
        terms, found = decompose_round(phi, rows, now, decoupled, t % ANEW == ANEW - 1, epsilon)
        if not found:
            return UNSOLVED, t
        for k in range(len(terms)):
            out_terms[t, k] = terms[k]
        write_start(rows, now, columns, t, out)
        take_arms(rows[now.growths], columns, out.growths[t])
        take_arms(estimates, columns, out.estimates[t])
        take_arms(rows[now.sides.end.p], columns, out.p_bar[t])
        if decoupled:
            take_arms(rows[now.tilde.end.p], columns, out.p_tilde[t])
        copy_row(rows, now.total.end.p, now.every, now.p.p)
        copy_row(rows, now.total.rates, now.every, now.rates)
        copy_row(rows, now.benchmark.end.p, now.optimal, now.q.p)
    write_start(rows, now, columns, arms.size, out)
    return DONE, arms.size


@kernel
def write_start(rows: FloatArray, now: RoundRows, columns: IntArray, t: int, out: Record) -> None:
    """What is known before the round: p, rates and q."""
    take_arms(rows[now.p.p], columns, out.p[t])
    take_arms(rows[now.rates], columns, out.rates[t])
    take_arms(rows[now.q.p], columns, out.q[t])
