"""Tsallis entropy with a linear term, ψ(p) = −(p^α − αp)/(α(1−α))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from bothworlds.settings import UnitInterval
from bothworlds.simplex.growth import bend, expm1, log
from bothworlds.simplex.regularizers.base import (
    Regularizer,
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
from bothworlds.simplex.regularizers.shannon import entropy_spread
from bothworlds.simplex.regularizers.tsallis import power_spread


class CenteredTsallisParameters(NamedTuple):
    """The power 1 − α of 1/p in the slope."""

    power: float


@dataclass(frozen=True)
class CenteredTsallis(Regularizer, name="centered-tsallis"):
    """Tsallis entropy whose slope vanishes at p = 1: ψ(p) = −(p^α − αp)/(α(1−α)), for α in [0, 1].

    Zimmert and Seldin's form. α = 0 and α = 1 are its limits −log p + p and p·log(p/e). With one rate for
    all arms it is ``Tsallis(α)`` at the rate γ/α; with arm-dependent rates γ_i the linear term γ_i p_i/(1−α)
    moves the solution.

    Examples
    --------
    >>> import bothworlds as bw
    >>> centered = bw.regularizers.CenteredTsallis(alpha=0.5)
    >>> bw.solve([0.0, 1.0], rates=[1.0, 3.0], regularizer=centered).p.round(4)
    array([0.4397, 0.5603])
    >>> bw.solve([0.0, 1.0], rates=[2.0, 6.0], regularizer=bw.Tsallis(beta=0.5)).p.round(4)
    array([0.1347, 0.8653])
    """

    alpha: UnitInterval

    def parameters(self) -> CenteredTsallisParameters:
        """1 − α for the kernels."""
        return CenteredTsallisParameters(1.0 - self.alpha)


@slope.register(CenteredTsallisParameters)
def _(regularizer: CenteredTsallisParameters, depth: float) -> tuple[float, float, float]:
    # −ψ'(p) = (p^{α−1} − 1)/(1−α) = (e^{(1−α)v} − 1)/(1−α), and v in the limit α → 1
    power = regularizer.power
    if power == 0.0:
        return depth, 1.0, 0.0
    growth = math.expm1(power * depth)
    return growth / power, 1.0 + growth, power * (1.0 + growth)


@reach.register(CenteredTsallisParameters)
def _(regularizer: CenteredTsallisParameters, height: float) -> float:
    power = regularizer.power
    return height if power == 0.0 else math.log1p(power * height) / power


@respond.register(CenteredTsallisParameters)
def _(
    regularizer: CenteredTsallisParameters, y: float, rate: float, log_barrier: float, start: float
) -> tuple[float, float, float]:
    if log_barrier > 0.0:
        return newton_response(regularizer, y, rate, log_barrier, start)
    power = regularizer.power
    if power == 0.0:
        return math.exp(-y / rate), rate, 0.0
    first = rate + power * y
    return math.exp(-math.log1p(power * y / rate) / power), first, power * first


@potential.register(CenteredTsallisParameters)
@potentials.register(CenteredTsallisParameters, inline=True)
def _(regularizer: CenteredTsallisParameters, p: Any, height: Any) -> Any:
    power = regularizer.power
    if power == 0.0:
        return -p * (height + 1.0)
    if power == 1.0:
        return p - log(p)
    # p^α = p·(1 + (1−α)h), hence −(p^α − αp)/(α(1−α)) = −p·(h + 1)/α
    return -p * (height + 1.0) / (1.0 - power)


@rise.register(CenteredTsallisParameters)
@rises.register(CenteredTsallisParameters, inline=True)
def _(regularizer: CenteredTsallisParameters, p: Any, height: Any, u: Any) -> tuple[Any, Any]:
    power = regularizer.power
    if power == 0.0:
        return u, 1.0 + 0.0 * u  # a number or a block, as the other branch: compiled code has one type
    steep = 1.0 + power * height
    gain = expm1(power * u)
    return steep * gain / power, steep * (1.0 + gain)


@spread.register(CenteredTsallisParameters)
@spreads.register(CenteredTsallisParameters, inline=True)
def _(regularizer: CenteredTsallisParameters, p: Any, height: Any, w: Any) -> Any:
    power = regularizer.power
    if power == 0.0:
        return entropy_spread(p, w)
    if power == 1.0:
        return bend(w)
    return p * (1.0 + power * height) / power * power_spread(w, 1.0 - power)
