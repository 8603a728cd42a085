"""Feedback graphs: regret in the worlds of docs/graphs.md, and how the time of a round grows with the edges.

``python benchmarks/graphs.py`` prints the tables of docs/graphs.md; ``--speed`` the times alone; ``--long``
has T = 100 000; ``--graphs`` and ``--worlds`` choose among the rows.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bothworlds as bw

E = bw.environments
K = 8
GRAPHS = {
    "self-loops": [[i] for i in range(K)],
    "two cliques": [list(range(4)) if i < 4 else list(range(4, 8)) for i in range(K)],
    "ring": [sorted({(i - 1) % K, i, (i + 1) % K}) for i in range(K)],
    "full": "all",
}
WORLDS = {
    "stochastic": E.Bernoulli(n_arms=K, gap=0.125),
    "constrained": E.StochasticallyConstrained(n_arms=K, gap=0.125),
}
POLICIES = {
    'MatchedTsallis("paper")': bw.MatchedTsallis("paper"),
    "MatchedTsallis()": bw.MatchedTsallis(),
    "MatchedTsallis(alpha=0.5)": bw.MatchedTsallis(alpha=0.5),
    "Hedge()": bw.Hedge(),
    "Hedge(1.0)": bw.Hedge(1.0),
    "AdaHedge()": bw.AdaHedge(),
    "UCB1()": bw.UCB1(),
    "Thompson()": bw.Thompson(),
    "Uniform()": bw.Uniform(),
}


def regret(graphs: list[str], worlds: list[str], *, horizon: int, replications: int, seed: int) -> None:
    """Mean regret ± two standard errors."""
    print(f"\nK = {K}, gap 1/8, T = {horizon:,}, {replications} runs")
    columns = [(graph, world) for world in worlds for graph in graphs]
    rows: dict[str, list[str]] = {policy: [] for policy in POLICIES}
    for graph, name in columns:
        world = E.FeedbackGraph(WORLDS[name], shows=GRAPHS[graph])
        run = bw.simulate(
            POLICIES, world, horizon=horizon, replications=replications, seed=seed, checkpoints=[horizon]
        )
        for policy, values in zip(POLICIES, run.regret[..., -1], strict=True):
            error = 2.0 * values.std(ddof=1) / np.sqrt(values.size)
            rows[policy].append(f"{values.mean():.0f} ± {error:.0f}")
    print(f"| policy | {' | '.join(f'{graph}, {world}' for graph, world in columns)} |")
    print(f"|---|{'---|' * len(columns)}")
    for policy, cells in rows.items():
        print(f"| `{policy}` | {' | '.join(cells)} |")


def speed(rounds: int = 2000) -> None:
    """Microseconds of a processor a round on rings whose arms show their neighbors; the best of three."""
    print("\n| arms | edges | microseconds a round | nanoseconds an edge |\n|---|---|---|---|")
    for n_arms, width in [(100, 1), (100, 10), (100, 50), (1000, 1), (1000, 10), (1000, 100), (1000, 500)]:
        near = range(-(width // 2), width - width // 2)
        shows = [sorted((i + k) % n_arms for k in near) for i in range(n_arms)]
        world = E.FeedbackGraph(E.Bernoulli(n_arms=n_arms, gap=0.125), shows=shows)
        how = {"replications": 1, "jobs": 1}
        bw.simulate(bw.MatchedTsallis(), world, horizon=n_arms, checkpoints=[n_arms], **how)
        times = []
        for _ in range(3):
            began = time.process_time()
            bw.simulate(bw.MatchedTsallis(), world, horizon=rounds, checkpoints=[rounds], **how)
            times.append((time.process_time() - began) / rounds)
        edges = n_arms * width
        print(f"| {n_arms:,} | {edges:,} | {1e6 * min(times):.1f} | {1e9 * min(times) / edges:.1f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", action="store_true", help="only the times")
    parser.add_argument("--long", action="store_true", help="T = 100,000")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replications", type=int, default=32)
    options = parser.parse_args()
    if not options.speed:
        horizon = 100_000 if options.long else 10_000
        how = {"replications": options.replications, "seed": options.seed}
        regret(options.graphs, options.worlds, horizon=horizon, **how)
    if options.speed or not options.long:
        speed()
