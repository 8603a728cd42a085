"""Memory: bytes per arm and per replication, and that a longer run needs no more."""

from __future__ import annotations

import subprocess
import sys

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


def peak(rounds: int) -> float:
    """The most memory a process had while it played so many rounds, in MB."""
    command = [sys.executable, "-c", LONG_RUN, str(rounds)]
    best = min(
        int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(2)
    )
    return best / 1024


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
    sizes = {rounds: peak(rounds) for rounds in (10**5, 10**7)}
    lines += [
        "",
        "Peak memory of a process that plays `TsallisINF()` with 10 arms, Python and numba included: ",
    ]
    lines[-1] += ", ".join(f"{size:.0f} MB for {rounds:,} rounds" for rounds, size in sizes.items()) + "."
    return lines


if __name__ == "__main__":
    print("\n".join(memory_table()))
