"""How much longer until we know: what more of the same would show. An estimate, not a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.inference.comparisons import AnyWorld, StationaryWorld
from bothworlds.inference.intervals import World
from bothworlds.inference.sums import Sums

OUT_OF_SIGHT = 1e12
MOST_SHOWN = 10**9


@dataclass(frozen=True)
class More:
    """So many more pulls until an arm is ruled out, if they go on like those so far; within a factor 2 half
    of the time.

    Attributes
    ----------
    if_propensities_hold:
        If every arm goes on being drawn with the probability it has now.
    if_they_fall:
        If the probabilities of losers go on falling as 1/t, as a bandit's do; at most 10^9.
    """

    if_propensities_hold: int
    if_they_fall: int

    def __str__(self) -> str:
        return f"about {self.if_propensities_hold:,} to {self.if_they_fall:,} more pulls"


def how_many_more(
    sums: Sums, arm: int, world: World, error: float, probabilities: FloatArray | None = None
) -> More | None:
    """Pulls until ``arm`` is ruled out: 0 if it is; None if that is not in sight.

    The data of each arm are taken as often as it would have been drawn by then: with the probabilities of the
    next pull, or as often as so far.
    """
    t = float(sums.pulls.sum())
    if t == 0.0 or sums.pulls.size == 1:
        return None
    p = sums.pulls / t if probabilities is None else probabilities
    rates = np.divide(p, sums.pulls, out=np.zeros(p.size), where=sums.pulls > 0.0)

    def ruled_out(more: float) -> bool:
        if world == "any":
            later = AnyWorld(sums, 1.0 + more / t)
            return later.not_best_of(arm) >= later.threshold(error)
        then = StationaryWorld(sums, 1.0 + more * rates)
        return then.not_best_of(arm) >= then.threshold(error)

    more = smallest_that_holds(ruled_out)
    if more is None:
        return None
    ahead = more / t
    fall = t * math.expm1(ahead) if ahead < 700.0 else math.inf
    return More(two_digits(more), two_digits(min(fall, MOST_SHOWN)))


def smallest_that_holds(holds: Callable[[float], bool]) -> float | None:
    """The smallest number that ``holds``, to 1 %, by doubling and halving; None if none below 10^12 does."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2.0 * high
        if high > OUT_OF_SIGHT:
            return None
    while high - low > max(1.0, 0.01 * high):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def two_digits(value: float) -> int:
    """Rounded up to two digits: a forecast is not more exact."""
    if value <= 0.0:
        return 0
    unit = 10.0 ** max(0, math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / unit - 1e-9) * unit)
