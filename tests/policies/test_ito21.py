"""Ito's optimistic log-barrier policy: against a plain transcription, through segments, late feedback."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import barrier as oracle
from playing import Player, compare, loss_table, play, regret, uniform_regret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract


@pytest.mark.parametrize("eta", [0.25, 0.0])
@pytest.mark.parametrize("horizon", [300, None])
@pytest.mark.parametrize(
    ("n_arms", "kind"), [pytest.param(2, "binary", marks=pytest.mark.slow), (5, "fractional")]
)
def test_round_by_round(n_arms, kind, horizon, eta):
    # without a horizon: segments 1–4, 5–20, 21–276, 277–
    reference = oracle.Ito21(n_arms, horizon, eta)
    player = compare(bw.Ito21(eta), reference, loss_table(kind, n_arms, 300), horizon=horizon, seed=n_arms)
    assert player.act(0.5)[3] == (3 if horizon is None else 0)


def test_the_trace_shows_estimates_without_the_prediction():
    trace = bw.replay(bw.Ito21(), n_arms=2, arms=[0, 0], losses=[1.0, 0.0], horizon=100)
    np.testing.assert_allclose(trace.estimates[0], [0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(trace.estimates[1], [0.5 + 0.5 / 0.5, 0.5], rtol=1e-14)
    # m = (0.625, 0.5) in round 2
    expected = trace.estimates[1] + [0.625 - 0.625 / trace.p[1, 0], 0.5]
    np.testing.assert_allclose(trace.estimates[2], expected, rtol=1e-13)
    nu = 0.25 * np.array([0.25, 0.25])
    np.testing.assert_allclose(trace.rates[1], 2 + nu / (4 * math.log(100)), rtol=1e-14)


def test_predictions_survive_restarts_and_late_feedback_moves_nothing_else():
    player = Player(bw.Ito21(), 2)
    late = player.act(0.9)
    for _ in range(4):
        _, _, weight, memo = player.act(0.0)
        player.update(0, 1.0, weight, memo)
    assert player.act(0.5)[3] == 1
    prediction = 1 - 0.5 * 0.75**4
    np.testing.assert_allclose(player.state.predictions, [prediction, 0.5], rtol=1e-15)
    # the new segment begins with what m says: γ = 2, so m_0 − 2/p_0 = m_1 − 2/p_1
    p = player.p
    assert 2 / p[0] - 2 / p[1] == pytest.approx(prediction - 0.5)
    player.update(late[1], 1.0, *late[2:])
    np.testing.assert_allclose(player.state.predictions, [prediction, 0.625], rtol=1e-15)
    p = player.p
    assert 2 / p[0] - 2 / p[1] == pytest.approx(prediction - 0.625)
    np.testing.assert_array_equal(player.state.ftrl.rates, [2.0, 2.0])


@pytest.mark.parametrize("horizon", [3000, None])
@pytest.mark.parametrize("eta", [0.25, 0.0])
def test_better_than_uniform_play(eta, horizon):
    means = [0.3, 0.6, 0.6, 0.6]
    assert regret(bw.Ito21(eta), means, 3000, horizon=horizon) < 0.25 * uniform_regret(means, 3000)


@pytest.mark.parametrize("horizon", [20, None])
def test_one_arm(horizon):
    p, _ = play(bw.Ito21(), loss_table("fractional", 1, 20), horizon=horizon)
    assert (p == 1.0).all()


def test_it_survives_saving():
    bandit = bw.Bandit(3, bw.Ito21(), seed=1)
    for t in range(30):
        bandit.update(bandit.pull(), loss=t % 2)
    again = bw.Bandit.from_dict(bandit.to_dict())
    assert again.pull().probability == bandit.pull().probability


@pytest.mark.parametrize("eta", [-0.1, 0.6, math.inf, "quarter"])
def test_bad_eta(eta):
    with pytest.raises(
        InvalidArgumentError, match=r"eta must be a finite number at least 0 and at most 0\.5"
    ):
        bw.Ito21(eta)
