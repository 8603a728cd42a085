"""Bounds of theory for the cells of a study, from what its manifest says of them: upper and lower ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from bothworlds import environments, policies
from bothworlds.errors import BothworldsError
from bothworlds.report.numbers.statistics import evenly
from bothworlds.theory import bound_curve, lower_bound

if TYPE_CHECKING:
    from bothworlds.report.study import Study

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
    means = [known_means(world) for world in built_worlds(manifest)]
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


# --- lower bounds ------------------------------------------------------------------------------------------


def built_worlds(manifest: dict[str, Any]) -> list[Any]:
    """The environments themselves; None for one of a Python file of the study, or of another package."""
    return [_built(world["settings"]) for world in manifest["environments"]]


def _built(settings: dict[str, Any]) -> Any:
    try:
        return environments.from_dict(settings)
    except (BothworldsError, OSError, KeyError):  # kinds and data files may be missing here
        return None


def known_means(world: Any) -> list[float] | None:
    """Mean losses, where they stay the same."""
    means = None if world is None else world.mean_losses()
    return None if means is None else means.tolist()


def lower_bounds(manifest: dict[str, Any]) -> dict[int, float]:
    """``constant``·log T of every cell whose world has one; see :func:`bothworlds.theory.lower_bound`."""
    constants = {
        number: lower_bound(world, horizon=1).constant
        for number, world in enumerate(built_worlds(manifest))
        if known_means(world) is not None
    }
    return {
        cell["cell"]: constants[cell["environment"]] * math.log(cell["horizon"])
        for cell in manifest["cells"]
        if cell["environment"] in constants
    }
