"""Makes a page with a chart for every policy and environment, when the documentation is built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import bothworlds as bw
from bothworlds import environments, policies
from bothworlds.report.figures.figure import contents, figure

E = environments
HORIZON, REPLICATIONS = 5_000, 16

# settings for kinds that have no defaults
POLICY_EXAMPLES: dict[str, bw.Policy] = {
    "ftrl": bw.FTRL(bw.LogBarrier(), constants="light"),
    "restarting": bw.Restarting(bw.TsallisINF(), every=1000),
    "watched": bw.Watched(bw.LightBarrier()),
    "linear-spm": bw.LinearSPM(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))),
    "exp2": bw.EXP2(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))),
    "tsallis-inf-oracle": bw.TsallisINFOracle(gaps=(0.0, 0.2, 0.2, 0.2), alpha=0.5),
}
BASE = E.Bernoulli(n_arms=4, gap=0.2)
BESIDE = (bw.LightBarrier(), bw.UCB1())  # in every chart, in the same colors


def synthetic_log(rows: int) -> dict[str, np.ndarray]:
    """What a logger with fixed propensities would have written down."""
    random = np.random.default_rng(2)
    propensities, means = np.array([0.3, 0.3, 0.2, 0.2]), np.array([0.6, 0.4, 0.4, 0.4])
    actions = random.choice(4, size=rows, p=propensities)
    rewards = (random.random(rows) < means[actions]).astype(float)
    return {"actions": actions, "rewards": rewards, "propensities": propensities[actions]}


LOG = synthetic_log(6 * HORIZON)
ENVIRONMENT_EXAMPLES: dict[str, E.Environment] = {
    "bernoulli": BASE,
    "beta": E.Beta(means=(0.4, 0.6, 0.6, 0.6)),
    "truncated-normal": E.TruncatedNormal(locations=(0.3, 0.6, 0.6, 0.6)),
    "discrete": E.Discrete(values=(0.0, 0.5, 1.0), probabilities=((0.4, 0.4, 0.2), (0.2, 0.4, 0.4))),
    "minimax": E.Minimax(n_arms=4),
    "stochastically-constrained": E.StochasticallyConstrained(n_arms=4, gap=0.2),
    "corrupted": E.Corrupted(BASE, 200, strategy="targeted"),
    "switching": E.Switching(n_arms=4, gap=0.2),
    "drifting": E.Drifting(n_arms=4, period=4000),
    "change-points": E.ChangePoints(
        means=[(0.4, 0.6, 0.6, 0.6), (0.8, 0.4, 0.6, 0.6)], changes=[HORIZON // 2], benchmark="dynamic"
    ),
    "random-walk": E.RandomWalk(start=(0.5, 0.5, 0.5, 0.5), step=0.01, benchmark="dynamic"),
    "seasonal": E.Seasonal(means=(0.4, 0.6, 0.6, 0.6), period=1000, amplitude=0.3),
    "faked": E.Faked(BASE, arm=1, first=500, last=1000),
    "gem": E.Gem(n_arms=4),
    "threshold-adversary": E.ThresholdAdversary(n_arms=4),
    "favorite-attack": E.FavoriteAttack(n_arms=4),
    "deterministic-killer": E.DeterministicKiller(n_arms=4),
    "loss-table": E.LossTable(np.random.default_rng(1).random((HORIZON, 4)) * [0.8, 1.0, 1.0, 1.0]),
    "logged": E.Logged(LOG["actions"], LOG["rewards"], LOG["propensities"]),
    "alternating": E.Alternating(n_arms=4, period=200),
    "switching-cost": E.SwitchingCost(BASE, cost=0.1),
    "sleeping": E.Sleeping(BASE, awake=0.7),
    "delayed": E.Delayed(BASE, 100, law="geometric"),
}


def write(folder: Path, *, charts: bool) -> None:
    """Write all pages into ``folder``, with charts or, in a hurry, without."""
    folder.mkdir(parents=True, exist_ok=True)
    home(folder, charts=charts)
    class_pages(folder)
    for name in policies.names():
        kind = policies.get(name)
        policy = POLICY_EXAMPLES[name] if name in POLICY_EXAMPLES else kind()
        shown = {repr(other).removesuffix("()"): other for other in (*BESIDE, policy)}
        picture = chart(shown, BASE) if charts else None
        page(folder, "policy", name, kind, picture, f"`{policy!r}` in `{BASE!r}`")
    for name in environments.names():
        kind = environments.get(name)
        picture = None
        world = ENVIRONMENT_EXAMPLES.get(name)
        if world is not None and charts:
            picture = chart({type(other).__name__: other for other in BESIDE}, world)
        page(folder, "environment", name, kind, picture, f"`{world!r}`")


HOME = {
    "calm": E.Bernoulli(n_arms=8, gap=0.125),
    "means jump, gaps stay": E.StochasticallyConstrained(n_arms=8, gap=0.125),
    "another arm becomes the best": E.ChangePoints(
        means=[(0.3, *[0.5] * 7), (0.7, 0.3, *[0.5] * 6)], changes=[10_000], benchmark="dynamic"
    ),
}
HOME_HORIZON = 20_000


def home(folder: Path, *, charts: bool) -> None:
    """The picture of the first page: three worlds, and who survives them."""
    text = ""
    if charts:
        players = {
            "default": bw.Bandit(2).policy,
            "Tsallis-INF": bw.TsallisINF(),
            "UCB1": bw.UCB1(),
            "Thompson": bw.Thompson(),
        }
        shown = []
        for title, world in HOME.items():
            run = bw.simulate(players, world, horizon=HOME_HORIZON, replications=REPLICATIONS, seed=1)
            shown += [replace(panel, title=title) for panel in contents(run.study(), "regret")]
        figure(shown, width="7.5in", columns=3, titles=True).savefig(folder / "home.svg")
        text = (
            f"```{{figure}} gallery/home.svg\n:alt: regret of four policies in three worlds\n\n"
            f"Regret over {HOME_HORIZON:,} rounds with eight arms: mean of {REPLICATIONS} replications, "
            "with its 95% interval.\n```\n"
        )
    (folder / "home.inc").write_text(text, encoding="utf-8")


CLASS_PAGES = {
    "bothworlds": "Bandit Bandits Pull Pulls DecisionLog Run Trace Study Solution LogBarrier Tsallis Shannon "
    "Hybrid",
    "bothworlds.theory": "Account Bound Bounds Complexity LowerBound TermTable",
    "bothworlds.inference": "Evidence Evaluation Interval Comparison ConfidenceSequence",
    "bothworlds.report.decomposition": "Decomposition",
    "bothworlds.experiments.experiment": "Experiment",
}


def class_pages(folder: Path) -> None:
    """A page for each public class that is neither a policy nor an environment."""
    for module, names in CLASS_PAGES.items():
        for name in names.split():
            options = "".join(f"   :{option}:\n" for option in ("members", "inherited-members", "no-index"))
            text = f"# {name}\n\n```{{eval-rst}}\n.. autoclass:: {module}.{name}\n{options}```\n"
            (folder / f"class-{name}.md").write_text(text, encoding="utf-8")


def chart(shown: dict[str, bw.Policy], world: E.Environment) -> Figure:
    """Mean regret over time with its band."""
    run = bw.simulate(shown, world, horizon=HORIZON, replications=REPLICATIONS, seed=1)
    return run.plot(width="5.8in")


def page(folder: Path, what: str, name: str, kind: type[Any], picture: Any, caption: str) -> None:
    """One page: its chart, where there is one, and its docstring."""
    text = f"# {kind.__name__}\n\nRegistry name: `{name}`.\n\n"
    if picture is not None:
        picture.savefig(folder / f"{name}.svg")
        text += (
            f"```{{figure}} {name}.svg\n:alt: regret over {HORIZON:,} rounds\n\n"
            f"{caption}: mean regret of {REPLICATIONS} replications, with its 95% interval.\n```\n\n"
        )
    module = "bothworlds.environments" if what == "environment" else "bothworlds"
    text += f"```{{eval-rst}}\n.. autoclass:: {module}.{kind.__name__}\n   :no-index:\n```\n"
    (folder / f"{what}-{name}.md").write_text(text, encoding="utf-8")
