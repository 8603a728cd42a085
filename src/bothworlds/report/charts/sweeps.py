"""How regret depends on what a study sweeps: a setting of policies, of environments, or the horizon."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from bothworlds.report.charts.info import Row


@dataclass(frozen=True)
class Sweep:
    """Regret against one swept setting: a view per world (or per policy family), a series per line."""

    setting: str  # "policy.beta", "environment.gap", "horizon"
    rows: list[Row]  # view, series, value, mean, low, high

    def scale(self) -> Literal["linear", "log"]:
        """Log for positive values that span more than a factor of 20."""
        values = [row["value"] for row in self.rows]
        return "log" if min(values) > 0 and max(values) > 20 * min(values) else "linear"

    def views(self) -> list[str]:
        """The views, in the order of the file."""
        return list(dict.fromkeys(row["view"] for row in self.rows))

    def series(self) -> list[str]:
        """The lines, in the order of the file."""
        return list(dict.fromkeys(row["series"] for row in self.rows))


def common_words(labels: Sequence[str]) -> str:
    """The words that all labels share, in their order.

    >>> common_words(["FTRL Tsallis β=0.3 light", "FTRL Tsallis β=0.5 light"])
    'FTRL Tsallis light'
    """
    shared = set.intersection(*(set(label.split()) for label in labels))
    return " ".join(word for word in labels[0].split() if word in shared).strip(" ,;()")


def _without(settings: Any, name: str) -> Any:
    """The settings with every leaf of this name removed, however deep."""
    if isinstance(settings, dict):
        return {key: _without(value, name) for key, value in settings.items() if key != name}
    return settings


def families(entries: Sequence[dict[str, Any]], name: str) -> dict[str, str]:
    """Label → family: entries that differ in nothing but ``name``, named by the words they share."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        if name in entry["swept"]:
            rest = {
                "kind": entry["kind"],
                "settings": _without(entry["settings"], name.rsplit(".", maxsplit=1)[-1]),
            }
            groups.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(entry["label"])
    found: dict[str, str] = {}
    for labels in groups.values():
        if len(labels) > 1:
            title = common_words(labels) or labels[0]
            title = title if title not in found.values() else labels[0]
            found |= dict.fromkeys(labels, title)
    return found


def sweeps(summary: pd.DataFrame, manifest: dict[str, Any]) -> list[Sweep]:
    """Every numeric setting that takes two or more values in this study."""
    table = summary[summary["mean"].notna()]
    found = []
    swept = [c for c in table.columns if c.startswith(("policy.", "environment."))]
    for column in [*swept, "horizon"]:
        values = pd.to_numeric(table[column], errors="coerce")
        if values.nunique() < 2:
            continue
        side, _, name = column.partition(".")
        family = families(manifest["policies" if side == "policy" else "environments"], name)
        rows = [
            row
            for value, record in zip(values, table.to_dict("records"), strict=True)
            if pd.notna(value) and (row := _row(side, float(value), record, family)) is not None
        ]
        if rows:
            found.append(Sweep(column, rows))
    return found


def _row(side: str, value: float, record: dict[Any, Any], family: dict[str, str]) -> Row | None:
    policy, environment, horizon = record["policy"], record["environment"], record["horizon"]
    if side == "policy":
        if policy not in family:
            return None
        series, view = family[policy], f"{environment}, T = {horizon:,}"
    elif side == "environment":
        if environment not in family:
            return None
        series, view = policy, f"{family[environment]}, T = {horizon:,}"
    else:
        series, view = policy, environment
    numbers = {name: float(record[name]) for name in ("mean", "low", "high")}
    return {"view": str(view), "series": str(series), "value": value} | numbers
