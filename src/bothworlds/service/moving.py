"""Everything in one database into another: from a file to a server, or back."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from bothworlds.errors import StateError
from bothworlds.service.registry import Registry, is_postgresql, sqlite_path
from bothworlds.service.store.sqlite import is_open_elsewhere

ROWS = 2000  # that are read and written at once
CLOSING = 2000  # milliseconds that a server may take to let go of a connection that was closed
LOCK_NOT_AVAILABLE = "55P03"  # SQLSTATE
COUNTED = ("project", "engine", "experiment", "bandit")  # tables whose ids the database counts
TABLES = (
    *COUNTED,
    "decision",
    "entry",
    "report",
    "snapshot",
    "base",
    "api_key",
    "audit",
    "curve",
)
"""All of them but the number of the schema, in an order in which rows refer to rows that are there."""


class Copied(NamedTuple):
    """How much was copied, and its digest."""

    rows: dict[str, int]
    """How many, by table."""
    sha256: str
    """Over all rows, the same in both databases."""


def move(source: str, target: str, *, tell: Callable[[str], None] = lambda text: None) -> Copied:
    """Copy a database into an empty one, in one transaction, and compare both to the bit.

    A source that somebody has open is refused: what they write later would stay there. Nobody can write to it
    meanwhile. Whoever is killed leaves an empty target: begin again.

    Parameters
    ----------
    source, target:
        URLs, as for :func:`~bothworlds.service.store.open_store`. Both are brought to the schema of this
        release.
    tell:
        Called with how far it is.
    """
    if not is_postgresql(source) and is_open_elsewhere(sqlite_path(source)):
        raise _in_use(source)
    here, there = Registry(source), Registry(target)
    try:
        tables = _tables(here)
        with here.write() as reading, there.write() as writing:
            _hold(reading, tables, source)
            _require_empty(writing, tables, there.url)
            rows = {table.name: _copy(reading, writing, table, tell) for table in tables}
            _go_on_counting(writing)
            tell("comparing")
            sums = [_digest(connection, tables) for connection in (reading, writing)]
            if sums[0] != sums[1]:
                raise StateError("the copy is not the same as what was copied: nothing was kept of it")
        with there.read() as db:  # as others will see it
            if _digest(db, tables) != sums[0]:
                raise StateError("the copy has changed since it was made: does somebody serve it?")
    finally:
        here.close()
        there.close()
    return Copied(rows, sums[0])


def _tables(registry: Registry) -> list[sa.Table]:
    """The tables as they are, in their order."""
    found = sa.MetaData()
    with registry.read() as db:
        found.reflect(db)
    unknown = found.tables.keys() - {*TABLES, "alembic_version"}
    if unknown:
        raise StateError(f"tables that this release does not know: {', '.join(sorted(unknown))}")
    return [found.tables[name] for name in TABLES]


def _in_use(url: str) -> StateError:
    where = url.rpartition("@")[2]  # without a password
    return StateError(
        f"{where} is in use: what is written to it after the copy would stay behind; stop the service, and "
        "close all that have it open"
    )


def _hold(db: sa.Connection, tables: Sequence[sa.Table], url: str) -> None:
    """Let nobody open or write until the transaction ends; a file has one writer anyway."""
    if db.dialect.name == "postgresql":
        from bothworlds.service.store.postgres import OPEN  # noqa: PLC0415 - needs psycopg

        try:
            db.exec_driver_sql(f"SET LOCAL lock_timeout = {CLOSING}")
            db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({OPEN}, 0)")
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) == LOCK_NOT_AVAILABLE:
                raise _in_use(url) from None
            raise
        db.exec_driver_sql("SET LOCAL lock_timeout = DEFAULT")
        names = ", ".join(table.name for table in tables)
        db.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")


def _require_empty(db: sa.Connection, tables: Sequence[sa.Table], url: str) -> None:
    for table in tables:
        if db.execute(sa.select(sa.literal(1)).select_from(_plain(table)).limit(1)).first() is not None:
            where = url.rpartition("@")[2]  # without a password
            raise StateError(
                f"{where} is not empty: it has rows of {table.name}; move into an empty database"
            )


def _plain(table: sa.Table) -> sa.TableClause:
    """A table without types: values as drivers give and take them."""
    return sa.table(table.name, *(sa.column(column.name) for column in table.columns))


def _rows(db: sa.Connection, table: sa.Table) -> Iterator[list[tuple[Any, ...]]]:
    """All rows in the order of their keys, part by part."""
    plain = _plain(table)
    key = [plain.c[column.name] for column in table.primary_key.columns]
    places = [list(plain.c.keys()).index(column.name) for column in key]
    last: tuple[Any, ...] | None = None
    while True:
        query = sa.select(*plain.c).order_by(*key).limit(ROWS)
        if last is not None:
            query = query.where(sa.tuple_(*key) > sa.tuple_(*(sa.literal(value) for value in last)))
        found = [tuple(_value(value) for value in row) for row in db.execute(query)]
        if not found:
            return
        yield found
        last = tuple(found[-1][place] for place in places)


def _value(value: Any) -> Any:
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else value


def _copy(
    reading: sa.Connection, writing: sa.Connection, table: sa.Table, tell: Callable[[str], None]
) -> int:
    plain, done = _plain(table), 0
    names = list(plain.c.keys())
    for rows in _rows(reading, table):
        writing.execute(sa.insert(plain), [dict(zip(names, row, strict=True)) for row in rows])
        done += len(rows)
        tell(f"{table.name}: {done} rows")
    return done


def _go_on_counting(db: sa.Connection) -> None:
    """Let a server give out ids after those that were copied; SQLite does by itself."""
    if db.dialect.name == "postgresql":
        for name in COUNTED:
            last = f"(SELECT COALESCE(MAX(id), 0) FROM {name})"
            db.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), GREATEST({last}, 1), {last} > 0)"
            )


def _digest(db: sa.Connection, tables: Sequence[sa.Table]) -> str:
    """Of all rows, to the bit, the same for every database."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(b"table" + table.name.encode())
        for rows in _rows(db, table):
            for row in rows:
                for value in row:
                    digest.update(_bits(value))
    return digest.hexdigest()


def _bits(value: Any) -> bytes:
    """A value with its kind and length; floats by their bits."""
    if value is None:
        return b"n"
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    kind, data = b"b", value
    if isinstance(value, str):
        kind, data = b"s", value.encode()
    elif isinstance(value, int):
        kind, data = b"i", b"%d" % value
    return kind + struct.pack("<Q", len(data)) + bytes(data)
