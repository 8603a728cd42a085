"""Three recommenders, or sixteen: whom to trust? EXP4, stability–penalty matching, and no experts at all.

The table of docs/advice.md: 8 arms, 6 contexts, drawn uniformly; each expert is a map from contexts to arms,
drawn uniformly; Bernoulli losses with means (1 ∓ ¼)/2, smaller for what the first expert recommends. Mean
regret against that expert ± 2 standard errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import bothworlds as bw
from bothworlds import rng

N_ARMS, N_CONTEXTS, GAP = 8, 6, 0.25
Choose = Callable[[int], bw.Pull]
Learn = Callable[[int, bw.Pull, float], None]


def advised(method: str, table: np.ndarray, seed: int) -> tuple[Choose, Learn]:
    """A bandit with experts, of which each is a row of the table."""
    experts = [dict(enumerate(row.tolist())) for row in table]
    bandit = bw.Advised(experts, N_ARMS, method=method, seed=seed)
    return bandit.pull, lambda context, pull, loss: bandit.update(pull, loss=loss)


def plain(policy: bw.Policy, by_context: bool, seed: int) -> tuple[Choose, Learn]:
    """A bandit without experts for each context, or one for all."""
    bandits = [bw.Bandit(N_ARMS, policy, seed=seed + i) for i in range(N_CONTEXTS if by_context else 1)]

    def learn(context: int, pull: bw.Pull, loss: float) -> None:
        bandits[context % len(bandits)].update(pull, loss=loss)

    return lambda context: bandits[context % len(bandits)].pull(), learn


CONTESTANTS: dict[str, Callable[[np.ndarray, int], tuple[Choose, Learn]]] = {
    '`"exp4"`, the default': lambda table, seed: advised("exp4", table, seed),
    '`"spm"`': lambda table, seed: advised("spm", table, seed),
    '`"spm-paper"`': lambda table, seed: advised("spm-paper", table, seed),
    "`TsallisINF()` for each context": lambda table, seed: plain(bw.TsallisINF(), True, seed),
    "`TsallisINF()` without context": lambda table, seed: plain(bw.TsallisINF(), False, seed),
}


def regret(name: str, n_experts: int, horizon: int, seed: int) -> float:
    """Pseudo-regret of one run against the best expert; the world is the same for all contestants."""
    world = rng.stream(seed, 1)
    table = world.integers(0, N_ARMS, size=(n_experts, N_CONTEXTS))
    best = table[0]
    contexts, uniforms = world.integers(0, N_CONTEXTS, size=horizon).tolist(), world.random(horizon).tolist()
    choose, learn = CONTESTANTS[name](table, seed)
    mistakes = 0
    for context, uniform in zip(contexts, uniforms, strict=True):
        pull = choose(context)
        wrong = pull.arm != best[context]
        mistakes += wrong
        learn(context, pull, float(uniform < (1.0 + GAP if wrong else 1.0 - GAP) / 2.0))
    return GAP * mistakes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experts", nargs="*", type=int, default=[16])
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--replications", type=int, default=16)
    parser.add_argument("--only", nargs="*", type=int, default=list(range(len(CONTESTANTS))), help="0, 1, …")
    options = parser.parse_args()
    names = [list(CONTESTANTS)[i] for i in options.only]
    print(f"T = {options.horizon}, {options.replications} replications\n")
    print("| experts | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    for n_experts in options.experts:
        cells = []
        for name in names:
            runs = [regret(name, n_experts, options.horizon, seed) for seed in range(options.replications)]
            error = 2.0 * np.std(runs, ddof=1) / np.sqrt(len(runs))
            cells.append(f"{np.mean(runs):.0f} ± {error:.0f}")
        print(f"| {n_experts} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
