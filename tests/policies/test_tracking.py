"""Policies for worlds that change, against what was published, and restarts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import MARKS, marked, outdated, pull_once, read_distribution, update_once
from bothworlds.policies.glr_kl_ucb import BLOCKS
from bothworlds.policies.shared.change_test import LEVELS, append, new_streams
from oracle import stochastic, tracking
from playing import drive, histories, interpret


def changing(rounds, n_arms, at, *, seed, fractional=False):
    """The first arm is good until round ``at``, then the last one."""
    rng = np.random.default_rng(seed)
    means = np.full((rounds, n_arms), 0.6)
    means[:at, 0], means[at:, 0], means[at:, -1] = 0.1, 0.95, 0.1
    if fractional:
        return rng.random(rounds), rng.beta(4 * means, 4 * (1 - means))
    return rng.random(rounds), (rng.random((rounds, n_arms)) < means).astype(float)


# --- Thompson sampling that forgets ---------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0.97, 0.999, 1.0])
def test_discounted_thompson_is_the_published_algorithm(discount):
    for uniforms, losses in histories(150, seed=3):
        result = drive(bw.DiscountedThompson(discount), uniforms, losses)
        arms, posteriors = tracking.forgetful_thompson(uniforms, losses, lambda age: discount**age)
        assert result.arms.tolist() == arms
        for t in (0, 5, 149):
            expected = stochastic.smallest(*posteriors[t])
            np.testing.assert_allclose(result.p[t], expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("window", [1, 40, 1000])
def test_sliding_window_thompson_is_the_published_algorithm(window):
    for uniforms, losses in histories(150, seed=4):
        result = drive(bw.SlidingWindowThompson(window), uniforms, losses)
        arms, posteriors = tracking.forgetful_thompson(uniforms, losses, lambda age: float(age < window))
        assert result.arms.tolist() == arms
        for t in (0, 50, 149):
            expected = stochastic.smallest(*posteriors[t])
            np.testing.assert_allclose(result.p[t], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("policy", [bw.DiscountedThompson(1.0), bw.SlidingWindowThompson(10**6)], ids=repr)
def test_without_forgetting_it_is_thompson_sampling(policy):
    for uniforms, losses in histories(100, seed=5):
        mine, plain = drive(policy, uniforms, losses), drive(bw.Thompson(), uniforms, losses)
        assert mine.arms.tolist() == plain.arms.tolist()
        assert mine.p.tolist() == plain.p.tolist()


def test_what_weighs_nothing_is_forgotten_exactly():
    losses = np.ones((200, 2))
    player = drive(bw.DiscountedThompson(0.5), np.full(200, 0.3), losses, read=False).player
    for _ in range(40):
        player.update(0, 1.0, 0.5, 0.5)
    assert player.state.ones[1] == player.state.zeros[0] == player.state.zeros[1] == 1.0
    assert player.state.ones[0] == pytest.approx(3.0)


# --- EXP3.S ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gamma", "share"), [(0.05, 1e-5), (0.3, 0.01), (1.0, 0.1), (0.1, 0.0)])
def test_exp3s_is_the_published_algorithm(gamma, share):
    for uniforms, losses in histories(300, seed=6):
        result = drive(bw.EXP3S(gamma=gamma, share=share), uniforms, losses)
        p, arms = tracking.exp3s(uniforms, losses, gamma, share)
        assert result.arms.tolist() == arms
        np.testing.assert_allclose(result.p[:-1], p, rtol=1e-9)


def test_exp3s_has_the_published_constants():
    params = bw.EXP3S(switches=4).resolve(8, 20_000)
    assert params.share == 1 / 20_000
    expected = math.sqrt(8 * (5 * math.log(8 * 20_000) + math.e) / ((math.e - 1) * 20_000))
    assert params.gamma == pytest.approx(expected, rel=1e-14)
    assert bw.EXP3S(switches=10**6).resolve(8, 100).gamma == 1.0
    assert bw.EXP3S(gamma=0.5).resolve(8, 100)[:2] == (0.5, 0.01)


@pytest.mark.compiled
@pytest.mark.slow
def test_exp3s_keeps_its_bound_when_the_best_arm_switches():
    n, horizon, switches = 4, 20_000, 3
    world = bw.environments.Switching(n_arms=n, gap=0.4, period=5000, benchmark="dynamic")
    run = bw.simulate(bw.EXP3S(switches=switches), world, horizon=horizon, replications=8)
    bound = 2 * math.sqrt(math.e - 1) * math.sqrt(n * horizon * (4 * math.log(n * horizon) + math.e))
    assert run.regret[..., -1].mean() < bound
    plain = bw.simulate(bw.EXP3(), world, horizon=horizon, replications=8)
    assert run.regret[..., -1].mean() < 0.5 * plain.regret[..., -1].mean()


# --- GLR-klUCB ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restart", ["global", "local"])
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("most", [None, 2, 8])
def test_glr_kl_ucb_is_the_published_algorithm(restart, fractional, most):
    found = 0
    for n_arms in (2, 4):
        uniforms, losses = changing(240, n_arms, 120, seed=n_arms, fractional=fractional)
        policy = bw.GLRKLUCB(0.1, delta=0.05, restart=restart)
        result = drive(policy, uniforms, losses, n_blocks=240 if most is None else most)
        arms, restarts = tracking.glr_kl_ucb(losses, 0.1, 0.05, local=restart == "local", most=most)
        assert result.arms.tolist() == arms
        assert (result.p[np.arange(240), arms] == 1.0).all()
        assert result.state.scalars[1] == len(restarts)
        found += len(restarts)
    assert found >= 1


def test_glr_kl_ucb_with_the_authors_constants():
    uniforms, losses = changing(300, 3, 150, seed=8)
    result = drive(bw.GLRKLUCB(constants="paper"), uniforms, losses, horizon=300)
    alpha, delta = math.sqrt(3 * math.log(300) / 300), 1 / math.sqrt(300)
    arms, restarts = tracking.glr_kl_ucb(losses, alpha, delta, local=False, growing=True, most=BLOCKS)
    assert result.arms.tolist() == arms
    assert restarts


def test_without_exploration_and_changes_it_is_kl_ucb():
    for uniforms, losses in histories(200, seed=1):
        mine = drive(bw.GLRKLUCB(0.0, delta=1e-300), uniforms, losses)
        assert mine.arms.tolist() == drive(bw.KLUCB(), uniforms, losses).arms.tolist()


@given(st.integers(1, 400), st.integers(2, 9))
def test_blocks_hold_the_past(n, most):
    streams = new_streams(2, most)
    for loss in range(n):
        append(streams, most, 1, float(loss))
    assert not streams.filled[:LEVELS].any()
    filled = streams.filled[LEVELS:]
    assert filled.max() <= most
    assert (filled * 2.0 ** np.arange(LEVELS)).sum() == n
    blocks = streams.blocks.reshape(2, LEVELS, most + 1)[1]
    rest = n  # blocks are of consecutive numbers, the newest in the smallest
    for level in range(LEVELS):
        for k in range(int(filled[level]) - 1, -1, -1):
            size = 2**level
            assert blocks[level, k] == sum(range(rest - size, rest))
            rest -= size
            gap_is_small = size <= 1 + (n - rest - size) / (most - 1)
            assert gap_is_small
    assert rest == 0


def delays(n_blocks, before, after, at=2000):
    """How long after a change of the only arm's mean it restarts."""
    out = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        losses = np.append(rng.random(at) < before, rng.random(2000) < after).astype(float)[:, None]
        run = drive(bw.GLRKLUCB(0.0), np.zeros(4000), losses, read=False, compiled=True, n_blocks=n_blocks)
        state = run.state
        assert state.begun[0] > at  # no false alarm, and no change missed
        out.append(state.begun[0] - at)
    return np.array(out)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("before", "after"),
    [(0.4, 0.8), *(pytest.param(*two, marks=pytest.mark.slow) for two in [(0.5, 0.65), (0.9, 0.98)])],
)
def test_few_splits_find_changes_nearly_as_soon_as_all(before, after):
    few, every = delays(BLOCKS, before, after), delays(4000, before, after)
    assert few.mean() < 1.05 * every.mean() + 2


def test_feedback_from_before_a_restart_is_not_used():
    uniforms, losses = changing(240, 2, 120, seed=2)
    result = drive(bw.GLRKLUCB(0.1, delta=0.05), uniforms, losses)
    state = result.state
    assert state.restarts.min() >= 1
    before = [part.copy() for part in (state.counts, state.sums, state.scalars, state.chosen)]
    result.player.update(0, 1.0, 1.0, 0.0)
    assert all(
        np.array_equal(old, new)
        for old, new in zip(before, (state.counts, state.sums, state.scalars, state.chosen), strict=True)
    )
    result.player.update(0, 1.0, 1.0, float(state.restarts[0]))
    assert state.counts[0] == before[0][0] + 1


# --- Restarting -----------------------------------------------------------------------------------------

INSIDE = [
    bw.LightBarrier(),
    bw.TsallisINF(),
    bw.Thompson(),
    bw.KLUCB(),
    bw.SAO(),
    bw.EXP3PlusPlus(),
    bw.SlidingWindowThompson(20),
    bw.FTRL(bw.Tsallis(0.7), constants="light"),
]


@pytest.mark.parametrize("policy", INSIDE, ids=repr)
def test_restarting_is_a_new_policy_every_so_often(policy, monkeypatch):
    interpret(monkeypatch, pull_once, read_distribution, update_once)
    every = 40
    uniforms, losses = next(histories(110, n_arms=(3,), seed=9))
    result = drive(bw.Restarting(policy, every=every), uniforms, losses)
    for begin in range(0, 110, every):
        part = slice(begin, min(110, begin + every))
        fresh = drive(policy, uniforms[part], losses[part], horizon=every)
        assert result.arms[part].tolist() == fresh.arms.tolist()
        assert result.p[part].tolist() == fresh.p[:-1].tolist()


def test_restarting_gives_its_policy_the_horizon():
    assert bw.Restarting(bw.EXP3P(), every=50).resolve(3, None).policy == bw.EXP3P().resolve(3, 50)
    assert bw.Restarting(bw.EXP3P(), every=50).resolve(3, 20).policy == bw.EXP3P().resolve(3, 20)


@pytest.mark.parametrize("policy", [bw.LightBarrier(), bw.Thompson()], ids=repr)
def test_a_pull_from_before_a_restart_changes_nothing(policy):
    bandit = bw.Bandit(3, bw.Restarting(policy, every=5), seed=1)
    late = bandit.pull()
    for _ in range(7):
        bandit.update(bandit.pull(), loss=1.0)
    on_time, before = bandit.pull(), bandit.probabilities
    bandit.update(late, loss=1.0)
    assert bandit.probabilities == before
    bandit.update(on_time, loss=1.0)
    assert bandit.probabilities != before
    for _ in range(2):  # the late one did not count
        bandit.update(bandit.pull(), loss=1.0)
    np.testing.assert_allclose(list(bandit.probabilities.values()), 1 / 3, rtol=1e-9)


@given(st.integers(0, 2**36 - 1), st.integers(0, 10**9))
def test_memos_carry_whole_numbers_and_restarts(memo, restarts):
    both = marked(float(memo), float(restarts))
    assert not outdated(both, restarts)
    assert outdated(both, restarts + 1)
    assert marked(both, 0.0) == memo


@given(st.floats(1e-16, 1, exclude_max=True), st.integers(0, MARKS))
def test_memos_carry_fractions_and_restarts(memo, restarts):
    both = marked(memo, float(restarts))
    assert 0.0 <= both < 1.0
    assert not outdated(both, restarts)
    assert outdated(both, restarts + 1)
    assert memo * (1 - 2**-35) <= marked(both, 0.0) <= memo


@pytest.mark.compiled
def test_it_learns_with_feedback_later_than_its_life():
    world = bw.environments.Delayed(bw.environments.Bernoulli(means=[0.1, 0.9]), 300)
    run = bw.simulate(bw.Restarting(bw.TsallisINF(), every=100), world, horizon=8000, replications=4)
    assert run.losses[..., -1].mean() < 0.45 * 8000  # uniform play: 0.5


# --- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bw.DiscountedThompson(0.0), "discount must be a finite number above 0 and at most 1, got 0"),
        (lambda: bw.DiscountedThompson(1.5), "discount must be .* at most 1, got 1.5"),
        (lambda: bw.SlidingWindowThompson(0), "window must be at least 1, got 0"),
        (lambda: bw.SlidingWindowThompson(2.5), "window must be an integer, got 2.5"),
        (lambda: bw.GLRKLUCB(-0.1), "explore must be .* at least 0 and at most 1, got -0.1"),
        (lambda: bw.GLRKLUCB(delta=0.0), "delta must be .* above 0 and at most 1, got 0"),
        (lambda: bw.GLRKLUCB(restart="some"), "restart must be one of 'global', 'local', got 'some'"),
        (lambda: bw.GLRKLUCB(constants="theory"), "constants must be one of 'practical', 'paper', got"),
        (
            lambda: bw.GLRKLUCB(constants="paper").resolve(3, None),
            r"horizon must be given for GLRKLUCB, .*or use GLRKLUCB\(\)",
        ),
        (lambda: bw.EXP3S(-1), "switches must be at least 0, got -1"),
        (lambda: bw.EXP3S(gamma=0.0), "gamma must be .* above 0 and at most 1, got 0"),
        (lambda: bw.EXP3S(share=2.0), "share must be .* at most 1, got 2.0"),
        (lambda: bw.EXP3S(gamma=0.1).resolve(3, None), r"horizon must be given for EXP3S, .*share=1e-5"),
        (lambda: bw.Restarting(bw.UCB1(), every=0), "every must be at least 1, got 0"),
        (lambda: bw.Restarting(bw.UCB1, every=5), r"policy must be a policy .*write UCB1\(\)"),
        (
            lambda: bw.Restarting(bw.Restarting(bw.UCB1(), every=5), every=9),
            "policy must be a policy that is not a wrapper itself",
        ),
        (
            lambda: bw.Restarting(bw.UCB1(), every=4).resolve(5, None),
            "every must be at least the number of arms, 5, got 4",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()
