"""The tables of a study as a reader sees them: which columns, how many digits. Rendering is in formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from bothworlds._words import counted
from bothworlds.report.frames import WEIGHTS, at_largest_horizon
from bothworlds.report.numbers import NOTHING, interval, number, p_value, plus_minus
from bothworlds.report.scores import MINIMAX

if TYPE_CHECKING:
    from bothworlds.report.study import Study

ENDED = "log ended"
# ratio to the best, up to: mark that needs no colour, what it means, style where there is some
STEPS = (
    (1.0, "★", "best of its world", "bold cyan"),
    (1.5, "●", "up to 1.5 times the best", "cyan"),
    (3.0, "○", "up to 3 times", ""),
    (10.0, "·", "up to 10 times", "yellow"),
    (math.inf, "✗", "more than 10 times", "bold red"),
)
LEGEND = ", ".join(f"{mark} {meaning}" for _, mark, meaning, _ in STEPS)
WIDE = 8
"""The scorecard has a column for every environment up to so many; beyond, it is the ranking."""


@dataclass(frozen=True)
class Shown:
    """A table of strings: header, rows, which columns are numbers, and what is to be said below."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    numbers: tuple[bool, ...]
    notes: tuple[str, ...] = ()
    styles: dict[tuple[int, int], str] = field(default_factory=dict)
    """Colour of a cell by (row, column); it never says more than the text does."""


Row = Mapping[Hashable, Any]


def _final(row: Row) -> str:
    return ENDED if row["ended"] else plus_minus(row["mean"], row["low"], row["high"])


def _agreement(row: Row) -> str:
    """The share of resamples that prefer the most frequent law."""
    weights = [row[name] for name in WEIGHTS]
    return NOTHING if math.isnan(weights[0]) else f"{math.floor(100 * max(weights))}%"


def _exponent(row: Row) -> str:
    return interval(row["exponent"], row["exponent_low"], row["exponent_high"])


Column = tuple[str, bool, Callable[[Row], str]]  # header, is it a number, entry
ENVIRONMENT: Column = ("environment", False, lambda row: str(row["environment"]))
HORIZON: Column = ("horizon", True, lambda row: f"{row['horizon']:,}")
POLICY: Column = ("policy", False, lambda row: str(row["policy"]))
WORLD = (ENVIRONMENT, HORIZON, POLICY)
GROWTH: tuple[Column, ...] = (
    ("law", False, lambda row: row["law"]),
    ("agreement", True, _agreement),
    ("exponent (95%)", True, _exponent),
)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "cells": (
        ("cell", True, lambda row: f"{row['cell']}"),
        *WORLD,
        ("arms", True, lambda row: f"{row['n_arms']}"),
        ("world", False, lambda row: row["world"]),
        ("optimal arms", True, lambda row: NOTHING if pd.isna(row["optimal"]) else f"{row['optimal']}"),
        ("replications", True, lambda row: f"{row['replications']}"),
    ),
    "summary": (
        *WORLD,
        ("mean regret ± 95%", True, _final),
        ("median", True, lambda row: number(row["median"])),
        ("5%", True, lambda row: number(row["q05"])),
        ("95%", True, lambda row: number(row["q95"])),
        ("worst", True, lambda row: number(row["worst"])),
        ("replications", True, lambda row: f"{row['replications']}"),
    ),
    "growth": (*WORLD, *GROWTH),
    "scaling": (ENVIRONMENT, POLICY, ("horizons", True, lambda row: f"{row['horizons']}"), *GROWTH),
    "pairs": (
        ENVIRONMENT,
        HORIZON,
        ("policy a", False, lambda row: row["policy_a"]),
        ("policy b", False, lambda row: row["policy_b"]),
        ("regret a − b ± 95%", True, lambda row: plus_minus(row["difference"], row["low"], row["high"])),
        ("p (Holm)", True, lambda row: p_value(row["p_holm"])),
        ("a wins", True, lambda row: f"{row['wins']}/{row['replications']}"),
    ),
    "scores": (
        *WORLD,
        ("score", True, lambda row: number(row["score"])),
        ("kind", False, lambda row: row["kind"]),
        ("ratio to best", True, lambda row: number(row["ratio"])),
    ),
    "ranking": (
        POLICY,
        ("geometric mean", True, lambda row: number(row["geometric_mean"])),
        ("worst", True, lambda row: number(row["worst"])),
        ("worst environment", False, lambda row: row["worst_environment"]),
        ("environments", True, lambda row: f"{row['environments']}"),
    ),
    "timing": (
        *WORLD,
        ("arms", True, lambda row: f"{row['n_arms']}"),
        ("rounds", True, lambda row: f"{row['rounds']:,}"),
        ("seconds", True, lambda row: number(row["seconds"])),
        ("ns per round", True, lambda row: number(row["nanoseconds_per_round"])),
    ),
}
TITLES = {
    "scorecard": "Scorecard",
    "ranking": "Ratio to the best of each environment",
    "summary": "Final regret",
    "growth": "Growth of regret over the last decade of rounds",
    "scaling": "Growth of final regret with the horizon",
    "pairs": "Policies two by two, on common random numbers",
    "scores": "Scores",
    "timing": "Time in kernels",
    "cells": "Cells",
}


def shown(study: Study, name: str) -> Shown:
    """The table of that name, for readers."""
    if name == "scorecard":
        return scorecard(study)
    columns = COLUMNS[name]
    rows = getattr(study, name).to_dict("records")
    return Shown(
        f"{study.title}: {TITLES[name]}",
        tuple(header for header, _, _ in columns),
        [tuple(entry(row) for _, _, entry in columns) for row in rows],
        tuple(right for _, right, _ in columns),
        incomplete(study),
    )


def incomplete(study: Study) -> tuple[str, ...]:
    """A note on what is missing, if something is."""
    return () if study.complete else (f"Not complete: {study.status}. Numbers will change.",)


def step(ratio: float) -> tuple[str, str]:
    """The mark and the style of a ratio to the best."""
    if math.isnan(ratio):
        return " ", "dim"
    return next((mark, style) for end, mark, _, style in STEPS if ratio <= end)


def scorecard(study: Study) -> Shown:
    """Policies × environments: scores, marked and coloured by the ratio to the best of the environment."""
    scores = at_largest_horizon(study.scores)
    ranking = study.ranking.set_index("policy")
    card = study.scorecard
    environments = list(card.columns) if len(card.columns) <= WIDE else []
    entries = {(row["policy"], row["environment"]): row for row in scores.to_dict("records")}
    ended = set(study.summary.query("ended > 0")["cell"])
    rows, styles = [], {}
    for i, policy in enumerate(card.index):
        cells = [str(policy)]
        for j, environment in enumerate(environments, start=1):
            row = entries.get((policy, environment))
            text, ratio = (NOTHING, math.nan) if row is None else (number(row["score"]), row["ratio"])
            if row is not None and row["cell"] in ended:
                text = ENDED
            mark, styles[i, j] = step(ratio)
            cells.append(f"{text} {mark}".rstrip() if text == ENDED else f"{text} {mark}")
        place = ranking.loc[policy] if policy in ranking.index else None
        overall, worst = (math.nan, math.nan) if place is None else (place["geometric_mean"], place["worst"])
        styles[i, len(cells)], styles[i, len(cells) + 1] = step(overall)[1], step(worst)[1]
        rows.append((*cells, number(overall), number(worst)))
    minimax = set(scores.loc[scores["kind"] == MINIMAX, "environment"])
    heads = [f"{name}*" if name in minimax else str(name) for name in environments]
    header = ("policy", *heads, "geometric mean", "worst")
    numbers = (False, *[True] * (len(header) - 1))
    notes = _notes(set(card.columns), minimax) + incomplete(study)
    horizon = int(scores["horizon"].max())
    title = f"{study.title}: {TITLES['scorecard']} after {counted(horizon, 'round')}"
    return Shown(title, header, rows, numbers, notes, styles)


def _notes(environments: set[Any], minimax: set[Any]) -> tuple[str, ...]:
    """What the numbers of the scorecard mean."""
    overall = "Geometric mean and worst: ratio to the best over environments."
    if len(environments) > WIDE:
        return f"{len(environments)} environments; the table “scores” has them all.", overall
    kinds = ["Score: (R + K)/(R of the best + K), 1 is the best"] if environments - minimax else []
    kinds += ["* no fixed gaps: R/√(KT), about 1 is the minimax rate"] if minimax else []
    return "; ".join(kinds) + ".", LEGEND + ".", overall
