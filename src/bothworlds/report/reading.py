"""What a store holds, read and checked: the manifest, and the curves of every replication of every cell."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bothworlds._jit import FloatArray, IntArray
from bothworlds.errors import StoreError

FORMAT = 1
NEEDED = ("format", "fingerprint", "title", "replications", "policies", "environments", "cells", "chunks")
COLUMNS = ["cell", "replication", "round", "regret", "clean_regret", "loss"]
NAME = re.compile(r"(\d+)-([0-9a-f]{16})\.parquet")


@dataclass(frozen=True)
class Runs:
    """The replications of one cell that the store holds, each at the same rounds.

    Attributes
    ----------
    replications, rounds:
        Numbers of the replications, and the checkpoints.
    regret, clean_regret, loss:
        Replications × checkpoints; NaN after the end of a log.
    """

    replications: IntArray
    rounds: IntArray
    regret: FloatArray
    clean_regret: FloatArray
    loss: FloatArray


class Job(NamedTuple):
    """Replications ``first`` … ``stop − 1`` of a cell, and the seconds their kernels took."""

    cell: int
    first: int
    stop: int
    seconds: float


class Contents(NamedTuple):
    """Everything read from a store: how many chunks, and the file of each (cell, first replication)."""

    manifest: dict[str, Any]
    runs: dict[int, Runs]
    jobs: list[Job]
    chunks: int
    files: dict[tuple[int, int], Path]


def read(folder: Path) -> Contents:
    """Read and check a store; what is missing is left out, what is damaged is a :class:`StoreError`."""
    manifest = read_manifest(folder)
    tables, jobs, files = [], [], {}
    for number, path in _chunk_files(folder, len(manifest["chunks"])):
        table, done = _read_chunk(folder, path, number, manifest)
        tables.append(table)
        jobs += done
        files.update({(job.cell, job.first): path for job in done})
    if not tables:
        raise StoreError(
            f"{folder} holds no results yet: none of the {len(manifest['chunks'])} chunks of the study "
            f"{manifest['title']!r} is there; run {again(folder)}"
        )
    return Contents(manifest, _split(folder, pa.concat_tables(tables)), sorted(jobs), len(tables), files)


def again(folder: Path) -> str:
    """The command that completes or repairs a store."""
    name = shlex.quote(str(folder))
    return f"`bothworlds run {shlex.quote(str(folder / 'experiment.toml'))} --out {name}`"


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a store, or a :class:`StoreError` that says what is wrong with the folder."""
    file = folder / "manifest.json"
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        what = "has no manifest.json" if folder.is_dir() else "is not a folder"
        raise StoreError(
            f"{folder} is not the folder of a study: it {what}; "
            "give the DIR of `bothworlds run FILE --out DIR`"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{file} cannot be read ({error}); check the folder's permissions") from error
    try:
        manifest = json.loads(text)
    except json.JSONDecodeError as error:
        raise StoreError(
            f"{file} is not JSON ({error}); restore it, or start again in an empty folder"
        ) from None
    if not isinstance(manifest, dict) or any(key not in manifest for key in NEEDED):
        lacks = [key for key in NEEDED if not isinstance(manifest, dict) or key not in manifest]
        raise StoreError(
            f"{file} is not the manifest of a study: it lacks {', '.join(lacks)}; "
            "give the DIR of `bothworlds run FILE --out DIR`"
        )
    if manifest["format"] != FORMAT:
        raise StoreError(
            f"{file} has format {manifest['format']!r}, written by bothworlds {manifest.get('version')}; "
            f"this release reads format {FORMAT}: use that version of bothworlds, or run the study again"
        )
    return manifest


def _chunk_files(folder: Path, chunks: int) -> list[tuple[int, Path]]:
    """Number and path of every chunk, in order; files of other names are none of ours."""
    found: dict[int, Path] = {}
    for path in sorted((folder / "chunks").glob("*.parquet")):
        match = NAME.fullmatch(path.name)
        if match and int(match[1]) < chunks:
            found.setdefault(int(match[1]), path)
    return sorted(found.items())


def _damaged(folder: Path, path: Path, why: str) -> StoreError:
    return StoreError(
        f"{path} is damaged: {why}; run {again(folder)}, which moves it aside and computes it again"
    )


def _read_chunk(folder: Path, path: Path, number: int, manifest: dict[str, Any]) -> tuple[Any, list[Job]]:
    """Rows (without probabilities) and jobs of one chunk, after checking that it is what its name says."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _damaged(folder, path, f"it cannot be read ({error})") from error
    if hashlib.sha256(data).hexdigest()[:16] != path.stem.partition("-")[2]:
        raise _damaged(folder, path, "its checksum is not the one in its name")
    try:
        file = pq.ParquetFile(BytesIO(data))
        note = json.loads(file.schema_arrow.metadata[b"bothworlds"])
        table = file.read(columns=COLUMNS)
        jobs = [Job(int(cell), int(first), int(stop), float(s)) for cell, first, stop, s in note["jobs"]]
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise _damaged(folder, path, f"it is not a chunk of a study ({error!r})") from error
    if (
        note.get("fingerprint") != manifest["fingerprint"]
        or [list(job[:3]) for job in jobs] != manifest["chunks"][number]
    ):
        raise _damaged(folder, path, "it belongs to another study")
    return table, jobs


def _split(folder: Path, table: Any) -> dict[int, Runs]:
    """The rows of all chunks as one array per cell, replications × checkpoints."""
    columns = {name: table[name].to_numpy() for name in COLUMNS}
    clean, regret = columns["clean_regret"], columns["regret"]
    columns["clean_regret"] = np.where(table["clean_regret"].is_null().to_numpy(), regret, clean)
    order = np.lexsort((columns["round"], columns["replication"], columns["cell"]))
    if (order[1:] < order[:-1]).any():  # chunks need not follow the order of the cells
        columns = {name: values[order] for name, values in columns.items()}
    cells, starts = np.unique(columns["cell"], return_index=True)
    stops = np.append(starts[1:], order.size)
    runs = {}
    for cell, start, stop in zip(cells.tolist(), starts.tolist(), stops.tolist(), strict=True):
        rows = {name: values[start:stop] for name, values in columns.items()}
        replications, counts = np.unique(rows["replication"], return_counts=True)
        shape = (replications.size, int(counts[0]))
        if (counts != counts[0]).any() or (np.diff(rows["round"].reshape(shape), axis=0) != 0).any():
            raise StoreError(
                f"{folder} is not consistent: replications of cell {cell} have different checkpoints; "
                "run the study again in an empty folder"
            )
        runs[cell] = Runs(
            replications.astype(np.int64),
            rows["round"][: shape[1]].astype(np.int64),
            rows["regret"].reshape(shape),
            rows["clean_regret"].reshape(shape),
            rows["loss"].reshape(shape),
        )
    return runs


def read_probabilities(path: Path, cell: int) -> tuple[IntArray, FloatArray]:
    """Rounds, and rounds × arms: the distributions of replication 0 of a cell (no rows if not recorded)."""
    table = pq.read_table(path, columns=["cell", "replication", "round", "p"])
    wanted = (table["cell"].to_numpy() == cell) & (table["replication"].to_numpy() == 0)
    table = table.filter(pa.array(wanted & table["p"].is_valid().to_numpy()))
    rounds = table["round"].to_numpy().astype(np.int64)
    flat = table["p"].combine_chunks().flatten().to_numpy().astype(np.float64)
    return rounds, flat.reshape(rounds.size, -1) if rounds.size else np.empty((0, 0))
