"""What is proved, beside what was measured: the bounds of a study's policies along their curves."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd

from bothworlds import policies
from bothworlds.errors import BothworldsError
from bothworlds.report.charts.info import evenly
from bothworlds.report.study import Study
from bothworlds.theory import bound_curve

POINTS = 40  # of a bound's curve
IID = ("bernoulli", "beta", "truncated-normal", "discrete", "minimax")
COLUMNS = ["cell", "round", "bound", "name"]


def bounds(study: Study) -> pd.DataFrame | None:
    """Bounds of every cell that has any: ``cell``, ``round``, ``bound``, ``name``; None if no cell has.

    Of the explicit ones, which hold as numbers, the smallest of each round is kept, under one name; those
    that are known up to a constant keep their own. The self-bounding ones take the gaps, the corruption and
    the spread of the cell's environment. Policies of a study's own Python files, and those without a
    theorem, have none.
    """
    manifest = study.manifest
    rows: list[dict[str, Any]] = []
    for cell in manifest["cells"]:
        world = manifest["environments"][cell["environment"]]
        try:
            policy = policies.from_dict(manifest["policies"][cell["policy"]]["settings"])
            curve = bound_curve(
                policy,
                cell["n_arms"],
                _rounds(cell["horizon"], cell["n_arms"]),
                gaps=cell["gaps"],
                corruption=cell["corruption"] or 0.0,
                spread=cell["spread"],
                horizon=cell["horizon"],
            )
        except BothworldsError:
            continue  # nothing is stated about this policy here
        fits = [row for row in curve if world["kind"] in IID or "iid" not in row["assumes"]]
        rows += [{"cell": cell["cell"], **row} for row in _thinned(fits)]
    return pd.DataFrame(rows, columns=COLUMNS) if rows else None


def _rounds(horizon: int, n_arms: int) -> list[int]:
    marks = sorted({round(n_arms * (horizon / n_arms) ** (k / 200)) for k in range(201)})
    return [marks[i] for i in evenly(len(marks), POINTS)]


def _thinned(curve: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One explicit bound, the smallest in each round; all those up to a constant."""
    explicit: dict[int, list[float]] = defaultdict(list)
    others = []
    for row in curve:
        if row["explicit"]:
            explicit[row["round"]].append(row["bound"])
        else:
            others.append({key: row[key] for key in COLUMNS[1:]})
    smallest = [{"round": t, "bound": min(values), "name": "proved"} for t, values in explicit.items()]
    return smallest + others
