"""``high=None``: a range that is learned from what is reported."""

from __future__ import annotations

import math
from typing import Any

from bothworlds import _check, statefile
from bothworlds.bandit.feedback import ROUNDING, WORDS, Range, number_of
from bothworlds.errors import InvalidArgumentError

LARGEST = 1e100  # beyond it sums and widths might overflow
USUAL = 64.0  # what is usual for an arm is learned from about so many of its latest numbers
SPREAD = 0.5  # standard deviations of their logarithm above its mean, and
MARGIN = 1.25  # what is beyond that: room to tell more from usual even where the usual is always the same
OUTLIER = 8.0  # widths: what is larger counts as so many, so that one wrong number moves little
GROWTH, SHRINKAGE = 1.5, 1.0 / 3.0  # the width stays as it is while what is learned is within


class LearnedRange:
    """A range whose width w is learned: [low, low + w], or [−w, w] where low is None.

    What is beyond the range is taken for its end. Sizes x are distances from low; zeros say nothing of the
    scale, and are no loss of information either: they are the low end of any range. Of the sizes of each arm
    the mean m and the standard deviation s of log x are kept, forgetting all but about the latest 64, and

        w = 1.25·max_i exp{m_i + ½·(1 − 1/√n_i)·s_i} ,

    taken over when it exceeds 1.5 or falls below ⅓ of the width in force. The policy is not told: to it a new
    width is a world in which all losses have moved together. A number is learned with the width that its
    forerunners left, which is fixed before the draw whenever feedback is immediate.
    """

    def __init__(self, low: float | None, clip: bool, n_arms: int) -> None:
        self.low = low
        self.clip = clip
        self.word: str | None = None  # the only one: a reward has no loss while the other end is unknown
        self.width = 0.0  # before the first size
        self.counts = [0] * n_arms
        self.means = [0.0] * n_arms
        self.variances = [0.0] * n_arms
        self.usual = [0.0] * n_arms  # exp{…} of each arm; 0 for those of which nothing is known

    @classmethod
    def of(cls, low: Any, clip: Any, n_arms: int) -> LearnedRange:
        """A range to be learned, or an error that says what is wrong with it."""
        if low is not None:
            low = _check.number("low", low, at_least=-LARGEST, at_most=LARGEST)
        _check.one_of("clip", clip, (False, True))
        return cls(low, bool(clip), n_arms)

    @property
    def high(self) -> float | None:
        """The end in force; None before anything is known."""
        return (self.low or 0.0) + self.width if self.width else None

    def take(self, word: str, value: Any, name: str = "") -> float:
        """A reward or a loss (``word`` says which) as it is kept: as it is."""
        name = name or word
        if self.word not in (None, word):
            fix = "where high is None, report rewards or losses, not both"
            raise InvalidArgumentError(name, value, f"a {self.word}, as those before", fix=fix)
        number = _check.number(
            name, number_of(value), at_least=-LARGEST, at_most=LARGEST, fix="use a larger unit"
        )
        if self.low is not None and number < self.low:
            if not self.clip and self.low - number > ROUNDING * self.width:
                fix = "give the smallest as Bandit(..., low=...), or clip=True to cut off what is below"
                _check.number(name, number, at_least=self.low, fix=fix)
            number = self.low
        self.word = word
        return number

    def value_of(self, word: str, kept: float) -> float:
        """What was taken, in the user's word."""
        return kept

    def loss_of(self, kept: float) -> float:
        """What was taken as a loss in [0, 1], by the width in force."""
        size = kept - (self.low or 0.0)
        end = math.copysign(1.0, size) if size else 0.0
        share = size / self.width if abs(size) < self.width else end
        place = share if self.low is not None else 0.5 + 0.5 * share
        return 1.0 - place if self.word == "reward" else place

    def learn(self, arm: int, kept: float) -> None:
        """Let what was taken for an arm move the width."""
        size = abs(kept - (self.low or 0.0))
        if size == 0.0:
            return
        log = math.log(min(size, OUTLIER * self.width) if self.width else size)
        self.counts[arm] += 1
        n = self.counts[arm]
        weight = 1.0 / min(n, USUAL)
        deviation = log - self.means[arm]
        self.means[arm] += weight * deviation
        self.variances[arm] = (1.0 - weight) * (self.variances[arm] + weight * deviation * deviation)
        self._bring_up_to_date(arm)
        width = MARGIN * max(self.usual)
        if not SHRINKAGE * self.width <= width <= GROWTH * self.width:
            self.width = width

    def _bring_up_to_date(self, arm: int) -> None:
        n = self.counts[arm]
        if n:
            spread = SPREAD * (1.0 - 1.0 / math.sqrt(n)) * math.sqrt(self.variances[arm])
            self.usual[arm] = math.exp(self.means[arm] + spread)

    def add(self) -> None:
        """One arm more, of which nothing is known."""
        self.counts.append(0)
        for numbers in (self.means, self.variances, self.usual):
            numbers.append(0.0)

    def forget(self, arm: int) -> None:
        """As if nothing had been taken for this arm; the width in force stays until others move it."""
        self.counts[arm] = 0
        self.means[arm] = self.variances[arm] = self.usual[arm] = 0.0

    def to_dict(self) -> dict[str, Any]:
        """All that was learned, in plain JSON types."""
        return {
            "word": self.word,
            "width": self.width,
            "counts": list(self.counts),
            "means": list(self.means),
            "variances": list(self.variances),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Know what :meth:`to_dict` described."""
        n = len(self.counts)
        if data["word"] is not None:
            _check.one_of("word", data["word"], WORDS)
        self.word = data["word"]
        self.width = _check.number("width", data["width"], at_least=0.0)
        self.counts = statefile.counts(data, "counts", n)
        self.means = _check.vector("means", data["means"], size=n).tolist()
        self.variances = _check.vector("variances", data["variances"], size=n, at_least=0.0).tolist()
        for arm in range(n):
            self._bring_up_to_date(arm)


def range_of(low: Any, high: Any, clip: Any, n_arms: int) -> Range | LearnedRange:
    """The range that was given, or one to be learned."""
    if high is None:
        return LearnedRange.of(low, clip, n_arms)
    if low is None:
        raise InvalidArgumentError("low", low, "a number where high is one", fix="or write high=None too")
    return Range.of(low, high, clip)
