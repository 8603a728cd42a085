"""What a database must do for the service: a handful of calls, all synchronous, all on one connection.

The log of a project is the table of entries, numbered 1, 2, 3, … by ``pos``. What is decided is decided by
the hub, inside :meth:`ServiceStore.write`; a store only reads and writes rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeAlias

REPORT, DEFAULT, DROPPED, WITHDRAWN = "report", "default", "dropped", "withdrawn"
"""Kinds of entries that close a decision."""
SETTINGS = "settings"
"""The kind of an entry that changes settings; all others change arms."""


class ProjectRow(NamedTuple):
    """A project: experiments that share a log."""

    id: int
    name: str
    secret: bytes
    snapshot: int
    """All that was learned up to this position is in snapshots."""
    swept: float
    """Decisions that were due before this time are closed."""
    start: int
    """Up to this position the log is not kept, but for changes of arms and settings: it begins with bases."""
    retained: float
    """Decisions that were made before this time are no longer kept."""


class ExperimentRow(NamedTuple):
    """An experiment; settings are JSON."""

    id: int
    name: str
    settings: str
    secret: bytes
    version: int
    state: str
    created: float


class BanditRow(NamedTuple):
    """The bandit of a segment."""

    id: int
    experiment: int
    segment: str


class DecisionRow(NamedTuple):
    """A decision; ``ticket`` is what :meth:`Learner.learn` wants back with the feedback."""

    id: bytes
    bandit: int
    arm: int
    probability: float
    ticket: bytes
    seen: int
    """The position of the log up to which the learner had read."""
    engine: int
    made: float
    due: float | None
    unit: bytes | None
    context: bytes | None
    key: int | None = None
    """The number of the key that asked for it."""


class EntryRow(NamedTuple):
    """An entry of the log: a decision is closed (``decision`` is set), or arms change (``body`` is set)."""

    pos: int
    kind: str
    experiment: int
    bandit: int | None
    decision: bytes | None
    kept: float | None
    """The feedback, as :meth:`Learner.take` gave it; None where nothing is learned."""
    ticket: bytes | None
    at: float
    body: str | None
    key: int | None = None
    """The number of the key that reported it."""


LearnerRow: TypeAlias = tuple[int, int | None, float | None, bytes | None]
"""What a learner needs of an entry: pos, bandit, kept and ticket. Plain tuples, as there are millions."""


class ReportRow(NamedTuple):
    """What was reported and is not, or not yet, in the log: it waits for its deadline, or came late."""

    decision: bytes
    kept: float
    """The feedback, as :meth:`Learner.take` gave it."""
    at: float
    late: bool
    key: int | None = None
    """The number of the key that reported it."""


class SnapshotRow(NamedTuple):
    """The state of a learner after the entry at ``pos``."""

    bandit: int
    pos: int
    engine: int
    state: bytes
    sha256: bytes


class ServiceStore(Protocol):
    """A database. Every call may raise a :class:`~bothworlds.service.problems.StorageError`."""

    def project(self, name: str) -> ProjectRow:
        """The project of this name, made if there is none."""

    def experiments(self, project: int) -> list[ExperimentRow]:
        """All experiments of a project."""

    def insert_experiment(self, project: int, name: str, settings: str, secret: bytes, at: float) -> bool:
        """Make an experiment; False if there is one of this name. Commits."""

    def bandits(self, project: int, after: int) -> list[BanditRow]:
        """The bandits of a project whose ids are larger than ``after``."""

    def insert_bandits(self, project: int, bandits: Iterable[tuple[int, str]], at: float) -> None:
        """Make the bandits of these experiments and segments, unless they are there. Commits.

        Ids must become visible in their order.
        """

    def engine(self, description: str) -> int:
        """The number of an engine. Commits."""

    def engines(self) -> dict[int, str]:
        """All engines by their numbers."""

    def changed(self) -> bool:
        """May somebody else have written since this was last asked?"""

    def may_sweep(self, project: int) -> bool:
        """May this process close the decisions whose wait is over, or does another one do it?"""

    def write(self, project: int, *, log: bool) -> AbstractContextManager[int]:
        """A transaction that commits at its end, durably, or changes nothing; gives the head of the log.

        ``log``: entries will be added, so that nobody else may add any meanwhile.
        """

    def tail(self, project: int, after: int, limit: int, *, bandit: int | None = None) -> list[LearnerRow]:
        """What a learner needs of the entries after this position, in their order; or of one bandit."""

    def changes(self, project: int, after: int, until: int) -> list[EntryRow]:
        """Entries that change arms, after a position and up to another, in their order."""

    def entries(self, project: int, after: int, limit: int) -> list[EntryRow]:
        """Entries after this position, in their order."""

    def decisions(self, project: int, ids: Iterable[bytes]) -> dict[bytes, DecisionRow]:
        """Those of these decisions that are there."""

    def closings(self, project: int, ids: Iterable[bytes]) -> dict[bytes, EntryRow]:
        """The entries that closed these decisions."""

    def reports(self, project: int, ids: Iterable[bytes]) -> dict[bytes, ReportRow]:
        """What was reported for these decisions and is not in the log."""

    def due(self, project: int, begin: float, end: float, limit: int) -> list[DecisionRow]:
        """Open decisions whose deadline is after ``begin`` and not after ``end``, the earliest first."""

    def snapshots(self, bandit: int) -> list[SnapshotRow]:
        """The snapshots of a bandit, the latest first."""

    def base(self, bandit: int) -> SnapshotRow | None:
        """The state of a bandit where the log begins; None: it has no entry before that."""

    def count_decisions(self, project: int, begin: float, end: float) -> int:
        """How many decisions were made after ``begin`` and not after ``end``."""

    # --- inside write ---------------------------------------------------------------------------------

    def insert_decisions(self, project: int, rows: Sequence[DecisionRow]) -> set[bytes]:
        """Add decisions; returns the ids of those that were new."""

    def insert_entries(self, project: int, rows: Sequence[EntryRow]) -> None:
        """Add entries, which the caller has numbered."""

    def insert_reports(self, project: int, rows: Sequence[ReportRow]) -> None:
        """Add reports."""

    def insert_snapshots(
        self, project: int, pos: int, engine: int, states: Mapping[int, bytes], swept: float
    ) -> set[int]:
        """Keep the states of these bandits at a position, and of each the one before.

        Returns the bandits of which another process has kept another state of this engine at this position.
        """

    def forget_sweeps(self, project: int) -> None:
        """All deadlines are to be looked at again, from the first on."""

    # --- what is no longer kept -----------------------------------------------------------------------

    def may_retain(self, project: int) -> bool:
        """May this store delete what is old, until it is closed, or does another one do it?"""

    def oldest_waiting(self, project: int, swept: float) -> float | None:
        """When the oldest open decision was made whose deadline is after ``swept``; None: there is none."""

    def first_seen(self, project: int, begin: float) -> int | None:
        """The first position that a decision made at ``begin`` or later had seen; None: there is none."""

    def move_start(
        self,
        project: int,
        *,
        before: int,
        start: int,
        retained: float,
        engine: int,
        states: Mapping[int, bytes],
    ) -> bool:
        """Inside write: let the log begin with these states after ``start``, if it began after ``before``."""

    def delete_decisions(self, project: int, before: float, limit: int) -> int:
        """Delete decisions made before this time, and reports of them; how many decisions. Commits."""

    def delete_entries(self, project: int, until: int, limit: int) -> int:
        """Delete entries up to this position, but for changes of arms and settings; how many. Commits."""

    # --- the whole log --------------------------------------------------------------------------------

    def scan_decisions(self, project: int) -> Iterator[DecisionRow]:
        """All decisions, in the order of what they had seen."""

    def close(self) -> None:
        """Close the connection."""
