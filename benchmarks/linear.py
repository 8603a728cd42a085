"""Linear bandits: regret in the worlds of docs/linear.md, and the time of a round beside NumPy.

``python benchmarks/linear.py`` prints the tables of docs/linear.md; ``--speed`` the times alone, ``--regret``
the regret alone; ``--arms 200`` has more of them.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import bothworlds as bw
from numpy_linear import NumpyLinearSPM

E = bw.environments
DIMENSION = 4


def problem(n_arms: int) -> tuple[np.ndarray, np.ndarray]:
    """Features on a sphere, and mean losses ½ + <θ, x>/4 with a direction θ of length 1."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(n_arms, DIMENSION))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.normal(size=DIMENSION)
    return features, 0.5 + 0.25 * features @ (theta / np.linalg.norm(theta))


def constrained(means: np.ndarray, horizon: int) -> bw.Environment:
    """The same gaps at the lowest and at the highest level in turn, in phases ⌈1.6^n⌉."""
    low = means - means.min()
    levels, changes, end = [low, low + 1.0 - low.max()], [], 0
    while (end := end + math.ceil(1.6 ** len(changes))) < horizon:
        changes.append(end)
    return E.ChangePoints(means=[levels[i % 2] for i in range(len(changes) + 1)], changes=changes)


def regret(n_arms: int, horizon: int, replications: int, seed: int) -> None:
    """Mean regret ± two standard errors."""
    features, means = problem(n_arms)
    policies = {
        "LinearSPM(x)": bw.LinearSPM(features),
        'LinearSPM(x, constants="paper")': bw.LinearSPM(features, constants="paper"),
        "EXP2(x)": bw.EXP2(features),
        "EXP2(x, rate=0.35)": bw.EXP2(features, rate=0.35),
        "TsallisINF()": bw.TsallisINF(),
        "Thompson()": bw.Thompson(),
        "UCB1()": bw.UCB1(),
        "Uniform()": bw.Uniform(),
    }
    worlds = {"stochastic": E.Bernoulli(means=means), "constrained": constrained(means, horizon)}
    gap = np.diff(np.sort(means)[:2])[0]
    print(
        f"\n{n_arms} arms, {DIMENSION} features, smallest gap {gap:.3f}, T = {horizon:,}, {replications} runs"
    )
    print(f"| policy | {' | '.join(worlds)} |\n|---|{'---|' * len(worlds)}")
    cells: dict[str, list[str]] = {name: [] for name in policies}
    for world in worlds.values():
        run = bw.simulate(
            policies, world, horizon=horizon, replications=replications, seed=seed, checkpoints=[horizon]
        )
        for name, values in zip(policies, run.regret[..., -1], strict=True):
            error = 2.0 * values.std(ddof=1) / math.sqrt(values.size)
            cells[name].append(f"{values.mean():.0f} ± {error:.0f}")
    for name, row in cells.items():
        print(f"| `{name}` | {' | '.join(row)} |", flush=True)


def speed(rounds: int = 1000) -> None:
    """Microseconds of a processor a round, the best of three, and those of NumPy on the same world."""
    print("\n| arms | d | a round, µs | NumPy, µs | ratio |\n|---|---|---|---|---|")
    for n_arms, d in [(20, 5), (100, 10), (1000, 20)]:
        rng = np.random.default_rng(1)
        features = rng.normal(size=(n_arms, d - 1))
        means = np.clip(0.5 + 0.1 * features[:, 0], 0.0, 1.0)
        policy, world = bw.LinearSPM(features), E.Bernoulli(means=means)
        how = {"replications": 1, "jobs": 1}
        bw.simulate(policy, world, horizon=n_arms, checkpoints=[n_arms], **how)
        ours, theirs = [], []
        for _ in range(3):
            began = time.process_time()
            bw.simulate(policy, world, horizon=rounds, checkpoints=[rounds], **how)
            ours.append((time.process_time() - began) / rounds)
            theirs.append(time_numpy(features, policy.design.p, means, min(rounds, 200)))
        print(
            f"| {n_arms:,} | {policy.dimension} | {1e6 * min(ours):.1f} | {1e6 * min(theirs):.0f} | "
            f"{min(theirs) / min(ours):.0f} |",
            flush=True,
        )


def time_numpy(features: np.ndarray, design: np.ndarray, means: np.ndarray, rounds: int) -> float:
    """Seconds a round."""
    rng = np.random.default_rng(2)
    other = NumpyLinearSPM(np.column_stack([np.ones(len(features)), features]), design)
    began = time.process_time()
    for uniform, luck in rng.random((rounds, 2)):
        arm = other.act(uniform)
        other.update(arm, float(luck < means[arm]))
    return (time.process_time() - began) / rounds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", action="store_true", help="only the times")
    parser.add_argument("--regret", action="store_true", help="only the regret")
    parser.add_argument("--arms", type=int, default=20, help="how many")
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--replications", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.speed:
        regret(options.arms, options.horizon, options.replications, options.seed)
    if not options.regret:
        speed()
