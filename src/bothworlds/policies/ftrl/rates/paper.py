"""The paper's rates."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from bothworlds._jit import FloatArray, kernel
from bothworlds._simd import LANES, exp_of, fill, lane, load, log_of, most, root, store, whole
from bothworlds.policies.ftrl.rates.base import (
    CONTINUE,
    UNUSED,
    ScaledRates,
    advance_rates,
    begin_rates,
    log_horizon,
    next_horizon,
)
from bothworlds.policies.ftrl.rates.common import CommonRateParameters
from bothworlds.policies.ftrl.state import HORIZON, FTRLState
from bothworlds.settings import UnitInterval


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

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.PaperRates(1.0, alpha=0.25), log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[1.   , 1.   ],
           [1.307, 1.307],
           [1.529, 1.576]])
    """

    alpha: UnitInterval
    _: KW_ONLY
    over_log: bool = False

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
    return rate.theta / math.sqrt(log_horizon(horizon)) if rate.over_log else rate.theta


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
