"""Decisions as Parquet, one file for each day: what ``bw.inference.evaluate`` reads, and all that is known.

time, action, propensity, reward     as docs/evidence.md has them; reward is null where there is none
id, segment, observe                 of the decision
asleep                               arms that could not be drawn
seen, engine                         what it was drawn from: `bothworlds service verify` computes it again
source, outcome_at, position         how it was closed; source "waiting" and "late" are in no log entry
unit, context                        the keyed hash of the unit, in hex; JSON
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from bothworlds.bandit.learner import Learner
from bothworlds.bandit.pull import Label
from bothworlds.service import ids, problems
from bothworlds.service.registry import BANDIT, DECISION, ENTRY, EXPERIMENT, REPORT, Registry
from bothworlds.service.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

CHUNK = 20_000


def arrow_schema() -> pa.Schema:
    """The columns of a file."""
    import pyarrow as pa  # noqa: PLC0415 - a service that exports nothing starts without it

    moment, text = pa.timestamp("us", tz="UTC"), pa.string()
    return pa.schema(
        [
            ("time", moment),
            ("action", text),
            ("propensity", pa.float64()),
            ("reward", pa.float64()),
            ("id", text),
            ("segment", text),
            ("observe", text),
            ("asleep", pa.list_(text)),
            ("seen", pa.int64()),
            ("engine", pa.int32()),
            ("source", text),
            ("outcome_at", moment),
            ("position", pa.int64()),
            ("unit", text),
            ("context", text),
        ]
    )


@dataclass(frozen=True)
class Subject:
    """What is exported: an experiment, its labels by number, and what takes feedback back to a reward."""

    name: str
    labels: tuple[Label, ...]
    value_of: Callable[[float], float]

    @classmethod
    def of(cls, name: str, settings: Settings, labels: tuple[Label, ...]) -> Subject:
        """From the settings of an experiment, and the labels of all arms that it ever had."""
        return cls(name, labels, settings.learner().value_of)


def export(
    registry: Registry,
    project: int,
    subject: Subject,
    folder: Path,
    *,
    begin: float = 0.0,
    end: float | None = None,
    max_rows: int | None = None,
    tell: Callable[[int], None] = lambda rows: None,
) -> tuple[int, list[str]]:
    """Write the decisions made in [begin, end) to a folder; how many, and the names of the files.

    Parameters
    ----------
    registry, project, subject:
        Where they are, and which.
    folder:
        Made if it is not there.
    begin, end:
        Times in seconds since 1970; None: now.
    max_rows:
        More are refused, when so many are written.
    tell:
        Called with the number of rows so far.
    """
    import pyarrow as pa  # noqa: PLC0415 - see arrow_schema
    from pyarrow import parquet  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    columns = arrow_schema()
    rows, files = 0, []
    writer: parquet.ParquetWriter | None = None
    day = ""
    try:
        for batch in _batches(registry, project, subject, begin, time.time() if end is None else end):
            for name, part in _by_day(batch):
                if name != day:
                    if writer is not None:
                        writer.close()
                    day = name
                    files.append(f"{name}.parquet")
                    writer = parquet.ParquetWriter(folder / files[-1], columns, compression="zstd")
                assert writer is not None
                writer.write_table(pa.Table.from_pylist(part, columns))
                rows += len(part)
            tell(rows)
            if max_rows is not None and rows > max_rows:
                raise problems.LimitReachedError(f"more than {max_rows} rows: export a shorter time")
    finally:
        if writer is not None:
            writer.close()
    return rows, files


def folder_name(name: str) -> str:
    """What a folder is called after an experiment or a project; no two of them share one."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
    if plain == name and plain.strip("."):
        return plain
    return f"{plain.lstrip('.')}-{ids.of_unit(b'folder', name).hex()[:8]}"


def _by_day(batch: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    begin = 0
    for i in range(1, len(batch) + 1):
        if i == len(batch) or batch[i]["time"].date() != batch[begin]["time"].date():
            yield batch[begin]["time"].date().isoformat(), batch[begin:i]
            begin = i


def _batches(
    registry: Registry, project: int, subject: Subject, begin: float, end: float
) -> Iterator[list[dict[str, Any]]]:
    d, e, r, b = DECISION.c, ENTRY.c, REPORT.c, BANDIT.c
    joined = (
        sa.join(DECISION, BANDIT, d.bandit == b.id)
        .join(EXPERIMENT, EXPERIMENT.c.id == b.experiment)
        .outerjoin(ENTRY, sa.and_(e.project == d.project, e.decision == d.id))
        .outerjoin(REPORT, sa.and_(r.project == d.project, r.decision == d.id))
    )
    columns = (
        *(d.id, b.segment, d.arm, d.probability, d.ticket, d.seen, d.engine, d.made, d.unit, d.context),
        *(e.kind, e.kept, e.at, e.pos, r.kept.label("reported"), r.late, r.at.label("reported_at")),
    )
    last_made, last_id = begin, b""
    while True:
        later = sa.or_(d.made > last_made, sa.and_(d.made == last_made, d.id > last_id))
        query = (
            sa.select(*columns)
            .select_from(joined)
            .where(d.project == project, EXPERIMENT.c.name == subject.name, d.made >= last_made, d.made < end)
            .where(later)
            .order_by(d.made, d.id)
            .limit(CHUNK)
        )
        with registry.read() as db:  # short, so that the database can tidy up in between
            rows = db.execute(query).all()
        if rows:
            yield [_row(row, subject) for row in rows]
            last_made, last_id = rows[-1].made, bytes(rows[-1].id)
        if len(rows) < CHUNK:
            return


def _row(row: Any, subject: Subject) -> dict[str, Any]:
    ticket = bytes(row.ticket)
    awake = Learner.awake_at(ticket)
    labels = [str(label) for label in subject.labels]
    kind, feedback, at = row.kind, row.kept, row.at
    if row.reported is not None and (kind is None or row.late):  # not in the log yet, or too late for it
        kind, at = ("late" if row.late else "waiting"), row.reported_at
        feedback = feedback if row.late else None
    return {
        "time": datetime.fromtimestamp(row.made, UTC),
        "action": labels[row.arm],
        "propensity": row.probability,
        "reward": None if feedback is None else subject.value_of(feedback),
        "id": ids.text_of(bytes(row.id)),
        "segment": row.segment,
        "observe": labels[Learner.observed(ticket)],
        "asleep": [] if awake is None else [labels[i] for i in range(awake.size) if awake[i] == 0.0],
        "seen": row.seen,
        "engine": row.engine,
        "source": kind,
        "outcome_at": None if at is None else datetime.fromtimestamp(at, UTC),
        "position": row.pos,
        "unit": None if row.unit is None else bytes(row.unit).hex(),
        "context": None if row.context is None else bytes(row.context).decode("utf-8", "replace"),
    }


# --- exports that are asked for -------------------------------------------------------------------------

MANIFEST = "manifest.json"
SILENCE = 60.0  # seconds after which an export that says nothing has ended with its process


class Exports:
    """Exports in a folder, each with a manifest, so that every process knows of all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, project: str, experiment: str, *, keep: int = 20) -> str:
        """Make room for an export, and remove the oldest of those that are over if there are many; its id."""
        identity = ids.text_of(ids.new_id())
        folder = self.folder(project, identity).parent
        there = sorted(path.name for path in folder.iterdir()) if folder.exists() else []  # by time
        for old in there[: max(0, len(there) + 1 - keep)]:
            if self.find(project, old)["state"] != "running":
                shutil.rmtree(folder / old, ignore_errors=True)
        self._write(project, identity, experiment=experiment, state="running", rows=0, files=[])
        return identity

    def run(
        self, registry: Registry, project: str, number: int, identity: str, subject: Subject, **options: Any
    ) -> None:
        """Do it; whatever happens is in the manifest."""

        def tell(rows: int) -> None:
            self._write(project, identity, experiment=subject.name, state="running", rows=rows, files=[])

        manifest: dict[str, Any] = {"experiment": subject.name, "rows": 0, "files": []}
        try:
            folder = self.folder(project, identity)
            rows, files = export(registry, number, subject, folder, tell=tell, **options)
            manifest |= {"state": "done", "rows": rows, "files": files}
        except Exception as error:
            detail = error.detail if isinstance(error, problems.LimitReachedError) else type(error).__name__
            manifest |= {"state": "failed", "detail": detail}
        self._write(project, identity, **manifest)

    def find(self, project: str, identity: str) -> dict[str, Any]:
        """The manifest of an export."""
        path = self.folder(project, identity) / MANIFEST
        try:
            found: dict[str, Any] = json.loads(path.read_text("utf-8"))
            silent = time.time() - path.stat().st_mtime
        except FileNotFoundError:
            raise problems.UnknownExportError(f"no export has the id {identity}", id=identity) from None
        if found["state"] == "running" and silent > SILENCE:
            found |= {"state": "failed", "detail": "its process has ended"}
        return found | {"id": identity}

    def file(self, project: str, identity: str, name: str) -> Path:
        """A file of an export that is done."""
        if name not in self.find(project, identity)["files"]:
            raise problems.UnknownExportError(f"the export {identity} has no file {name!r}", id=identity)
        return self.folder(project, identity) / name

    def folder(self, project: str, identity: str) -> Path:
        """Where an export is; ids are UUIDs, and names of projects are hashed: no path leads out."""
        text = ids.text_of(ids.bytes_of(identity))
        return self._folder / ids.of_unit(b"exports", project).hex() / text

    def _write(self, project: str, identity: str, **manifest: Any) -> None:
        folder = self.folder(project, identity)
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f"{MANIFEST}.{os.getpid()}"
        fresh.write_text(json.dumps(manifest), "utf-8")
        fresh.replace(folder / MANIFEST)
