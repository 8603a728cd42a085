"""β-Tsallis entropy, ψ(p) = −p^β/(1−β)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from bothworlds._jit import generic, kernel
from bothworlds._simd import all_at_most, lane, make_block
from bothworlds.settings import Within
from bothworlds.simplex.growth import bend, expm1
from bothworlds.simplex.growth import power as to_power
from bothworlds.simplex.regularizers.base import (
    Constants,
    Regularizer,
    height,
    heights,
    newton_response,
    potential,
    potentials,
    reach,
    respond,
    rise,
    rises,
    slope,
    spread,
    spreads,
)


class TsallisParameters(NamedTuple):
    """β, and the factor β/(1−β) of the slope."""

    beta: float
    factor: float


INSIDE = Within(above=0.0, below=1.0, fix="for the limits use LogBarrier() (β → 0) or Shannon() (β → 1)")


@dataclass(frozen=True)
class Tsallis(Regularizer, name="tsallis"):
    """β-Tsallis entropy, ψ(p) = −p^β/(1−β), for any β in (0, 1).

    β = ½ is the regularizer of Tsallis-INF, β = ⅔ that of its decoupled variant; β → 1 approaches Shannon
    entropy and β → 0 the log-barrier. There is no linear term: with arm-dependent rates it would change
    the solution.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.solve([0.0, 1.0], rates=[1.0, 1.0], regularizer=bw.Tsallis(beta=0.5)).p.round(4)
    array([0.78, 0.22])
    """

    beta: Annotated[
        float,
        INSIDE,
    ]

    def parameters(self) -> TsallisParameters:
        """β and β/(1−β) for the kernels."""
        return TsallisParameters(self.beta, self.beta / (1.0 - self.beta))

    def constants(self, preset: str, n_arms: int) -> Constants:
        """θ = √((1−β)/β), α = β, and C = 162·β/(1−β) as printed, 162·max(1, β/(1−β)) as the lemmas need."""
        factor = self.beta / (1.0 - self.beta)
        printed = 162.0 * factor
        return Constants(
            log_barrier=printed if preset == "printed" else max(162.0, printed),
            theta=math.sqrt(1.0 / factor),
            over_log=False,
            alpha=self.beta,
        )


@slope.register(TsallisParameters)
def _(regularizer: TsallisParameters, depth: float) -> tuple[float, float, float]:
    power = 1.0 - regularizer.beta
    height = regularizer.factor * math.exp(power * depth)
    return height, power * height, power * power * height


@reach.register(TsallisParameters)
def _(regularizer: TsallisParameters, height: float) -> float:
    return math.log(height / regularizer.factor) / (1.0 - regularizer.beta)


@respond.register(TsallisParameters)
def _(
    regularizer: TsallisParameters, y: float, rate: float, log_barrier: float, start: float
) -> tuple[float, float, float]:
    if log_barrier > 0.0:
        return newton_response(regularizer, y, rate, log_barrier, start)
    power = 1.0 - regularizer.beta
    ratio = rate * regularizer.factor / y
    p = ratio * ratio if regularizer.beta == 0.5 else ratio ** (1.0 / power)
    return p, power * y, power * power * y


@height.register(TsallisParameters)
@heights.register(TsallisParameters, inline=True)
def _(regularizer: TsallisParameters, p: Any) -> Any:
    return regularizer.factor / to_power(p, 1.0 - regularizer.beta)


@potential.register(TsallisParameters)
@potentials.register(TsallisParameters, inline=True)
def _(regularizer: TsallisParameters, p: Any, height: Any) -> Any:
    return -p * height * (1.0 / regularizer.beta)


@rise.register(TsallisParameters)
@rises.register(TsallisParameters, inline=True)
def _(regularizer: TsallisParameters, p: Any, height: Any, u: Any) -> tuple[Any, Any]:
    power = 1.0 - regularizer.beta
    change = height * expm1(power * u)
    return change, power * (height + change)


@spread.register(TsallisParameters)
@spreads.register(TsallisParameters, inline=True)
def _(regularizer: TsallisParameters, p: Any, height: Any, w: Any) -> Any:
    return p * height * power_spread(w, regularizer.beta)


@generic
def power_spread(w: Any, power: float) -> Any:
    """e^w − 1 − (e^{aw} − 1)/a for a power a in (0, 1): the terms linear in w cancel, so bend will do."""
    if w < -1.0:  # for w = −∞ too
        return expm1(w) - expm1(power * w) / power
    return bend(w) - bend(power * w) / power


@power_spread.register(np.ndarray, inline=True)
def _(w: Any, power: float) -> Any:
    return bend(w) - bend(power * w) * (1.0 / power) if all_at_most(-1.0, w) else power_spread_each(w, power)


@kernel
def power_spread_each(w: Any, power: float) -> Any:
    """The same, one number after another."""
    a, b = power_spread(lane(w, 0), power), power_spread(lane(w, 1), power)
    return make_block(a, b, power_spread(lane(w, 2), power), power_spread(lane(w, 3), power))
