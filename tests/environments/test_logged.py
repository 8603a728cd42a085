"""Logged data: rejection sampling without bias, each row once, and the end of the log."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.errors import InvalidArgumentError
from oracle import worlds as oracle
from worlds import synthetic_log

POLICY = bw.TsallisINF()


def two_kinds_of_rows(rows, seed):
    """A population of two kinds. The logger knows the kind; the losses of an arm depend on it."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, rows)
    q = np.array([[0.6, 0.25, 0.15], [0.15, 0.25, 0.6]])[kind]
    means = np.array([[0.1, 0.3, 0.9], [0.7, 0.5, 0.3]])[kind]
    actions = (rng.random((rows, 1)) > np.cumsum(q, axis=1)[:, :-1]).sum(axis=1)
    t = np.arange(rows)
    losses = (rng.random(rows) < means[t, actions]).astype(float)
    return actions, 1.0 - losses, q[t, actions]


def final_losses(make, n):
    values = []
    for seed in range(n):
        run = bw.simulate(POLICY, make(seed), horizon=60, seed=seed, jobs=1, checkpoints=[60])
        values.append(run.losses[0, 0, 0])
    return np.array(values)


@pytest.mark.compiled
def test_agrees_with_live_play_on_the_logged_population():
    live = bw.simulate(
        POLICY, en.Bernoulli(means=[0.4, 0.4, 0.6]), horizon=60, replications=2000, checkpoints=[60]
    ).losses[0, :, 0]
    logged = final_losses(lambda seed: en.Logged(*two_kinds_of_rows(1500, seed)), 300)
    assert not np.isnan(logged).any()
    error = np.hypot(live.std() / np.sqrt(live.size), logged.std() / np.sqrt(logged.size))
    assert abs(logged.mean() - live.mean()) < 4 * error

    # without the propensities it would not: arms look as good as the logger made them
    def biased(seed):
        actions, rewards, _ = two_kinds_of_rows(1500, seed)
        return en.Logged(actions, rewards, np.full(1500, 0.5))

    assert abs(final_losses(biased, 300).mean() - live.mean()) > 8 * error


@pytest.mark.parametrize("rows", [300, 3000])
def test_the_very_rows_are_accepted_in_order_and_once_around(rows):
    actions, _, propensities = synthetic_log(rows)
    rewards = np.arange(rows) / rows  # a row is known by its reward
    world = en.Logged(actions, rewards, propensities)
    run = bw.simulate(POLICY, world, horizon=150, replications=4, seed=2, trace=True)
    starts = set()
    for replication, trace in enumerate(run.traces[0]):
        uniforms = bw.rng.stream(2, 1, replication).random((150, 2))
        expected = oracle.logged(actions, propensities, trace.played, uniforms[: len(trace)])
        assert np.rint((1 - trace.losses) * rows).astype(int).tolist() == expected
        assert len(set(expected)) == len(expected) == len(trace)
        assert np.array_equal(actions[expected], trace.arms)
        turns = np.diff(expected) < 0
        assert turns.sum() <= 1
        starts.add(int(uniforms[0, 1] * rows))
        assert (len(trace) == 150) == (rows == 3000)
    assert len(starts) > 1


def test_a_log_that_ends():
    world = en.Logged(*synthetic_log(200))
    run = bw.simulate(POLICY, world, horizon=500, replications=5, trace=True, checkpoints=range(1, 501))
    gaps = world.estimated_means() - world.estimated_means().min()
    for trace, kept in zip(run.traces[0], run.measured[0], strict=True):
        rounds = len(trace)
        assert 5 < rounds < 100
        assert np.isfinite(kept[:rounds]).all()
        assert np.isnan(kept[rounds:]).all()
        assert trace.p.shape == trace.rates.shape == trace.estimates.shape == (rounds + 1, 3)
        assert trace.played.shape == trace.arms.shape == trace.losses.shape == (rounds,)
        again = bw.replay(POLICY, n_arms=3, horizon=500, arms=trace.arms, losses=trace.losses)
        assert np.array_equal(again.p, trace.p)
        np.testing.assert_allclose(kept[:rounds, 0], np.cumsum(gaps[trace.played]), rtol=1e-12)
    (row,) = run._rows()
    assert np.isnan(row[1])


def test_a_row_is_kept_with_the_same_probability_whatever_its_arm():
    actions, rewards, propensities = synthetic_log(20_000)
    world = en.Logged(actions, rewards, propensities)
    assert world.parameters(1).smallest == propensities.min() == 0.15
    run = bw.simulate(POLICY, world, horizon=20_000, trace=True, seed=1)
    assert len(run.traces[0][0]) == pytest.approx(0.15 * 20_000, rel=0.08)


def test_estimated_means():
    world = en.Logged([0, 0, 1, 1], [1.0, 0.0, 0.5, 0.25], [0.5, 0.25, 0.5, 0.5])
    assert world.estimated_means() == pytest.approx([(0 * 2 + 1 * 4) / 6, (0.5 + 0.75) / 2])
    wide = en.Logged(*two_kinds_of_rows(100_000, 1))
    assert wide.estimated_means() == pytest.approx([0.4, 0.4, 0.6], abs=0.02)


def test_the_callers_arrays_stay_theirs():
    actions, rewards, propensities = (np.array(column) for column in synthetic_log(100))
    world = en.Logged(actions, rewards, propensities)
    rewards[:] = 0.0
    actions[:] = 0
    assert world.rewards.any()
    assert world.actions.any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actions": ["a", "b", "c"]}, r"actions must be a one-dimensional sequence of integers"),
        ({"actions": None}, r"actions must be a one-dimensional sequence of integers .* got None"),
        ({"actions": [0.0, 1.0, 1.0]}, r"actions must be a one-dimensional sequence of integers"),
        ({"actions": [0, -1, 1]}, r"actions\[1\] must be in 0..\d+, got -1"),
        (
            {"actions": [0, 2, 2]},
            r"actions must be such that every arm is there at least once, got no row of arm 1",
        ),
        ({"actions": [0, 1, 2], "n_arms": 2}, r"actions\[2\] must be in 0..1, got 2"),
        ({"n_arms": 3}, r"actions must be such that every arm is there at least once, got no row of arm 2"),
        ({"n_arms": -1}, r"n_arms must be at least 0, got -1"),
        ({"n_arms": "2"}, r"n_arms must be an integer, got '2'"),
        ({"actions": [0, 1]}, r"rewards must be as many as actions, and at least one, got 3 for 2 actions"),
        (
            {"actions": [], "rewards": [], "propensities": []},
            r"as many as actions, and at least one, got 0 for 0 actions",
        ),
        ({"rewards": [0.5, 1.5, 0.5]}, r"rewards\[1\] must be finite and .* at most 1, got 1.5"),
        ({"rewards": [np.nan, 0.5, 0.5]}, r"rewards\[0\] must be finite .*, got nan"),
        ({"propensities": [0.5, 0.0, 0.5]}, r"propensities\[1\] must be finite and above 0 .*, got 0.0"),
        ({"propensities": [0.5, 0.5]}, r"propensities must be .* of length 3, got shape \(2,\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    good = {"actions": [0, 1, 1], "rewards": [0.0, 1.0, 0.5], "propensities": [0.5, 0.5, 0.5]}
    with pytest.raises(InvalidArgumentError, match=message):
        en.Logged(**(good | arguments))
