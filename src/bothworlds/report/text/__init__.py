"""The tables of a study as a reader sees them: which columns, how many digits. ``formats`` renders them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bothworlds.report.numbers import LAW_WEIGHTS, compare
from bothworlds.report.numbers.scores import MINIMAX_SCORE, RATIO_STEPS, Scorecard, ratio_step, scorecard

if TYPE_CHECKING:
    from bothworlds.report.study import Study

# --- numbers: few digits, thousands apart, a true minus sign ----------------------------------------------

MISSING = "–"  # where there is no number


def format_fixed(value: float, places: int) -> str:
    """A number with so many decimals.

    Examples
    --------
    >>> format_fixed(-12345.678, 1), format_fixed(-0.001, 2)
    ('−12,345.7', '0.00')
    """
    text = f"{abs(value):,.{places}f}"
    return f"−{text}" if value < 0.0 and text.strip("0.,") else text


def format_number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, whole ones in full, without exponent for ordinary sizes.

    Examples
    --------
    >>> [format_number(x) for x in (0.012345, 3.14159, 99.97, 12345.6, -2.5e-9)]
    ['0.0123', '3.14', '100', '12,346', '−2.5e-09']
    >>> [format_number(x) for x in (-0.0, None, float("nan"), float("-inf"))]
    ['0', '–', '–', '−∞']
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0.0 else "−∞"
    if value == 0.0:
        return "0"
    size = int(f"{value:.{digits - 1}e}".partition("e")[2])  # after rounding: 99.97 is 100
    if size < -4 or size > 8:
        return f"{value:.{digits}g}".replace("-", "−", int(value < 0.0))
    return format_fixed(value, max(0, digits - 1 - size))


def plus_minus(mean: float, low: float, high: float) -> str:
    """A mean with half the width of its interval, which has two significant digits.

    Examples
    --------
    >>> plus_minus(-4123.456, -4126.9, -4120.1), plus_minus(5.0, float("nan"), float("nan"))
    ('−4,123.5 ± 3.4', '5.00')
    """
    half = (high - low) / 2.0
    if math.isnan(mean) or math.isnan(half) or half <= 0.0:
        return format_number(mean)
    places = min(12, max(0, 1 - math.floor(math.log10(half))))
    return f"{format_fixed(mean, places)} ± {format_fixed(half, places)}"


def with_interval(value: float, low: float, high: float) -> str:
    """An estimate and its interval, two decimals.

    Examples
    --------
    >>> nan = float("nan")
    >>> with_interval(0.5, -0.42, 0.61), with_interval(0.5, nan, nan), with_interval(nan, nan, nan)
    ('0.50 [−0.42, 0.61]', '0.50', '–')
    """
    if math.isnan(value):
        return MISSING
    middle, *ends = (format_fixed(x, 2) for x in (value, low, high))
    return middle if math.isnan(low) else f"{middle} [{', '.join(ends)}]"


def format_p_value(value: float) -> str:
    """A p-value; below one in a thousand only that."""
    return "< 0.001" if value < 0.001 else format_number(value, 2)


def format_percent(share: float) -> str:
    """A share of runs.

    Examples
    --------
    >>> format_percent(0.975), format_percent(0.0), format_percent(float("nan"))
    ('97.5%', '0%', '–')
    """
    return MISSING if math.isnan(share) else f"{100.0 * share:.3g}%"


# --- tables -----------------------------------------------------------------------------------------------

LOG_ENDED = "log ended"


@dataclass(frozen=True)
class TextTable:
    """A table of strings: header, rows, which columns are numbers, and what is to be said below."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    numbers: tuple[bool, ...]
    notes: tuple[str, ...] = ()
    styles: dict[tuple[int, int], str] = field(default_factory=dict)
    """Color of a cell by (row, column); it never says more than the text does."""
    best: frozenset[tuple[int, int]] = frozenset()
    """Cells by (row, column) that are set in bold: the best of their world."""
    grouped: int = 0
    """So many columns at the left name a group of rows; papers print them once per group."""
    totals: int = 0
    """So many columns at the right are over all environments: this is a scorecard."""
    transposed: bool = False
    """Is it a scorecard with environments in rows?"""


FrameRow = Mapping[Hashable, Any]


def _final_regret(row: FrameRow) -> str:
    return LOG_ENDED if row["ended"] else plus_minus(row["mean"], row["low"], row["high"])


def _agreement(row: FrameRow) -> str:
    """The share of resamples that prefer the most frequent law."""
    weights = [row[name] for name in LAW_WEIGHTS]
    return MISSING if math.isnan(weights[0]) else f"{math.floor(100 * max(weights))}%"


def _exponent(row: FrameRow) -> str:
    return with_interval(row["exponent"], row["exponent_low"], row["exponent_high"])


def _between(row: FrameRow, name: str) -> str:
    """A quantile with its interval, or alone where there are too few replications for one."""
    value, low, high = (row[key] for key in (name, f"{name}_low", f"{name}_high"))
    known = not (math.isnan(low) and math.isnan(high))
    ends = f" [{format_number(low)}, {format_number(high)}]" if known else ""
    return f"{format_number(value)}{ends}"


Column = tuple[str, bool, Callable[[FrameRow], str]]  # header, is it a number, entry
ENVIRONMENT_COLUMN: Column = ("environment", False, lambda row: str(row["environment"]))
HORIZON_COLUMN: Column = ("horizon", True, lambda row: f"{row['horizon']:,}")
POLICY_COLUMN: Column = ("policy", False, lambda row: str(row["policy"]))
CELL_COLUMNS = (ENVIRONMENT_COLUMN, HORIZON_COLUMN, POLICY_COLUMN)
GROWTH_COLUMNS: tuple[Column, ...] = (
    ("law", False, lambda row: row["law"]),
    ("agreement", True, _agreement),
    ("exponent (95%)", True, _exponent),
)
TABLE_COLUMNS: dict[str, tuple[Column, ...]] = {
    "cells": (
        ("cell", True, lambda row: f"{row['cell']}"),
        *CELL_COLUMNS,
        ("arms", True, lambda row: f"{row['n_arms']}"),
        ("gaps", False, lambda row: row["gaps"]),
        ("optimal arms", True, lambda row: MISSING if pd.isna(row["optimal"]) else f"{row['optimal']}"),
        ("replications", True, lambda row: f"{row['replications']}"),
    ),
    "summary": (
        *CELL_COLUMNS,
        ("mean regret ± 95%", True, _final_regret),
        ("median", True, lambda row: format_number(row["median"])),
        ("5%", True, lambda row: format_number(row["q05"])),
        ("95%", True, lambda row: format_number(row["q95"])),
        ("worst", True, lambda row: format_number(row["worst"])),
        ("within × of optimal", True, lambda row: format_number(row["within"])),
        ("replications", True, lambda row: f"{row['replications']}"),
    ),
    "tails": (
        *CELL_COLUMNS,
        ("mean", True, lambda row: format_number(row["mean"])),
        ("trimmed", True, lambda row: format_number(row["trimmed"])),
        ("median (95%)", True, lambda row: _between(row, "median")),
        ("95% quantile (95%)", True, lambda row: _between(row, "q95")),
        ("CVaR", True, lambda row: format_number(row["cvar"])),
        ("worst", True, lambda row: format_number(row["worst"])),
        ("mean without it", True, lambda row: format_number(row["without_worst"]) + " !" * row["lifted"]),
    ),
    "growth": (*CELL_COLUMNS, *GROWTH_COLUMNS),
    "scaling": (
        ENVIRONMENT_COLUMN,
        POLICY_COLUMN,
        ("horizons", True, lambda row: f"{row['horizons']}"),
        *GROWTH_COLUMNS,
    ),
    "pairs": (
        ENVIRONMENT_COLUMN,
        HORIZON_COLUMN,
        ("policy a", False, lambda row: row["policy_a"]),
        ("policy b", False, lambda row: row["policy_b"]),
        ("regret a − b ± 95%", True, lambda row: plus_minus(row["difference"], row["low"], row["high"])),
        ("p (Holm)", True, lambda row: format_p_value(row["p_holm"])),
        ("a wins", True, lambda row: f"{row['wins']}/{row['replications']}"),
    ),
    "scores": (
        *CELL_COLUMNS,
        ("score", True, lambda row: format_number(row["score"])),
        ("kind", False, lambda row: row["kind"]),
        ("ratio to best", True, lambda row: format_number(row["ratio"])),
    ),
    "ranking": (
        POLICY_COLUMN,
        ("geometric mean", True, lambda row: format_number(row["geometric_mean"])),
        ("by median", True, lambda row: format_number(row["by_median"])),
        ("by trimmed mean", True, lambda row: format_number(row["by_trimmed"])),
        ("worst", True, lambda row: format_number(row["worst"])),
        (
            "worst environment",
            False,
            lambda row: row["worst_environment"] if row["environments"] else MISSING,
        ),
        ("environments", True, lambda row: f"{row['environments']}"),
    ),
    "evidence": (
        *CELL_COLUMNS,
        ("assumed world", False, lambda row: row["world"]),
        ("decided", True, lambda row: format_percent(row["decided"])),
        ("median round", True, lambda row: format_number(row["median_round"])),
        ("regret then", True, lambda row: format_number(row["regret_then"])),
        ("wrong", True, lambda row: format_percent(row["wrong"])),
        ("coverage", True, lambda row: format_percent(row["coverage"])),
        ("width", True, lambda row: format_number(row["width"])),
        ("drift alarm", True, lambda row: format_percent(row["drift"])),
        ("final regret", True, lambda row: format_number(row["regret"])),
    ),
    "timing": (
        *CELL_COLUMNS,
        ("arms", True, lambda row: f"{row['n_arms']}"),
        ("rounds", True, lambda row: f"{row['rounds']:,}"),
        ("seconds", True, lambda row: format_number(row["seconds"])),
        ("ns per round", True, lambda row: format_number(row["nanoseconds_per_round"])),
    ),
}
TITLES = {
    "scorecard": "Scorecard",
    "ranking": "Ratio to the best of each environment",
    "summary": "Final regret",
    "tails": "Tails of the final regret (CVaR: mean of the worst 5%; !: one replication makes the mean)",
    "growth": "Growth of regret over the last decade of rounds",
    "scaling": "Growth of final regret with the horizon",
    "pairs": "Policies two by two, on common random numbers",
    "scores": "Scores",
    "evidence": "What could be known, at 5%",
    "timing": "Time in kernels",
    "cells": "Cells",
}


def text_table(study: Study, name: str) -> TextTable:
    """The table of that name, for readers: without columns that have nothing in any row."""
    if name == "scorecard":
        return scorecard_table(study)
    frame = getattr(study, name)
    records = frame.to_dict("records")
    entries = {
        header: (right, [entry(row) for row in records]) for header, right, entry in TABLE_COLUMNS[name]
    }
    shown = {header: told for header, told in entries.items() if not records or set(told[1]) != {MISSING}}
    headers = tuple(shown)
    return TextTable(
        f"{study.title}: {TITLES[name]}",
        headers,
        list(zip(*(cells for _, cells in shown.values()), strict=True)),
        tuple(right for right, _ in shown.values()),
        _incomplete(study),
        best=_best(study, name, headers),
        grouped=2 if headers[:2] == ("environment", "horizon") else 0,
    )


BEST = {"summary": "mean regret ± 95%", "scores": "score", "ranking": "geometric mean"}
"""Tables with a best row, of each world or of all, and the column that is set in bold there."""


def _best(study: Study, name: str, headers: tuple[str, ...]) -> frozenset[tuple[int, int]]:
    """The cells of a table that are set in bold."""
    if name not in BEST:
        return frozenset()
    if name == "ranking":
        means = study.ranking["geometric_mean"]
        best = means == means.min()
    else:
        scores = study.scores
        best = getattr(study, name)["cell"].isin(scores["cell"][scores["best"]])
    return frozenset((row, headers.index(BEST[name])) for row in np.flatnonzero(best).tolist())


def _incomplete(study: Study) -> tuple[str, ...]:
    """A note on what is missing, if something is."""
    return () if study.complete else (f"Not complete: {study.status}. Numbers will change.",)


# --- the scorecard ----------------------------------------------------------------------------------------

MARK_STYLES = {"★": "bold cyan", "●": "cyan", "○": "", "·": "yellow", "✗": "bold red"}
MOST_ENVIRONMENTS = 8
"""The scorecard has up to so many columns, of environments or else of policies; beyond, it is the ranking."""


def _legend() -> str:
    ends = {mark: end for end, mark in RATIO_STEPS}
    best, *between, worst = ends
    up_to = [f"{mark} up to {ends[mark]:g} times" for mark in between]
    last = f"{worst} more than {ends[between[-1]]:g} times"
    return ", ".join([f"{best} best of its world", f"{up_to[0]} the best", *up_to[1:], last])


MARK_LEGEND = _legend()


def mark_and_style(step: int | None) -> tuple[str, str]:
    """The mark of a step of the ratio to the best, and its style where there is color."""
    if step is None:
        return " ", "dim"
    mark = RATIO_STEPS[step][1]
    return mark, MARK_STYLES[mark]


def scorecard_table(study: Study) -> TextTable:
    """Policies × environments: scores, marked and colored by the ratio to the best of the environment."""
    card = scorecard(study)
    several = len(card.environments) > MOST_ENVIRONMENTS
    transposed = several and len(card.policies) <= MOST_ENVIRONMENTS
    environments = card.environments if transposed or not several else []
    robust = {f"by {name}": ratios for name, ratios in card.robust.items()}
    totals = {"geometric mean": card.geometric_mean, **robust, "worst": card.worst}
    rows: list[tuple[str, ...]] = []
    styles = {}
    for i, policy in enumerate(card.policies):
        cells = [policy]
        for j, environment in enumerate(environments, start=1):
            entry = card.entries.get((policy, environment))
            mark, styles[i, j] = mark_and_style(None if entry is None else entry.step)
            text = MISSING if entry is None else format_number(entry.score)
            cells.append(LOG_ENDED if entry is not None and entry.ended else f"{text} {mark}")
        overall = [ratios.get(policy, math.nan) for ratios in totals.values()]
        for j, ratio in enumerate(overall, start=len(cells)):
            styles[i, j] = mark_and_style(ratio_step(ratio, best=ratio <= 1.0))[1]
        rows.append((*cells, *map(format_number, overall)))
    heads = [f"{name}*" if card.kinds.get(name) == MINIMAX_SCORE else name for name in environments]
    header = ("policy", *heads, *totals)
    numbers = (False, *[True] * (len(header) - 1))
    title = f"{study.title}: {TITLES['scorecard']} after {card.rounds}"
    best = frozenset(
        (i, j)
        for i, policy in enumerate(card.policies)
        for j, environment in enumerate(environments, start=1)
        if (policy, environment) in card.entries and card.entries[policy, environment].best
    )
    notes = _score_notes(card, shown=bool(environments)) + _incomplete(study)
    table = TextTable(title, header, rows, numbers, notes, styles, best, totals=len(totals))
    return _transpose(table) if transposed else table


def _transpose(table: TextTable) -> TextTable:
    """Environments in rows, policies in columns."""
    turned = list(zip(table.header, *table.rows, strict=True))
    header = ("environment", *turned[0][1:])
    return replace(
        table,
        header=header,
        rows=turned[1:],
        numbers=(False, *[True] * (len(header) - 1)),
        styles={(j - 1, i + 1): style for (i, j), style in table.styles.items()},
        best=frozenset((j - 1, i + 1) for i, j in table.best),
        transposed=True,
    )


NEGATIVE_NOTE = "Regret below zero counts as zero in ratios."
ROBUST_NOTE = "By median, by trimmed: the geometric mean where medians and trimmed means stand in for means."


def _score_notes(card: Scorecard, *, shown: bool) -> tuple[str, ...]:
    """What the numbers of the scorecard mean."""
    overall = "Geometric mean and worst: ratio to the best over environments."
    overall += f" {NEGATIVE_NOTE}" if card.negative else ""
    n_environments = len(card.environments)
    if not shown:
        return f"{n_environments} environments; the table “scores” has them all.", overall, ROBUST_NOTE
    minimax = [name for name, kind in card.kinds.items() if kind == MINIMAX_SCORE]
    kinds = ["Score: (R + K)/(R of the best + K), 1 is the best"] if len(minimax) < n_environments else []
    kinds += ["* no fixed gaps: R/√(KT), about 1 is the minimax rate"] if minimax else []
    return "; ".join(kinds) + ".", MARK_LEGEND + ".", overall, ROBUST_NOTE


# --- two studies ------------------------------------------------------------------------------------------


def comparison_table(a: Study, b: Study) -> TextTable:
    """The comparison for readers; differences beyond chance are marked."""
    frame = compare(a, b)
    rows: list[tuple[str, ...]] = []
    styles = {}
    for number, row in enumerate(frame.to_dict("records")):
        clear = row["low"] > 0.0 or row["high"] < 0.0
        mark = ("▲" if row["low"] > 0.0 else "▼") if clear else ""
        styles[number, 5] = ("red" if row["low"] > 0.0 else "cyan") if clear else ""
        change = f"{plus_minus(row['difference'], row['low'], row['high'])} {mark}".strip()
        same = row["difference"] == row["low"] == row["high"] == 0.0
        rows.append(
            (
                str(row["environment"]),
                f"{row['horizon']:,}",
                str(row["policy"]),
                format_number(row["mean_a"]),
                format_number(row["mean_b"]),
                "same" if same else change,
            )
        )
    header = ("environment", "horizon", "policy", "mean a", "mean b", "b − a ± 95%")
    notes = [f"a: {a.path}, b: {b.path}. ▼ less regret beyond chance, ▲ more."]
    if not frame["paired"].all():
        notes.append("Seeds or worlds differ: intervals of independent samples.")
    for name, study in (("a", a), ("b", b)):
        notes += [] if study.complete else [f"{name} is not complete: {study.status}."]
    numbers = (False, True, False, True, True, True)
    return TextTable("Final regret of two studies", header, rows, numbers, tuple(notes), styles)
