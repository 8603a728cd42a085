"""Rewards and losses as people report them, and as policies learn from them.

What :meth:`Range.take` makes of a reported number is called feedback: a loss in [0, 1]. Where the range is
learned it is the number itself, which becomes a loss only when it is learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError, OutOfRangeError

if TYPE_CHECKING:
    from bothworlds.bandit.learned_range import LearnedRange

PLURALS = {"reward": "rewards", "loss": "losses"}  # the kinds of feedback, as arguments for one and for many
ROUNDING = 1e-6  # how far beyond the range, in units of its width, a number is still taken for its end


class Range(NamedTuple):
    """The range of rewards or losses, and whether what lies beyond it is taken for its ends."""

    low: float
    high: float
    clip: bool

    @classmethod
    def of(cls, low: Any, high: Any, clip: Any) -> Range:
        """A range, or an error that says what is wrong with it."""
        low = _check.number("low", low)
        high = _check.number("high", high, above=low, fix="high must exceed low")
        if high - low == np.inf:
            wanted = f"within the range of floats above low, which is {low}"
            raise InvalidArgumentError("high", high, wanted, fix="give a narrower range")
        _check.one_of("clip", clip, (False, True))
        return cls(low, high, bool(clip))

    def take(self, kind: str, value: Any, name: str = "") -> float:
        """A reward or a loss (``kind`` says which) as feedback: a loss in [0, 1]."""
        low, high = self.low, self.high
        if type(value) is not float or not low <= value <= high:  # what is common, without ceremony
            value = self._inside(name or kind, value)
        loss: float = (high - value) / (high - low) if kind == "reward" else (value - low) / (high - low)
        return loss

    def take_many(self, kind: str, values: Any, size: int) -> FloatArray:
        """So many rewards or losses as feedback."""
        array = _check.vector(PLURALS[kind], values, size=size, fix="give one for each pull")
        for i in np.flatnonzero(~((self.low <= array) & (array <= self.high))):
            array[i] = self._inside(f"{PLURALS[kind]}[{i}]", float(array[i]))
        span = self.high - self.low
        return (self.high - array) / span if kind == "reward" else (array - self.low) / span

    def value_of(self, kind: str, feedback: float) -> float:
        """Undo :meth:`take`: the reward or loss in the user's range."""
        span = self.high - self.low
        return self.high - span * feedback if kind == "reward" else self.low + span * feedback

    def _inside(self, name: str, value: Any) -> float:
        value = as_number(value)
        if self.clip:
            return self._end_of(_check.number(name, value))
        fix = "give the range as Bandit(..., low=..., high=...), or clip=True to cut off what is beyond"
        try:
            return _check.number(name, value, at_least=self.low, at_most=self.high, fix=fix)
        except OutOfRangeError as error:
            end = self._end_of(error.value)
            if abs(error.value - end) <= ROUNDING * (self.high - self.low):
                return end
            raise

    def _end_of(self, number: float) -> float:
        return min(max(number, self.low), self.high)


def as_number(value: Any) -> Any:
    """``True`` and ``False`` as 1.0 and 0.0; anything else as it is, for a check that follows."""
    return float(value) if isinstance(value, (bool, np.bool_)) else value


class Missing(NamedTuple):
    """What is learned where no answer came in time: a reward or a loss, as it was given and as feedback."""

    feedback_kind: str
    """``"reward"`` or ``"loss"``."""
    value: float
    feedback: float

    @classmethod
    def of(cls, missing: Any, scale: Range | LearnedRange) -> Missing | None:
        """From ``missing=0.0``, a reward, or ``missing={"loss": 1.0}``."""
        if missing is None:
            return None
        kind, value = "reward", missing
        if isinstance(missing, Mapping):
            if len(missing) != 1 or next(iter(missing)) not in PLURALS:
                wanted = "a reward, or {'loss': ...}"
                raise InvalidArgumentError("missing", missing, wanted)
            ((kind, value),) = missing.items()
        feedback = scale.take(kind, value, "missing")
        return cls(kind, float(value), feedback)
