"""Losses from a table, or made block by block by a Python class."""

from __future__ import annotations

import csv
from abc import abstractmethod
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, Totals, keep_totals, loss_of, prepare
from bothworlds.errors import InvalidArgument

REGRET = "regret to the best fixed arm on the realised losses"


def check_table(name: str, values: Any, n_arms: int | None = None, first_row: int = 0) -> FloatArray:
    """A two-dimensional array of losses in [0, 1]; the first bad entry is named."""
    try:
        table = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"{name} must be a table of numbers, rounds × arms, got {values!r:.60}"
        ) from None
    if table.ndim != 2 or table.size == 0 or (n_arms is not None and table.shape[1] != n_arms):
        wanted = "rounds × arms" if n_arms is None else f"rounds × {n_arms} arms"
        raise InvalidArgument(f"{name} must be a table, {wanted}, got shape {table.shape}")
    bad = ~((table >= 0.0) & (table <= 1.0))
    if bad.any():
        row, arm = np.argwhere(bad)[0]
        raise InvalidArgument(
            f"{name}[{first_row + row}, {arm}] must be in [0, 1], got {float(table[row, arm])!r}; "
            "rescale losses to [0, 1] (reward r is loss 1 − r)"
        )
    return table


class TableParameters(NamedTuple):
    """The losses of a stretch of rounds, and the round before its first row."""

    table: FloatArray
    before: int


@dataclass(frozen=True, repr=False, eq=False)
class LossTable(Environment):
    """Any oblivious adversary: row t of a table holds the losses of round t.

    Parameters
    ----------
    losses:
        An array, rounds × arms, with entries in [0, 1]. The horizon may not exceed its rows.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.LossTable([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> world.n_arms, world.rounds
    (2, 3)
    """

    losses: ArrayLike

    regret_kind: ClassVar[str] = REGRET
    draws: ClassVar[int] = 0

    def __post_init__(self) -> None:
        table = check_table("losses", self.losses).copy()  # the caller may go on writing to theirs
        table.flags.writeable = False
        object.__setattr__(self, "losses", table)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> LossTable:
        """Read a table from a CSV file (a header row is skipped) or a Parquet file (needs pyarrow)."""
        file = Path(path)
        if file.suffix.lower() == ".parquet":
            try:
                from pyarrow import parquet  # noqa: PLC0415 - an optional extra
            except ImportError as error:
                raise ImportError(
                    "Parquet files need the extra 'parquet': pip install 'bothworlds[parquet]'"
                ) from error

            columns = parquet.read_table(file)
            return cls(np.column_stack([column.to_numpy() for column in columns.columns]))
        with file.open(newline="", encoding="utf-8-sig") as stream:  # spreadsheets put a mark in front
            reader = csv.reader(stream)
            rows = [(reader.line_num, row) for row in reader if row]
        if rows and not any(_numeric([cell]) for cell in rows[0][1]):
            del rows[0]  # a header; a row with a single number in it is data, if perhaps bad data
        for line, row in rows:
            if not _numeric(row) or len(row) != len(rows[0][1]):
                raise InvalidArgument(
                    f"{file}, line {line}: expected {len(rows[0][1])} numbers, got {','.join(row)!r:.60}"
                )
        if not rows:
            raise InvalidArgument(f"{file} must hold at least one row of losses, got none")
        return cls(np.array([row for _, row in rows], dtype=np.float64))

    @property
    def n_arms(self) -> int:
        """The number of columns."""
        return int(np.shape(self.losses)[1])

    @property
    def rounds(self) -> int:
        """The number of rows."""
        return int(np.shape(self.losses)[0])

    def parameters(self, horizon: int) -> TableParameters:
        """The table itself."""
        if horizon > self.rounds:
            raise InvalidArgument(
                f"horizon must be at most the {self.rounds} rows of the table, got {horizon}"
            )
        return TableParameters(np.asarray(self.losses), 0)

    def __repr__(self) -> str:
        return f"LossTable(<{self.rounds} × {self.n_arms}>)"


def _numeric(row: list[str]) -> bool:
    try:
        [float(cell) for cell in row]
    except ValueError:
        return False
    return True


class PythonEnvironment(Environment):
    """Base class for a world of your own in NumPy, without numba.

    Subclass it, set ``n_arms``, and give ``losses(random, start, stop)``: the losses of rounds
    start+1 … stop, an array (stop − start) × n_arms in [0, 1], drawn from ``random`` alone. The engine asks
    for blocks in order, one generator per replication. It may not see what the policy does; for an
    adversary that does, register kernels as in ``environments/adaptive.py``.

    Examples
    --------
    >>> import numpy as np, bothworlds as bw
    >>> class Waves(bw.environments.PythonEnvironment):
    ...     n_arms = 3
    ...     def losses(self, random, start, stop):
    ...         t = np.arange(start, stop)[:, None]
    ...         return 0.5 + 0.5 * np.sin(t / 100 + np.arange(3))
    >>> run = bw.simulate([bw.TsallisINF()], Waves(), horizon=500, replications=2, seed=1)
    >>> run.regret.shape[:2]
    (1, 2)
    """

    regret_kind = REGRET
    draws = 0

    @abstractmethod
    def losses(self, random: np.random.Generator, start: int, stop: int) -> ArrayLike:
        """The losses of rounds start+1 … stop."""

    def block(self, random: np.random.Generator, start: int, stop: int) -> TableParameters:
        """The losses of a block, checked."""
        table = check_table("losses", self.losses(random, start, stop), self.n_arms, first_row=start)
        if len(table) != stop - start:
            raise InvalidArgument(f"losses must hold {stop - start} rounds, got {len(table)}")
        return TableParameters(table, start)

    def parameters(self, horizon: int) -> TableParameters:
        """An empty table; the engine asks for blocks."""
        return TableParameters(np.empty((0, self.n_arms)), 0)


@prepare.register(TableParameters)
def _(env: TableParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(world.losses.size):
        world.losses[i] = env.table[t - 1 - env.before, i]
        world.totals[i] += world.losses[i]


@loss_of.register(TableParameters)
def _(env: TableParameters, world: Totals, t: int, arm: int, uniforms: FloatArray) -> float:
    return float(world.losses[arm])


keep_totals(TableParameters, lambda env: env.table.shape[1])
