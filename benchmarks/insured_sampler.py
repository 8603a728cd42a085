"""The insured sampler beside Thompson sampling and LightBarrier, on iid losses and against adversaries.

On iid losses the score of a policy is the geometric mean over worlds of (R + K)/(R_Thompson + K), R its mean
regret; elsewhere it is R/√(KT). ± is one standard error; that of a geometric mean is a bootstrap over runs.
``--horizon-known`` tells the policies T. ``--speed`` prints the time per round instead, the default's too.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from numpy.typing import NDArray

import bothworlds as bw

worlds = bw.environments
POLICIES = [bw.InsuredSampler(), bw.InsuredSampler("adaptive"), bw.LightBarrier()]
NAMES = ["insured", "adaptive floor", "LightBarrier"]

BERNOULLI = {
    "K=2, .1/.7": worlds.Bernoulli(means=[0.1, 0.7]),
    "K=2, gap .1": worlds.Bernoulli(n_arms=2, gap=0.1),
    "K=3, .4/.5/.6": worlds.Bernoulli(means=[0.4, 0.5, 0.6]),
    "K=5, .05 to .1 (rates)": worlds.Bernoulli(means=[0.05, 0.07, 0.08, 0.09, 0.1]),
    "K=8, gap .125": worlds.Bernoulli(n_arms=8, gap=0.125),
    "K=8, gap .4": worlds.Bernoulli(n_arms=8, gap=0.4),
    "K=10, .9 and above": worlds.Bernoulli(means=[0.9, *np.linspace(0.93, 0.99, 9).round(4).tolist()]),
    "K=16, .2 to .8": worlds.Bernoulli(means=np.linspace(0.2, 0.8, 16).round(4).tolist()),
    "K=16, 4 best, gap .2": worlds.Bernoulli(n_arms=16, gap=0.2, optimal=4),
    "K=32, gap .3": worlds.Bernoulli(n_arms=32, gap=0.3),
}
QUIET = {
    "K=5, Beta, c=20": worlds.Beta(means=[0.4, 0.45, 0.5, 0.55, 0.6], concentration=20.0),
    "K=10, normal, σ=.1": worlds.TruncatedNormal(
        locations=np.linspace(0.4, 0.7, 10).round(4).tolist(), scale=0.1
    ),
}
ADVERSARIES = {
    "constrained, K=8": worlds.StochasticallyConstrained(n_arms=8, gap=0.125),
    "favorite, K=8": worlds.FavoriteAttack(n_arms=8),
    "favorite, K=32": worlds.FavoriteAttack(n_arms=32),
    "threshold, K=8": worlds.ThresholdAdversary(n_arms=8),
    "minimax, K=8": worlds.Minimax(n_arms=8),
    "switch at T/2, K=8": worlds.Switching(n_arms=8, gap=0.2),
}


def final(
    policies: list[bw.Policy], world: bw.Environment, options: argparse.Namespace
) -> NDArray[np.float64]:
    """The regret of each policy (rows) in each run (columns)."""
    run = bw.simulate(
        policies,
        world,
        horizon=options.horizon,
        replications=options.replications,
        seed=options.seed,
        checkpoints=[options.horizon],
        jobs=options.jobs,
        tell_horizon=options.horizon_known,
    )
    return run.regret[:, :, -1]


def cell(values: NDArray[np.float64], scale: float = 1.0, form: str = ".0f") -> str:
    """Mean ± standard error."""
    error = values.std(ddof=1) / math.sqrt(values.size)
    return f"{values.mean() / scale:{form}} ± {error / scale:{form}}"


def score(regrets: list[NDArray[np.float64]], arms: list[int], row: int) -> str:
    """Geometric mean over worlds of (R + K)/(R_Thompson + K); the last row of each is Thompson's."""

    def logarithm(means: list[NDArray[np.float64]]) -> float:
        ratios = [(mean[row] + k) / (mean[-1] + k) for mean, k in zip(means, arms, strict=True)]
        return float(np.log(ratios).mean())

    rng = np.random.default_rng(0)
    drawn = [
        logarithm([r[:, rng.integers(r.shape[1], size=r.shape[1])].mean(axis=1) for r in regrets])
        for _ in range(500)
    ]
    value = math.exp(logarithm([r.mean(axis=1) for r in regrets]))
    return f"{value:.3f} ± {value * np.std(drawn):.3f}"


def stochastic(options: argparse.Namespace) -> None:
    """Regret on iid losses."""
    print("| iid | " + " | ".join(NAMES) + " | Thompson |\n|---" + "|---" * (len(NAMES) + 1) + "|")
    found: dict[str, list[NDArray[np.float64]]] = {"Bernoulli": [], "quiet": []}
    arms: dict[str, list[int]] = {"Bernoulli": [], "quiet": []}
    for kind, family in (("Bernoulli", BERNOULLI), ("quiet", QUIET)):
        for name, world in family.items():
            regrets = final([*POLICIES, bw.Thompson()], world, options)
            found[kind].append(regrets)
            arms[kind].append(world.n_arms)
            print(f"| {name} | " + " | ".join(cell(row) for row in regrets) + " |", flush=True)
    for title, kinds in (("Bernoulli", ["Bernoulli"]), ("all", ["Bernoulli", "quiet"])):
        regrets_of = [r for kind in kinds for r in found[kind]]
        arms_of = [k for kind in kinds for k in arms[kind]]
        scores = [score(regrets_of, arms_of, row) for row in range(len(POLICIES))]
        print(f"| **score, {title}** | " + " | ".join(scores) + " | 1 |", flush=True)


def adversarial(options: argparse.Namespace) -> None:
    """Regret over √(KT)."""
    print("\n| R/√(KT) | " + " | ".join(NAMES) + " |\n|---" + "|---" * len(NAMES) + "|")
    for name, world in ADVERSARIES.items():
        scale = math.sqrt(world.n_arms * options.horizon)
        regrets = final(POLICIES, world, options)
        print(f"| {name} | " + " | ".join(cell(row, scale, ".2f") for row in regrets) + " |", flush=True)


def speed() -> None:
    """Time per round, the best of several runs that take turns."""
    policies, names = [bw.policies.DEFAULT, *POLICIES], ["default", *NAMES]
    print("| ns per round | " + " | ".join(names) + " |\n|---" + "|---" * len(names) + "|")
    for n_arms in (2, 10, 32, 100):
        rounds = 2_000_000 // (10 + n_arms)
        world = worlds.Bernoulli(n_arms=n_arms, gap=0.2)
        for policy in policies:
            bw.simulate(policy, world, horizon=200, seed=1, jobs=1)  # compiles
        best = [math.inf] * len(policies)
        for _ in range(15):
            for i, policy in enumerate(policies):
                start = time.process_time()
                bw.simulate(policy, world, horizon=rounds, seed=2, jobs=1, checkpoints=[rounds])
                best[i] = min(best[i], (time.process_time() - start) / rounds * 1e9)
        cells = [f"{each:.0f} ({each / best[-1]:.2f}x)" for each in best]
        print(f"| K={n_arms} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--replications", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--horizon-known", action="store_true")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    if options.speed:
        speed()
        return
    print(f"T = {options.horizon:,}, {options.replications} runs, regret ± 1 standard error\n")
    stochastic(options)
    adversarial(options)


if __name__ == "__main__":
    main()
