"""Whole runs of every policy, ns per round."""

from __future__ import annotations

import time

import bothworlds as bw

ARMS = (2, 10, 100, 1000)


def nanoseconds(policy: bw.Policy, n_arms: int, rounds: int) -> float:
    """Best of several runs of one replication on one thread."""
    world = bw.environments.Bernoulli(n_arms=n_arms, gap=0.2)
    bw.simulate(policy, world, horizon=max(n_arms, 100), seed=1)  # compiles
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        bw.simulate(policy, world, horizon=rounds, seed=1, jobs=1, checkpoints=[rounds])
        best = min(best, time.perf_counter() - start)
    return 1e9 * best / rounds


def everything() -> list[bw.Policy]:
    listed: list[bw.Policy] = [bw.LightBarrier(), bw.TsallisINF(), bw.TsallisINF("rv")]
    listed += [bw.FTRL(r, constants="light") for r in (bw.LogBarrier(), bw.Tsallis(0.7), bw.Shannon())]
    kinds = {type(policy) for policy in listed} | {bw.FTRL}
    for name in bw.policies.names():
        kind = bw.policies.get(name)
        if kind not in kinds:
            try:
                listed.append(kind())
            except TypeError:
                continue  # needs arguments of its own (an oracle baseline)
    return listed


def policy_table() -> list[str]:
    lines = ["| ns per round | " + " | ".join(f"K={k}" for k in ARMS) + " |", "|---|" + "---|" * len(ARMS)]
    for policy in everything():
        cells = [nanoseconds(policy, k, max(2000, min(300_000, 3_000_000 // k))) for k in ARMS]
        lines.append(f"| `{policy!r}` | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |")
    return lines


if __name__ == "__main__":
    print("\n".join(policy_table()))
