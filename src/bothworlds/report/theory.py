"""Theory beside what was measured: bounds along the curves, and single runs taken apart as the proof does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt
import pandas as pd

from bothworlds import environments, policies
from bothworlds.errors import BothworldsError
from bothworlds.report.charts.draw import AXIS_LABEL
from bothworlds.report.charts.palette import PAGE_LOOK
from bothworlds.report.charts.rows import evenly
from bothworlds.report.numbers.frames import at_largest_horizon
from bothworlds.report.numbers.lower import built_worlds, known_means
from bothworlds.report.page import Section
from bothworlds.report.study import Study
from bothworlds.theory import account_run, bound_curve, where_did_the_regret_go

BOUND_POINTS = 40  # of a bound's curve
IID_KINDS = ("bernoulli", "beta", "truncated-normal", "discrete", "minimax")
BOUND_COLUMNS = ["cell", "round", "bound", "name"]


def bounds(study: Study, *, cells: Iterable[int] | None = None) -> pd.DataFrame | None:
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
            continue  # hardly a theorem here is about feedback that comes late, or about switches
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


# --- where did the regret go? ---------------------------------------------------------------------------

LARGEST_RUN = 4_000_000  # rounds times arms of a run that is taken apart: 100 MB
PART_NAMES = {
    "stability": "suboptimal arms: stability",
    "penalty": "suboptimal arms: penalty",
    "optimal": "optimal arms (never above 0 in theory)",
    "residual": "residual",
    "preprocessing": "preprocessing",
}
ABOUT_PARTS = """
The estimated regret of one run of each policy, split as in the paper's proof: what keeping suboptimal
arms stable costs, what their growing rates cost, the optimal arms (which the paper shows to cost
nothing), the residual of moving weight between the two groups, and the preprocessing of the comparator.
The run is replication 0 of the study, played again; the parts add up to its estimated regret, the sum of
⟨estimated losses, p − q̃⟩, which equals regret in expectation only.

Shown where the optimal arms are known and the policy is a follow-the-regularized-leader one.
""".strip()


def parts_of_runs(study: Study) -> pd.DataFrame:
    """Replication 0 of every cell that can be taken apart: cell, policy, environment, round, part, regret.

    It is played again, with the seed of the study, so it is the same run to the bit.
    """
    manifest = study.manifest
    frames = []
    for number in at_largest_horizon(study.cells)["cell"]:
        cell = manifest["cells"][number]
        player, world = manifest["policies"][cell["policy"]], manifest["environments"][cell["environment"]]
        optimal = cell["optimal"]
        if cell["horizon"] * cell["n_arms"] > LARGEST_RUN or not optimal:
            continue
        try:
            taken = account_run(
                policies.from_dict(player["settings"]),
                environments.from_dict(world["settings"]),
                horizon=cell["horizon"],
                seed=manifest["seed"],
                tell_horizon=manifest["tell_horizon"],
                optimal=optimal,
            )
        except BothworldsError:
            continue  # another kind of policy, or feedback that comes late
        rows = where_did_the_regret_go(taken)
        labels = {"cell": cell["cell"], "policy": player["label"], "environment": world["label"]}
        frames.append(pd.DataFrame([labels | row for row in rows]))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def regret_section(study: Study) -> Section | None:
    """Where did the regret go? A stacked chart per world, and a table; None if no cell can be taken apart."""
    frame = parts_of_runs(study)
    if frame.empty:
        return None
    charts = [
        (f"{policy} in {environment}", _stacked(rows, ends))
        for environment, world in frame.groupby("environment", sort=False)
        for ends in [_ends(world)]
        for policy, rows in world.groupby("policy", sort=False)
    ]
    last = frame[frame["round"] == frame.groupby("cell")["round"].transform("max")]
    table = last.pivot_table(
        index=["environment", "policy"], columns="part", values="regret", sort=False
    ).reset_index()[["environment", "policy", *PART_NAMES]]
    table["sum"] = table[list(PART_NAMES)].sum(axis=1)
    caption = "The parts at the end of the run."
    legend = [(PAGE_LOOK.color(i), name) for i, name in enumerate(PART_NAMES.values())]
    return Section(
        "Where did the regret go?",
        ABOUT_PARTS,
        charts=charts,
        legend=[*legend, (PAGE_LOOK.ink, "their sum")],
        tables=[(caption, table)],
    )


def _ends(world: pd.DataFrame) -> list[float]:
    """The lowest and the highest point of the stacks of a world: its policies are drawn on one scale."""
    heaps = world.assign(below=world["regret"].clip(upper=0.0), above=world["regret"].clip(lower=0.0))
    sums = heaps.groupby(["policy", "round"])[["below", "above"]].sum()
    return [float(sums["below"].min()), float(sums["above"].max())]


def _stacked(frame: pd.DataFrame, ends: list[float]) -> Any:
    rows = [
        {"round": row.round, "part": PART_NAMES[str(row.part)], "regret": row.regret}
        for row in frame.itertuples()
    ]
    colors = alt.Scale(
        domain=list(PART_NAMES.values()), range=[PAGE_LOOK.color(i) for i in range(len(PART_NAMES))]
    )
    across = alt.X("round:Q", title="round", axis=alt.Axis(labelExpr=AXIS_LABEL, tickCount=5))
    data = alt.Chart(alt.InlineData(values=rows))
    areas = data.mark_area(opacity=0.85).encode(
        x=across,
        y=alt.Y("regret:Q", title="estimated regret", stack="zero", scale=alt.Scale(domain=ends)),
        color=alt.Color("part:N", scale=colors, legend=None),
    )
    total = data.mark_line(strokeWidth=1.5, color=PAGE_LOOK.ink).encode(x=across, y="sum(regret):Q")
    return alt.layer(areas, total).properties(height=150)
