"""The sum of two regularizers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

from bothworlds.errors import InvalidArgumentError
from bothworlds.settings import Positive
from bothworlds.simplex.regularizers.base import Regularizer, height, potential, reach, rise, slope, spread


class HybridParameters(NamedTuple):
    """The parameter tuples of the two parts, and the weight of the second."""

    first: Any
    second: Any
    weight: float


@dataclass(frozen=True)
class Hybrid(Regularizer, name="hybrid"):
    """ψ = first + weight · second. Parts may be hybrids themselves.

    Examples
    --------
    >>> import bothworlds as bw
    >>> mixed = bw.Hybrid(bw.Tsallis(beta=0.5), bw.Shannon(), weight=0.3)
    >>> bw.solve([0.0, 1.0], rates=[1.0, 1.0], regularizer=mixed).p.round(4)
    array([0.7209, 0.2791])
    """

    first: Regularizer
    second: Regularizer
    _: KW_ONLY
    weight: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first", "second"):
            if getattr(self, name).below_one:
                wanted = "a regularizer with a finite slope at p = 1"
                raise InvalidArgumentError(name, getattr(self, name), wanted)

    def parameters(self) -> HybridParameters:
        """The nested parameter tuple of the kernels."""
        return HybridParameters(self.first.parameters(), self.second.parameters(), self.weight)


@slope.register(HybridParameters)
def _(regularizer: HybridParameters, depth: float) -> tuple[float, float, float]:
    a = slope(regularizer.first, depth)
    b = slope(regularizer.second, depth)
    w = regularizer.weight
    return a[0] + w * b[0], a[1] + w * b[1], a[2] + w * b[2]


@reach.register(HybridParameters)
def _(regularizer: HybridParameters, height: float) -> float:
    # h increases, so beyond depth 0 each part alone must make up what the other has at depth 0
    at_first = slope(regularizer.first, 0.0)[0]
    at_second = slope(regularizer.second, 0.0)[0]
    depth = reach(regularizer.first, height - regularizer.weight * at_second)
    return min(depth, reach(regularizer.second, (height - at_first) / regularizer.weight))


@potential.register(HybridParameters)
def _(regularizer: HybridParameters, p: float, whole: float) -> float:
    a, b = regularizer.first, regularizer.second
    return potential(a, p, height(a, p)) + regularizer.weight * potential(b, p, height(b, p))


@rise.register(HybridParameters)
def _(regularizer: HybridParameters, p: float, whole: float, u: float) -> tuple[float, float]:
    a, b = regularizer.first, regularizer.second
    change_a, slope_a = rise(a, p, height(a, p), u)
    change_b, slope_b = rise(b, p, height(b, p), u)
    return change_a + regularizer.weight * change_b, slope_a + regularizer.weight * slope_b


@spread.register(HybridParameters)
def _(regularizer: HybridParameters, p: float, whole: float, w: float) -> float:
    a, b = regularizer.first, regularizer.second
    return spread(a, p, height(a, p), w) + regularizer.weight * spread(b, p, height(b, p), w)
