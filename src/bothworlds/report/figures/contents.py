"""What a panel of a figure shows, in numbers: lines, points with ranges, a heat map or a stack.

Every kind of panel is a function of a study that returns one of the four. ``draw`` puts them on axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds._words import counted
from bothworlds.errors import InvalidArgumentError
from bothworlds.experiments.spec.variants import SYMBOLS
from bothworlds.report.decomposition import TERMS, accountable_labels, decompose, not_accountable
from bothworlds.report.numbers import rows as chart_rows
from bothworlds.report.numbers import swept, upper_bounds
from bothworlds.report.numbers.rows import AxisScale, Panel, by_cell
from bothworlds.report.numbers.scores import ratio_names, scorecard
from bothworlds.report.numbers.statistics import evenly
from bothworlds.report.styles import Legend, LineStyle, require_label
from bothworlds.report.text import format_number

if TYPE_CHECKING:
    from bothworlds.report.study import Study

REGRET_SCALES = {
    "linear": "regret",
    "log": "regret",
    "per-log": "regret / log t",
    "per-root": "regret / √(Kt)",
}
"""How regret is shown, and the name of the axis: under its own law, divided by it, a curve is level."""
BANDS = {"mean": ("low", "high"), "spread": ("q05", "q95")}
NOT_SWEPT = "nothing; a list of values in the experiment file is a sweep"
POINTS = 200  # of a line, at most: more than a column of print can show


@dataclass(frozen=True)
class Line:
    """A line, with a band where ``low`` and ``high`` are finite; ``bound``: it is of theory."""

    label: str
    style: LineStyle
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray
    bound: bool = False


@dataclass(frozen=True)
class Lines:
    """Curves over rounds, a swept setting or regret."""

    caption: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_scale: AxisScale = "log"
    y_scale: AxisScale = "linear"
    ticks: tuple[float, ...] = ()
    steps: bool = False
    zero: bool = True
    title: str = ""
    table: str = ""
    """The same numbers as a LaTeX table, where that is asked for with the figure."""


@dataclass(frozen=True)
class PointRange:
    """A row: a mark, lines to both sides of it, and perhaps a box and dots."""

    label: str
    style: LineStyle
    middle: float
    line: tuple[float, float]
    box: tuple[float, float] | None = None
    dots: FloatArray | None = None


@dataclass(frozen=True)
class PointRanges:
    """One row per policy, across a common axis; a rule at zero if ``zero``."""

    caption: str
    x_label: str
    rows: tuple[PointRange, ...]
    x_scale: AxisScale = "linear"
    zero: bool = False
    title: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A number per place, with its shade from 0 (best) to 1; NaN is left empty."""

    caption: str
    x_label: str
    y_label: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: FloatArray
    shades: FloatArray
    scale: tuple[str, tuple[float, ...], tuple[str, ...]]
    """The name of the scale of shades, where it has ticks, and what they say."""
    title: str = ""


@dataclass(frozen=True)
class Stack:
    """Shares that add up, over rounds."""

    caption: str
    y_label: str
    x: FloatArray
    names: tuple[str, ...]
    parts: FloatArray
    """Parts × rounds."""
    x_scale: AxisScale = "log"
    whole: bool = False
    """Whether the parts add up to 1."""
    title: str = ""


Contents = Lines | PointRanges | HeatMap | Stack


# --- lines ----------------------------------------------------------------------------------------------


def regret(
    study: Study,
    panel: Panel,
    legend: Legend,
    *,
    x: AxisScale | None = None,
    y: str = "linear",
    band: str = "mean",
    bounds: bool = False,
) -> Lines:
    """Mean regret over rounds, with a band; ``y`` is one of :data:`REGRET_SCALES`.

    Rounds are on a linear scale beside regret on a linear scale, and on a log scale beside any other.
    """
    _check.one_of("y", y, tuple(REGRET_SCALES))
    x = x or ("linear" if y == "linear" else "log")
    _check.one_of("x", x, ("linear", "log"))
    _check.one_of("band", band, tuple(BANDS))
    low, high = BANDS[band]
    n_arms = int(study.manifest["cells"][next(iter(panel.cells.values()))]["n_arms"])
    lines = []
    found = chart_rows.curve_rows(by_cell(study.curves), panel, study.policies, points=POINTS)
    for policy, label in legend.labels.items():
        here = [row for row in found if row["policy"] == policy]
        rounds = _column(here, "round")
        unit, kept = regret_unit_of(y, rounds, n_arms)
        values = [(_column(here, name) / unit)[kept] for name in ("mean", low, high)]
        if kept.any():
            lines.append(Line(label, legend.styles[policy], rounds[kept], *values))
    if bounds:
        lines += _bounds(study, panel, legend, y, n_arms)
    return Lines(
        f"Regret in {panel.title}",
        "round",
        REGRET_SCALES[y],
        tuple(lines),
        x_scale=x,
        y_scale="log" if y == "log" else "linear",
    )


def regret_unit_of(y: str, rounds: FloatArray, n_arms: int) -> tuple[FloatArray, Any]:
    """What regret is divided by at each round, and which rounds have something to divide by (log 1 is 0).

    >>> unit, kept = regret_unit_of("per-root", np.array([1.0, 25.0]), 4)
    >>> unit.tolist(), kept.tolist()
    ([2.0, 10.0], [True, True])
    """
    everywhere = np.ones(rounds.size, dtype=bool)
    if y == "per-log":
        return np.log(np.maximum(rounds, 2.0)), rounds >= 2
    if y == "per-root":
        return np.sqrt(n_arms * rounds), everywhere
    return np.ones(rounds.size), everywhere


def _bounds(study: Study, panel: Panel, legend: Legend, y: str, n_arms: int) -> list[Line]:
    lines = []
    rows = chart_rows.bound_rows(upper_bounds(study, cells=panel.cells.values()), panel)
    for policy, label in legend.labels.items():
        mine = [row for row in rows if row["policy"] == policy]
        for name in dict.fromkeys(row["name"] for row in mine):
            here = [row for row in mine if row["name"] == name]
            rounds = _column(here, "round")
            unit, kept = regret_unit_of(y, rounds, n_arms)
            values = (_column(here, "bound") / unit)[kept]
            nothing = np.full(values.size, np.nan)
            kind = name.partition(":")[0].removesuffix(" with constant 1")  # the source is long
            text = f"{label}: {kind}"
            lines.append(
                Line(text, legend.styles[policy], rounds[kept], values, nothing, nothing, bound=True)
            )
    return [*lines, *_lower_bound(study, panel, y, n_arms)]


def _lower_bound(study: Study, panel: Panel, y: str, n_arms: int) -> list[Line]:
    """What no policy can beat in the long run, constant·log t, where losses are iid with a known law."""
    ends = study.summary.set_index("cell")["lower_bound"]
    found = [ends[cell] for cell in panel.cells.values() if cell in ends.index and ends[cell] > 0.0]
    if not found or panel.horizon < 2:
        return []
    rounds = np.geomspace(2.0, panel.horizon, 40)
    unit, _ = regret_unit_of(y, rounds, n_arms)
    values = float(found[0]) * np.log(rounds) / math.log(panel.horizon) / unit
    nothing = np.full(rounds.size, np.nan)
    return [Line("lower bound", LineStyle(6), rounds, values, nothing, nothing, bound=True)]


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> FloatArray:
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)


def decomposition(
    study: Study,
    panel: Panel,
    legend: Legend,
    *,
    policy: str | None = None,
    x: AxisScale = "log",
    y: AxisScale = "linear",
    bounds: bool = False,
    replications: int | None = None,
) -> Lines:
    """The terms of a policy's regret, mean and band over replications; the appendix's bounds dotted."""
    _check.one_of("x", x, ("linear", "log"))
    _check.one_of("y", y, ("linear", "log"))
    if policy is None:
        able = accountable_labels(study)
        ranked = [name for name in study.ranking["policy"] if name in legend and name in able]
        if not ranked:
            raise not_accountable(study, f"none of that kind among {', '.join(legend.labels)}")
        policy = ranked[0]
    taken = decompose(study, panel, policy=policy, replications=replications)
    rounds = taken.rounds.astype(np.float64)
    nothing = np.full(rounds.size, np.nan)
    lines = []
    for number, (term, meaning) in enumerate(TERMS.items()):
        style, label = LineStyle(6 if term == "Reg" else number), f"{term}: {meaning}"
        lines.append(Line(label, style, rounds, taken.mean[term], taken.low[term], taken.high[term]))
        if bounds and taken.bounds and (taken.bounds[term] > 0.0).any():
            values = taken.bounds[term]
            lines.append(Line(f"{term}: bound", style, rounds, values, nothing, nothing, bound=True))
    return Lines(
        f"Terms of the estimated regret of {taken.policy} in {taken.environment}, mean of "
        f"{counted(taken.replications, 'replication')}",
        "round",
        "estimated regret",
        tuple(lines),
        x_scale=x,
        y_scale=y,
        table=taken.table(format="latex"),
    )


def survival(
    study: Study, panel: Panel, legend: Legend, *, x: AxisScale = "linear", y: AxisScale = "log"
) -> Lines:
    """The share of replications whose final regret is above x: P(R > x), the tail that a mean hides."""
    _check.one_of("x", x, ("linear", "log"))
    _check.one_of("y", y, ("linear", "log"))
    lines = []
    final = by_cell(study.final)
    for policy, label in legend.labels.items():
        values = _final_regret(final, panel, policy)
        if values.size:
            points, share = survival_of(values)
            nothing = np.full(points.size, np.nan)
            lines.append(Line(label, legend.styles[policy], points, share, nothing, nothing))
    if lines and not any(line.y.any() for line in lines):  # nothing is above any of them
        most = max(_final_regret(final, panel, policy).size for policy in legend.labels)
        raise InvalidArgumentError(
            "replications",
            most,
            f"two or more, of different regret, for the survival curves of “{panel.title}”",
            fix="play more replications, or draw “final”",
        )
    return Lines(
        f"Share of replications with more regret than x in {panel.title}",
        "final regret x",
        "P(R > x)",
        tuple(lines),
        x_scale=x,
        y_scale=y,
        steps=True,
        zero=False,
    )


def survival_of(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where the share of values above x changes, and what it is from there on, as a step after each point.

    >>> points, share = survival_of(np.array([3.0, 1.0, 3.0, 8.0]))
    >>> points.tolist(), share.tolist()
    ([1.0, 3.0, 8.0], [0.75, 0.25, 0.0])
    """
    points, counts = np.unique(values, return_counts=True)
    share: FloatArray = 1.0 - np.cumsum(counts) / values.size
    share[-1] = 0.0
    return points, share


def _final_regret(final: Mapping[int, chart_rows.CellColumns], panel: Panel, policy: str) -> FloatArray:
    cell = panel.cells.get(policy)
    if cell is None or cell not in final:
        return np.empty(0)
    values: FloatArray = final[cell]["regret"]
    return np.sort(values[~np.isnan(values)])


def sweep(
    study: Study,
    panel: Panel,
    legend: Legend,
    *,
    setting: str | None = None,
    x: AxisScale | None = None,
    y: AxisScale = "linear",
) -> Lines:
    """Final regret against a swept setting of the policies or of the environment of a world.

    ``setting`` is a column of ``study.summary``, "horizon", or the last word of one; by default the first
    that this world has.
    """
    _check.one_of("y", y, ("linear", "log"))
    found = chart_rows.find_sweeps(study.summary, study.manifest)
    known = [item.setting for item in found]
    fits = [item for item in found if setting in (None, item.setting, item.setting.rpartition(".")[2])]
    views = [(item, view) for item in fits for view in _views_of(item, panel)]
    if not views:
        raise InvalidArgumentError(
            "setting",
            setting,
            f"a swept number that “{panel.title}” has",
            got="none" if setting is None else "",
            fix=f"swept in this study: {', '.join(known) or NOT_SWEPT}",
        )
    item, view = views[0]
    here = [row for row in item.rows if row["view"] == view]
    lines = []
    for number, series in enumerate(item.series()):
        rows = [row for row in here if row["series"] == series]
        if not rows or (series in study.policies and series not in legend):
            continue
        style = legend.styles.get(series, LineStyle(number))
        value, mean, low, high = (_column(rows, name) for name in ("value", "mean", "low", "high"))
        lines.append(Line(legend.labels.get(series, series), style, value, mean, low, high))
    return Lines(
        f"Final regret by {symbol(item.setting)} in {view}",
        symbol(item.setting),
        "final regret",
        tuple(lines),
        x_scale=x or item.scale(),
        y_scale=y,
        ticks=tuple(sorted({row["value"] for row in here})),
    )


def symbol(setting: str) -> str:
    """What a setting is called on an axis: its symbol, where it has one."""
    name = setting.rpartition(".")[2]
    return SYMBOLS.get(name, name)


def _views_of(item: chart_rows.Sweep, panel: Panel) -> list[str]:
    """The views of a sweep that show this world; any view, of a sweep over environments."""
    wanted = {f"{panel.environment}, T = {panel.horizon:,}", panel.environment}
    views = item.views()
    if item.setting.startswith("environment."):
        return [view for view in views if view.endswith(f"T = {panel.horizon:,}")]
    return [view for view in views if view in wanted]


# --- points with ranges ---------------------------------------------------------------------------------


def final(study: Study, panel: Panel, legend: Legend, *, x: AxisScale = "linear") -> PointRanges:
    """Final regret: a dot per replication, a box between quartiles, lines to the 5% and 95% quantiles."""
    _check.one_of("x", x, ("linear", "log"))
    values = by_cell(study.final)
    rows = []
    for policy, label in legend.labels.items():
        regrets = _final_regret(values, panel, policy)
        if regrets.size:
            q05, q25, median, q75, q95 = np.quantile(regrets, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
            dots = regrets[evenly(regrets.size, POINTS)]
            rows.append(PointRange(label, legend.styles[policy], median, (q05, q95), (q25, q75), dots))
    return PointRanges(f"Final regret in {panel.title}", "final regret", tuple(rows), x_scale=x)


def pairs(study: Study, panel: Panel, legend: Legend, *, reference: str | None = None) -> PointRanges:
    """Differences of final regret to a reference policy, by default the best of the study, with intervals."""
    against = reference if reference is not None else best_first(study, panel, study.policies)[0]
    require_label(study, "reference", against)
    here = chart_rows.by_world(study.pairs).get((panel.environment, panel.horizon))
    found = [] if here is None else chart_rows.pair_rows(here, reference=against)
    rows = {row["policy"]: row for row in found}
    return PointRanges(
        f"Final regret minus that of {against} in {panel.title}",
        "regret minus that of the reference",
        tuple(
            PointRange(label, legend.styles[p], rows[p]["difference"], (rows[p]["low"], rows[p]["high"]))
            for p, label in legend.labels.items()
            if p in rows
        ),
        zero=True,
    )


def best_first(study: Study, panel: Panel, names: Container[str]) -> list[str]:
    """The policies among these, best first, those without results in this world after the others."""
    found = [name for name in study.ranking["policy"] if name in names and name in panel.cells]
    played = set(study.summary["cell"])
    return sorted(found, key=lambda name: panel.cells[name] not in played)


def timing(study: Study, panel: Panel, legend: Legend, *, x: AxisScale = "log") -> PointRanges:
    """Nanoseconds per round of every policy in a world."""
    _check.one_of("x", x, ("linear", "log"))
    costs = study.timing.set_index("cell")["nanoseconds_per_round"].to_dict()
    if not any(cost > 0.0 for cost in costs.values()):
        raise InvalidArgumentError(
            "kind", "timing", "measured by the study", got="no times", fix="a run in memory measures none"
        )
    rows = []
    for policy, label in legend.labels.items():
        cost = costs.get(panel.cells.get(policy), math.nan)
        if not math.isnan(cost):
            rows.append(PointRange(label, legend.styles[policy], cost, (cost, cost)))
    return PointRanges(f"Time per round in {panel.title}", "nanoseconds per round", tuple(rows), x_scale=x)


# --- heat maps ------------------------------------------------------------------------------------------


def scores(study: Study, panel: Panel, legend: Legend) -> HeatMap:
    """The scorecard: policies × worlds, best first, shaded by the ratio to the best of each world."""
    card = scorecard(study)
    policies = [policy for policy in card.policies if policy in legend]
    values = np.full((len(policies), len(card.environments)), np.nan)
    shades = values.copy()
    steps = ratio_names()
    for i, policy in enumerate(policies):
        for j, environment in enumerate(card.environments):
            entry = card.entries.get((policy, environment))
            if entry is not None and entry.step is not None:
                values[i, j], shades[i, j] = entry.score, entry.step / (len(steps) - 1)
    shown = (0, len(steps) // 2, len(steps) - 1)
    ticks = tuple(i / (len(steps) - 1) for i in shown)
    scale = ("ratio to the best", ticks, tuple(steps[i] for i in shown))
    rows = tuple(legend.labels[policy] for policy in policies)
    caption = f"Scores after {card.rounds}"
    return HeatMap(caption, "", "", tuple(card.environments), rows, values, shades, scale)


def heat(study: Study, panel: Panel, legend: Legend, *, settings: Sequence[str] | None = None) -> HeatMap:
    """Final regret of a world by two swept settings, across and down; shades are on a log scale.

    ``settings`` are columns of ``study.summary``, or their last words; by default the first two that vary.
    Where several policies share a place, it shows the smallest regret.
    """
    summary = study.summary
    columns = [*swept(summary), "horizon"]
    summary = summary[summary["policy"].isin(list(legend.labels)) & summary["mean"].notna()]
    across, down = _two_settings(summary, columns, settings, panel)
    here = summary
    if "environment" not in across + down:
        here = here[here["environment"] == panel.environment]
    if "horizon" not in (across, down):
        here = here[here["horizon"] == panel.horizon]
    table = here.pivot_table(index=down, columns=across, values="mean", aggfunc="min").sort_index(
        ascending=False
    )
    values = table.to_numpy(dtype=np.float64)
    if not values.size:
        raise InvalidArgumentError(
            "environment",
            panel.title,
            "one in which a policy with these settings has finished",
            got=f"“{panel.title}”: no policy has finished in it",
            fix="run the rest of the study, or choose another world",
        )
    positive = np.maximum(values, 1.0)  # regret of less than one round is none
    logs = np.log(positive)
    low, high = float(np.nanmin(logs)), float(np.nanmax(logs))
    ticks = [t for t in log_ticks(math.exp(low), math.exp(high)) if low <= math.log(t) <= high]
    span = (high - low) or 1.0
    scale = (
        "final regret",
        tuple((math.log(t) - low) / span for t in ticks),
        tuple(format_number(t) for t in ticks),
    )
    return HeatMap(
        f"Final regret in {panel.title}",
        symbol(across),
        symbol(down),
        tuple(f"{value:g}" for value in table.columns),
        tuple(f"{value:g}" for value in table.index),
        values,
        (logs - low) / span,
        scale,
    )


def _two_settings(
    summary: pd.DataFrame, columns: Sequence[str], asked: Sequence[str] | None, panel: Panel
) -> tuple[str, str]:
    """The columns across and down: numbers, of which there are several."""
    varying = [
        name for name in columns if pd.to_numeric(summary[name], errors="coerce").dropna().nunique() > 1
    ]
    if asked is None:
        found = varying[:2]
    else:
        named = {word: name for name in varying for word in (name, name.rpartition(".")[2])}
        found = [named[word] for word in asked if word in named]
    if len(found) != 2 or (asked is not None and len(asked) != 2):
        raise InvalidArgumentError(
            "settings",
            asked,
            "two swept numbers with several values each",
            got=counted(len(varying), "such number") if asked is None else "",
            fix=f"this study varies {', '.join(varying) or NOT_SWEPT}",
        )
    return found[0], found[1]


def log_ticks(low: float, high: float) -> list[float]:
    """Where a log axis is named: powers of ten; 2 and 5 times them if few; round steps within a decade.

    >>> log_ticks(0.7, 2000), log_ticks(30, 900), log_ticks(120, 190)
    ([1.0, 10.0, 100.0, 1000.0], [50.0, 100.0, 200.0, 500.0], [120.0, 140.0, 160.0, 180.0])
    """
    if not 0.0 < low < high:
        return [low]
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1,), (1, 2, 5)):
        found = [
            float(f"{d}e{k}") for k in range(first, last + 1) for d in digits if low <= d * 10.0**k <= high
        ]
        if len(found) >= 3:
            return found
    rough = (high - low) / 5.0
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * d for d in (1.0, 2.0, 5.0, 10.0) if size * d >= rough * 0.999)
    return [
        float(f"{k * step:.12g}")
        for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


# --- stacks ---------------------------------------------------------------------------------------------


def probabilities(
    study: Study, panel: Panel, legend: Legend, *, policy: str | None = None, x: AxisScale = "log"
) -> Stack:
    """The distribution over arms in replication 0 of a policy, the best of the study if none is given."""
    _check.one_of("x", x, ("linear", "log"))
    chosen = policy if policy is not None else best_first(study, panel, legend)[0]
    require_label(study, "policy", chosen)
    cell = study.manifest["cells"][panel.cells[chosen]]
    if cell["cell"] not in set(study.summary["cell"]):
        raise InvalidArgumentError(
            "environment",
            panel.title,
            "one that the policy has played",
            got=f"“{panel.title}”: no result of {chosen} yet",
            fix="run the rest of the study, or choose another world",
        )
    frame = study.probabilities(cell["cell"])
    if frame.empty:
        raise InvalidArgumentError(
            "kind",
            "probabilities",
            "recorded",
            got=f"none of {chosen} in {panel.title}",
            fix='write record = ["regret", "probabilities"] in the experiment file'
            if study.manifest["runs"]
            else "simulate(..., probabilities=True) keeps them",
        )
    rows = chart_rows.probability_rows(frame, gaps=cell["gaps"], optimal=cell["optimal"], points=POINTS)
    arms = tuple(dict.fromkeys(row["arm"] for row in rows))
    parts = np.array([[row["p"] for row in rows if row["arm"] == arm] for arm in arms])
    rounds = np.array([row["round"] for row in rows if row["order"] == 0], dtype=np.float64)
    return Stack(
        f"Arms played by {chosen} in {panel.title}", "probability", rounds, arms, parts, x_scale=x, whole=True
    )


KINDS: dict[str, Callable[..., Contents]] = {
    "regret": regret,
    "final": final,
    "survival": survival,
    "pairs": pairs,
    "sweep": sweep,
    "heat": heat,
    "probabilities": probabilities,
    "scores": scores,
    "timing": timing,
    "decomposition": decomposition,
}
"""The kinds of panels: each takes a study, an environment and the legend of its policies."""
SLOW = ("decomposition",)
"""Kinds that play runs again: drawn when asked for by name."""
ONCE = ("scores",)
"""Kinds that show all environments at once."""
