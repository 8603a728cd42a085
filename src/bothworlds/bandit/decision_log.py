"""``bw.DecisionLog``: one row per decision, in their order, for ``bw.inference`` and whoever asks later."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

from bothworlds import _check
from bothworlds.bandit.pull import Label
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference.log import ACTION, PROPENSITY, REWARD

HELD = 10_000  # so many decisions wait for the outcome of an older one
ROWS = 1 << 16  # of a group in a Parquet file, which is kept in memory until it is full
SUFFIXES = (".jsonl", ".ndjson", ".parquet")


class DecisionLog:
    """A file of decisions that a bandit writes: ``bandit.log = bw.DecisionLog("decisions.jsonl")``.

    A row has the columns ``id``, ``round``, ``time`` (in seconds since 1970), ``action`` (the arm),
    ``propensity`` (its probability), ``reward``, and ``answered``, the time of the feedback; the last two are
    empty if none came. It is what :func:`bothworlds.inference.evaluate` and ``bothworlds evaluate`` read.

    Parameters
    ----------
    path:
        A file that ends in ``.jsonl``, to which lines are appended, or in ``.parquet``, which is new and can
        be read when it is closed (needs pyarrow).
    probabilities:
        Write the probability of every arm, too, as ``propensity_<arm>``: the audit of the log is sharper.

    Notes
    -----
    Rows are written in the order of the decisions, when their outcome is known: one that is open holds back
    up to 10,000 later ones; then it is written without a reward. :meth:`close` writes all that are still
    open so. A bandit that is killed loses what is held back. Labels other than strings and integers are
    written as text. Copies, loaded bandits and children of a fork have no log until they are given one.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["blue", "green"], seed=7)
    >>> with bw.DecisionLog("decisions.jsonl") as bandit.log:
    ...     for i in range(200):
    ...         pull = bandit.pull()
    ...         bandit.update(pull, reward=i % 2)
    >>> bw.inference.evaluate("decisions.jsonl", "green").decisions
    200
    """

    def __init__(self, path: str | PathLike[str], *, probabilities: bool = False) -> None:
        self.path = Path(path)
        suffix = self.path.suffix.lower()
        if suffix not in SUFFIXES:
            raise InvalidArgumentError("path", str(path), f"a file that ends in {', '.join(SUFFIXES)}")
        _check.one_of("probabilities", probabilities, (False, True))
        self.probabilities = bool(probabilities)
        self._sink = _Parquet(self.path) if suffix == ".parquet" else _JSONLines(self.path)
        self._held: dict[int, dict[str, Any]] = {}  # by round, oldest first
        self._open: set[int] = set()

    @property
    def closed(self) -> bool:
        """Has it been closed?"""
        return self._sink.closed

    def decide(
        self, pull_id: str, *, number: int, arm: Label, probability: float, others: Mapping[Label, float]
    ) -> None:
        """Note a decision, made at round ``number``; ``others``: the probabilities of all arms, if asked."""
        row = {
            "id": pull_id,
            "round": number,
            "time": time.time(),
            ACTION: _written(arm),
            PROPENSITY: probability,
            **{f"{PROPENSITY}_{label}": p for label, p in others.items()},
            REWARD: None,
            "answered": None,
        }
        self._held[number] = row
        self._open.add(number)
        while len(self._held) > HELD:
            self._write(next(iter(self._held)))

    def settle(self, number: int, *, reward: float) -> None:
        """Note the reward of the decision at round ``number``; NaN: there is none."""
        if number not in self._open:
            return  # made before this log, or written already
        self._open.discard(number)
        if not math.isnan(reward):
            self._held[number] |= {REWARD: reward, "answered": time.time()}
        for first in list(self._held):
            if first in self._open:
                break
            self._write(first)

    def _write(self, number: int) -> None:
        self._open.discard(number)
        self._sink.write(self._held.pop(number))

    def flush(self) -> None:
        """Hand all rows whose outcome is known to the system, as far as the format allows."""
        self._sink.flush()

    def close(self) -> None:
        """Write what is held back, decisions that are open without a reward, and close the file."""
        for number in list(self._held):
            self._write(number)
        self._sink.close()

    def __enter__(self) -> DecisionLog:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DecisionLog({str(self.path)!r}{', probabilities=True' if self.probabilities else ''})"


def _written(label: Label) -> str | int:
    return label if isinstance(label, (str, int)) else str(label)


class _JSONLines:
    """Rows as lines of JSON."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("a", encoding="utf-8")

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, row: dict[str, Any]) -> None:
        self._file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class _Parquet:
    """Rows in groups; columns are those of the first group."""

    def __init__(self, path: Path) -> None:
        self._parquet = _check.extra("pyarrow.parquet", "parquet", "Parquet files")
        self._arrow = _check.extra("pyarrow", "parquet", "Parquet files")
        self._path = path
        self._stream = path.open("xb")  # never over another log
        self._writer: Any = None
        self._rows: list[dict[str, Any]] = []

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def write(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self.flush()

    def flush(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._stream, self._schema(self._rows[0]))
        names: Sequence[str] = self._writer.schema.names
        columns = {name: [row.get(name) for row in self._rows] for name in names}
        self._writer.write_table(self._arrow.table(columns, schema=self._writer.schema))
        self._rows = []

    def _schema(self, row: dict[str, Any]) -> Any:
        kinds = {"id": self._arrow.string(), "round": self._arrow.int64()}
        kinds[ACTION] = self._arrow.string() if isinstance(row[ACTION], str) else self._arrow.int64()
        return self._arrow.schema([(name, kinds.get(name, self._arrow.float64())) for name in row])

    def close(self) -> None:
        if not self.closed:
            self.flush()
            if self._writer is not None:
                self._writer.close()
            self._stream.close()
