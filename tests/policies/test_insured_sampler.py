"""The insured sampler: against a transcription of its specification, and what it promises."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest

import bothworlds as bw
from bothworlds._jit import copy_state
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.ftrl.state import LOSS_COUNT, RESTARTS
from bothworlds.policies.insured_sampler import HANDED_OVER, sum_weights
from oracle import insured_sampler as oracle
from playing import Player, agree, bernoulli, compare, quantile

FLOORS = pytest.mark.parametrize("floor", ["adaptive", "fixed"])
HORIZONS = pytest.mark.parametrize("horizon", [None, 5000])


def beta(n_arms, rounds, seed=0, concentration=20.0):
    means = np.linspace(0.35, 0.65, n_arms)
    random = np.random.default_rng(seed)
    return random.beta(concentration * means, concentration * (1 - means), (rounds, n_arms))


def switch(n_arms, rounds, seed=0, gap=0.4):
    """The best arm becomes the worst, the others stay."""
    means = np.full(n_arms, 0.5)
    means[0] = 0.5 - gap
    late = means.copy()
    late[0] = 0.5 + gap
    return np.concatenate([bernoulli(means, rounds // 2, seed), bernoulli(late, rounds // 2, seed + 1)])


def rejected(player):
    return player.state.ftrl.scalars[RESTARTS] == 1.0


@HORIZONS
@FLOORS
@pytest.mark.parametrize("n_arms", [1, pytest.param(2, marks=pytest.mark.slow), 5])
def test_round_by_round_on_iid_losses(n_arms, floor, horizon):
    losses = bernoulli(np.linspace(0.3, 0.7, n_arms), 600, seed=n_arms)
    reference = oracle.InsuredSampler(n_arms, horizon, fixed=floor == "fixed")
    player = compare(bw.InsuredSampler(floor), reference, losses, horizon=horizon, seed=n_arms)
    assert reference.on
    assert not rejected(player)


@HORIZONS
@FLOORS
@pytest.mark.parametrize("n_arms", [pytest.param(3, marks=pytest.mark.slow), 6])
def test_round_by_round_on_quiet_losses(n_arms, floor, horizon):
    reference = oracle.InsuredSampler(n_arms, horizon, fixed=floor == "fixed")
    compare(bw.InsuredSampler(floor), reference, beta(n_arms, 1000), horizon=horizon, seed=n_arms)
    assert min(reference.rho) < 0.5


@HORIZONS
@FLOORS
@pytest.mark.parametrize("n_arms", [pytest.param(2, marks=pytest.mark.slow), 5])
def test_round_by_round_past_the_rejection(n_arms, floor, horizon):
    reference = oracle.InsuredSampler(n_arms, horizon, fixed=floor == "fixed")
    player = compare(bw.InsuredSampler(floor), reference, switch(n_arms, 2000), horizon=horizon, seed=n_arms)
    assert not reference.on
    assert rejected(player)
    assert reference.t > 500  # the fallback has played for long


@FLOORS
def test_round_by_round_to_the_insurance_test(floor):
    # the favorite always loses: no arm is seen to change, but the shadow, nearly uniform, does better
    reference = oracle.InsuredSampler(4, fixed=floor == "fixed")
    player = Player(bw.InsuredSampler(floor), 4)
    uniforms = np.random.default_rng(3).random((1000, 1))
    for t in range(1000):
        agree(player.p, reference.p, 1e-8, t)
        arm, shown, weight, memo = player.act(uniforms[t])
        loss = 1.0 if arm == int(np.argmax(player.p)) else 0.0
        assert player.update(shown, loss, weight, memo) == 0
        reference.update(shown, loss, weight)
    assert reference.reason == "insurance"
    assert rejected(player)


@HORIZONS
@FLOORS
def test_round_by_round_with_late_losses(floor, horizon):
    n_arms, late = 4, 37
    losses = switch(n_arms, 2400, seed=5)
    policy, reference = (
        bw.InsuredSampler(floor),
        oracle.InsuredSampler(n_arms, horizon, fixed=floor == "fixed"),
    )
    player = Player(policy, n_arms, horizon)
    uniforms = np.random.default_rng(6).random((len(losses), 1))
    waiting = deque()
    outdated = 0
    for t in range(len(losses)):
        agree(player.p, reference.p, 1e-9, t)
        arm, shown, weight, memo = player.act(uniforms[t])
        assert arm == shown == quantile(reference.p, uniforms[t, 0])
        waiting.append((arm, losses[t, arm], weight, memo, reference.x[arm], reference.on))
        if len(waiting) > late:
            arm, loss, weight, memo, x, on = waiting.popleft()
            assert player.update(arm, loss, weight, memo) == 0
            reference.learn(arm, loss, weight, x, on)
            outdated += on and not reference.on
    assert outdated == late + 1  # the one that rejected, and all that were on their way
    assert rejected(player)


@HORIZONS
def test_after_the_rejection_it_is_a_light_barrier(horizon):
    player = Player(bw.InsuredSampler(), 5, horizon)
    losses, uniforms = switch(5, 3000), np.random.default_rng(1).random((3000, 1))
    barrier = None
    for t in range(3000):
        if barrier is not None:
            assert (player.p == barrier.p).all()
        _, shown, weight, memo = player.act(uniforms[t])
        player.update(shown, losses[t, shown], weight, memo)
        if barrier is not None:
            assert memo == HANDED_OVER
            barrier.update(shown, losses[t, shown], *barrier.act(uniforms[t])[2:])
        elif rejected(player):
            barrier = Player(bw.LightBarrier(), 5, horizon)
            copy_state(player.state.ftrl, barrier.state)
            assert barrier.state.losses.min() == 0.0 < barrier.state.losses.max()  # it knows the means
            barrier.state.scalars[RESTARTS] = 0.0  # the rejection, which its memos tell
    assert barrier is not None


def live(rounds, *, seed=4):
    """A bandit whose best arm has become the worst, its history, and p before every round and after."""
    bandit, losses = bw.Bandit(3, bw.InsuredSampler(), seed=seed), switch(3, rounds)
    arms, p = [], [list(bandit.probabilities.values())]
    for row in losses:
        pull = bandit.pull()
        arms.append(pull.arm)
        bandit.update(pull, loss=row[pull.arm])
        p.append(list(bandit.probabilities.values()))
    return bandit, arms, losses[np.arange(rounds), arms], np.array(p)


def test_replay_gives_a_rejected_run_bit_by_bit():
    bandit, arms, losses, p = live(1200)
    assert bandit.to_dict()["state"]["ftrl"]["scalars"][RESTARTS] == 1.0
    assert (bw.replay(bw.InsuredSampler(), n_arms=3, arms=arms, losses=losses, seed=4).p == p).all()


def test_a_saved_bandit_still_knows_which_pulls_are_outdated():
    bandit = bw.Bandit(3, bw.InsuredSampler(), seed=4)
    losses = switch(3, 1200)
    kept = []
    for t, row in enumerate(losses):
        pull = bandit.pull()
        if t in (500, 1199):  # before the rejection, and after
            kept.append(pull)
        else:
            bandit.update(pull, loss=row[pull.arm])
    memos = [item["memo"] for item in bandit.to_dict()["outstanding"]]
    assert memos[0] < 1.0
    assert memos[1] == HANDED_OVER
    twin = bw.Bandit.from_dict(bandit.to_dict())
    before = bandit.probabilities
    for each in (bandit, twin):
        outdated, recent = each.outstanding
        each.update(outdated, loss=1.0)
        assert each.probabilities == before
        each.update(recent, loss=1.0)
        assert each.probabilities != before
    assert twin.to_dict() == bandit.to_dict()


def test_the_memo_is_the_shadow_s_probability():
    player = Player(bw.InsuredSampler(), 3)
    for t in range(50):
        arm, shown, weight, memo = player.act(np.random.default_rng(t).random(1))
        assert memo == player.state.ftrl.p[arm]
        assert weight == player.p[arm]
        player.update(shown, float(arm != 1), weight, memo)


def test_several_losses_of_one_round_reject_once():
    """Feedback of one round, learned before one step: the rejection drops all of it but the mean."""
    player = Player(bw.InsuredSampler(), 2)
    for _ in range(400):
        arm, shown, weight, memo = player.act(np.array([0.3]))
        player.update(shown, float(arm == 1), weight, memo)
    learn, step = bw.policies.base.learn, bw.policies.base.step
    drawn = player.act(np.array([0.3]))
    for _ in range(40):
        learn(player.params, player.state, drawn[1], 1.0, *drawn[2:])
    assert rejected(player)
    p = player.p.copy()
    assert step(player.params, player.state) == 0
    assert (player.p == p).all()
    assert player.state.ftrl.scalars[LOSS_COUNT] == 440


def test_the_weight_is_nearly_the_complementary_error_function():
    z = np.linspace(1e-3, 30, 400)
    exact = np.array([math.erfc(math.sqrt(value)) for value in z])
    mine = np.array([oracle.weight(value) for value in z])
    assert np.abs(mine / exact - 1).max() < 0.07


def test_tied_arms_are_equally_likely_after_a_million_losses():
    """Without a guard the rounding of a divergence, times n, under a root, would make one percent."""
    player = Player(bw.InsuredSampler(), 4)
    for i in range(4):
        player.state.means[i] = 0.3
        player.state.scales[i] = 1.5e6
        low, high = math.log(0.3), math.log(0.7)
        player.state.arms[16 * i + 8 : 16 * i + 10] = low, high
        player.state.entropies[i] = 0.3 * low + (1.0 - 0.3) * high
    assert sum_weights(player.state) == 4.0
    assert player.state.weights.tolist() == [1.0] * 4


def test_the_floor_holds():
    """p_i ≥ ε·x_i/(1 + ε), whatever was seen."""
    player = Player(bw.InsuredSampler("fixed"), 6)
    losses, uniforms = bernoulli([0.1] + [0.9] * 5, 3000), np.random.default_rng(2).random((3000, 1))
    for t in range(3000):
        assert (player.p >= 0.03 / 1.03 * player.state.ftrl.p * (1 - 1e-12)).all()
        _, shown, weight, memo = player.act(uniforms[t])
        player.update(shown, losses[t, shown], weight, memo)
    assert player.p[0] > 0.99


@pytest.mark.slow
def test_many_runs_on_iid_losses_are_not_rejected():
    world = bw.environments.Bernoulli(means=[0.2, 0.4, 0.6])
    run = bw.simulate([bw.InsuredSampler(), bw.Thompson()], world, horizon=5000, replications=16, seed=1)
    mine, thompson = run.regret[:, :, -1].mean(axis=1)
    assert mine < 1.5 * thompson


@pytest.mark.parametrize("floor", ["none", None, 0.2])
def test_bad_floor(floor):
    with pytest.raises(InvalidArgumentError, match=r"floor must be one of 'fixed', 'adaptive', got "):
        bw.InsuredSampler(floor)


def test_monotone_rates_never_fall():
    arms = [0, 1, 1, 0, 1] * 60
    losses = [1.0, 0.5, 0.5, 0.5, 0.0] * 60
    trace = bw.replay(bw.InsuredSampler(), n_arms=2, arms=arms, losses=losses)
    assert (np.diff(trace.rates, axis=0) >= 0).all()
    with pytest.raises(InvalidArgumentError, match="monotone must be one of True, False, got 2"):
        bw.rates.ErrorWeightedRates(1.0, monotone=2)
