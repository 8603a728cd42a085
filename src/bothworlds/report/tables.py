"""The tables of the page: scorecard, final regret, growth, time; policies × worlds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bothworlds._words import counted
from bothworlds.report.charts.info import Panel, Row, scores_info
from bothworlds.report.markup import Cell, Markup, inner, matrix, table, tag
from bothworlds.report.numbers import fixed, number
from bothworlds.report.palette import ratio_names


def _records(frame: pd.DataFrame) -> list[Row]:
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _titles(panels: Sequence[Panel]) -> dict[tuple[str, int], str]:
    return {(panel.environment, panel.horizon): panel.title for panel in panels}


SCORES = {
    "(R+K)/(best+K)": "compares the mean regret R with the smallest of any policy in that world",
    "R/√(KT)": "measures R in units of the minimax rate, where arms have no fixed gaps",
}


def scorecard(scores: pd.DataFrame, ranking: pd.DataFrame, summary: pd.DataFrame) -> Markup:
    """Policies × worlds at their largest horizon, coloured by ratio to the best; best policy first."""
    rows = scores_info(scores, ranking)
    regret = {(r["policy"], r["environment"], r["horizon"]): r["mean"] for r in _records(summary)}
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    worlds = list(dict.fromkeys(scores["environment"]))
    cells: dict[tuple[str, str], Cell] = {}
    for row in rows:
        printed = number(row["score"])
        text = tag("b", f"{printed} ★") if row["ratio"] == 1.0 else printed
        small = "regret " + number(regret[row["policy"], row["environment"], row["horizon"]])
        class_ = "none" if row["step"] is None else f"r{row['step']}"
        cells[row["policy"], row["environment"]] = Cell(text, small, class_)
    ranks = _records(ranking)
    overall = {r["policy"]: Cell(tag("b", number(r["geometric_mean"])), class_="total") for r in ranks}
    worst = {r["policy"]: Cell(number(r["worst"]), class_="total") for r in ranks}
    heads = {row["environment"]: tag("span", [row["environment"], tag("small", row["kind"])]) for row in rows}
    table = matrix(
        _score_words(rows),
        policies,
        worlds,
        cells,
        class_="matrix scores",
        heads=heads,
        extra=[("overall", overall), ("worst case", worst)],
    )
    steps = [tag("li", name, class_=f"r{i}") for i, name in enumerate(ratio_names())]
    scale = tag(
        "ul", ["Ratio to the best: ", *steps], class_="scale", aria_label="ratio to the best of a world"
    )
    return Markup(table.text + scale.text)


def _score_words(rows: Sequence[Row]) -> str:
    """The caption of the scorecard: what its numbers are."""
    horizons = sorted({row["horizon"] for row in rows})
    after = ("" if len(horizons) == 1 else f"{horizons[0]:,} to ") + counted(horizons[-1], "round")
    kinds = dict.fromkeys(row["kind"] for row in rows)
    scores = "; ".join(f"{kind} {SCORES[kind]}" if kind in SCORES else kind for kind in kinds)
    return (
        f"Scores after {after}: lower is better, ★ marks the best of a world. The score {scores}. "
        "Colours show the ratio to the best of the same world; “overall” is the geometric mean of these "
        "ratios, “worst case” the largest."
    )


def summary_table(summary: pd.DataFrame, panels: Sequence[Panel], policies: Sequence[str]) -> Markup:
    """Mean final regret with its interval, median and worst replication."""
    titles = _titles(panels)
    cells = {}
    for row in _records(summary):
        band: str = "" if pd.isna(row["low"]) else f"[{number(row['low'])}, {number(row['high'])}]<br>"
        small = Markup(f"{band}median {number(row['median'])}<br>worst {number(row['worst'])}")
        key = (row["policy"], titles[row["environment"], row["horizon"]])
        cells[key] = Cell(number(row["mean"]), small)
    caption = "Final regret: mean with its 95% interval, median and worst replication."
    return matrix(caption, policies, list(titles.values()), cells)


EXPONENT = ("exponent", "exponent_low", "exponent_high")


def growth_table(growth: pd.DataFrame, panels: Sequence[Panel], policies: Sequence[str]) -> Markup:
    """The law that late regret follows, and the exponent of t with its interval."""
    titles = _titles(panels)
    cells = {
        (row["policy"], titles[row["environment"], row["horizon"]]): _law(row, "t")
        for row in _records(growth)
    }
    caption = (
        "How late regret grows with the round t: the law that fits best, and the fitted power of t with its "
        "95% interval."
    )
    return matrix(caption, policies, list(titles.values()), cells, class_="matrix growth")


def scaling_table(scaling: pd.DataFrame, policies: Sequence[str]) -> Markup:
    """The law that final regret follows from horizon to horizon."""
    cells = {(row["policy"], row["environment"]): _law(row, "T") for row in _records(scaling)}
    caption = "How final regret grows with the horizon T, from horizon to horizon."
    return matrix(
        caption, policies, list(dict.fromkeys(scaling["environment"])), cells, class_="matrix growth"
    )


def _law(row: Row, base: str) -> Cell:
    """A law, and below it the power of ``base`` with its interval."""
    power, low, high = (fixed(row[name], 2) for name in EXPONENT)
    band: str = "" if pd.isna(row["exponent_low"]) else f" [{low}, {high}]"  # none for one replication
    interval = Markup(f"{base}<sup>{power}</sup>{band}")
    return Cell(str(row["law"]), interval if pd.notna(row["exponent"]) else "", _law_class(str(row["law"])))


def _law_class(law: str) -> str | None:
    return {"bounded": "law0", "log T": "law1", "√T": "law2", "T": "law3"}.get(law)


def timing_table(timing: pd.DataFrame, panels: Sequence[Panel], policies: Sequence[str]) -> Markup:
    """Nanoseconds per round, kernels only."""
    titles = _titles(panels)
    slowest = float(timing["nanoseconds_per_round"].max()) if len(timing) else 1.0
    cells = {}
    for row in _records(timing):
        key = (row["policy"], titles[row["environment"], row["horizon"]])
        nanoseconds = float(row["nanoseconds_per_round"])
        width = 0.0 if pd.isna(nanoseconds) else 100.0 * nanoseconds / slowest
        bar = Markup(f'<span class="bar" style="width:{width:.1f}%"></span>')
        cells[key] = Cell(Markup(inner(number(nanoseconds)) + bar.text))
    caption = (
        "Time per round in nanoseconds: kernels only, after compilation, averaged over the replications."
    )
    return matrix(caption, policies, list(titles.values()), cells, class_="matrix timing")


def frame_table(frame: pd.DataFrame, caption: str) -> Markup:
    """Any frame as a table: for sections that others add."""

    def cell(value: Any) -> Cell:
        return Cell(number(value) if isinstance(value, float) else str(value))

    columns = [str(c) for c in frame.columns]
    rows = [(str(row[0]), [cell(v) for v in row[1:]]) for row in frame.itertuples(index=False)]
    return table(caption, columns[0], columns[1:], rows)
