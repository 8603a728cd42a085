"""What the page says: its findings, and sections that a study may have beside those of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from bothworlds._words import counted
from bothworlds.report.decomposition import parts_of_runs
from bothworlds.report.numbers import at_largest_horizon
from bothworlds.report.page.charts import AXIS_LABEL
from bothworlds.report.styles import PAGE_THEME
from bothworlds.report.text import format_number

if TYPE_CHECKING:
    from bothworlds.report.study import Study


@dataclass(frozen=True)
class Section:
    """A section that another part of the package adds to the page, e.g. "Where did the regret go?".

    Text is split into paragraphs at empty lines; charts are Altair charts or Vega-Lite specifications with
    their data inside; tables are frames. Titles and text are escaped.
    """

    title: str
    text: str = ""
    charts: Sequence[tuple[str, Any]] = ()
    legend: Sequence[tuple[str, str]] = ()
    """Color and name of what the charts have in common, said once."""
    tables: Sequence[tuple[str, pd.DataFrame]] = ()


# --- what a study found, in sentences computed from its tables ---------------------------------------------


@dataclass(frozen=True)
class Findings:
    """Who is best overall and in the worst case; ``sentences`` say it to a reader."""

    best: str | None
    safest: str | None
    sentences: tuple[str, ...]


def findings(
    scores: pd.DataFrame,
    ranking: pd.DataFrame,
    pairs: pd.DataFrame,
    tails: pd.DataFrame,
    unplayed: int = 0,
) -> Findings:
    """What the scorecard says, at the largest horizon of each world, and which means one run makes.

    Nobody is called best while there are ``unplayed`` cells: the missing worlds may be the bad ones.
    """
    if unplayed:
        what = f"{counted(unplayed, 'cell')} {'is' if unplayed == 1 else 'are'} not played to the end"
        return Findings(
            None, None, (f"No policy is called best before all have played every world: {what}.",)
        )
    most = max(1, ranking["environments"].max())  # the others lack worlds
    ranked = ranking[ranking["environments"] == most]
    if ranked.empty:
        return Findings(
            None, None, ("No world has been played to its end by any policy: there is no ranking.",)
        )
    scores = at_largest_horizon(scores).dropna(subset=["ratio"])
    first: dict[Any, Any] = ranked.iloc[0].to_dict()
    best = str(first["policy"])
    if len(ranked) == 1:
        line = f"{best} is alone in this study: nothing to compare it with."
        return Findings(best, best, (line,))
    safest, sentence = _safest(ranked)
    sentences = [_leaders(ranked), sentence, _lowest(scores, pairs, best)]
    failure = _failure(scores)
    warnings = lifted_sentences(tails)
    return Findings(best, safest, (*sentences, *([failure] if failure else []), *warnings))


def _times(ratio: float) -> str:
    return f"{ratio:.2f}×"


def _first(ranked: pd.DataFrame, column: str) -> list[str]:
    """The policies with the smallest number of a column, in the order of the ranking."""
    return list(ranked["policy"][ranked[column] == ranked[column].min()])


def _listed(names: list[str]) -> str:
    """Names in a sentence; of many the first alone."""
    *before, last = names if len(names) <= 4 else [names[0], f"{len(names) - 1} others"]
    return f"{', '.join(before)} and {last}" if before else last


def _leaders(ranked: pd.DataFrame) -> str:
    """Who is best overall, or who share that place: so do all that have no regret above zero."""
    leaders = _first(ranked, "geometric_mean")
    first: dict[Any, Any] = ranked.iloc[0].to_dict()
    over = f"on average over {counted(first['environments'], 'world')} (geometric mean)"
    times = f"{_times(first['geometric_mean'])} the best of each world"
    after = ranked[~ranked["policy"].isin(leaders)]
    last = ""
    if not after.empty:
        second: dict[Any, Any] = after.iloc[0].to_dict()
        last = f"; next comes {second['policy']} with {_times(second['geometric_mean'])}"
    if len(leaders) == 1:
        return f"{leaders[0]} is best overall: {over} it is {times}{last}."
    return f"{_listed(leaders)} are equal overall: {over} they are {times}{last}."


def _safest(ranked: pd.DataFrame) -> tuple[str, str]:
    """Who has the best worst case, and a sentence that says so."""
    safest, leaders = _first(ranked, "worst"), _first(ranked, "geometric_mean")
    safe: dict[Any, Any] = ranked[ranked["policy"] == safest[0]].iloc[0].to_dict()
    where = f"never more than {_times(safe['worst'])} the best of a world (in “{safe['worst_environment']}”)"
    if safest == leaders:
        who = "It also has" if len(safest) == 1 else "They also have"
    else:
        who = f"{_listed(safest)} {'has' if len(safest) == 1 else 'have'}"
    return safest[0], f"{who} the best worst case: {where}."


def _lowest(scores: pd.DataFrame, pairs: pd.DataFrame, best: str) -> str:
    """In how many worlds it has the lowest regret, and in how many another one is clearly better."""
    mine = scores[scores["policy"] == best]
    lowest = int(mine["best"].sum())
    beaten = 0
    for environment, horizon in zip(mine["environment"], mine["horizon"], strict=True):
        here = pairs[(pairs["environment"] == environment) & (pairs["horizon"] == horizon)]
        lost = ((here["policy_a"] == best) & (here["low"] > 0)) | (
            (here["policy_b"] == best) & (here["high"] < 0)
        )
        beaten += bool(lost.any())
    text = f"{best} has the lowest mean regret in {lowest} of {counted(len(mine), 'world')}"
    if not beaten:
        return f"{text}, and in none is another policy better beyond chance (paired 95% intervals)."
    return f"{text}; in {beaten} another policy is better beyond chance (paired 95% intervals)."


def _failure(scores: pd.DataFrame) -> str | None:
    """The largest ratio of the scorecard, if it is worth a sentence."""
    finite = scores[scores["ratio"] < float("inf")]
    if finite.empty or float(finite["ratio"].max()) < 3.0:
        return None
    worst: dict[Any, Any] = finite.sort_values("ratio", kind="stable").iloc[-1].to_dict()
    return (
        f"The largest failure: {worst['policy']} in “{worst['environment']}”, "
        f"{format_number(float(worst['ratio']))}× the best."
    )


MOST_WARNINGS = 3


def lifted_sentences(tails: pd.DataFrame) -> list[str]:
    """Of every mean that one replication makes, which it is and how to look at it; the largest three."""
    rows = at_largest_horizon(tails)
    rows = rows[rows["lifted"]]
    rows = rows.loc[(rows["mean"] / rows["without_worst"]).sort_values(ascending=False, kind="stable").index]
    said = [
        f"One replication makes the mean of {row['policy']} in “{row['environment']}”: "
        f"{format_number(row['mean'])} with it, {format_number(row['without_worst'])} without "
        f"(number {row['worst_replication']}, regret {format_number(row['worst'])}; "
        f"study.replay({row['cell']}, {row['worst_replication']}) plays it again)."
        for row in rows.head(MOST_WARNINGS).to_dict("records")
    ]
    more = len(rows) - len(said)
    return said + ([f"So it is in {counted(more, 'other cell')}; see Tails."] if more else [])


# --- which policy lets you know soonest, at which regret? --------------------------------------------------

LOG = alt.Scale(type="log", nice=False)
ABOUT_EVIDENCE = """
At every checkpoint the evidence is looked at as a user of a bandit could have: which arms cannot be the
best? A run is decided at the first look at which no more arms are left than are the best (where these are
not known: one). Statements are wrong, ever, with probability at most 5%, although there are many looks.
Those for a stationary world are withheld once the drift alarm is raised; those for any world are about means
over all rounds, and need a policy that draws from known probabilities.
""".strip()


def evidence_section(study: Study) -> Section | None:
    """Curves of certainty, certainty against regret, and the table; None if there is no evidence."""
    if not study.has_evidence:
        return None
    frame = at_largest_horizon(study.evidence)
    found = frame[frame["world"] == "stationary"]
    sentences = [_soonest(str(name), rows) for name, rows in found.groupby("environment", sort=False)]
    curves = at_largest_horizon(study.certainty)
    charts = [
        ("Share of runs that are decided, in a stationary world, by round.", _curves(study, curves)),
        ("Certainty costs regret: decided at the end, by mean regret (if positive).", _scatter(study, found)),
    ]
    table = frame.drop(columns=["cell", "horizon", "replications"])
    caption = "What could be known, by what is assumed of the world; regret and width are means."
    text = "\n\n".join([ABOUT_EVIDENCE, *sentences])
    return Section("What could be known?", text, charts=charts, tables=[(caption, table)])


def _soonest(environment: str, rows: pd.DataFrame) -> str:
    known = rows.dropna(subset=["median_round"]).sort_values("median_round", kind="stable")
    if known.empty:
        return f"In “{environment}” no policy lets you know in half of its runs."
    first: dict[Any, Any] = known.iloc[0].to_dict()
    cheap: dict[Any, Any] = known.sort_values("regret", kind="stable").iloc[0].to_dict()
    text = (
        f"In “{environment}” {first['policy']} lets you know soonest: half of its runs are decided by round "
        f"{first['median_round']:,.0f}, at a regret of {format_number(first['regret'])} in the end."
    )
    if cheap["policy"] == first["policy"]:
        return text
    return (
        f"{text} The cheapest that lets you know in half of its runs is {cheap['policy']}: "
        f"round {cheap['median_round']:,.0f}, regret {format_number(cheap['regret'])}."
    )


def _color(study: Study) -> alt.Color:
    names = study.policies
    scale = alt.Scale(domain=names, range=[PAGE_THEME.color(i) for i in range(len(names))])
    return alt.Color("policy:N", title=None, scale=scale, legend=alt.Legend(orient="bottom", columns=3))


def _facet(frame: pd.DataFrame) -> alt.Facet:
    return alt.Facet("environment:N", title=None, columns=2, sort=list(frame["environment"].unique()))


def _curves(study: Study, frame: pd.DataFrame) -> Any:
    names = ["policy", "environment", "round", "decided"]
    rows = [dict(zip(names, row, strict=True)) for row in frame[names].itertuples(index=False)]
    lines = alt.Chart(alt.InlineData(values=rows)).mark_line(interpolate="step-after")
    return lines.encode(
        x=alt.X("round:Q", title="round", scale=LOG, axis=alt.Axis(format="~s")),
        y=alt.Y("decided:Q", title="decided", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
        color=_color(study),
        facet=_facet(frame),
    ).properties(width=270, height=170)


def _scatter(study: Study, frame: pd.DataFrame) -> Any:
    rows = [
        {name: row[name] for name in ("policy", "environment", "regret", "decided")}
        for row in frame.to_dict("records")
        if not math.isnan(row["regret"]) and row["regret"] > 0.0
    ]
    points = alt.Chart(alt.InlineData(values=rows)).mark_point(filled=True, size=70, opacity=1.0)
    return points.encode(
        x=alt.X("regret:Q", title="mean regret", scale=alt.Scale(type="log", nice=True)),
        y=alt.Y("decided:Q", title="decided", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
        color=_color(study),
        facet=_facet(frame),
    ).properties(width=270, height=170)


# --- where did the regret go? ------------------------------------------------------------------------------

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
    legend = [(PAGE_THEME.color(i), name) for i, name in enumerate(PART_NAMES.values())]
    return Section(
        "Where did the regret go?",
        ABOUT_PARTS,
        charts=charts,
        legend=[*legend, (PAGE_THEME.ink, "their sum")],
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
        domain=list(PART_NAMES.values()), range=[PAGE_THEME.color(i) for i in range(len(PART_NAMES))]
    )
    across = alt.X("round:Q", title="round", axis=alt.Axis(labelExpr=AXIS_LABEL, tickCount=5))
    data = alt.Chart(alt.InlineData(values=rows))
    areas = data.mark_area(opacity=0.85).encode(
        x=across,
        y=alt.Y("regret:Q", title="estimated regret", stack="zero", scale=alt.Scale(domain=ends)),
        color=alt.Color("part:N", scale=colors, legend=None),
    )
    total = data.mark_line(strokeWidth=1.5, color=PAGE_THEME.ink).encode(x=across, y="sum(regret):Q")
    return alt.layer(areas, total).properties(height=150)
