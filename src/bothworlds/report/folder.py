"""The folder of a study: its results, read and checked, and the files that reports add to it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bothworlds import statefile
from bothworlds._jit import FloatArray, IntArray
from bothworlds._value import to_table
from bothworlds._version import __version__
from bothworlds._words import some_are
from bothworlds.errors import BothworldsError, StoreError
from bothworlds.experiments.experiment import EVIDENCE
from bothworlds.experiments.plan import Batch
from bothworlds.experiments.store import Store, cell_facts
from bothworlds.inference.checkpoints import CheckpointEvidence
from bothworlds.simulation import Run

LOOK_COLUMNS = list(CheckpointEvidence._fields)
RESULT_COLUMNS = ["cell", "replication", "round", "regret", "clean_regret", "loss"]


@dataclass(frozen=True)
class Runs:
    """The replications of one cell that the store holds, each at the same rounds.

    Attributes
    ----------
    replications, rounds:
        Numbers of the replications, and the checkpoints.
    regret, clean_regret, loss:
        Replications × checkpoints; NaN after the end of a log.
    looks:
        Replications × checkpoints × numbers of a look at the evidence, in a study that asks for it.
    """

    replications: IntArray
    rounds: IntArray
    regret: FloatArray
    clean_regret: FloatArray
    loss: FloatArray
    looks: FloatArray | None = None


class Results(NamedTuple):
    """Everything read from a store: its runs by cell, the seconds and the file of every batch."""

    manifest: dict[str, Any]
    runs: dict[int, Runs]
    seconds: dict[Batch, float]
    files: dict[Batch, Path]
    distributions: Mapping[int, tuple[IntArray, FloatArray]] = MappingProxyType({})
    """Rounds, and rounds × arms, of replication 0 of cells whose distributions are in memory."""


def read_results(folder: Path) -> Results:
    """Read and check a store; what is missing is left out, what is damaged is a :class:`StoreError`."""
    store = Store(folder)
    columns = [*RESULT_COLUMNS, *(LOOK_COLUMNS if EVIDENCE in store.manifest["record"] else [])]
    tables: list[Any] = []
    seconds: dict[Batch, float] = {}
    files: dict[Batch, Path] = {}
    for number, path in store.chunks.items():
        try:
            content = path.read_bytes()
            batches = store.examine(number, content, path.name).batches
            tables.append(pq.read_table(pa.BufferReader(content), columns=columns))
        except (OSError, ValueError) as error:  # pyarrow's errors are among these
            raise StoreError(
                f"{path} is damaged: {error}; "
                f"run {resume_command(folder)}, which moves it aside and computes it again"
            ) from error
        seconds.update(batches)
        files.update(dict.fromkeys((batch for batch, _ in batches), path))
    if not tables:
        raise StoreError(
            f"{folder} holds no results yet: of the study {store.manifest['title']!r} "
            f"{some_are(0, len(store.plan), 'chunk')} there; run {resume_command(folder)}"
        )
    return Results(store.manifest, _split(folder, pa.concat_tables(tables)), seconds, files)


def results_of(run: Run) -> Results:
    """A run in memory as the results of a study of one world."""
    numbers = np.arange(run.replications) if run.numbers is None else np.array(run.numbers)
    total = int(numbers[-1]) + 1
    world = run.environment
    entries = [
        {"label": label, "swept": {}} | described(p)
        for label, p in zip(run.labels, run.policies, strict=True)
    ]
    shared = cell_facts(world, run.horizon) | {"environment": 0, "horizon": run.horizon}
    batches = [Batch(i, int(numbers[0]), total) for i in range(len(run.labels))]
    kept = (
        {}
        if run.probabilities is None
        else {i: (run.checkpoints, run.probabilities[i, 0]) for i in range(len(run.labels))}
    )
    manifest = {
        "version": __version__,
        "title": repr(world),
        "description": "",
        "seed": run.seed,
        "replications": total,
        "record": ["regret", *(["probabilities"] if kept else [])],
        "tell_horizon": run.tell_horizon,
        "fingerprint": "",
        "policies": entries,
        "environments": [
            {"label": repr(world), "swept": {}, "n_arms": world.n_arms, "regret_kind": world.regret_kind}
            | described(world)
        ],
        "cells": [{"cell": i, "policy": i} | shared for i in range(len(run.labels))],
        "chunks": [[list(batch)] for batch in batches],
        "runs": [],
    }
    runs = {
        i: Runs(numbers, run.checkpoints, run.regret[i], run.clean_regret[i], run.losses[i])
        for i in range(len(run.labels))
    }
    return Results(manifest, runs, dict.fromkeys(batches, math.nan), {}, kept)


def described(part: Any) -> dict[str, Any]:
    """Kind, settings and repr of a policy or environment; one without a name has no settings to keep."""
    try:
        settings = to_table(part)
    except BothworldsError:
        settings = {"kind": type(part).__name__}
    return {"kind": settings["kind"], "settings": settings, "repr": repr(part)}


def resume_command(folder: Path) -> str:
    """The command that completes or repairs a store."""
    file, out = shlex.quote(str(folder / "experiment.toml")), shlex.quote(str(folder))
    return f"`bothworlds run {file} --out {out}`"


def _split(folder: Path, table: Any) -> dict[int, Runs]:
    """The rows of all chunks as one array per cell, replications × checkpoints."""
    columns = {name: table[name].to_numpy() for name in table.column_names}
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
        looked = "standing" in columns
        runs[cell] = Runs(
            replications.astype(np.int64),
            rows["round"][: shape[1]].astype(np.int64),
            rows["regret"].reshape(shape),
            rows["clean_regret"].reshape(shape),
            rows["loss"].reshape(shape),
            np.stack([rows[name].reshape(shape) for name in LOOK_COLUMNS], axis=-1) if looked else None,
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


def write_files(what: str, folder: Path, files: Iterable[tuple[str, bytes]]) -> list[Path]:
    """Write files (name, content) into a folder, made if it is not there; each appears whole or not at all.

    An error names ``what`` could not be written, and where.
    """
    written = []
    for name, content in files:
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            statefile.write_bytes(path, content)
        except OSError as error:
            raise StoreError(
                f"{what} cannot be written to {path} ({error}); give another folder, or make room"
            ) from error
        written.append(path)
    return written
