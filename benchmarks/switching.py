"""What switching arms costs: regret with the cost of every switch, and the number of switches.

The table of docs/delay.md on switching costs: K = 8, gap ⅛, mean total regret ± 2 standard errors (regret
without switches, number of switches).
"""

from __future__ import annotations

import argparse

import numpy as np

import bothworlds as bw
from bothworlds import environments as worlds

K, GAP = 8, 0.125
WORLDS: dict[str, worlds.Environment] = {
    "iid": worlds.Bernoulli(n_arms=K, gap=GAP),
    "constrained": worlds.StochasticallyConstrained(n_arms=K, gap=GAP),
}
COSTS = (0.025, 1.0, 5.0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--replications", type=int, default=32)
    options = parser.parse_args()
    print(f"K = {K}, T = {options.horizon}, {options.replications} replications\n")
    print("| cost, world | `TsallisSwitch(cost)` | `TsallisINF()` | `UCB1()` | `Thompson()` |")
    print("|---|---|---|---|---|")
    how = {"horizon": options.horizon, "replications": options.replications, "seed": 1, "jobs": 1}
    for name, world in WORLDS.items():
        for cost in COSTS:
            policies = [bw.TsallisSwitch(cost), bw.TsallisINF(), bw.UCB1(), bw.Thompson()]
            total = bw.simulate(policies, worlds.SwitchingCost(world, cost=cost), **how).regret[:, :, -1]
            plain = bw.simulate(policies, world, **how).regret[:, :, -1]  # the same runs
            switches = (total - plain) / cost
            error = 2.0 * total.std(axis=1, ddof=1) / np.sqrt(options.replications)
            cells = [
                f"{a:.0f} ± {e:.0f} ({r:.0f}, {s:.0f})"
                for a, e, r, s in zip(
                    total.mean(axis=1), error, plain.mean(axis=1), switches.mean(axis=1), strict=True
                )
            ]
            print(f"| {cost:g}, {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
