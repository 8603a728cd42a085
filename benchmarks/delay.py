"""Does delay matter? Policies that ignore it and policies that mind it, in worlds with late feedback.

The tables of docs/delay.md: K = 8, gap ⅛, mean regret ± 2 standard errors, for "flipped" on the clean means.
"""

from __future__ import annotations

import argparse

import numpy as np

import bothworlds as bw
from bothworlds import environments as worlds
from bothworlds.environments import Alternating, Delayed, Environment

K, GAP = 8, 0.125
STO = worlds.Bernoulli(n_arms=K, gap=GAP)
SCA = worlds.StochasticallyConstrained(n_arms=K, gap=GAP)
FLIP = worlds.Corrupted(STO, 500)


def osc(period: int, offset: int | None = None) -> Environment:
    """Two arms that lose in turn."""
    return Alternating(n_arms=K, period=period, offset=offset)


WORLDS: dict[str, Environment] = {
    "iid, none": STO,
    "iid, 100": Delayed(STO, 100),
    "iid, geometric 100": Delayed(STO, 100.0, law="geometric"),
    "iid, geometric 20, 5% lost": Delayed(STO, 20.0, law="geometric", lost=0.05),
    "iid, 1000": Delayed(STO, 1000),
    "constrained, 100": Delayed(SCA, 100),
    "constrained, geometric 100": Delayed(SCA, 100.0, law="geometric"),
    "constrained, geometric 20, 5% lost": Delayed(SCA, 20.0, law="geometric", lost=0.05),
    "flipped, 100": Delayed(FLIP, 100),
    "alternating every 100, 100": Delayed(osc(100), 100),
    "alternating every 1000 from the start, 1000": Delayed(osc(1000, 0), 1000),
    "alternating every 200, 100": Delayed(osc(200), 100),
    "alternating every 2000, 1000": Delayed(osc(2000), 1000),
}
POLICIES: dict[str, bw.Policy] = {
    "`TsallisINF()`, which ignores it": bw.TsallisINF(),
    "`skipping=False, weight=1`": bw.DelayedTsallisINF(False, weight=1.0),
    "`False, 0.3`": bw.DelayedTsallisINF(False, weight=0.3),
    "`False, 0.1`": bw.DelayedTsallisINF(False, weight=0.1),
    "`True, 1`": bw.DelayedTsallisINF(weight=1.0),
    "`True, 0.3`, the default": bw.DelayedTsallisINF(),
    "`True, 0.1`": bw.DelayedTsallisINF(weight=0.1),
    "`UCB1()`": bw.UCB1(),
    "`Thompson()`": bw.Thompson(),
    "`Watched(InsuredSampler())`": bw.policies.DEFAULT,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--replications", type=int, default=32)
    parser.add_argument("--worlds", nargs="*", type=int, default=list(range(len(WORLDS))), help="0, 1, …")
    options = parser.parse_args()
    print(f"K = {K}, T = {options.horizon}, {options.replications} replications\n")
    print("| world, delay | " + " | ".join(POLICIES) + " |")
    print("|---|" + "---|" * len(POLICIES))
    for number in options.worlds:
        name, world = list(WORLDS.items())[number]
        run = bw.simulate(
            POLICIES, world, horizon=options.horizon, replications=options.replications, seed=1, jobs=1
        )
        final = run.clean_regret[:, :, -1]
        errors = 2.0 * final.std(axis=1, ddof=1) / np.sqrt(options.replications)
        cells = [f"{mean:.0f} ± {error:.0f}" for mean, error in zip(final.mean(axis=1), errors, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
