"""The data that the page's script draws: each number once, in columns, of four digits, within a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from bothworlds.errors import InvalidArgumentError
from bothworlds.report.figures.choice import choose_policies, telling_setting
from bothworlds.report.figures.contents import heat, symbol
from bothworlds.report.numbers.rows import (
    ChartRow,
    Panel,
    Sweep,
    bound_rows,
    by_cell,
    by_world,
    curve_rows,
    final_rows,
    find_sweeps,
    pair_rows,
    panels,
    probability_rows,
    short_labels,
)
from bothworlds.report.numbers.scores import RATIO_STEPS
from bothworlds.report.page import charts
from bothworlds.report.palette import N_STYLES, PAGE_THEME, dash, marker

if TYPE_CHECKING:
    from bothworlds.report.study import Study

# Numbers that a page may hold, however many cells there are; few cells show every checkpoint.
CURVE_POINTS, FINAL_POINTS, PROBABILITY_NUMBERS, PAIR_ROWS = 48_000, 48_000, 160_000, 20_000
MOST_POLICIES = 10  # switched on at first, when there are more
MOST_PANELS = 12  # drawn at once


def points_each(budget: int, among: int, least: int, most: int) -> int:
    """How many points each of ``among`` curves may have.

    >>> points_each(48_000, 48, 24, 120), points_each(48_000, 1000, 24, 120)
    (120, 48)
    """
    return max(least, min(most, budget // max(1, among)))


def four_digits(value: Any) -> Any:
    """Four significant digits; None for what JSON cannot say; integers and text as they are."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        rounded = float(f"{value:.4g}")
        return int(rounded) if rounded.is_integer() else rounded
    return value


def packed(rows: Sequence[ChartRow], names: dict[str, int]) -> dict[str, list[Any]]:
    """Rows as columns; policies by their number in ``names``."""
    keys = list(rows[0]) if rows else []
    columns: dict[str, list[Any]] = {key: [four_digits(row[key]) for row in rows] for key in keys}
    for key in ("policy", "reference"):
        if key in columns:
            columns[key] = [names[value] for value in columns[key]]
    return columns


def page_data(study: Study, bounds: pd.DataFrame | None = None) -> dict[str, Any]:
    """Everything that the script of the page draws."""
    here, policies = panels(study.cells), study.policies
    names = {policy: i for i, policy in enumerate(policies)}
    n_cells = len(study.cells)
    curves, final = by_cell(study.curves), by_cell(study.final)
    points = points_each(CURVE_POINTS, n_cells, 24, 120)
    dots = points_each(FINAL_POINTS, n_cells, 16, 100)
    swept = find_sweeps(study.summary, study.manifest)
    order = [names[str(policy)] for policy in study.ranking["policy"]]
    overview = [panel.number for panel in here if panel.largest and curves.keys() & panel.cells.values()]
    return {
        "policies": policies,
        "short": short_labels(policies, charts.LONGEST_NAME),
        "swept": swept_values(study),
        "color": telling_setting(study, policies)[0] or "policy",
        "styles": [[PAGE_THEME.color(i), dash(i), marker(i)] for i in range(N_STYLES)],
        "shown": order[:MOST_POLICIES] if len(policies) > MOST_POLICIES else list(range(len(policies))),
        "order": order,
        "best": MOST_POLICIES,
        "panels": [
            {"title": p.title, "environment": p.environment, "horizon": p.horizon, "arms": _n_arms(study, p)}
            for p in here
        ],
        "overview": overview if len(overview) <= MOST_PANELS else [],
        "curves": [packed(curve_rows(curves, p, policies, points=points), names) for p in here],
        "finals": [packed(final_rows(final, p, points=dots), names) for p in here],
        "bounds": [packed(bound_rows(bounds, p), names) for p in here],
        "pairs": _pairs(study, here, names),
        "probabilities": _probabilities(study, here, names),
        "sweeps": [_sweep(sweep) for sweep in swept],
        "heats": _heats(study, here),
        "specs": _specs(policies, bounds is not None, swept),
        "config": charts.vega_config(PAGE_THEME),
        "steps": {"finals": charts.FINALS_STEP, "pairs": charts.PAIRS_STEP},
    }


def _specs(policies: Sequence[str], bounds: bool, swept: Sequence[Sweep]) -> dict[str, Any]:
    """The charts without their data, on linear scales; the script of the page sets scales and domains."""

    def plain(chart: Any) -> dict[str, Any]:
        spec: dict[str, Any] = chart.to_dict()
        spec.pop("config", None)
        return spec

    page: dict[str, Any] = {"theme": PAGE_THEME, "width": None}
    curves = charts.curves_chart(
        "rows", policies, bounds="bounds" if bounds else None, x="linear", height=260, legend=False, **page
    )
    specs = {
        "curves": curves,
        "finals": charts.finals_chart("rows", policies, **page),
        "tails": charts.tails_chart("rows", policies, **page),
        "probabilities": charts.probabilities_chart("rows", x="linear", height=280, **page),
        "pairs": charts.pairs_chart("rows", policies, **page),
    }
    if swept:
        specs["heat"] = charts.heat_chart("rows", **page)
        specs["sweeps"] = charts.sweep_chart(
            "rows", [], setting="setting", y="linear", height=300, legend=False, **page
        )
    return {name: plain(chart) for name, chart in specs.items()}


def _n_arms(study: Study, panel: Panel) -> int:
    return int(study.manifest["cells"][next(iter(panel.cells.values()))]["n_arms"])


def swept_values(study: Study) -> dict[str, list[float | None]]:
    """The swept numbers of the policies: setting → its value for every policy, None where it has none."""
    entries = study.manifest["policies"]
    names = dict.fromkeys(name for entry in entries for name in entry["swept"])
    columns = {
        name: [
            float(v) if isinstance(v := entry["swept"].get(name), (int, float)) else None for entry in entries
        ]
        for name in names
    }
    return {name: column for name, column in columns.items() if len({*column} - {None}) > 1}


def _heats(study: Study, panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Final regret by the first two swept settings, of worlds with results; none where fewer are swept."""
    found = []
    legend = choose_policies(study, None, None, None)
    last = len(RATIO_STEPS) - 1
    for panel in panels:
        try:
            grid = heat(study, panel, legend)
        except InvalidArgumentError:
            continue
        shades = [[None if math.isnan(s) else round(last * s) for s in line] for line in grid.shades.tolist()]
        found.append(
            {"title": panel.title, "x": grid.x_label, "y": grid.y_label, "columns": grid.columns}
            | {"rows": grid.rows, "shades": shades}
            | {"values": [[four_digits(value) for value in line] for line in grid.values.tolist()]}
        )
    return found


def _pairs(study: Study, panels: Sequence[Panel], names: dict[str, int]) -> list[dict[str, list[Any]]]:
    """Every pair in both directions; only those with the best of their world when there are too many."""
    pairs, means = study.pairs, study.summary.set_index("cell")["mean"].to_dict()
    worlds = by_world(pairs)
    found = []
    for panel in panels:
        rows: list[ChartRow] = []
        if (panel.environment, panel.horizon) in worlds:
            best = None
            if 2 * len(pairs) > PAIR_ROWS:
                best = min(panel.cells, key=lambda policy: means.get(panel.cells[policy], math.inf))
            rows = pair_rows(worlds[panel.environment, panel.horizon], reference=best)
        found.append(packed(rows, names))
    return found


def _probabilities(study: Study, panels: Sequence[Panel], names: dict[str, int]) -> dict[str, Any]:
    """For each run: rounds, arms, and a row of thousandths per arm. Keyed "panel-policy"."""
    n_cells = len(study.cells)
    most = 8
    points = points_each(PROBABILITY_NUMBERS // most, n_cells, 16, 60)
    cells = {cell["cell"]: cell for cell in study.manifest["cells"]}
    played = set(study.summary["cell"])
    found: dict[str, Any] = {}
    for panel in panels:
        for policy, number in panel.cells.items():
            frame = study.probabilities(number) if number in played else None
            if frame is None or frame.empty:
                continue
            cell = cells[number]
            rows = probability_rows(
                frame, gaps=cell.get("gaps"), optimal=cell.get("optimal"), most=most, points=points
            )
            arms = list(dict.fromkeys(row["arm"] for row in rows))
            rounds = [row["round"] for row in rows if row["order"] == 0]
            shares = [[round(1000 * row["p"]) for row in rows if row["arm"] == arm] for arm in arms]
            found[f"{panel.number}-{names[policy]}"] = {
                "rounds": rounds,
                "arms": arms,
                "colors": charts.arm_colors(arms),
                "p": shares,
            }
    return found


def _sweep(sweep: Sweep) -> dict[str, Any]:
    """The rows of a sweep by view, with the style of each series."""
    series = sweep.series()
    index = {name: i for i, name in enumerate(series)}
    views = [
        {
            "title": view,
            "rows": {
                key: [
                    index[row[key]] if key == "series" else four_digits(row[key])
                    for row in sweep.rows
                    if row["view"] == view
                ]
                for key in ("series", "value", "mean", "low", "high")
            },
        }
        for view in sweep.views()
    ]
    return {
        "setting": sweep.setting,
        "symbol": symbol(sweep.setting),
        "scale": sweep.scale(),
        "series": series,
        "views": views,
    }
