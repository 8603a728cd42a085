"""``Run``: the results of a simulation, as numbers, a table and a chart."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bothworlds._jit import FloatArray, IntArray
from bothworlds._words import counted, html_table
from bothworlds.environments import Environment
from bothworlds.policies.base import Policy
from bothworlds.simulation.engine import CLEAN_REGRET, LOSS, REGRET
from bothworlds.simulation.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Run:
    """Regret of policies in one environment.

    Attributes
    ----------
    labels, policies:
        The policies, in the order of the first axis of ``regret``.
    checkpoints:
        The rounds of the last axis of ``regret``.
    regret, clean_regret, losses:
        Policies × replications × checkpoints: regret as ``environment.regret_kind`` says, the same in the
        uncorrupted world (equal where nothing is corrupted), and the cumulative losses suffered.
    traces:
        One tuple of :class:`Trace` per policy, if asked for.
    probabilities:
        Policies × replications × checkpoints × arms, if asked for: the distribution after each checkpoint.
    numbers, tell_horizon:
        The replications of the series that were played (all from 0, if None), and whether policies were told
        the horizon.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Bernoulli(n_arms=4, gap=0.3)
    >>> run = bw.simulate([bw.TsallisINF(), bw.UCB1()], world, horizon=500, replications=8, seed=1)
    >>> run
    Run(2 policies, Bernoulli(n_arms=4, gap=0.3), horizon=500, replications=8, seed=1)
    >>> run.regret.shape == (2, 8, len(run.checkpoints))
    True
    """

    labels: tuple[str, ...]
    policies: tuple[Policy, ...]
    environment: Environment
    horizon: int
    seed: int
    checkpoints: IntArray
    measured: FloatArray
    traces: tuple[tuple[Trace, ...], ...] = ()
    probabilities: FloatArray | None = None
    numbers: range | None = None
    tell_horizon: bool = True

    @property
    def regret(self) -> FloatArray:
        """Policies × replications × checkpoints."""
        return self.measured[..., REGRET]

    @property
    def clean_regret(self) -> FloatArray:
        """Policies × replications × checkpoints, without the corruption."""
        return self.measured[..., CLEAN_REGRET]

    @property
    def losses(self) -> FloatArray:
        """Policies × replications × checkpoints."""
        return self.measured[..., LOSS]

    @property
    def replications(self) -> int:
        """How many independent runs of each policy."""
        return int(self.measured.shape[1])

    def _rows(self) -> list[tuple[str, float, float, float, float]]:
        """Label, mean final regret, two standard errors, median and largest, best policy first.

        NaN where a log ended before the horizon; such policies come last.
        """
        rows = []
        for label, final in zip(self.labels, self.regret[:, :, -1], strict=True):
            n = final.size
            error = 2.0 * float(np.std(final, ddof=1)) / np.sqrt(n) if n > 1 else float("nan")
            rows.append((label, float(final.mean()), error, float(np.median(final)), float(final.max())))
        return sorted(rows, key=lambda row: (np.isnan(row[1]), row[1]))

    @property
    def _title(self) -> str:
        return (
            f"Regret after {counted(self.horizon, 'round')} in {self.environment!r}, "
            f"{counted(self.replications, 'replication')}"
        )

    def table(self) -> str:
        """Final regret by policy as text, best first: mean ± two standard errors, median, largest."""
        width = max(len(label) for label in ("policy", *self.labels))
        lines = [
            self._title,
            f"{'policy':<{width}}  {'mean':>10}  {'± 2 SE':>8}  {'median':>10}  {'largest':>10}",
        ]
        for label, mean, error, median, largest in self._rows():
            lines.append(f"{label:<{width}}  {mean:>10.1f}  {error:>8.1f}  {median:>10.1f}  {largest:>10.1f}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(label, *(f"{number:,.1f}" for number in numbers)) for label, *numbers in self._rows()]
        return html_table(("policy", "mean", "± 2 SE", "median", "largest"), rows, [self._title])

    def study(self) -> Any:
        """This run as a :class:`Study`: the same tables, statistics and charts. Needs the extra ``lab``.

        Examples
        --------
        >>> import bothworlds as bw
        >>> world = bw.environments.Bernoulli(n_arms=4, gap=0.3)
        >>> run = bw.simulate([bw.TsallisINF(), bw.UCB1()], world, horizon=500, replications=8, seed=1)
        >>> run.study().growth[["policy", "law"]].shape
        (2, 2)
        """
        # the lab stands above the engine, which does not import it: loaded by name, for a run that asks
        try:
            lab = importlib.import_module("bothworlds.report.study")
        except ImportError as error:
            raise ImportError(
                "frames and charts need the extra 'lab': pip install 'bothworlds[lab]'"
            ) from error
        return lab.Study.of(self)

    @property
    def curves(self) -> DataFrame:
        """Mean regret over time with its 95% band, quantiles, the worst: as :attr:`Study.curves`."""
        found: DataFrame = self.study().curves
        return found

    @property
    def summary(self) -> DataFrame:
        """Final regret of every policy: as :attr:`Study.summary`."""
        found: DataFrame = self.study().summary
        return found

    @property
    def final(self) -> DataFrame:
        """Regret and loss of every replication at the last checkpoint: as :attr:`Study.final`."""
        found: DataFrame = self.study().final
        return found

    def plot(self, kind: str = "regret", **options: Any) -> Figure:
        """A chart of the run as a matplotlib figure, drawn without a network: as :meth:`Study.plot`.

        Examples
        --------
        >>> import bothworlds as bw
        >>> world = bw.environments.Bernoulli(n_arms=4, gap=0.3)
        >>> run = bw.simulate([bw.TsallisINF(), bw.UCB1()], world, horizon=500, replications=8, seed=1)
        >>> figure = run.plot(y="per-log", width="8.5cm", font="serif")
        >>> run.plot("survival").axes[0].get_ylabel()
        'P(R > x)'
        """
        figure: Figure = self.study().plot(kind, **options)
        return figure

    def __repr__(self) -> str:
        return (
            f"Run({counted(len(self.labels), 'policy')}, {self.environment!r}, horizon={self.horizon}, "
            f"replications={self.replications}, seed={self.seed})"
        )
