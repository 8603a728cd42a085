"""What batches bring in speed, and what they cost in regret.

    python benchmarks/batches.py --speed     decisions a second, each with its update, single and by the batch
    python benchmarks/batches.py --regret    mean and median regret by the size of the batch

In a batch all arms are drawn before the first answer is learned. Losses are Bernoulli's.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bothworlds as bw

POLICIES = {
    "default": bw.policies.DEFAULT,
    "LightBarrier": bw.LightBarrier(),
    "TsallisINF": bw.TsallisINF(),
    "Thompson": bw.Thompson(),
    "UCB1": bw.UCB1(),
}
MEANS = np.array([0.3] + [0.4] * 9)  # of the losses
SIZES = (1, 10, 100, 1000, 10_000)
HORIZON = 20_000


def rate(policy: bw.Policy, size: int, seconds: float = 1.0) -> float:
    """Decisions a second, in batches of ``size`` (0: single pulls), the best of three."""
    bandit = bw.Bandit(10, policy, seed=1)
    losses = np.random.default_rng(2).random(max(1, size))
    best = 0.0
    for _ in range(4):  # the first compiles
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds / 3:
            if size:
                bandit.update(bandit.pull(size), losses=losses)
            else:
                bandit.update(bandit.pull(), loss=float(losses[0]))
            count += max(1, size)
        best = max(best, count / (time.perf_counter() - began))
    return best


def batch_table() -> list[str]:
    """Decisions a second, in Markdown."""
    sizes = SIZES[2:]
    lines = ["| policy | single pulls | " + " | ".join(f"batches of {size:,}" for size in sizes) + " |"]
    lines.append("|---|---" + "|---" * len(sizes) + "|")
    for name, policy in POLICIES.items():
        single = rate(policy, 0)
        rates = [rate(policy, size) for size in sizes]
        cells = [f"{thousands(r)} ({r / single:.0f}x)" for r in rates]
        lines.append(f"| {name} | {thousands(single)} | " + " | ".join(cells) + " |")
    return lines


def thousands(number: float) -> str:
    return f"{round(number, -3):,.0f}"


def regret(runs: int) -> None:
    print(f"K = {len(MEANS)}, T = {HORIZON:,}, {runs} runs: mean regret ± standard error (median)\n")
    print("| policy | " + " | ".join(f"{size:,}" for size in SIZES) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for name, policy in POLICIES.items():
        cells = []
        for size in SIZES:
            total = np.array([play(policy, size, run) for run in range(runs)])
            error = total.std(ddof=1) / runs**0.5
            cells.append(f"{total.mean():.0f} ± {error:.0f} ({np.median(total):.0f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def play(policy: bw.Policy, size: int, run: int) -> float:
    """The regret of one run of HORIZON rounds."""
    bandit = bw.Bandit(len(MEANS), policy, seed=run)
    world = np.random.default_rng([run, 1])
    regret = 0.0
    for _ in range(HORIZON // size):
        if size == 1:  # the same, sooner
            pull = bandit.pull()
            mean = MEANS[pull.arm]
            bandit.update(pull, loss=bool(world.random() < mean))
            regret += mean - MEANS[0]
            continue
        pulls = bandit.pull(size)
        means = MEANS[pulls.arms]
        bandit.update(pulls, losses=world.random(size) < means)
        regret += float((means - MEANS[0]).sum())
    return regret


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--regret", action="store_true")
    parser.add_argument("--runs", type=int, default=128)
    options = parser.parse_args()
    if options.speed or not options.regret:
        print("\n".join(batch_table()))
    if options.regret:
        regret(options.runs)
