"""The folder of a study: a manifest, and one Parquet file per chunk that is done.

::

    OUT/
      experiment.toml, modules/      the file as written, and the Python files that it names
      manifest.json                  what the study is, how it is cut into chunks, and its runs
      chunks/00012-<sha256>.parquet  the name carries the checksum of the content
      aside/                         chunks that are damaged, or not of this study: moved, never deleted
      lock                           held while a run writes

``Store`` reads it, whole or as far as it got. ``StoreWriter`` writes to it: one run at a time, every file
whole or not there.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import os
import re
import shlex
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from bothworlds import _lock, statefile
from bothworlds.errors import DifferentStudyError, StoreError, StoreInUseError
from bothworlds.experiments.experiment import MANIFEST
from bothworlds.experiments.plan import Batch, cut_into_chunks, nominal_costs
from bothworlds.experiments.store import chunk, provenance
from bothworlds.experiments.store.provenance import differences

if TYPE_CHECKING:
    from bothworlds.experiments.experiment import Experiment

__all__ = ["Store", "StoreWriter"]

# --- reading -------------------------------------------------------------------------------------------

FORMAT = 1
KEYS = {"version", "sources", "fingerprint", "meaning", "title", "seed", "replications", "record"} | {
    *("tell_horizon", "policies", "environments", "cells", "chunks", "runs")
}
RESTORE = "restore it from a copy, or run the study again into another folder with --out"
CHUNK_NAME = re.compile(r"(\d{5,})-([0-9a-f]{16})\.parquet")


class Timing(NamedTuple):
    """How long a batch took: processor time, without compilation."""

    cell: int
    first: int
    stop: int
    seconds: float
    host: str


class Store:
    """A study on disk, read-only: whole, or as far as it got. Takes no lock, writes nothing.

    Parameters
    ----------
    path:
        The folder that a run was given.

    Raises
    ------
    StoreError
        If the folder holds no study, or one of a newer format.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path)

    @functools.cached_property
    def plan(self) -> list[list[Batch]]:
        """The batches of each chunk."""
        return [[Batch(*batch) for batch in batches] for batches in self.manifest["chunks"]]

    @property
    def chunks(self) -> dict[int, Path]:
        """The files of the chunks that are there, by number, in order; looks at the folder every time."""
        found: dict[int, Path] = {}
        for path in sorted((self.path / "chunks").glob("*.parquet")):
            number = chunk_number(path)
            if number is not None and number < len(self.manifest["chunks"]):
                found.setdefault(number, path)
        return dict(sorted(found.items()))

    @property
    def missing(self) -> list[int]:
        """The numbers of the chunks that have not been run."""
        there = self.chunks
        return [number for number in range(len(self.plan)) if number not in there]

    @property
    def complete(self) -> bool:
        """Are all chunks there?"""
        return not self.missing

    @property
    def progress(self) -> tuple[int, int]:
        """How many replications of cells are there, and how many there will be."""
        there = self.chunks
        sizes = [sum(batch.stop - batch.first for batch in batches) for batches in self.plan]
        return sum(size for number, size in enumerate(sizes) if number in there), sum(sizes)

    def timings(self) -> Iterator[Timing]:
        """How long each batch took, in the order of the chunks; reads metadata only."""
        for path in self.chunks.values():
            found = chunk.read_info(path)
            for batch, seconds in found.batches:
                yield Timing(*batch, seconds, found.host)

    def examine(self, number: int, content: bytes, name: str) -> chunk.ChunkInfo:
        """The metadata of a chunk that is sound and belongs here; ValueError says why it is not."""
        match = CHUNK_NAME.fullmatch(name)
        if match is None or chunk.checksum(content) != match[2]:
            raise ValueError("its content does not match the checksum in its name")
        found = chunk.read_info(content)
        if found.fingerprint != self.manifest["fingerprint"]:
            raise ValueError("it belongs to another experiment, or another bothworlds played it")
        if found.chunk != number or [batch for batch, _ in found.batches] != self.plan[number]:
            raise ValueError("it holds other batches than the manifest says")
        return found


def chunk_number(path: Path) -> int | None:
    """The number in the name of a chunk."""
    match = CHUNK_NAME.fullmatch(path.name)
    return int(match[1]) if match else None


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        what = "does not exist" if not folder.exists() else f"holds no study: it has no {MANIFEST}"
        raise StoreError(f"the folder {folder} {what}; give the folder that `bothworlds run` wrote") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}; {RESTORE}") from error
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise StoreError(
            f"{path} has format {found!r}, this release reads format {FORMAT}; "
            "read it with the bothworlds that wrote it"
        )
    lacking = sorted(KEYS - manifest.keys())
    if lacking:
        raise StoreError(f"{path} lacks {', '.join(lacking)}; {RESTORE}")
    return manifest  # type: ignore[no-any-return]


# --- writing -------------------------------------------------------------------------------------------

FOLDERS = ("chunks", "aside", "modules")
WRITTEN = ("tables", "figures")  # by whoever reports; a kill may leave temporary files there too


class StoreWriter(Store):
    """The folder of a study, opened for a run: locked, checked, and free of what a killed run left behind.

    A new folder is made; one that holds the same study is continued; any other is refused and stays as it
    was. ``done`` is what the metadata of the chunks say that are there; ``set_aside`` lists those that
    cannot be used, with the reason. A context manager: leaving it releases the lock.
    """

    def __init__(self, path: str | PathLike[str], experiment: Experiment) -> None:
        self.path = Path(path)
        self.set_aside: list[tuple[Path, str]] = []
        self.done: dict[int, chunk.ChunkInfo] = {}
        self._lock: int | None = None
        meaning = json.loads(json.dumps(experiment.meaning(), allow_nan=False))
        existing = _existing_manifest(self.path, experiment, meaning)  # refuse before anything is written
        with explained(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = _take_lock(self.path / "lock")
        try:
            existing = _existing_manifest(
                self.path, experiment, meaning
            )  # it may have changed while there was no lock
            self.manifest = make_manifest(experiment, meaning, existing)
            with explained(self.path):
                self._prepare(experiment)
        except BaseException:
            self.close()
            raise

    def _prepare(self, experiment: Experiment) -> None:
        for name in FOLDERS[:2]:
            (self.path / name).mkdir(exist_ok=True)
        for folder in (self.path, *(self.path / name for name in (*FOLDERS, *WRITTEN))):
            for leftover in folder.glob(".*.tmp"):
                leftover.unlink()
        self._write_if_new("experiment.toml", experiment.text)
        for module in experiment.modules:
            (self.path / "modules").mkdir(exist_ok=True)
            self._write_if_new(f"modules/{module.name}.py", module.source)
        self._write_if_new(MANIFEST, json.dumps(self.manifest, allow_nan=False))
        first = self.chunks
        for path in sorted((self.path / "chunks").glob("*.parquet")):
            number = chunk_number(path)
            if number is None or first.get(number) != path:
                self._move_aside(path, "it is not the one file of a chunk of this study")
                continue
            try:
                self.done[number] = self.examine(number, path.read_bytes(), path.name)
            except ValueError as error:
                self._move_aside(path, str(error))
        self._settle()

    def _write_if_new(self, name: str, text: str) -> None:
        path = self.path / name
        if not path.exists() or path.read_bytes() != text.encode():
            statefile.write_bytes(path, text.encode())

    def _settle(self) -> None:
        """Say of a run that was killed how far it got."""
        runs = self.manifest["runs"]
        if runs and runs[-1]["finished"] is None:
            earlier = sum(run["kernel_seconds"] for run in runs[:-1])
            worked = sum(info.seconds for info in self.done.values()) - earlier
            runs[-1]["chunks_run"] = max(0, len(self.done) - runs[-1]["chunks_reused"])
            runs[-1]["kernel_seconds"] = round(max(0.0, worked), 3)

    def _move_aside(self, path: Path, reason: str) -> None:
        folder = self.path / "aside"
        names = (f"{path.stem}.{k}{path.suffix}" for k in itertools.count(1))
        target = next(
            folder / name for name in itertools.chain([path.name], names) if not (folder / name).exists()
        )
        os.replace(path, target)
        self.set_aside.append((target, reason))

    def write_manifest(self) -> None:
        """Replace the manifest by what it is now."""
        statefile.write(self.path / MANIFEST, self.manifest)

    def write_chunk(self, number: int, content: bytes) -> None:
        """Add a chunk, after a look at what was received."""
        name = f"{number:05d}-{chunk.checksum(content)}.parquet"
        info = self.examine(number, content, name)
        statefile.write_bytes(self.path / "chunks" / name, content)
        self.done[number] = info

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            with contextlib.suppress(OSError):  # a full disk must not keep the lock
                os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the system says of a folder into an error that names it."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(
            f"the folder {folder} cannot be written: {error.strerror or error}; "
            "make room or give another folder with --out"
        ) from error


def _existing_manifest(
    folder: Path, experiment: Experiment, meaning: dict[str, Any]
) -> dict[str, Any] | None:
    """The manifest of this very study, None for a folder to be filled; any other is refused."""
    with explained(folder):
        if not folder.is_dir() and not folder.exists():
            return None
        if not folder.is_dir():
            raise StoreError(f"{folder} is a file; give a folder with --out")
        names = {entry.name for entry in folder.iterdir()}
    if MANIFEST not in names:
        strange = sorted(name for name in names if name not in _BEFORE_MANIFEST and not _temporary(name))
        if strange:
            raise StoreError(
                f"the folder {folder} is not empty and holds no study (it has {', '.join(strange[:3])}"
                f"{', …' if len(strange) > 3 else ''}); give a new or empty folder with --out"
            )
        return None
    manifest = read_manifest(folder)
    here, there = provenance.identity(), {"bothworlds": manifest["version"], "sources": manifest["sources"]}
    different = differences(manifest["meaning"], meaning)
    if different:
        different = differences(there, here) + different  # settings may have come with a version
        shown = "\n".join(f"  {line}" for line in different[:12])
        more = f"\n  … and {len(different) - 12} more" if len(different) > 12 else ""
        raise DifferentStudyError(
            f"the folder {folder} holds another study ({manifest['title']!r}); what differs:\n{shown}{more}\n"
            "give another folder with --out, or go back to what made this one"
        )
    if there != here:
        commit = next((run["commit"] for run in reversed(manifest["runs"]) if run.get("commit")), None)
        raise _other_maker(folder, there, here, f" of commit {commit}" if commit else "")
    return manifest


def _other_maker(folder: Path, there: dict[str, str], here: dict[str, str], of: str) -> DifferentStudyError:
    """Results of two versions are never mixed in a folder; ``of`` tells the commit of the old one."""
    if there["bothworlds"] != here["bothworlds"]:
        made = f"bothworlds {there['bothworlds']}{of}, and this is bothworlds {here['bothworlds']}"
        back = f"install the old one, bothworlds {there['bothworlds']},"
    else:
        made = (
            f"other sources of bothworlds {there['bothworlds']} than these (hash {there['sources']}{of}, "
            f"here {here['sources']}): they were edited, or are from another commit"
        )
        back = "go back to those sources"
    return DifferentStudyError(
        f"the folder {folder} holds this study, begun with {made}. Numbers of two versions are not mixed: "
        f"give another folder with --out to play it anew, or {back} to complete this one. "
        f"What is there can be read as it is: bothworlds report {shlex.quote(str(folder))}"
    )


# What a run that was killed before its manifest was written may leave behind.
_BEFORE_MANIFEST = {"lock", "experiment.toml", *FOLDERS}


def _temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


def _take_lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _lock.acquire(descriptor, wait=False):
            holder = os.read(descriptor, 4096).decode(errors="replace")
            try:
                found = json.loads(holder)
                who = f"process {found['pid']} on {found['host']}, started {found['started']}"
            except (ValueError, KeyError, TypeError):
                who = "a run that is just starting or ending"
            raise StoreInUseError(
                f"the folder {path.parent} is in use by another run ({who}); wait for it, or give another one"
            )
        mine = {"pid": os.getpid(), "host": provenance.host(), "started": provenance.now()}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(mine).encode(), 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def make_manifest(
    experiment: Experiment, meaning: dict[str, Any], existing: dict[str, Any] | None
) -> dict[str, Any]:
    """The manifest of a study; the cut into chunks and the runs of one that exists are kept."""
    policies = [entry.build() for entry in experiment.policies]
    worlds = [entry.build() for entry in experiment.environments]
    return {
        "format": FORMAT,
        "version": provenance.identity()["bothworlds"],
        "sources": provenance.identity()["sources"],
        "fingerprint": experiment.fingerprint(provenance.identity()),
        "meaning": meaning,
        "title": experiment.title,
        "description": experiment.description,
        "folder": experiment.folder,
        "seed": experiment.seed,
        "replications": experiment.replications,
        "record": list(experiment.record),
        "tell_horizon": experiment.tell_horizon,
        "policies": [
            _entry(entry) | {"repr": repr(policy), "draws": policy.draws}
            for entry, policy in zip(experiment.policies, policies, strict=True)
        ],
        "environments": [
            _entry(entry)
            | {"repr": repr(world), "n_arms": int(world.n_arms), "regret_kind": world.regret_kind}
            for entry, world in zip(experiment.environments, worlds, strict=True)
        ],
        "cells": [
            {"cell": cell.number, "policy": cell.policy, "environment": cell.environment}
            | {"horizon": cell.horizon}
            | cell_facts(worlds[cell.environment], cell.horizon)
            for cell in experiment.cells()
        ],
        "chunks": existing["chunks"] if existing else _cut(experiment, worlds),
        "runs": existing["runs"] if existing else [],
    }


def cell_facts(world: Any, horizon: int) -> dict[str, Any]:
    """What theory and reports need to know of a world that is played for so many rounds."""
    return {
        "n_arms": int(world.n_arms),
        "gaps": None if world.gaps is None else [float(gap) for gap in world.gaps],
        "optimal": None if world.optimal_arms is None else [int(arm) for arm in world.optimal_arms],
        "corruption": _finite(world.corruption(horizon)),
        "spread": _finite(world.spread(horizon)),
    }


def _entry(entry: Any) -> dict[str, Any]:
    return {"label": entry.label, "kind": entry.kind, "settings": entry.settings, "swept": entry.swept}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _cut(experiment: Experiment, worlds: list[Any]) -> list[list[list[int]]]:
    costs = nominal_costs(experiment, worlds)
    return [[list(batch) for batch in batches] for batches in cut_into_chunks(costs, experiment.replications)]
