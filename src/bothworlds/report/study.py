"""``Study``: the results of an experiment, as DataFrames and as tables for a terminal or a paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import RenderableType

from bothworlds import _check, environments, policies
from bothworlds._jit import FloatArray, IntArray
from bothworlds._words import counted, html_table
from bothworlds.errors import InvalidArgumentError, StoreError
from bothworlds.experiments.experiment import EVIDENCE
from bothworlds.report import numbers
from bothworlds.report.decomposition import Decomposition, decompose
from bothworlds.report.folder import (
    Results,
    Runs,
    read_probabilities,
    read_results,
    results_of,
    resume_command,
    write_files,
)
from bothworlds.report.numbers import scores
from bothworlds.report.numbers.rows import choose_panels
from bothworlds.report.text import TITLES, text_table
from bothworlds.report.text.formats import TABLE_FORMATS, as_csv, as_latex, as_markdown, as_rich, as_text
from bothworlds.simulation import Run, simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


TEXT_TABLES = tuple(name for name in TITLES if name != EVIDENCE)  # of every study
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

    Examples
    --------
    :meth:`load` reads a study from disk; a run in memory gives one, too:

    >>> import bothworlds as bw
    >>> world = bw.environments.Bernoulli(n_arms=4, gap=0.3)
    >>> study = bw.simulate([bw.TsallisINF(), bw.UCB1()], world, horizon=500, replications=8, seed=1).study()
    >>> study
    Study('Bernoulli(n_arms=4, gap=0.3)': 2 policies, 1 environment, 8 replications, complete)
    >>> study.tails[["policy", "median", "cvar"]].shape
    (2, 3)
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

    @classmethod
    def of(cls, run: Run) -> Study:
        """A run of :func:`simulate` as a study of one world, in memory; :meth:`Run.study` is the same."""
        return cls(Path("run"), results_of(run))

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

        ``gaps`` of the environment are "fixed" or "not fixed", which decides how it is scored; ``optimal`` is
        the number of optimal arms, where they are fixed.
        """
        return self._frame("cells", lambda: numbers.cells(self._results))

    @property
    def final(self) -> pd.DataFrame:
        """Regret, ``clean_regret`` and loss of every replication at the last checkpoint."""
        return self._frame("final", lambda: numbers.final(self._results, self.cells))

    @property
    def curves(self) -> pd.DataFrame:
        """Mean regret over time with its 95% bootstrap band, quantiles, and the worst replication."""
        return self._frame("curves", lambda: numbers.curves(self._results, self.cells))

    @property
    def summary(self) -> pd.DataFrame:
        """Final regret of every cell: mean with its band, quantiles, worst replication, spread.

        ``ended`` counts the replications whose log ended before the horizon. ``lower_bound`` is what no
        policy can beat in the long run, where losses are iid with a known law, and ``within`` how many times
        that the mean is; see :func:`bothworlds.theory.lower_bound`.
        """
        return self._frame("summary", lambda: numbers.summary(self._results, self.cells, self.curves))

    @property
    def tails(self) -> pd.DataFrame:
        """What a mean of final regret hides; see :mod:`bothworlds.report.numbers.statistics`.

        Median and 95% quantile with their intervals, the trimmed mean, CVaR (the mean of the worst 5%), the
        worst replication and its number, the mean without it, and whether it makes the mean (``lifted``:
        with it, the mean is larger by a quarter or more). :meth:`replay` plays it again.
        """
        return self._frame("tails", lambda: numbers.tails(self._results, self.cells))

    @property
    def growth(self) -> pd.DataFrame:
        """How regret grows over the last decade of runs; see :mod:`bothworlds.report.numbers.statistics`."""
        return self._frame("growth", lambda: numbers.growth(self._results, self.cells))

    @property
    def scaling(self) -> pd.DataFrame:
        """How final regret grows from horizon to horizon, where the study has several."""
        return self._frame("scaling", lambda: numbers.scaling(self._results, self.cells))

    @property
    def pairs(self) -> pd.DataFrame:
        """Policies two by two, replication by replication; see :mod:`bothworlds.report.numbers.statistics`.

        ``difference`` is the mean of regret a − regret b; ``wins`` counts the replications in which a has
        less.
        """
        return self._frame("pairs", lambda: numbers.pairs(self._results, self.cells))

    @property
    def scores(self) -> pd.DataFrame:
        """Score of each cell, ratio to the best of its world; see :mod:`bothworlds.report.numbers.scores`."""
        return self._frame("scores", lambda: scores.scores(self.cells, self.summary))

    @property
    def ranking(self) -> pd.DataFrame:
        """Policies by the geometric mean of their ratios over environments (largest horizon), best first.

        Of a study that is not finished, only worlds that all policies have played count.
        """
        return self._frame("ranking", lambda: scores.ranking(self.cells, self.scores))

    @property
    def scorecard(self) -> pd.DataFrame:
        """Policies, best first, × environments: scores at the largest horizon."""
        return self._frame("scorecard", lambda: scores.scorecard(self).frame())

    @property
    def has_evidence(self) -> bool:
        """Whether the experiment asks for evidence."""
        return EVIDENCE in self.manifest["record"]

    def _require_evidence(self) -> None:
        if not self.has_evidence:
            raise StoreError(
                f"{self.path} holds no evidence; write `evidence = true` at the top of its experiment file, "
                "and run it into another folder with --out"
            )

    @property
    def evidence(self) -> pd.DataFrame:
        """What could be known at the checkpoints, where the experiment says ``evidence = true``.

        A row for statements that assume a stationary ``world``, and for policies that draw from
        probabilities one for ``"any"``. ``decided``: the share of replications in which, at some checkpoint,
        no more arms stood than are the best; ``median_round``: by when half of them were (NaN: less are);
        ``regret_then``: the median regret at that time; ``wrong``: the share in which a best arm was ever
        ruled out; ``coverage``: the share in which the intervals of all arms held their means at all
        checkpoints; ``width``: the mean width, in the end, of the interval of the arm that was played most;
        ``drift``: the share with a drift alarm; ``regret``: the mean in the end.
        """
        self._require_evidence()
        return self._frame("evidence", lambda: numbers.evidence(self._results, self.cells))

    @property
    def certainty(self) -> pd.DataFrame:
        """The share of replications that are decided in a stationary world, at every checkpoint."""
        self._require_evidence()
        return self._frame("certainty", lambda: numbers.certainty(self._results, self.cells))

    @property
    def timing(self) -> pd.DataFrame:
        """Seconds in kernels, and nanoseconds per round. Depends on the machine."""
        return self._frame("timing", lambda: numbers.timing(self._results, self.cells))

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
        return numbers.compare(self, other)

    def runs(self, cell: int) -> Runs:
        """All replications of a cell: rounds, and regret as replications × checkpoints."""
        number = self._cell(cell)
        if number not in self._results.runs:
            raise StoreError(
                f"{self.path} has no results of cell {number} yet; "
                f"complete the study with {resume_command(self.path)}"
            )
        return self._results.runs[number]

    def replay(self, cell: int, replication: int, *, trace: bool = True) -> Run:
        """Play one replication of a cell again, to the bit, and look at it round by round.

        Parameters
        ----------
        cell, replication:
            As in ``study.cells`` and ``study.final``: ``study.tails`` names the worst.
        trace:
            Keep the distribution, estimates, arm and loss of every round: ``run.traces[0][0]``.
        """
        number = self._cell(cell)
        which = _check.integer("replication", replication, at_least=0)
        manifest = self.manifest
        if which >= manifest["replications"]:
            raise InvalidArgumentError("replication", which, f"in 0..{manifest['replications'] - 1}")
        planned = manifest["cells"][number]
        player, world = (
            manifest["policies"][planned["policy"]],
            manifest["environments"][planned["environment"]],
        )
        return simulate(
            {player["label"]: policies.from_dict(player["settings"])},
            environments.from_dict(world["settings"]),
            horizon=planned["horizon"],
            replications=range(which, which + 1),
            seed=manifest["seed"],
            checkpoints=self.runs(number).rounds,
            trace=trace,
            tell_horizon=manifest["tell_horizon"],
        )

    def decompose(
        self,
        policy: str,
        *,
        environment: str | int | None = None,
        replications: int | None = None,
        progress: bool = True,
    ) -> Decomposition:
        """The paper's decomposition of a policy's regret in an environment: every term, over replications.

        Replications are played again, to the bit, and taken apart as the proof does; the terms are summed up
        to each round, with the mean and its 95% band, beside the lines of the appendix's table where a
        theorem covers the policy. ``plot("decomposition", policy=…)`` draws it.

        Parameters
        ----------
        policy:
            The label of one that plays an FTRL minimizer.
        environment:
            As of :meth:`plot`; by default the first whose optimal arms are known.
        replications:
            How many, from the first on; all, without it.
        progress:
            Whether to say on stderr how far it is.
        """
        panel = choose_panels(self, environment, optimal=True)[0]
        return decompose(self, panel, policy=policy, replications=replications, progress=progress)

    def probabilities(self, cell: int) -> pd.DataFrame:
        """The distribution over arms after each checkpoint of replication 0: round, arm, probability.

        Without rows where the study did not record it.
        """
        self.runs(cell)
        if cell in self._results.distributions:
            return _long(*self._results.distributions[cell])
        files = self._results.files.items()
        path = next((path for job, path in files if job.cell == cell and job.first == 0), None)
        rounds: IntArray = np.empty(0, dtype=np.int64)
        p: FloatArray = np.empty((0, 0))
        if path is not None:
            rounds, p = read_probabilities(path, cell)
        return _long(rounds, p)

    def table(self, name: str = "summary", *, format: str = "text", siunitx: bool = False) -> str:
        """A table as a string.

        Parameters
        ----------
        name:
            One of ``"scorecard"``, ``"ranking"``, ``"summary"``, ``"tails"``, ``"growth"``, ``"scaling"``,
            ``"pairs"``, ``"scores"``, ``"timing"``, ``"cells"``, where there is some ``"evidence"``; as CSV
            also ``"final"`` and ``"curves"``.
        format:
            ``"text"``, ``"markdown"`` and ``"latex"`` (a tabular with the rules of booktabs) are for
            readers, with few digits, the best of each world in bold; ``"csv"`` has all columns and digits.
        siunitx:
            For LaTeX: columns of numbers are those of the package siunitx, aligned at the decimal point.
        """
        _check.one_of("format", format, TABLE_FORMATS)
        _check.one_of("name", name, (*(ALL_TABLES if format == "csv" else TEXT_TABLES), EVIDENCE))
        if format == "csv":
            frame = getattr(self, name)
            return as_csv(frame.reset_index() if name == "scorecard" else frame)
        if format == "latex":
            return as_latex(text_table(self, name), siunitx=siunitx)
        return {"text": as_text, "markdown": as_markdown}[format](text_table(self, name))

    def rich(self, name: str = "scorecard") -> RenderableType:
        """A table for a terminal: ``rich.print(study.rich())``. Colors say no more than the marks do."""
        _check.one_of("name", name, (*TEXT_TABLES, EVIDENCE))
        return as_rich(text_table(self, name))

    def plot(
        self,
        kind: str = "regret",
        *,
        environment: str | int | None = None,
        policies: Sequence[str] | None = None,
        label: str | None = None,
        color: str | None = None,
        width: float | str | None = None,
        height: float | str | None = None,
        font: str = "sans",
        columns: int | None = None,
        names: str = "auto",
        titles: bool | None = None,
        equal: bool = False,
        ax: Axes | None = None,
        **options: Any,
    ) -> Figure:
        """A chart of the study, as it stands in papers: a matplotlib figure, drawn without a network.

        Parameters
        ----------
        kind:
            ``"regret"`` over rounds (``x``: "log", "linear"; ``y``: "linear", "log", "per-log" for
            R/log t, "per-root" for R/√(Kt); ``band``: "mean" for the 95% interval of the mean, "spread" for
            the 5% to 95% quantiles; ``bounds``: draw those of theory), ``"final"`` regret by policy (``x``),
            ``"survival"``, P(final regret > x) (``x``, ``y``), ``"pairs"`` against a ``reference``,
            ``"sweep"`` over a ``setting`` (``x``, ``y``), ``"heat"`` over two ``settings``,
            ``"probabilities"`` of a ``policy``'s arms (``x``), ``"decomposition"`` of a ``policy``'s regret
            where the optimal arms are known, by default of the best that plays an FTRL minimizer (``x``,
            ``y``, ``bounds``, ``replications``), ``"scores"``, ``"timing"`` (``x``).
        environment:
            Its label (then at the largest horizon), or the title or number, from 1, of a panel; without it,
            a panel for each.
        policies:
            Labels of those to show; all, without it.
        label:
            A template of labels, such as ``"β={beta}, C={log_barrier}"``.
        color:
            A swept setting whose values color the lines; "policy" gives each policy a color of its own. By
            default the one setting that tells all policies apart, if there is one.
        width, height:
            Inches, or text such as "8.5cm"; by default a column of text, two of them for several panels.
        font:
            "sans" or "serif".
        columns, names, titles, equal:
            Panels beside each other; where lines are named ("ends", "legend", "none"); whether panels say
            what they show, by default where there are several; whether they share their limits.
        ax:
            Axes of a figure of your own to draw into, for one environment.
        options:
            Those of the kind.

        Returns
        -------
        matplotlib.figure.Figure
            ``savefig`` writes it; a notebook shows it.
        """
        from bothworlds.report.figures import figure as figures  # noqa: PLC0415 - matplotlib takes half a second

        shown = figures.contents(
            self, kind, environment=environment, policies=policies, label=label, color=color, **options
        )
        if ax is not None:
            if len(shown) > 1:
                raise InvalidArgumentError(
                    "environment", environment, "given with ax, which has room for one", got="all"
                )
            return figures.draw_into(ax, shown[0], names, font)
        several = len(shown) > 1
        return figures.figure(
            shown,
            width=width if width is not None else figures.WIDTH * (2.1 if several else 1.4),
            height=height,
            font=font,
            columns=columns,
            names=names,
            titles=several if titles is None else titles,
            equal=equal,
        )

    def write_tables(self, folder: str | PathLike[str] | None = None, *, siunitx: bool = False) -> list[Path]:
        """Write all tables as CSV, LaTeX and Markdown, each whole or not at all.

        Parameters
        ----------
        folder:
            By default ``tables`` in the folder of the study; made if it is not there.
        siunitx:
            As of :meth:`table`, for those in LaTeX.

        Returns
        -------
        list of Path
            The files written.
        """
        target = self.path / "tables" if folder is None else Path(folder)
        files = (
            (f"{name}.{ending}", self.table(name, format=form, siunitx=siunitx).encode())
            for name in (*ALL_TABLES, *([EVIDENCE] if self.has_evidence else []))
            for ending, form in ENDINGS.items()
            if form == "csv" or name in TITLES
        )
        return write_files("tables", target, files)

    def _cell(self, cell: int) -> int:
        number, last = _check.integer("cell", cell, at_least=0), len(self.manifest["cells"]) - 1
        if number > last:
            raise InvalidArgumentError("cell", number, f"in 0..{last}", fix="study.cells lists them")
        return number

    def _repr_html_(self) -> str:
        card = text_table(self, "scorecard")
        return html_table(card.header, card.rows, [card.title, *card.notes])

    def __repr__(self) -> str:
        manifest = self.manifest
        share = "complete" if self.complete else f"not complete: {self.status}"
        return (
            f"Study({self.title!r}: {counted(len(manifest['policies']), 'policy')}, "
            f"{counted(len(manifest['environments']), 'environment')}, "
            f"{counted(manifest['replications'], 'replication')}, {share})"
        )


def _long(rounds: IntArray, p: FloatArray) -> pd.DataFrame:
    """Distributions, rounds × arms, as round, arm, probability."""
    return pd.DataFrame(
        {
            "round": np.repeat(rounds, p.shape[1]),
            "arm": np.tile(np.arange(p.shape[1]), rounds.size),
            "probability": p.ravel(),
        }
    )
