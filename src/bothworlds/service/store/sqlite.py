"""The service's tables in an SQLite file: for all processes of one machine."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from bothworlds.errors import StateError
from bothworlds.service import problems
from bothworlds.service.store import schema
from bothworlds.service.store.base import (
    BanditRow,
    DecisionRow,
    EntryRow,
    ExperimentRow,
    ProjectRow,
    ReportRow,
    SnapshotRow,
    Told,
)

BUSY = 5000  # milliseconds to wait for another process that writes
ROWS = 500  # of one statement: SQLite takes 32,766 values
FILLED = 8 << 20  # bytes of the write-ahead log made in advance
SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",  # NORMAL may lose what was committed last when the power fails
    "wal_autocheckpoint = 1000",
    "foreign_keys = ON",
    "secure_delete = ON",
)
DECISION, ENTRY = ", ".join(DecisionRow._fields), ", ".join(EntryRow._fields)
REPORT, SNAPSHOT = ", ".join(ReportRow._fields), ", ".join(SnapshotRow._fields)


class SQLiteStore:
    """A file. One thread at a time may use it; other processes have connections of their own.

    Parameters
    ----------
    path:
        The file; made if it is not there, and brought up to date, after a copy, if it is an older one.
    fill:
        Write the write-ahead log once, so that commits overwrite a file instead of growing one: for a service
        that runs for long.
    """

    def __init__(self, path: str | PathLike[str], *, fill: bool = False) -> None:
        self.path = Path(path).absolute()
        with self._told():
            self._db = self._connect()
            try:
                revision = self._revision()
                if not schema.is_current(revision, str(self.path)):
                    self._migrate(revision)
                if fill:
                    self._fill()
            except BaseException:
                self._db.close()
                raise
        self._version = -1

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        db.execute(f"PRAGMA busy_timeout = {BUSY}")
        for setting in SETTINGS:
            db.execute(f"PRAGMA {setting}")
        return db

    def _revision(self) -> str | None:
        names = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "alembic_version" in names:
            row = self._db.execute("SELECT version_num FROM alembic_version").fetchone()
            return None if row is None else str(row[0])
        if names:
            raise StateError(
                f"{self.path} is a database of something else: it holds {', '.join(sorted(names))}"
            )
        return None

    def _migrate(self, revision: str | None) -> None:
        from sqlalchemy import create_engine  # noqa: PLC0415
        from sqlalchemy.pool import NullPool  # noqa: PLC0415

        if revision is not None:
            self.backup(self.path.with_name(f"{self.path.name}.{revision}.backup"))
        engine = create_engine("sqlite://", creator=self._connect, poolclass=NullPool)
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # another process may be at it
            if self._revision() == revision:
                schema.migrate(connection)
            connection.commit()

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the database, as it is at this moment, to a file that must not exist."""
        if os.path.exists(path):
            raise StateError(f"{path} exists; a backup overwrites nothing")
        with self._told(), contextlib.closing(sqlite3.connect(path)) as copy:
            self._db.backup(copy)

    def _fill(self) -> None:
        log = Path(f"{self.path}-wal")
        if log.exists() and log.stat().st_size >= FILLED:
            return
        with contextlib.suppress(
            sqlite3.OperationalError
        ):  # another process is busy: it has filled it, or will
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("CREATE TABLE filling (bytes)")
            self._db.execute("INSERT INTO filling VALUES (zeroblob(?))", (FILLED,))
            self._db.execute("DROP TABLE filling")
            self._db.execute("COMMIT")
            self._db.execute("PRAGMA wal_checkpoint(RESTART)")
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say in words of the service what SQLite says in its own."""
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise problems.Closed(f"{self.path} is closed: {error}") from error
        except sqlite3.Error as error:
            raise problem_of(error, self.path) from error

    # --- reading --------------------------------------------------------------------------------------

    def _all(self, query: str, *values: Any) -> list[Any]:
        with self._told():
            return self._db.execute(query, values).fetchall()

    def _by_ids(self, query: str, project: int, ids: Iterable[bytes]) -> Iterator[Any]:
        """Rows of a query that ends with a list of ids."""
        wanted = list(ids)
        for begin in range(0, len(wanted), ROWS):
            part = wanted[begin : begin + ROWS]
            marks = ", ".join("?" * len(part))
            yield from self._all(f"{query} ({marks})", project, *part)

    def project(self, name: str) -> ProjectRow:
        """The project of this name, made if there is none."""
        query = "SELECT id, name, secret, snapshot, swept FROM project WHERE name = ?"
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
        with self.write(project, log=False):
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

    def changed(self) -> bool:
        """May somebody else have written since this was last asked?"""
        ((version,),) = self._all("PRAGMA data_version")  # moves when another connection commits
        before, self._version = self._version, version
        return bool(version != before)

    def tail(self, project: int, after: int, limit: int, *, bandit: int | None = None) -> list[Told]:
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
        rows = self._by_ids(f"SELECT {DECISION} FROM decision WHERE project = ? AND id IN", project, ids)
        return {row[0]: DecisionRow._make(row) for row in rows}

    def closings(self, project: int, ids: Iterable[bytes]) -> dict[bytes, EntryRow]:
        """The entries that closed these decisions."""
        rows = self._by_ids(f"SELECT {ENTRY} FROM entry WHERE project = ? AND decision IN", project, ids)
        return {row[4]: EntryRow._make(row) for row in rows}

    def reports(self, project: int, ids: Iterable[bytes]) -> dict[bytes, ReportRow]:
        """What was reported for these decisions and is not in the log."""
        rows = self._by_ids(f"SELECT {REPORT} FROM report WHERE project = ? AND decision IN", project, ids)
        return {row[0]: ReportRow(row[0], row[1], row[2], bool(row[3])) for row in rows}

    def due(self, project: int, begin: float, end: float, limit: int) -> list[DecisionRow]:
        """Open decisions whose deadline is after ``begin`` and not after ``end``, the earliest first."""
        query = (
            f"SELECT {DECISION} FROM decision WHERE project = ? AND due > ? AND due <= ? AND NOT EXISTS "
            "(SELECT 1 FROM entry WHERE entry.project = decision.project AND entry.decision = decision.id) "
            "ORDER BY due, id LIMIT ?"
        )
        return [DecisionRow._make(row) for row in self._all(query, project, begin, end, limit)]

    def snapshots(self, bandit: int) -> list[SnapshotRow]:
        """The snapshots of a bandit, the latest first."""
        rows = self._all(f"SELECT {SNAPSHOT} FROM snapshot WHERE bandit = ? ORDER BY pos DESC", bandit)
        return [SnapshotRow._make(row) for row in rows]

    def scan_decisions(self, project: int) -> Iterator[DecisionRow]:
        """All decisions, in the order of what they had seen."""
        with self._told():
            rows = self._db.execute(
                f"SELECT {DECISION} FROM decision WHERE project = ? ORDER BY seen, id", (project,)
            )
            for row in rows:
                yield DecisionRow._make(row)

    # --- writing --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def write(self, project: int, *, log: bool) -> Iterator[int]:
        """A transaction that commits at its end; gives the head of the log."""
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")  # the file has one writer at a time, whatever it writes
            try:
                query = "SELECT COALESCE(MAX(pos), 0) FROM entry WHERE project = ?"
                yield self._db.execute(query, (project,)).fetchone()[0]
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _insert(
        self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], returning: str = ""
    ) -> list[Any]:
        """Add rows, but those that are there already."""
        one = f"({', '.join('?' * len(columns))})"
        found: list[Any] = []
        for begin in range(0, len(rows), ROWS):
            part = rows[begin : begin + ROWS]
            query = (
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([one] * len(part))} "
                f"ON CONFLICT DO NOTHING {returning}"
            )
            found += self._all(query, *(value for row in part for value in row))
        return found

    def insert_decisions(self, project: int, rows: Sequence[DecisionRow]) -> set[bytes]:
        """Add decisions; returns the ids of those that were new."""
        columns = ("project", *DecisionRow._fields)
        found = self._insert("decision", columns, [(project, *row) for row in rows], "RETURNING id")
        return {identity for (identity,) in found}

    def insert_entries(self, project: int, rows: Sequence[EntryRow]) -> None:
        """Add entries, which the caller has numbered."""
        self._insert("entry", ("project", *EntryRow._fields), [(project, *row) for row in rows])

    def insert_reports(self, project: int, rows: Sequence[ReportRow]) -> None:
        """Add reports."""
        self._insert("report", ("project", *ReportRow._fields), [(project, *row) for row in rows])

    def insert_snapshots(
        self, project: int, pos: int, engine: int, states: Mapping[int, bytes], swept: float
    ) -> None:
        """Keep the states of these bandits at a position, and of each the one before."""
        rows = [
            (bandit, pos, engine, state, hashlib.sha256(state).digest()) for bandit, state in states.items()
        ]
        self._insert("snapshot", SnapshotRow._fields, rows)
        for bandit in states:
            older = "SELECT pos FROM snapshot WHERE bandit = ?1 ORDER BY pos DESC LIMIT -1 OFFSET 2"
            self._all(f"DELETE FROM snapshot WHERE bandit = ?1 AND pos IN ({older})", bandit)
        query = "UPDATE project SET snapshot = MAX(snapshot, ?), swept = MAX(swept, ?) WHERE id = ?"
        self._all(query, pos, swept, project)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


def problem_of(error: sqlite3.Error, path: str | PathLike[str]) -> problems.StorageProblem:
    """What the service calls an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    text = f"{path}: {error} ({name})"
    if code == sqlite3.SQLITE_IOERR_FSYNC or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return problems.StorageFailed(text)
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return problems.StorageFull(text)
    return problems.StorageUnavailable(text)
