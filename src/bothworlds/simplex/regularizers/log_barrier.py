"""The log-barrier, ψ(p) = −log p."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from bothworlds.simplex.growth import bend, expm1, log
from bothworlds.simplex.regularizers.base import (
    Constants,
    Regularizer,
    height,
    heights,
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


class LogBarrierParameters(NamedTuple):
    """The log-barrier has no parameter; its type selects the kernels."""


@dataclass(frozen=True)
class LogBarrier(Regularizer, name="log-barrier"):
    """The log-barrier ψ(p) = −log p.

    With the paper's rates (α = 0) it gives regret O(𝔾 log T) in self-bounding worlds and
    O(√(K T log T)) always, where 𝔾 = #U/Δ_min + Σ_V 1/Δ_i.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.solve([0.0, 1.0], rates=[1.0, 1.0], regularizer=bw.LogBarrier()).p.round(4)
    array([0.618, 0.382])
    """

    def parameters(self) -> LogBarrierParameters:
        """The (empty) parameter tuple of the kernels."""
        return LogBarrierParameters()

    def constants(self, preset: str, n_arms: int) -> Constants:
        """C = 162, θ = 1/√(log T), α = 0."""
        return Constants(log_barrier=162.0, theta=1.0, over_log=True, alpha=0.0)


@slope.register(LogBarrierParameters)
def _(regularizer: LogBarrierParameters, depth: float) -> tuple[float, float, float]:
    height = math.exp(depth)
    return height, height, height


@reach.register(LogBarrierParameters)
def _(regularizer: LogBarrierParameters, height: float) -> float:
    return math.log(height)


@respond.register(LogBarrierParameters)
def _(
    regularizer: LogBarrierParameters, y: float, rate: float, log_barrier: float, start: float
) -> tuple[float, float, float]:
    # the extra barrier is one of the same kind: (γ + C)/p = y
    return (rate + log_barrier) / y, y, y


@height.register(LogBarrierParameters)
@heights.register(LogBarrierParameters, inline=True)
def _(regularizer: LogBarrierParameters, p: Any) -> Any:
    return 1.0 / p


@potential.register(LogBarrierParameters)
@potentials.register(LogBarrierParameters, inline=True)
def _(regularizer: LogBarrierParameters, p: Any, height: Any) -> Any:
    return -log(p)


@rise.register(LogBarrierParameters)
@rises.register(LogBarrierParameters, inline=True)
def _(regularizer: LogBarrierParameters, p: Any, height: Any, u: Any) -> tuple[Any, Any]:
    change = height * expm1(u)
    return change, height + change


@spread.register(LogBarrierParameters)
@spreads.register(LogBarrierParameters, inline=True)
def _(regularizer: LogBarrierParameters, p: Any, height: Any, w: Any) -> Any:
    return bend(w)
