"""Logs of decisions, from wherever they are, in batches.

A log is a table with one row per decision, in their order. Its columns:

    action              the arm that was played: a label, or its number 0, 1, …
    reward              what it brought; empty or NaN if no answer came
    propensity          the probability with which it was played
    propensity_<arm>    optional, one for each arm: the probability it had in this decision
    count               optional, read by Bandit.learn: how often the row happened
    round, time         optional: if they are there they must not fall, since order matters
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray
from bothworlds._words import did_you_mean
from bothworlds.environments.logged import COLUMNS, Logged
from bothworlds.errors import InvalidArgumentError, OutOfRangeError
from bothworlds.inference.intervals import Scale

ACTION, REWARD, PROPENSITY = COLUMNS
COUNT = "count"
ORDER = ("round", "time")
MISSING = ("outstanding", "ignorable")
ROWS = 1 << 17  # of a batch
MANY = 1 << 12  # labels below this are looked up in a table
SUM_SLACK = 0.01  # probabilities of a row may miss 1 by this: they are written with few digits, at times


class LogBatch(NamedTuple):
    """Some decisions; the arrays of what the log does not have are empty."""

    actions: IntArray
    """Numbers of arms."""
    rewards: FloatArray
    """In [0, 1]; NaN where there is no answer."""
    propensities: FloatArray
    distributions: FloatArray
    """Rows × arms."""
    counts: IntArray
    """How often each row happened."""


class Encoded(NamedTuple):
    """A column of labels: those that occur, and which of them is in each row."""

    labels: list[Any]
    codes: Any


class Source(NamedTuple):
    """A table, not yet read: its columns, and what gives some of them, batch by batch."""

    names: tuple[str, ...]
    read: Callable[[list[str]], Iterator[Mapping[str, Any]]]


class LogReader:
    """A log that is being read: labels become known as they come."""

    def __init__(
        self,
        log: Any,
        *,
        needs: Sequence[str] = COLUMNS,
        may_have: Sequence[str] = (),
        low: float = 0.0,
        high: float = 1.0,
        arms: Sequence[Any] | None = None,
        missing: str | None = None,
    ) -> None:
        self.scale = Scale.of(low, high)
        _check.one_of("missing", missing, (None, *MISSING))
        self.missing = missing
        self.source = source_of(log)
        for name in needs:
            if name not in self.source.names:
                near = did_you_mean(name, self.source.names)
                raise InvalidArgumentError(
                    "log",
                    log,
                    f"a table with the columns {', '.join(needs)}",
                    got=f"one with {', '.join(map(str, self.source.names)) or 'none'}",
                    fix=f"missing: {name}" + (f", {near}" if near else ""),
                )
        self.labels: list[Any] = [] if arms is None else list(arms)
        self.fixed = arms is not None
        self.places = {label: i for i, label in enumerate(self.labels)}
        self.wanted = [*needs, *(name for name in (*may_have, *ORDER) if name in self.source.names)]
        self.per_arm: list[str] = []
        if PROPENSITY in self.wanted:
            self.per_arm = [name for name in self.source.names if name.startswith(f"{PROPENSITY}_")]
        for name in self.per_arm:
            self._learn(self._label_in(name))

    def _label_in(self, name: str) -> Any:
        """The arm that a column is for: as in the arms given, or a number, or as it is written."""
        text = name.removeprefix(f"{PROPENSITY}_")
        known = next((label for label in self.labels if str(label) == text), None)
        if known is not None:
            return known
        return int(text) if text.isdigit() else text

    def _learn(self, label: Any) -> int:
        """The number of a label, which may be new."""
        place = self.places.get(label)
        if place is not None:
            return place
        if self.fixed:
            names = [str(known) for known in self.labels]
            raise InvalidArgumentError(
                ACTION, label, f"one of {', '.join(names)}", fix=did_you_mean(str(label), names)
            )
        return self.append(label)

    def append(self, label: Any) -> int:
        """One more arm, and its number."""
        self.labels.append(label)
        self.places[label] = len(self.labels) - 1
        return len(self.labels) - 1

    def __iter__(self) -> Iterator[LogBatch]:
        """Its rows, checked, in batches."""
        row, last = 0, dict.fromkeys(ORDER)
        for columns in self.source.read([*self.wanted, *self.per_arm]):
            for name in ORDER:
                if name in columns:
                    last[name] = _in_order(name, columns[name], last[name], row)
            actions = self._numbers(columns[ACTION], row)
            rewards = self._rewards(columns[REWARD], row) if REWARD in columns else np.empty(0)
            propensities = _probabilities(columns[PROPENSITY], row) if PROPENSITY in columns else np.empty(0)
            distributions = self._distributions(columns, actions.size, row)
            counts = _counts(columns[COUNT], row) if COUNT in columns else np.empty(0, dtype=np.int64)
            batch = LogBatch(actions, rewards, propensities, distributions, counts)
            if self.missing == "ignorable" and rewards.size:
                there = ~np.isnan(rewards)
                batch = LogBatch._make(part[there] if len(part) else part for part in batch)
            row += actions.size
            yield batch
        if row == 0:
            raise InvalidArgumentError("log", self.source.names, "a table with at least one row", got="none")

    def _numbers(self, column: Any, row: int) -> IntArray:
        """The numbers of the arms of some rows."""
        if isinstance(column, Encoded):
            labels, codes = column
        else:
            values = np.asarray(column)
            if values.dtype.kind == "f" and np.all(values == np.floor(values)):
                values = values.astype(np.int64)
            if values.dtype.kind in "iu" and values.size and values.min() >= 0 and values.max() < MANY:
                return self._of_small(values)
            if values.dtype.kind not in "iuOUSTb":
                at = int(np.argmax(values != np.floor(values))) if values.dtype.kind == "f" else 0
                wanted = "an arm: a number 0, 1, …, or a label"
                raise InvalidArgumentError(ACTION, values[at].item(), wanted, index=(row + at,))
            found, codes = _unique(values)
            labels = [label.item() if isinstance(label, np.generic) else label for label in found]
        if None in labels or any(isinstance(label, float) for label in labels):
            raise InvalidArgumentError(
                ACTION, None, "an arm in every row", got=f"none in some row from {row} on"
            )
        places = np.array([self._learn(label) for label in labels], dtype=np.int64)
        numbers: IntArray = places[codes]
        return numbers

    def _of_small(self, values: Any) -> IntArray:
        """The same for small whole numbers, without sorting."""
        places = np.zeros(MANY, dtype=np.int64)
        for label in np.flatnonzero(np.bincount(values)).tolist():
            places[label] = self._learn(label)
        numbers: IntArray = places[values]
        return numbers

    def _rewards(self, column: Any, row: int) -> FloatArray:
        values = _floats(REWARD, column, row)
        gone = np.isnan(values)
        if self.missing is None and gone.any():
            raise InvalidArgumentError(
                REWARD,
                math.nan,
                "there in every row",
                index=(row + int(np.argmax(gone)),),
                fix="say missing='outstanding' to count such decisions (safe whatever the answers would have "
                "been), or missing='ignorable' to leave them out, if whether an answer comes does not depend "
                "on it",
            )
        low, high = self.scale.low, self.scale.high
        bad = ~gone & ~((values >= low) & (values <= high))
        if bad.any():
            at = int(np.argmax(bad))
            raise OutOfRangeError(
                REWARD,
                float(values[at]),
                f"in [{low:g}, {high:g}]",
                index=(row + at,),
                fix="give the range of rewards as low=..., high=...",
            )
        return np.clip((values - low) / self.scale.span, 0.0, 1.0)

    def _distributions(self, columns: Mapping[str, Any], size: int, row: int) -> FloatArray:
        if not self.per_arm:
            return np.empty((0, len(self.labels)))
        table = np.zeros((size, len(self.labels)))
        for name in self.per_arm:
            table[:, self.places[self._label_in(name)]] = _probabilities(columns[name], row, name, above=-1.0)
        bad = np.abs(table.sum(axis=1) - 1.0) > SUM_SLACK
        if bad.any():
            at = int(np.argmax(bad))
            raise InvalidArgumentError(
                f"{PROPENSITY}_…", float(table[at].sum()), "1 together in every row", index=(row + at,)
            )
        return table


def _unique(values: Any) -> tuple[Any, IntArray]:
    try:
        found, codes = np.unique(values, return_inverse=True)
    except TypeError:  # labels of different types have no order
        return _coded(values.tolist())
    return found, codes


def _floats(name: str, column: Any, row: int) -> FloatArray:
    """A column of numbers; empty cells become NaN."""
    if hasattr(column, "to_numpy") and hasattr(column, "null_count"):  # Arrow
        column = column.to_numpy(zero_copy_only=False)
    values = np.asarray(column)
    if values.dtype.kind == "O":
        values = np.array([math.nan if value is None else value for value in values.tolist()])
    if values.dtype.kind not in "fiub":
        at, bad = _first_that_is_no_number(values)
        raise InvalidArgumentError(name, bad, "a number", index=(row + at,))
    return np.ascontiguousarray(values, dtype=np.float64)


def _first_that_is_no_number(values: Any) -> tuple[int, Any]:
    for at, value in enumerate(values.tolist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return at, value
    return 0, values[0]


def _probabilities(column: Any, row: int, name: str = PROPENSITY, *, above: float = 0.0) -> FloatArray:
    values = _floats(name, column, row)
    bad = ~((values > above) & (values >= 0.0) & (values <= 1.0))
    if bad.any():
        at = int(np.argmax(bad))
        wanted = "above 0 and at most 1" if above == 0.0 else "in [0, 1]"
        fix = "it is the probability with which the logger chose the action of its row"
        raise OutOfRangeError(name, float(values[at]), wanted, index=(row + at,), fix=fix)
    return values


def _counts(column: Any, row: int) -> IntArray:
    values = _floats(COUNT, column, row)
    bad = ~((values >= 0.0) & (values == np.floor(values)))
    if bad.any():
        at = int(np.argmax(bad))
        raise InvalidArgumentError(COUNT, float(values[at]), "0, 1, 2, …", index=(row + at,))
    return values.astype(np.int64)


def _in_order(name: str, column: Any, last: Any, row: int) -> Any:
    """The last of some values, which must not fall."""
    values = np.asarray(column)
    falls = np.flatnonzero(values[1:] < values[:-1])
    first = last is not None and values.size and values[0] < last
    if first or falls.size:
        at = 0 if first else int(falls[0]) + 1
        raise InvalidArgumentError(
            name,
            values[at],
            "in the order of the decisions",
            index=(row + at,),
            fix=f"sort the log by {name}",
        )
    return values[-1] if values.size else last


def labels_in(log: Any) -> list[Any]:
    """The arms of a log, which is read once for them."""
    reader = LogReader(log, needs=(ACTION,), may_have=(PROPENSITY,))
    for _ in reader:
        pass
    return reader.labels


# --- where tables come from -------------------------------------------------------------------------------


def source_of(log: Any) -> Source:
    """Anything that is a table of decisions."""
    if isinstance(log, Logged):
        arrays = (log.actions, log.rewards, log.propensities)
        return _columns(dict(zip(COLUMNS, map(np.asarray, arrays), strict=True)))
    if isinstance(log, (str, PathLike)):
        return _file(Path(log))
    if all(hasattr(log, name) for name in ("p", "arms", "losses", "policy")):
        return _columns(_of_trace(log))
    if isinstance(log, Mapping):
        return _columns(log)
    if hasattr(log, "to_batches") or hasattr(log, "read_next_batch"):
        return _arrow(log)
    if hasattr(log, "columns") and hasattr(log, "__getitem__"):
        return _columns({str(name): log[name] for name in log.columns})
    raise InvalidArgumentError(
        "log",
        log,
        "a table: a mapping of columns, a DataFrame, an Arrow table, a path to a Parquet, CSV or JSON lines "
        "file, a Logged environment, or a Trace",
    )


def _columns(columns: Mapping[str, Any]) -> Source:
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    sizes = {array.shape for array in arrays.values()}
    if len(sizes) > 1 or any(array.ndim != 1 for array in arrays.values()):
        shapes = ", ".join(f"{name}: {array.shape}" for name, array in arrays.items())
        raise InvalidArgumentError("log", columns, "columns of the same length", got=shapes)

    def read(names: list[str]) -> Iterator[dict[str, Any]]:
        for start in range(0, len(arrays[names[0]]), ROWS):
            yield {name: arrays[name][start : start + ROWS] for name in names}

    return Source(tuple(arrays), read)


def _of_trace(trace: Any) -> dict[str, Any]:
    if trace.played is None or trace.policy.decoupled:
        what = "a replay, which drew nothing" if trace.played is None else "a decoupled policy"
        fix = "its probabilities are not those of the observed arms"
        raise InvalidArgumentError("log", trace, "the trace of a simulation", got=what, fix=fix)
    n = len(trace)
    p = trace.p[:n]
    values = (trace.played, 1.0 - trace.losses, p[np.arange(n), trace.played])
    return dict(zip(COLUMNS, values, strict=True)) | {
        f"{PROPENSITY}_{arm}": p[:, arm] for arm in range(trace.n_arms)
    }


def _arrow(table: Any) -> Source:
    def read(names: list[str]) -> Iterator[dict[str, Any]]:
        if hasattr(table, "read_next_batch"):  # a reader gives its rows once
            batches = iter(table)
        elif hasattr(table, "select"):
            batches = iter(table.select(names).to_batches(max_chunksize=ROWS))
        else:  # a dataset
            batches = table.to_batches(columns=names, batch_size=ROWS)
        return _of_arrow(batches, names)

    return Source(tuple(table.schema.names), read)


def _of_arrow(
    batches: Iterable[Any], names: list[str], label: Callable[[Any], Any] = lambda found: found
) -> Iterator[dict[str, Any]]:
    for batch in batches:
        if batch.num_rows:
            yield {name: _decoded(name, batch.column(name), label) for name in names}


def _decoded(name: str, column: Any, label: Callable[[Any], Any]) -> Any:
    if name == ACTION and "string" in str(column.type):
        if column.null_count:
            return Encoded([None], np.zeros(len(column), dtype=np.int64))
        found = column if hasattr(column, "dictionary") else column.dictionary_encode()
        return Encoded([label(text) for text in found.dictionary.to_pylist()], found.indices.to_numpy())
    if name == ACTION or name in ORDER:
        return column.to_numpy(zero_copy_only=False)
    return column


def _file(path: Path) -> Source:
    suffix = path.suffix.lower()
    if path.is_dir():
        datasets = _check.extra("pyarrow.dataset", "parquet", "folders of Parquet files")
        with _told_of(path):
            return _guarded(_arrow(datasets.dataset(path)), path)
    if not path.exists():
        raise InvalidArgumentError("log", str(path), "a file that exists", got=str(path))
    if suffix == ".parquet":
        return _parquet(path)
    if suffix in (".jsonl", ".ndjson"):
        return _rows(path, _json_lines, _of_json)
    return _csv(path)


def _parquet(path: Path) -> Source:
    parquet = _check.extra("pyarrow.parquet", "parquet", "Parquet files")
    with _told_of(path):
        file = parquet.ParquetFile(path)

    def read(names: list[str]) -> Iterator[dict[str, Any]]:
        return _of_arrow(file.iter_batches(batch_size=ROWS, columns=names), names)

    return _guarded(Source(tuple(file.schema_arrow.names), read), path)


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Say in our words what Arrow says of a file that it cannot read."""
    from pyarrow import ArrowException  # noqa: PLC0415 - an optional extra

    try:
        yield
    except (ArrowException, OSError) as error:
        said = str(error).partition("\n")[0]
        fix = "a file cut short must be exported again; CSV and JSON lines end in .csv and .jsonl"
        raise InvalidArgumentError(
            "log", path, "Parquet that is whole", got=f"{path}: {said}", fix=fix
        ) from None


def _guarded(source: Source, path: Path) -> Source:
    def read(names: list[str]) -> Iterator[Mapping[str, Any]]:
        with _told_of(path):
            yield from source.read(names)

    return Source(source.names, read)


def _csv(path: Path) -> Source:
    """By pyarrow where it is there, twenty times as fast."""
    slowly = _rows(path, _csv_lines, _of_text)
    try:
        from pyarrow import ArrowInvalid, float64, string  # noqa: PLC0415 - an optional extra
        from pyarrow import csv as arrow_csv  # noqa: PLC0415
    except ImportError:
        return slowly

    def read(names: list[str]) -> Iterator[dict[str, Any]]:
        numbers = {name: float64() for name in names if name not in (ACTION, *ORDER)}
        options = arrow_csv.ConvertOptions(
            include_columns=names, column_types=numbers | {ACTION: string()}, strings_can_be_null=True
        )
        reading = arrow_csv.ReadOptions(block_size=1 << 23)
        try:
            yield from _of_arrow(
                arrow_csv.open_csv(path, read_options=reading, convert_options=options), names, _label
            )
        except ArrowInvalid as error:
            wanted = "a CSV file whose rewards and propensities are numbers"
            raise InvalidArgumentError("log", path, wanted, got=f"{path}: {error}") from None

    return Source(slowly.names, read)


def _rows(
    path: Path,
    parse: Callable[[Iterable[str]], Iterator[Mapping[str, Any]]],
    column_of: Callable[[str, list[Any]], Any],
) -> Source:
    with path.open(newline="", encoding="utf-8-sig") as stream:  # spreadsheets put a mark in front
        first = next(parse(stream), {})

    def read(names: list[str]) -> Iterator[dict[str, Any]]:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = parse(stream)
            while some := list(islice(rows, ROWS)):
                yield {name: column_of(name, [row.get(name) for row in some]) for name in names}

    return Source(tuple(first), read)


def _json_lines(stream: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(stream, 1):
        if line.strip():
            try:
                yield dict(json.loads(line))
            except (TypeError, ValueError):
                wanted = "a JSON object on every line"
                raise InvalidArgumentError(
                    "log", line, wanted, got=f"{line.strip()!r} on line {number}"
                ) from None


def _of_json(name: str, cells: list[Any]) -> Any:
    """A column of JSON values: labels as they are, numbers, null for what is not there."""
    if name == ACTION:
        labels = [tuple(cell) if isinstance(cell, list) else cell for cell in cells]
        return Encoded(*_coded(labels))
    return np.array([math.nan if cell is None else cell for cell in cells])


def _coded(labels: list[Any]) -> tuple[list[Any], IntArray]:
    seen: dict[Any, int] = {}
    codes = np.array([seen.setdefault(label, len(seen)) for label in labels], dtype=np.int64)
    return list(seen), codes


def _csv_lines(stream: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    return iter(csv.DictReader(stream))


def _of_text(name: str, cells: list[Any]) -> Any:
    """A column of text: labels, or numbers where they all are; empty cells are not there."""
    if name == ACTION:
        return Encoded(*_coded([_label(cell) for cell in cells]))
    try:
        return np.array([math.nan if cell in ("", None) else float(cell) for cell in cells])
    except ValueError:
        return np.array(cells, dtype=object)


def _label(text: str | None) -> Any:
    """A label as it is written; one that is a whole number is that number."""
    if not text:
        return None
    return int(text) if text.isascii() and text.isdigit() and str(int(text)) == text else text
