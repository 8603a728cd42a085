"""The log-barrier plus the entropy of the complement, ψ(p) = p − 1 − log p + w·(p + (1−p)·log(1−p))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bothworlds.settings import Positive
from bothworlds.simplex.regularizers.base import NEWTON_LIMIT, Regularizer, against, respond, slope

CERTAIN = -100.0  # below this height the odds against an arm are under e^{-101}, and p is 1 to the last bit


class ComplementBarrierParameters(NamedTuple):
    """The weight of the complement's entropy."""

    weight: float


@dataclass(frozen=True)
class ComplementBarrier(Regularizer, name="complement-barrier"):
    """ψ(p) = p − 1 − log p + w·(p + (1−p)·log(1−p)), the regularizer of LB-INF-V.

    Its slope is infinite at both ends, −ψ'(p) = 1/p − 1 + w·log(1−p), so that no arm gets p = 1. It is not
    convex in the depth v (at p above 1/(1+√w)), hence not for ``Hybrid``, and the total must be below the
    number of arms; the solver has a bracket for it, and this file a response of its own.

    Parameters
    ----------
    weight:
        w > 0, the weight of the second part.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.solve([0.0, 1.0, 5.0], 1.0, bw.regularizers.ComplementBarrier(2.0)).p.round(4)
    array([0.4732, 0.365 , 0.1617])

    References
    ----------
    S. Ito, T. Tsuchiya, J. Honda: Adversarially Robust Multi-Armed Bandit Algorithm with Variance-Dependent
    Regret Bounds. COLT 2022.
    """

    below_one: ClassVar[bool] = True

    weight: Positive

    def parameters(self) -> ComplementBarrierParameters:
        """w for the kernels."""
        return ComplementBarrierParameters(self.weight)


@slope.register(ComplementBarrierParameters)
def _(regularizer: ComplementBarrierParameters, depth: float) -> tuple[float, float, float]:
    odds = math.expm1(depth)  # (1 − p)/p, without the cancellation in 1 − p
    if odds <= 0.0:
        return -math.inf, math.inf, -math.inf
    weight = regularizer.weight
    height = odds - weight * math.log1p(1.0 / odds)
    return height, 1.0 + odds + weight / odds, (1.0 + odds) * (1.0 - weight / odds / odds)


@against.register(ComplementBarrierParameters, inline=True)
def _(regularizer: ComplementBarrierParameters, odds: float, p: float) -> tuple[float, float]:
    inverse = 1.0 / odds
    weight = regularizer.weight
    return odds - weight * math.log1p(inverse), 1.0 + weight * inverse * p


@respond.register(ComplementBarrierParameters)
def _(
    regularizer: ComplementBarrierParameters, y: float, rate: float, log_barrier: float, start: float
) -> tuple[float, float, float]:
    """Newton in the odds o = (1−p)/p against the arm, in which the equation is concave and increasing.

    With A = γ + C, B = γw, r = A/B and h = (y − C)/B it reads  r·o − log(1 + 1/o) = h. Newton from below
    the root climbs to it without overshooting, and from above its first step lands below. A start below:
    at o = 1/r the left side is 1 − log(1+r). If h is at most that, the root is at most 1/r, so
    log o = h − r·o + log(1+o) ≥ h − 1; else the root exceeds 1/r, and r·o = h + log(1 + 1/o) ≥ h.
    """
    a = rate + log_barrier
    b = rate * regularizer.weight
    ratio = a / b
    height = (y - log_barrier) / b
    if height <= 1.0 - math.log1p(ratio):
        below = math.exp(max(height, CERTAIN) - 1.0)
    else:
        below = max(1.0, height) / ratio
    odds = below
    if height > CERTAIN:
        if 0.0 < start < 1.0:
            odds = max(below, (1.0 - start) / start)
        for _ in range(NEWTON_LIMIT):
            defect = height - ratio * odds + math.log1p(1.0 / odds)
            step = defect / (ratio + 1.0 / (odds * (1.0 + odds)))
            odds = max(below, odds + step)
            if abs(step) <= 1e-9 * odds:  # quadratic: what is left is of order 1e-18
                break
    return 1.0 / (1.0 + odds), a * (1.0 + odds) + b / odds, (1.0 + odds) * (a - b / odds / odds)
