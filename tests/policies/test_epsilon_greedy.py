"""ε-greedy and uniform play."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from oracle import stochastic as oracle
from playing import drawn, drive, histories, regret_of_arms


@pytest.mark.parametrize(
    ("policy", "epsilon"),
    [
        (bw.EpsilonGreedy(), lambda t, k: min(1.0, 5.0 * k / t)),
        (bw.EpsilonGreedy(c=0.7), lambda t, k: min(1.0, 0.7 * k / t)),
        (bw.EpsilonGreedy(0.0), lambda t, k: 0.0),
        (bw.EpsilonGreedy(0.25), lambda t, k: 0.25),
        (bw.EpsilonGreedy(1.0), lambda t, k: 1.0),
    ],
    ids=["default", "c=0.7", "0", "0.25", "1"],
)
def test_the_rounds_are_those_of_the_published_algorithm(policy, epsilon):
    for uniforms, losses in histories(300, seed=3):
        k = losses.shape[1]
        result = drive(policy, uniforms, losses)
        p, arms = oracle.epsilon_greedy(uniforms, losses, lambda t, k=k: epsilon(t, k))
        assert result.arms.tolist() == arms
        np.testing.assert_allclose(result.p[:-1], p, rtol=1e-12)


def test_it_beats_uniform_play():
    means = [0.2, 0.5, 0.5, 0.6]
    result = drive(bw.EpsilonGreedy(), *drawn(means, 3000, seed=1), read=False)
    assert regret_of_arms(result, means) < 0.2 * 3000 * (np.mean(means) - 0.2)


def test_uniform_play_is_uniform_whatever_happens():
    for uniforms, losses in histories(300, seed=4):
        k = losses.shape[1]
        result = drive(bw.Uniform(), uniforms, losses)
        assert (result.p == 1 / k).all()
        assert result.arms.tolist() == np.floor(uniforms * k).astype(int).tolist()


@pytest.mark.parametrize("policy", [bw.EpsilonGreedy(), bw.EpsilonGreedy(0.1), bw.Uniform()], ids=repr)
def test_one_arm(policy):
    result = drive(policy, np.full(4, 0.5), np.full((4, 1), 0.4))
    assert result.arms.tolist() == [0] * 4
    np.testing.assert_allclose(result.p, 1.0, rtol=1e-15)


@pytest.mark.parametrize("policy", [bw.EpsilonGreedy(0.0), bw.Uniform()], ids=repr)
def test_any_history_can_be_replayed(policy):
    trace = bw.replay(policy, n_arms=3, arms=[2, 2, 1], losses=[0.0, 1.0, 0.5])
    assert trace.p.shape == (4, 3)
    assert np.isnan(trace.rates).all()


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan"), "often"])
def test_bad_epsilon(epsilon):
    with pytest.raises(
        InvalidArgumentError, match=r"epsilon must be a finite number at least 0 and at most 1, got"
    ):
        bw.EpsilonGreedy(epsilon)


@pytest.mark.parametrize("c", [0.0, -1.0, None])
def test_bad_c(c):
    with pytest.raises(InvalidArgumentError, match="c must be a finite number above 0, got"):
        bw.EpsilonGreedy(c=c)
