"""One call at a time from Python: Bandit.pull + update against a NumPy Tsallis-INF, as ratios in one run."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable

import numpy as np

import bothworlds as bw
from numpy_tsallis_inf import NumpyTsallisINF

ROUNDS = 20_000
REPEATS = 5


def microseconds(run: Callable[[], None]) -> float:
    """The best of several runs, per round."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / ROUNDS


def losses(n_arms: int) -> list[list[float]]:
    means = np.full(n_arms, 0.5)
    means[0] = 0.4
    return (np.random.default_rng(0).random((ROUNDS, n_arms)) < means).astype(float).tolist()


def ours(policy: bw.Policy, n_arms: int, table: list[list[float]]) -> float:
    def run() -> None:
        bandit = bw.Bandit(n_arms, policy, seed=1)
        for row in table:
            pull = bandit.pull()
            bandit.update(pull, loss=row[pull.observe])  # type: ignore[index]

    return microseconds(run)


def peer(n_arms: int, table: list[list[float]]) -> float:
    def run() -> None:
        bandit = NumpyTsallisINF(n_arms, seed=1)
        for row in table:
            arm = bandit.pull()
            bandit.update(arm, row[arm])

    return microseconds(run)


def agreement(n_arms: int, table: list[list[float]]) -> float:
    """The largest relative difference of p, round by round on the peer's own cumulative losses.

    Comparing whole trajectories would say nothing: without a barrier they are chaotic, and the last bit of
    p in round 1 is the sixth digit in round 2000.
    """
    bandit = NumpyTsallisINF(n_arms, seed=1)
    worst = 0.0
    for t, row in enumerate(table[:2000], start=1):
        losses_before = bandit.losses.copy()
        arm = bandit.pull()
        exact = bw.solve(losses_before, math.sqrt(t), bw.Tsallis(0.5)).p
        worst = max(worst, float(np.max(np.abs(bandit.p / exact - 1.0))))
        bandit.update(arm, row[arm])
    return worst


def main() -> None:
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, bothworlds {bw.__version__}")
    print(f"pull + update, µs per round, best of {REPEATS} runs of {ROUNDS:,} rounds\n")
    print(f"{'':<38}{'K=10':>8}{'ratio':>8}{'K=100':>10}{'ratio':>8}")
    tables = {n_arms: losses(n_arms) for n_arms in (10, 100)}
    base = {n_arms: peer(n_arms, table) for n_arms, table in tables.items()}
    print(f"{'NumPy warm-Newton Tsallis-INF':<38}{base[10]:>8.1f}{1:>7.1f}x{base[100]:>10.1f}{1:>7.1f}x")
    for policy in (
        bw.TsallisINF(),
        bw.LightBarrier(),
        bw.FTRL(bw.LogBarrier(), constants="paper"),
        bw.FTRL(bw.Tsallis(0.7), constants="light"),
        bw.DecoupledTsallisINF(),
        bw.UCB1(),
    ):
        cost = {n_arms: ours(policy, n_arms, table) for n_arms, table in tables.items()}
        print(
            f"{policy!r:<38.38}{cost[10]:>8.1f}{base[10] / cost[10]:>7.1f}x"
            f"{cost[100]:>10.1f}{base[100] / cost[100]:>7.1f}x"
        )
    print(f"\nlargest relative difference of p, ours against NumPy, K=10: {agreement(10, tables[10]):.1e}")


if __name__ == "__main__":
    main()
