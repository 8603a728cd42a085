"""The compiled ledger: a policy along a history, and every term of its regret in every round."""

from __future__ import annotations

from typing import Any

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, generic, kernel
from bothworlds._simd import LANES, add_up, fill, load, store, whole
from bothworlds.policies.base import act, learn, memo_of, observe, step, weight_of
from bothworlds.policies.decoupled import DecoupledParameters, DecoupledState
from bothworlds.policies.ftrl.estimators import ImportanceWeightedParameters
from bothworlds.policies.ftrl.rates import (
    CommonRateParameters,
    PaperRateParameters,
    accumulate,
    coefficient,
    same_for_all,
)
from bothworlds.policies.ftrl.state import EPOCH, HORIZON, OFFSET, FTRLState
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
    N_PAGE,
    PREPROCESSING,
    Q_HEIGHTS,
    RARE,
    RAREST,
    RATES,
    REGRET,
    RESTARTED,
    TOTAL,
    UNSOLVED,
    P,
    Q,
)
from bothworlds.theory.moves import account_round, place

ANEW = 64  # q is followed from round to round, and placed by the solver every so often: no error adds up


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


@rate_increments.register(PaperRateParameters)
def _(rate: PaperRateParameters, state: FTRLState, out: FloatArray) -> float:
    horizon = state.scalars[HORIZON]
    out[:] = 0.0
    accumulate(1.0 - 2.0 * rate.alpha, 1.0 / horizon, state.p, out)
    return coefficient(rate, horizon) ** 2


@rate_increments.register(CommonRateParameters)
def _(rate: CommonRateParameters, state: FTRLState, out: FloatArray) -> float:
    out[:] = 1.0
    return rate.theta**2 if rate.growing else 0.0


@generic
def read_estimate(
    estimator: Any,
    observe: int,
    loss: float,
    weight: float,
    losses: FloatArray,
    before: FloatArray,
    slots: IntArray,
    out: FloatArray,
) -> None:
    """Write down ℓ̂: what the cumulative losses have gained on ``before``."""
    for i in range(slots.size):
        out[slots[i]] = losses[i] - before[i]


@read_estimate.register(ImportanceWeightedParameters)
def _(
    estimator: ImportanceWeightedParameters,
    observe: int,
    loss: float,
    weight: float,
    losses: FloatArray,
    before: FloatArray,
    slots: IntArray,
    out: FloatArray,
) -> None:
    out[:] = 0.0  # not the difference, which has lost the digits that a large sum could not hold
    out[slots[observe]] = loss / weight


@kernel
def gather(source: FloatArray, slots: IntArray, out: FloatArray) -> None:
    """Put the arms where they belong on a sheet."""
    for i in range(slots.size):
        out[slots[i]] = source[i]


@kernel
def read(rate: Any, state: FTRLState, slots: IntArray, sheet: FloatArray, page: int) -> None:
    """Write down p and the rates in force, and the losses that led to them."""
    gather(state.p, slots, sheet[page + P])
    gather(state.losses, slots, sheet[LOSSES])
    if same_for_all(rate):
        sheet[page + RATES, :] = state.rates[0]
    else:
        gather(state.rates, slots, sheet[page + RATES])


@kernel
def write(sheet: FloatArray, page: int, slots: IntArray, rows: int, out: FloatArray) -> None:
    """Copy the first rows of a page, the arms in their own order again."""
    for row in range(rows):
        for i in range(slots.size):
            out[row, i] = sheet[page + row, slots[i]]


@kernel
def take_estimates(sheet: FloatArray, page: int, after: int, slots: IntArray, factor: float) -> None:
    """Write down the growth of the rates."""
    if factor >= 0.0:
        gather(sheet[INCREMENTS], slots, sheet[page + GROWTHS])
    for i in range(0, sheet.shape[1], LANES):
        new, old = load(sheet[after + RATES], i), load(sheet[page + RATES], i)
        grown = load(sheet[page + GROWTHS], i)
        store(sheet[page + GROWTHS], i, new - old if factor < 0.0 else factor * grown / (new + old))


@kernel
def settle(sheet: FloatArray, page: int, terms: FloatArray, side: int, epsilon: float, rest: float) -> None:
    """<ℓ̂^t, p^t − q̃^t>, where q̃^t is ``rest`` on V, and what of it is not total − benchmark."""
    sums = fill(0.0)
    for i in range(0, sheet.shape[1], LANES):
        q_tilde = (1.0 - epsilon) * load(sheet[page + Q], i) if i < side else fill(rest)
        sums = sums + load(sheet[page + ESTIMATES], i) * (load(sheet[page + P], i) - q_tilde)
    terms[REGRET] = add_up(sums)
    terms[PREPROCESSING] = terms[REGRET] - terms[TOTAL] + terms[BENCHMARK]


@kernel
def choose(params: Any, state: Any, p: FloatArray, wish: int, uniforms: FloatArray) -> int:
    """The arm itself, or the one that a wish (DRAWN, RAREST, LIKELIEST) comes to."""
    if wish >= 0:
        return wish
    if wish == DRAWN:
        return observe(params, state, act(params, state, uniforms), uniforms)
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
    slots: IntArray,
    m: int,
    decoupled: bool,
    epsilon: float,
    sheet: FloatArray,
    out: FloatArray,
    out_terms: FloatArray,
) -> tuple[int, int]:
    """Play the history; return how it ended and in which round (counted from 0).

    ``losses`` has a row for every round with one number, or one for each arm. Wishes in ``arms`` are
    replaced by arms; DRAWN takes its row of ``uniforms``. ``sheet`` is scratch, on which ``slots`` are the
    places of the arms, those of U the first m.
    """
    inner, within = machine(params), machine_state(params, state)
    reg, barrier, scalars = inner.regularizer, inner.log_barrier, within.scalars
    n, side = slots.size, whole(m + LANES - 1)
    page, after, before = 0, N_PAGE, sheet[BEFORE, :n]
    read(inner.rate, within, slots, sheet, page)
    if not place(reg, barrier, sheet, 0, m, page + RATES, 1.0, page + Q):
        return UNSOLVED, 0
    for t in range(arms.size):
        offset = scalars[OFFSET]
        for i in range(n):
            before[i] = within.losses[i]
        factor = rate_increments(inner.rate, within, sheet[INCREMENTS, :n])
        heights_of(reg, sheet, sheet.shape[1], page + P, HEIGHTS)
        heights_of(reg, sheet, side, page + Q, Q_HEIGHTS)
        arms[t] = choose(params, state, within.p, arms[t], uniforms[min(t, uniforms.shape[0] - 1)])
        arm = arms[t]
        loss = losses[t, min(arm, losses.shape[1] - 1)]
        weight, epoch = weight_of(params, state, arm), scalars[EPOCH]
        if not weight >= NOTHING:
            return IMPOSSIBLE, t
        learn(params, state, arm, loss, weight, memo_of(params, state, arm, uniforms[0]))
        if step(params, state) == FAILED:
            return UNSOLVED, t
        if epoch != scalars[EPOCH]:
            return RESTARTED, t
        # losses may have been recentred by a whole number: put what was before the round on the new scale
        recentred = scalars[OFFSET] - offset
        if recentred != 0.0:
            for i in range(n):
                before[i] -= recentred
        read(inner.rate, within, slots, sheet, after)
        take_estimates(sheet, page, after, slots, factor)
        read_estimate(
            inner.estimator, arm, loss, weight, within.losses, before, slots, sheet[page + ESTIMATES]
        )
        terms = out_terms[t]
        anew = t % ANEW == ANEW - 1
        if not account_round(reg, barrier, sheet, page, after, terms, m, n, decoupled, anew):
            return UNSOLVED, t
        settle(sheet, page, terms, side, epsilon, epsilon / (n - m))
        write(sheet, page, slots, out.shape[1], out[t])
        page, after = after, page
    write(sheet, page, slots, Q + 1, out[arms.size])
    return DONE, arms.size
