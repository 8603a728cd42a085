"""Learning rates: what a schedule of them is, and the paper's.

A schedule is a ``NamedTuple`` of numbers, among them ``horizon``, with two kernels chosen by its type:
``begin_rates`` and ``advance_rates``. A policy with rates of its own registers them in its own file.

The paper's rates are γ_i^t = θ·√(1 + Σ_{τ<t} w_τ · max(p_i^τ, 1/T)^{1−2α}) with w = 1;
``error_weighted`` takes w = 4·(prediction error)² instead. T is

* known,
* unknown, replaced by T_k in segments of that length, T_{k+1} = T_k² (``RESTARTS``), or
* unknown, replaced by the running round: log(t + K) for log T, 1/t for the clip (``RUNNING``).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, generic, kernel
from bothworlds._simd import LANES, exp_of, fill, lane, load, log_of, most, root, store, whole
from bothworlds.policies.ftrl_state import HORIZON, ROUND, FTRLState

KNOWN = 0
RESTARTS = 1
RUNNING = 2
UNUSED = 1e300  # a horizon that plays no part; finite, so that states are plain JSON
ON = 0.0  # what advance_rates returns when nothing restarts


@generic
def same_for_all(rate: Any) -> bool:
    """Does ``advance_rates`` only set ``rates[0]``, which is for all arms?"""
    return False


@generic
def begin_rates(rate: Any, state: FTRLState) -> None:
    """Fill ``state.rates`` for the first round after a (re)start; the scalars are set, the sums are zero."""
    raise NotImplementedError("a schedule of rates must register begin_rates")


@generic
def advance_rates(rate: Any, state: FTRLState, observe: int, error: float) -> float:
    """Learn from the round just played, and fill ``state.rates`` for the next.

    ``error`` is the loss of the observed arm minus its prediction; p and the round are still those of the
    round played. Returns ``ON``, or the horizon with which the policy is to restart.
    """
    raise NotImplementedError("a schedule of rates must register advance_rates")


class RateParameters(NamedTuple):
    """θ (before division by √log T where ``over_log``), α, and what stands for T."""

    theta: float
    over_log: bool
    alpha: float
    growing: bool
    error_weighted: bool
    schedule: int
    horizon: float
    """T; the first T_k under ``RESTARTS``; ``UNUSED`` where T plays no part."""


def log_horizon(horizon: float) -> float:
    """log T, but at least 1: the paper's 1/√(log T) is meant for T ≥ 3."""
    return max(1.0, math.log(horizon))


def log_arms(n_arms: int) -> float:
    """log K, but 1 for a single arm, which any rate serves: nothing is divided by zero."""
    return math.log(n_arms) if n_arms > 1 else 1.0


@kernel
def coefficient(rate: RateParameters, t: float, horizon: float, n_arms: int) -> float:
    """θ in round t."""
    if not rate.over_log:
        return rate.theta
    effective = t + n_arms if rate.schedule == RUNNING else horizon
    return rate.theta / math.sqrt(max(1.0, math.log(effective)))


@kernel
def accumulate_powers(power: float, clip: float, weight: float, p: FloatArray, sums: FloatArray) -> None:
    """Add w·max(p_i, clip)^power to every sum."""
    for i in range(0, whole(p.size), LANES):
        block = exp_of(power * log_of(most(load(p, i), clip)))
        store(sums, i, load(sums, i) + weight * block)
    for i in range(whole(p.size), p.size):
        sums[i] += weight * lane(exp_of(power * log_of(fill(max(p[i], clip)))), 0)


@kernel(inline=True)
def accumulate(
    rate: RateParameters, t: float, horizon: float, weight: float, p: FloatArray, sums: FloatArray
) -> None:
    """Add round t's term w·max(p_i, 1/T)^{1−2α} to every sum."""
    if not rate.growing:
        return
    clip = 1.0 / t if rate.schedule == RUNNING else 1.0 / horizon
    power = 1.0 - 2.0 * rate.alpha
    if power == 0.0:
        for i in range(p.size):
            sums[i] += weight
    elif power == 1.0:
        for i in range(p.size):
            sums[i] += weight * max(p[i], clip)
    elif power == -1.0:
        for i in range(p.size):
            sums[i] += weight / max(p[i], clip)
    else:
        accumulate_powers(power, clip, weight, p, sums)


@kernel(inline=True)
def advance_linear(
    theta: float, clip: float, weight: float, p: FloatArray, sums: FloatArray, rates: FloatArray
) -> None:
    """Sums and rates for α = 0, the log-barrier's, in one pass."""
    for i in range(0, whole(p.size), LANES):
        block = load(sums, i) + weight * most(load(p, i), clip)
        store(sums, i, block)
        store(rates, i, theta * root(1.0 + block))
    for i in range(whole(p.size), p.size):
        sums[i] += weight * max(p[i], clip)
        rates[i] = theta * math.sqrt(1.0 + sums[i])


class CommonRateParameters(NamedTuple):
    """γ = θ·√t for all arms, or θ if it does not grow: the rates above for α = ½. T plays no part."""

    theta: float
    growing: bool
    horizon: float


@same_for_all.register(CommonRateParameters)
def _(rate: CommonRateParameters) -> bool:
    return True


@begin_rates.register(CommonRateParameters)
def _(rate: CommonRateParameters, state: FTRLState) -> None:
    state.rates[:] = rate.theta


@advance_rates.register(CommonRateParameters)
def _(rate: CommonRateParameters, state: FTRLState, observe: int, error: float) -> float:
    if rate.growing:
        state.rates[0] = rate.theta * math.sqrt(1.0 + state.scalars[ROUND])
    return ON


@begin_rates.register(RateParameters)
def _(rate: RateParameters, state: FTRLState) -> None:
    state.rates[:] = coefficient(rate, 1.0, state.scalars[HORIZON], state.rates.size)


@advance_rates.register(RateParameters, inline=True)
def _(rate: RateParameters, state: FTRLState, observe: int, error: float) -> float:
    t = state.scalars[ROUND]
    horizon = state.scalars[HORIZON]
    if rate.schedule == RESTARTS and t + 1.0 > horizon:
        return float(horizon * horizon)
    weight = 4.0 * error**2 if rate.error_weighted else 1.0
    theta = coefficient(rate, t + 1.0, horizon, state.rates.size)
    if rate.growing and rate.alpha == 0.0:
        clip = 1.0 / t if rate.schedule == RUNNING else 1.0 / horizon
        advance_linear(theta, clip, weight, state.p, state.sums, state.rates)
        return ON
    accumulate(rate, t, horizon, weight, state.p, state.sums)
    for i in range(state.rates.size):
        state.rates[i] = theta * math.sqrt(1.0 + state.sums[i])
    return ON
