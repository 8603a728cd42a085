"""Every policy in four worlds: the table of docs/choosing.md.

K = 8, gap ⅛, T = 10,000, mean regret ± 2 standard errors: iid Bernoulli with one and with four optimal arms,
the stochastically constrained adversary, and iid with all bits flipped in the first 500 rounds (regret on
the clean means). Decoupled policies see more than the others and are listed apart.
"""

from __future__ import annotations

import argparse

import numpy as np

import bothworlds as bw
from bothworlds import environments as worlds

K, GAP = 8, 0.125
HEAVY = 64  # times as many runs for a policy that locks in on a wrong arm in one run of ten
WORLDS: dict[str, bw.environments.Environment] = {
    "iid": worlds.Bernoulli(n_arms=K, gap=GAP),
    "iid, 4 optimal": worlds.Bernoulli(n_arms=K, gap=GAP, optimal=4),
    "constrained": worlds.StochasticallyConstrained(n_arms=K, gap=GAP),
    "flip 500": worlds.Corrupted(worlds.Bernoulli(n_arms=K, gap=GAP), 500),
}


def policies() -> list[bw.Policy]:
    """One of each kind, and the settings that the reference numbers know."""
    given: dict[str, list[bw.Policy]] = {
        "ftrl": [
            bw.FTRL(regularizer, constants=constants)
            for regularizer in (bw.LogBarrier(), bw.Tsallis(0.5), bw.Shannon())
            for constants in ("light", "paper")
        ],
        "tsallis-inf": [bw.TsallisINF(), bw.TsallisINF("rv")],
        "decoupled-tsallis-inf": [bw.DecoupledTsallisINF(), bw.DecoupledTsallisINF("original")],
        "ito21": [bw.Ito21(), bw.Ito21(eta=0.0)],
        "broad-omd": [bw.BroadOMD(), bw.BroadOMD(eta=0.25), bw.BroadOMD(anytime=True)],
        "barbar": [bw.BARBAR(), bw.BARBAR(constants="theory")],
        "restarting": [bw.Restarting(bw.TsallisINF(), every=1000)],
        "watched": [bw.Watched(bw.InsuredSampler()), bw.Watched(bw.LightBarrier())],
    }
    given["linear-spm"] = given["exp2"] = []  # these arms have no features; see benchmarks/linear.py
    given["tsallis-inf-oracle"] = [bw.TsallisINFOracle(gaps=(0.0,) + (GAP,) * (K - 1), alpha=0.5)]
    return [
        policy
        for name in bw.policies.names()
        for policy in (given[name] if name in given else [bw.policies.get(name)()])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--replications", type=int, default=64)
    options = parser.parse_args()
    print(
        f"K={K}, gap {GAP}, T={options.horizon:,}, {options.replications} replications, ± 2 standard errors\n"
    )
    print("| policy | " + " | ".join(WORLDS) + " |")
    print("|---|" + "---|" * len(WORLDS))
    for policy in policies():
        cells = []
        for world in WORLDS.values():
            runs = options.replications * (HEAVY if isinstance(policy, bw.EpsilonGreedy) else 1)
            run = bw.simulate(policy, world, horizon=options.horizon, replications=runs, seed=1)
            final = run.clean_regret[0, :, -1]
            error = 2 * np.std(final, ddof=1) / np.sqrt(final.size)
            cells.append(f"{final.mean():.0f} ± {error:.0f}")
        print(f"| `{policy!r}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
