"""Many arms: exact distributions, an exact sampler, exact books, and time that hardly grows with K."""

from __future__ import annotations

import itertools
import json
import time
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import bothworlds as bw
from bothworlds.policies.base import (
    distribution,
    init,
    inspect,
    memo_of,
    pull,
    pull_once,
    update_once,
    weight_of,
)
from bothworlds.policies.ftrl.kernel import FTRLParameters
from bothworlds.policies.ftrl.many import buckets as many_buckets
from bothworlds.policies.ftrl.many import search as many_search
from bothworlds.policies.ftrl.many import state as at
from bothworlds.policies.ftrl.many.search import begin_anew
from bothworlds.policies.ftrl.many.state import MANY_ARMS, ManyArmsState
from oracle import step
from playing import Player

K = MANY_ARMS + 4
# policy, its regularizer, its description to the oracle, its C
CASES = [
    (bw.TsallisINF(), bw.Tsallis(0.5), [(1, "tsallis", 0.5)], 0.0),
    (bw.DecoupledTsallisINF(), bw.Tsallis(2 / 3), [(1, "tsallis", 2 / 3)], 0.0),
    (bw.CountedBarrier(), bw.LogBarrier(), [(1, "log", None)], 1.0),
]
each_case = pytest.mark.parametrize(
    ("policy", "regularizer", "parts", "barrier"), CASES, ids=lambda value: type(value).__name__
)


def play(policy, n_arms, rounds, seed=0, horizon=None, binary=True):
    """A player after so many rounds in a world with a few good arms."""
    rng = np.random.default_rng(seed)
    player = Player(policy, n_arms, horizon)
    means = np.where(np.arange(n_arms) < 5, 0.1, 0.8)
    for _ in range(rounds):
        _, shown, weight, memo = player.act(rng.random(policy.draws))
        loss = float(rng.random() < means[shown]) if binary else means[shown] * rng.random()
        assert player.update(shown, loss, weight, memo) == 0
    return player


def losses_and_rates(player):
    """L and γ in force, as ``inspect`` tells."""
    rates, losses = np.empty(player.n_arms), np.empty(player.n_arms)
    inspect(player.params, player.state, rates, losses)
    return losses, rates


def hostile(kind, rounds, rng):
    """Forced arms and losses that no policy would play."""
    if kind == "anything":
        return rng.integers(0, K, rounds), rng.random(rounds)
    if kind == "one after the other, then one alone":
        return np.where(np.arange(rounds) < K, np.arange(rounds) % K, 0), np.ones(rounds)
    return np.arange(rounds) % 3, (rng.random(rounds) < 0.7).astype(float)  # "three alone"


class Moment(NamedTuple):
    p: np.ndarray
    losses: np.ndarray
    rates: np.ndarray


def forced(policy, arms, losses, horizon=None):
    """What is in force before every round of a history and after it, as long as the history is possible."""
    player = Player(policy, K, horizon)
    for arm, loss in zip(arms, losses, strict=True):
        yield Moment(player.p, *losses_and_rates(player))
        weight = weight_of(player.params, player.state, int(arm))
        memo = memo_of(player.params, player.state, int(arm), np.zeros(1))
        if weight < 1e-300:  # an arm forced at vanishing probability squares its estimate each time
            return
        assert player.update(int(arm), float(loss), weight, memo) == 0
    yield Moment(player.p, *losses_and_rates(player))


@pytest.mark.parametrize("kind", ["anything", "one after the other, then one alone", "three alone"])
@each_case
def test_forced_histories_agree_with_the_general_solver(policy, regularizer, parts, barrier, kind):
    moments = list(forced(policy, *hostile(kind, 2 * K, np.random.default_rng(1))))
    assert len(moments) > 30
    for now in [*moments[::25], moments[-1]]:
        exact = bw.solve(now.losses, now.rates, regularizer, log_barrier=barrier).p
        seen = exact > 1e-290
        np.testing.assert_allclose(now.p[seen], exact[seen], rtol=1e-11)
        np.testing.assert_allclose(now.p.sum(), 1.0, rtol=0, atol=1e-12)


@pytest.mark.compiled  # once is enough for arithmetic of this price
@each_case
def test_p_in_60_digits(policy, regularizer, parts, barrier):
    player = play(policy, K, 700, binary=False)
    losses, rates = losses_and_rates(player)
    exact = np.array([float(p) for p in step.solve(losses, rates, parts, barrier)[0]])
    np.testing.assert_allclose(player.p, exact, rtol=1e-11)


def test_rates_are_those_of_the_definition():
    rng = np.random.default_rng(3)
    arms, losses = rng.integers(0, K, 120), rng.random(120)
    t = np.arange(1.0, 122.0)[:, None]
    counts = np.array([np.bincount(arms[:n], minlength=K) for n in range(121)])
    for policy, expected in (
        (bw.TsallisINF(), np.sqrt(t)),
        (bw.DecoupledTsallisINF("original"), 0.75 * K ** (1 / 6) * np.sqrt(t)),
        (bw.INF(), np.sqrt(500.0)),
        (bw.CountedBarrier(162.0), np.sqrt((1 + counts) / np.log(1000))),
    ):
        rates = np.array([now.rates for now in forced(policy, arms, losses, horizon=1000)])
        np.testing.assert_allclose(rates, expected * np.ones((121, K)), rtol=1e-12)


@pytest.mark.parametrize("horizon", [1000, None])
def test_counted_barrier_with_few_arms_is_the_same_algorithm(horizon, monkeypatch):
    """Forced by the same arms, the FTRL machine and that for many arms have the same p: restarts too."""
    rng = np.random.default_rng(4)
    n = K + 40
    arms, losses = rng.integers(0, K, n), rng.random(n)
    many = list(forced(bw.CountedBarrier(), arms, losses, horizon))
    monkeypatch.setattr("bothworlds.policies.ftrl.many.MANY_ARMS", K + 1)
    few = list(forced(bw.CountedBarrier(), arms, losses, horizon))
    assert len(many) == len(few) == n + 1
    for one, other in zip(many[::5], few[::5], strict=True):
        np.testing.assert_allclose(one.p, other.p, rtol=1e-10)
        np.testing.assert_allclose(one.rates, other.rates, rtol=1e-12)
    if horizon is None:
        np.testing.assert_allclose(many[K].p, 1 / K, rtol=1e-15)  # T_0 = K is over


# --- the sampler, by itself -----------------------------------------------------------------------------


@pytest.mark.compiled
@each_case
def test_arms_are_drawn_with_their_probabilities(policy, regularizer, parts, barrier):
    player = play(policy, K, 3000, seed=5)
    uniforms = np.random.default_rng(6).random((60_000, policy.draws))
    drawn = np.array([player.act(row)[:2] for row in uniforms])
    seen = np.array([weight_of(player.params, player.state, i) for i in range(K)])
    np.testing.assert_allclose(seen.sum(), 1.0, rtol=0, atol=1e-11)
    for arms, p in ((drawn[:, 0], player.p), (drawn[:, 1], seen)):
        order = np.argsort(p)
        cells = np.searchsorted(
            np.cumsum(p[order]) * len(arms) / 20, np.arange(1, 10**4)
        )  # ≥ 20 expected each
        edges = np.unique(np.concatenate([[0], cells[cells < K - 5], np.arange(K - 5, K)]))
        found = np.add.reduceat(np.bincount(arms, minlength=K)[order], edges)
        expected = np.add.reduceat(p[order], edges) * len(arms)
        assert len(edges) > 20
        assert stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue > 1e-4


def test_drawing_changes_nothing_and_tells_the_probability():
    player = play(bw.TsallisINF(), K, 200)
    before = [part.copy() for part in player.state]
    p = player.p
    for uniform in (0.0, 0.3, 0.999, np.nextafter(1.0, 0.0)):
        arm, shown, weight, _ = player.act([uniform])
        assert arm == shown
        assert weight == p[arm]
    assert all(np.array_equal(part, old) for part, old in zip(player.state, before, strict=True))


# --- the books ------------------------------------------------------------------------------------------


def audit(state: ManyArmsState, n_arms):
    """Every arm is where it says, every bucket has the exact moments of its members."""
    arms = state.arms.reshape(n_arms, at.PER_ARM)
    book = state.buckets[: at.COARSE].reshape(-1, at.BUCKETS)
    low, width, size, count, start, room, _ = book
    moments = state.buckets[at.COARSE : at.ORDER].reshape(2, at.BUCKETS, at.MOMENTS)
    near = arms[:, at.HOME] != at.FAR
    home, place = arms[near, at.HOME].astype(int), arms[near, at.PLACE].astype(int)
    assert np.array_equal(state.members[(start[home] + place).astype(int)], np.flatnonzero(near))
    assert np.array_equal(np.bincount(home, minlength=at.BUCKETS), count)
    for bucket in np.flatnonzero(count):
        inside = arms[near][home == bucket]
        assert (low[bucket] <= inside[:, at.LOSS]).all()
        assert (inside[:, at.LOSS] <= low[bucket] + width[bucket]).all()
        assert (inside[:, at.WEIGHT] <= size[bucket]).all()
        assert (inside[:, at.WEIGHT] > size[bucket] / 2).all()
        assert room[bucket] >= count[bucket]
        fresh = np.zeros_like(state.buckets)
        fresh[: at.COARSE] = state.buckets[: at.COARSE]
        for loss, weight, *_ in inside:
            many_buckets.add_moments(fresh, bucket, loss, weight, 1.0)
        again = fresh[at.COARSE : at.ORDER].reshape(2, at.BUCKETS, at.MOMENTS)
        assert np.array_equal(moments[:, bucket], again[:, bucket])
    used = int(state.scalars[at.USED])
    owned = sorted((int(start[b]), int(room[b])) for b in range(1, used) if room[b])
    assert all(a + n <= b for (a, n), (b, _) in itertools.pairwise(owned))
    return int((count > 0).sum())


@each_case
def test_books_stay_exact(policy, regularizer, parts, barrier):
    assert audit(play(policy, K, 600).state, K) >= 5


@pytest.mark.compiled
def test_books_and_p_stay_exact_over_a_long_run():
    """Arms come and go, lists are moved, losses are shifted: 40,000 rounds."""
    player = play(bw.TsallisINF(), K, 40_000, seed=8)
    assert 5 <= audit(player.state, K) <= 60
    assert player.state.scalars[at.OFFSET] > 0  # the shift took place
    losses, rates = losses_and_rates(player)
    np.testing.assert_allclose(player.p, bw.solve(losses, rates, bw.Tsallis(0.5)).p, rtol=1e-11)


def test_too_many_buckets_are_built_anew(monkeypatch):
    monkeypatch.setattr(many_buckets, "BUCKETS", 16)
    rebuilt = []
    monkeypatch.setattr(many_search, "begin_anew", lambda *args: rebuilt.append(1) or begin_anew(*args))
    params = bw.TsallisINF().resolve(K, None)
    state = init(params)
    rng = np.random.default_rng(7)
    for _ in range(400):  # the kernels as plain Python: compiled ones would keep their constants
        _, shown, weight, memo = pull(params, state, rng.random(1))
        assert update_once.py_func(params, state, shown, rng.random(), weight, memo) == 0
    audit(state, K)
    assert rebuilt
    losses, rates, p = np.empty(K), np.empty(K), np.empty(K)
    inspect(params, state, rates, losses)
    distribution(params, state, p)
    np.testing.assert_allclose(p, bw.solve(losses, rates, bw.Tsallis(0.5)).p, rtol=1e-11)


# --- how it is used -------------------------------------------------------------------------------------


def test_is_chosen_by_the_number_of_arms():
    for policy in (bw.TsallisINF(), bw.DecoupledTsallisINF(), bw.INF(), bw.CountedBarrier()):
        few, many = (policy.resolve(n, 10_000) for n in (MANY_ARMS - 1, MANY_ARMS))
        assert not isinstance(init(few), ManyArmsState)
        assert isinstance(init(many), ManyArmsState)
    assert isinstance(bw.TsallisINF("rv").resolve(MANY_ARMS, None), FTRLParameters)


def test_saved_and_loaded_it_goes_on_as_before():
    bandit = bw.Bandit(K, bw.TsallisINF(), seed=2)
    for i in range(300):
        bandit.update(bandit.pull(), loss=(i % 7) / 7)
    twin = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    for each in (bandit, twin):
        for i in range(200):
            each.update(each.pull(), loss=(i % 5) / 5)
    assert twin.to_dict() == bandit.to_dict()


@pytest.mark.compiled
def test_compiled_kernels_equal_their_python_source():
    params = bw.TsallisINF().resolve(K, None)
    states = [init(params), init(params)]
    rng = np.random.default_rng(4)
    for _ in range(200):
        uniforms, loss = rng.random(1), rng.random()
        drawn = [
            f(params, s, uniforms, 0) for f, s in zip((pull_once, pull_once.py_func), states, strict=True)
        ]
        assert drawn[0][:2] == drawn[1][:2]
        np.testing.assert_allclose(drawn[0][2:], drawn[1][2:], rtol=1e-11)
        for f, s, (_, shown, _, weight, memo) in zip(
            (update_once, update_once.py_func), states, drawn, strict=True
        ):
            assert f(params, s, shown, loss, weight, memo) == 0


@pytest.mark.compiled
def test_a_hundred_times_the_arms_take_about_the_same_time():
    """Passes over all arms would take a hundred times as long; a generous twelfth of that is allowed."""

    def seconds(n_arms):
        world = bw.environments.Bernoulli(n_arms=n_arms, gap=0.2)
        start = time.process_time()
        bw.simulate(
            bw.TsallisINF(), world, horizon=n_arms + 20_000, tell_horizon=False, jobs=1, checkpoints=[1]
        )
        return (time.process_time() - start) / (n_arms + 20_000)

    seconds(1000)
    assert seconds(100_000) < 8 * min(seconds(1000) for _ in range(2))
