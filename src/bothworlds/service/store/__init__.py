"""Where decisions and outcomes are kept: the same few calls for every database."""

from __future__ import annotations

from os import PathLike

from bothworlds.errors import InvalidArgumentError
from bothworlds.service.store.base import Store as Store


def open_store(url: str | PathLike[str], *, fill: bool = False, migrate: bool = False) -> Store:
    """The store at ``sqlite:///prices.db``, at ``postgresql://host/database``, or at the path of a file.

    ``fill``: see :class:`~bothworlds.service.store.sqlite.SQLiteStore`. ``migrate``: bring an older schema up
    to date; that of a file is in any case, after a copy.
    """
    text = str(url)
    scheme, separator, rest = text.partition("://")
    if not separator or scheme == "sqlite":
        from bothworlds.service.store.sqlite import SQLiteStore  # noqa: PLC0415 - one of the two

        return SQLiteStore(rest.removeprefix("/") if separator else text, fill=fill)
    if scheme in ("postgresql", "postgres"):
        from bothworlds.service.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

        return PostgresStore(text, migrate=migrate)
    wanted = "sqlite:///FILE, postgresql://HOST/DATABASE, or the path of a file"
    raise InvalidArgumentError("url", f"{scheme}://", wanted)  # the rest may be a secret
