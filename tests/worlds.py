"""The one table of environments that drives the contract tests, each with its independent losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from bothworlds import environments as en
from oracle import worlds as oracle


class World(NamedTuple):
    environment: en.Environment
    rows: Callable | None  # horizon, uniforms, p → oracle.Rows; None: has tests of its own
    prints: bool = True  # its repr is an expression


MEANS = (0.3, 0.6, 0.5, 0.3)
LOCATIONS, SCALE = (0.1, 0.5, 0.9), 0.3
VALUES, PROBABILITIES = (0.0, 0.25, 1.0), ((0.5, 0.25, 0.25), (0.1, 0.2, 0.7), (0.125, 0.375, 0.5))
STRETCHES = ((0.3, 0.5, 0.7), (0.8, 0.5, 0.7), (0.8, 0.5, 0.1))
CHANGES = (37, 80)
TABLE = np.random.default_rng(1).random((400, 3))


def synthetic_log(rows, means=(0.2, 0.5, 0.8), q=((0.6, 0.25, 0.15), (0.2, 0.5, 0.3)), seed=2):
    """Bernoulli losses logged by one of two loggers in turn, neither of them uniform."""
    rng = np.random.default_rng(seed)
    q = np.array(q)[np.arange(rows) % len(q)]
    actions = (rng.random((rows, 1)) > np.cumsum(q, axis=1)[:, :-1]).sum(axis=1)
    losses = (rng.random(rows) < np.array(means)[actions]).astype(float)
    return actions, 1.0 - losses, q[np.arange(rows), actions]


def truncated_means(locations, scale):
    return [stats.truncnorm(-m / scale, (1 - m) / scale, m, scale).mean() for m in locations]


two_best = en.Bernoulli(n_arms=4, gap=0.25, optimal=2)
two_best_rows = oracle.bernoulli([0.375, 0.375, 0.625, 0.625])

WORLDS = [
    World(en.Bernoulli(means=MEANS), oracle.bernoulli(MEANS)),
    World(two_best, two_best_rows),
    World(en.Beta(means=MEANS, concentration=8.0), oracle.beta(MEANS, 8.0)),
    World(
        en.TruncatedNormal(locations=LOCATIONS, scale=SCALE),
        oracle.truncated_normal(LOCATIONS, SCALE, truncated_means(LOCATIONS, SCALE)),
    ),
    World(en.Discrete(values=VALUES, probabilities=PROBABILITIES), oracle.discrete(VALUES, PROBABILITIES)),
    World(en.Minimax(n_arms=3), oracle.minimax(3)),
    World(
        en.StochasticallyConstrained(n_arms=4, gap=0.25, optimal=2), oracle.constrained(4, 0.25, optimal=2)
    ),
    World(en.Switching(n_arms=3, gap=0.5, period=40), oracle.switching(3, 0.5, 40)),
    World(en.Switching(n_arms=3, gap=0.5), oracle.switching(3, 0.5)),
    World(en.Alternating(n_arms=4, period=21), oracle.alternating(4, 21, 10, 0.75)),
    World(en.SwitchingCost(two_best, cost=0.25), None),
    World(en.Drifting(n_arms=3, period=100.0), oracle.drifting(3, 100.0)),
    World(
        en.Switching(n_arms=3, gap=0.5, period=40, benchmark="dynamic"),
        oracle.dynamic(oracle.switching(3, 0.5, 40)),
    ),
    World(
        en.Drifting(n_arms=3, period=100.0, benchmark="dynamic"), oracle.dynamic(oracle.drifting(3, 100.0))
    ),
    World(en.ChangePoints(means=STRETCHES, changes=CHANGES), oracle.change_points(STRETCHES, CHANGES)),
    World(
        en.ChangePoints(means=STRETCHES, changes=CHANGES, benchmark="dynamic"),
        oracle.dynamic(oracle.change_points(STRETCHES, CHANGES)),
    ),
    World(en.RandomWalk(start=(0.1, 0.5, 0.6), step=0.2), oracle.random_walk((0.1, 0.5, 0.6), 0.2, 0.0, 1.0)),
    World(
        en.RandomWalk(start=(0.1, 0.2), step=0.03, low=0.05, high=0.25, benchmark="dynamic"),
        oracle.dynamic(oracle.random_walk((0.1, 0.2), 0.03, 0.05, 0.25)),
    ),
    World(
        en.Seasonal(means=MEANS, period=50.0, amplitude=0.3), oracle.seasonal(MEANS, 50.0, 0.3, logit=False)
    ),
    World(
        en.Seasonal(means=(0.02, 0.05, 0.9), period=30.0, amplitude=2.0, scale="logit"),
        oracle.seasonal((0.02, 0.05, 0.9), 30.0, 2.0, logit=True),
    ),
    World(en.Gem(n_arms=3, threshold=0.2), oracle.gem(0.2)),
    World(
        en.Faked(two_best, arm=3, first=20, last=70, mean=0.125),
        oracle.faked(two_best_rows, 3, 20, 70, 0.125),
    ),
    World(
        en.Faked(en.Switching(n_arms=3, gap=0.5, period=40), arm=0, first=50, last=90),
        oracle.faked(oracle.switching(3, 0.5, 40), 0, 50, 90, 0.0),
    ),
    World(en.ThresholdAdversary(n_arms=3), oracle.threshold),
    World(en.FavoriteAttack(n_arms=3), oracle.favorite),
    World(en.DeterministicKiller(n_arms=3), oracle.killer),
    World(en.LossTable(TABLE), oracle.table(TABLE), prints=False),
    World(en.Logged(*synthetic_log(4000)), None, prints=False),
    *(
        World(
            en.Corrupted(two_best, 30.25, strategy=strategy),
            oracle.corrupted(two_best_rows, [0, 1], 30.25, strategy),
        )
        for strategy in ("front", "targeted", "adaptive", "inside")
    ),
    World(
        en.Corrupted(en.Beta(means=MEANS, concentration=8.0), 12.5),
        oracle.corrupted(oracle.beta(MEANS, 8.0), [0, 3], 12.5, "front"),
    ),
    World(en.Delayed(two_best, 7), None),
    World(en.Delayed(two_best, 4.5, law="geometric"), None),
    World(en.Delayed(two_best, 3.0, law="heavy", longest=25, lost=0.25), None),
]
