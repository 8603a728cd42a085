"""Three recommenders of films, which one? `bw.Advised` on the ratings of MovieLens 100k.

The earlier half of each viewer's ratings trains the recommenders; the later half is played. A visit offers
five films that the viewer is about to rate, so that what any choice would have earned is known: one to five
stars. No rating is used twice. Visits of all viewers come in an order drawn once; `real_data` says where the
ratings are published.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import bothworlds as bw
from real_data import RATINGS, published

OFFERED = 5
RUNS = 8


class Visit(NamedTuple):
    """A viewer, the films on offer, and the stars that each would get."""

    viewer: int
    films: np.ndarray
    stars: np.ndarray


def read() -> tuple[np.ndarray, list[Visit]]:
    """Training ratings, viewers × films with 0 for none, and the visits."""
    lines = list(csv.reader(io.StringIO(published(*RATINGS)), delimiter="\t"))[1:]
    rows = np.array([[float(value) for value in line] for line in lines]).astype(np.int64)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 3]))]  # by time; those of the same second by film
    train = np.zeros(rows[:, :2].max(axis=0) + 1)
    visits = []
    for viewer in np.unique(rows[:, 0]):
        own = rows[rows[:, 0] == viewer]
        half = len(own) // 2
        train[viewer, own[:half, 1]] = own[:half, 2]
        for i in range(half, len(own) - OFFERED + 1, OFFERED):
            visits.append(Visit(int(viewer), own[i : i + OFFERED, 1], own[i : i + OFFERED, 2]))
    order = np.random.default_rng(1).permutation(len(visits))
    return train, [visits[i] for i in order]


def recommenders(train: np.ndarray) -> dict[str, Callable[[Visit], int]]:
    """Each gives the place of the film that it thinks best."""
    rated = train > 0
    count = rated.sum(axis=0)
    overall = train.sum() / count.sum()
    mean = (train.sum(axis=0) + 5.0 * overall) / (count + 5.0)  # as if five viewers had found it average
    taste = np.where(rated, train - mean, 0.0)
    length = np.linalg.norm(taste, axis=1)
    alike = taste @ taste.T / np.maximum(np.outer(length, length), 1e-12)
    np.fill_diagonal(alike, 0.0)
    neighbors = mean + (alike @ taste) / np.maximum(np.abs(alike) @ rated, 1e-12)
    return {
        "most rated": lambda visit: int(count[visit.films].argmax()),
        "best rated": lambda visit: int(mean[visit.films].argmax()),
        "viewers alike": lambda visit: int(neighbors[visit.viewer, visit.films].argmax()),
    }


def main() -> None:
    """Print mean stars: of each recommender alone, of a draw, and of bandits that learn whom to trust."""
    train, visits = read()
    experts = recommenders(train)
    print(f"{len(visits)} visits, {OFFERED} films each\n")
    print("| who chooses | mean stars | trust at the end |\n|---|---|---|")
    print(f"| nobody: a film at random | {np.mean([visit.stars.mean() for visit in visits]):.3f} | |")
    for name, expert in experts.items():
        print(f"| {name} | {np.mean([visit.stars[expert(visit)] for visit in visits]):.3f} | |")
    for method in ("exp4", "spm", "spm-paper"):
        means, trusts = [], []
        for seed in range(RUNS):
            bandit = bw.Advised(experts, OFFERED, method=method, seed=seed, low=1.0, high=5.0)
            earned = 0
            for visit in visits:
                pull = bandit.pull(visit)
                stars = int(visit.stars[pull.arm])
                bandit.update(pull, reward=stars)
                earned += stars
            means.append(earned / len(visits))
            trusts.append(list(bandit.trust.values()))
        error = 2.0 * np.std(means, ddof=1) / np.sqrt(RUNS)
        trust = ", ".join(f"{name} {q:.2f}" for name, q in zip(experts, np.mean(trusts, axis=0), strict=True))
        print(
            f'| `Advised(…, method="{method}")` | {np.mean(means):.3f} ± {error:.3f} | {trust} |', flush=True
        )


if __name__ == "__main__":
    main()
