"""Theory beside what was measured: bounds along the curves, and single runs taken apart as the proof does."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import altair as alt
import pandas as pd

from bothworlds import environments, policies
from bothworlds.errors import BothworldsError
from bothworlds.report.charts.palette import PAGE_LOOK
from bothworlds.report.charts.rows import evenly
from bothworlds.report.numbers.frames import at_largest_horizon
from bothworlds.report.page import Section
from bothworlds.report.study import Study
from bothworlds.theory import account_run, bound_curve, where_did_the_regret_go

BOUND_POINTS = 40  # of a bound's curve
IID_KINDS = ("bernoulli", "beta", "truncated-normal", "discrete", "minimax")
BOUND_COLUMNS = ["cell", "round", "bound", "name"]


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
        if world["kind"] == "delayed":
            continue  # no theorem here is about feedback that comes late
        try:
            policy = policies.from_dict(manifest["policies"][cell["policy"]]["settings"])
            curve = bound_curve(
                policy,
                n_arms=cell["n_arms"],
                rounds=_rounds(cell["horizon"], cell["n_arms"]),
                gaps=cell["gaps"],
                corruption=cell["corruption"] or 0.0,
                spread=cell["spread"],
                horizon=cell["horizon"],
                choose=world["settings"].get("choose", 1),
                shows=world["settings"].get("shows"),
            )
        except BothworldsError:
            continue  # nothing is stated about this policy here
        fits = [row for row in curve if world["kind"] in IID_KINDS or "iid" not in row["assumes"]]
        rows += [{"cell": cell["cell"], **row} for row in _smallest_explicit(fits)]
    return pd.DataFrame(rows, columns=BOUND_COLUMNS) if rows else None


def _rounds(horizon: int, n_arms: int) -> list[int]:
    marks = sorted({round(n_arms * (horizon / n_arms) ** (k / 200)) for k in range(201)})
    return [marks[i] for i in evenly(len(marks), BOUND_POINTS)]


def _smallest_explicit(curve: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One explicit bound, the smallest in each round; all those up to a constant."""
    explicit: dict[int, list[float]] = defaultdict(list)
    others = []
    for row in curve:
        if row["explicit"]:
            explicit[row["round"]].append(row["bound"])
        else:
            others.append({key: row[key] for key in BOUND_COLUMNS[1:]})
    smallest = [{"round": t, "bound": min(values), "name": "proved"} for t, values in explicit.items()]
    return smallest + others


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
<estimated losses, p − q̃>, which equals regret in expectation only.

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
        (f"Estimated regret in “{label}”, by its parts.", _stacked(rows))
        for label, rows in frame.groupby("environment", sort=False)
    ]
    last = frame[frame["round"] == frame.groupby("cell")["round"].transform("max")]
    table = last.pivot_table(
        index=["environment", "policy"], columns="part", values="regret", sort=False
    ).reset_index()[["environment", "policy", *PART_NAMES]]
    table["sum"] = table[list(PART_NAMES)].sum(axis=1)
    caption = "The parts at the end of the run."
    return Section("Where did the regret go?", ABOUT_PARTS, charts=charts, tables=[(caption, table)])


def _stacked(frame: pd.DataFrame) -> Any:
    rows = [
        {"policy": row.policy, "round": row.round, "part": PART_NAMES[str(row.part)], "regret": row.regret}
        for row in frame.itertuples()
    ]
    colors = alt.Scale(
        domain=list(PART_NAMES.values()), range=[PAGE_LOOK.color(i) for i in range(len(PART_NAMES))]
    )
    areas = alt.Chart(alt.InlineData(values=rows)).mark_area(opacity=0.85)
    return areas.encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(format="~s")),
        y=alt.Y("regret:Q", title="estimated regret", stack="zero"),
        color=alt.Color("part:N", title=None, scale=colors, legend=alt.Legend(orient="bottom", columns=2)),
        facet=alt.Facet("policy:N", title=None, columns=2, sort=list(frame["policy"].unique())),
    ).properties(width=270, height=150)
