"""Reading the folder of a study, whole or as far as it got."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from bothworlds.errors import StoreError
from bothworlds.experiments.experiment import MANIFEST
from bothworlds.experiments.plan import Batch
from bothworlds.experiments.store import chunk

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
