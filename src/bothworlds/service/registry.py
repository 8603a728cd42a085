"""What is asked seldom: projects, keys, the audit chain, erasure, rows for people.

In SQLAlchemy Core, on connections of its own, the same for every database. Decisions and outcomes go through
the hub, and never through here.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError
from bothworlds.service import ids, problems
from bothworlds.service.settings import name_of
from bothworlds.service.store import POSTGRESQL, open_store
from bothworlds.service.store.base import DecisionRow, EntryRow, ProjectRow, ReportRow
from bothworlds.service.store.sqlite import BUSY, SETTINGS, storage_error_of

ROLES = ("decider", "viewer", "editor", "admin")
PREFIX = "bw"
FIRST = bytes(32)  # what the first audit row follows
AUDIT_LOCK = 0x62770000  # of PostgreSQL, plus the number of the project


def _table(name: str, *columns: str) -> sa.TableClause:
    return sa.table(name, *(sa.column(column) for column in columns))


PROJECT = _table("project", "id", "name", "secret")
EXPERIMENT = _table("experiment", "id", "project", "name", "created")
BANDIT = _table("bandit", "id", "project", "experiment", "segment")
DECISION = _table("decision", "project", *DecisionRow._fields)
ENTRY = _table("entry", "project", *EntryRow._fields)
REPORT = _table("report", "project", *ReportRow._fields)
KEY = _table("api_key", "id", "project", "role", "hash", "label", "created", "expires", "revoked", "number")
AUDIT = _table(
    "audit",
    "project",
    "number",
    "at",
    "key",
    "action",
    "target",
    "body",
    "request",
    "previous",
    "hash",
)


class Key(NamedTuple):
    """Who may do what, in which project. The secret itself is nowhere."""

    id: str
    project: int
    project_name: str
    role: str
    hash: bytes
    label: str
    created: float
    expires: float | None
    revoked: float | None
    number: int = 0
    """What stands for it in decisions and outcomes."""

    def is_good(self, now: float) -> bool:
        """Is it neither revoked nor over?"""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def opens(self, secret: str, now: float) -> bool:
        """Is this its secret, and is it still good? Compared in constant time."""
        same = hmac.compare_digest(self.hash, _hash_of(secret))
        return same and self.is_good(now)


class AuditRow(NamedTuple):
    """Who asked for what: written before it is done, and chained by hashes."""

    project: int
    number: int
    at: float
    key: str
    action: str
    target: str
    body: str
    request: str
    previous: bytes
    hash: bytes

    def digest(self) -> bytes:
        """What its hash must be."""
        said = json.dumps([*self[:8], self.previous.hex()], ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(said.encode()).digest()


class Registry:
    """Keys, audit rows and rows for people, of all projects of a database.

    Parameters
    ----------
    url:
        As for :func:`~bothworlds.service.store.open_store`. The database is made, or brought up to date.
    """

    def __init__(self, url: str) -> None:
        open_store(url).close()
        self.url = url
        if is_postgresql(url):
            rest = url.partition("://")[2]
            self._engine = sa.create_engine(f"postgresql+psycopg://{rest}", pool_pre_ping=True)
        else:
            path = sqlite_path(url)

            def connect() -> sqlite3.Connection:
                db = sqlite3.connect(path, timeout=BUSY / 1000, check_same_thread=False)
                for setting in SETTINGS:
                    db.execute(f"PRAGMA {setting}")
                return db

            self._engine = sa.create_engine("sqlite://", creator=connect, poolclass=NullPool)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection for reading."""
        with self._told(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that commits at its end."""
        with self._told(), self._engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if isinstance(error.orig, sqlite3.Error):
                raise storage_error_of(error.orig, sqlite_path(self.url)) from error
            raise problems.StorageUnavailableError(f"{type(error.orig).__name__}: {error.orig}") from error

    # --- projects and keys ----------------------------------------------------------------------------

    def project(self, name: str) -> int:
        """The number of a project, made if there is none."""
        return self._project(name).id

    def secret(self, name: str) -> bytes:
        """The secret of a project, made if there is none."""
        return self._project(name).secret

    def _project(self, name: str) -> ProjectRow:
        store = open_store(self.url)
        try:
            return store.project(name_of("project", name))
        finally:
            store.close()

    def projects(self) -> dict[int, str]:
        """The names of all projects."""
        with self.read() as db:
            return {row.id: row.name for row in db.execute(sa.select(PROJECT.c.id, PROJECT.c.name))}

    def new_key(
        self,
        role: str,
        *,
        project: str = "default",
        label: str = "",
        days: float | None = None,
        identity: str | None = None,
    ) -> tuple[Key, str]:
        """A new key, and what to send with a request: ``bw_<id>_<secret>``, which is shown this once.

        ``identity`` is what :func:`new_key_id` gave, for those who write it down before there is a key.
        """
        _check.one_of("role", role, ROLES)
        if label:
            name_of("label", label)
        now = time.time()
        expires = None if days is None else now + 86400.0 * _check.number("days", days, above=0.0)
        secret, number = secrets.token_urlsafe(32), self.project(project)
        identity = new_key_id() if identity is None else identity
        key = Key(identity, number, project, role, _hash_of(secret), label, now, expires, None)
        values = key._asdict()
        del values["project_name"]
        with self.write() as db:
            _one_at_a_time(db)
            last: int | None = db.execute(sa.select(sa.func.max(KEY.c.number))).scalar()
            key = key._replace(number=1 + (last or 0))
            db.execute(sa.insert(KEY).values(**values | {"number": key.number}))
        return key, f"{PREFIX}_{key.id}_{secret}"

    def known_keys(self, project: str | None = None) -> list[Key]:
        """All keys, those that were revoked and have expired included; of one project, if asked."""
        query = (
            sa.select(
                KEY.c.id,
                KEY.c.project,
                PROJECT.c.name,
                *(KEY.c[name] for name in Key._fields[3:]),
            )
            .join_from(KEY, PROJECT, KEY.c.project == PROJECT.c.id)
            .order_by(KEY.c.created, KEY.c.id)
        )
        if project is not None:
            query = query.where(PROJECT.c.name == project)
        with self.read() as db:
            return [Key._make([*row[:4], bytes(row[4]), *row[5:]]) for row in db.execute(query)]

    def revoke(self, identity: str, project: str | None = None, *, keep_an_admin: bool = False) -> None:
        """Take a key back. Doing it again changes nothing.

        ``keep_an_admin`` refuses to take the last good admin key of its project.
        """
        found = next((key for key in self.known_keys(project) if key.id == identity), None)
        if found is None:
            raise problems.UnknownKeyError(f"no key has the id {identity!r}", id=identity)
        now = time.time()
        with self.write() as db:
            if keep_an_admin and found.role == "admin" and found.is_good(now):
                _one_at_a_time(db)
                good = sa.and_(KEY.c.revoked.is_(None), KEY.c.expires.is_(None) | (KEY.c.expires > now))
                others = sa.select(sa.func.count()).where(
                    KEY.c.project == found.project, KEY.c.role == "admin", KEY.c.id != identity, good
                )
                if not db.execute(others).scalar_one():
                    command = f"bothworlds service key new --role admin --project {found.project_name}"
                    raise problems.LastAdminKeyError(
                        f"{identity} is the last good admin key here; make another first: {command}",
                        id=identity,
                    )
            here = sa.update(KEY).where(KEY.c.id == identity, KEY.c.revoked.is_(None))
            db.execute(here.values(revoked=now))

    # --- the audit chain ------------------------------------------------------------------------------

    def note(
        self, project: int, *, key: str, action: str, target: str, body: Any = None, request: str = ""
    ) -> None:
        """Write down who asks for what, after all that was written before."""
        with self.write() as db:
            if db.dialect.name == "postgresql":
                db.execute(sa.select(sa.func.pg_advisory_xact_lock(AUDIT_LOCK + project)))
            query = sa.select(AUDIT.c.number, AUDIT.c.hash).where(AUDIT.c.project == project)
            last = db.execute(query.order_by(AUDIT.c.number.desc()).limit(1)).first()
            number, previous = (0, FIRST) if last is None else (last.number, bytes(last.hash))
            text = json.dumps(body, sort_keys=True, default=str)
            row = AuditRow(
                project, number + 1, time.time(), key, action, target, text, request, previous, b""
            )
            row = row._replace(hash=row.digest())
            db.execute(sa.insert(AUDIT).values(**row._asdict()))

    def audit(self, project: int, *, after: int = 0, limit: int = 500) -> list[AuditRow]:
        """Audit rows after this number, in their order."""
        query = sa.select(*AUDIT.c).where(AUDIT.c.project == project, AUDIT.c.number > after)
        with self.read() as db:
            rows = db.execute(query.order_by(AUDIT.c.number).limit(limit)).all()
        return [AuditRow._make([*row[:8], bytes(row[8]), bytes(row[9])]) for row in rows]

    def broken_audit(self, project: int) -> int | None:
        """The number of the first audit row that was altered, or that follows a gap; None: all is well."""
        number, previous = 0, FIRST
        while rows := self.audit(project, after=number):
            for row in rows:
                if row.number != number + 1 or row.previous != previous or row.digest() != row.hash:
                    return row.number
                number, previous = row.number, row.hash
        return None

    # --- units ----------------------------------------------------------------------------------------

    def unit(self, project: int, unit: str) -> bytes:
        """What stands for a unit in the rows of a project."""
        query = sa.select(PROJECT.c.secret).where(PROJECT.c.id == project)
        with self.read() as db:
            secret = bytes(db.execute(query).scalar_one())
        return ids.of_unit(secret, name_of("unit", unit))

    def erase(self, project: int, unit: bytes) -> int:
        """Blank a unit and its contexts; arms, probabilities and rewards stay. How many decisions it had."""
        here = sa.update(DECISION).where(DECISION.c.project == project, DECISION.c.unit == unit)
        with self.write() as db:
            erased: int = db.execute(here.values(unit=None, context=None)).rowcount
        return erased


def is_postgresql(url: str) -> bool:
    """Is the database a server, and no file?"""
    return url.partition("://")[0] in POSTGRESQL


def sqlite_path(url: str) -> str:
    """The path of an SQLite file, in a URL or by itself."""
    _, separator, rest = url.partition("://")
    return rest.removeprefix("/") if separator else url


def new_key_id() -> str:
    """A fresh id of a key."""
    return secrets.token_hex(8)


def parse_key(text: str) -> tuple[str, str]:
    """The id and the secret in ``bw_<id>_<secret>``."""
    prefix, _, rest = text.partition("_")
    identity, _, secret = rest.partition("_")
    if prefix != PREFIX or not identity or not secret:
        raise InvalidArgumentError("key", "…", f"{PREFIX}_<id>_<secret>", got="something else")
    return identity, secret


def _one_at_a_time(db: sa.Connection) -> None:
    """Let nobody else change keys until the transaction ends; a file has one writer anyway."""
    if db.dialect.name == "postgresql":
        db.execute(sa.select(sa.func.pg_advisory_xact_lock(AUDIT_LOCK)))


def _hash_of(secret: str) -> bytes:
    """Random secrets of 256 bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()
