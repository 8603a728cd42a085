"""The gap-tuned Tsallis-INF: against a plain transcription, its limits, and what knowing the gaps buys."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import barrier as oracle
from playing import compare, loss_table, play, regret, uniform_regret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract

GAPS = [0.0, 0.1, 0.3, 0.05, 0.0]


@pytest.mark.parametrize(
    ("n_arms", "kind"),
    [pytest.param(2, "fractional", marks=pytest.mark.slow), (3, "binary"), (5, "fractional")],
)
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.5, 0.8])
def test_round_by_round(alpha, n_arms, kind):
    gaps = GAPS[:n_arms]
    compare(
        bw.TsallisINFOracle(gaps, alpha),
        oracle.TsallisINFOracle(gaps, alpha),
        loss_table(kind, n_arms, 100),
        seed=n_arms,
    )


@pytest.mark.parametrize(("alpha", "near"), [(0.0, 1e-7), (1.0, 1 - 1e-7)])
def test_the_ends_are_limits(alpha, near):
    history = {"n_arms": 3, "arms": [0, 1, 2, 1, 0] * 4, "losses": [0.05, 0.02, 0.0, 0.05, 0.01] * 4}
    limit = bw.replay(bw.TsallisINFOracle([0.0, 0.8, 1.0], alpha), **history)
    close = bw.replay(bw.TsallisINFOracle([0.0, 0.8, 1.0], near), **history)
    np.testing.assert_allclose(limit.p, close.p, rtol=1e-4)
    t = np.arange(1, 22)
    bar = np.maximum(math.e, t)
    eta = (1 - 1 / bar) / 4 if alpha == 0.0 else 4 * np.log(bar) / t
    xi = np.array([0.8, 0.8, 1.0]) ** (1 - 2 * alpha)
    np.testing.assert_allclose(limit.rates, 1 / (eta[:, None] * xi), rtol=1e-12)


def test_at_one_half_the_gaps_play_no_part_and_the_rate_approaches_that_of_tsallis_inf():
    history = {"n_arms": 2, "arms": [0, 1] * 200, "losses": [0.1] * 400}
    one = bw.replay(bw.TsallisINFOracle([0.0, 0.1], 0.5), **history)
    other = bw.replay(bw.TsallisINFOracle([0.5, 0.0], 0.5), **history)
    np.testing.assert_array_equal(one.p, other.p)
    # −(1/η)Σ(√w − w/2)/¼ is the paper's −2γΣ√w with γ = 2/η; η_t = 2(1 − 1/√t)/√t
    t = 400
    assert 2 * one.rates[t - 1, 0] == pytest.approx(math.sqrt(t) / (1 - 1 / math.sqrt(t)))


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.75, 1.0])
def test_better_than_uniform_play(alpha):
    means = [0.3, 0.6, 0.6]
    policy = bw.TsallisINFOracle([0.0, 0.3, 0.3], alpha)
    assert regret(policy, means, 3000) < 0.3 * uniform_regret(means, 3000)


def test_one_arm_and_no_gaps():
    p, _ = play(bw.TsallisINFOracle([0.0], 0.7), np.ones((20, 1)))
    assert (p == 1.0).all()
    np.testing.assert_allclose(play(bw.TsallisINFOracle([0.0, 0.0], 0.7), np.ones((1, 2)))[0], 0.5)


def test_no_arm_becomes_impossible():
    # Shannon entropy with these weights underflows after four rounds; as in every policy, p is held at e^-700
    history = bw.replay(bw.TsallisINFOracle([0.0, 0.1], 1.0), n_arms=2, arms=[0, 1, 0, 1], losses=[1.0] * 4)
    assert history.p.min() == math.exp(-700.0)
    np.testing.assert_allclose(history.p.sum(axis=1), 1.0, rtol=1e-15)


def test_it_survives_saving():
    bandit = bw.Bandit(3, bw.TsallisINFOracle([0.0, 0.1, 0.2], 0.7), seed=1)
    for _ in range(10):
        bandit.update(bandit.pull(), loss=0.5)
    again = bw.Bandit.from_dict(bandit.to_dict())
    assert again.policy == bandit.policy
    assert hash(again.policy) == hash(bandit.policy)
    assert again.pull().probability == bandit.pull().probability


@pytest.mark.parametrize(
    ("gaps", "alpha", "message"),
    [
        (
            [0.1, 0.2],
            0.5,
            r"gaps must be numbers of which one is 0, that of a best arm, got \[0\.1, 0\.2\]; subtract",
        ),
        ([], 0.5, r"gaps must be numbers of which one is 0, that of a best arm, got \[\]"),
        ([0.0, 1.5], 0.5, r"gaps\[1\] must be finite and at least 0 and at most 1, got 1\.5"),
        ([0.0, math.nan], 0.5, r"gaps\[1\] must be finite"),
        ([0.0, 0.1], 1.5, r"alpha must be a finite number at least 0 and at most 1, got 1\.5"),
    ],
)
def test_bad_input(gaps, alpha, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.TsallisINFOracle(gaps, alpha)


def test_the_number_of_gaps_must_be_that_of_the_arms():
    with pytest.raises(InvalidArgumentError, match="gaps must be one gap for each of the 3 arms, got 2"):
        bw.TsallisINFOracle([0.0, 0.1], 0.5).resolve(3, None)
