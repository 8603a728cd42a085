"""Measured regret stays below every explicit bound, in benign, corrupted and hostile worlds."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw

pytestmark = pytest.mark.compiled
E = bw.environments
K, T, MARKS = 8, 10_000, [20, 100, 1000, 10_000]
EXPLICIT = [
    bw.TsallisINF("rv"),
    bw.INF(),
    bw.EXP3P(),
    bw.EXP3PlusPlus(),
    bw.Ito21(),
    bw.Ito21(eta=0.0),
    bw.DecoupledTsallisINF("original"),
    bw.SAO(),
    bw.KLUCB(c=3),
]


def check(policy, regret, rounds, horizon, **setting):
    """Mean regret (replications × rounds) minus two standard errors is below each explicit bound."""
    rows = bw.theory.bound_curve(policy, rounds=rounds, horizon=horizon, **({"n_arms": K} | setting))
    explicit = [row for row in rows if row["explicit"]]
    assert explicit
    error = 2 * regret.std(axis=0, ddof=1) / np.sqrt(len(regret))
    low = dict(zip(rounds, regret.mean(axis=0) - error, strict=True))
    for row in explicit:
        assert low[row["round"]] <= row["bound"], row


def in_a_world(policy, world, replications=8):
    run = bw.simulate(policy, world, horizon=T, replications=replications, seed=3, checkpoints=MARKS)
    gaps = world.gaps
    corruption = 0.0 if gaps is None else world.corruption(T)
    spread = None if gaps is None else world.spread(T)
    check(policy, run.regret[0], MARKS, T, gaps=gaps, corruption=corruption, spread=spread)


@pytest.mark.parametrize("policy", [bw.TsallisINF(), bw.UCB1()], ids=repr)
@pytest.mark.parametrize(("gap", "optimal"), [(0.5, 1), (0.125, 1), (0.5, 4)])
def test_iid_losses(policy, gap, optimal):
    in_a_world(policy, E.Bernoulli(n_arms=K, gap=gap, optimal=optimal))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["front", "targeted", "inside"])
def test_corrupted_losses(strategy):
    base = E.Bernoulli(n_arms=K, gap=0.5, optimal=2)
    in_a_world(bw.TsallisINF(), E.Corrupted(base, 50.0, strategy=strategy))


@pytest.mark.slow
def test_losses_that_merely_keep_their_gaps():
    in_a_world(bw.TsallisINF(), E.StochasticallyConstrained(n_arms=K, gap=0.25))


@pytest.mark.slow
@pytest.mark.parametrize("policy", [bw.TsallisINF(), bw.EXP3()], ids=repr)
def test_the_hardest_iid_world(policy):
    in_a_world(policy, E.Minimax(n_arms=K))


def test_a_bound_that_does_not_hold_is_caught():
    world = E.Bernoulli(n_arms=K, gap=0.5)
    run = bw.simulate(bw.Uniform(), world, horizon=T, replications=4, seed=3, checkpoints=MARKS)
    with pytest.raises(AssertionError, match="iid losses"):
        check(bw.UCB1(), run.regret[0], MARKS, T, gaps=world.gaps)


@pytest.mark.parametrize("policy", EXPLICIT, ids=repr)
def test_every_other_explicit_policy_by_hand(policy):
    """Bernoulli losses played through Bandit: a loop of one's own."""
    n, horizon, rounds = 4, 1000, [100, 1000]
    means = np.array([0.25, 0.75, 0.75, 0.75])
    regret = np.empty((6, 2))
    for seed in range(6):
        bandit = bw.Bandit(n, policy, horizon=horizon, seed=seed)
        losses = (np.random.default_rng(seed).random((horizon, n)) < means).astype(float)
        total = np.zeros(horizon)
        for t in range(horizon):
            pull = bandit.pull()
            bandit.update(pull, loss=losses[t, pull.observe])
            total[t] = means[pull.arm] - 0.25
        regret[seed] = total.cumsum()[[99, 999]]
    assert (regret > 0.0).all()
    check(policy, regret, rounds, horizon, n_arms=n, means=means)
