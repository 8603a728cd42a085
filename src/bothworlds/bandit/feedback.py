"""Rewards and losses as people have them, and the losses in [0, 1] that policies learn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError, OutOfRangeError

if TYPE_CHECKING:
    from bothworlds.bandit.learned_range import LearnedRange

WORDS = {"reward": "rewards", "loss": "losses"}  # one, and many
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

    def take(self, word: str, value: Any, name: str = "") -> float:
        """A reward or a loss (``word`` says which) as it is kept: as a loss in [0, 1]."""
        low, high = self.low, self.high
        if type(value) is not float or not low <= value <= high:  # what is common, without ceremony
            value = self._inside(name or word, value)
        loss: float = (high - value) / (high - low) if word == "reward" else (value - low) / (high - low)
        return loss

    def take_many(self, word: str, values: Any, size: int) -> FloatArray:
        """So many rewards or losses as they are kept."""
        array = _check.vector(WORDS[word], values, size=size, fix="give one for each pull")
        for i in np.flatnonzero(~((self.low <= array) & (array <= self.high))):
            array[i] = self._inside(f"{WORDS[word]}[{i}]", float(array[i]))
        span = self.high - self.low
        return (self.high - array) / span if word == "reward" else (array - self.low) / span

    def value_of(self, word: str, kept: float) -> float:
        """What was taken, in the user's word and range."""
        span = self.high - self.low
        return self.high - span * kept if word == "reward" else self.low + span * kept

    def _inside(self, name: str, value: Any) -> float:
        value = number_of(value)
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


def number_of(value: Any) -> Any:
    """Booleans count."""
    return float(value) if isinstance(value, (bool, np.bool_)) else value


class Missing(NamedTuple):
    """What is learned instead of an answer that never came, in the user's word and as it is kept."""

    word: str
    value: float
    kept: float

    @classmethod
    def of(cls, missing: Any, scale: Range | LearnedRange) -> Missing | None:
        """From ``missing=0.0``, a reward, or ``missing={"loss": 1.0}``."""
        if missing is None:
            return None
        word, value = "reward", missing
        if isinstance(missing, Mapping):
            if len(missing) != 1 or next(iter(missing)) not in WORDS:
                wanted = "a reward, or {'loss': ...}"
                raise InvalidArgumentError("missing", missing, wanted)
            ((word, value),) = missing.items()
        kept = scale.take(word, value, "missing")
        return cls(word, float(value), kept)
