"""Two studies side by side: the same policy in the same world, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bothworlds.errors import StoreError
from bothworlds.report.numbers.statistics import mean_band
from bothworlds.report.text.tables import TextTable, format_number, plus_minus

if TYPE_CHECKING:
    from bothworlds.report.study import Study

COLUMNS = ["environment", "horizon", "policy", "mean_a", "mean_b", "difference", "low", "high", "paired"]


def compare(a: Study, b: Study) -> pd.DataFrame:
    """Final regret of two studies, cell by cell: see :meth:`Study.compare`."""
    rows = []
    there = _cells(b)
    for key, cell in _cells(a).items():
        if key in there:
            rows.append(_row(key, a, cell, b, there[key]))
    if not rows:
        raise StoreError(
            f"{a.path} and {b.path} have no cell in common: the labels of policies and environments, and the "
            f"horizon, must be equal; there are {_names(a)} here and {_names(b)} there"
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _names(study: Study) -> str:
    return ", ".join(f"“{name}”" for name in study.policies[:4]) + (", …" if len(study.policies) > 4 else "")


def _cells(study: Study) -> dict[tuple[str, int, str], int]:
    played = study.cells[study.cells["replications"] > 0]
    keys = zip(played["environment"], played["horizon"], played["policy"], strict=True)
    return dict(zip(((str(e), int(t), str(p)) for e, t, p in keys), played["cell"].astype(int), strict=True))


def _row(key: tuple[str, int, str], a: Study, cell_a: int, b: Study, cell_b: int) -> dict[str, Any]:
    ours, theirs = a.runs(cell_a), b.runs(cell_b)
    x, y = ours.regret[:, -1], theirs.regret[:, -1]
    paired = a.manifest["seed"] == b.manifest["seed"] and _world(a, cell_a) == _world(b, cell_b)
    if paired:
        _, i, j = np.intersect1d(ours.replications, theirs.replications, return_indices=True)
        paired = i.size > 0
        change = y[j] - x[i]
    if paired:
        difference = float(change.mean())
        low, high = (float(end[0]) for end in mean_band(change[:, None]))
    else:
        difference = float(y.mean() - x.mean())
        low, high = _welch(x, y)
    means = {"mean_a": float(x.mean()), "mean_b": float(y.mean())}
    ends = {"difference": difference, "low": low, "high": high, "paired": bool(paired)}
    return dict(zip(("environment", "horizon", "policy"), key, strict=True)) | means | ends


def _world(study: Study, cell: int) -> Any:
    return study.manifest["environments"][study.manifest["cells"][cell]["environment"]]["settings"]


def _welch(x: Any, y: Any) -> tuple[float, float]:
    """95% interval of the difference of two means of independent samples."""
    if min(x.size, y.size) < 2:
        return np.nan, np.nan
    from scipy import stats  # noqa: PLC0415 - a second to import

    interval = stats.ttest_ind(y, x, equal_var=False).confidence_interval(0.95)
    return float(interval.low), float(interval.high)


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
