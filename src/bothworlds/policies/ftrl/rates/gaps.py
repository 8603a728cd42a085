"""Rates that know the gaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, kernel
from bothworlds._words import short
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.ftrl.rates.base import (
    CONTINUE,
    UNUSED,
    Rates,
    advance_rates,
    begin_rates,
    rest_rates,
)
from bothworlds.policies.ftrl.state import ROUND, FTRLState
from bothworlds.settings import UnitInterval


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

    Examples
    --------
    >>> import bothworlds as bw
    >>> rates = bw.rates.GapTunedRates([0.0, 0.2], alpha=0.3)
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=rates, log_barrier=1.0)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0, 0], losses=[1.0, 0.5]).rates.round(3)
    array([[4.609, 4.609],
           [5.674, 5.674],
           [6.012, 6.012]])
    """

    gaps: Sequence[float]
    alpha: UnitInterval

    def __post_init__(self) -> None:
        super().__post_init__()
        values = _check.vector("gaps", self.gaps, at_least=0.0, at_most=1.0)
        if values.size == 0 or values.min() > 0.0:
            raise InvalidArgumentError(
                "gaps",
                values.tolist(),
                "numbers of which one is 0, that of a best arm",
                fix="subtract the smallest mean loss from all mean losses",
            )
        self._set(gaps=tuple(values.tolist()))

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
