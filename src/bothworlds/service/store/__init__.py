"""Where decisions and outcomes are kept: the same few calls for every database."""

from __future__ import annotations

from os import PathLike

from bothworlds.errors import InvalidArgumentError
from bothworlds.service.store.base import ServiceStore as ServiceStore

POSTGRESQL = ("postgresql", "postgres")  # how URLs begin
WANTED = "sqlite:///FILE, postgresql://HOST/DATABASE, or the path of a file"


def open_store(url: str | PathLike[str], *, fill: bool = False, migrate: bool = False) -> ServiceStore:
    """The store at ``sqlite:///prices.db``, at ``postgresql://host/database``, or at the path of a file.

    ``fill``: see :class:`~bothworlds.service.store.sqlite.SQLiteStore`. ``migrate``: bring an older schema up
    to date; that of a file is in any case, after a copy.
    """
    if not isinstance(url, (str, PathLike)):
        raise InvalidArgumentError("path", url, WANTED)
    text = str(url)
    scheme, separator, rest = text.partition("://")
    if not separator or scheme == "sqlite":
        from bothworlds.service.store.sqlite import SQLiteStore  # noqa: PLC0415 - one of the two

        return SQLiteStore(_file(rest.removeprefix("/") if separator else text), fill=fill)
    if scheme in POSTGRESQL:
        try:
            from bothworlds.service.store.postgres import PostgresStore  # noqa: PLC0415 - an extra
        except ImportError as error:
            got = "PostgreSQL, whose driver is not installed"
            fix = "pip install 'bothworlds[postgres]'"
            raise InvalidArgumentError("path", f"{scheme}://…", WANTED, got=got, fix=fix) from error
        return PostgresStore(text, migrate=migrate)
    fix = "bothworlds.client asks a service that runs" if scheme in ("http", "https") else ""
    raise InvalidArgumentError("path", f"{scheme}://…", WANTED, fix=fix)  # the rest may be a secret


def _file(path: str) -> str:
    """The path, unless something else is meant than a file."""
    scheme, colon, rest = path.partition(":")
    if path == ":memory:":
        fix = "name a file; a bandit that need not last is bothworlds.Bandit"
        raise InvalidArgumentError("path", path, WANTED, fix=fix)
    if colon and scheme in ("sqlite", *POSTGRESQL):
        usual = f"sqlite:///{rest.lstrip('/')}" if scheme == "sqlite" else f"{scheme}://HOST/DATABASE"
        raise InvalidArgumentError("path", f"{scheme}:…", WANTED, fix=f"write {usual}")
    if not path:
        raise InvalidArgumentError("path", path, WANTED, fix="name a file")
    return path
