"""Memory: bytes per arm and per replication, and that a longer run needs no more."""

from __future__ import annotations

import subprocess
import sys
import time

import bothworlds as bw
from bothworlds.policies.base import init

LONG_RUN = (
    "import re, sys, bothworlds as bw; world = bw.environments.Bernoulli(n_arms=10, gap=0.2); "
    "bw.simulate(bw.TsallisINF(), world, horizon=int(sys.argv[1]), seed=1, jobs=1, checkpoints=[1]); "
    "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
)


def state_size(policy: bw.Policy, n_arms: int) -> int:
    """Bytes of a policy's state: what a replication needs, besides a block of random numbers."""

    def total(part: object) -> int:
        return part.nbytes if hasattr(part, "nbytes") else sum(map(total, part))  # type: ignore[call-overload]

    return total(init(policy.resolve(n_arms, None)))


def play(rounds: int) -> tuple[float, float]:
    """The most memory that a process had while it played so many rounds, in MB, and its seconds."""
    start = time.perf_counter()
    command = [sys.executable, "-c", LONG_RUN, str(rounds)]
    size = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return size / 1024, time.perf_counter() - start


def memory_table() -> list[str]:
    lines = ["| policy | arms | bytes per arm | fixed bytes per replication |", "|---|---|---|---|"]
    for policy, few, many in (
        (bw.TsallisINF(), 100, 200),
        (bw.TsallisINF(), 1000, 2000),
        (bw.LightBarrier(), 100, 200),
        (bw.UCB1(), 100, 200),
    ):
        small, large = state_size(policy, few), state_size(policy, many)
        each = (large - small) / (many - few)
        lines.append(f"| `{policy!r}` | {few} to {many} | {each:.0f} | {small - few * each:,.0f} |")
    play(100)  # compiles
    told = []
    for rounds in (10**5, 10**7, 10**8):
        size, seconds = play(rounds)
        told.append(f"{size:.0f} MB and {seconds:.1f} s for {rounds:,} rounds")
    lines += [
        "",
        f"A process that plays `TsallisINF()` with 10 arms, Python and numba included: {', '.join(told)}.",
    ]
    return lines


if __name__ == "__main__":
    print("\n".join(memory_table()))
