"""Losses from a table."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bothworlds._words import short
from bothworlds.environments.base import Environment
from bothworlds.environments.table import REGRET_ON_LOSSES, TableParameters, check_table, parquet_columns
from bothworlds.errors import InvalidArgumentError


@dataclass(frozen=True, repr=False, eq=False)
class LossTable(Environment, name="loss-table"):
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

    regret_kind: ClassVar[str] = REGRET_ON_LOSSES
    draws: ClassVar[int] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        table = check_table("losses", self.losses).copy()  # the caller may go on writing to theirs
        table.flags.writeable = False
        self._set(losses=table)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> LossTable:
        """Read a table from a CSV file (a header row is skipped) or a Parquet file (needs pyarrow)."""
        file = Path(path)
        if file.suffix.lower() == ".parquet":
            return cls(np.column_stack(list(parquet_columns(file).values())))
        with file.open(newline="", encoding="utf-8-sig") as stream:  # spreadsheets put a mark in front
            reader = csv.reader(stream)
            rows = [(reader.line_num, row) for row in reader if row]
        header: list[str] = []
        if rows and not any(_numeric([cell]) for cell in rows[0][1]):
            header = rows.pop(0)[1]  # a header; a row with a single number in it is data, if perhaps bad data
        for line, row in rows:
            if not _numeric(row) or len(row) != len(rows[0][1]):
                raise InvalidArgumentError(
                    "path",
                    str(file),
                    f"a file with {len(rows[0][1])} numbers in every row",
                    got=f"{short(','.join(row))} in line {line} of {file}",
                )
        if not rows:
            raise InvalidArgumentError(
                "path", str(file), "a file with at least one row of losses", got=f"{file} with none"
            )
        try:
            return cls(np.array([row for _, row in rows], dtype=np.float64))
        except InvalidArgumentError as error:
            if not error.index:
                raise
            row_number, arm = error.index
            line, row = rows[row_number]
            column = header[arm] if len(header) == len(row) else f"number {arm + 1}"
            raise InvalidArgumentError(
                "path",
                str(file),
                "a file of losses in [0, 1]",
                got=f"{row[arm].strip()} in line {line}, column {column} of {file}",
                fix=error.fix,
            ) from error

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
            raise InvalidArgumentError("horizon", horizon, f"at most the {self.rounds} rows of the table")
        return TableParameters(np.asarray(self.losses), 0)

    def __repr__(self) -> str:
        return f"LossTable(<{self.rounds} × {self.n_arms}>)"


def _numeric(row: list[str]) -> bool:
    try:
        [float(cell) for cell in row]
    except ValueError:
        return False
    return True
