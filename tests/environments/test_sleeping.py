"""Worlds in which not all arms are awake: as Python, against recomputation and against the bandit."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.environments.base import wake
from bothworlds.errors import InvalidArgumentError
from bothworlds.simulation.job import Job
from bothworlds.simulation.sleeping import play_awake
from oracle import draws
from playing import Given

E = bw.environments
MEANS = (0.3, 0.4, 0.5, 0.7)
BASE = E.Bernoulli(means=MEANS)


def awake_in(world, rounds, seed=1):
    """Who is awake in rounds 1, 2, …"""
    env, out = world.parameters(rounds), np.empty((rounds, 4))
    for t, row in enumerate(np.random.default_rng(seed).random((rounds, world.draws)), 1):
        assert wake(env, t, row, out[t - 1]) == out[t - 1].sum()
    return out


def test_each_arm_with_its_probability():
    found = awake_in(E.Sleeping(BASE, awake=0.7), 4000)
    assert abs(found.mean(axis=0) - 0.7).max() < 0.03
    assert abs(np.corrcoef(found.T) - np.eye(4)).max() < 0.06
    rows = np.random.default_rng(1).random((4000, 2))
    expected = np.array([[draws.expand(u, i) < 0.7 for i in range(4)] for _, u in rows[:50]])
    assert (found[:50] == expected)[expected.any(axis=1)].all()


def test_somebody_is_always_awake():
    found = awake_in(E.Sleeping(BASE, awake=0.05), 4000)
    assert found.sum(axis=1).min() == 1
    assert abs(found.mean(axis=0) - found.mean()).max() < 0.03


def test_who_is_away_when():
    turns = awake_in(E.Sleeping(BASE, arm=2, every=3), 12)
    assert turns[:, 2].tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert (turns[:, [0, 1, 3]] == 1).all()
    late = awake_in(E.Sleeping(BASE, arm=[0, 3], first=4, last=6), 8)
    assert late[:, 0].tolist() == late[:, 3].tolist() == [1, 1, 1, 0, 0, 0, 1, 1]
    both = awake_in(E.Sleeping(BASE, awake=0.5, arm=1, first=3), 500)
    assert both[2:, 1].mean() < 0.05  # but for rounds in which all others are asleep
    assert 0.4 < both[2:, 0].mean() < 0.65


@pytest.mark.parametrize("policy", [bw.TsallisINF(), bw.UCB1(), bw.LBINFV(), bw.Uniform()], ids=repr)
def test_a_simulation_is_what_a_bandit_does(policy, monkeypatch):
    """The same uniforms, arms and losses, and regret to the best arm awake."""
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    world, horizon = E.Sleeping(BASE, awake=0.6), 60
    measured, distributions = np.empty((1, 3)), np.empty((1, 4))
    job = Job(
        policy=policy,
        environment=world,
        horizon=horizon,
        known_horizon=horizon,
        seed=3,
        replication=0,
        marks=np.array([horizon]),
        trace=False,
        probabilities=True,
        block=horizon,
    )
    arguments = job.arguments(measured, distributions, None)
    job.fill(arguments, job.randoms(), 0, horizon)
    assert play_awake.py_func(*arguments.values())[0] == 0
    bandit, regret, suffered = bw.Bandit(4, policy, horizon=horizon), 0.0, 0.0
    for policy_row, row in zip(arguments["policy_uniforms"], arguments["world_uniforms"], strict=True):
        awake = [i for i in range(4) if draws.expand(row[1], i) < 0.6]
        awake = awake or [int(draws.expand(row[1], 4) * 4)]
        bandit._random = Given([policy_row])
        pull = bandit.pull(among=awake)
        loss = float(row[0] < MEANS[pull.arm])
        regret += MEANS[pull.arm] - min(MEANS[i] for i in awake)
        suffered += loss
        bandit.update(pull, loss=loss)
    assert measured[0, 0] == measured[0, 1] == pytest.approx(regret)
    assert measured[0, 2] == suffered
    assert distributions[0].tolist() == list(bandit.probabilities.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: E.Sleeping(BASE), "awake must be below 1, or arm given, got 1.0; awake=0.7, or arm=0"),
        (lambda: E.Sleeping(BASE, awake=0.0), "awake must be a finite number above 0"),
        (lambda: E.Sleeping(BASE, awake=0.5, every=3), "every must be given with arm"),
        (lambda: E.Sleeping(BASE, arm=4), "arm"),
        (lambda: E.Sleeping(BASE, arm=[0, 1, 2, 3]), "arm must be not all of the arms"),
        (lambda: E.Sleeping(BASE, arm=1, every=0), "every must be at least 1, got 0"),
        (lambda: E.Sleeping(BASE, arm=1, first=5, last=4), "last must be at least 5, got 4"),
        (lambda: E.Sleeping("bernoulli", awake=0.5), "base must be an environment"),
        (lambda: E.Sleeping(E.Delayed(BASE, mean=3), awake=0.5), "not Delayed, got .*leave out Delayed"),
        (
            lambda: E.Delayed(E.Sleeping(BASE, awake=0.5), mean=3),
            "always awake.*leave out Delayed",
        ),
        (lambda: E.Sleeping(E.SemiBandit(BASE, choose=2), awake=0.5), "in which one arm is chosen"),
        (
            lambda: bw.simulate(bw.EXP3P(), E.Sleeping(BASE, awake=0.5), horizon=9),
            "policy must be one whose arms can change, .*these can: .*TsallisINF",
        ),
        (
            lambda: bw.simulate(bw.UCB1(), E.Sleeping(BASE, awake=0.5), horizon=9, trace=True),
            "trace must be False where arms sleep",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()


def test_it_is_kept_as_a_table():
    for world in (E.Sleeping(BASE, awake=0.5), E.Sleeping(BASE, arm=(1, 2), every=9, first=3, last=40)):
        assert E.from_dict(E.to_dict(world)) == world
