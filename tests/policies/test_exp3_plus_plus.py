"""EXP3++: against a plain transcription; exploration that follows the gaps."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import exponential as oracle
from playing import Player, compare, loss_table, play, regret, uniform_regret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract


@pytest.mark.parametrize("kind", ["binary", "fractional"])
@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_round_by_round(n_arms, kind):
    compare(bw.EXP3PlusPlus(), oracle.EXP3PlusPlus(n_arms), loss_table(kind, n_arms, 250), seed=n_arms)


@pytest.mark.parametrize("n_arms", [2, 4])
def test_round_by_round_where_the_gap_term_bites(n_arms):
    # small constants and a clear gap: ξ is the smallest of the three terms in many rounds
    policy, reference = bw.EXP3PlusPlus(alpha=0.1, beta=0.01), oracle.EXP3PlusPlus(n_arms, 0.1, 0.01)
    losses = np.maximum(0.8, loss_table("fractional", n_arms, 300))
    losses[:, 0] = np.arange(300) % 5 == 0
    compare(policy, reference, losses, seed=3)
    cap = min(1 / (2 * n_arms), 0.5 * np.sqrt(np.log(n_arms) / (reference.t * n_arms)))
    assert reference.epsilon[0] == cap  # the best arm has no gap
    assert (reference.epsilon[1:] < 0.1 * cap).all()


def test_every_arm_first_in_turn_also_with_late_feedback():
    player = Player(bw.EXP3PlusPlus(), 3)
    for arm in range(3):
        for _ in range(2):  # two pulls before the feedback: the same arm
            assert player.act(0.9)[:3] == (arm, arm, 1.0)
        player.update(arm, 0.5, 1.0, 0)
    assert (player.p > 0).all()


def test_better_than_uniform_play():
    means = [0.2, 0.8, 0.8]
    assert regret(bw.EXP3PlusPlus(), means, 3000) < 0.4 * uniform_regret(means, 3000)


def test_one_arm():
    p, _ = play(bw.EXP3PlusPlus(), np.ones((20, 1)))
    assert (p == 1.0).all()


def test_an_impossible_first_arm_is_refused_by_replay():
    with pytest.raises(InvalidArgumentError, match=r"arms\[0\] must be possible, got 1"):
        bw.replay(bw.EXP3PlusPlus(), n_arms=2, arms=[1], losses=[0.0])


@pytest.mark.parametrize("name", ["alpha", "beta"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "large"])
def test_bad_constants(name, value):
    with pytest.raises(InvalidArgumentError, match=f"{name} must be a finite number above 0"):
        bw.EXP3PlusPlus(**{name: value})
