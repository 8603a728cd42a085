"""The numbers behind the charts: from the frames of a study to plain rows.

A panel is one environment at one horizon, with a cell per policy. A sweep is regret against a setting that
the study varies. Rows are dicts of plain values: what a chart of :mod:`bothworlds.report.page.charts` draws,
what the page embeds, and what the tests check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError
from bothworlds.report.numbers import at_largest_horizon, swept
from bothworlds.report.numbers.statistics import evenly

if TYPE_CHECKING:
    from bothworlds.report.study import Study

AxisScale = Literal["linear", "log"]
ChartRow = dict[str, Any]
CellColumns = dict[str, NDArray[Any]]
MOST_LISTED = 12  # names in a message


@dataclass(frozen=True)
class Panel:
    """One environment at one horizon."""

    number: int
    environment: str
    horizon: int
    title: str
    cells: Mapping[str, int]  # policy → cell, in the order of the file
    largest: bool  # whether the study plays this environment no longer


def panels(cells: pd.DataFrame) -> list[Panel]:
    """The panels of a study, in the order of its file; the horizon is in the title if there are several."""
    several = cells["horizon"].nunique() > 1
    largest = set(at_largest_horizon(cells)["cell"])
    found = []
    for number, (_, group) in enumerate(cells.groupby(["environment", "horizon"], sort=False)):
        environment, horizon = str(group["environment"].iloc[0]), int(group["horizon"].iloc[0])
        title = f"{environment}, T = {horizon:,}" if several else environment
        where = dict(zip(group["policy"].astype(str), group["cell"].astype(int), strict=True))
        found.append(Panel(number, environment, horizon, title, where, group["cell"].iloc[0] in largest))
    return found


def choose_panels(study: Study, environment: str | int | None, *, optimal: bool = False) -> list[Panel]:
    """A panel by its number, its title or its environment (then at the largest horizon); None: all of these.

    With ``optimal``, all are those whose optimal arms are known, if there are some.

    Raises
    ------
    InvalidArgumentError
        If the study has no such environment.
    """
    found = panels(study.cells)
    if environment is None:
        largest = [panel for panel in found if panel.largest]
        cells = study.manifest["cells"]
        known = [panel for panel in largest if cells[next(iter(panel.cells.values()))]["optimal"]]
        return (known or largest) if optimal else largest
    if isinstance(environment, int) or (isinstance(environment, str) and environment.isdecimal()):
        number = _check.integer("environment", int(environment), at_least=1)
        if number > len(found):
            raise InvalidArgumentError(
                "environment", number, f"in 1..{len(found)}", fix=_panels_in_words(found)
            )
        return [found[number - 1]]
    titled = [panel for panel in found if panel.title == environment]
    titled = titled or [panel for panel in found if panel.environment == environment and panel.largest]
    if not titled:
        raise InvalidArgumentError(
            "environment", environment, "an environment of the study", fix=_panels_in_words(found)
        )
    return titled[:1]


def _panels_in_words(found: Sequence[Panel]) -> str:
    listed = "; ".join(f"{panel.number + 1} {panel.title}" for panel in found[:MOST_LISTED])
    return f"by number or title: {listed}{' …' if len(found) > MOST_LISTED else ''}"


def short_labels(labels: Sequence[str], most: int) -> list[str]:
    """Labels of at most so many letters, shortened in the middle; longer only if two would be the same.

    >>> short_labels(["FTRL Tsallis β=0.3 light", "FTRL Tsallis β=0.35 light", "UCB1"], 16)
    ['FTRL Tsa…3 light', 'FTRL Tsa…5 light', 'UCB1']
    >>> short_labels(["FTRL Tsallis β=0.3 long name light", "FTRL Tsallis β=0.5 long name light"], 16)
    ['F…3 long name light', 'F…5 long name light']
    """
    longest = max(map(len, labels), default=0)
    for length in range(most, longest):
        for head in sorted(range(1, length - 1), key=lambda head: abs(head - length // 2)):
            cut = [_cut_out(label, length, head) for label in labels]
            if len(set(cut)) == len(set(labels)):
                return cut
    return list(labels)


def _cut_out(label: str, length: int, head: int) -> str:
    """The first ``head`` letters and the last ones, if all of them are more than ``length``."""
    if len(label) <= length:
        return label
    return f"{label[:head].rstrip()}…{label[len(label) - (length - head - 1) :].lstrip()}"


def by_cell(frame: pd.DataFrame) -> Mapping[int, CellColumns]:
    """The columns of every cell, split once: searching a frame a thousand times is slow."""
    cells = frame["cell"].to_numpy()
    order = np.argsort(cells, kind="stable")
    numbers, starts = np.unique(cells[order], return_index=True)
    rows = np.split(order, starts[1:])
    names = [str(name) for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name])]
    values = {name: frame[name].to_numpy() for name in names}
    return {
        int(cell): {name: values[name][chosen] for name in names}
        for cell, chosen in zip(numbers, rows, strict=True)
    }


def by_world(frame: pd.DataFrame) -> dict[tuple[str, int], pd.DataFrame]:
    """The rows of every environment and horizon."""
    groups = (group for _, group in frame.groupby(["environment", "horizon"], sort=False))
    return {(str(g["environment"].iloc[0]), int(g["horizon"].iloc[0])): g for g in groups}


CURVE_COLUMNS = ("mean", "low", "high", "q05", "q95")


def curve_rows(
    curves: Mapping[int, CellColumns], panel: Panel, policies: Sequence[str], *, points: int = 100
) -> list[ChartRow]:
    """Regret over time: ``policy``, ``round``, mean, band, quantiles; ``mark`` says where a marker stands.

    At most ``points`` checkpoints per policy. Markers are sparse and staggered from policy to policy, so
    that they do not hide one another. Checkpoints without regret (a log that ended) are left out.
    """
    rows: list[ChartRow] = []
    for policy, cell in panel.cells.items():
        if cell not in curves:
            continue  # a partial study
        columns = curves[cell]
        known = np.flatnonzero(~np.isnan(columns["mean"]))
        kept = known[evenly(known.size, points)]
        every = max(1, kept.size // 7)
        offset = policies.index(policy) * 2 % every
        values = [columns[name][kept].tolist() for name in ("round", *CURVE_COLUMNS)]
        for i, numbers in enumerate(zip(*values, strict=True)):
            row: ChartRow = {"policy": policy}
            row.update(zip(("round", *CURVE_COLUMNS), numbers, strict=True))
            row["mark"] = int(i % every == offset)
            rows.append(row)
    return rows


def bound_rows(bounds: pd.DataFrame | None, panel: Panel, *, points: int = 40) -> list[ChartRow]:
    """Bounds of theory beside the curves: ``policy``, ``name``, ``round``, ``bound``."""
    if bounds is None:
        return []
    rows: list[ChartRow] = []
    for policy, cell in panel.cells.items():
        for name, frame in bounds[bounds["cell"] == cell].groupby("name", sort=False):
            finite = frame[np.isfinite(frame["bound"])].sort_values("round")
            kept = finite.iloc[evenly(len(finite), points)]
            for t, bound in zip(kept["round"], kept["bound"], strict=True):
                rows.append({"policy": policy, "name": str(name), "round": int(t), "bound": float(bound)})
    return rows


BOX_COLUMNS = ("q05", "q25", "median", "q75", "q95")


def final_rows(final: Mapping[int, CellColumns], panel: Panel, *, points: int = 64) -> list[ChartRow]:
    """Final regret of the replications: a row per replication (``regret``) and one per policy with quantiles.

    With more than ``points`` replications, evenly spaced order statistics stand for all; the quantiles are
    those of all replications.
    """
    rows: list[ChartRow] = []
    for policy, cell in panel.cells.items():
        if cell not in final:
            continue
        regret = final[cell]["regret"]
        values = np.sort(regret[~np.isnan(regret)])
        if not values.size:
            continue
        quantiles = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
        rows.append({"policy": policy, "regret": None, **dict(zip(BOX_COLUMNS, quantiles, strict=True))})
        for i in evenly(len(values), points):
            rows.append({"policy": policy, "regret": float(values[i])} | dict.fromkeys(BOX_COLUMNS))
    return rows


def probability_rows(
    frame: pd.DataFrame,
    *,
    gaps: Sequence[float] | None = None,
    optimal: Iterable[int] | None = None,
    most: int = 8,
    points: int = 60,
) -> list[ChartRow]:
    """Arm probabilities of one run: ``round``, ``arm`` (its name), ``order``, ``p``.

    Arms are ordered by gap where there are gaps, else by their average probability; optimal arms come first
    and are named so. More than ``most`` arms: the last of them are added up as "other arms".
    """
    n_arms = int(frame["arm"].max()) + 1
    ordered = frame.sort_values(["round", "arm"])
    table = ordered["probability"].to_numpy(dtype=float).reshape(-1, n_arms)
    kept = evenly(len(table), points)
    rounds, table = ordered["round"].to_numpy()[::n_arms][kept].tolist(), table[kept]
    best = set(optimal or ())
    keys = table.mean(axis=0) * -1.0 if gaps is None else np.asarray(gaps)
    arms = sorted(range(n_arms), key=lambda a: (a not in best, keys[a]))
    shown = arms if n_arms <= most else arms[: most - 1]
    parts = [(f"arm {a} (optimal)" if a in best else f"arm {a}", table[:, a]) for a in shown]
    if len(shown) < n_arms:
        parts.append((f"{n_arms - len(shown)} other arms", table[:, arms[len(shown) :]].sum(axis=1)))
    return [
        {"round": t, "arm": name, "order": order, "p": p}
        for order, (name, column) in enumerate(parts)
        for t, p in zip(rounds, column.tolist(), strict=True)
    ]


def pair_rows(pairs: pd.DataFrame, *, reference: str | None = None) -> list[ChartRow]:
    """Differences of final regret on common random numbers in one world, in both directions.

    ``difference`` = regret of ``policy`` − regret of ``reference``, with its interval; ``wins`` is the share
    of replications in which ``policy`` had the smaller regret; ``p_value`` is corrected for the number of
    pairs of this world. Only pairs with ``reference`` if it is given.
    """
    rows: list[ChartRow] = []
    for pair in pairs.to_dict("records"):
        a, b, n = str(pair["policy_a"]), str(pair["policy_b"]), int(pair["replications"])
        difference, low, high = float(pair["difference"]), float(pair["low"]), float(pair["high"])
        wins, losses = int(pair["wins"]) / n, (n - int(pair["wins"]) - int(pair["ties"])) / n
        p_value = float(pair["p_holm"])
        names = ("reference", "policy", "difference", "low", "high", "p_value", "wins")
        for row in (
            (b, a, difference, low, high, p_value, wins),
            (a, b, -difference, -high, -low, p_value, losses),
        ):
            if reference in (None, row[0]):
                rows.append(dict(zip(names, row, strict=True)))
    return rows


@dataclass(frozen=True)
class Sweep:
    """Regret against one swept setting: a view per world (or per policy family), a series per line."""

    setting: str  # "policy.beta", "environment.gap", "horizon"
    rows: list[ChartRow]  # view, series, value, mean, low, high

    def scale(self) -> AxisScale:
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


def _without_setting(settings: Any, name: str) -> Any:
    """The settings with every leaf of this name removed, however deep."""
    if isinstance(settings, dict):
        return {key: _without_setting(value, name) for key, value in settings.items() if key != name}
    return settings


def families(entries: Sequence[dict[str, Any]], name: str) -> dict[str, str]:
    """Label → family: entries that differ in nothing but ``name``, named by the words they share."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        if name in entry["swept"]:
            rest = {
                "kind": entry["kind"],
                "settings": _without_setting(entry["settings"], name.rsplit(".", maxsplit=1)[-1]),
            }
            groups.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(entry["label"])
    found: dict[str, str] = {}
    for labels in groups.values():
        if len(labels) > 1:
            title = common_words(labels) or labels[0]
            title = title if title not in found.values() else labels[0]
            found |= dict.fromkeys(labels, title)
    return found


def find_sweeps(summary: pd.DataFrame, manifest: dict[str, Any]) -> list[Sweep]:
    """Every numeric setting that takes two or more values in this study."""
    table = summary[summary["mean"].notna()]
    found = []
    for column in [*swept(table), "horizon"]:
        values = pd.to_numeric(table[column], errors="coerce")
        if values.nunique() < 2:
            continue
        side, _, name = column.partition(".")
        family = families(manifest["policies" if side == "policy" else "environments"], name)
        rows = [
            row
            for value, record in zip(values, table.to_dict("records"), strict=True)
            if pd.notna(value) and (row := _sweep_row(side, float(value), record, family)) is not None
        ]
        if rows:
            found.append(Sweep(column, rows))
    return found


def _sweep_row(side: str, value: float, record: dict[Any, Any], family: dict[str, str]) -> ChartRow | None:
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
