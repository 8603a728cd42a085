"""Intervals that hold at all times at once: for arms, and for the value of the policy that played."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.inference.engine import bounds
from bothworlds.inference.sums import ANY, ANY_LOSS, PLAYED, PLAYED_LOSS, Sums, logs_by_arm

World = Literal["stationary", "any", "played"]
WORLDS = ("stationary", "any")  # that can be asked for


@dataclass(frozen=True)
class Interval:
    """Two bounds that have never been wrong so far with probability 1 − error, and an estimate between them.

    Attributes
    ----------
    low, estimate, high:
        The lower bound, a point estimate (NaN where there is nothing to go by), and the upper bound. Of two
        one-sided bounds the lower one may end above the upper one; then what the world was said to be is
        refuted.
    error:
        The probability that the target is ever outside.
    world:
        What was assumed: ``"stationary"``, that means stand still; ``"any"``, nothing, for the mean over all
        rounds; ``"played"``, nothing, for the mean over the rounds in which an arm was played.

    Examples
    --------
    >>> interval = Interval(0.25, 0.31, 0.38, error=0.05, world="stationary")
    >>> 0.3 in interval, round(interval.width, 2)
    (True, 0.13)
    >>> print(interval)
    0.310 [0.250, 0.380]
    """

    low: float
    estimate: float
    high: float
    error: float
    world: World

    @property
    def width(self) -> float:
        """From bound to bound."""
        return self.high - self.low

    @property
    def refuted(self) -> bool:
        """Do the bounds contradict each other, and so what was assumed of the world?"""
        return self.low > self.high

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return self.text(digits_for([self]))

    def text(self, digits: int) -> str:
        """Rounded outward, so that what is printed holds, too."""
        return f"{number_text(self.estimate, digits)} [{self.bounds_text(digits)}]"

    def bounds_text(self, digits: int) -> str:
        """The two bounds, rounded outward."""
        scale = 10.0**digits
        low, high = math.floor(self.low * scale) / scale, math.ceil(self.high * scale) / scale
        return f"{low:.{digits}f}, {high:.{digits}f}"


def number_text(value: float, digits: int) -> str:
    """A number, or a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def digits_for(intervals: list[Interval]) -> int:
    """So many digits behind the point that the narrowest of them can be told apart."""
    widths = [abs(interval.width) for interval in intervals if interval.width]
    narrowest = min(widths, default=1.0)
    return min(9, max(0, 2 - math.floor(math.log10(narrowest))))


class Scale(NamedTuple):
    """The range of what is reported, and whether that is rewards or losses.

    Statistics are about rewards in [0, 1]; the methods take intervals for them to the user's.
    """

    low: float = 0.0
    high: float = 1.0
    feedback_kind: str = "reward"

    @classmethod
    def of(cls, low: float, high: float, feedback_kind: str = "reward") -> Scale:
        """A range, or an error that says what is wrong with it."""
        low = _check.number("low", low)
        high = _check.number("high", high, above=low, fix="high must exceed low")
        _check.one_of("feedback_kind", feedback_kind, ("reward", "loss"))
        return cls(low, high, feedback_kind)

    @property
    def span(self) -> float:
        """The width of the range."""
        return self.high - self.low

    def mean(self, low: float, estimate: float, high: float, error: float, world: World) -> Interval:
        """An interval for a mean reward in [0, 1], as one for what is reported, in its range."""
        if self.feedback_kind == "loss":
            low, estimate, high = 1.0 - high, 1.0 - estimate, 1.0 - low
        at = self.low
        return Interval(at + self.span * low, at + self.span * estimate, at + self.span * high, error, world)

    def difference(self, low: float, estimate: float, high: float, error: float, world: World) -> Interval:
        """An interval for a difference of mean rewards, as one for what is reported, in its range."""
        if self.feedback_kind == "loss":
            low, estimate, high = -high, -estimate, -low
        return Interval(self.span * low, self.span * estimate, self.span * high, error, world)

    def regret(self, low: float, estimate: float, high: float, error: float, world: World) -> Interval:
        """An interval for a regret, which is the same for rewards and losses."""
        return Interval(self.span * low, self.span * estimate, self.span * high, error, world)


class Ends(NamedTuple):
    """Lower bounds, estimates and upper bounds, for rewards in [0, 1]."""

    low: FloatArray
    estimate: FloatArray
    high: FloatArray


def quotient(above: FloatArray, below: FloatArray) -> FloatArray:
    """Element by element; NaN over 0."""
    quotients: FloatArray = np.divide(above, below, out=np.full(below.shape, math.nan), where=below > 0.0)
    return quotients


def arm_ends(sums: Sums, world: World, error: float) -> Ends:
    """Bounds for the mean of each arm, each with this error.

    ``"stationary"``: of μ(a), which is the same in all rounds. ``"any"``: of the mean of μ_i(a) over all
    rounds, whether a was played in them or not. ``"played"``: over those in which it was.
    """
    logs = logs_by_arm(sums)
    if world != "any":
        n, gains, losses = sums.pulls, logs[:, PLAYED], logs[:, PLAYED_LOSS]
        estimate = quotient(sums.rewards, sums.answers)
    else:
        n, gains, losses = np.full(sums.pulls.size, sums.pulls.sum()), logs[:, ANY], logs[:, ANY_LOSS]
        estimate = quotient(sums.weighted, sums.weights)
    low, high = bounds(gains, n, error / 2), 1.0 - bounds(losses, n, error / 2)
    if world == "any":  # a ratio of weighted sums may be outside
        estimate = np.where(low <= high, np.clip(estimate, low, np.maximum(low, high)), estimate)
    return Ends(low, estimate, high)


def value_ends(sums: Sums, error: float) -> tuple[float, float, float]:
    """Bounds for what the policy that played was worth: the mean over rounds of p_i·μ_i, in any world."""
    logs, t = logs_by_arm(sums), float(sums.pulls.sum())
    sides = np.stack([logs[:, PLAYED].sum(axis=0), logs[:, PLAYED_LOSS].sum(axis=0)])
    low, miss = bounds(sides, t, error / 2)
    answers = float(sums.answers.sum())
    return float(low), float(sums.rewards.sum()) / answers if answers else math.nan, 1.0 - float(miss)
