"""Algorithm 1 and its relatives against 60-digit transcriptions, and the constants of the theorems."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import algorithms as oracle

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract


def history(n_arms, rounds, seed, binary):
    rng = np.random.default_rng(seed)
    losses = (rng.random(rounds) < 0.6).astype(float) if binary else rng.random(rounds)
    return rng.integers(n_arms, size=rounds).tolist(), losses.tolist()


def own_history(policy, means, rounds, seed):
    """What the policy itself draws: forced arms of small probability square the estimates every time."""
    rng = np.random.default_rng(seed)
    bandit, arms, losses = bw.Bandit(len(means), policy, seed=seed), [], []
    for _ in range(rounds):
        pull = bandit.pull()
        arms.append(pull.observe)
        losses.append(float(rng.random() < means[pull.observe]))
        bandit.update(pull, loss=losses[-1])
    return arms, losses


def assert_close(mine, exact, rtol=1e-10):
    np.testing.assert_allclose(mine, np.array(exact, dtype=float), rtol=rtol)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(
    ("regularizer", "parts", "barrier", "theta", "alpha"),
    [
        (bw.LogBarrier(), [(1, "log", None)], 162.0, 1 / math.sqrt(math.log(200)), 0.0),
        (bw.LogBarrier(), [(1, "log", None)], 0.0, 0.4, 0.0),
        (bw.Tsallis(0.7), [(1, "tsallis", 0.7)], 1.0, math.sqrt(0.3 / 0.7), 0.7),
        (bw.Tsallis(0.2), [(1, "tsallis", 0.2)], 0.0, 2.0, 0.2),
        (bw.Tsallis(0.5), [(1, "tsallis", 0.5)], 0.0, 1.0, 0.5),
        (bw.Shannon(), [(1, "shannon", None)], 1.0, 0.5, 1.0),
        (bw.Shannon(), [(1, "shannon", None)], 0.0, 2.0, 1.0),
    ],
    ids=str,
)
def test_algorithm_1_agrees_with_its_transcription(regularizer, parts, barrier, theta, alpha, binary):
    arms, losses = history(3, 40, 1, binary)
    policy = bw.FTRL(regularizer, log_barrier=barrier, theta=theta, alpha=alpha)
    trace = bw.replay(policy, n_arms=3, horizon=200, arms=arms, losses=losses)
    p, rates, estimates = oracle.algorithm1(parts, 3, 200, barrier, theta, alpha, arms, losses)
    assert_close(trace.p, p)
    assert_close(trace.rates, rates)
    assert_close(trace.estimates, estimates)


def test_tsallis_inf_iw_is_algorithm_1_with_rate_sqrt_t():
    arms, losses = history(4, 50, 2, False)
    trace = bw.replay(bw.TsallisINF(), n_arms=4, arms=arms, losses=losses)
    p, _, _ = oracle.algorithm1([(1, "tsallis", 0.5)], 4, 50, 0.0, 1.0, 0.5, arms, losses)
    assert_close(trace.p, p)
    np.testing.assert_allclose(trace.rates[:, 0], np.sqrt(np.arange(1, 52)), rtol=1e-15)


@pytest.mark.parametrize("seed", [3, 4])
def test_tsallis_inf_rv_agrees_with_its_transcription(seed):
    policy = bw.TsallisINF(estimator="rv")
    arms, losses = own_history(policy, (0.3, 0.5, 0.6), 150, seed)
    trace = bw.replay(policy, n_arms=3, arms=arms, losses=losses)
    assert np.diff(trace.estimates, axis=0).min() < 0  # the baseline was at work
    assert_close(trace.p, oracle.tsallis_inf_rv(3, arms, losses))


def test_reduced_variance_takes_its_baseline_at_the_threshold_itself():
    # zero losses keep p = 1/4, which meets 16/t exactly at t = 64: the baseline begins there, not one later
    trace = bw.replay(bw.TsallisINF(estimator="rv"), n_arms=4, arms=[0] * 64, losses=[0.0] * 64)
    assert np.all(trace.estimates[63] == 0.0)
    np.testing.assert_allclose(trace.estimates[64], [-1.5, 0.5, 0.5, 0.5], rtol=1e-12)


@pytest.mark.parametrize("horizon", [None, 300])
@pytest.mark.parametrize("binary", [True, False])
def test_light_barrier_agrees_with_its_transcription(horizon, binary):
    arms, losses = history(3, 60, 5, binary)
    trace = bw.replay(bw.LightBarrier(), n_arms=3, horizon=horizon, arms=arms, losses=losses)
    p, rates, estimates = oracle.light_barrier(3, horizon, arms, losses)
    assert_close(trace.p, p)
    assert_close(trace.rates, rates)
    assert_close(trace.estimates, estimates, rtol=1e-9)  # estimates of either sign cancel


@pytest.mark.parametrize(("scale", "factor"), [("paper", 1.0), ("original", 0.75)])
def test_decoupled_agrees_with_its_transcription(scale, factor):
    arms, losses = history(4, 50, 6, False)
    trace = bw.replay(bw.DecoupledTsallisINF(scale=scale), n_arms=4, arms=arms, losses=losses)
    assert_close(trace.p, oracle.decoupled(4, factor, arms, losses))


def test_inf_keeps_its_rate():
    trace = bw.replay(bw.INF(), n_arms=3, horizon=200, arms=[0, 1, 2], losses=[1.0, 0.5, 0.0])
    assert np.all(trace.rates == math.sqrt(100.0))


@pytest.mark.parametrize(
    ("regularizer", "paper", "printed", "theta", "alpha"),
    [
        (bw.LogBarrier(), 162.0, 162.0, 1 / math.sqrt(math.log(10**4)), 0.0),
        (bw.Tsallis(0.75), 486.0, 486.0, math.sqrt(1 / 3), 0.75),
        (bw.Tsallis(0.25), 162.0, 54.0, math.sqrt(3), 0.25),
        (bw.Shannon(), 162.0 * math.log(5), 162.0 * math.log(5), 1 / math.sqrt(math.log(10**4)), 1.0),
    ],
    ids=str,
)
def test_constants_of_the_theorems(regularizer, paper, printed, theta, alpha):
    for constants, barrier in (("paper", paper), ("printed", printed), ("light", 1.0)):
        params = bw.FTRL(regularizer, constants=constants).parameters(5, 10**4)
        assert params.log_barrier == pytest.approx(barrier)
        assert params.rate.theta == pytest.approx(theta)
        assert params.rate.alpha == alpha


def test_constants_at_the_edges():
    assert bw.FTRL(bw.Shannon(), constants="paper").parameters(2, 100).log_barrier == 162.0
    assert bw.FTRL(bw.Shannon(), constants="printed").parameters(2, 100).log_barrier == 162.0 * math.log(2)
    assert bw.FTRL(bw.LogBarrier(), constants="paper").parameters(1, 1).rate.theta == 1.0  # log T ≥ 1
    assert bw.FTRL(bw.LogBarrier(), constants="printed").parameters(1, 2).rate.theta == pytest.approx(
        1 / math.sqrt(math.log(2))
    )
    with pytest.raises(InvalidArgumentError, match="horizon must be at least 2 with constants='printed'"):
        bw.FTRL(bw.LogBarrier(), constants="printed").parameters(1, 1)


def test_explicit_numbers_win():
    params = bw.FTRL(bw.LogBarrier(), constants="paper", theta=0.3, log_barrier=2.0).parameters(4, 100)
    assert (params.log_barrier, params.rate.theta, params.rate.alpha) == (2.0, 0.3, 0.0)


def test_clip_at_one_over_horizon():
    # α = 1, no barrier: p of a bad arm falls below 1/T, and the rate grows by exactly T per round from there
    policy = bw.FTRL(bw.Shannon(), log_barrier=0.0, theta=0.05, alpha=1.0)
    trace = bw.replay(policy, n_arms=2, horizon=20, arms=[0, 0, 1, 1, 1], losses=[1.0, 1.0, 0.0, 0.0, 0.0])
    assert trace.p[2, 0] < 1 / 20
    growth = np.diff((trace.rates[:, 0] / 0.05) ** 2)
    expected = 1 / np.maximum(trace.p[:-1, 0], 1 / 20)
    np.testing.assert_allclose(growth, expected, rtol=1e-12)


def test_unknown_horizon_restarts_at_squares():
    policy = bw.FTRL(bw.LogBarrier(), constants="light")
    rng = np.random.default_rng(1)
    trace = bw.replay(policy, n_arms=3, arms=rng.integers(3, size=300), losses=rng.random(300))
    fresh = np.flatnonzero((trace.estimates == 0).all(axis=1))
    assert fresh.tolist() == [0, 4, 4 + 16, 4 + 16 + 256]
    first = bw.replay(policy, n_arms=3, horizon=16, arms=trace.arms[4:20], losses=trace.losses[4:20])
    assert np.array_equal(first.p[:16], trace.p[4:20])  # a segment is the known-horizon algorithm
    wide = bw.replay(policy, n_arms=9, arms=[0] * 12, losses=[1.0] * 12)
    assert np.flatnonzero((wide.estimates == 0).all(axis=1)).tolist() == [0, 9]  # T_0 = max(4, K)


@pytest.mark.parametrize(
    "policy",
    [bw.TsallisINF(), bw.TsallisINF("rv"), bw.LightBarrier(), bw.FTRL(bw.Tsallis(0.5), constants="paper")],
    ids=repr,
)
def test_policies_that_need_no_horizon_never_restart(policy):
    arms, losses = own_history(policy, (0.4, 0.6), 300, 1)
    trace = bw.replay(policy, n_arms=2, arms=arms, losses=losses)
    assert (trace.estimates[10:] > 0).any(axis=1).all()
    assert (trace.rates[1:] > trace.rates[:-1] * 0.95).all()


@pytest.mark.parametrize(
    "estimator",
    [
        bw.estimators.ImportanceWeighted(),
        bw.estimators.CappedBaseline(),
        bw.estimators.CappedBaseline(0.25, baseline=0.5, beyond="drop"),
    ],
)
def test_estimates_are_unbiased_by_enumeration(estimator):
    # after a common history, average the estimate over every arm that could be drawn next
    policy = bw.FTRL(bw.Tsallis(0.5), log_barrier=0.3, theta=0.8, alpha=0.5, estimator=estimator)
    arms, losses = history(3, 25, 8, False)
    truth = [0.9, 0.2, 0.55]
    mean = np.zeros(3)
    for drawn in range(3):
        trace = bw.replay(policy, n_arms=3, arms=[*arms, drawn], losses=[*losses, truth[drawn]])
        mean += trace.p[-2, drawn] * (trace.estimates[-1] - trace.estimates[-2])
    np.testing.assert_allclose(mean, truth, rtol=1e-11)


def test_capped_baseline_is_half_the_rate_and_barrier_for_the_log_barrier():
    policy = bw.FTRL(
        bw.LogBarrier(),
        log_barrier=0.2,
        theta=0.1,
        alpha=0.0,
        estimator=bw.estimators.CappedBaseline(kappa=0.5),
    )
    trace = bw.replay(policy, n_arms=3, horizon=10, arms=[0], losses=[1.0])
    np.testing.assert_allclose(trace.estimates[1, 1:], 0.5 * (0.2 + 0.1), rtol=1e-13)  # the cap, below ½


@pytest.mark.slow
def test_recentring_changes_nothing_but_the_offset():
    # losses that push every estimate beyond the recentring threshold many times over
    arms, losses = map(np.array, own_history(bw.TsallisINF(), (1.0, 1.0, 1.0), 30_000, 0))
    trace = bw.replay(bw.TsallisINF(), n_arms=3, arms=arms, losses=losses)
    assert trace.estimates[-1].min() > 20_000
    weights = np.where(np.arange(3) == arms[:, None], losses[:, None] / trace.p[:-1], 0.0)
    np.testing.assert_allclose(trace.estimates[1:], weights.cumsum(axis=0), rtol=1e-10)
    y = np.sqrt(np.arange(1, 30_002))[:, None] / np.sqrt(trace.p)  # L − λ of ½-Tsallis
    spread = np.ptp(trace.estimates - y, axis=1)
    assert spread.max() < 1e-9  # float64 of L ≈ 3e4, not of the solver


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {},
            r"constants must be given, .*, got None without log_barrier, theta, alpha; constants='light'",
        ),
        ({"theta": 1.0, "alpha": 0.5}, r"got None without log_barrier;"),
        (
            {"constants": "theory"},
            r"constants must be one of 'paper', 'printed', 'light', None, got 'theory'",
        ),
        ({"constants": "light", "theta": 0.0}, "theta must be a finite number above 0, got 0.0"),
        ({"constants": "light", "theta": math.nan}, "theta must be a finite number above 0, got nan"),
        (
            {"constants": "light", "alpha": 1.5},
            "alpha must be a finite number at least 0 and at most 1, got 1.5",
        ),
        (
            {"constants": "light", "log_barrier": -1},
            "log_barrier must be a finite number at least 0, got -1.0",
        ),
        (
            {"constants": "light", "estimator": "iw"},
            r"estimator must be one of bw\.estimators or your own, such as Imp",
        ),
        ({"regularizer": "tsallis"}, r"regularizer must be LogBarrier\(\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.FTRL(**({"regularizer": bw.LogBarrier()} | arguments))


def test_presets_are_refused_where_no_theorem_exists():
    policy = bw.FTRL(bw.Hybrid(bw.Tsallis(0.5), bw.Shannon()), constants="paper")
    with pytest.raises(
        InvalidArgumentError, match=r"constants must be left out for Hybrid.*, got 'paper'; give log_barrier"
    ):
        policy.parameters(3, 100)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bw.TsallisINF("xx"), r"estimator must be one of 'iw', 'rv', got 'xx'"),
        (lambda: bw.DecoupledTsallisINF("half"), r"scale must be one of 'paper', 'original', got 'half'"),
        (lambda: bw.UCB1(alpha=0), r"alpha must be a finite number above 0, got 0.0"),
        (lambda: bw.estimators.CappedBaseline(kappa=-1), r"kappa must be a finite number above 0, got -1.0"),
        (
            lambda: bw.estimators.CappedBaseline(baseline=2),
            r"baseline must be a finite number .* at most 1, got 2.0; or None",
        ),
        (
            lambda: bw.estimators.CappedBaseline(beyond="ignore"),
            r"beyond must be one of 'cap', 'drop', got 'ignore'",
        ),
    ],
)
def test_bad_parts_are_named(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()


def test_ucb1_plays_by_its_formula():
    rng = np.random.default_rng(7)
    counts, sums = np.zeros(3), np.zeros(3)
    bandit = bw.Bandit(3, bw.UCB1(alpha=1.5))
    for t in range(1, 400):
        expected = t - 1 if t <= 3 else int(np.argmin(sums / counts - np.sqrt(1.5 * np.log(t) / counts)))
        pull = bandit.pull()
        assert pull.arm == expected
        assert pull.probability == 1.0
        loss = float(rng.random() < (0.3, 0.5, 0.7)[expected])
        bandit.update(pull, loss=loss)
        counts[expected] += 1
        sums[expected] += loss
