"""What a watch gains after a change of the best arm, and what it gives away where nothing changes.

Regret after the change is Σ_t <gaps of the new means> of the arms played since. All policies play without
knowing the horizon.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bothworlds as bw
from bothworlds._jit import FloatArray

BASE = bw.LightBarrier()
WATCHED = bw.Watched(BASE)


def rates(*percent: float) -> tuple[float, ...]:
    """Mean losses of arms with these success rates."""
    return tuple(1.0 - each / 100.0 for each in percent)


worlds = bw.environments
CHANGES = {
    "A: 10% → 2%, another 5% → 10%": (rates(10, 5, 5, 5, 5), rates(2, 10, 5, 5, 5)),
    "B: 60% → 20%, another 40% → 60%": (rates(60, 40, 40, 40, 40), rates(20, 60, 40, 40, 40)),
}
STEADY = {
    "iid, K=2, gap 0.1": worlds.Bernoulli(n_arms=2, gap=0.1),
    "iid, K=8, gap 0.125": worlds.Bernoulli(n_arms=8, gap=0.125),
    "iid, K=5, rates 10% and 5%": worlds.Bernoulli(means=rates(10, 5, 5, 5, 5)),
    "iid, K=10, means 0.2, 0.25, …, 0.65": worlds.Bernoulli(means=tuple(0.2 + 0.05 * i for i in range(10))),
    "stochastically constrained, K=8": worlds.StochasticallyConstrained(n_arms=8, gap=0.125),
    "season ±0.2, K=8, gap 0.125": worlds.Seasonal(means=(0.4375, *[0.5625] * 7), period=5000, amplitude=0.2),
    "season ±3%, K=5, rates 10% and 5%": worlds.Seasonal(
        means=rates(10, 5, 5, 5, 5), period=5000, amplitude=0.03
    ),
}
LAST, HORIZON, LONG = 20_000, 40_000, 100_000


def shown(values: FloatArray) -> str:
    """Mean ± standard error (95% quantile)."""
    error = np.std(values, ddof=1) / np.sqrt(values.size)
    return f"{values.mean():.0f} ± {error:.0f} ({np.quantile(values, 0.95):.0f})"


def after_changes(runs: int, seed: int) -> None:
    """Regret after a change, and before it."""
    print(
        f"\nRegret after a change at {LAST:,} of {HORIZON:,} rounds: mean ± standard error (95% quantile)\n"
    )
    print("| world | base | watched | ratio before the change |\n|---|---|---|---|")
    for name, (before, after) in CHANGES.items():
        world = worlds.ChangePoints(means=[before, after], changes=[LAST], benchmark="dynamic")
        run = bw.simulate(
            [BASE, WATCHED],
            world,
            horizon=HORIZON,
            replications=runs,
            seed=seed,
            checkpoints=[LAST, HORIZON],
            tell_horizon=False,
        )
        base, watched = run.regret[:, :, 1] - run.regret[:, :, 0]
        ratio = run.regret[1, :, 0].mean() / run.regret[0, :, 0].mean()
        print(f"| {name} | {shown(base)} | {shown(watched)} | {ratio:.3f} |", flush=True)


def in_steady_worlds(runs: int, seed: int) -> None:
    """Regret where the ranking never changes."""
    print(f"\nRegret where the ranking never changes, {LONG:,} rounds\n")
    print("| world | base | watched | ratio |\n|---|---|---|---|")
    for name, world in STEADY.items():
        run = bw.simulate(
            [BASE, WATCHED],
            world,
            horizon=LONG,
            replications=runs,
            seed=seed,
            checkpoints=[LONG],
            tell_horizon=False,
        )
        base, watched = run.regret[:, :, 0]
        error = np.std(watched - base, ddof=1) / np.sqrt(runs) / base.mean()
        ratio = f"{watched.mean() / base.mean():.3f} ± {error:.3f}"
        print(f"| {name} | {shown(base)} | {shown(watched)} | {ratio} |", flush=True)


def nanoseconds(n_arms: int, rounds: int = 200_000) -> list[float]:
    """Of one round: base and watched in turns, the best of fifteen runs on one thread each."""
    world = worlds.Bernoulli(n_arms=n_arms, gap=0.2)
    best = [float("inf")] * 2
    for _ in range(15):
        for k, policy in enumerate((BASE, WATCHED)):
            start = time.process_time()
            bw.simulate(
                policy, world, horizon=rounds, seed=1, jobs=1, checkpoints=[rounds], tell_horizon=False
            )
            best[k] = min(best[k], time.process_time() - start)
    return [1e9 * each / rounds for each in best]


def times() -> None:
    """Time per round."""
    print("\nNanoseconds per round\n\n| K | base | watched | ratio |\n|---|---|---|---|")
    for n_arms in (2, 10, 100):
        base, watched = nanoseconds(n_arms)
        print(f"| {n_arms} | {base:.0f} | {watched:.0f} | {watched / base:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"base {BASE!r}, watched {WATCHED!r}; {options.replications} replications, seed {options.seed}")
    after_changes(options.replications, options.seed)
    in_steady_worlds(options.replications, options.seed)
    times()


if __name__ == "__main__":
    main()
