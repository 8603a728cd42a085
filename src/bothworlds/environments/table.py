"""What worlds made of tables have in common: checked losses, regret on them to the best fixed arm."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Totals, keep_totals, loss_of, prepare
from bothworlds.errors import InvalidArgumentError

REGRET_ON_LOSSES = "regret to the best fixed arm on the realized losses"


def check_table(name: str, values: Any, n_arms: int | None = None, first_row: int = 0) -> FloatArray:
    """A two-dimensional array of losses in [0, 1]; the first bad entry is named."""
    try:
        table = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError(name, values, "a table of numbers, rounds × arms") from None
    if table.ndim != 2 or table.size == 0 or (n_arms is not None and table.shape[1] != n_arms):
        wanted = "rounds × arms" if n_arms is None else f"rounds × {n_arms} arms"
        raise InvalidArgumentError(name, values, f"a table, {wanted}", got=f"shape {table.shape}")
    bad = ~((table >= 0.0) & (table <= 1.0))
    if bad.any():
        row, arm = np.argwhere(bad)[0]
        missing = np.isnan(table[row, arm])
        raise InvalidArgumentError(
            name,
            float(table[row, arm]),
            "in [0, 1]",
            fix="every arm needs a loss in every round: fill it in, or leave the round out"
            if missing
            else "rescale losses to [0, 1] (reward r is loss 1 − r)",
            index=(first_row + int(row), int(arm)),
        )
    return table


def parquet_columns(file: Path) -> dict[str, Any]:
    """The columns of a Parquet file as arrays."""
    parquet = _check.extra("pyarrow.parquet", "parquet", "Parquet files")
    table = parquet.read_table(file)
    return dict(zip(table.column_names, (column.to_numpy() for column in table.columns), strict=True))


class TableParameters(NamedTuple):
    """The losses of a stretch of rounds, and the round before its first row."""

    table: FloatArray
    before: int


@prepare.register(TableParameters)
def _(env: TableParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(world.losses.size):
        world.losses[i] = env.table[t - 1 - env.before, i]


@loss_of.register(TableParameters)
def _(env: TableParameters, world: Totals, t: int, arm: int, uniforms: FloatArray) -> float:
    return float(world.losses[arm])


keep_totals(TableParameters, lambda env: env.table.shape[1])
