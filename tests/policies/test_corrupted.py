"""The elimination race and BARBAR."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import init, pull_once, update_once
from oracle import corrupted as oracle
from playing import drawn, drive, histories, regret_of_arms


def layer_probabilities(n):
    p = 0.5 ** np.arange(1, n + 1)
    p[0] += 0.5**n
    return p


def test_the_race_is_the_published_algorithm():
    emptied, lost = 0, 0
    for uniforms, losses in histories(400, n_arms=(2, 3, 4, 5), seed=8):
        k = losses.shape[1]
        result = drive(bw.EliminationRace(), uniforms, losses, horizon=400, width=0.25)
        n_layers = result.params.n_layers
        assert n_layers == math.ceil(math.log2(400))
        weights = layer_probabilities(n_layers)
        steps = oracle.race(result.memos.astype(int).tolist(), result.arms.tolist(), losses, 0.25, n_layers)
        for t, (plays, empty) in enumerate(steps):
            expected = np.bincount(plays, weights=weights, minlength=k)
            np.testing.assert_allclose(result.p[t], expected, rtol=1e-12)
            if t < 400:
                assert result.arms[t] == plays[int(result.memos[t])]
            emptied += len(empty) > 0
            lost += (expected == 0).any()
    assert emptied > 100  # the rule for empty layers was in force
    assert lost > 100  # and so were eliminations


def test_layers_are_drawn_with_their_probabilities():
    uniforms, losses = drawn([0.4, 0.5, 0.5], 20_000, seed=4)
    result = drive(bw.EliminationRace(), uniforms, losses, horizon=2**10, read=False)
    expected = layer_probabilities(10)
    layers = result.memos.astype(int)
    counts = np.bincount(layers, minlength=10)
    assert stats.chisquare(counts, expected * 20_000).pvalue > 1e-3
    pairs = np.zeros((3, 3))
    np.add.at(pairs, (np.minimum(layers[:-1], 2), np.minimum(layers[1:], 2)), 1)
    assert stats.chi2_contingency(pairs).pvalue > 1e-3


def test_the_race_beats_uniform_play():
    means = [0.1, 0.9]
    result = drive(bw.EliminationRace(), *drawn(means, 20_000, seed=5), horizon=20_000, read=False)
    assert regret_of_arms(result, means) < 0.3 * 20_000 * 0.4


def test_slow_layers_correct_the_fast_one():
    # the first 1500 rounds are flipped: the first layer loses the best arm, and gets it back by the others
    rng = np.random.default_rng(6)
    losses = (rng.random((40_000, 2)) < [0.1, 0.9]).astype(float)
    losses[:1500] = 1 - losses[:1500]
    result = drive(bw.EliminationRace(), rng.random(40_000), losses, horizon=40_000, read=False)
    assert result.state.active[0] == 0.0
    assert (result.arms[-5000:] == 0).mean() > 0.9


def test_width_and_layers():
    params = bw.EliminationRace(0.1).resolve(4, 1000)
    assert params.width == pytest.approx(math.log(4 * 4 * 1000 * math.log(1000) / 0.1))
    assert params.n_layers == 10
    assert bw.EliminationRace().resolve(1, 1).n_layers == 1


def test_an_arm_that_no_layer_plays_can_be_replayed():
    trace = bw.replay(bw.EliminationRace(), n_arms=4, horizon=50, arms=[3] * 50, losses=[0.5] * 50)
    np.testing.assert_allclose(trace.p.sum(axis=1), 1.0, rtol=1e-15)


def test_a_layer_that_does_not_exist_learns_nothing():
    params = bw.EliminationRace().resolve(2, 16)
    state = init(params)
    update_once(params, state, 0, 1.0, 1.0, 99)
    assert state.counts.sum() == 0


@pytest.mark.parametrize("constants", ["practical", "theory"])
def test_barbar_is_the_published_algorithm(constants):
    for uniforms, losses in histories(600, n_arms=(2, 3, 4, 5), seed=9):
        k = losses.shape[1]
        lam = (1024 if constants == "theory" else 1) * math.log(8 * k * 600 * math.log2(600))
        result = drive(bw.BARBAR(constants), uniforms, losses, horizon=600)
        assert result.params.samples == pytest.approx(lam, rel=1e-15)
        p, arms, epochs = oracle.barbar(uniforms, losses, result.params.samples)
        assert result.arms.tolist() == arms
        np.testing.assert_allclose(result.p[:-1], p, rtol=1e-12)
        assert result.memos[-1] == epochs
        assert epochs >= 2 if constants == "practical" else epochs == 0


def test_barbar_with_theory_constants_is_uniform_for_k_lambda_rounds():
    params = bw.BARBAR("theory").resolve(8, 10_000)
    state = init(params)
    assert state.scalars[1] == 8 * math.ceil(1024 * math.log(8 * 8 * 10_000 * math.log2(10_000)))
    assert state.p.tolist() == [1 / 8] * 8


def test_barbar_beats_uniform_play():
    means = [0.1, 0.8, 0.8, 0.8]
    result = drive(bw.BARBAR(), *drawn(means, 10_000, seed=7), horizon=10_000, read=False)
    assert regret_of_arms(result, means) < 0.3 * 10_000 * (np.mean(means) - 0.1)


def test_barbar_does_not_use_feedback_from_an_old_epoch():
    uniforms, losses = drawn([0.2, 0.6], 200, seed=8)
    result = drive(bw.BARBAR(), uniforms, losses, horizon=200)
    before = [part.copy() for part in result.state]
    assert result.memos[-1] >= 1
    update_once(result.params, result.state, 0, 0.0, 1.0, 0)
    assert [part.tolist() for part in result.state] == [part.tolist() for part in before]


@pytest.mark.parametrize("kind", [bw.EliminationRace, bw.BARBAR])
def test_one_arm(kind):
    result = drive(kind(), np.full(300, 0.5), np.full((300, 1), 0.4), horizon=300)
    assert result.arms.tolist() == [0] * 300
    np.testing.assert_allclose(result.p, 1.0, rtol=1e-15)


@pytest.mark.parametrize("kind", [bw.EliminationRace, bw.BARBAR])
def test_bad_input(kind):
    with pytest.raises(
        InvalidArgumentError, match=rf"horizon must be given for {kind.__name__}, .*LightBarrier\(\)"
    ):
        bw.Bandit(3, kind())
    for delta in (0.0, -1.0, 2.0, "small"):
        with pytest.raises(
            InvalidArgumentError, match="delta must be a finite number above 0 and at most 1, got"
        ):
            kind(delta=delta)


def test_bad_constants():
    with pytest.raises(
        InvalidArgumentError, match="constants must be one of 'theory', 'practical', got 'paper'"
    ):
        bw.BARBAR("paper")


def test_the_first_layer_has_its_law_over_replications():
    """All replications begin in the same state: what differs is the pull, and with it the layer."""
    params = bw.EliminationRace().resolve(3, 2**10)
    state = init(params)
    layers = []
    for replication in range(4000):
        uniforms = bw.rng.stream(1, 0, replication).random(1)
        layers.append(int(pull_once.py_func(params, state, uniforms, 0)[4]))
    counts = np.bincount(layers, minlength=10)
    expected = layer_probabilities(10) * 4000
    assert stats.chisquare(counts[:7], expected[:7] * counts[:7].sum() / expected[:7].sum()).pvalue > 1e-3
    assert counts[7:].sum() < 80
