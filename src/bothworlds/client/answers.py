"""What the methods of a client return: decisions, outcomes, and what became of a spool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from bothworlds.errors import RefusedError

Label: TypeAlias = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An arm: one that the service has drawn, or the fallback because it could not be reached.

    A fallback has no id and no probability; nothing is learned from it.
    """

    id: str | None
    """What names the decision, for everybody who reports its outcome."""
    experiment: str
    segment: str
    arm: Label
    """The arm to be played."""
    observe: Label
    """Whose reward or loss to report; another arm only where the policy is decoupled."""
    probability: float | None
    """The probability of ``arm`` at the draw; None for a fallback."""
    deadline: datetime | None = None
    """When the service no longer waits for the outcome."""
    reason: Literal["draw", "fallback"] = "draw"
    error: str | None = None
    """Why it is a fallback."""

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Decision:
        """What the service has answered."""
        deadline = answer.get("deadline")
        return cls(
            id=answer["id"],
            experiment=answer["experiment"],
            segment=answer["segment"],
            arm=answer["arm"],
            observe=answer["observe"],
            probability=answer["probability"],
            deadline=None if deadline is None else datetime.fromisoformat(deadline),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a report or of a withdrawal: on a disk, that of the service or of the spool."""

    id: str | None
    learned: bool
    reason: str | None = None
    """Why it is not learned, or not yet: ``"fallback"``, ``"spooled"``, or what the service says."""

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Outcome:
        """What the service has answered."""
        return cls(answer["id"], answer["learned"], answer.get("reason"))


class Drained(NamedTuple):
    """What became of the reports in a spool."""

    sent: int
    """How many the service has acknowledged."""
    refused: list[RefusedError]
    """Those that it will never take; they have left the spool, too."""
    left: int
    """How many wait still, because it could not be reached; withdrawals included."""
