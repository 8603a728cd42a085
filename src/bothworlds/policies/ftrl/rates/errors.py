"""Rates that follow the errors of predictions."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, NamedTuple

import numpy as np

from bothworlds._jit import kernel
from bothworlds._simd import LANES, load, store, whole
from bothworlds.policies.ftrl.rates.base import (
    CONTINUE,
    UNUSED,
    Rates,
    ScaledRates,
    advance_rates,
    begin_rates,
    join_rates,
    log_horizon,
    next_horizon,
    note_error,
    rest_rates,
)
from bothworlds.policies.ftrl.rates.paper import add_linear, advance_linear
from bothworlds.policies.ftrl.state import ERRORS, HORIZON, RESTARTS, ROUND, FTRLState
from bothworlds.policies.shared.confidence import require_horizon
from bothworlds.settings import Within


class ErrorWeightedParameters(NamedTuple):
    """θ (before division by √log(t + K) where T is unknown), whether increments keep theirs, and T."""

    theta: float
    running: bool
    monotone: bool
    horizon: float


@dataclass(frozen=True)
class ErrorWeightedRates(ScaledRates, name="error-weighted-rates"):
    """The paper's rates for α = 0 with rounds weighed by their squared prediction error e = ℓ − b.

    γ_i^t = θ/√(log T) · √(1 + Σ_{τ<t} 4·e_τ²·max(p_i^τ, 1/T)). With an unknown horizon log(t + K) stands for
    log T and 1/t for the clip; nothing restarts. The error is that of the estimator's baseline.

    Parameters
    ----------
    theta:
        θ > 0.
    monotone:
        With an unknown horizon, let the rates never fall: what round t adds to the root is divided by
        √(log(t + K)), and what was there before stays.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.ErrorWeightedRates(0.75), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[0.349, 0.349],
           [0.605, 0.605],
           [0.64 , 0.667]])
    """

    _: KW_ONLY
    monotone: bool = False

    def parameters(self, n_arms: int, horizon: int | None) -> ErrorWeightedParameters:
        """θ in numbers for this horizon."""
        monotone = bool(self.monotone)
        if horizon is None:
            return ErrorWeightedParameters(self.theta, True, monotone, UNUSED)
        theta = self.theta / math.sqrt(log_horizon(horizon))
        return ErrorWeightedParameters(theta, False, monotone, float(horizon))


@kernel
def running_theta(rate: ErrorWeightedParameters, t: float, n_arms: int) -> float:
    """θ in round t."""
    return rate.theta / math.sqrt(log_horizon(t + n_arms)) if rate.running else rate.theta


@begin_rates.register(ErrorWeightedParameters)
def _(rate: ErrorWeightedParameters, state: FTRLState) -> None:
    state.rates[:] = running_theta(rate, 1.0, state.rates.size)


@note_error.register(ErrorWeightedParameters, inline=True)
def _(rate: ErrorWeightedParameters, state: FTRLState, arm: int, error: float) -> None:
    state.scalars[ERRORS] += error * error


@advance_rates.register(ErrorWeightedParameters, inline=True)
def _(rate: ErrorWeightedParameters, state: FTRLState) -> float:
    t = state.scalars[ROUND]
    weight = 4.0 * state.scalars[ERRORS]
    state.scalars[ERRORS] = 0.0
    clip = 1.0 / t if rate.running else 1.0 / state.scalars[HORIZON]
    if rate.running and rate.monotone:
        theta = running_theta(rate, t, state.rates.size)
        add_linear(theta, clip, weight, state.p, state.sums, state.rates)
        return CONTINUE
    theta = running_theta(rate, t + 1.0, state.rates.size)
    advance_linear(theta, clip, weight, state.p, state.sums, state.rates)
    return CONTINUE


@rest_rates.register(ErrorWeightedParameters, inline=True)
def _(rate: ErrorWeightedParameters, state: FTRLState, before: FTRLState, arm: int) -> None:
    state.sums[arm] = before.sums[arm]
    state.rates[arm] = before.rates[arm]
    if not rate.monotone:  # θ goes on
        theta = running_theta(rate, state.scalars[ROUND], state.rates.size)
        state.rates[arm] = theta * math.sqrt(1.0 + state.sums[arm])


@join_rates.register(ErrorWeightedParameters)
def _(rate: ErrorWeightedParameters, state: FTRLState) -> None:
    theta = running_theta(rate, state.scalars[ROUND], state.rates.size)
    if rate.monotone:
        state.rates[-1] = theta
    else:
        state.rates[:] = theta * np.sqrt(1.0 + state.sums)


class DeviationRateParameters(NamedTuple):
    """Whether the horizon is unknown, and T (or that of the first segment)."""

    restarts: bool
    horizon: float


@dataclass(frozen=True)
class DeviationRates(Rates, name="deviation-rates"):
    """Ito's rates (2021): γ_i^1 = 2, γ_i^{t+1} = γ_i^t + e²·(1[i = a] − p_i)²/(2·γ_i^t·log T).

    e is the prediction error of the observed arm a. An unknown horizon is replaced by T_k = 2^{2^k} in
    segments of that length (4, 16, 256, …). log T is taken as at least 1.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.DeviationRates(), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[2.   , 2.   ],
           [2.014, 2.014],
           [2.018, 2.018]])
    """

    def parameters(self, n_arms: int, horizon: int | None) -> DeviationRateParameters:
        """T, or the length of the first segment."""
        return DeviationRateParameters(horizon is None, 4.0 if horizon is None else float(horizon))


@begin_rates.register(DeviationRateParameters)
def _(rate: DeviationRateParameters, state: FTRLState) -> None:
    state.rates[:] = 2.0


@note_error.register(DeviationRateParameters, inline=True)
def _(rate: DeviationRateParameters, state: FTRLState, arm: int, error: float) -> None:
    scale = 0.5 * error * error / log_horizon(state.scalars[HORIZON])
    for i in range(state.p.size):
        deviation = (1.0 if i == arm else 0.0) - state.p[i]
        state.rates[i] += scale * deviation * deviation / state.rates[i]


@advance_rates.register(DeviationRateParameters, inline=True)
def _(rate: DeviationRateParameters, state: FTRLState) -> float:
    return next_horizon(rate.restarts, state)


class VarianceRateParameters(NamedTuple):
    """1 + ε, log T, and T."""

    first: float
    log_horizon: float
    horizon: float


@dataclass(frozen=True)
class VarianceRates(Rates, name="variance-rates"):
    """The rates of LB-INF-V: γ_i^t = √((1+ε)² + Σ_{s<t} α_i^s/log T), which follow each arm's variance.

    α_i = 1[i = a]·e²·min{1, 2(1−p_a)/(p_a²·log T)}, e the prediction error of the observed arm a. Needs the
    horizon.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.VarianceRates(), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[1.2  , 1.2  ],
           [1.276, 1.2  ],
           [1.297, 1.2  ]])
    """

    epsilon: Annotated[float, Within(above=0.0, at_most=0.5)] = 0.2

    def parameters(self, n_arms: int, horizon: int | None) -> VarianceRateParameters:
        """1 + ε and log T."""
        horizon = require_horizon(self, horizon, "DeviationRates()")
        return VarianceRateParameters(1.0 + self.epsilon, log_horizon(horizon), float(horizon))


@begin_rates.register(VarianceRateParameters)
def _(rate: VarianceRateParameters, state: FTRLState) -> None:
    state.rates[:] = rate.first


@note_error.register(VarianceRateParameters)
def _(rate: VarianceRateParameters, state: FTRLState, arm: int, error: float) -> None:
    p = state.p[arm]
    spread = min(1.0, 2.0 * (1.0 - p) / (p * p * rate.log_horizon))
    state.sums[arm] += error * error * spread / rate.log_horizon
    state.rates[arm] = math.sqrt(rate.first * rate.first + state.sums[arm])


@advance_rates.register(VarianceRateParameters)
def _(rate: VarianceRateParameters, state: FTRLState) -> float:
    return CONTINUE


class HalvingRateParameters(NamedTuple):
    """η of the first epoch, the bound K·log T/3 on η²·V, and T."""

    eta: float
    limit: float
    horizon: float


@dataclass(frozen=True)
class HalvingRate(Rates, name="halving-rate"):
    """BROAD-OMD's: γ = 1/η, and a restart with half of η as soon as V ≥ K·log T/(3η²). Needs the horizon.

    V = Σ_t Σ_i (1[i = a_t]·e − p_i·e)², e the prediction error of the observed arm a (without a baseline, its
    loss).

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.HalvingRate(0.1), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[10., 10.],
           [10., 10.],
           [10., 10.]])
    """

    eta: Annotated[float, Within(above=0.0, at_most=1.0)]

    def parameters(self, n_arms: int, horizon: int | None) -> HalvingRateParameters:
        """η and the bound."""
        horizon = require_horizon(self, horizon, "SlowRootRate(0.125)")
        return HalvingRateParameters(self.eta, n_arms * log_horizon(horizon) / 3.0, float(horizon))


@begin_rates.register(HalvingRateParameters)
def _(rate: HalvingRateParameters, state: FTRLState) -> None:
    state.rates[:] = 2.0 ** state.scalars[RESTARTS] / rate.eta


@note_error.register(HalvingRateParameters, inline=True)
def _(rate: HalvingRateParameters, state: FTRLState, arm: int, error: float) -> None:
    p, sums, n = state.p, state.sums, state.p.size
    own, moved = sums[arm], error * (1.0 - p[arm])
    for i in range(0, whole(n), LANES):  # all arms as if they were not seen
        block = error * load(p, i)
        store(sums, i, load(sums, i) + block * block)
    for i in range(whole(n), n):
        last = error * p[i]
        sums[i] += last * last
    sums[arm] = own + moved * moved


@advance_rates.register(HalvingRateParameters, inline=True)
def _(rate: HalvingRateParameters, state: FTRLState) -> float:
    variance = 0.0
    for i in range(state.p.size):
        variance += state.sums[i]
    if variance >= rate.limit * (state.rates[0] * state.rates[0]):
        return float(state.scalars[HORIZON])
    return CONTINUE
