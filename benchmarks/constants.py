"""What the choice of constants costs: regret of the paper's algorithm under each preset.

iid Bernoulli losses, K = 8, gap ⅛, T = 10,000. Regret has heavy tails (a run that locks in on a wrong arm
costs as much as uniform play), so mean, median and 95% quantile are given, of thousands of runs.
"""

from __future__ import annotations

import math

import numpy as np

import bothworlds as bw
from bothworlds._progress import Progress

N_ARMS, GAP, HORIZON, RUNS = 8, 0.125, 10_000, 4096
POLICIES = [
    bw.policies.DEFAULT,
    bw.LightBarrier(),
    *(
        bw.FTRL(regularizer, constants=constants)
        for regularizer in (bw.LogBarrier(), bw.Tsallis(0.5), bw.Shannon())
        for constants in ("light", "paper")
    ),
    bw.TsallisINF(),
    bw.TsallisINF("rv"),
    bw.UCB1(),
]


def main() -> None:
    world = bw.environments.Bernoulli(n_arms=N_ARMS, gap=GAP)
    lines = [
        "| policy | regret, mean ± 2 SE | median | 95% quantile |",
        "|---|---|---|---|",
        f"| uniform play | {GAP * HORIZON * (N_ARMS - 1) / N_ARMS:.0f} | | |",
    ]
    with Progress("constants", len(POLICIES)) as progress:
        for policy in POLICIES:
            run = bw.simulate(policy, world, horizon=HORIZON, replications=RUNS, seed=1)
            final = run.regret[0, :, -1]
            error = 2 * np.std(final, ddof=1) / math.sqrt(RUNS)
            median, high = np.quantile(final, [0.5, 0.95])
            lines.append(f"| `{policy!r}` | {final.mean():.0f} ± {error:.1g} | {median:.0f} | {high:.0f} |")
            progress.advance(1)
    print(f"iid Bernoulli, K={N_ARMS}, gap {GAP}, T={HORIZON:,}, {RUNS:,} runs\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
