"""Learning rates γ_i, the second part of FTRL: one class for each schedule, usable with any regularizer.

A schedule becomes a ``NamedTuple`` of numbers, among them ``horizon``, with kernels chosen by its type:
``begin_rates`` before the first round and after a restart, ``note_error`` for every observation, and
``advance_rates`` at the end of every round. A larger γ means smaller steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, generic, kernel
from bothworlds._simd import LANES, exp_of, fill, lane, load, log_of, most, root, store, whole
from bothworlds._value import Value
from bothworlds._words import short
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.confidence import require_horizon
from bothworlds.policies.ftrl.state import EPOCH, ERRORS, HORIZON, ROUND, FTRLState

UNUSED = 1e300  # a horizon that plays no part; finite, so that states are plain JSON
CONTINUE = 0.0  # what advance_rates returns when nothing restarts


@dataclass(frozen=True)
class Rates(Value, ABC):
    """Base class of learning rates: immutable, comparable, hashable, printable."""

    registry: ClassVar[dict[str, type[Any]]] = {}

    @abstractmethod
    def parameters(self, n_arms: int, horizon: int | None) -> Any:
        """The ``NamedTuple`` whose type selects the kernels."""


@dataclass(frozen=True)
class ScaledRates(Rates):
    """Base class of rates with a factor θ > 0."""

    theta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", _check.number("theta", self.theta, above=0.0))


@generic(inline=True)
def same_for_all(rate: Any) -> bool:
    """Does ``advance_rates`` only set ``rates[0]``, which is for all arms?"""
    return False


@generic
def begin_rates(rate: Any, state: FTRLState) -> None:
    """Fill ``state.rates`` for the first round after a (re)start; the scalars are set, the sums are zero."""
    raise NotImplementedError("rates must register begin_rates")


@generic(inline=True)
def note_error(rate: Any, state: FTRLState, arm: int, error: float) -> None:
    """Take in the loss of an observed arm minus its prediction; p is that of the round played."""


@generic
def advance_rates(rate: Any, state: FTRLState) -> float:
    """Fill ``state.rates`` for the next round; p and the round are still those of the round played.

    Returns ``CONTINUE``, or the horizon with which the policy is to restart.
    """
    raise NotImplementedError("rates must register advance_rates")


@generic(inline=True)
def rest_rates(rate: Any, state: FTRLState, before: FTRLState, arm: int) -> None:
    """Undo what the round has done to the rate of an arm that was asleep; ``before`` is the state before it.

    Nothing where all arms have the same rate.
    """
    state.sums[arm] = before.sums[arm]
    state.rates[arm] = before.rates[arm]


@generic
def join_rates(rate: Any, state: FTRLState) -> None:
    """Bring the rates up to date with the number of arms; the last one is new (called from Python only).

    Its rate is as after a restart, those of others as before: right where each arm has its own.
    """


def log_horizon(horizon: float) -> float:
    """log T, but at least 1: the paper's 1/√(log T) is meant for T ≥ 3."""
    return max(1.0, math.log(horizon))


def log_arms(n_arms: int) -> float:
    """log K, but 1 for a single arm, which any rate serves: nothing is divided by zero."""
    return math.log(n_arms) if n_arms > 1 else 1.0


@kernel(inline=True)
def next_horizon(restarts: bool, state: FTRLState) -> float:
    """The square of the horizon, where it stands for one that is unknown and is over; else ``CONTINUE``."""
    horizon = state.scalars[HORIZON]
    if restarts and state.scalars[ROUND] + 1.0 > horizon:
        return float(horizon * horizon)
    return CONTINUE


# --- one rate for all arms, which depends on the round alone --------------------------------------------


class CommonRateParameters(NamedTuple):
    """γ = θ·√t for all arms, or θ if it does not grow. T plays no part."""

    theta: float
    growing: bool
    horizon: float


@dataclass(frozen=True)
class RootRate(ScaledRates, name="root-rate"):
    """γ_t = θ·√t for all arms."""

    def parameters(self, n_arms: int, horizon: int | None) -> CommonRateParameters:
        """θ; the horizon plays no part."""
        return CommonRateParameters(self.theta, True, UNUSED)


@dataclass(frozen=True)
class ConstantRate(ScaledRates, name="constant-rate"):
    """γ = θ for all arms and rounds."""

    def parameters(self, n_arms: int, horizon: int | None) -> CommonRateParameters:
        """θ; the horizon plays no part."""
        return CommonRateParameters(self.theta, False, UNUSED)


@same_for_all.register(CommonRateParameters)
def _(rate: CommonRateParameters) -> bool:
    return True


@begin_rates.register(CommonRateParameters)
def _(rate: CommonRateParameters, state: FTRLState) -> None:
    state.rates[:] = rate.theta


@advance_rates.register(CommonRateParameters, inline=True)
def _(rate: CommonRateParameters, state: FTRLState) -> float:
    if rate.growing:
        state.rates[0] = rate.theta * math.sqrt(1.0 + state.scalars[ROUND])
    return CONTINUE


@rest_rates.register(CommonRateParameters, inline=True)
def _(rate: CommonRateParameters, state: FTRLState, before: FTRLState, arm: int) -> None:
    pass


@join_rates.register(CommonRateParameters)
def _(rate: CommonRateParameters, state: FTRLState) -> None:
    state.rates[:] = rate.theta * math.sqrt(state.scalars[ROUND] if rate.growing else 1.0)


class SlowRootRateParameters(NamedTuple):
    """θ; T plays no part."""

    theta: float
    horizon: float


@dataclass(frozen=True)
class SlowRootRate(ScaledRates, name="slow-root-rate"):
    """γ_t = θ·√(t/log(1 + t)) for all arms."""

    def parameters(self, n_arms: int, horizon: int | None) -> SlowRootRateParameters:
        """θ; the horizon plays no part."""
        return SlowRootRateParameters(self.theta, UNUSED)


@begin_rates.register(SlowRootRateParameters)
def _(rate: SlowRootRateParameters, state: FTRLState) -> None:
    state.rates[:] = rate.theta * math.sqrt(1.0 / math.log(2.0))


@advance_rates.register(SlowRootRateParameters)
def _(rate: SlowRootRateParameters, state: FTRLState) -> float:
    t = state.scalars[ROUND] + 1.0
    state.rates[:] = rate.theta * math.sqrt(t / math.log1p(t))
    return CONTINUE


@rest_rates.register(SlowRootRateParameters, inline=True)
def _(rate: SlowRootRateParameters, state: FTRLState, before: FTRLState, arm: int) -> None:
    pass


@join_rates.register(SlowRootRateParameters)
def _(rate: SlowRootRateParameters, state: FTRLState) -> None:
    state.rates[-1] = state.rates[0]


# --- the paper's ----------------------------------------------------------------------------------------


class PaperRateParameters(NamedTuple):
    """θ (before division by √log T where ``over_log``), α, and T, or the first T_k where it restarts."""

    theta: float
    over_log: bool
    alpha: float
    restarts: bool
    horizon: float


@dataclass(frozen=True)
class PaperRates(ScaledRates, name="paper-rates"):
    """The rates of Jin, Liu and Luo (2023): γ_i^t = θ·√(1 + Σ_{τ<t} max(p_i^τ, 1/T)^{1−2α}).

    With an unknown horizon the policy restarts at horizons T_0 = max(4, K), T_{k+1} = T_k²; α = ½ needs
    none: then γ^t = θ·√t for all arms.

    Parameters
    ----------
    theta, alpha:
        θ > 0 and α in [0, 1].
    over_log:
        Divide θ by √(log T), where log T is taken as at least 1.
    """

    alpha: float
    _: KW_ONLY
    over_log: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", _check.number("alpha", self.alpha, at_least=0.0, at_most=1.0))
        _check.one_of("over_log", self.over_log, (True, False))

    def parameters(self, n_arms: int, horizon: int | None) -> PaperRateParameters | CommonRateParameters:
        """θ in numbers for this horizon; a common rate where it is one."""
        if horizon is None and (self.over_log or self.alpha != 0.5):
            first = float(max(4, n_arms))
            return PaperRateParameters(self.theta, bool(self.over_log), self.alpha, True, first)
        theta = self.theta
        if horizon is not None and self.over_log:
            theta /= math.sqrt(log_horizon(horizon))
        rounds = UNUSED if horizon is None else float(horizon)
        if self.alpha == 0.5:
            return CommonRateParameters(theta, True, rounds)
        return PaperRateParameters(theta, False, self.alpha, False, rounds)


@kernel
def coefficient(rate: PaperRateParameters, horizon: float) -> float:
    """θ."""
    return rate.theta / math.sqrt(max(1.0, math.log(horizon))) if rate.over_log else rate.theta


@kernel(inline=True)
def accumulate(power: float, clip: float, p: FloatArray, sums: FloatArray) -> None:
    """Add max(p_i, clip)^power to every sum."""
    if power == 0.0:
        for i in range(p.size):
            sums[i] += 1.0
    elif power == -1.0:
        for i in range(p.size):
            sums[i] += 1.0 / max(p[i], clip)
    else:
        accumulate_powers(power, clip, p, sums)


@kernel
def accumulate_powers(power: float, clip: float, p: FloatArray, sums: FloatArray) -> None:
    """The same for any power, in lanes."""
    for i in range(0, whole(p.size), LANES):
        store(sums, i, load(sums, i) + exp_of(power * log_of(most(load(p, i), clip))))
    for i in range(whole(p.size), p.size):
        sums[i] += lane(exp_of(power * log_of(fill(max(p[i], clip)))), 0)


@kernel(inline=True)
def advance_linear(
    theta: float, clip: float, weight: float, p: FloatArray, sums: FloatArray, rates: FloatArray
) -> None:
    """Add w·max(p_i, clip) to every sum, and take θ·√(1 + sum) for the rate, in one pass: α = 0."""
    for i in range(0, whole(p.size), LANES):
        block = load(sums, i) + weight * most(load(p, i), clip)
        store(sums, i, block)
        store(rates, i, theta * root(1.0 + block))
    for i in range(whole(p.size), p.size):
        sums[i] += weight * max(p[i], clip)
        rates[i] = theta * math.sqrt(1.0 + sums[i])


@kernel(inline=True)
def add_linear(
    theta: float, clip: float, weight: float, p: FloatArray, sums: FloatArray, rates: FloatArray
) -> None:
    """The same, but add θ times the growth of √(1 + sum) to the rate."""
    for i in range(0, whole(p.size), LANES):
        before = load(sums, i)
        block = before + weight * most(load(p, i), clip)
        store(sums, i, block)
        store(rates, i, load(rates, i) + theta * (root(1.0 + block) - root(1.0 + before)))
    for i in range(whole(p.size), p.size):
        old = math.sqrt(1.0 + sums[i])
        sums[i] += weight * max(p[i], clip)
        rates[i] += theta * (math.sqrt(1.0 + sums[i]) - old)


@begin_rates.register(PaperRateParameters)
def _(rate: PaperRateParameters, state: FTRLState) -> None:
    state.rates[:] = coefficient(rate, state.scalars[HORIZON])


@advance_rates.register(PaperRateParameters, inline=True)
def _(rate: PaperRateParameters, state: FTRLState) -> float:
    following = next_horizon(rate.restarts, state)
    if following != CONTINUE:
        return following
    horizon = state.scalars[HORIZON]
    theta = coefficient(rate, horizon)
    if rate.alpha == 0.0:
        advance_linear(theta, 1.0 / horizon, 1.0, state.p, state.sums, state.rates)
        return CONTINUE
    accumulate(1.0 - 2.0 * rate.alpha, 1.0 / horizon, state.p, state.sums)
    for i in range(state.rates.size):
        state.rates[i] = theta * math.sqrt(1.0 + state.sums[i])
    return CONTINUE


# --- rates that follow the errors of predictions --------------------------------------------------------


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
    """

    _: KW_ONLY
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.one_of("monotone", self.monotone, (True, False))

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
    return rate.theta / math.sqrt(max(1.0, math.log(t + n_arms))) if rate.running else rate.theta


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
    """

    def parameters(self, n_arms: int, horizon: int | None) -> DeviationRateParameters:
        """T, or the length of the first segment."""
        return DeviationRateParameters(horizon is None, 4.0 if horizon is None else float(horizon))


@begin_rates.register(DeviationRateParameters)
def _(rate: DeviationRateParameters, state: FTRLState) -> None:
    state.rates[:] = 2.0


@note_error.register(DeviationRateParameters, inline=True)
def _(rate: DeviationRateParameters, state: FTRLState, arm: int, error: float) -> None:
    scale = 0.5 * error * error / max(1.0, math.log(state.scalars[HORIZON]))
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
    """

    epsilon: float = 0.2

    def __post_init__(self) -> None:
        value = _check.number("epsilon", self.epsilon, above=0.0, at_most=0.5)
        object.__setattr__(self, "epsilon", value)

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
    """

    eta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", _check.number("eta", self.eta, above=0.0, at_most=1.0))

    def parameters(self, n_arms: int, horizon: int | None) -> HalvingRateParameters:
        """η and the bound."""
        horizon = require_horizon(self, horizon, "SlowRootRate(0.125)")
        return HalvingRateParameters(self.eta, n_arms * log_horizon(horizon) / 3.0, float(horizon))


@begin_rates.register(HalvingRateParameters)
def _(rate: HalvingRateParameters, state: FTRLState) -> None:
    state.rates[:] = 2.0 ** state.scalars[EPOCH] / rate.eta


@note_error.register(HalvingRateParameters)
def _(rate: HalvingRateParameters, state: FTRLState, arm: int, error: float) -> None:
    for i in range(state.p.size):
        deviation = (1.0 if i == arm else 0.0) - state.p[i]
        moved = error * deviation
        state.sums[i] += moved * moved


@advance_rates.register(HalvingRateParameters)
def _(rate: HalvingRateParameters, state: FTRLState) -> float:
    variance = 0.0
    for i in range(state.p.size):
        variance += state.sums[i]
    if variance >= rate.limit * (state.rates[0] * state.rates[0]):
        return float(state.scalars[HORIZON])
    return CONTINUE


# --- rates that follow the policy's own play ------------------------------------------------------------


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
    log_t = rate.log_horizon if rate.log_horizon > 0.0 else max(1.0, math.log(t + n_arms))
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
    """Whether the horizon is unknown, and T (or the first T_k)."""

    restarts: bool
    horizon: float


@dataclass(frozen=True)
class CountedRates(Rates, name="counted-rates"):
    """γ_i^t = √((1 + N_i)/log T), N_i how often arm i was seen before round t: a round moves one rate only.

    With an unknown horizon the policy restarts at horizons T_0 = max(4, K), T_{k+1} = T_k². log T is taken as
    at least 1.
    """

    def parameters(self, n_arms: int, horizon: int | None) -> CountedRateParameters:
        """T, or the first T_k."""
        return CountedRateParameters(horizon is None, float(max(4, n_arms) if horizon is None else horizon))


@kernel
def counted_rate(horizon: float, count: float) -> float:
    """γ of an arm that was observed ``count`` times."""
    return math.sqrt((1.0 + count) / max(1.0, math.log(horizon)))


@begin_rates.register(CountedRateParameters)
def _(rate: CountedRateParameters, state: FTRLState) -> None:
    state.rates[:] = counted_rate(state.scalars[HORIZON], 0.0)


@note_error.register(CountedRateParameters)
def _(rate: CountedRateParameters, state: FTRLState, arm: int, error: float) -> None:
    state.sums[arm] += 1.0
    state.rates[arm] = counted_rate(state.scalars[HORIZON], state.sums[arm])


@advance_rates.register(CountedRateParameters)
def _(rate: CountedRateParameters, state: FTRLState) -> float:
    return next_horizon(rate.restarts, state)


# --- rates that know the gaps ---------------------------------------------------------------------------


class GapTunedRateParameters(NamedTuple):
    """α, per arm 1/ξ_i, and a horizon that plays no part."""

    alpha: float
    weights: FloatArray
    horizon: float


@dataclass(frozen=True)
class GapTunedRates(Rates, name="gap-tuned-rates"):
    """γ_i^t = 1/(η_t·ξ_i) for known gaps: Zimmert and Seldin's infeasible tuning, a yardstick.

    η_t = (16^α/4)·(1 − t̄^{α−1})/((1−α)·t^α) with t̄ = max(e, t), and ξ_i = Δ_i^{1−2α}, Δ_i the gap of arm i
    and, for optimal arms, the smallest positive gap. α = 1 is the limit.

    Parameters
    ----------
    gaps:
        Δ_i in [0, 1], one per arm, at least one of them 0.
    alpha:
        α in [0, 1].
    """

    gaps: Sequence[float]
    alpha: float

    def __post_init__(self) -> None:
        values = _check.vector("gaps", self.gaps, at_least=0.0, at_most=1.0)
        if values.size == 0 or values.min() > 0.0:
            raise InvalidArgumentError(
                "gaps",
                values.tolist(),
                "numbers of which one is 0, that of a best arm",
                fix="subtract the smallest mean loss from all mean losses",
            )
        object.__setattr__(self, "gaps", tuple(values.tolist()))
        object.__setattr__(self, "alpha", _check.number("alpha", self.alpha, at_least=0.0, at_most=1.0))

    def parameters(self, n_arms: int, horizon: int | None) -> GapTunedRateParameters:
        """1/ξ_i in numbers; the horizon plays no part."""
        if len(self.gaps) != n_arms:
            raise InvalidArgumentError(
                "gaps",
                self.gaps,
                f"one gap for each of the {n_arms} arms",
                got=f"{len(self.gaps)}: {short(self.gaps)}",
            )
        gaps = np.array(self.gaps)
        smallest = gaps[gaps > 0.0].min(initial=1.0)  # without a positive gap there is nothing to tune
        weights = np.where(gaps > 0.0, gaps, smallest) ** (2.0 * self.alpha - 1.0)
        return GapTunedRateParameters(self.alpha, weights, UNUSED)


@kernel
def tune(rate: GapTunedRateParameters, t: float, rates: FloatArray) -> None:
    """γ_i = 1/(η_t ξ_i)."""
    power = 1.0 - rate.alpha
    logarithm = max(1.0, math.log(t))  # log t̄
    growth = logarithm if power == 0.0 else -math.expm1(-power * logarithm) / power
    inverse = 4.0 * (t / 16.0) ** rate.alpha / growth
    for i in range(rates.size):
        rates[i] = rate.weights[i] * inverse


@begin_rates.register(GapTunedRateParameters)
def _(rate: GapTunedRateParameters, state: FTRLState) -> None:
    tune(rate, 1.0, state.rates)


@rest_rates.register(GapTunedRateParameters)
def _(rate: GapTunedRateParameters, state: FTRLState, before: FTRLState, arm: int) -> None:
    pass


@advance_rates.register(GapTunedRateParameters)
def _(rate: GapTunedRateParameters, state: FTRLState) -> float:
    tune(rate, state.scalars[ROUND] + 1.0, state.rates)
    return CONTINUE
