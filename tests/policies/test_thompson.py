"""Thompson sampling: draws, probabilities, rounding, and the pulls that report them."""

from __future__ import annotations

import json

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import bothworlds as bw
from bothworlds._jit import entry
from bothworlds.policies.base import init, pull_once, update_once
from bothworlds.policies.shared.beta import NODES, WEIGHTS, log_gamma, probability_of_smallest
from bothworlds.policies.thompson import ThompsonState
from bothworlds.simulation.engine import play_block
from bothworlds.variates import sample_beta
from oracle import stochastic as oracle
from playing import drawn, drive, histories, interpret, regret_of_arms


@entry
def fill(a, b, uniforms, out):
    for i in range(out.size):
        out[i] = sample_beta(a, b, uniforms[i], 5)


@entry
def smallest(a, b, out):
    probability_of_smallest(a, b, 1, out)


def test_nodes_of_gauss():
    nodes, weights = np.polynomial.legendre.leggauss(16)
    np.testing.assert_allclose(2.0 * NODES - 1.0, nodes, rtol=1e-14)
    np.testing.assert_allclose(2.0 * WEIGHTS, weights, rtol=1e-13)


def probabilities(ones, zeros):
    out = np.empty(len(ones))
    smallest(np.array(ones, dtype=float), np.array(zeros, dtype=float), out)
    return out


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("a", "b"),
    [
        *[(1, 1), (1, 9), (9, 1), (2, 2), (2, 60), (40, 3), (3, 2000), (700, 700), (10**5, 3 * 10**5)],
        *[(1.0 + 1e-9, 1.0 + 1e-9), (1.0 + 1e-9, 1.5), (1.01, 300.7), (2.5, 1.25)],
    ],
)
def test_draws_follow_the_beta_distribution(a, b):
    uniforms, out = np.random.default_rng(round(a + 7 * b)).random(200_000), np.empty(200_000)
    fill(float(a), float(b), uniforms, out)
    assert stats.kstest(out, stats.beta(a, b).cdf).pvalue > 1e-3


POSTERIORS = [
    ([1, 1], [1, 1]),
    ([1, 1, 1], [1, 7, 300]),
    ([40, 3, 1], [2, 1, 1]),
    ([5, 5, 5, 6], [9, 9, 9, 9]),
    ([501, 520, 480], [501, 470, 530]),
    ([2, 300_001], [1, 300_000]),
    ([1, 12, 100_001], [2, 11, 90_001]),
    ([1, 1, 3, 700], [3 * 10**5, 5, 435, 7 * 10**5]),
    ([10**6, 10**6 + 500, 3], [10**6, 10**6 - 500, 4]),
]
FADED = [  # those of discounted sampling: not whole
    ([1.3, 1.2], [1.7, 1.1]),
    ([1.01, 2.7, 1.5], [1.2, 5.5, 1.001]),
    ([1.0 + 1e-9, 40.2], [1.5, 700.3]),
    ([1.5, 1.4, 1.3], [1900.7, 1800.2, 1.0]),
    ([900.5, 1.25, 1.0], [1100.5, 1.75, 1.5]),
    ([5.5, 6.5, 7.9, 1.1], [2.5, 3.5, 1.5, 1.1]),
]


@pytest.mark.parametrize(("ones", "zeros"), POSTERIORS + FADED)
def test_probabilities_agree_with_scipy(ones, zeros):
    got = probabilities(ones, zeros)
    np.testing.assert_allclose(got, oracle.smallest(ones, zeros), rtol=0, atol=1e-8)
    assert abs(got.sum() - 1) < 1e-14
    assert (got > 0).all()


def test_probabilities_agree_with_closed_forms():
    # P(Beta(1, m) smallest of independent Beta(1, m_i)) = m/Σm: exponential races
    np.testing.assert_allclose(probabilities([1, 1, 1], [1, 2, 5]), [1 / 8, 2 / 8, 5 / 8], atol=1e-10)
    # P(Beta(m, 1) < Beta(n, 1)) = n/(m + n)
    np.testing.assert_allclose(probabilities([3, 8], [1, 1]), [8 / 11, 3 / 11], atol=1e-10)
    np.testing.assert_allclose(probabilities([9] * 6, [4] * 6), [1 / 6] * 6, atol=1e-10)


def posterior(params, ones, zeros):
    return ThompsonState(np.array(ones, dtype=float), np.array(zeros, dtype=float))


@pytest.mark.compiled
@pytest.mark.parametrize(("ones", "zeros"), [POSTERIORS[2], POSTERIORS[4], POSTERIORS[6]])
def test_arms_are_drawn_with_these_probabilities(ones, zeros):
    params = bw.Thompson().resolve(len(ones), None)
    state = posterior(params, ones, zeros)
    uniforms = np.random.default_rng(11).random((200_000, 1))
    act = pull_once.bind(params, state, uniforms[0], 0)
    counts = np.bincount([act(params, state, u, 0)[0] for u in uniforms], minlength=len(ones))
    assert stats.chisquare(counts, probabilities(ones, zeros) * 200_000).pvalue > 1e-3


def test_arms_and_posteriors_are_those_of_the_published_algorithm():
    for uniforms, losses in histories(150, seed=2):
        result = drive(bw.Thompson(), uniforms, losses)
        arms, posteriors = oracle.thompson(uniforms, losses)
        assert result.arms.tolist() == arms
        for t in (0, 5, 149):
            np.testing.assert_allclose(result.p[t], oracle.smallest(*posteriors[t]), rtol=0, atol=1e-8)


def rounded(losses, seed=0):
    """How many of these losses of one arm count as 1, one by one."""
    params = bw.Thompson().resolve(2, None)
    state = init(params)
    learn = update_once.bind(params, state, 0, 0.0, 1.0, 0.0)
    out = []
    for loss, uniform in zip(losses, np.random.default_rng(seed).random((len(losses), 1)), strict=True):
        before = state.ones[1]
        *_, memo = pull_once(params, state, uniform, 0)
        learn(params, state, 1, loss, 1.0, memo)
        out.append(state.ones[1] - before)
    return np.array(out)


@pytest.mark.parametrize("loss", [1e-3, 0.1, 0.5, 0.73])
def test_rounding_of_a_constant_loss_is_unbiased_and_independent(loss):
    n = 20_000
    bits = rounded([loss] * n)
    spread = np.sqrt(loss * (1 - loss) / n)
    assert abs(bits.mean() - loss) < 4 * spread
    assert abs(np.mean(bits[1:] * bits[:-1]) - loss**2) < 4 * np.sqrt(loss**2 / n)


def test_rounding_of_first_losses_is_unbiased():
    losses = np.random.default_rng(4).random(4000)
    bits = np.array([rounded([loss], seed)[0] for seed, loss in enumerate(losses)])
    assert abs((bits - losses).mean()) < 4 * np.sqrt(1 / 6 / 4000)
    for low in (0.0, 0.25, 0.5, 0.75):
        part = (losses >= low) & (losses < low + 0.25)
        assert abs((bits - losses)[part].mean()) < 4 * np.sqrt(0.25 / part.sum())


def test_zero_and_one_are_never_rounded():
    assert rounded([0.0] * 200).sum() == 0
    assert rounded([1.0] * 200).sum() == 200


def test_it_beats_uniform_play():
    means = [0.3, 0.5, 0.5, 0.6]
    result = drive(bw.Thompson(), *drawn(means, 3000, seed=5), read=False)
    assert regret_of_arms(result, means) < 0.15 * 3000 * (np.mean(means) - 0.3)


def test_fractional_losses_are_learned():
    rng = np.random.default_rng(6)
    means = np.array([0.6, 0.4, 0.6])
    losses = np.clip(means + 0.2 * (rng.random((3000, 3)) - 0.5), 0, 1)
    result = drive(bw.Thompson(), rng.random(3000), losses, read=False)
    assert regret_of_arms(result, means) < 0.3 * 3000 * (means.mean() - 0.4)


def test_a_bandit_reports_the_probability_of_its_pull():
    bandit = bw.Bandit(["a", "b", "c"], bw.Thompson(), seed=1)
    for loss in (1.0, 0.0, 0.3, 1.0):
        expected = bandit.probabilities
        pull = bandit.pull()
        assert pull.probability == expected[pull.arm]
        bandit.update(pull, loss=loss)
    pull = bandit.pull()
    again = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict(), allow_nan=False)))
    assert again.outstanding[0].probability == pull.probability
    again.update(again.outstanding[0], loss=0.25)
    bandit.update(pull, loss=0.25)
    assert again.pull()[:4] == bandit.pull()[:4]


def test_replay_equals_live_play():
    bandit, rng, history, live = bw.Bandit(3, bw.Thompson(), seed=8), np.random.default_rng(8), [], []
    for _ in range(60):
        live.append(list(bandit.probabilities.values()))
        pull, loss = bandit.pull(), float(rng.random())
        bandit.update(pull, loss=loss)
        history.append((pull.arm, loss))
    arms, losses = zip(*history, strict=True)
    trace = bw.replay(bw.Thompson(), n_arms=3, arms=arms, losses=losses, seed=8)
    assert trace.p[:-1].tolist() == live


def test_one_arm():
    result = drive(bw.Thompson(), np.full(4, 0.5), np.full((4, 1), 0.4))
    assert result.arms.tolist() == [0] * 4
    assert result.p.tolist() == [[1.0]] * 5


def test_many_arms():
    rng = np.random.default_rng(9)
    ones, zeros = rng.integers(1, 30, 300), rng.integers(1, 30, 300)
    got = probabilities(ones, zeros)
    assert abs(got.sum() - 1) < 1e-12
    means = ones / (ones + zeros)
    assert got[np.argmin(means)] > 10 * got[np.argsort(means)[150]]


def mean_regret_of_two_rounds(losses):
    """By enumeration: every arm of round 1, every rounding, and the exact probabilities of round 2."""
    gaps = np.array(losses) - min(losses)
    total = 0.0
    for arm, loss in enumerate(losses):
        for bit, chance in ((1, loss), (0, 1 - loss)):
            ones, zeros = np.ones(2), np.ones(2)
            (ones if bit else zeros)[arm] += 1
            total += 0.5 * chance * (gaps[arm] + oracle.smallest(ones, zeros) @ gaps)
    return total


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("policy", "seed"),
    [
        (bw.Thompson(), 0),
        pytest.param(bw.Thompson(), 1, marks=pytest.mark.slow),
        pytest.param(bw.DiscountedThompson(), 0, marks=pytest.mark.slow),
        pytest.param(bw.SlidingWindowThompson(window=2), 0, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_replications_round_fractional_losses_independently(policy, seed, monkeypatch):
    """Constant losses: all that differs between replications is the draws and the rounding.

    One observation is neither discounted nor out of a window, so the regret is the same for all three.
    """
    if policy != bw.Thompson():
        interpret(monkeypatch, play_block)
    world = bw.environments.LossTable(np.tile([0.2, 0.8], (2, 1)))
    found = bw.simulate(policy, world, horizon=2, replications=4000, seed=seed).regret[0, :, -1]
    exact = mean_regret_of_two_rounds([0.2, 0.8])
    assert exact == pytest.approx(0.54)  # one chain for all replications gives 0.5 or 0.6
    assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(4000)


@pytest.mark.compiled
def test_a_fractional_loss_has_the_same_law_in_every_round_and_replication():
    """One arm: the number of losses rounded up is binomial over replications."""
    params, rounds = bw.Thompson().resolve(1, None), 40
    counts = []
    for replication in range(2000):
        state = init(params)
        for uniforms in bw.rng.stream(3, 0, replication).random((rounds, 1)):
            *_, memo = pull_once.py_func(params, state, uniforms, 0)
            update_once.py_func(params, state, 0, 0.3, 1.0, memo)
        counts.append(int(state.ones[0] - 1))
    expected = stats.binom(rounds, 0.3).pmf(np.arange(rounds + 1)) * 2000
    inside = expected >= 10
    observed = np.bincount(counts, minlength=rounds + 1)
    observed, expected = (np.append(x[inside], x[~inside].sum()) for x in (observed.astype(float), expected))
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_log_gamma_is_that_of_50_digits():
    points = [1.0, 1.0 + 1e-9, 1.5, 2.0, 2.0 - 1e-9, 3.7, 9.999, 10.0, 10.001, 33.3, 1e3, 1e6, 1e9]
    with mp.workdps(50):
        exact = [float(mp.loggamma(mp.mpf(x))) for x in points]
    assert [log_gamma(x) for x in points] == pytest.approx(exact, rel=1e-14, abs=2e-14)
