"""Draws the charts of "What can I conclude from my bandit's data?" when the documentation is built."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import bothworlds as bw
from bothworlds.inference import state as evidence_state
from bothworlds.inference.checkpoints import Truth, evidence_at_checkpoint
from bothworlds.inference.comparisons import AnyWorld, StationaryWorld
from bothworlds.inference.sums import Sums
from bothworlds.simulation.series import play_series

E = bw.environments
HORIZON, RUNS, ERROR = 20_000, 40, 0.05
MARKS = np.unique(np.geomspace(50, HORIZON, 70).astype(np.int64))
STEPS = 100  # of a trend
NAIVE, STATIONARY, ALARMED, ANY = "z-test", "stationary", "stationary, until the drift alarm", "any world"
COLORS = {NAIVE: "#CC3311", STATIONARY: "#E69F00", ALARMED: "#56B4E9", ANY: "#0072B2"}
POLICIES = {
    "uniform": (bw.Uniform(), "#999999"),
    "UCB1": (bw.UCB1(), "#CC3311"),
    "Tsallis-INF": (bw.TsallisINF(), "#009E73"),
    "LightBarrier": (bw.LightBarrier(), "#0072B2"),
    "default": (bw.policies.DEFAULT, "#000000"),
    "Thompson": (bw.Thompson(), "#E69F00"),
}


def z_test(sums: Sums) -> bool:
    """Do the means of two arms differ, as a test says that is made for a single look?"""
    n, mean = sums.answers, sums.rewards / np.maximum(sums.answers, 1.0)
    deviation = math.sqrt(float(np.sum(mean * (1.0 - mean) / np.maximum(n, 1.0))))
    return bool(n.min() >= 30 and abs(mean[0] - mean[1]) > 1.96 * deviation > 0.0)


def fooled(world: E.Environment) -> np.ndarray:
    """Runs × looks × tests: has one of two arms, equal in every round, been said to be better so far?"""
    run = bw.simulate(bw.LightBarrier(), world, horizon=HORIZON, replications=RUNS, seed=1, trace=True)
    found = np.zeros((RUNS, MARKS.size, len(COLORS)), dtype=bool)
    for k, trace in enumerate(run.traces[0]):
        kept, before = evidence_state.init_evidence(2, True), 0
        p = trace.p[np.arange(HORIZON), trace.arms]
        for mark, t in enumerate(MARKS):
            part = slice(before, t)
            evidence_state.take_in(kept, trace.arms[part], 1.0 - trace.losses[part], p[part])
            seen = evidence_at_checkpoint(kept, Truth(None, None, still=False), error=ERROR)
            stationary, any_world = (one(kept.sums).out(ERROR).any() for one in (StationaryWorld, AnyWorld))
            found[k, mark] = z_test(kept.sums), stationary, seen.standing < 2.0, any_world
            before = t
    return np.logical_or.accumulate(found, axis=1)


def claims(world: E.Environment) -> alt.Chart:
    """The share of runs in which one of two equal arms has been said to be better, so far."""
    shares = fooled(world).mean(axis=0)
    rows = [
        {"round": int(t), "test": test, "share": float(shares[mark, k])}
        for mark, t in enumerate(MARKS)
        for k, test in enumerate(COLORS)
    ]
    return steps(rows, "share", "test", COLORS, 'says "better"')


def peeking() -> alt.Chart:
    """Two arms that are equal, and stand still."""
    return claims(E.Bernoulli(means=[0.5, 0.5]))


def simpson() -> alt.Chart:
    """Two arms that are equal in every round, and become better together."""
    means = [(level, level) for level in np.linspace(0.7, 0.3, STEPS)]
    ends = [HORIZON * k // STEPS for k in range(1, STEPS)]
    return claims(E.ChangePoints(means=means, changes=ends))


def certainty() -> alt.Chart:
    """How soon the best of two arms is known, and at which regret."""
    world = E.Bernoulli(means=[0.5, 0.6])
    curves, ends = [], []
    for name, (policy, _) in POLICIES.items():
        series = play_series(
            policy, world, horizon=HORIZON, replications=range(RUNS), seed=1, marks=MARKS, evidence=True
        )
        assert series.looks is not None
        decided = np.logical_or.accumulate(series.looks[:, :, 0] <= 1.0, axis=1).mean(axis=0)
        curves += [
            {"round": int(t), "policy": name, "share": float(share)}
            for t, share in zip(MARKS, decided, strict=True)
        ]
        regret = float(series.measured[:, -1, 0].mean())
        ends.append({"policy": name, "regret": regret, "share": float(decided[-1])})
    colors = {name: color for name, (_, color) in POLICIES.items()}
    points = alt.Chart(alt.InlineData(values=ends)).encode(
        x=alt.X("regret:Q", title="mean regret in the end", scale=alt.Scale(type="log", domain=[10, 1200])),
        y=alt.Y("share:Q", title="known in the end", axis=alt.Axis(format="%")),
        color=alt.Color("policy:N", scale=alt.Scale(domain=list(colors), range=list(colors.values()))),
    )
    return steps(curves, "share", "policy", colors, "known") | points.mark_point(
        filled=True, size=80, opacity=1.0
    ).properties(width=230, height=200)


def steps(rows: list[dict[str, Any]], value: str, by: str, colors: dict[str, str], title: str) -> alt.Chart:
    """Shares of runs over rounds."""
    scale = alt.Scale(domain=list(colors), range=list(colors.values()))
    widths = [5 if name == STATIONARY else 2 for name in colors]  # others may lie upon it
    lines = alt.Chart(alt.InlineData(values=rows)).mark_line(interpolate="step-after")
    return lines.encode(
        x=alt.X(
            "round:Q", title="round", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~s")
        ),
        y=alt.Y(f"{value}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
        color=alt.Color(f"{by}:N", title=None, scale=scale, legend=alt.Legend(orient="bottom", columns=3)),
        strokeWidth=alt.StrokeWidth(
            f"{by}:N", scale=alt.Scale(domain=list(colors), range=widths), legend=None
        ),
    ).properties(width=330, height=200)


CHARTS = {"peeking": peeking, "simpson": simpson, "certainty": certainty}
CAPTIONS = {
    "peeking": "Two equal arms, rate 0.5: the share of runs in which one has been said to be better so far.",
    "simpson": "Two arms, equal in every round, whose common rate rises from 0.3 to 0.7: the same share.",
    "certainty": "Rates 0.5 and 0.4: how soon the better arm is known, and at which regret.",
}


def write(folder: Path, *, charts: bool) -> None:
    """Write a fragment for each chart into ``folder``: the figure, or, in a hurry, only its caption."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, said in CAPTIONS.items():
        caption = f"{said} {RUNS} runs."
        text = f"*{caption}*\n"
        if charts:
            CHARTS[name]().save(str(folder / f"evidence-{name}.svg"))
            text = f"```{{figure}} gallery/evidence-{name}.svg\n:alt: {caption}\n\n{caption}\n```\n"
        (folder / f"evidence-{name}.inc").write_text(text, encoding="utf-8")
