"""Speed of whole runs: ns per round of every policy, what the engine adds, what threads give."""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np

import bothworlds as bw
from bothworlds import rng
from bothworlds._jit import FloatArray, entry
from bothworlds.policies.base import act, init, update

ARMS = (2, 10, 100, 1000)


@entry
def bare_loop(params: Any, state: Any, uniforms: FloatArray, losses: FloatArray) -> float:
    """A policy's own kernels and nothing else."""
    total = 0.0
    for t in range(losses.size):
        arm, observe, _, weight, epoch = act(params, state, uniforms[t])
        total += arm
        update(params, state, observe, losses[t], weight, epoch)
    return total


def world(n_arms: int) -> bw.environments.Environment:
    return bw.environments.Bernoulli(n_arms=n_arms, gap=0.2)


def nanoseconds(policy: bw.Policy, n_arms: int, rounds: int, repeats: int = 3, **options: Any) -> float:
    """Best of several runs of one replication per thread."""
    arguments = {"replications": 1, "jobs": 1, "checkpoints": [rounds]} | options
    bw.simulate(policy, world(n_arms), horizon=max(n_arms, 100), seed=1)
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        bw.simulate(policy, world(n_arms), horizon=rounds, seed=1, **arguments)
        best = min(best, time.perf_counter() - start)
    return 1e9 * best / (rounds * arguments["replications"])


def bare(policy: bw.Policy, n_arms: int, rounds: int) -> float:
    """The very same trajectory, without engine, environment and random numbers."""
    params = policy.resolve(n_arms, rounds)
    run = bw.simulate(policy, world(n_arms), horizon=rounds, seed=1, trace=True)
    losses = run.traces[0][0].losses
    uniforms = rng.stream(1, 0, 0).random((rounds, policy.draws))
    best = float("inf")
    bare_loop(params, init(params), uniforms[:10], losses[:10])
    for _ in range(3):
        state = init(params)
        start = time.perf_counter()
        bare_loop(params, state, uniforms, losses)
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


def main() -> None:
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, bothworlds {bw.__version__}"
    )
    print("\nWhole runs on Bernoulli losses, one thread, ns per round\n")
    print("| policy | " + " | ".join(f"K={k}" for k in ARMS) + " |\n|---|" + "---|" * len(ARMS))
    for policy in everything():
        cells = [nanoseconds(policy, k, max(2000, min(100_000, 3_000_000 // k))) for k in ARMS]
        print(f"| `{policy!r}` | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |", flush=True)

    print("\nWhat engine, environment and random numbers add to the policy's own kernel, K=10\n")
    for policy in (bw.TsallisINF(), bw.LightBarrier(), bw.FTRL(bw.Tsallis(0.7), constants="light")):
        whole, own = nanoseconds(policy, 10, 300_000), bare(policy, 10, 300_000)
        print(f"{policy!r}: {whole:.0f} ns, {own:.0f} ns bare: +{100 * (whole / own - 1):.0f}%")

    print("\nTwo threads against one, K=10, 8 replications of 200,000 rounds\n")
    one = nanoseconds(bw.TsallisINF(), 10, 200_000, replications=8, jobs=1)
    two = nanoseconds(bw.TsallisINF(), 10, 200_000, replications=8, jobs=2)
    print(f"one: {one:.0f} ns, two: {two:.0f} ns per round and replication: {one / two:.2f}x")


if __name__ == "__main__":
    main()
