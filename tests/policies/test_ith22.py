"""The entropy-driven rate: against a plain transcription, with and without a horizon."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import exponential as oracle
from playing import compare, loss_table, play, regret, uniform_regret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract


@pytest.mark.parametrize("horizon", [300, 10**6, None])
@pytest.mark.parametrize("kind", ["binary", "fractional"])
@pytest.mark.parametrize("n_arms", [2, 5])
def test_round_by_round(n_arms, kind, horizon):
    losses = loss_table(kind, n_arms, 300)
    compare(bw.ITH22(), oracle.ITH22(n_arms, horizon), losses, horizon=horizon, seed=n_arms)


def test_uniform_play_has_the_closed_form_rate():
    # without losses p stays uniform: H = log K, and β_{t+1} = β_t + c/√(1 + t)
    trace = bw.replay(bw.ITH22(), n_arms=4, arms=[0] * 50, losses=[0.0] * 50, horizon=1000)
    c = max(1.0, 0.5 * math.sqrt(4 * math.log(1000) / math.log(4)))
    expected = c + c * np.concatenate([[0.0], np.cumsum(1 / np.sqrt(1 + np.arange(1, 51)))])
    np.testing.assert_allclose(trace.rates[:, 2], expected, rtol=1e-12)
    np.testing.assert_allclose(trace.p, 0.25, rtol=1e-12)


@pytest.mark.parametrize("horizon", [3000, None])
def test_better_than_uniform_play(horizon):
    means = [0.2, 0.8, 0.8]
    assert regret(bw.ITH22(), means, 3000, horizon=horizon) < 0.3 * uniform_regret(means, 3000)


@pytest.mark.parametrize("horizon", [20, None])
def test_one_arm(horizon):
    p, _ = play(bw.ITH22(), np.ones((20, 1)), horizon=horizon)
    assert (p == 1.0).all()
