"""The numbers of a study: its tables as DataFrames, from its results, and bounds of theory. Nothing is drawn.

Rows follow the order of the experiment file. Beside this file: ``statistics`` over replications, ``scores``,
and the ``rows`` of charts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bothworlds import environments, policies
from bothworlds._jit import FloatArray
from bothworlds.errors import BothworldsError, StoreError
from bothworlds.inference.checkpoints import CheckpointEvidence
from bothworlds.report.folder import Results, Runs
from bothworlds.report.numbers.statistics import (
    LIFTED,
    UNKNOWN_GROWTH,
    Growth,
    Pairs,
    compare_pairs,
    conditional_value_at_risk,
    evenly,
    fit_growth,
    last_decade,
    mean_band,
    quantile_interval,
    trimmed_mean,
)
from bothworlds.theory import bound_curve, lower_bound

if TYPE_CHECKING:
    from bothworlds.report.study import Study

CELL_KEYS = ["cell", "policy", "environment", "horizon"]
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
NOT_FIXED = "not fixed"  # gaps
LAW_WEIGHTS = [
    "weight_bounded",
    "weight_log",
    "weight_sqrt",
    "weight_linear",
]  # in the order of statistics.LAWS


def cells(results: Results) -> pd.DataFrame:
    """One row per cell of the plan, whether or not the store has results of it."""
    manifest = results.manifest
    players, worlds = manifest["policies"], manifest["environments"]
    rows = []
    for cell in manifest["cells"]:
        runs = results.runs.get(cell["cell"])
        rows.append(
            {
                "cell": cell["cell"],
                "policy": players[cell["policy"]]["label"],
                "environment": worlds[cell["environment"]]["label"],
                "horizon": cell["horizon"],
                "n_arms": cell["n_arms"],
                "gaps": NOT_FIXED if cell["gaps"] is None else "fixed",
                "optimal": pd.NA if cell["optimal"] is None else len(cell["optimal"]),
                "replications": 0 if runs is None else runs.replications.size,
            }
        )
    frame = pd.DataFrame(rows).astype({"optimal": "Int64"})
    for side, entries in (("policy", players), ("environment", worlds)):
        for name in dict.fromkeys(name for entry in entries for name in entry["swept"]):
            values = [_swept_value(entries[cell[side]]["swept"].get(name)) for cell in manifest["cells"]]
            frame[f"{side}.{name}"] = pd.Series(values).infer_objects()
    return frame


def _swept_value(value: Any) -> Any:
    """A swept value as one entry of a column."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


def swept(cells: pd.DataFrame) -> list[str]:
    """The names of the columns that hold swept settings."""
    return [name for name in cells.columns if name.startswith(("policy.", "environment."))]


def at_largest_horizon(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the largest horizon of each environment, among those that the frame has.

    A study plays all environments at the same horizons, but the store of an unfinished one may lack the
    largest of them in some; these are reported at the largest that is there.
    """
    return frame[frame["horizon"] == frame.groupby("environment", sort=False)["horizon"].transform("max")]


def _present(results: Results, cells: pd.DataFrame) -> Iterator[tuple[dict[str, Any], Runs]]:
    """Key columns and runs of every cell that has results."""
    for row in cells[CELL_KEYS].to_dict("records"):
        runs = results.runs.get(row["cell"])
        if runs is not None:
            yield {str(key): value for key, value in row.items()}, runs


def _stack(parts: list[dict[str, Any]]) -> pd.DataFrame:
    """Parts with scalars and arrays as one frame; scalars are repeated."""
    columns = {}
    for name in parts[0]:
        sizes = [next(v.size for v in part.values() if isinstance(v, np.ndarray)) for part in parts]
        values = [part[name] for part in parts]
        if isinstance(values[0], np.ndarray):
            columns[name] = pd.Series(np.concatenate(values))
        else:
            columns[name] = pd.Series(values).repeat(sizes).reset_index(drop=True)
    return pd.DataFrame(columns)


def final(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """Regret and loss of every replication at the last checkpoint."""
    return _stack(
        [
            key
            | {
                "replication": runs.replications,
                "regret": runs.regret[:, -1],
                "clean_regret": runs.clean_regret[:, -1],
                "loss": runs.loss[:, -1],
            }
            for key, runs in _present(results, cells)
        ]
    )


def curves(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """Mean regret with its band, quantiles and the worst replication, at every checkpoint."""
    parts = []
    for key, runs in _present(results, cells):
        low, high = mean_band(runs.regret)
        quantiles = dict(
            zip(QUANTILES, np.quantile(runs.regret, list(QUANTILES.values()), axis=0), strict=True)
        )
        parts.append(
            key
            | {"round": runs.rounds, "mean": runs.regret.mean(axis=0), "low": low, "high": high}
            | {name: quantiles[name] for name in ("median", "q05", "q25", "q75", "q95")}
            | {"worst": runs.regret.max(axis=0)}
        )
    return _stack(parts)


def summary(results: Results, cells: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """The last row of every curve, with the worst replication, trimmed mean, spread, and lower bounds."""
    lower = lower_bounds(results.manifest)
    last = curves.drop_duplicates("cell", keep="last").set_index("cell").to_dict("index")
    rows = []
    for key, runs in _present(results, cells):
        regret, end = runs.regret[:, -1], last[key["cell"]]
        ended = int(np.isnan(regret).sum())
        rows.append(
            key
            | {name: end[name] for name in ("mean", "low", "high", "median", "q05", "q95", "worst")}
            | {
                "worst_replication": pd.NA if ended else int(runs.replications[np.argmax(regret)]),
                "trimmed": np.nan if ended else trimmed_mean(np.sort(regret)),
                "sd": float(np.std(regret, ddof=1)) if regret.size > 1 else np.nan,
                "replications": regret.size,
                "ended": ended,
                "lower_bound": lower.get(key["cell"], np.nan),
            }
        )
        possible = rows[-1]["lower_bound"]
        rows[-1]["within"] = rows[-1]["mean"] / possible if possible > 0.0 else np.nan
    return _with_swept(pd.DataFrame(rows).astype({"worst_replication": "Int64"}), cells)


def tails(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """What a mean hides: quantiles with intervals, CVaR, trimmed mean, and the mean without its worst."""
    rows = []
    for key, runs in _present(results, cells):
        regret = runs.regret[:, -1]
        if np.isnan(regret).any():
            continue  # a log ended
        ordered, worst = np.sort(regret), int(np.argmax(regret))
        mean = float(regret.mean())
        without = float(np.delete(regret, worst).mean()) if regret.size > 1 else np.nan
        (median_low, median_high), (q95_low, q95_high) = (quantile_interval(ordered, q) for q in (0.5, 0.95))
        rows.append(
            key
            | {"mean": mean, "median": float(np.median(regret))}
            | {"median_low": median_low, "median_high": median_high, "trimmed": trimmed_mean(ordered)}
            | {"q95": float(np.quantile(regret, 0.95)), "q95_low": q95_low, "q95_high": q95_high}
            | {"cvar": conditional_value_at_risk(regret), "worst": float(regret[worst])}
            | {"worst_replication": int(runs.replications[worst]), "without_worst": without}
            | {"lifted": bool(mean > 0.0 and mean - without >= LIFTED * abs(without))}
        )
    names = [
        *CELL_KEYS,
        "mean",
        "median",
        "median_low",
        "median_high",
        "trimmed",
        "q95",
        "q95_low",
        "q95_high",
    ]
    names += ["cvar", "worst", "worst_replication", "without_worst", "lifted"]
    return _with_swept(pd.DataFrame(rows, columns=names), cells)


def _with_swept(frame: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """The frame with the swept settings of its cells."""
    names = swept(cells)
    return frame.merge(cells[["cell", *names]], on="cell", how="left", validate="m:1") if names else frame


def _growth_columns(fitted: Growth) -> dict[str, Any]:
    return {
        "law": fitted.law,
        "exponent": fitted.exponent,
        "exponent_low": fitted.low,
        "exponent_high": fitted.high,
    } | dict(zip(LAW_WEIGHTS, fitted.weights, strict=True))


def growth(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """How the regret of every cell grows over its last decade."""
    rows = []
    for key, runs in _present(results, cells):
        window = last_decade(runs.rounds)
        rows.append(key | _growth_columns(fit_growth(runs.rounds[window], runs.regret[:, window])))
    return _with_swept(pd.DataFrame(rows), cells)


def scaling(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """How final regret grows from horizon to horizon; one row per policy and environment.

    Replications have the same randomness at all horizons, so they are resampled together.
    """
    columns = ["policy", "environment", "horizons", *_growth_columns(UNKNOWN_GROWTH)]
    rows = []
    several = cells if cells["horizon"].nunique() > 1 else cells.iloc[:0]
    for (environment, policy), group in several.groupby(["environment", "policy"], sort=False):
        ordered = group.sort_values("horizon")
        runs = [results.runs[cell] for cell in ordered["cell"] if cell in results.runs]
        horizons = np.array(
            [h for c, h in zip(ordered["cell"], ordered["horizon"], strict=True) if c in results.runs]
        )
        if len(runs) < 2:
            continue
        common = runs[0].replications
        for other in runs[1:]:
            common = np.intersect1d(common, other.replications)
        if common.size == 0:
            continue
        regret = np.column_stack([run.regret[np.isin(run.replications, common), -1] for run in runs])
        fitted = _growth_columns(fit_growth(horizons, regret))
        rows.append({"policy": policy, "environment": environment, "horizons": len(runs)} | fitted)
    return pd.DataFrame(rows, columns=columns)


def pairs(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """Policies two by two in every environment at every horizon."""
    parts = []
    for (environment, horizon), group in cells.groupby(["environment", "horizon"], sort=False):
        regret, present = _side_by_side(results, group)
        if len(group) < 2:
            continue
        found = compare_pairs(regret, present)
        labels = group["policy"].to_numpy()
        columns = found._asdict()
        a, b = columns.pop("a"), columns.pop("b")
        frame = pd.DataFrame(
            {
                "environment": environment,
                "horizon": horizon,
                "policy_a": labels[a],
                "policy_b": labels[b],
                **columns,
            }
        )
        parts.append(frame[frame["replications"] > 0])
    if parts:
        return pd.concat(parts, ignore_index=True)
    names = [name for name in Pairs._fields if name not in "ab"]
    return pd.DataFrame(columns=["environment", "horizon", "policy_a", "policy_b", *names])


def _side_by_side(results: Results, group: pd.DataFrame) -> tuple[FloatArray, Any]:
    """Final regret of the cells of one world, cells × replications, and which of them there are."""
    total = results.manifest["replications"]
    regret, present = np.full((len(group), total), np.nan), np.zeros((len(group), total), dtype=bool)
    for row, cell in enumerate(group["cell"]):
        if cell in results.runs:
            runs = results.runs[cell]
            regret[row, runs.replications] = runs.regret[:, -1]
            present[row, runs.replications] = True
    return regret, present


# --- evidence ----------------------------------------------------------------------------------------------

WORLDS = {"stationary": "", "any": "any_"}  # what is assumed, and how columns of a look begin
EVIDENCE_COLUMNS = (
    *("decided", "median_round", "regret_then", "wrong", "coverage", "width", "drift", "regret"),
)


def evidence(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """What could be known: two rows per cell, for a stationary world and, with probabilities, for any."""
    rows = []
    best = {row["cell"]: row["optimal"] for row in cells.to_dict("records")}
    for key, runs in _present(results, cells):
        for world, prefix in WORLDS.items():
            column = _look_columns(runs, prefix)
            if np.isnan(column["standing"]).all():
                continue  # no probabilities
            decided = _decided(column["standing"], best[key["cell"]])
            first, ever = decided.argmax(axis=1), decided[:, -1]
            known = np.where(ever, runs.rounds[first], np.inf)
            middle = float(np.median(known))
            then = runs.regret[np.arange(first.size), first][ever]
            rows.append(
                key
                | {
                    "world": world,
                    "decided": float(ever.mean()),
                    "median_round": middle if np.isfinite(middle) else np.nan,
                    "regret_then": float(np.median(then)) if then.size else np.nan,
                    "wrong": _ever(column["wrong"]),
                    "coverage": 1.0 - _ever(column["missed"]),
                    "width": float(column["width"][:, -1].mean()),
                    "drift": float(_look_columns(runs, "")["drift"][:, -1].mean()),
                    "regret": float(runs.regret[:, -1].mean()),
                    "replications": runs.replications.size,
                }
            )
    return pd.DataFrame(rows, columns=[*CELL_KEYS, "world", *EVIDENCE_COLUMNS, "replications"])


def certainty(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """The share of replications that are decided in a stationary world, at every checkpoint."""
    best = {row["cell"]: row["optimal"] for row in cells.to_dict("records")}
    return _stack(
        [
            key
            | {
                "round": runs.rounds,
                "decided": _decided(_look_columns(runs, "")["standing"], best[key["cell"]]).mean(axis=0),
            }
            for key, runs in _present(results, cells)
        ]
    )


def _look_columns(runs: Runs, prefix: str) -> dict[str, FloatArray]:
    assert runs.looks is not None
    found = dict(zip(CheckpointEvidence._fields, np.moveaxis(runs.looks, -1, 0), strict=True))
    return found | {name: found[f"{prefix}{name}"] for name in ("standing", "wrong", "missed", "width")}


def _decided(standing: FloatArray, optimal: Any) -> Any:
    """Up to which checkpoints there was a look at which no more arms were left than are the best."""
    return np.logical_or.accumulate(standing <= (1 if pd.isna(optimal) else int(optimal)), axis=1)


def _ever(flags: FloatArray) -> float:
    """The share of replications in which a flag was ever set; NaN where it is not known."""
    return float(np.fmax.reduce(flags, axis=1).mean())


def timing(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """Seconds in kernels, and nanoseconds per round, of every cell."""
    rows = [(job.cell, job.stop - job.first, seconds) for job, seconds in results.seconds.items()]
    jobs = pd.DataFrame(rows, columns=["cell", "count", "seconds"])
    total = jobs.groupby("cell", as_index=False)[["count", "seconds"]].sum()
    frame = cells.drop(columns="replications").merge(total, on="cell")
    frame["rounds"] = frame["horizon"] * frame["count"]
    frame["nanoseconds_per_round"] = 1e9 * frame["seconds"] / frame["rounds"]
    columns = [*CELL_KEYS, "n_arms", "rounds", "seconds", "nanoseconds_per_round"]
    return frame[columns + swept(cells)]


# --- bounds of theory, from what the manifest says of the cells: upper and lower ones ---------------------

BOUND_POINTS = 40  # of a bound's curve
IID_KINDS = ("bernoulli", "beta", "truncated-normal", "discrete", "minimax")
BOUND_COLUMNS = ["cell", "round", "bound", "name"]


def upper_bounds(study: Study, *, cells: Iterable[int] | None = None) -> pd.DataFrame | None:
    """Bounds of every cell that has any: ``cell``, ``round``, ``bound``, ``name``; None if no cell has.

    One of each kind, adversarial and self-bounding, under its own name: the one that is smallest at the
    horizon, of those that hold as numbers; if there is none, of those known up to a constant. The
    self-bounding ones take the gaps, the corruption and the spread of the cell's environment. Policies of a
    study's own Python files, and those without a theorem, have none.

    Parameters
    ----------
    cells:
        Only these; by default all.
    """
    manifest = study.manifest
    wanted = None if cells is None else set(cells)
    means = [known_means(world) for world in _built_worlds(manifest)]
    rows: list[dict[str, Any]] = []
    for cell in manifest["cells"]:
        world, known = manifest["environments"][cell["environment"]], means[cell["environment"]]
        if wanted is not None and cell["cell"] not in wanted:
            continue
        if world["kind"] in ("delayed", "switching-cost"):
            continue  # few theorems here cover late feedback or switching costs
        settings = world["settings"]
        if settings.get("slots") is not None:
            continue  # bounds of slots are those of bandits, and add up
        try:
            policy = policies.from_dict(manifest["policies"][cell["policy"]]["settings"])
            curve = bound_curve(
                policy,
                n_arms=cell["n_arms"],
                rounds=_rounds(cell["horizon"], cell["n_arms"]),
                gaps=cell["gaps"] if known is None else None,
                means=known,
                corruption=cell["corruption"] or 0.0,
                spread=cell["spread"],
                horizon=cell["horizon"],
                choose=settings.get("choose", 1),
                outside=settings.get("outside", 0.5),
                shows=settings.get("shows"),
            )
        except BothworldsError:
            continue  # nothing is stated about this policy here
        fits = [row for row in curve if world["kind"] in IID_KINDS or "iid" not in row["assumes"]]
        rows += [
            {"cell": cell["cell"]} | {key: row[key] for key in BOUND_COLUMNS[1:]} for row in _least(fits)
        ]
    return pd.DataFrame(rows, columns=BOUND_COLUMNS) if rows else None


def _rounds(horizon: int, n_arms: int) -> list[int]:
    marks = sorted({round(n_arms * (horizon / n_arms) ** (k / 200)) for k in range(201)})
    return [marks[i] for i in evenly(len(marks), BOUND_POINTS)]


def _least(curve: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one bound of each kind: explicit before O(·), then the smallest at the last round."""
    ends = {(row["kind"], row["name"]): (not row["explicit"], row["bound"]) for row in curve}
    kinds = dict.fromkeys(kind for kind, _ in ends)
    chosen = {min((key for key in ends if key[0] == kind), key=ends.__getitem__) for kind in kinds}
    return [row for row in curve if (row["kind"], row["name"]) in chosen]


def _built_worlds(manifest: dict[str, Any]) -> Iterator[Any]:
    """The environments themselves; None for one of a Python file of the study, or of another package."""
    for world in manifest["environments"]:
        try:
            yield environments.from_dict(world["settings"])
        except (BothworldsError, OSError, KeyError):  # kinds and data files may be missing here
            yield None


def known_means(world: Any) -> list[float] | None:
    """Mean losses, where they stay the same."""
    means = None if world is None else world.mean_losses()
    return None if means is None else means.tolist()


def lower_bounds(manifest: dict[str, Any]) -> dict[int, float]:
    """``constant``·log T of every cell whose world has one; see :func:`bothworlds.theory.lower_bound`."""
    constants = {
        number: lower_bound(world, horizon=1).constant
        for number, world in enumerate(_built_worlds(manifest))
        if known_means(world) is not None
    }
    return {
        cell["cell"]: constants[cell["environment"]] * math.log(cell["horizon"])
        for cell in manifest["cells"]
        if cell["environment"] in constants
    }


# --- two studies: the same policy in the same environment, before and after ---------------------------------

COMPARISON_COLUMNS = [
    "environment",
    "horizon",
    "policy",
    "mean_a",
    "mean_b",
    "difference",
    "low",
    "high",
    "paired",
]


def compare(a: Study, b: Study) -> pd.DataFrame:
    """Final regret of two studies, cell by cell: see :meth:`Study.compare`."""
    rows = []
    there = _played_cells(b)
    for key, cell in _played_cells(a).items():
        if key in there:
            rows.append(_comparison_row(key, a, cell, b, there[key]))
    if not rows:
        raise StoreError(
            f"{a.path} and {b.path} have no cell in common: the labels of policies and environments, and the "
            f"horizon, must be equal; there are {_some_policies(a)} here and {_some_policies(b)} there"
        )
    return pd.DataFrame(rows, columns=COMPARISON_COLUMNS)


def _some_policies(study: Study) -> str:
    return ", ".join(f"“{name}”" for name in study.policies[:4]) + (", …" if len(study.policies) > 4 else "")


def _played_cells(study: Study) -> dict[tuple[str, int, str], int]:
    played = study.cells[study.cells["replications"] > 0]
    keys = zip(played["environment"], played["horizon"], played["policy"], strict=True)
    return dict(zip(((str(e), int(t), str(p)) for e, t, p in keys), played["cell"].astype(int), strict=True))


def _comparison_row(
    key: tuple[str, int, str], a: Study, cell_a: int, b: Study, cell_b: int
) -> dict[str, Any]:
    ours, theirs = a.runs(cell_a), b.runs(cell_b)
    x, y = ours.regret[:, -1], theirs.regret[:, -1]
    paired = a.manifest["seed"] == b.manifest["seed"] and _environment_settings(
        a, cell_a
    ) == _environment_settings(b, cell_b)
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


def _environment_settings(study: Study, cell: int) -> Any:
    return study.manifest["environments"][study.manifest["cells"][cell]["environment"]]["settings"]


def _welch(x: Any, y: Any) -> tuple[float, float]:
    """95% interval of the difference of two means of independent samples."""
    if min(x.size, y.size) < 2:
        return np.nan, np.nan
    from scipy import stats  # noqa: PLC0415 - a second to import

    interval = stats.ttest_ind(y, x, equal_var=False).confidence_interval(0.95)
    return float(interval.low), float(interval.high)
