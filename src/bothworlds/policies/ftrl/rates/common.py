"""One rate for all arms, which depends on the round alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from bothworlds.policies.ftrl.rates.base import (
    CONTINUE,
    UNUSED,
    ScaledRates,
    advance_rates,
    begin_rates,
    join_rates,
    rest_rates,
    same_for_all,
)
from bothworlds.policies.ftrl.state import ROUND, FTRLState


class CommonRateParameters(NamedTuple):
    """γ = θ·√t for all arms, or θ if it does not grow. T plays no part."""

    theta: float
    growing: bool
    horizon: float


@dataclass(frozen=True)
class RootRate(ScaledRates, name="root-rate"):
    """γ_t = θ·√t for all arms.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.RootRate(2.0), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[2.   , 2.   ],
           [2.828, 2.828],
           [3.464, 3.464]])
    """

    def parameters(self, n_arms: int, horizon: int | None) -> CommonRateParameters:
        """θ; the horizon plays no part."""
        return CommonRateParameters(self.theta, True, UNUSED)


@dataclass(frozen=True)
class ConstantRate(ScaledRates, name="constant-rate"):
    """γ = θ for all arms and rounds.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.ConstantRate(2.0), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[2., 2.],
           [2., 2.],
           [2., 2.]])
    """

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


@join_rates.register(CommonRateParameters)
def _(rate: CommonRateParameters, state: FTRLState) -> None:
    state.rates[:] = rate.theta * math.sqrt(state.scalars[ROUND] if rate.growing else 1.0)


class SlowRootRateParameters(NamedTuple):
    """θ; T plays no part."""

    theta: float
    horizon: float


@dataclass(frozen=True)
class SlowRootRate(ScaledRates, name="slow-root-rate"):
    """γ_t = θ·√(t/log(1 + t)) for all arms.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.SlowRootRate(2.0), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[2.402, 2.402],
           [2.699, 2.699],
           [2.942, 2.942]])
    """

    def parameters(self, n_arms: int, horizon: int | None) -> SlowRootRateParameters:
        """θ; the horizon plays no part."""
        return SlowRootRateParameters(self.theta, UNUSED)


@begin_rates.register(SlowRootRateParameters)
def _(rate: SlowRootRateParameters, state: FTRLState) -> None:
    state.rates[:] = rate.theta * math.sqrt(1.0 / math.log(2.0))


@advance_rates.register(SlowRootRateParameters, inline=True)
def _(rate: SlowRootRateParameters, state: FTRLState) -> float:
    t = state.scalars[ROUND] + 1.0
    state.rates[:] = rate.theta * math.sqrt(t / math.log1p(t))
    return CONTINUE


@rest_rates.register(CommonRateParameters, inline=True)
@rest_rates.register(SlowRootRateParameters, inline=True)
def _(rate: Any, state: FTRLState, before: FTRLState, arm: int) -> None:
    pass


@join_rates.register(SlowRootRateParameters)
def _(rate: SlowRootRateParameters, state: FTRLState) -> None:
    state.rates[-1] = state.rates[0]
