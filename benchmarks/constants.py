"""What the choice of constants costs: mean regret of the paper's algorithm under each preset."""

from __future__ import annotations

import math

import numpy as np

import bothworlds as bw

N_ARMS, GAP, HORIZON, RUNS = 8, 0.125, 10_000, 32
MEANS = np.array([(1 - GAP) / 2] + [(1 + GAP) / 2] * (N_ARMS - 1))
POLICIES = [
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


def regret(policy: bw.Policy, seed: int) -> float:
    """Pseudo-regret Σ_t Δ of the arms played, on Bernoulli losses."""
    bandit = bw.Bandit(N_ARMS, policy, horizon=HORIZON, seed=seed)
    losses = (np.random.default_rng(seed).random((HORIZON, N_ARMS)) < MEANS).astype(float).tolist()
    total = 0.0
    for row in losses:
        pull = bandit.pull()
        total += GAP * (pull.arm != 0)
        bandit.update(pull, loss=row[pull.arm])  # type: ignore[index]
    return total


def main() -> None:
    print(f"iid Bernoulli, K={N_ARMS}, gap {GAP}, T={HORIZON:,}, {RUNS} runs, regret ± 2 standard errors")
    print(f"{'uniform play':<46}{GAP * HORIZON * (N_ARMS - 1) / N_ARMS:>8.0f}")
    for policy in POLICIES:
        values = [regret(policy, seed) for seed in range(RUNS)]
        error = 2 * np.std(values, ddof=1) / math.sqrt(RUNS)
        print(f"{policy!r:<46}{np.mean(values):>8.0f} ± {error:.0f}", flush=True)


if __name__ == "__main__":
    main()
