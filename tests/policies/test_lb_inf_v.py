"""LB-INF-V: against a plain transcription with a step of its own."""

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


@pytest.mark.parametrize("kind", ["binary", "fractional"])
@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_round_by_round(n_arms, kind):
    reference = oracle.LBINFV(n_arms, 200)
    compare(bw.LBINFV(), reference, loss_table(kind, n_arms, 200), horizon=200, seed=n_arms)


def test_round_by_round_to_a_confident_arm():
    # one arm far better: its p nears 1, where the complement's entropy holds
    reference = oracle.LBINFV(2, 10**4, epsilon=0.5)
    losses = np.zeros((200, 2))
    losses[:, 1] = 1.0
    player = compare(bw.LBINFV(epsilon=0.5), reference, losses, horizon=10**4, seed=2)
    assert player.p[0] > 0.9


def test_only_the_observed_arm_s_rate_moves():
    trace = bw.replay(bw.LBINFV(), n_arms=3, arms=[1], losses=[1.0], horizon=50)
    gamma = math.log(50)
    alpha = 0.25 * min(1.0, 2 * (2 / 3) * 9 / gamma)
    np.testing.assert_allclose(trace.rates[1], [1.2, math.sqrt(1.44 + alpha / gamma), 1.2], rtol=1e-12)


def test_better_than_uniform_play():
    means = [0.3, 0.6, 0.6, 0.6]
    assert regret(bw.LBINFV(), means, 3000, horizon=3000) < 0.2 * uniform_regret(means, 3000)


def test_without_variance_the_rates_stay():
    # a constant loss ℓ has Σ(ℓ − m)² = (ℓ − ½)²·Σ_n 1/(1+n)² ≤ (ℓ − ½)²·π²/6
    arms, gamma = [0, 1] * 200, math.log(400)
    calm = bw.replay(bw.LBINFV(), n_arms=2, arms=arms, losses=[0.4, 0.6] * 200, horizon=400)
    assert calm.rates.max() ** 2 <= 1.2**2 + 0.01 * math.pi**2 / 6 / gamma
    noisy = bw.replay(bw.LBINFV(), n_arms=2, arms=arms, losses=[0.0, 0.0, 1.0, 1.0] * 100, horizon=400)
    assert noisy.rates.max() > 1.5


def test_long_runs_stay_solvable():
    p, _ = play(bw.LBINFV(), loss_table("binary", 4, 5000), horizon=10**6)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert p[-1, 0] > 0.9


def test_one_arm():
    p, _ = play(bw.LBINFV(), loss_table("fractional", 1, 20), horizon=20)
    assert (p == 1.0).all()


def test_it_survives_saving():
    bandit = bw.Bandit(3, bw.LBINFV(), seed=1, horizon=100)
    for t in range(30):
        bandit.update(bandit.pull(), loss=t % 2)
    again = bw.Bandit.from_dict(bandit.to_dict())
    assert again.pull().probability == bandit.pull().probability


def test_an_unknown_horizon_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"horizon must be given for LBINFV, .*Ito21\(\)"):
        bw.LBINFV().resolve(3, None)


@pytest.mark.parametrize("epsilon", [0.0, 0.7, math.nan])
def test_bad_epsilon(epsilon):
    with pytest.raises(
        InvalidArgumentError, match=r"epsilon must be a finite number above 0 and at most 0\.5"
    ):
        bw.LBINFV(epsilon)
