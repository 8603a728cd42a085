"""``bw.inference.evaluate``: what another policy would have earned, from a log of decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, advise_numba
from bothworlds._words import counted, html_table
from bothworlds.inference.auditing import Audit, Auditor, room_for
from bothworlds.inference.engine import N_BETS, bounds, logs_of
from bothworlds.inference.estimates import (
    GAMMA,
    MOST,
    N_TOTALS,
    W2,
    WR,
    Estimate,
    N,
    Tally,
    W,
    adaptive,
    new_tally,
    tally_up,
)
from bothworlds.inference.intervals import Interval, Scale
from bothworlds.inference.log import LogReader
from bothworlds.inference.targets import Targets

LONG = 1_000_000  # rows: minutes, as plain Python


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What a policy is worth, from a log of decisions that another one made; see :func:`evaluate`.

    Attributes
    ----------
    interval:
        For (1/n)·Σ π_i·μ_i over the decisions of the log, in any world and at any time: the log may be looked
        at after every decision.
    ipw, snipw, aipw:
        Point estimates: weighted by 1/p, the same self-normalized, and corrected by the means of the arms so
        far.
    adaptive:
        The adaptively weighted estimate with an approximate interval, for one look at a time that was fixed
        before; None where the log does not have the probabilities of all arms.
    decisions, answers:
        How many there were.
    effective_size:
        (Σ w)²/Σ w²: so many decisions of the policy itself would tell as much, about.
    largest_weight:
        The largest π(a)/p(a).
    audit:
        Whether actions were drawn with the propensities of the log: if not, nothing above holds.
    """

    interval: Interval
    ipw: float
    snipw: float
    aipw: float
    adaptive: Estimate | None
    decisions: int
    answers: int
    effective_size: float
    largest_weight: float
    audit: Audit

    def _rows(self) -> list[tuple[str, str]]:
        chance = f"{1.0 - self.interval.error:.4g}"
        if self.adaptive is None:
            adaptive_text = "–: without columns propensity_<arm>"
        else:
            adaptive_text = f"{self.adaptive}, approximate, for one look only"
        return [
            ("value", f"{self.interval}, whatever the world, at any time with probability {chance}"),
            ("ipw", f"{self.ipw:.6g}"),
            ("snipw", f"{self.snipw:.6g}"),
            ("aipw", f"{self.aipw:.6g}"),
            ("adaptive", adaptive_text),
            ("decisions", f"{self.decisions:,}, {counted(self.answers, 'answer')}"),
            ("effective size", f"{self.effective_size:,.0f}"),
            ("largest weight", f"{self.largest_weight:.4g}"),
            ("audit", str(self.audit)),
        ]

    def table(self) -> str:
        """All of it as text."""
        return "\n".join(f"{name:<15} {text}" for name, text in self._rows())

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<Evaluation: {self.interval}, {counted(self.decisions, 'decision')}>"

    def _repr_html_(self) -> str:
        return html_table(("", "estimate"), self._rows())

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON."""
        parts = {name: vars(getattr(self, name)) for name in ("interval", "audit")}
        return {
            **{name: _plain(value) for name, value in vars(self).items()},
            **{name: {key: _plain(value) for key, value in part.items()} for name, part in parts.items()},
            "adaptive": None if self.adaptive is None else dict(vars(self.adaptive)),
        }


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def evaluate(
    log: Any,
    policy: Any,
    *,
    error: float = 0.05,
    low: float = 0.0,
    high: float = 1.0,
    arms: Sequence[Any] | None = None,
    missing: str | None = None,
) -> Evaluation:
    """What would another policy have earned on the decisions of a log?

    The interval holds in any world, at all times at once: for the mean of π·μ over the decisions of the log,
    where the means μ may move, and the logger may learn. A policy that learns is evaluated along the history
    that the log has, not as if it had made its own (that is what :class:`bothworlds.environments.Logged` is
    for).

    Parameters
    ----------
    log:
        A table with one row per decision, in their order, and with the columns ``action`` (0, 1, …, or
        labels), ``reward`` and ``propensity``, the probability with which the action was taken; if there are
        columns ``propensity_<arm>`` for all arms they are used, too. It may be a mapping of arrays, a
        DataFrame, an Arrow table or dataset, a path to a Parquet, CSV or JSON lines file, which is read in
        pieces, a :class:`~bothworlds.environments.Logged`, or the :class:`~bothworlds.Trace` of a simulation.
    policy:
        Probabilities of the arms: an array, or a mapping from labels, in which arms that are left out have
        none; an array of rows × arms; a function of the :class:`History` before a decision that gives an
        array; the label of an arm, for always that one; or ``"logged"``, for the policy that made the log.
    error:
        The probability that the interval is ever wrong.
    low, high:
        The range of rewards.
    arms:
        The labels of all arms, in the order of the array; None: those that are found.
    missing:
        What to do about rows without reward. None: refuse them. ``"outstanding"``: count them as decisions,
        which is safe whatever their answers would have been. ``"ignorable"``: leave them out, which is right
        if whether an answer comes depends neither on it nor on the action.

    Examples
    --------
    >>> import bothworlds as bw
    >>> log = {
    ...     "action": ["green", "red", "green", "red"] * 500,
    ...     "reward": [1, 0, 1, 1] * 500,
    ...     "propensity": [0.5] * 2000,
    ... }
    >>> print(bw.inference.evaluate(log, {"green": 0.9, "red": 0.1}))
    value           0.9500 [0.8835, 0.9566], whatever the world, at any time with probability 0.95
    ipw             0.95
    snipw           0.95
    aipw            0.950225
    adaptive        –: without columns propensity_<arm>
    decisions       2,000, 2,000 answers
    effective size  1,220
    largest weight  1.8
    audit           actions agree with propensities (log e 0.0, fails at 6.9)
    """
    return evaluate_several(log, {"": policy}, error=error, low=low, high=high, arms=arms, missing=missing)[
        ""
    ]


def evaluate_several(
    log: Any,
    policies: Mapping[Any, Any],
    *,
    error: float = 0.05,
    low: float = 0.0,
    high: float = 1.0,
    arms: Sequence[Any] | None = None,
    missing: str | None = None,
) -> dict[Any, Evaluation]:
    """:func:`evaluate` for several fixed policies, or for one of any kind, in one pass over the log."""
    error = _check.number("error", error, above=0.0, below=1.0)
    reader = LogReader(log, low=low, high=high, arms=arms, missing=missing)
    targets = Targets(policies, reader)
    auditor, decisions = Auditor(), 0
    tally = new_tally(len(policies), 0)
    for batch in reader:
        if decisions + batch.actions.size > LONG:
            advise_numba()
        rows = targets.of(batch, decisions)
        n_arms = max(rows.shape[1], len(reader.labels))
        tally = tally._replace(counts=room_for(tally.counts, n_arms), rewards=room_for(tally.rewards, n_arms))
        distributions = _widened(batch.distributions, rows.shape[1])
        tally_up(tally, batch.actions, batch.rewards, batch.propensities, distributions, rows, targets.moving)
        auditor.take_in(batch)
        decisions += batch.actions.size
    targets.finish(decisions)
    audit = auditor.result(reader.labels)
    return {
        name: _evaluation(tally, m, decisions, error, reader.scale, audit) for m, name in enumerate(policies)
    }


def _widened(table: FloatArray, n_arms: int) -> FloatArray:
    """With columns of 0 for arms that the table does not have."""
    return np.ascontiguousarray(np.pad(table, ((0, 0), (0, max(0, n_arms - table.shape[1])))))


def _evaluation(tally: Tally, m: int, decisions: int, error: float, scale: Scale, audit: Audit) -> Evaluation:
    totals = tally.totals[m * N_TOTALS : (m + 1) * N_TOTALS]
    at = slice(2 * N_BETS * m, 2 * N_BETS * (m + 1))
    low, above = bounds(logs_of(tally.growth[at], tally.octaves[at]), decisions, error / 2)
    high = 1.0 - float(above)
    answers, weights = float(totals[N]), float(totals[W])
    snipw = float(totals[WR]) / weights if weights else math.nan
    shown = min(max(snipw, float(low)), high) if low <= high else snipw
    about = adaptive(totals, error)

    def value(unit: float) -> float:
        return scale.low + scale.span * unit

    def mean(total: float) -> float:
        return value(float(total) / answers) if answers else math.nan

    return Evaluation(
        interval=scale.mean(float(low), shown, high, error, "any"),
        ipw=mean(totals[WR]),
        snipw=value(snipw),
        aipw=mean(totals[GAMMA]),
        adaptive=None
        if about is None
        else Estimate(value(about.value), value(about.low), value(about.high), error),
        decisions=decisions,
        answers=int(answers),
        effective_size=weights * weights / float(totals[W2]) if weights else 0.0,
        largest_weight=float(totals[MOST]),
        audit=audit,
    )
