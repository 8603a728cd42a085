"""Rates that follow the policy's own play."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from bothworlds._jit import kernel
from bothworlds.policies.ftrl.rates.base import (
    CONTINUE,
    UNUSED,
    Rates,
    advance_rates,
    begin_rates,
    join_rates,
    log_arms,
    log_horizon,
    next_horizon,
    note_error,
    rest_rates,
)
from bothworlds.policies.ftrl.state import HORIZON, ROUND, FTRLState


class EntropyRateParameters(NamedTuple):
    """K/log K, log K, log T (0: unknown), and a horizon that plays no part."""

    ratio: float
    log_arms: float
    log_horizon: float
    horizon: float


@dataclass(frozen=True)
class EntropyRate(Rates, name="entropy-rate"):
    """Ito, Tsuchiya and Honda's (2022): γ_1 = c, γ_{t+1} = γ_t + c/√(1 + Σ_{s≤t} H(p^s)/log K) for all arms.

    H is the entropy and c = max{1, ½·√(K log T/log K)}. With an unknown horizon log(t + K) stands for log T
    in round t; log T is taken as at least 1, and with one arm so is log K.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.EntropyRate(), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[1.823, 1.823],
           [3.111, 3.111],
           [4.166, 4.166]])
    """

    def parameters(self, n_arms: int, horizon: int | None) -> EntropyRateParameters:
        """The numbers in c."""
        log_k = log_arms(n_arms)
        return EntropyRateParameters(
            n_arms / log_k, log_k, 0.0 if horizon is None else log_horizon(horizon), UNUSED
        )


@kernel
def increment(rate: EntropyRateParameters, t: float, n_arms: int) -> float:
    """c in round t."""
    log_t = rate.log_horizon if rate.log_horizon > 0.0 else log_horizon(t + n_arms)
    return max(1.0, 0.5 * math.sqrt(rate.ratio * log_t))


@begin_rates.register(EntropyRateParameters)
def _(rate: EntropyRateParameters, state: FTRLState) -> None:
    state.rates[:] = increment(rate, 1.0, state.rates.size)


@advance_rates.register(EntropyRateParameters)
def _(rate: EntropyRateParameters, state: FTRLState) -> float:
    entropy = 0.0
    for i in range(state.p.size):
        if state.p[i] > 0.0:
            entropy -= state.p[i] * math.log(state.p[i])
    c = increment(rate, state.scalars[ROUND], state.rates.size)
    for i in range(state.p.size):
        state.sums[i] += entropy
        state.rates[i] += c / math.sqrt(1.0 + state.sums[i] / rate.log_arms)
    return CONTINUE


@rest_rates.register(EntropyRateParameters)
def _(rate: EntropyRateParameters, state: FTRLState, before: FTRLState, arm: int) -> None:
    pass


@join_rates.register(EntropyRateParameters)
def _(rate: EntropyRateParameters, state: FTRLState) -> None:
    state.sums[-1] = state.sums[0]
    state.rates[-1] = state.rates[0]


class CountedRateParameters(NamedTuple):
    """Whether the horizon is unknown, log T of one that is known, and T (or the first T_k)."""

    restarts: bool
    log_horizon: float
    horizon: float


@dataclass(frozen=True)
class CountedRates(Rates, name="counted-rates"):
    """γ_i^t = √((1 + N_i)/log T), N_i how often arm i was seen before round t: a round moves one rate only.

    With an unknown horizon the policy restarts at horizons T_0 = max(4, K), T_{k+1} = T_k². log T is taken as
    at least 1.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.CountedRates(), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[0.466, 0.466],
           [0.659, 0.466],
           [0.807, 0.466]])
    """

    def parameters(self, n_arms: int, horizon: int | None) -> CountedRateParameters:
        """T, or the first T_k."""
        rounds = float(max(4, n_arms) if horizon is None else horizon)
        return CountedRateParameters(horizon is None, log_horizon(rounds), rounds)


@kernel
def counted_rate(horizon: float, count: float) -> float:
    """γ of an arm that was observed ``count`` times."""
    return math.sqrt((1.0 + count) / log_horizon(horizon))


@begin_rates.register(CountedRateParameters)
def _(rate: CountedRateParameters, state: FTRLState) -> None:
    state.rates[:] = counted_rate(state.scalars[HORIZON], 0.0)


@note_error.register(CountedRateParameters, inline=True)
def _(rate: CountedRateParameters, state: FTRLState, arm: int, error: float) -> None:
    count = state.sums[arm] + 1.0
    state.sums[arm] = count
    if rate.restarts:
        state.rates[arm] = counted_rate(state.scalars[HORIZON], count)
    else:  # the same without a logarithm in every round
        state.rates[arm] = math.sqrt((1.0 + count) / rate.log_horizon)


@advance_rates.register(CountedRateParameters, inline=True)
def _(rate: CountedRateParameters, state: FTRLState) -> float:
    return next_horizon(rate.restarts, state)
