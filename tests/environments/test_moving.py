"""Means that move: phases of the constrained adversary, switches, drifts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.environments.base import loss_of, open_world, prepare
from bothworlds.simulation.engine import play_block
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import worlds as oracle
from playing import interpret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract


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


def test_change_points():
    world = en.ChangePoints(means=[[0.1, 0.5], [0.9, 0.5], [0.9, 0.3]], changes=[2, 3])
    expected = [[0.1, 0.5]] * 2 + [[0.9, 0.5]] + [[0.9, 0.3]] * 3
    np.testing.assert_allclose(means_seen(world, 6), expected, atol=0.003)
    assert en.ChangePoints(means=[[0.1, 0.5]], changes=[]).n_arms == 2


def test_seasons():
    linear = means_seen(en.Seasonal(means=[0.3, 0.5], period=4, amplitude=0.2), 4)
    np.testing.assert_allclose(linear, [[0.5, 0.7], [0.3, 0.5], [0.1, 0.3], [0.3, 0.5]], atol=0.003)
    # e^s = 4 and ¼: odds 1:9 become 4:9 and 1:36, those of 0 and 1 stay
    world = en.Seasonal(means=[0.1, 0.0, 1.0], period=4, amplitude=math.log(4), scale="logit")
    expected = [[4 / 13, 0, 1], [0.1, 0, 1], [1 / 37, 0, 1], [0.1, 0, 1]]
    np.testing.assert_allclose(means_seen(world, 4), expected, atol=0.003)
    assert world.gaps is None


def walk(environment, horizon, seed=0):
    """The means in every round."""
    params = environment.parameters(horizon)
    world, rows = open_world(params), []
    for t, uniforms in enumerate(np.random.default_rng(seed).random((horizon, 2)), start=1):
        prepare(params, world, t, np.empty(0), uniforms)
        rows.append(world.losses.copy())
    return np.array(rows)


def test_random_walks_have_steps_of_their_standard_deviation_and_are_independent():
    means = walk(en.RandomWalk(start=[0.5] * 3, step=0.001), 4000)
    assert means[0].tolist() == [0.5] * 3
    steps = np.diff(means, axis=0)
    np.testing.assert_allclose(steps.std(axis=0), 0.001, rtol=0.05)
    assert np.abs(steps.mean(axis=0)).max() < 4 * 0.001 / math.sqrt(4000)
    assert np.abs(np.corrcoef(steps.T) - np.eye(3)).max() < 0.07


def test_random_walks_fill_their_range_evenly():
    means = walk(en.RandomWalk(start=[0.2, 0.3], step=0.05, low=0.2, high=0.4), 20_000)
    assert means.min() >= 0.2
    assert means.max() <= 0.4
    counts, _ = np.histogram(means, bins=4, range=(0.2, 0.4))
    np.testing.assert_allclose(counts / means.size, 0.25, atol=0.02)


@pytest.mark.parametrize(
    "kind",
    [
        lambda **how: en.Switching(n_arms=3, gap=0.5, period=40, **how),
        lambda **how: en.RandomWalk(start=[0.3, 0.5], step=0.05, **how),
    ],
)
def test_dynamic_regret_exceeds_regret_by_what_a_fixed_arm_loses(kind, monkeypatch):
    interpret(monkeypatch, play_block)
    how = {"horizon": 300, "replications": 3, "seed": 2}
    fixed, dynamic = (
        bw.simulate(bw.TsallisINF(), kind(benchmark=name), **how) for name in ("fixed", "dynamic")
    )
    assert (fixed.losses == dynamic.losses).all()
    more = (dynamic.regret - fixed.regret)[..., -1]
    assert more.min() > -1e-9
    assert more.max() > 1
    others = bw.simulate(bw.UCB1(), kind(benchmark="dynamic"), **how).regret[..., -1]
    others -= bw.simulate(bw.UCB1(), kind(), **how).regret[..., -1]
    np.testing.assert_allclose(others, more, atol=1e-9)  # it belongs to the world
    assert "dynamic" in kind(benchmark="dynamic").regret_kind
    assert en.Delayed(kind(benchmark="dynamic"), 5).dynamic


def test_fakes_are_seen_and_not_suffered(monkeypatch):
    interpret(monkeypatch, play_block)
    base = en.Bernoulli(means=[0.5, 0.7])
    world = en.Faked(base, arm=1, first=100, last=300)
    run = bw.simulate(bw.UCB1(), world, horizon=400, seed=1, trace=True, checkpoints=range(1, 401))
    trace = run.traces[0][0]
    inside = (np.arange(1, 401) >= 100) & (np.arange(1, 401) <= 300)
    assert not trace.losses[inside & (trace.arms == 1)].any()
    assert trace.losses[~inside & (trace.arms == 1)].any()
    np.testing.assert_allclose(run.regret[0, 0], np.cumsum(0.2 * (trace.played == 1)))
    assert np.array_equal(run.regret, run.clean_regret)
