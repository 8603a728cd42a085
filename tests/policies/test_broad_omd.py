"""BROAD-OMD: against mirror descent as printed, restarts, and the anytime variant."""

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


@pytest.mark.parametrize("kind", ["binary", "fractional"])
@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_round_by_round(n_arms, kind):
    reference = oracle.BroadOMD(n_arms, 250)
    compare(bw.BroadOMD(), reference, loss_table(kind, n_arms, 250), horizon=250, seed=n_arms)


@pytest.mark.parametrize("kind", ["binary", "fractional"])
@pytest.mark.parametrize("n_arms", [2, 4])
def test_round_by_round_through_restarts(n_arms, kind):
    reference = oracle.BroadOMD(n_arms, 300, eta=0.9)
    losses = np.maximum(loss_table(kind, n_arms, 300), 0.3)
    player = compare(bw.BroadOMD(eta=0.9), reference, losses, horizon=300, seed=n_arms)
    assert reference.restarts >= 2
    assert player.act(0.5)[3] == reference.restarts


@pytest.mark.parametrize("kind", ["binary", "fractional"])
@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_the_anytime_variant_round_by_round(n_arms, kind):
    compare(
        bw.BroadOMD(anytime=True),
        oracle.BroadAnytime(n_arms),
        loss_table(kind, n_arms, 300),
        seed=n_arms,
    )


def test_feedback_from_before_a_restart_is_not_learned():
    # K = 2, ℓ = 1, p = ½: V grows by ½ per round, and 2·log 10/3 = 1.54 is reached in round 4
    player = Player(bw.BroadOMD(eta=1.0), 2, 10)
    late = player.act(0.2)
    while player.act(0.5)[3] == 0:
        arm, _, weight, memo = player.act(0.5)
        player.update(arm, 1.0, weight, memo)
    before = player.p
    np.testing.assert_array_equal(before, [0.5, 0.5])
    player.update(late[1], 1.0, *late[2:])
    np.testing.assert_array_equal(player.p, before)


def test_theory_constants_hardly_move_it():
    # 1/p_i − 1/p_j = η(L_i − L_j), exactly: with η = 1/162 a gap of 162 in L changes 1/p by one
    trace = bw.replay(
        bw.BroadOMD(), n_arms=3, arms=[0, 1, 0, 2] * 25, losses=[1.0, 0.5, 0.7, 0.0] * 25, horizon=100
    )
    inverse = 1 / trace.p
    for i, j in [(0, 1), (1, 2)]:
        difference = (trace.estimates[:, i] - trace.estimates[:, j]) / 162
        np.testing.assert_allclose(inverse[:, i] - inverse[:, j], difference, rtol=1e-9, atol=1e-12)
    assert trace.estimates[-1].max() > 100
    assert trace.p[-1].min() > 0.2


@pytest.mark.parametrize("policy", [bw.BroadOMD(eta=0.25), bw.BroadOMD(anytime=True)], ids=repr)
def test_better_than_uniform_play(policy):
    means = [0.2, 0.8, 0.8]
    assert regret(policy, means, 3000, horizon=3000) < 0.3 * uniform_regret(means, 3000)


@pytest.mark.parametrize("policy", [bw.BroadOMD(), bw.BroadOMD(anytime=True)], ids=repr)
def test_one_arm(policy):
    p, _ = play(policy, np.ones((20, 1)), horizon=20)
    assert (p == 1.0).all()


def test_an_unknown_horizon_is_refused():
    with pytest.raises(
        InvalidArgumentError, match=r"horizon must be given for BroadOMD, .*, got None; .*anytime=True"
    ):
        bw.BroadOMD().resolve(3, None)
    assert bw.BroadOMD(anytime=True).resolve(3, None) is not None


@pytest.mark.parametrize("eta", [0.0, 1.5, math.nan, "small"])
def test_bad_eta(eta):
    with pytest.raises(InvalidArgumentError, match="eta must be a finite number above 0 and at most 1"):
        bw.BroadOMD(eta=eta)


def test_bad_anytime():
    with pytest.raises(InvalidArgumentError, match="anytime must be one of True, False, got 'yes'"):
        bw.BroadOMD(anytime="yes")
