"""Draws the charts of "The proof, watched" when the documentation is built: the run of its examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import bothworlds as bw

COLORS = {
    "stability": "#0072B2",
    "penalty": "#56B4E9",
    "residual": "#E69F00",
    "optimal": "#009E73",
    "preprocessing": "#999999",
}


def account() -> bw.theory.Account:
    """The account of the run that the page describes."""
    world = bw.environments.Bernoulli(means=[0.3, 0.3, 0.5, 0.6, 0.7])
    policy = bw.FTRL(bw.Tsallis(beta=0.7), constants="light")
    run = bw.simulate(policy, world, horizon=2000, seed=1, trace=True)
    return bw.theory.account(run.traces[0][0], optimal=[0, 1])


def terms(a: bw.theory.Account) -> alt.Chart:
    """The two sides of the decomposition, summed up over time."""
    sides = {
        "total − benchmark": a.terms["total"] - a.terms["benchmark"],
        **{name: a.terms[name] for name in ("suboptimal", "optimal", "residual")},
    }
    rows = [
        {"round": t, "term": name, "sum": float(value)}
        for name, values in sides.items()
        for t, value in zip(range(10, 2001, 10), np.cumsum(values)[9::10], strict=True)
    ]
    colors = ["#000000", COLORS["stability"], COLORS["optimal"], COLORS["residual"]]
    color = alt.Color("term:N", title=None, scale=alt.Scale(domain=list(sides), range=colors))
    lines = alt.Chart(alt.InlineData(values=rows)).mark_line()
    return lines.encode(x=alt.X("round:Q"), y=alt.Y("sum:Q", title="sum up to the round"), color=color)


def optimal(a: bw.theory.Account) -> alt.Chart:
    """The regret on optimal arms of every round, on a logarithmic scale of its negative."""
    values = a.terms["optimal"]
    rows = [{"round": t + 1, "gain": float(-values[t])} for t in range(len(a))]
    points = alt.Chart(alt.InlineData(values=rows)).mark_circle(size=6, color=COLORS["optimal"])
    title = "− regret on optimal arms"
    return points.encode(
        x=alt.X("round:Q", scale=alt.Scale(type="log", domain=[1, len(a)], nice=False)),
        y=alt.Y("gain:Q", title=title, scale=alt.Scale(type="log")),
    )


def parts(a: bw.theory.Account) -> alt.Chart:
    """Where did the regret go? The five parts, stacked."""
    color = alt.Color("part:N", title=None, scale=alt.Scale(domain=list(COLORS), range=list(COLORS.values())))
    areas = alt.Chart(alt.InlineData(values=bw.theory.where_did_the_regret_go(a))).mark_area(opacity=0.85)
    return areas.encode(x=alt.X("round:Q"), y=alt.Y("regret:Q", stack=True), color=color)


CAPTIONS = {
    "terms": "The two sides of the decomposition: the three colored curves add up to the black one.",
    "optimal": "Regret on optimal arms, a point for every round: its negative, on a logarithmic scale.",
    "parts": "Where did the regret go? Parts below the axis are gains.",
}


def write(folder: Path, *, charts: bool) -> None:
    """Write a fragment for each chart into ``folder``: the figure, or, in a hurry, only its caption."""
    folder.mkdir(parents=True, exist_ok=True)
    draw: dict[str, Any] = {"terms": terms, "optimal": optimal, "parts": parts}
    a = account() if charts else None
    for name, caption in CAPTIONS.items():
        text = f"*{caption}*\n"
        if a is not None:
            draw[name](a).properties(width=480, height=240).save(str(folder / f"proof-{name}.svg"))
            text = f"```{{figure}} gallery/proof-{name}.svg\n:alt: {caption}\n\n{caption}\n```\n"
        (folder / f"proof-{name}.inc").write_text(text, encoding="utf-8")
