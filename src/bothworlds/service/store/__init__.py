"""Where decisions and outcomes are kept: the same few calls for every database."""

from __future__ import annotations

from os import PathLike

from bothworlds.errors import InvalidArgumentError
from bothworlds.service.store.base import Store as Store


def open_store(url: str | PathLike[str], *, fill: bool = False) -> Store:
    """The store at a URL such as ``sqlite:///prices.db``, or at the path of a file.

    ``fill``: see :class:`~bothworlds.service.store.sqlite.SQLiteStore`.
    """
    text = str(url)
    scheme, separator, rest = text.partition("://")
    if not separator or scheme == "sqlite":
        from bothworlds.service.store.sqlite import SQLiteStore  # noqa: PLC0415

        return SQLiteStore(rest.removeprefix("/") if separator else text, fill=fill)
    raise InvalidArgumentError("url", text, "sqlite:///FILE, or the path of a file")
