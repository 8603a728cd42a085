"""Reports that wait on disk until the service can be reached."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from bothworlds.errors import SpoolError

PAGE = 4096


class SpooledReport(NamedTuple):
    """The outcome of a decision."""

    id: str
    feedback_kind: str
    """``"reward"`` or ``"loss"``; in the file the column is called ``word``."""
    value: float

    def to_json(self) -> dict[str, str | float]:
        """As the service reads it."""
        return {"id": self.id, self.feedback_kind: self.value}


class Spool:
    """An SQLite file of reports: what :meth:`add` has returned for survives the process and the power.

    A connection lasts for one call, so that threads, forks and other processes may use the same file.

    Parameters
    ----------
    path:
        The file; made if it is not there.
    max_bytes:
        How large it may become.
    """

    def __init__(self, path: str | PathLike[str], *, max_bytes: int) -> None:
        self.path = Path(path)
        self._max_pages = max(8, max_bytes // PAGE)
        with self._open() as database:
            table = "(number integer primary key, id text unique, word text, value real)"
            database.execute(f"create table if not exists report {table}")

    def __len__(self) -> int:
        with self._open() as database:
            return int(database.execute("select count(*) from report").fetchone()[0])

    def add(self, reports: Iterable[SpooledReport]) -> None:
        """Keep all of them, or none; of those with the same id the first."""
        with self._open() as database:
            database.executemany(
                "insert into report (id, word, value) values (?, ?, ?) on conflict (id) do nothing", reports
            )

    def first(self, n: int) -> list[SpooledReport]:
        """The oldest ``n`` reports."""
        with self._open() as database:
            rows = database.execute("select id, word, value from report order by number limit ?", (n,))
            return [SpooledReport(*row) for row in rows]

    def remove(self, ids: Iterable[str]) -> None:
        """Delete the reports with these ids: the service has answered them."""
        with self._open() as database:
            database.executemany("delete from report where id = ?", ((identity,) for identity in ids))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=5.0)) as database, database:
                database.execute("pragma synchronous = extra")  # the folder, too, is on disk after a commit
                database.execute(f"pragma max_page_count = {self._max_pages}")
                yield database
        except sqlite3.Error as error:
            raise SpoolError(f"the spool {self.path} cannot be used: {error}") from error
