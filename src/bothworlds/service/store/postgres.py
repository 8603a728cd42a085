"""The service's tables in PostgreSQL: for several processes or machines.

Decisions are inserted without a lock. Entries of the log are added under an advisory lock of their project,
which ends with the transaction, after its commit is visible to others: so positions are dense, and become
visible in their order. Whoever asks for the positions after his own misses none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.service import problems
from bothworlds.service.store import schema
from bothworlds.service.store.base import DecisionRow
from bothworlds.service.store.tables import DECISION, Tables

try:
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:  # pragma: no cover - the tests have it
    raise ImportError("PostgreSQL needs psycopg: pip install 'bothworlds[postgres]'") from error

OLDEST = 14  # the version of the server that first ends idle sessions
LOG, SWEEP, SCHEMA, RETAIN, OPEN = range(
    0x62770001, 0x62770006
)  # advisory locks; the project is their second number
IDLE = 5000  # milliseconds that a process may be silent in a transaction: then it has stopped, or is gone
SESSION = 30_000  # milliseconds that it may be silent at all before it loses its locks
BUSY = 10_000  # milliseconds to wait for others that write
CONNECTION: dict[str, Any] = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "application_name": "bothworlds",
}
"""What a URL need not say: a machine that is gone is noticed within half a minute."""
TYPES = {
    **dict.fromkeys(("id", "decision", "ticket", "unit", "context", "state", "sha256"), "bytea"),
    **dict.fromkeys(("project", "experiment", "bandit", "arm", "engine", "late", "key"), "int4"),
    **dict.fromkeys(("pos", "seen"), "int8"),
    **dict.fromkeys(("probability", "made", "due", "kept", "at", "created"), "float8"),
    **dict.fromkeys(("kind", "body", "segment"), "text"),
}
"""Of the columns that are written many rows at a time."""
CORRUPT = ("XX001", "XX002")  # SQLSTATE
SCANNED = 5000  # rows that are read at once


class PostgresStore(Tables):
    """A database of a PostgreSQL server. One thread at a time may use it; others have stores of their own.

    A connection that is lost is made again at the next call. What was not in a transaction is asked again by
    itself; a transaction is not: it is in doubt whether it was committed, and the log tells.

    Parameters
    ----------
    url:
        As libpq has it: ``postgresql://user@host/database``. An empty database is filled with tables.
    migrate:
        Bring an older database up to date, else it is refused: make a backup first, and stop all others.
    """

    def __init__(self, url: str, *, migrate: bool = False) -> None:
        try:
            self._target = CONNECTION | conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # which may quote a password
            wanted = "as libpq has it, postgresql://user@host/database"
            raise InvalidArgumentError("url", "postgresql://…", wanted) from None
        self.where = f"postgresql://{self._target.get('host', '')}/{self._target.get('dbname', '')}"
        self._inside = False  # a transaction
        self._closed = False
        self._sweeps: set[int] = set()  # projects whose deadlines are ours to look after
        try:
            self._db = self._connect()
        except psycopg.Error as error:
            text = str(error).strip() or type(error).__name__
            fix = "start the server, or correct user, host, port and database of the URL"
            raise problems.StorageUnavailableError(f"{self.where}: {text}; {fix}") from error
        with self._told():
            try:
                version = self._db.info.server_version // 10_000
                if version < OLDEST:
                    raise StateError(f"{self.where} is PostgreSQL {version}; {OLDEST} or newer is needed")
                encoding = self._db.info.parameter_status("server_encoding")
                if encoding != "UTF8":  # names of arms and segments may have any character
                    raise StateError(
                        f"{self.where} has the encoding {encoding}, and UTF8 is needed: make another with "
                        "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
                    )
                self._bring_up_to_date(migrate)
            except BaseException:
                self._db.close()
                raise

    def _connect(self) -> psycopg.Connection[Any]:
        db = psycopg.connect(**self._target, autocommit=True)
        db.execute(  # "on" waits for the disk, and for those replicas that the server calls synchronous
            f"SET synchronous_commit = on; SET lock_timeout = {BUSY}; "
            f"SET idle_in_transaction_session_timeout = {IDLE}; SET idle_session_timeout = {SESSION}; "
            f"SELECT pg_advisory_lock_shared({OPEN}, 0)"  # nobody moves what is open
        )
        return db

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say in words of the service what PostgreSQL says in its own."""
        try:
            yield
        except psycopg.Error as error:
            text = f"{self.where}: {str(error).strip() or type(error).__name__}"
            if self._closed:
                raise problems.ClosedError(f"{self.where} is closed") from error
            if isinstance(error, psycopg.errors.DiskFull):
                raise problems.StorageFullError(text) from error
            if error.sqlstate in CORRUPT:
                raise problems.StorageFailedError(text) from error
            raise problems.StorageUnavailableError(text) from error

    # --- the schema -----------------------------------------------------------------------------------

    def _revision(self) -> str | None:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        names = {name for (name,) in self._all(query)}
        if "alembic_version" in names:
            rows = self._all("SELECT version_num FROM alembic_version")
            return str(rows[0][0]) if rows else None
        if names:
            raise StateError(
                f"{self.where} is a database of something else: it holds {', '.join(sorted(names)[:5])}; "
                "give it a database or a schema of its own"
            )
        return None

    def _bring_up_to_date(self, migrate: bool) -> None:
        revision = self._revision()
        if schema.is_current(revision, self.where):
            return
        if not (migrate or revision is None):
            raise StateError(
                f"{self.where} has the schema {revision!r}, this release needs {schema.REVISIONS[-1]!r}: "
                "make a backup, stop all processes that use it, and open it with migrate=True"
            )
        from sqlalchemy import create_engine  # noqa: PLC0415 - only to make or change a schema
        from sqlalchemy.pool import NullPool  # noqa: PLC0415

        def connect() -> psycopg.Connection[Any]:
            db = self._connect()
            db.execute("SET idle_in_transaction_session_timeout = 0")  # migrations take what they take
            db.autocommit = False
            return db

        engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
        with engine.connect() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({SCHEMA}, 0)")
            if self._revision() == revision:  # nobody was faster
                schema.migrate(connection)
            connection.commit()

    # --- statements -----------------------------------------------------------------------------------

    def _run(self, query: str, values: Sequence[Any] = (), *, binary: bool = True) -> psycopg.Cursor[Any]:
        """Ask; once more if there is a new connection and nothing was begun on the old one."""
        while True:
            reused = self._inside or not self._db.closed
            if not reused and not self._closed:
                self._sweeps.clear()
                self._db = self._connect()
            try:
                return self._db.cursor(binary=binary).execute(query, values or None)
            except psycopg.Error:
                if self._inside or self._closed or not (reused and self._db.closed):
                    raise

    def _all(self, query: str, *values: Any) -> list[Any]:
        with self._told():
            cursor = self._run(query.replace("?", "%s"), values)
            return cursor.fetchall() if cursor.description else []

    def _among(self, query: str, ids: Iterable[Any], *values: Any) -> list[Any]:
        return self._all(f"{query} = ANY(%b)", *values, list(ids))

    def _insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[tuple[Any, ...]],
        rest: str = "ON CONFLICT DO NOTHING",
    ) -> list[Any]:
        if not rows:
            return []
        arrays = ", ".join(f"%b::{TYPES[column]}[]" for column in columns)
        query = f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays}) {rest}"
        return self._all(query, *(list(column) for column in zip(*rows, strict=True)))

    def changed(self) -> bool:
        """May somebody else have written since this was last asked? The tail tells, for the same price."""
        return True

    def may_sweep(self, project: int) -> bool:
        """Are the deadlines of this project ours? Those of one process, until its connection ends."""
        if project not in self._sweeps:
            ((got,),) = self._all("SELECT pg_try_advisory_lock(?, ?)", SWEEP, project)
            if got:
                self._sweeps.add(project)
        return project in self._sweeps

    def may_retain(self, project: int) -> bool:
        """May this store delete what is old? One store at a time may, until it is closed."""
        self._all("SET idle_session_timeout = 0")  # it is silent while decisions are exported
        ((got,),) = self._all("SELECT pg_try_advisory_lock(?, ?)", RETAIN, project)
        return bool(got)

    def scan_decisions(self, project: int) -> Iterator[DecisionRow]:
        """All decisions, in the order of what they had seen; on a connection of its own."""
        with self._told(), self._connect() as db:
            db.execute("SET idle_in_transaction_session_timeout = 0")
            db.autocommit = False
            with db.cursor("scan", binary=True) as cursor:
                cursor.itersize = SCANNED
                query = f"SELECT {DECISION} FROM decision WHERE project = %s ORDER BY seen, id"
                for row in cursor.execute(sql.SQL(query), (project,)):
                    yield DecisionRow._make(row)

    # --- writing --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def write(self, project: int, *, log: bool) -> Iterator[int]:
        """A transaction that commits at its end; gives the head of the log."""
        lock = f"SELECT pg_advisory_xact_lock({LOG}, {int(project)})" if log else "SELECT 0"
        with self._told():
            try:
                cursor = self._run(  # one message; each statement sees what was committed when it began
                    f"BEGIN ISOLATION LEVEL READ COMMITTED; {lock}; "
                    f"SELECT COALESCE(MAX(pos), 0) FROM entry WHERE project = {int(project)}",
                    binary=False,
                )
                self._inside = True
                cursor.nextset()
                cursor.nextset()
                yield cursor.fetchall()[0][0]
                ended = self._db.execute("COMMIT").statusmessage
                if ended != "COMMIT":
                    raise problems.StorageUnavailableError(f"{self.where}: {ended} instead of COMMIT")
            except BaseException:
                if not self._db.closed:
                    with contextlib.suppress(psycopg.Error):
                        self._db.execute("ROLLBACK")
                raise
            finally:
                self._inside = False

    def close(self) -> None:
        """Close the connection."""
        self._closed = True
        self._db.close()
