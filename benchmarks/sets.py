"""Sets of m of d arms: regret in the worlds of docs/sets.md, and speed beside NumPy.

``python benchmarks/sets.py`` prints the table of docs/sets.md; ``--speed`` the times; ``--long`` T = 100 000.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bothworlds as bw
from numpy_sets import NumpyHybrid, NumpyLBINFV

E = bw.environments
POLICIES = {
    "HybridINF()": bw.HybridINF(),
    "LBINFV()": bw.LBINFV(),
    "LBINFV(eta=0.25)": bw.LBINFV(eta=0.25),
    "CombUCB1()": bw.CombUCB1(),
    "Thompson()": bw.Thompson(),
    "Uniform()": bw.Uniform(),
}


def worlds(m: int) -> dict[str, bw.Environment]:
    """d = 8, Δ = 1/8: iid, means that move together, and iid with the first 500 rounds flipped."""
    iid = E.Bernoulli(n_arms=8, gap=0.125, optimal=m)
    moving = E.StochasticallyConstrained(n_arms=8, gap=0.125, optimal=m)
    flipped = E.Corrupted(iid, budget=500.0, strategy="front")
    return {
        name: E.SemiBandit(world, choose=m)
        for name, world in {"stochastic": iid, "constrained": moving, "500 flipped": flipped}.items()
    }


def regret(m: int, names: list[str], *, horizon: int, replications: int, seed: int) -> None:
    """Mean regret on clean means ± two standard errors."""
    print(f"\nd = 8, m = {m}, T = {horizon:,}, {replications} runs")
    rows = {policy: [] for policy in POLICIES}
    for name in names:
        run = bw.simulate(
            POLICIES,
            worlds(m)[name],
            horizon=horizon,
            replications=replications,
            seed=seed,
            checkpoints=[horizon],
        )
        for policy, values in zip(POLICIES, run.clean_regret[..., -1], strict=True):
            error = 2.0 * values.std(ddof=1) / np.sqrt(values.size)
            rows[policy].append(f"{values.mean():.0f} ± {error:.0f}")
    print(f"| policy | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for policy, cells in rows.items():
        print(f"| `{policy}` | {' | '.join(cells)} |")


def speed(d: int, m: int, *, rounds: int) -> None:
    """Microseconds of a processor a round, of simulations and of NumPy; the best of three."""
    horizon = 100_000
    means = np.full(d, 0.5625)
    means[:m] = 0.4375
    world = E.SemiBandit(E.Bernoulli(means=means.tolist()), choose=m)
    print(f"\nd = {d}, m = {m}: microseconds a round, from the start, {rounds:,} rounds")
    for policy, peer in (
        (bw.HybridINF(), lambda: NumpyHybrid(d, m, 1)),
        (bw.LBINFV(), lambda: NumpyLBINFV(d, m, 1, horizon)),
    ):
        times, slow_times = [], []
        for _ in range(3):
            times.append(compiled_time(policy, world, rounds, horizon))
            slow_times.append(numpy_time(peer(), means, rounds))
        fast, slow = min(times), min(slow_times)
        print(f"{policy!r}: {1e6 * fast:.1f}, NumPy {1e6 * slow:.0f}: {slow / fast:.0f} times")


def compiled_time(policy: bw.Policy, world: bw.Environment, rounds: int, horizon: int) -> float:
    """Seconds a round, all included, with the kernels compiled before."""
    bw.simulate(policy, world, horizon=horizon, replications=1, checkpoints=[horizon], jobs=1)
    began = time.process_time()
    bw.simulate(policy, world, horizon=rounds, replications=1, checkpoints=[rounds], jobs=1)
    return (time.process_time() - began) / rounds


def numpy_time(policy: NumpyHybrid | NumpyLBINFV, means: np.ndarray, rounds: int) -> float:
    """Seconds a round."""
    rng = np.random.default_rng(0)
    began = time.process_time()
    for _ in range(rounds):
        arms = policy.pull()
        policy.update(arms, (rng.random(arms.size) < means[arms]).astype(float))
    return (time.process_time() - began) / rounds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", action="store_true", help="only the times")
    parser.add_argument("--long", action="store_true", help="only T = 100,000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replications", type=int, default=32)
    options = parser.parse_args()
    how = {"replications": options.replications, "seed": options.seed}
    if options.speed:
        speed(100, 10, rounds=10_000)
    elif options.long:
        regret(3, ["constrained"], horizon=100_000, **how)
    else:
        regret(3, ["stochastic", "constrained", "500 flipped"], horizon=10_000, **how)
        regret(6, ["stochastic"], horizon=10_000, **how)
        speed(100, 10, rounds=10_000)
