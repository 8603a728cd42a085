"""The adversary with a budget: what it changes, what it pays, and what that does to regret."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.environments.base import loss_of, open_world, prepare
from bothworlds.errors import InvalidArgumentError
from bothworlds.simulation.engine import play_block
from interpreting import plain_python  # noqa: F401 - a fixture
from playing import interpret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract

BASE = en.Bernoulli(n_arms=4, gap=0.5, optimal=2)
T = 60
EVEN = np.full(4, 0.25)


def watch(environment, p=EVEN, horizon=T, seed=1):
    """Clean and corrupted losses of all arms in all rounds."""
    params, clean_params = environment.parameters(horizon), environment.base.parameters(horizon)
    world, clean_world = open_world(params), open_world(clean_params)
    uniforms = np.random.default_rng(seed).random((horizon, 1))
    tables = np.empty((2, horizon, environment.n_arms))
    for t in range(horizon):
        prepare(params, world, t + 1, p, uniforms[t])
        prepare(clean_params, clean_world, t + 1, p, uniforms[t])
        for i in range(environment.n_arms):
            tables[0, t, i] = loss_of(clean_params, clean_world, t + 1, i, uniforms[t])
            tables[1, t, i] = loss_of(params, world, t + 1, i, uniforms[t])
    return tables


@pytest.mark.parametrize("strategy", ["front", "targeted", "adaptive", "inside"])
@pytest.mark.parametrize("budget", [0.0, 0.4, 7.0, 12.75])
def test_the_whole_budget_is_spent_and_no_more(strategy, budget):
    clean, corrupted = watch(en.Corrupted(BASE, budget, strategy=strategy))
    assert np.abs(corrupted - clean).max(axis=1).sum() == pytest.approx(budget, abs=1e-12)
    assert ((corrupted >= 0) & (corrupted <= 1)).all()


@pytest.mark.parametrize("strategy", ["front", "targeted", "inside"])
def test_a_budget_that_is_never_exhausted(strategy):
    clean, corrupted = watch(en.Corrupted(BASE, 1000, strategy=strategy))
    if strategy == "front":
        assert np.array_equal(corrupted, 1 - clean)
    elif strategy == "targeted":
        assert np.array_equal(corrupted, np.tile([1.0, 1.0, 0.0, 0.0], (T, 1)))
    else:
        assert np.array_equal(corrupted[:, 2:], clean[:, 2:])
        for row, before, turn in zip(corrupted, clean, range(T), strict=True):
            assert row[turn % 2] == 1.0
            assert row[1 - turn % 2] == before[1 - turn % 2]


def test_front_comes_first_and_the_last_coin_buys_a_part():
    clean, corrupted = watch(en.Corrupted(BASE, 5.25))
    assert np.array_equal(corrupted[:5], 1 - clean[:5])
    np.testing.assert_allclose(corrupted[5], np.abs(clean[5] - 0.25))
    assert np.array_equal(corrupted[6:], clean[6:])


def test_the_adaptive_adversary_waits_for_the_optimal_arms():
    world = en.Corrupted(BASE, 8.0, strategy="adaptive")
    clean, corrupted = watch(world, p=np.array([0.25, 0.2, 0.25, 0.3]))
    assert np.array_equal(corrupted, clean)
    clean, corrupted = watch(world, p=np.array([0.05, 0.45, 0.25, 0.25]))
    assert np.array_equal(corrupted[:8], np.tile([1.0, 1.0, 0.0, 0.0], (8, 1)))


def test_fractional_losses_cost_what_they_move():
    world = en.Corrupted(
        en.Discrete(values=[0.25, 0.5], probabilities=[[1, 0], [0, 1]]), 2.0, strategy="targeted"
    )
    clean, corrupted = watch(world, p=np.array([0.5, 0.5]))
    assert clean[0].tolist() == [0.25, 0.5]
    assert corrupted[:2].tolist() == [[1.0, 0.0]] * 2  # ¾ each
    np.testing.assert_allclose(corrupted[2], [0.25 + 0.5, 0.5 - 0.5 * (0.5 / 0.75)])  # the last half coin
    assert np.array_equal(corrupted[3:], clean[3:])


@pytest.mark.parametrize("strategy", ["front", "targeted", "adaptive", "inside"])
def test_both_regrets_differ_by_at_most_twice_the_budget(strategy):
    world = en.Corrupted(en.Bernoulli(n_arms=4, gap=0.25, optimal=2), 30.0, strategy=strategy)
    run = bw.simulate(bw.TsallisINF(), world, horizon=300, replications=5, seed=1)
    difference = np.abs(run.regret - run.clean_regret)
    assert difference.max() <= 60.0 + 1e-9
    assert difference.max() > 1.0
    free = bw.simulate(
        bw.TsallisINF(), en.Corrupted(world.base, 0.0, strategy=strategy), horizon=300, replications=5, seed=1
    )
    base = bw.simulate(bw.TsallisINF(), world.base, horizon=300, replications=5, seed=1)
    assert np.array_equal(free.measured, base.measured)


def test_what_cannot_be_corrupted():
    with pytest.raises(
        InvalidArgumentError, match=r"base must be .* not Delayed, .*; write Delayed\(Corrupted\("
    ):
        en.Corrupted(en.Delayed(BASE, 3), 1.0)
    with pytest.raises(InvalidArgumentError, match=r"base must be .* not Corrupted itself, got Corrupted\("):
        en.Corrupted(en.Corrupted(BASE, 1.0, strategy="adaptive"), 1.0)


def test_regret_is_measured_against_the_arm_that_is_best_on_the_corrupted_losses(monkeypatch):
    interpret(monkeypatch, play_block)
    # with a budget for every round the optimal arm always loses and the other never does
    world = en.Corrupted(en.Bernoulli(n_arms=2, gap=0.1), 4000, strategy="targeted")
    run = bw.simulate(bw.Uniform(), world, horizon=4000, replications=4, seed=1)
    np.testing.assert_allclose(run.regret[0, :, -1], 2000, rtol=0.1)  # half of its rounds lose 1 more
    np.testing.assert_allclose(run.clean_regret[0, :, -1], 200, rtol=0.1)
