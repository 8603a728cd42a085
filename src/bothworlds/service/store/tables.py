"""The tables of the service in SQL that all databases speak; each adds its connection and transactions."""

from __future__ import annotations

import hashlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from bothworlds.service.store.base import (
    BanditRow,
    DecisionRow,
    EntryRow,
    ExperimentRow,
    LearnerRow,
    ProjectRow,
    ReportRow,
    SnapshotRow,
)

DECISION, ENTRY = ", ".join(DecisionRow._fields), ", ".join(EntryRow._fields)
REPORT, SNAPSHOT = ", ".join(ReportRow._fields), ", ".join(SnapshotRow._fields)
OPEN = (
    "NOT EXISTS (SELECT 1 FROM entry WHERE entry.project = decision.project AND entry.decision = decision.id)"
)


class Tables(ABC):
    """What a :class:`~bothworlds.service.store.base.ServiceStore` reads and writes. ``?`` is a value."""

    @abstractmethod
    def _all(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query."""

    @abstractmethod
    def _among(self, query: str, ids: Iterable[Any], *values: Any) -> list[Any]:
        """All rows of a query that ends with a column, where that column is one of these."""

    @abstractmethod
    def _insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[tuple[Any, ...]],
        rest: str = "ON CONFLICT DO NOTHING",
    ) -> list[Any]:
        """Add rows; what the rest of the statement returns."""

    def _insert_new(
        self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], key: str
    ) -> list[Any]:
        """Add the rows that are not there yet; the values of this column in those."""
        found = self._insert(table, columns, rows, f"ON CONFLICT DO NOTHING RETURNING {key}")
        return [value for (value,) in found]

    @abstractmethod
    def write(self, project: int, *, log: bool) -> AbstractContextManager[int]:
        """A transaction that commits at its end; gives the head of the log."""

    # --- reading --------------------------------------------------------------------------------------

    def project(self, name: str) -> ProjectRow:
        """The project of this name, made if there is none."""
        query = f"SELECT {', '.join(ProjectRow._fields)} FROM project WHERE name = ?"
        for row in self._all(query, name):
            return ProjectRow._make(row)
        insert = (
            "INSERT INTO project (name, secret, snapshot, swept) VALUES (?, ?, 0, 0.0) ON CONFLICT DO NOTHING"
        )
        self._all(insert, name, secrets.token_bytes(16))
        return ProjectRow._make(self._all(query, name)[0])

    def experiments(self, project: int) -> list[ExperimentRow]:
        """All experiments of a project."""
        columns = ", ".join(ExperimentRow._fields)
        rows = self._all(f"SELECT {columns} FROM experiment WHERE project = ? ORDER BY id", project)
        return [ExperimentRow._make(row) for row in rows]

    def insert_experiment(self, project: int, name: str, settings: str, secret: bytes, at: float) -> bool:
        """Make an experiment; False if there is one of this name."""
        query = (
            "INSERT INTO experiment (project, name, settings, secret, version, state, created) "
            "VALUES (?, ?, ?, ?, 1, 'running', ?) ON CONFLICT DO NOTHING RETURNING id"
        )
        return bool(self._all(query, project, name, settings, secret, at))

    def bandits(self, project: int, after: int) -> list[BanditRow]:
        """The bandits of a project whose ids are larger than ``after``."""
        query = "SELECT id, experiment, segment FROM bandit WHERE project = ? AND id > ? ORDER BY id"
        return [BanditRow._make(row) for row in self._all(query, project, after)]

    def insert_bandits(self, project: int, bandits: Iterable[tuple[int, str]], at: float) -> None:
        """Make the bandits of these experiments and segments, unless they are there."""
        rows = [(project, experiment, segment, at) for experiment, segment in bandits]
        with self.write(project, log=True):  # so that ids become visible in their order
            self._insert("bandit", ("project", "experiment", "segment", "created"), rows)

    def engine(self, description: str) -> int:
        """The number of an engine."""
        query = "SELECT id FROM engine WHERE description = ?"
        if not self._all(query, description):
            self._all("INSERT INTO engine (description) VALUES (?) ON CONFLICT DO NOTHING", description)
        number: int = self._all(query, description)[0][0]
        return number

    def engines(self) -> dict[int, str]:
        """All engines by their numbers."""
        return dict(self._all("SELECT id, description FROM engine"))

    def tail(self, project: int, after: int, limit: int, *, bandit: int | None = None) -> list[LearnerRow]:
        """What a learner needs of the entries after this position, in their order."""
        only = "" if bandit is None else f"AND bandit = {int(bandit)}"
        columns = "pos, bandit, kept, ticket"
        query = f"SELECT {columns} FROM entry WHERE project = ? AND pos > ? {only} ORDER BY pos LIMIT ?"
        return self._all(query, project, after, limit)

    def changes(self, project: int, after: int, until: int) -> list[EntryRow]:
        """Entries that change arms, after a position and up to another, in their order."""
        only = "project = ? AND bandit IS NULL AND pos > ? AND pos <= ?"
        rows = self._all(f"SELECT {ENTRY} FROM entry WHERE {only} ORDER BY pos", project, after, until)
        return [EntryRow._make(row) for row in rows]

    def entries(self, project: int, after: int, limit: int) -> list[EntryRow]:
        """Entries after this position, in their order."""
        query = f"SELECT {ENTRY} FROM entry WHERE project = ? AND pos > ? ORDER BY pos LIMIT ?"
        return [EntryRow._make(row) for row in self._all(query, project, after, limit)]

    def decisions(self, project: int, ids: Iterable[bytes]) -> dict[bytes, DecisionRow]:
        """Those of these decisions that are there."""
        rows = self._among(f"SELECT {DECISION} FROM decision WHERE project = ? AND id", ids, project)
        return {row[0]: DecisionRow._make(row) for row in rows}

    def closings(self, project: int, ids: Iterable[bytes]) -> dict[bytes, EntryRow]:
        """The entries that closed these decisions."""
        rows = self._among(f"SELECT {ENTRY} FROM entry WHERE project = ? AND decision", ids, project)
        return {row[4]: EntryRow._make(row) for row in rows}

    def reports(self, project: int, ids: Iterable[bytes]) -> dict[bytes, ReportRow]:
        """What was reported for these decisions and is not in the log."""
        rows = self._among(f"SELECT {REPORT} FROM report WHERE project = ? AND decision", ids, project)
        return {row[0]: ReportRow(row[0], row[1], row[2], bool(row[3]), row[4]) for row in rows}

    def due(self, project: int, begin: float, end: float, limit: int) -> list[DecisionRow]:
        """Open decisions whose deadline is after ``begin`` and not after ``end``, the earliest first."""
        query = (
            f"SELECT {DECISION} FROM decision WHERE project = ? AND due > ? AND due <= ? AND {OPEN} "
            "ORDER BY due, id LIMIT ?"
        )
        return [DecisionRow._make(row) for row in self._all(query, project, begin, end, limit)]

    def snapshots(self, bandit: int) -> list[SnapshotRow]:
        """The snapshots of a bandit, the latest first."""
        rows = self._all(f"SELECT {SNAPSHOT} FROM snapshot WHERE bandit = ? ORDER BY pos DESC", bandit)
        return [SnapshotRow._make(row) for row in rows]

    def base(self, bandit: int) -> SnapshotRow | None:
        """The state of a bandit where the log begins; None: it has no entry before that."""
        rows = self._all(f"SELECT {SNAPSHOT} FROM base WHERE bandit = ?", bandit)
        return SnapshotRow._make(rows[0]) if rows else None

    def count_decisions(self, project: int, begin: float, end: float) -> int:
        """How many decisions were made after ``begin`` and not after ``end``."""
        query = "SELECT count(*) FROM decision WHERE project = ? AND made > ? AND made <= ?"
        count: int = self._all(query, project, begin, end)[0][0]
        return count

    # --- what is no longer kept -----------------------------------------------------------------------

    def oldest_waiting(self, project: int, swept: float) -> float | None:
        """When the oldest of the open decisions was made whose deadline is after ``swept``."""
        query = f"SELECT MIN(made) FROM decision WHERE project = ? AND due > ? AND {OPEN}"
        oldest: float | None = self._all(query, project, swept)[0][0]
        return oldest

    def first_seen(self, project: int, begin: float) -> int | None:
        """The first position that a decision made at ``begin`` or later had seen."""
        query = "SELECT MIN(seen) FROM decision WHERE project = ? AND made >= ?"
        first: int | None = self._all(query, project, begin)[0][0]
        return first

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
        """Let the log begin with these states, after ``start``, if it began after ``before``."""
        here = "id = ? AND start = ? AND retained <= ?"
        query = f"UPDATE project SET start = ?, retained = ? WHERE {here} RETURNING id"
        if not self._all(query, start, retained, project, before, retained):
            return False
        if states:
            self._among("DELETE FROM base WHERE bandit", states)
        rows = [
            (bandit, start, engine, state, hashlib.sha256(state).digest()) for bandit, state in states.items()
        ]
        self._insert("base", SnapshotRow._fields, rows, "")
        return True

    def delete_decisions(self, project: int, before: float, limit: int) -> int:
        """Delete decisions made before this time, and reports of them; how many decisions."""
        query = "SELECT id FROM decision WHERE project = ? AND made < ? ORDER BY made LIMIT ?"
        with self.write(project, log=False):
            ids = [identity for (identity,) in self._all(query, project, before, limit)]
            if ids:
                self._among("DELETE FROM report WHERE project = ? AND decision", ids, project)
                self._among("DELETE FROM decision WHERE project = ? AND id", ids, project)
        return len(ids)

    def delete_entries(self, project: int, until: int, limit: int) -> int:
        """Delete entries up to this position, but for changes of arms and settings; how many."""
        here = "project = ? AND bandit IS NOT NULL AND pos"
        with self.write(project, log=False):
            query = f"SELECT pos FROM entry WHERE {here} <= ? ORDER BY pos LIMIT ?"
            found = self._all(query, project, until, limit)
            if found:
                first, last = found[0][0], found[-1][0]
                self._all(f"DELETE FROM entry WHERE {here} >= ? AND pos <= ?", project, first, last)
        return len(found)

    # --- writing --------------------------------------------------------------------------------------

    def insert_decisions(self, project: int, rows: Sequence[DecisionRow]) -> set[bytes]:
        """Add decisions; returns the ids of those that were new."""
        columns = ("project", *DecisionRow._fields)
        ordered = sorted(rows, key=lambda row: row.id)  # else two could wait for each other
        return set(self._insert_new("decision", columns, [(project, *row) for row in ordered], "id"))

    def insert_entries(self, project: int, rows: Sequence[EntryRow]) -> None:
        """Add entries, which the caller has numbered."""
        self._insert("entry", ("project", *EntryRow._fields), [(project, *row) for row in rows], "")

    def insert_reports(self, project: int, rows: Sequence[ReportRow]) -> None:
        """Add reports."""
        columns = ("project", *ReportRow._fields)
        self._insert("report", columns, [(project, *row[:3], int(row.late), row.key) for row in rows])

    def insert_snapshots(
        self, project: int, pos: int, engine: int, states: Mapping[int, bytes], swept: float
    ) -> set[int]:
        """Keep the states of these bandits at a position, and of each the one before.

        Returns the bandits of which another process has kept another state of this engine at this position.
        """
        self._all(  # which other processes wait for that are at the same
            "UPDATE project SET snapshot = CASE WHEN snapshot < ? THEN ? ELSE snapshot END, "
            "swept = CASE WHEN swept < ? THEN ? ELSE swept END WHERE id = ?",
            *(pos, pos, swept, swept, project),
        )
        rows = [
            (bandit, pos, engine, state, hashlib.sha256(state).digest()) for bandit, state in states.items()
        ]
        new = set(self._insert_new("snapshot", SnapshotRow._fields, rows, "bandit"))
        query = "SELECT bandit, sha256 FROM snapshot WHERE pos = ? AND engine = ? AND bandit"
        stored = dict(self._among(query, states.keys() - new, pos, engine)) if len(new) < len(rows) else {}
        newer = "SELECT count(*) FROM snapshot AS newer WHERE newer.bandit = snapshot.bandit"
        self._among(
            f"DELETE FROM snapshot WHERE ({newer} AND newer.pos > snapshot.pos) >= 2 AND bandit", states
        )
        return {row[0] for row in rows if stored.get(row[0], row[4]) != row[4]}

    def forget_sweeps(self, project: int) -> None:
        """All deadlines are to be looked at again, from the first on."""
        self._all("UPDATE project SET swept = 0.0 WHERE id = ?", project)
