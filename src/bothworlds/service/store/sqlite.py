"""The service's tables in an SQLite file: for all processes of one machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

from bothworlds.errors import StateError
from bothworlds.service import problems
from bothworlds.service.store import schema
from bothworlds.service.store.base import DecisionRow
from bothworlds.service.store.tables import DECISION, Tables

BUSY = 5000  # milliseconds to wait for another process that writes
ROWS = 500  # of one statement: SQLite takes 32,766 values
STATEMENTS = 1024  # that are kept prepared: those that insert have a text for each number of rows
FILLED = 8 << 20  # bytes of the write-ahead log made in advance
SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",  # NORMAL may lose what was committed last when the power fails
    "wal_autocheckpoint = 1000",
    "foreign_keys = ON",
    "secure_delete = ON",
)


class SQLiteStore(Tables):
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
        self._retains: TextIO | None = None
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
        make_private(self.path)
        db = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS
        )
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
                f"{self.path} is a database of something else: it holds {', '.join(sorted(names)[:5])}; "
                "give the path of another file"
            )
        return None

    def _migrate(self, revision: str | None) -> None:
        from sqlalchemy import create_engine  # noqa: PLC0415 - only to make or change a schema
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
        make_private(path)
        try:
            copy = sqlite3.connect(path)
        except sqlite3.Error as error:
            raise storage_error_of(error, path) from error
        with self._told(), contextlib.closing(copy):
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
            raise problems.ClosedError(f"{self.path} is closed: {error}") from error
        except sqlite3.Error as error:
            raise storage_error_of(error, self.path) from error

    # --- reading --------------------------------------------------------------------------------------

    def _all(self, query: str, *values: Any) -> list[Any]:
        with self._told():
            return self._db.execute(query, values).fetchall()

    def _among(self, query: str, ids: Iterable[Any], *values: Any) -> list[Any]:
        wanted, found = list(ids), []
        for begin in range(0, len(wanted), ROWS):
            part = wanted[begin : begin + ROWS]
            found += self._all(f"{query} IN ({', '.join('?' * len(part))})", *values, *part)
        return found

    def changed(self) -> bool:
        """May somebody else have written since this was last asked?"""
        ((version,),) = self._all("PRAGMA data_version")  # moves when another connection commits
        before, self._version = self._version, version
        return bool(version != before)

    def may_sweep(self, project: int) -> bool:
        """May this process close decisions whose wait is over? A second one that does finds nothing to do."""
        return True

    def may_retain(self, project: int) -> bool:
        """May this store delete what is old? One store at a time may, until it is closed."""
        if self._retains is None:
            self._retains = open(f"{self.path}-retention", "w")  # noqa: SIM115 - until the store is closed
        try:
            fcntl.flock(self._retains, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

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
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[tuple[Any, ...]],
        rest: str = "ON CONFLICT DO NOTHING",
    ) -> list[Any]:
        one = f"({', '.join('?' * len(columns))})"
        found: list[Any] = []
        for begin in range(0, len(rows), ROWS):
            part = rows[begin : begin + ROWS]
            marks = ", ".join([one] * len(part))
            query = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {marks} {rest}"
            found += self._all(query, *(value for row in part for value in row))
        return found

    def _insert_new(
        self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], key: str
    ) -> list[Any]:
        """Add the rows that are not there yet; the values of this column in those.

        Nearly always all are new. A statement that returns rows hands the interpreter to other threads at
        each of them, so that is asked for only after one that was refused, which has changed nothing.
        """
        place, found = columns.index(key), []
        for begin in range(0, len(rows), ROWS):
            part = rows[begin : begin + ROWS]
            try:
                self._insert(table, columns, part, "")
            except problems.StorageUnavailableError as problem:
                if not isinstance(problem.__cause__, sqlite3.IntegrityError):
                    raise
                found += super()._insert_new(table, columns, part, key)
            else:
                found += [row[place] for row in part]
        return found

    def close(self) -> None:
        """Close the connection."""
        self._db.close()
        if self._retains is not None:
            self._retains.close()


def make_private(path: str | PathLike[str]) -> None:
    """Make an empty file that is its owner's alone, as it will hold secrets; one that is there stays."""
    with contextlib.suppress(OSError):  # SQLite will say more
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


ADVICE = {
    sqlite3.SQLITE_NOTADB: "it is another kind of file; give the path of another one",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away, and make it again of a backup "
    "(bothworlds service restore)",
    sqlite3.SQLITE_READONLY: "this user may not write to it, or nobody may; look at the rights of the file "
    "and of its folder, and at how the disk is mounted",
    sqlite3.SQLITE_FULL: "the disk is full; make room",
}
"""What to do, by the code of SQLite."""


def storage_error_of(error: sqlite3.Error, path: str | PathLike[str]) -> problems.StorageError:
    """What the service calls an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    text = f"{path}: {error} ({name})"
    if code & 0xFF in ADVICE:
        text = f"{text}: {ADVICE[code & 0xFF]}"
    if code == sqlite3.SQLITE_IOERR_FSYNC or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return problems.StorageFailedError(text)
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return problems.StorageFullError(text)
    if code & 0xFF == sqlite3.SQLITE_CANTOPEN:
        text = f"{text}: {_why_not_opened(Path(path))}"
    return problems.StorageUnavailableError(text)


def _why_not_opened(path: Path) -> str:
    """What is wrong with the place of a file, and what to do."""
    folder = path.absolute().parent
    file = next((one for one in (folder, *folder.parents) if one.exists() and not one.is_dir()), None)
    if file is not None:
        return f"{file} is a file, and no folder; give another path"
    if not folder.is_dir():
        return f"there is no folder {folder}; make it (mkdir -p '{folder}'), or give another path"
    if path.is_dir():
        return "it is a folder; give the path of a file"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"this user may not write in {folder}; allow it (chmod u+wx), or give another path"
    return f"look at the rights of the file, and at those of its neighbors in {folder}"


def is_open_elsewhere(path: str | PathLike[str]) -> bool:
    """Does another connection have the file open, of this process or another one, busy or idle?"""
    with contextlib.closing(sqlite3.connect(path, timeout=1.0, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")  # with WAL, all who have it open hold a shared lock
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise storage_error_of(error, path) from error
            return True
        db.execute("ROLLBACK")
    return False
