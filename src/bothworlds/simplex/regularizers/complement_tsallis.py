"""Half-Tsallis entropy plus the entropy of the complement, ψ(p) = −2√p + w·(p + (1−p)·log(1−p))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bothworlds.settings import Positive
from bothworlds.simplex.regularizers.base import NEWTON_LIMIT, Regularizer, against, respond, slope

CERTAIN = -100.0  # below this exponent the odds against an arm are under e^{-100}, and p is 1 to the last bit
ROOT_OF_2 = math.sqrt(2.0)
LOG_2 = math.log(2.0)


class ComplementTsallisParameters(NamedTuple):
    """The weight of the complement's entropy."""

    weight: float


@dataclass(frozen=True)
class ComplementTsallis(Regularizer, name="complement-tsallis"):
    """ψ(p) = −2√p + w·(p + (1−p)·log(1−p)), the regularizer of HYBRID for sets of arms.

    Its slope is infinite at both ends, −ψ'(p) = 1/√p + w·log(1−p), so that no arm gets p = 1: with a total of
    m it serves sets of m arms. It is not convex in the depth v, hence not for ``Hybrid``, and the total must
    be below the number of arms; the solver has a bracket for it, and this file a response of its own.

    Parameters
    ----------
    weight:
        w > 0, the weight of the second part.

    Examples
    --------
    >>> import bothworlds as bw
    >>> s = bw.solve([0.0, 1.0, 5.0], 1.0, bw.regularizers.ComplementTsallis(2.0), total=2.0)
    >>> s.p.round(4)
    array([0.9027, 0.8425, 0.2548])

    References
    ----------
    J. Zimmert, H. Luo, C.-Y. Wei: Beating Stochastic and Adversarial Semi-bandits Optimally and
    Simultaneously. ICML 2019.
    """

    below_one: ClassVar[bool] = True

    weight: Positive

    def parameters(self) -> ComplementTsallisParameters:
        """w for the kernels."""
        return ComplementTsallisParameters(self.weight)


@slope.register(ComplementTsallisParameters)
def _(regularizer: ComplementTsallisParameters, depth: float) -> tuple[float, float, float]:
    odds = math.expm1(depth)  # (1 − p)/p, without the cancellation in 1 − p
    if odds <= 0.0:
        return -math.inf, math.inf, -math.inf
    weight = regularizer.weight
    root = math.sqrt(1.0 + odds)  # 1/√p
    height = root - weight * math.log1p(1.0 / odds)
    return height, 0.5 * root + weight / odds, 0.25 * root - weight * (1.0 + odds) / odds / odds


@against.register(ComplementTsallisParameters, inline=True)
def _(regularizer: ComplementTsallisParameters, odds: float, p: float) -> tuple[float, float]:
    root = math.sqrt(1.0 + odds)
    inverse = 1.0 / odds
    weight = regularizer.weight
    return root - weight * math.log1p(inverse), p * (0.5 * root + weight * inverse)


@respond.register(ComplementTsallisParameters)
def _(
    regularizer: ComplementTsallisParameters, y: float, rate: float, log_barrier: float, start: float
) -> tuple[float, float, float]:
    """Newton in the odds o = (1−p)/p against the arm, in which the equation is concave and increasing.

    With h = y/γ and c = C/γ it reads  f(o) = √(1+o) − w·log(1 + 1/o) + c·(1+o) = h. Newton from below the
    root climbs to it without overshooting, and from above its first step lands below. A start below: if
    h ≤ f(1), the root is at most 1, so w·log(1/o) ≤ w·log(1 + 1/o) ≤ √2 + 2c − h. Else it exceeds 1, and with
    s = √(1+o), s + c·s² ≥ h, so s is at least the root of that, 2h/(1 + √(1 + 4ch)).
    """
    weight = regularizer.weight
    extra = log_barrier / rate
    height = y / rate
    least = (height - ROOT_OF_2 - 2.0 * extra) / weight
    if height <= ROOT_OF_2 - weight * LOG_2 + 2.0 * extra:
        below = math.exp(max(least, CERTAIN))
    else:
        root = 2.0 * height / (1.0 + math.sqrt(1.0 + 4.0 * extra * height)) if height > 0.0 else 0.0
        below = max(1.0, root * root - 1.0)
    odds = below
    if least > CERTAIN:
        if 0.0 < start < 1.0:
            odds = max(below, (1.0 - start) / start)
        for _ in range(NEWTON_LIMIT):
            root = math.sqrt(1.0 + odds)
            defect = height - root - extra * (1.0 + odds) + weight * math.log1p(1.0 / odds)
            step = defect / (0.5 / root + extra + weight / (odds * (1.0 + odds)))
            odds = max(below, odds + step)
            if abs(step) <= 1e-9 * odds:  # quadratic: what is left is of order 1e-18
                break
    root = math.sqrt(1.0 + odds)
    first = rate * (0.5 * root + weight / odds) + log_barrier * (1.0 + odds)
    second = rate * (0.25 * root - weight * (1.0 + odds) / odds / odds) + log_barrier * (1.0 + odds)
    return 1.0 / (1.0 + odds), first, second
