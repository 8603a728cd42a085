"""Policy optimization in a layered MDP: regret against the best policy, in the worlds of docs/mdp.md.

``python benchmarks/mdp.py`` prints the table of docs/mdp.md. Regret is Σ_t (value of π_t − value of the best
policy) on the mean losses of the episodes.
"""

from __future__ import annotations

import argparse
import math
from itertools import pairwise

import numpy as np

import bothworlds as bw

SIZES, ACTIONS = (1, 3, 3, 3), 3


def process(seed: int = 5) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Transitions, and mean losses 0.35 of one action and 0.65 of the others in every state."""
    rng = np.random.default_rng(seed)
    transitions = [
        rng.dirichlet(np.full(after, 0.5), size=(before, ACTIONS)) for before, after in pairwise(SIZES)
    ]
    means = [np.full((size, ACTIONS), 0.65) for size in SIZES]
    for table in means:
        table[np.arange(len(table)), rng.integers(ACTIONS, size=len(table))] = 0.35
    return transitions, means


def level(world: str, t: int) -> float:
    """What is added to all means in episode t: nothing, or ±0.35 in phases that grow as 1.6^n."""
    if world == "stochastic":
        return 0.0
    end, n = 0, 0
    while (end := end + math.ceil(1.6**n)) < t:
        n += 1
    return -0.35 if n % 2 == 0 else 0.35


def run(world: str, constants: str, episodes: int, seed: int) -> list[float]:
    """Regret after a quarter of the episodes, and after all."""
    transitions, means = process()
    learner = bw.PolicyOptimization(transitions, constants=constants, seed=seed)
    luck = np.random.default_rng(1000 + seed)
    best = learner.best_value(means)
    regret, out = 0.0, []
    for t in range(1, episodes + 1):
        shift = level(world, t)  # the same for all policies: it moves both values alike
        regret += learner.value(means) - best
        path = learner.play()
        chances = [means[step.layer][step.state, step.action] + shift for step in path]
        learner.update(path, losses=(luck.random(len(path)) < chances).astype(float))
        if t in (episodes // 4, episodes):
            out.append(regret)
    return out


def main(episodes: int, replications: int) -> None:
    """Mean regret ± two standard errors."""
    transitions, means = process()
    learner = bw.PolicyOptimization(transitions)
    uniform = learner.value(means) - learner.best_value(means)  # nothing has been learned
    print(f"\nstates {SIZES}, {ACTIONS} actions, {replications} runs; uniform play: {uniform:.3f} a round")
    print(f"| constants | world | T = {episodes // 4:,} | T = {episodes:,} | uniform, T = {episodes:,} |")
    print("|---|---|---|---|---|")
    for constants in ("light", "paper"):
        for world in ("stochastic", "constrained"):
            values = np.array([run(world, constants, episodes, seed) for seed in range(replications)])
            errors = 2.0 * values.std(axis=0, ddof=1) / math.sqrt(replications)
            cells = [
                f"{mean:.0f} ± {error:.0f}" for mean, error in zip(values.mean(axis=0), errors, strict=True)
            ]
            print(
                f"| {constants} | {world} | {cells[0]} | {cells[1]} | {uniform * episodes:.0f} |", flush=True
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--replications", type=int, default=8)
    options = parser.parse_args()
    main(options.episodes, options.replications)
