"""``Study``: the results of an experiment, as DataFrames and as tables for a terminal or a paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import RenderableType

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray
from bothworlds._words import counted
from bothworlds.errors import InvalidArgumentError, StoreError
from bothworlds.report.comparison import compare
from bothworlds.report.folder import (
    Results,
    Runs,
    read_probabilities,
    read_results,
    resume_command,
    write_files,
)
from bothworlds.report.numbers import frames, scores
from bothworlds.report.text.formats import TABLE_FORMATS, as_csv, as_latex, as_markdown, as_rich, as_text
from bothworlds.report.text.tables import TITLES, text_table

TEXT_TABLES = tuple(TITLES)
ALL_TABLES = (*TEXT_TABLES, "final", "curves")
ENDINGS = {"csv": "csv", "tex": "latex", "md": "markdown"}


class Study:
    """The results in the folder of a study, complete or not.

    Every table is a DataFrame, computed when it is first asked for; a copy is handed out, so change it as
    you like. Columns of swept settings are named after them: ``policy.beta``, ``environment.gap``. Rows
    follow the order of the experiment file: environments, horizons, policies. All numbers but those of
    ``timing`` have the same bits however the study was run.

    A log that ends before the horizon leaves NaN: the mean of the replications that happened to last longer
    would be one of a chosen few. Tables then say "log ended".
    """

    def __init__(self, path: Path, results: Results) -> None:
        self.path = path
        """The folder."""
        self._results = results
        self._frames: dict[str, pd.DataFrame] = {}

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Study:
        """Read a folder written by ``bothworlds run``; every chunk is checked against its checksum.

        Raises
        ------
        StoreError
            If it is not such a folder, holds no result yet, or a chunk is damaged.
        """
        folder = Path(path)
        return cls(folder, read_results(folder))

    @property
    def manifest(self) -> dict[str, Any]:
        """What was run, and how: the content of ``manifest.json``."""
        return self._results.manifest

    @property
    def title(self) -> str:
        """The title of the experiment."""
        return str(self.manifest["title"])

    @property
    def policies(self) -> list[str]:
        """The labels of the policies, in the order of the experiment file."""
        return [str(entry["label"]) for entry in self.manifest["policies"]]

    @property
    def progress(self) -> float:
        """The share of the planned rounds that the store has: 1.0 when complete."""
        rounds = [cell["horizon"] for cell in self.manifest["cells"]]
        planned = sum(rounds) * self.manifest["replications"]
        done = sum(rounds[job.cell] * (job.stop - job.first) for job in self._results.seconds)
        return float(done / planned)

    @property
    def complete(self) -> bool:
        """Whether every planned replication is there."""
        return len(self._results.seconds) == sum(map(len, self.manifest["chunks"]))

    @property
    def status(self) -> str:
        """How much of the study is there, in words."""
        done = sum(job.stop - job.first for job in self._results.seconds)
        planned = len(self.manifest["cells"]) * self.manifest["replications"]
        percent = "100" if self.complete else f"{min(99, math.floor(100 * self.progress))}"
        return f"{percent}% of the rounds, {done:,} of {counted(planned, 'replication')}"

    def _frame(self, name: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        if name not in self._frames:
            self._frames[name] = make()
        return self._frames[name].copy()

    @property
    def cells(self) -> pd.DataFrame:
        """Every (policy, environment, horizon) of the plan: what it is, and its stored ``replications``.

        ``world`` is "fixed gaps" or "no fixed gaps", which decides how it is scored; ``optimal`` is the
        number of optimal arms, where there are gaps.
        """
        return self._frame("cells", lambda: frames.cells(self._results))

    @property
    def final(self) -> pd.DataFrame:
        """Regret, ``clean_regret`` and loss of every replication at the last checkpoint."""
        return self._frame("final", lambda: frames.final(self._results, self.cells))

    @property
    def curves(self) -> pd.DataFrame:
        """Mean regret over time with its 95% bootstrap band, quantiles, and the worst replication."""
        return self._frame("curves", lambda: frames.curves(self._results, self.cells))

    @property
    def summary(self) -> pd.DataFrame:
        """Final regret of every cell: mean with its band, quantiles, worst replication, spread.

        ``ended`` counts the replications whose log ended before the horizon. ``lower_bound`` is what no
        policy can beat in the long run, where losses are iid with a known law, and ``within`` how many times
        that the mean is; see :func:`bothworlds.theory.lower_bound`.
        """
        return self._frame("summary", lambda: frames.summary(self._results, self.cells, self.curves))

    @property
    def growth(self) -> pd.DataFrame:
        """How regret grows over the last decade of runs; see :mod:`bothworlds.report.numbers.statistics`."""
        return self._frame("growth", lambda: frames.growth(self._results, self.cells))

    @property
    def scaling(self) -> pd.DataFrame:
        """How final regret grows from horizon to horizon, where the study has several."""
        return self._frame("scaling", lambda: frames.scaling(self._results, self.cells))

    @property
    def pairs(self) -> pd.DataFrame:
        """Policies two by two, replication by replication; see :mod:`bothworlds.report.numbers.statistics`.

        ``difference`` is the mean of regret a − regret b; ``wins`` counts the replications in which a has
        less.
        """
        return self._frame("pairs", lambda: frames.pairs(self._results, self.cells))

    @property
    def scores(self) -> pd.DataFrame:
        """Score of each cell, ratio to the best of its world; see :mod:`bothworlds.report.numbers.scores`."""
        return self._frame("scores", lambda: scores.scores(self.cells, self.summary))

    @property
    def ranking(self) -> pd.DataFrame:
        """Policies by the geometric mean of their ratios over environments (largest horizon), best first."""
        return self._frame("ranking", lambda: scores.ranking(self.scores))

    @property
    def scorecard(self) -> pd.DataFrame:
        """Policies, best first, × environments: scores at the largest horizon."""
        return self._frame("scorecard", lambda: scores.scorecard(self).frame())

    @property
    def timing(self) -> pd.DataFrame:
        """Seconds in kernels, and nanoseconds per round. Depends on the machine."""
        return self._frame("timing", lambda: frames.timing(self._results, self.cells))

    def compare(self, other: Study) -> pd.DataFrame:
        """The final regret of another study against that of this one, cell by cell.

        Cells are the same if the labels of policy and environment, and the horizon, are. Where both studies
        have the same seed and the same world, replications share their random numbers: the difference
        (other − this) is taken replication by replication (``paired``), with the 95% bootstrap band of its
        mean. Elsewhere the band is that of two independent samples (Welch). A difference is 0 to the bit
        where nothing has changed.

        Parameters
        ----------
        other:
            A study, complete or not.

        Returns
        -------
        DataFrame
            ``environment``, ``horizon``, ``policy``, ``mean_a`` (this), ``mean_b`` (other), ``difference``,
            ``low``, ``high``, ``paired``.

        Raises
        ------
        StoreError
            If no cell is in both.
        """
        if not isinstance(other, Study):
            raise InvalidArgumentError("other", other, "a Study", fix="Study.load(folder) gives one")
        return compare(self, other)

    def runs(self, cell: int) -> Runs:
        """All replications of a cell: rounds, and regret as replications × checkpoints."""
        number = self._cell(cell)
        if number not in self._results.runs:
            raise StoreError(
                f"{self.path} has no results of cell {number} yet; "
                f"complete the study with {resume_command(self.path)}"
            )
        return self._results.runs[number]

    def probabilities(self, cell: int) -> pd.DataFrame:
        """The distribution over arms after each checkpoint of replication 0: round, arm, probability.

        Without rows where the study did not record it.
        """
        self.runs(cell)
        files = self._results.files.items()
        path = next((path for job, path in files if job.cell == cell and job.first == 0), None)
        rounds: IntArray = np.empty(0, dtype=np.int64)
        p: FloatArray = np.empty((0, 0))
        if path is not None:
            rounds, p = read_probabilities(path, cell)
        return pd.DataFrame(
            {
                "round": np.repeat(rounds, p.shape[1]),
                "arm": np.tile(np.arange(p.shape[1]), rounds.size),
                "probability": p.ravel(),
            }
        )

    def table(self, name: str = "summary", *, format: str = "text", siunitx: bool = False) -> str:
        """A table as a string.

        Parameters
        ----------
        name:
            One of ``"scorecard"``, ``"ranking"``, ``"summary"``, ``"growth"``, ``"scaling"``, ``"pairs"``,
            ``"scores"``, ``"timing"``, ``"cells"``; as CSV also ``"final"`` and ``"curves"``.
        format:
            ``"text"``, ``"markdown"`` and ``"latex"`` (a tabular with the rules of booktabs) are for
            readers, with few digits, the best of each world in bold; ``"csv"`` has all columns and digits.
        siunitx:
            For LaTeX: columns of numbers are those of the package siunitx, aligned at the decimal point.
        """
        _check.one_of("format", format, TABLE_FORMATS)
        _check.one_of("name", name, ALL_TABLES if format == "csv" else TEXT_TABLES)
        if format == "csv":
            frame = getattr(self, name)
            return as_csv(frame.reset_index() if name == "scorecard" else frame)
        if format == "latex":
            return as_latex(text_table(self, name), siunitx=siunitx)
        return {"text": as_text, "markdown": as_markdown}[format](text_table(self, name))

    def rich(self, name: str = "scorecard") -> RenderableType:
        """A table for a terminal: ``rich.print(study.rich())``. Colors say no more than the marks do."""
        _check.one_of("name", name, TEXT_TABLES)
        return as_rich(text_table(self, name))

    def write_tables(self, folder: str | PathLike[str] | None = None) -> list[Path]:
        """Write all tables as CSV, LaTeX and Markdown, each whole or not at all.

        Parameters
        ----------
        folder:
            By default ``tables`` in the folder of the study; made if it is not there.

        Returns
        -------
        list of Path
            The files written.
        """
        target = self.path / "tables" if folder is None else Path(folder)
        files = (
            (f"{name}.{ending}", self.table(name, format=form).encode())
            for name in ALL_TABLES
            for ending, form in ENDINGS.items()
            if form == "csv" or name in TEXT_TABLES
        )
        return write_files("tables", target, files)

    def _cell(self, cell: int) -> int:
        number, last = _check.integer("cell", cell, at_least=0), len(self.manifest["cells"]) - 1
        if number > last:
            raise InvalidArgumentError("cell", number, f"in 0..{last}", fix="study.cells lists them")
        return number

    def __repr__(self) -> str:
        manifest = self.manifest
        share = "complete" if self.complete else f"not complete: {self.status}"
        return (
            f"Study({self.title!r}: {counted(len(manifest['policies']), 'policy')}, "
            f"{counted(len(manifest['environments']), 'environment')}, "
            f"{counted(manifest['replications'], 'replication')}, {share})"
        )
