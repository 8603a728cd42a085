"""What an account of a run costs, in multiples of playing the run: the goal is at most 8.

python benchmarks/account_speed.py [n_arms]
"""

from __future__ import annotations

import sys
import time

import bothworlds as bw

ROUNDS, REPEATS = 100_000, 5
POLICIES = [
    bw.TsallisINF(),
    bw.FTRL(bw.LogBarrier(), constants="light"),
    bw.FTRL(bw.LogBarrier(), constants="paper"),
    bw.FTRL(bw.Tsallis(beta=0.7), constants="light"),
    bw.FTRL(bw.Shannon(), constants="light"),
    bw.EXP3(),
    bw.DecoupledTsallisINF(),
]


def best(action):
    """The shortest processor time of several, in nanoseconds per round."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return min(times) / ROUNDS * 1e9


def main(n_arms: int) -> None:
    world = bw.environments.Bernoulli(n_arms=n_arms, gap=0.125, optimal=2)
    print(f"{n_arms} arms, {ROUNDS:,} rounds, best of {REPEATS}; processor time per round")
    for policy in POLICIES:
        run = bw.simulate(policy, world, horizon=ROUNDS, seed=1, jobs=1, trace=True)
        trace = run.traces[0][0]
        account = bw.theory.account(trace, optimal=[0, 1])  # compiles
        playing = best(lambda p=policy: bw.simulate(p, world, horizon=ROUNDS, seed=1, jobs=1))
        accounting = best(lambda t=trace: bw.theory.account(t, optimal=[0, 1]))
        del account
        ratio = accounting / playing
        print(f"{policy!r:42} playing {playing:6.0f} ns   account {accounting:6.0f} ns   {ratio:4.1f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
