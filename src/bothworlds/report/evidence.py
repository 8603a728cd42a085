"""Which policy lets you know soonest, at which regret? The section of a study with ``evidence = true``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from bothworlds.report.charts.palette import PAGE_LOOK
from bothworlds.report.numbers.frames import at_largest_horizon
from bothworlds.report.page import Section
from bothworlds.report.text.tables import format_number

if TYPE_CHECKING:
    from bothworlds.report.study import Study

LOG = alt.Scale(type="log", nice=False)
ABOUT = """
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
    text = "\n\n".join([ABOUT, *sentences])
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
    scale = alt.Scale(domain=names, range=[PAGE_LOOK.color(i) for i in range(len(names))])
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
