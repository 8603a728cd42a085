"""Means that move: phases of the constrained adversary, switches, drifts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.environments.base import loss_of, open_world, prepare
from oracle import worlds as oracle


def means_seen(environment, horizon, resolution=200):
    """The probability of a loss of every arm in every round, read off by a grid of uniforms."""
    params = environment.parameters(horizon)
    world, p = open_world(params), np.full(environment.n_arms, 1 / environment.n_arms)
    grid = (np.arange(resolution) + 0.5) / resolution
    means = np.empty((horizon, environment.n_arms))
    for t in range(1, horizon + 1):
        prepare(params, world, t, p, np.array([0.5]))
        for arm in range(environment.n_arms):
            means[t - 1, arm] = np.mean([loss_of(params, world, t, arm, np.array([u])) for u in grid])
    return means


def test_phases_of_the_constrained_adversary():
    means = means_seen(en.StochasticallyConstrained(n_arms=3, gap=0.25, optimal=2), 27)
    low, high = [0.0, 0.0, 0.25], [0.75, 0.75, 1.0]
    lengths = [1, 2, 3, 5, 7, 9]  # ⌈1⌉, ⌈1.6⌉, ⌈2.56⌉, ⌈4.096⌉, ⌈6.5536⌉, ⌈10.49⌉ = 11, of which 9 are here
    expected = [row for n, length in enumerate(lengths) for row in [(low, high)[n % 2]] * length]
    np.testing.assert_allclose(means, expected, atol=0.003)


@pytest.mark.parametrize("growth", [1.6, 2.0, 1.1])
def test_phases_stay_exact_for_a_million_rounds(growth):
    environment = en.StochasticallyConstrained(n_arms=2, gap=0.5, growth=growth)
    params = environment.parameters(10**6)
    world = open_world(params)
    ends = oracle.phase_ends(growth, 10**6)
    for n, end in enumerate(ends):  # the world only looks whether the phase is over
        prepare(params, world, end, np.empty(0), np.empty(0))
        before = loss_of(params, world, end, 0, np.array([0.25]))
        assert before == n % 2
        prepare(params, world, end + 1, np.empty(0), np.empty(0))
        assert loss_of(params, world, end + 1, 0, np.array([0.25])) == 1 - before


def test_a_phase_longer_than_any_integer():
    world = en.StochasticallyConstrained(n_arms=2, gap=0.25, growth=1e300)
    run = bw.simulate(bw.TsallisINF(), world, horizon=400, trace=True, seed=1)
    # (0, ¼) in the first round, then (¾, 1) for good
    assert run.traces[0][0].losses[1:].mean() > 0.7


@pytest.mark.parametrize(
    ("period", "horizon", "best"),
    [
        (2, 7, [0, 0, 1, 1, 2, 2, 0]),
        (None, 6, [0, 0, 0, 1, 1, 1]),
        (None, 5, [0, 0, 0, 1, 1]),
        (None, 1, [0]),
        (10, 4, [0, 0, 0, 0]),
    ],
)
def test_switches(period, horizon, best):
    means = means_seen(en.Switching(n_arms=3, gap=0.5, period=period), horizon)
    expected = np.full((horizon, 3), 0.75)
    expected[np.arange(horizon), best] = 0.25
    np.testing.assert_allclose(means, expected, atol=0.003)


def test_drifts():
    means = means_seen(en.Drifting(n_arms=4, period=8, level=0.6, amplitude=0.3), 16)
    expected = [
        [0.6 + 0.3 * math.sin(math.pi / 4 * t + math.pi / 2 * i) for i in range(4)] for t in range(1, 17)
    ]
    np.testing.assert_allclose(means, expected, atol=0.003)


@pytest.mark.parametrize("level", [0.1, 0.3, 0.7, 0.9, 0.5])
def test_a_drift_may_use_all_the_room_there_is(level):
    en.Drifting(n_arms=2, period=5, level=level, amplitude=round(min(level, 1 - level), 6))
