"""What the page's script reads: each number once, in columns, rounded to four digits, within a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from bothworlds.report.charts import info, render
from bothworlds.report.charts.axes import configure
from bothworlds.report.charts.info import Panel, Row
from bothworlds.report.charts.sweeps import Sweep, sweeps
from bothworlds.report.palette import LOOKS, PAGE, dash, shape

if TYPE_CHECKING:
    from bothworlds.report.study import Study

# Numbers that a page may hold, however many cells there are; few cells show every checkpoint.
CURVE_POINTS, FINAL_POINTS, PROBABILITY_NUMBERS, PAIR_ROWS = 48_000, 48_000, 160_000, 20_000
SHOWN = 10  # policies switched on at first, when there are more


def share(budget: int, among: int, least: int, most: int) -> int:
    """How many points each of ``among`` curves may have.

    >>> share(48_000, 48, 24, 120), share(48_000, 1000, 24, 120)
    (120, 48)
    """
    return max(least, min(most, budget // max(1, among)))


def short(value: Any) -> Any:
    """Four significant digits; None for what JSON cannot say; integers and text as they are."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        rounded = float(f"{value:.4g}")
        return int(rounded) if rounded.is_integer() else rounded
    return value


def columns(rows: Sequence[Row], names: dict[str, int]) -> dict[str, list[Any]]:
    """Rows as columns; policies by their number in ``names``."""
    keys = list(rows[0]) if rows else []
    packed: dict[str, list[Any]] = {key: [short(row[key]) for row in rows] for key in keys}
    for key in ("policy", "reference"):
        if key in packed:
            packed[key] = [names[value] for value in packed[key]]
    return packed


def payload(study: Study, bounds: pd.DataFrame | None = None) -> dict[str, Any]:
    """Everything that the script of the page draws."""
    panels = info.panels(study.cells)
    policies = [str(entry["label"]) for entry in study.manifest["policies"]]
    names = {policy: i for i, policy in enumerate(policies)}
    n_cells = len(study.cells)
    curves, final = info.by_cell(study.curves), info.by_cell(study.final)
    points = share(CURVE_POINTS, n_cells, 24, 120)
    dots = share(FINAL_POINTS, n_cells, 16, 100)
    swept = sweeps(study.summary, study.manifest)
    order = [str(p) for p in study.ranking["policy"]]
    return {
        "policies": policies,
        "looks": [[PAGE.colour(i), dash(i), shape(i)] for i in range(LOOKS)],
        "shown": [names[p] for p in order[:SHOWN]] if len(policies) > SHOWN else list(range(len(policies))),
        "order": [names[p] for p in order],
        "panels": [{"title": p.title, "environment": p.environment, "horizon": p.horizon} for p in panels],
        "curves": [columns(info.curves_info(curves, p, policies, points=points), names) for p in panels],
        "finals": [columns(info.finals_info(final, p, points=dots), names) for p in panels],
        "bounds": [columns(info.bounds_info(bounds, p), names) for p in panels],
        "pairs": _pairs(study, panels, names),
        "probabilities": _probabilities(study, panels, names),
        "sweeps": [_sweep(sweep) for sweep in swept],
        "specs": _specs(policies, bounds is not None, swept),
        "config": configure(PAGE),
        "steps": {"finals": render.FINALS_STEP, "pairs": render.PAIRS_STEP},
    }


def _specs(policies: Sequence[str], bounds: bool, swept: Sequence[Sweep]) -> dict[str, Any]:
    """The charts without their data, on linear scales; the script of the page sets scales and domains."""

    def plain(chart: Any) -> dict[str, Any]:
        spec: dict[str, Any] = chart.to_dict()
        spec.pop("config", None)
        return spec

    page: dict[str, Any] = {"look": PAGE, "width": None}
    curves = render.curves_chart(
        "rows", policies, bounds="bounds" if bounds else None, x="linear", height=260, legend=False, **page
    )
    specs = {
        "curves": curves,
        "finals": render.finals_chart("rows", policies, **page),
        "probabilities": render.probabilities_chart("rows", x="linear", height=280, **page),
        "pairs": render.pairs_chart("rows", policies, **page),
    }
    if swept:
        specs["sweeps"] = render.sweep_chart(
            "rows", [], setting="setting", y="linear", height=300, legend=False, **page
        )
    return {name: plain(chart) for name, chart in specs.items()}


def _pairs(study: Study, panels: Sequence[Panel], names: dict[str, int]) -> list[dict[str, list[Any]]]:
    """Every pair in both directions; only those with the best of their world when there are too many."""
    pairs, means = study.pairs, study.summary.set_index("cell")["mean"].to_dict()
    worlds = info.by_world(pairs)
    found = []
    for panel in panels:
        rows: list[Row] = []
        if (panel.environment, panel.horizon) in worlds:
            best = None
            if 2 * len(pairs) > PAIR_ROWS:
                best = min(panel.cells, key=lambda policy: means.get(panel.cells[policy], math.inf))
            rows = info.pairs_info(worlds[panel.environment, panel.horizon], reference=best)
        found.append(columns(rows, names))
    return found


def _probabilities(study: Study, panels: Sequence[Panel], names: dict[str, int]) -> dict[str, Any]:
    """For each run: rounds, arms, and a row of thousandths per arm. Keyed "panel-policy"."""
    n_cells = len(study.cells)
    most = 8
    points = share(PROBABILITY_NUMBERS // most, n_cells, 16, 60)
    cells = {cell["cell"]: cell for cell in study.manifest["cells"]}
    played = set(study.summary["cell"])
    found: dict[str, Any] = {}
    for panel in panels:
        for policy, number in panel.cells.items():
            frame = study.probabilities(number) if number in played else None
            if frame is None or frame.empty:
                continue
            cell = cells[number]
            rows = info.probabilities_info(
                frame, gaps=cell.get("gaps"), optimal=cell.get("optimal"), most=most, points=points
            )
            arms = list(dict.fromkeys(row["arm"] for row in rows))
            rounds = [row["round"] for row in rows if row["order"] == 0]
            shares = [[round(1000 * row["p"]) for row in rows if row["arm"] == arm] for arm in arms]
            found[f"{panel.number}-{names[policy]}"] = {
                "rounds": rounds,
                "arms": arms,
                "colours": render.arm_colours(arms),
                "p": shares,
            }
    return found


def _sweep(sweep: Sweep) -> dict[str, Any]:
    """The rows of a sweep by view, with the look of each series."""
    series = sweep.series()
    index = {name: i for i, name in enumerate(series)}
    views = [
        {
            "title": view,
            "rows": {
                key: [
                    index[row[key]] if key == "series" else short(row[key])
                    for row in sweep.rows
                    if row["view"] == view
                ]
                for key in ("series", "value", "mean", "low", "high")
            },
        }
        for view in sweep.views()
    ]
    return {"setting": sweep.setting, "scale": sweep.scale(), "series": series, "views": views}
