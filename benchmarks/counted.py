"""What counting pulls costs: the log-barrier with the paper's rates, and with counted ones."""

from __future__ import annotations

import argparse

import numpy as np

import bothworlds as bw

worlds = bw.environments
WORLDS = {
    "iid, K=8, gap 0.125": worlds.Bernoulli(n_arms=8, gap=0.125),
    "iid, K=8, gap 0.4": worlds.Bernoulli(n_arms=8, gap=0.4),
    "iid, K=64, gap 0.4": worlds.Bernoulli(n_arms=64, gap=0.4),
    "4 of 8 optimal, gap 0.2": worlds.Bernoulli(n_arms=8, gap=0.2, optimal=4),
    "switching (adversarial), K=8": worlds.StochasticallyConstrained(n_arms=8, gap=0.125),
    "minimax, K=8": worlds.Minimax(n_arms=8),
}
PAIRS = [
    (bw.FTRL(bw.LogBarrier(), constants="light"), bw.CountedBarrier()),
    (bw.FTRL(bw.LogBarrier(), constants="paper"), bw.CountedBarrier(162.0)),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--replications", type=int, default=128)
    options = parser.parse_args()
    print(f"regret ± 2 standard errors, T={options.horizon:,}, {options.replications} replications\n")
    print("| world | C | paper's rates | counted rates |\n|---|---|---|---|")
    for name, world in WORLDS.items():
        for pair in PAIRS:
            run = bw.simulate(
                list(pair), world, horizon=options.horizon, replications=options.replications, seed=1
            )
            final = run.regret[:, :, -1]
            errors = 2 * np.std(final, axis=1, ddof=1) / np.sqrt(final.shape[1])
            cells = [
                f"{mean:.0f} ± {error:.0f}" for mean, error in zip(final.mean(axis=1), errors, strict=True)
            ]
            print(f"| {name} | {pair[1].log_barrier:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
