"""The tournament that decides the default: candidates and anchors in families of worlds, and what was asked.

No policy is told the horizon, as in ``Bandit(arms)``. Worlds are *tuned* (candidates may have been shaped on
them) or for *confirmation* (nothing may be changed after they were played). A policy's regret in a world is
held against that of an anchor, by the family of the world:

* iid, low variance, rare events, late feedback: (R + K)/(R_Thompson + K), in the geometric mean;
* adaptive, corrupted, faked, switching: R/√(KT); of clean means where losses are corrupted or faked;
  adaptive adversaries read p, and meet only policies that draw from a p that is known;
* constrained, seasonal: R/R_LightBarrier;
* changes, drift: regret after the first change over that of discounted Thompson, and regret before it over
  that of LightBarrier.

± is one standard error, of ratios by bootstrap over runs.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import bothworlds as bw

E = bw.environments
Regrets = NDArray[np.float64]  # policies × runs

CANDIDATES: dict[str, bw.Policy] = {
    "Watched(InsuredSampler)": bw.Watched(bw.InsuredSampler()),
    "same, adaptive floor": bw.Watched(bw.InsuredSampler("adaptive")),
    "Watched(LightBarrier)": bw.Watched(bw.LightBarrier()),
    "InsuredSampler": bw.InsuredSampler(),
}
ANCHORS: dict[str, bw.Policy] = {
    "LightBarrier": bw.LightBarrier(),
    "Ito21": bw.Ito21(),
    "TsallisINF rv": bw.TsallisINF("rv"),
    "Thompson": bw.Thompson(),
    "DiscountedThompson": bw.DiscountedThompson(),
    "KLUCB": bw.KLUCB(),
    "GLRKLUCB": bw.GLRKLUCB(),
}
TO_THOMPSON = ("iid", "low variance", "rare events", "late feedback")
TO_BASE = ("constrained", "seasonal")
TO_ROOT = ("adaptive", "corrupted", "faked", "switching")
TO_TRACKER = ("changes", "drift")


class World(NamedTuple):
    """A world of the tournament."""

    family: str
    tuned: bool
    name: str
    environment: bw.Environment
    horizon: int = 100_000
    change: int = 0
    """The last round before the first change, where regret is counted from."""


def rates(*percent: float) -> list[float]:
    """Mean losses of arms with these success rates."""
    return [round(1.0 - each / 100.0, 6) for each in percent]


def swaps(means: list[float], every: int, horizon: int) -> bw.Environment:
    """All means move to the next arm every so many rounds: the best arm falls, another takes its place."""
    times = range(every, horizon, every)
    rows = [means[-k % len(means) :] + means[: -k % len(means)] for k in range(len(times) + 1)]
    return E.ChangePoints(means=rows, changes=list(times), benchmark="dynamic")


def once(before: list[float], after: list[float], last: int) -> bw.Environment:
    """One change."""
    return E.ChangePoints(means=[before, after], changes=[last], benchmark="dynamic")


def spread(low: float, high: float, n_arms: int) -> list[float]:
    """Equally spaced means."""
    return [float(each) for each in np.linspace(low, high, n_arms).round(4)]


def worlds() -> list[World]:
    """All worlds, family by family."""
    found: list[World] = []

    def family(name: str, tuned: list[tuple], confirmation: list[tuple]) -> None:
        for kind, rows in ((True, tuned), (False, confirmation)):
            found.extend(World(name, kind, *row) for row in rows)

    family(
        "iid",
        [
            ("K=2, gap .1", E.Bernoulli(n_arms=2, gap=0.1)),
            ("K=5, rates 10 and 5%", E.Bernoulli(means=rates(10, 5, 5, 5, 5))),
            ("K=8, gap ⅛", E.Bernoulli(n_arms=8, gap=0.125)),
            ("K=16, .2 to .8", E.Bernoulli(means=spread(0.2, 0.8, 16))),
            ("K=32, gap .3, T=10⁴", E.Bernoulli(n_arms=32, gap=0.3), 10_000),
        ],
        [
            ("K=2, .1 and .7", E.Bernoulli(means=[0.1, 0.7])),
            ("K=3, .3 .35 .5", E.Bernoulli(means=[0.3, 0.35, 0.5])),
            ("K=6, gap .06", E.Bernoulli(n_arms=6, gap=0.06)),
            ("K=12, .6 and .68", E.Bernoulli(means=[0.6, *[0.68] * 11])),
            ("K=24, 4 best, gap .2", E.Bernoulli(n_arms=24, gap=0.2, optimal=4)),
            ("K=64, gap .3", E.Bernoulli(n_arms=64, gap=0.3)),
            ("K=10, .4 to .7, T=10⁴", E.Bernoulli(means=spread(0.4, 0.7, 10)), 10_000),
            ("K=4, gap .05, T=10⁶", E.Bernoulli(n_arms=4, gap=0.05), 1_000_000),
        ],
    )
    family(
        "low variance",
        [("K=5, Beta, c=20", E.Beta(means=spread(0.4, 0.6, 5), concentration=20.0))],
        [
            ("K=4, Beta, c=50", E.Beta(means=[0.3, 0.33, 0.36, 0.4], concentration=50.0)),
            ("K=10, normal, σ=.1", E.TruncatedNormal(locations=spread(0.4, 0.7, 10), scale=0.1)),
        ],
    )
    family(
        "rare events",
        [("K=5, rates 1 and ½%", E.Bernoulli(means=rates(1, 0.5, 0.5, 0.5, 0.5)))],
        [
            ("K=8, rates 2, 1.5, 1%", E.Bernoulli(means=rates(2, 1.5, 1.5, 1, 1, 1, 1, 1))),
            ("K=6, losses 1 and 3%", E.Bernoulli(means=[0.01, *[0.03] * 5])),
        ],
    )
    family(
        "late feedback",
        [("K=8, gap ⅛, after 100", E.Delayed(E.Bernoulli(n_arms=8, gap=0.125), 100))],
        [
            (
                "K=5, gap .2, geometric 300",
                E.Delayed(E.Bernoulli(n_arms=5, gap=0.2), 300, law="geometric"),
            ),
            (
                "K=3, .3 .35 .5, heavy tail 50",
                E.Delayed(E.Bernoulli(means=[0.3, 0.35, 0.5]), 50, law="heavy"),
            ),
        ],
    )
    family(
        "constrained",
        [("K=8, gap ⅛", E.StochasticallyConstrained(n_arms=8, gap=0.125))],
        [
            ("K=4, gap .2", E.StochasticallyConstrained(n_arms=4, gap=0.2)),
            ("K=16, gap .1, growth 2", E.StochasticallyConstrained(n_arms=16, gap=0.1, growth=2.0)),
            ("K=5, gap .2, after 200", E.Delayed(E.StochasticallyConstrained(n_arms=5, gap=0.2), 200)),
        ],
    )
    season = E.Seasonal
    family(
        "seasonal",
        [
            ("K=8, ±.2, 5,000", season(means=[0.4375, *[0.5625] * 7], period=5000, amplitude=0.2)),
            ("K=5, rates 10 and 5% ±3", season(means=rates(10, 5, 5, 5, 5), period=5000, amplitude=0.03)),
        ],
        [
            ("K=4, ±.3, 500", season(means=[0.4, 0.5, 0.55, 0.6], period=500, amplitude=0.3)),
            (
                "K=6, odds ×½ to ×2, 10,000",
                season(means=spread(0.4, 0.65, 6), period=10_000, amplitude=math.log(2.0), scale="logit"),
            ),
            (
                "K=5, rates 8 and 4%, odds ×½ to ×2",
                season(means=rates(8, 4, 4, 4, 4), period=20_000, amplitude=math.log(2.0), scale="logit"),
            ),
        ],
    )
    clean = E.Bernoulli(n_arms=5, gap=0.2)
    family(
        "corrupted",
        [("K=8, flipped for 500", E.Corrupted(E.Bernoulli(n_arms=8, gap=0.125), 500))],
        [
            ("K=5, flipped for 1,000", E.Corrupted(clean, 1000)),
            ("K=5, targeted 1,000", E.Corrupted(clean, 1000, strategy="targeted")),
            ("K=5, adaptive 300", E.Corrupted(clean, 300, strategy="adaptive")),
        ],
    )
    shop = E.Bernoulli(means=rates(10, 5, 5, 5, 5))
    family(
        "faked",
        [("K=5, early", E.Faked(shop, arm=1, first=2000, last=4000, mean=0.7))],
        [
            ("K=5, late", E.Faked(shop, arm=2, first=30_000, last=33_000, mean=0.6)),
            ("K=8, early", E.Faked(E.Bernoulli(n_arms=8, gap=0.125), arm=3, first=1000, last=3000, mean=0.1)),
        ],
    )
    family(
        "adaptive",
        [
            ("favorite, K=8", E.FavoriteAttack(n_arms=8)),
            ("threshold, K=8", E.ThresholdAdversary(n_arms=8)),
            ("gem, K=2, θ=.01", E.Gem(n_arms=2, threshold=0.01)),
            ("minimax, K=8", E.Minimax(n_arms=8)),
        ],
        [
            ("favorite, K=12", E.FavoriteAttack(n_arms=12)),
            ("favorite, K=32", E.FavoriteAttack(n_arms=32)),
            ("threshold, K=5", E.ThresholdAdversary(n_arms=5)),
            ("threshold, K=20", E.ThresholdAdversary(n_arms=20)),
            ("gem, K=6, θ=.01", E.Gem(n_arms=6, threshold=0.01)),
            ("gem, K=3, θ=.1", E.Gem(n_arms=3, threshold=0.1)),
            ("minimax, K=16", E.Minimax(n_arms=16)),
        ],
    )
    family(
        "switching",
        [("K=8, gap .2, at T/2", E.Switching(n_arms=8, gap=0.2))],
        [
            ("K=6, gap .2, at T/10", E.Switching(n_arms=6, gap=0.2, period=90_000)),
            (
                "K=4, late bloomer",
                E.ChangePoints(means=[[0.5, 0.4, 0.5, 0.5], [0.1, 0.4, 0.5, 0.5]], changes=[30_000]),
            ),
        ],
    )
    family(
        "changes",
        [
            ("A: 10→2%, 5→10%", once(rates(10, 5, 5, 5, 5), rates(2, 10, 5, 5, 5), 20_000), 40_000, 20_000),
            (
                "B: 60→20%, 40→60%",
                once(rates(60, 40, 40, 40, 40), rates(20, 60, 40, 40, 40), 20_000),
                40_000,
                20_000,
            ),
            ("K=5, 40 and 60%, every 5,000", swaps([0.4, *[0.6] * 4], 5000, 100_000), 100_000, 5000),
        ],
        [
            (
                "K=4, 7,000: 50→30%, 40→55%",
                once(rates(50, 40, 40, 35), rates(30, 40, 55, 35), 7000),
                30_000,
                7000,
            ),
            (
                "K=4, 50,000: 30→10%, 20→30%",
                once(rates(30, 20, 20, 15), rates(10, 30, 20, 15), 50_000),
                100_000,
                50_000,
            ),
            (
                "K=12, 20,000: 8→3%, 5→8%",
                once(rates(8, *[5] * 11), rates(3, *[5] * 5, 8, *[5] * 5), 20_000),
                60_000,
                20_000,
            ),
            (
                "K=20, 20,000: 70→30%, 40→65%",
                once(rates(70, *[40] * 19), rates(30, *[40] * 9, 65, *[40] * 9), 20_000),
                60_000,
                20_000,
            ),
            (
                "K=5, the best two fall",
                once(rates(60, 55, 40, 40, 40), rates(20, 20, 40, 50, 40), 20_000),
                40_000,
                20_000,
            ),
            (
                "K=5, 10→2%, 5→10%, after 200",
                E.Delayed(once(rates(10, 5, 5, 5, 5), rates(2, 10, 5, 5, 5), 20_000), 200),
                40_000,
                20_000,
            ),
            ("K=6, 50 and 65%, every 7,300", swaps([0.35, *[0.5] * 5], 7300, 100_000), 100_000, 7300),
        ],
    )
    family(
        "drift",
        [
            (
                "K=5, swing 100,000",
                E.Drifting(n_arms=5, period=100_000, amplitude=0.2, benchmark="dynamic"),
                100_000,
            ),
            (
                "K=5, walk .002",
                E.RandomWalk(start=[0.5] * 5, step=0.002, low=0.2, high=0.8, benchmark="dynamic"),
                100_000,
            ),
        ],
        [
            (
                "K=3, swing 30,000",
                E.Drifting(n_arms=3, period=30_000, amplitude=0.2, benchmark="dynamic"),
                100_000,
            ),
            (
                "K=8, walk .0005",
                E.RandomWalk(start=[0.5] * 8, step=0.0005, low=0.2, high=0.8, benchmark="dynamic"),
                100_000,
            ),
        ],
    )
    return found


# --- playing --------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """The regrets of all policies in a world: after the change, and before it."""

    world: World
    after: Regrets
    before: Regrets


def play(world: World, runs: int, seed: int, jobs: int) -> Result:
    """Play the policies in a world: all, or where the adversary reads p those that draw from a known one."""
    marks = [world.change, world.horizon] if world.change else [world.horizon]
    policies = list((CANDIDATES | ANCHORS).values())
    playing = [k for k, each in enumerate(policies) if each.explicit or world.family != "adaptive"]
    run = bw.simulate(
        [policies[k] for k in playing],
        world.environment,
        horizon=world.horizon,
        replications=max(8, runs // 4) if world.horizon > 300_000 else runs,
        seed=seed,
        checkpoints=marks,
        jobs=jobs,
        tell_horizon=False,
    )
    played = run.clean_regret if world.family == "corrupted" else run.regret
    regret = np.full((len(policies), *played.shape[1:]), np.nan)
    regret[playing] = played
    before = regret[:, :, 0] if world.change else np.zeros(regret.shape[:2])
    return Result(world, regret[:, :, -1] - before, before)


# --- scores ---------------------------------------------------------------------------------------------

NAMES = [*CANDIDATES, *ANCHORS]
THOMPSON, BASE, TRACKER = (NAMES.index(each) for each in ("Thompson", "LightBarrier", "DiscountedThompson"))
Score = Callable[[list[Regrets], list[World]], float]


def to_thompson(row: int, quantile: float | None = None) -> Score:
    """The geometric mean over worlds of (R + K)/(R_Thompson + K)."""

    def score(regrets: list[Regrets], among: list[World]) -> float:
        logs = []
        for each, world in zip(regrets, among, strict=True):
            typical = each.mean(axis=1) if quantile is None else np.quantile(each, quantile, axis=1)
            k = world.environment.n_arms
            logs.append(math.log((max(0.0, typical[row]) + k) / (max(0.0, typical[THOMPSON]) + k)))
        return math.exp(float(np.mean(logs)))

    return score


def to_anchor(row: int, anchor: int) -> Score:
    """The geometric mean over worlds of the regret over that of an anchor."""

    def score(regrets: list[Regrets], among: list[World]) -> float:
        means = [each.mean(axis=1) for each in regrets]
        return math.exp(float(np.mean([math.log(max(1.0, m[row]) / max(1.0, m[anchor])) for m in means])))

    return score


def to_root(row: int) -> Score:
    """The largest R/√(KT)."""

    def score(regrets: list[Regrets], among: list[World]) -> float:
        scaled = [
            float(each[row].mean()) / math.sqrt(world.environment.n_arms * world.horizon)
            for each, world in zip(regrets, among, strict=True)
        ]
        return float(np.nanmax(scaled))

    return score


def worst(one: Score) -> Score:
    """The largest over worlds of a score of one world."""

    def score(regrets: list[Regrets], among: list[World]) -> float:
        return max(one([each], [world]) for each, world in zip(regrets, among, strict=True))

    return score


def with_error(score: Score, regrets: list[Regrets], among: list[World]) -> str:
    """A score ± its standard error, by bootstrap over runs (the same for all policies of a world)."""
    rng = np.random.default_rng(0)
    drawn = [
        score([each[:, rng.integers(each.shape[1], size=each.shape[1])] for each in regrets], among)
        for _ in range(200)
    ]
    return f"{score(regrets, among):.2f} ± {np.std(drawn):.2f}"


class Goal(NamedTuple):
    """What was asked of the default, on the worlds of some families."""

    text: str
    families: tuple[str, ...]
    score: Callable[[int], Score]
    before: bool = False


GOALS = [
    Goal("iid / Thompson ≤ 1.0", ("iid", "low variance", "rare events"), to_thompson),
    Goal(
        "q95 / Thompson ≤ 1.1",
        ("iid", "low variance", "rare events"),
        lambda row: to_thompson(row, 0.95),
    ),
    Goal("late / Thompson", ("late feedback",), to_thompson),
    Goal("worst R/√(KT) ≤ 1.6", TO_ROOT + TO_BASE, to_root),
    Goal("constrained / LightBarrier ≤ 1.2", ("constrained",), lambda row: worst(to_anchor(row, BASE))),
    Goal("seasons / LightBarrier ≤ 1.5", ("seasonal",), lambda row: worst(to_anchor(row, BASE))),
    Goal("after a change / tracker ≤ 1.0", ("changes",), lambda row: to_anchor(row, TRACKER)),
    Goal("worst after a change / tracker", ("changes",), lambda row: worst(to_anchor(row, TRACKER))),
    Goal("before it / LightBarrier ≤ 1.1", ("changes",), lambda row: to_anchor(row, BASE), before=True),
    Goal("drift / tracker", ("drift",), lambda row: to_anchor(row, TRACKER)),
]


def scorecard(results: list[Result], *, tuned: bool) -> list[str]:
    """Policies against goals, as lines of Markdown."""
    lines = ["| | " + " | ".join(NAMES) + " |", "|---|" + "---|" * len(NAMES)]
    for goal in GOALS:
        chosen = [r for r in results if r.world.family in goal.families and r.world.tuned == tuned]
        regrets = [r.before if goal.before else r.after for r in chosen]
        among = [r.world for r in chosen]
        if among:
            cells = [with_error(goal.score(row), regrets, among) for row in range(len(NAMES))]
            lines.append(f"| {goal.text} | " + " | ".join(cells) + " |")
    return lines


def table(results: list[Result], family: str) -> list[str]:
    """Mean ± standard error (95% quantile) in every world of a family, as lines of Markdown."""
    unit = {
        **dict.fromkeys(TO_ROOT, "R/√(KT)"),
        **dict.fromkeys(TO_TRACKER, "regret to the best arm of each round, from the first change on"),
    }.get(family, "regret")
    lines = [
        f"### {family.capitalize()}",
        "",
        f"{unit[0].upper()}{unit[1:]}, mean ± one standard error (95% quantile).",
        "",
    ]
    lines += ["| world | " + " | ".join(NAMES) + " |", "|---|" + "---|" * len(NAMES)]
    for result in results:
        world = result.world
        if world.family != family:
            continue
        root = family in TO_ROOT
        scale = math.sqrt(world.environment.n_arms * world.horizon) if root else 1.0
        digits = 2 if root else 0
        cells = []
        for each in result.after / scale:
            error = each.std(ddof=1) / math.sqrt(each.size)
            high = np.quantile(each, 0.95)
            shown = f"{each.mean():.{digits}f} ± {error:.{digits}f} ({high:.{digits}f})"
            cells.append("–" if np.isnan(high) else shown)
        mark = " (tuned)" if world.tuned else ""
        lines.append(f"| {world.name}{mark} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=40, help="runs in each world (40)")
    parser.add_argument("--seed", type=int, default=20261117)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--tuned", action="store_true", help="only the worlds that candidates may be tuned on"
    )
    parser.add_argument("--families", nargs="*", help="only these (all)")
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    chosen = [
        world
        for world in worlds()
        if (world.tuned or not options.tuned) and (not options.families or world.family in options.families)
    ]
    began = time.monotonic()
    results = []
    for k, world in enumerate(chosen):
        print(
            f"{k + 1} of {len(chosen)}, {time.monotonic() - began:.0f} s: {world.family}, {world.name}",
            flush=True,
        )
        results.append(play(world, options.replications, options.seed + 1000 * k, options.jobs))
    lines = [
        "# The tournament",
        "",
        f"`make tournament` wrote this page: {len(chosen)} worlds, {options.replications} runs in each (fewer"
        " where T = 10⁶), T = 100,000 unless it says otherwise. No policy is told the horizon.",
        "",
        *(__doc__ or "").split("\n\n", 1)[1].strip().splitlines(),
        "",
    ]
    for title, tuned in (("On the worlds for confirmation", False), ("On the tuned worlds", True)):
        if any(result.world.tuned == tuned for result in results):
            lines += [f"## {title}", "", *scorecard(results, tuned=tuned), ""]
    lines += ["## World by world", ""]
    for family, _ in itertools.groupby(chosen, key=lambda world: world.family):
        lines += [*table(results, family), ""]
    print("\n" + "\n".join(lines))
    if options.out:
        options.out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
