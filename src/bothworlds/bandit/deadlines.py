"""How long a pull waits for its feedback: so many pulls more, or so much time."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, NamedTuple

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError, OutOfRangeError

LEARN_AT = ("arrival", "deadline")


class Wait(NamedTuple):
    """A number of rounds, or of seconds; the other is None."""

    rounds: int | None
    seconds: float | None

    @classmethod
    def of(cls, wait: Any) -> Wait | None:
        """From an integer or a ``timedelta``."""
        if wait is None:
            return None
        if isinstance(wait, timedelta):
            if wait <= timedelta(0):
                raise OutOfRangeError("wait", wait, "longer than no time")
            return cls(None, wait.total_seconds())
        try:
            return cls(_check.integer("wait", wait, at_least=1), None)
        except OutOfRangeError:
            raise
        except InvalidArgumentError:
            fix = "for seconds write datetime.timedelta(seconds=...)"
            raise InvalidArgumentError("wait", wait, "a number of rounds or a timedelta", fix=fix) from None

    @property
    def value(self) -> int | timedelta:
        """The option ``wait`` of a bandit, as it was given."""
        return self.rounds if self.rounds is not None else timedelta(seconds=self.seconds or 0.0)

    def now(self) -> float:
        """What to keep with a pull: the time, where it plays a part."""
        return 0.0 if self.seconds is None else time.time()

    def over(self, number: int, made: float, rounds: int) -> bool:
        """Has the pull of round ``number`` waited long enough, now that ``rounds`` pulls have been made?"""
        if self.rounds is not None:
            return number + self.rounds <= rounds
        return made + (self.seconds or 0.0) <= time.time()
