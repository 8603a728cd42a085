"""Negative Shannon entropy, ψ(p) = p·log(p/e)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import generic, kernel
from bothworlds._simd import all_at_most, lane, make_block
from bothworlds.simplex.growth import bend, expm1, log
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


class ShannonParameters(NamedTuple):
    """Shannon entropy has no parameter; its type selects the kernels."""


@dataclass(frozen=True)
class Shannon(Regularizer, name="shannon"):
    """Negative Shannon entropy in the paper's form, ψ(p) = p·log(p/e), so that ψ'(p) = log p.

    The "/e" matters: with arm-dependent rates, p·log p (slope log p + 1) has another solution, and the
    paper's monotonicity argument fails for it. Without an extra log-barrier, probabilities may underflow
    to exactly 0.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.solve([0.0, 1.0], rates=[1.0, 1.0], regularizer=bw.Shannon()).p.round(4)  # softmax(-L)
    array([0.7311, 0.2689])
    """

    def parameters(self) -> ShannonParameters:
        """The (empty) parameter tuple of the kernels."""
        return ShannonParameters()

    def constants(self, preset: str, n_arms: int) -> Constants:
        """θ = 1/√(log T), α = 1, and C = 162·log K as printed, 162·max(1, log K) as the lemmas need."""
        printed = 162.0 * math.log(n_arms)
        return Constants(
            log_barrier=printed if preset == "printed" else max(162.0, printed),
            theta=1.0,
            over_log=True,
            alpha=1.0,
        )


@slope.register(ShannonParameters)
def _(regularizer: ShannonParameters, depth: float) -> tuple[float, float, float]:
    return depth, 1.0, 0.0


@reach.register(ShannonParameters)
def _(regularizer: ShannonParameters, height: float) -> float:
    return height


@respond.register(ShannonParameters)
def _(
    regularizer: ShannonParameters, y: float, rate: float, log_barrier: float, start: float
) -> tuple[float, float, float]:
    if log_barrier > 0.0:
        return newton_response(regularizer, y, rate, log_barrier, start)
    return math.exp(-y / rate), rate, 0.0


@height.register(ShannonParameters)
@heights.register(ShannonParameters, inline=True)
def _(regularizer: ShannonParameters, p: Any) -> Any:
    return -log(p)


@potential.register(ShannonParameters)
@potentials.register(ShannonParameters, inline=True)
def _(regularizer: ShannonParameters, p: Any, height: Any) -> Any:
    return -p * (height + 1.0)


@rise.register(ShannonParameters)
@rises.register(ShannonParameters, inline=True)
def _(regularizer: ShannonParameters, p: Any, height: Any, u: Any) -> tuple[Any, Any]:
    return u, 1.0


@spread.register(ShannonParameters)
@spreads.register(ShannonParameters, inline=True)
def _(regularizer: ShannonParameters, p: Any, height: Any, w: Any) -> Any:
    return entropy_spread(p, w)


@generic
def entropy_spread(p: Any, w: Any) -> Any:
    """x·log(x/p) − x + p at x = p·e^w, which is x·(e^{−w} − 1 + w)."""
    if w < -1.0:
        gain = math.exp(w)
        return p * (1.0 - gain + (w * gain if gain > 0.0 else 0.0))
    return p * (1.0 + expm1(w)) * bend(-w)


@entropy_spread.register(np.ndarray, inline=True)
def _(p: Any, w: Any) -> Any:
    if all_at_most(-1.0, w):
        return p * (1.0 + expm1(w)) * bend(-w)
    return entropy_spread_each(p, w)


@kernel
def entropy_spread_each(p: Any, w: Any) -> Any:
    """The same, one arm after another."""
    return make_block(
        entropy_spread(lane(p, 0), lane(w, 0)),
        entropy_spread(lane(p, 1), lane(w, 1)),
        entropy_spread(lane(p, 2), lane(w, 2)),
        entropy_spread(lane(p, 3), lane(w, 3)),
    )
