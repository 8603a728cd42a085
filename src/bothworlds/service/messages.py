"""What the service is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from bothworlds.bandit.pull import Label

# --- requests -------------------------------------------------------------------------------------------


class Decide(msgspec.Struct, frozen=True):
    """Choose an arm. The same id again gets the same decision."""

    experiment: str
    id: str | None = None
    """A UUID; None for a fresh one."""
    segment: str = ""
    unit: str | None = None
    """Whom the arm is chosen for: a user, say. Kept as a keyed hash."""
    context: bytes | None = None
    """Kept with the decision, JSON say; plays no part in it."""
    among: tuple[Label, ...] | None = None
    """The arms that can be played this time; None: all."""
    key: int | None = None
    """The number of the key that asks; None: nobody's."""


class Report(msgspec.Struct, frozen=True):
    """The outcome of a decision: a reward or a loss. The same again changes nothing."""

    id: str
    reward: float | None = None
    loss: float | None = None
    key: int | None = None
    """The number of the key that reports."""


class Withdraw(msgspec.Struct, frozen=True):
    """Close a decision without learning, because its arm was never shown."""

    id: str
    key: int | None = None
    """The number of the key that withdraws."""


class Change(msgspec.Struct, frozen=True):
    """Add, retire, disable or enable an arm in all segments of an experiment, or restart all of them."""

    experiment: str
    what: Literal["add", "retire", "disable", "enable", "restart"]
    arm: Label | None = None


class Alter(msgspec.Struct, frozen=True):
    """Settings of an experiment that the fold does not read, if nothing has changed since ``version``."""

    experiment: str
    version: int
    settings: dict[str, Any]
    """Of wait, missing, learn_at, sticky, max_segments, archived: those that change."""


class Read(msgspec.Struct, frozen=True):
    """Call a function in the thread of the hub, when nothing moves. It may raise problems alone."""

    function: Callable[[], Any]


Request: TypeAlias = Decide | Report | Withdraw | Change | Alter | Read

# --- answers --------------------------------------------------------------------------------------------


class Decision(msgspec.Struct, frozen=True):
    """An arm that was chosen; on disk before anybody sees it."""

    id: str
    experiment: str
    segment: str
    arm: Label
    """The arm to be played."""
    observe: Label
    """Whose reward or loss to report; another arm only where the policy is decoupled."""
    probability: float
    """The probability of ``arm`` at the draw."""
    seen: int
    """The position of the log up to which had been learned."""
    made: float
    """When it was made, in seconds since 1970."""
    deadline: float | None = None
    """When the wait for its outcome is over, in seconds since 1970; None: never."""
    repeated: bool = msgspec.field(default=False)
    """Had it been made before?"""

    def __repr__(self) -> str:
        return f"Decision(id={self.id!r}, arm={self.arm!r}, probability={self.probability:.4g})"


class Outcome(msgspec.Struct, frozen=True):
    """What became of a report or of a withdrawal; on disk before anybody sees it."""

    id: str
    learned: bool
    reason: Literal["waiting", "late", "withdrawn", "restarted", "frozen"] | None = None
    """Why it is not learned, or not yet."""
    position: int | None = None
    """Where in the log the decision was closed."""
    repeated: bool = False
    """Had the same been reported before?"""


class Changed(msgspec.Struct, frozen=True):
    """The arms of an experiment after a change."""

    experiment: str
    arms: tuple[Label, ...]
    disabled: tuple[Label, ...]
    retired: tuple[Label, ...]
    position: int


Answer: TypeAlias = Decision | Outcome | Changed | Any
