"""The outcome of a simulation: numbers first, then a table and a chart."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray
from bothworlds._words import counted
from bothworlds.environments import Environment
from bothworlds.policies.base import Policy
from bothworlds.simulation.engine import CLEAN_REGRET, LOSS, REGRET
from bothworlds.simulation.trace import Trace


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

    def summary(self) -> list[tuple[str, float, float, float, float]]:
        """Label, mean final regret, two standard errors, median and largest, best policy first.

        NaN where a log ended before the horizon; such policies come last.
        """
        rows = []
        for label, final in zip(self.labels, self.regret[:, :, -1], strict=True):
            n = final.size
            error = 2.0 * float(np.std(final, ddof=1)) / np.sqrt(n) if n > 1 else float("nan")
            rows.append((label, float(final.mean()), error, float(np.median(final)), float(final.max())))
        return sorted(rows, key=lambda row: (np.isnan(row[1]), row[1]))

    def table(self) -> str:
        """The summary as text."""
        width = max(len(label) for label in ("policy", *self.labels))
        lines = [
            f"Regret after {counted(self.horizon, 'round')} in {self.environment!r}, "
            f"{counted(self.replications, 'replication')}",
            f"{'policy':<{width}}  {'mean':>10}  {'± 2 SE':>8}  {'median':>10}  {'largest':>10}",
        ]
        for label, mean, error, median, largest in self.summary():
            lines.append(f"{label:<{width}}  {mean:>10.1f}  {error:>8.1f}  {median:>10.1f}  {largest:>10.1f}")
        return "\n".join(lines)

    def curves(self) -> list[dict[str, Any]]:
        """Mean regret with a band of two standard errors, one row per policy and checkpoint."""
        rows = []
        for label, values in zip(self.labels, self.regret, strict=True):
            mean = values.mean(axis=0)
            error = 2.0 * values.std(axis=0, ddof=min(1, len(values) - 1)) / np.sqrt(len(values))
            for t, m, e in zip(self.checkpoints.tolist(), mean.tolist(), error.tolist(), strict=True):
                rows.append({"policy": label, "round": t, "regret": m, "low": m - e, "high": m + e})
        return rows

    def plot(self, path: str | PathLike[str] | None = None, *, log: bool = False) -> Any:
        """Regret over time as an Altair chart; written to ``path`` (.svg, .png, .html) if given.

        Needs the extra ``plot``: pip install 'bothworlds[plot]'.
        """
        alt = _check.extra("altair", "plot", "charts")
        scale = alt.Scale(type="log") if log else alt.Undefined
        base = alt.Chart(alt.InlineData(values=self.curves())).encode(
            x=alt.X("round:Q", title="round", scale=scale, axis=alt.Axis(format="~s")),
            color=alt.Color(
                "policy:N", title=None, sort=list(self.labels), legend=alt.Legend(labelLimit=400)
            ),
        )
        band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title="regret"), y2="high:Q")
        chart = (band + base.mark_line().encode(y="regret:Q")).properties(
            width=480, height=300, title=repr(self.environment)
        )
        if path is not None:
            chart.save(str(path))
        return chart

    def __repr__(self) -> str:
        return (
            f"Run({counted(len(self.labels), 'policy')}, {self.environment!r}, horizon={self.horizon}, "
            f"replications={self.replications}, seed={self.seed})"
        )
