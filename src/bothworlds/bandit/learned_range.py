"""``high=None``: a range that is learned from what is reported."""

from __future__ import annotations

import copy
import math
from typing import Any

from bothworlds import _check, statefile
from bothworlds._jit import FloatArray
from bothworlds.bandit.feedback import PLURALS, ROUNDING, Range, as_number
from bothworlds.errors import InvalidArgumentError, OutOfRangeError

LARGEST = 1e100  # beyond it sums and widths might overflow
MEMORY = 64  # what is usual for an arm is learned from about so many of its latest numbers
MARGIN = 1.5  # widths per usual size: room to tell more from usual, even where the usual is always the same
OUTLIER = 8.0  # widths: what is larger counts as so many, so that one wrong number moves little
GROWTH, SHRINKAGE = 1.5, 0.5  # the width stays as it is while the one that was learned is within
UNKNOWN = -math.inf


class LearnedRange:
    """A range whose width w is learned: [low, low + w], or [−w, w] where low is None.

    What is beyond the range is taken for its end. Sizes x are distances from low; zeros say nothing of the
    scale. The width is one and a half times what is usual for the arm that has the largest sizes, in the
    geometric mean,

        w = 1.5·max_i exp(m_i) ,   m_i the mean of log x over about the latest 64 sizes of arm i ,

    taken over when it is more than 1.5 times or less than half the width in force. The policy is not told: to
    it a new width is a world in which all losses have moved together. A number is learned with the width that
    was in force before it.
    """

    def __init__(self, low: float | None, clip: bool, n_arms: int) -> None:
        self.low = low
        self.clip = clip
        # "reward" or "loss", whichever comes first: which loss a reward is depends on the other end
        self.feedback_kind: str | None = None
        self.width = 0.0  # before the first size
        self.counts = [0] * n_arms
        self.means = [UNKNOWN] * n_arms

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

    def take(self, kind: str, value: Any, name: str = "") -> float:
        """A reward or a loss (``kind`` says which) as feedback: checked, and otherwise as it is.

        What loss in [0, 1] it is depends on the width in force when it is learned: see :meth:`loss_of`.
        """
        number = self._checked(name or kind, kind, value)
        self.feedback_kind = kind
        return number

    def take_many(self, kind: str, values: Any, size: int) -> FloatArray:
        """So many rewards or losses as feedback; does not yet commit the range to this kind."""
        array = _check.vector(PLURALS[kind], values, size=size, fix="give one for each pull")
        for i, value in enumerate(array.tolist()):
            array[i] = self._checked(f"{PLURALS[kind]}[{i}]", kind, value)
        return array

    def _checked(self, name: str, kind: str, value: Any) -> float:
        if self.feedback_kind not in (None, kind):
            fix = "where high is None, report rewards or losses, not both"
            raise InvalidArgumentError(name, value, f"a {self.feedback_kind}, as those before", fix=fix)
        number = _check.number(
            name, as_number(value), at_least=-LARGEST, at_most=LARGEST, fix="use a larger unit"
        )
        if self.low is None or number >= self.low:
            return number
        if not self.clip and self.low - number > ROUNDING * self.width:
            fix = "give the smallest as Bandit(..., low=...), or clip=True to cut off what is below"
            raise OutOfRangeError(name, number, f"a finite number at least {self.low:g}", fix=fix)
        return self.low

    def value_of(self, kind: str, feedback: float) -> float:
        """Undo :meth:`take`: the reward or loss that was reported."""
        return feedback

    def loss_of(self, feedback: float) -> float:
        """What :meth:`take` gave as a loss in [0, 1], by the width in force."""
        size = feedback - (self.low or 0.0)
        end = math.copysign(1.0, size) if size else 0.0
        share = size / self.width if abs(size) < self.width else end
        place = share if self.low is not None else 0.5 + 0.5 * share
        return 1.0 - place if self.feedback_kind == "reward" else place

    def learn(self, arm: int, feedback: float) -> None:
        """Let what :meth:`take` gave for an arm move the width."""
        size = abs(feedback - (self.low or 0.0))
        if size == 0.0:
            return
        log = math.log(min(size, OUTLIER * self.width) if self.width else size)
        self.counts[arm] += 1
        n, mean = self.counts[arm], self.means[arm]
        self.means[arm] = log if n == 1 else mean + (log - mean) / min(n, MEMORY)
        width = MARGIN * math.exp(max(self.means))
        if not SHRINKAGE * self.width <= width <= GROWTH * self.width:
            self.width = width

    def add(self) -> None:
        """One arm more, of which nothing is known."""
        self.counts.append(0)
        self.means.append(UNKNOWN)

    def forget(self, arm: int) -> None:
        """As if nothing had been taken for this arm; the width in force stays until others move it."""
        self.counts[arm] = 0
        self.means[arm] = UNKNOWN

    def copy(self) -> LearnedRange:
        """An independent copy."""
        return copy.deepcopy(self)

    def to_dict(self) -> dict[str, Any]:
        """All that was learned, in plain JSON types."""
        return {
            "word": self.feedback_kind,
            "width": self.width,
            "counts": list(self.counts),
            "means": [mean if n else 0.0 for n, mean in zip(self.counts, self.means, strict=True)],
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Know what :meth:`to_dict` described."""
        n_arms = len(self.counts)
        if data["word"] is not None:
            _check.one_of("word", data["word"], tuple(PLURALS))
        self.feedback_kind = data["word"]
        self.width = _check.number("width", data["width"], at_least=0.0, at_most=LARGEST * MARGIN * OUTLIER)
        self.counts = statefile.counts(data, "counts", n_arms)
        most = math.log(OUTLIER * LARGEST)
        means = _check.vector("means", data["means"], size=n_arms, at_least=-most, at_most=most).tolist()
        self.means = [mean if n else UNKNOWN for n, mean in zip(self.counts, means, strict=True)]


def range_of(low: Any, high: Any, clip: Any, n_arms: int) -> Range | LearnedRange:
    """The range that was given, or one to be learned."""
    if high is None:
        return LearnedRange.of(low, clip, n_arms)
    if low is None:
        raise InvalidArgumentError("low", low, "a number where high is one", fix="or write high=None too")
    return Range.of(low, high, clip)
