"""A chunk as a Parquet file: rows by (cell, replication, round), and where they come from in the metadata."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bothworlds._jit import FloatArray, IntArray
from bothworlds.experiments.plan import Batch
from bothworlds.inference.checkpoints import CheckpointEvidence
from bothworlds.simulation.engine import CLEAN_REGRET, LOSS, REGRET

KEY = b"bothworlds"
SCHEMA = pa.schema(
    [
        pa.field("cell", pa.int32(), nullable=False),
        pa.field("replication", pa.int32(), nullable=False),
        pa.field("round", pa.int64(), nullable=False),
        pa.field("regret", pa.float64(), nullable=False),
        pa.field("clean_regret", pa.float64()),  # null: that of `regret`
        pa.field("loss", pa.float64(), nullable=False),
        pa.field("p", pa.list_(pa.field("element", pa.float32(), nullable=False))),  # replication 0 only
    ]
)
LOOKED = pa.schema([*SCHEMA, *(pa.field(name, pa.float64()) for name in CheckpointEvidence._fields)])
"""The columns of a study that asks for evidence; null: not known."""


class PlayedBatch(NamedTuple):
    """A batch that has been done."""

    batch: Batch
    marks: IntArray
    measured: FloatArray
    probabilities: FloatArray | None  # of replication 0
    seconds: float
    looks: FloatArray | None = None  # replications × checkpoints × columns of a look at the evidence


class ChunkInfo(NamedTuple):
    """What the metadata of a chunk says."""

    chunk: int
    fingerprint: str
    batches: tuple[tuple[Batch, float], ...]  # with the seconds each took
    host: str

    @property
    def seconds(self) -> float:
        """Processor time of all batches."""
        return sum(seconds for _, seconds in self.batches)


def encode(chunk: int, fingerprint: str, played: Sequence[PlayedBatch], host: str) -> bytes:
    """The Parquet file of a chunk."""
    metadata = {
        "chunk": chunk,
        "fingerprint": fingerprint,
        "jobs": [[*one.batch, round(one.seconds, 6)] for one in played],
        "host": host,
    }
    table = pa.concat_tables([_table(one) for one in played]).combine_chunks()
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        use_dictionary=["cell", "replication", "round", "regret", "loss"],
        write_statistics=["cell"],
        store_schema=False,  # a kilobyte in every file that says nothing new
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: json.dumps(metadata)})
    return sink.getvalue()


def _table(played: PlayedBatch) -> pa.Table:
    first, stop = played.batch.first, played.batch.stop
    marks, repeats = played.marks, stop - first
    rows = repeats * marks.size
    regret = played.measured[..., REGRET].reshape(rows)
    clean = played.measured[..., CLEAN_REGRET].reshape(rows)
    columns = [
        pa.array(np.full(rows, played.batch.cell, dtype=np.int32)),
        pa.array(np.repeat(np.arange(first, stop, dtype=np.int32), marks.size)),
        pa.array(np.tile(marks, repeats)),
        pa.array(regret),
        pa.array(clean, mask=(clean == regret) | np.isnan(regret)),
        pa.array(played.measured[..., LOSS].reshape(rows)),
        _lists(played.probabilities, rows),
    ]
    if played.looks is None:
        return pa.Table.from_arrays(columns, schema=SCHEMA)
    looked = played.looks.reshape(rows, -1).T
    columns += [pa.array(np.ascontiguousarray(column), from_pandas=True) for column in looked]
    return pa.Table.from_arrays(columns, schema=LOOKED)


def _lists(probabilities: FloatArray | None, rows: int) -> pa.Array:
    """The rows of ``probabilities`` (or none), then nulls."""
    if probabilities is None:
        return pa.nulls(rows, SCHEMA.field("p").type)
    given, width = probabilities.shape
    offsets = np.minimum(np.arange(rows + 1), given) * width
    values = pa.array(probabilities.reshape(-1).astype(np.float32))
    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)),
        values,
        type=SCHEMA.field("p").type,
        mask=pa.array(np.arange(rows) >= given),
    )


def checksum(content: bytes) -> str:
    """The checksum in the name of a chunk's file."""
    return hashlib.sha256(content).hexdigest()[:16]


def read_info(source: Path | bytes) -> ChunkInfo:
    """The metadata of a chunk, without reading its rows; ValueError if it is not one."""
    try:
        found = pq.read_metadata(source if isinstance(source, Path) else io.BytesIO(source))
        if found.schema.to_arrow_schema() not in (SCHEMA, LOOKED):
            raise ValueError("it has other columns")
        data = json.loads(found.metadata[KEY])
        batches = tuple((Batch(*(int(n) for n in batch[:3])), float(batch[3])) for batch in data["jobs"])
        return ChunkInfo(int(data["chunk"]), str(data["fingerprint"]), batches, str(data["host"]))
    except (pa.ArrowException, OSError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f"it cannot be read: {error}") from error


def final_regret(content: bytes, cell: int, horizon: int) -> float:
    """The mean regret of the replications of a cell in a chunk, at the end; NaN if a log ended before."""
    chosen = [("cell", "=", cell), ("round", "=", horizon)]
    regret = pq.read_table(io.BytesIO(content), columns=["regret"], filters=chosen)["regret"].to_numpy()
    return float(regret.mean())
