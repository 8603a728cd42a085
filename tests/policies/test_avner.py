"""Avner, Mannor and Shamir's decoupled policy: against a plain transcription, and against coupled EXP3."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import exponential as oracle
from playing import compare, loss_table, play, regret, uniform_regret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract


@pytest.mark.parametrize("kind", ["binary", "fractional"])
@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_round_by_round(n_arms, kind):
    compare(bw.Avner(), oracle.Avner(n_arms), loss_table(kind, n_arms, 300), seed=n_arms)


@pytest.mark.slow
def test_better_than_uniform_play_and_than_exp3():
    means = [0.3, 0.6, 0.6, 0.6]
    ours = np.mean([regret(bw.Avner(), means, 2000, seed=seed) for seed in range(5)])
    exp3 = np.mean([regret(bw.EXP3(), means, 2000, seed=seed) for seed in range(5)])
    assert ours < 0.25 * uniform_regret(means, 2000)
    assert ours < exp3


def test_playing_and_observing_are_drawn_apart():
    p, _ = play(bw.Avner(), loss_table("binary", 3, 500))
    pulls = []
    bandit = bw.Bandit(3, bw.Avner(), seed=5)
    for _ in range(200):
        pulls.append(bandit.pull())
        bandit.update(pulls[-1], loss=float(pulls[-1].observe != 0))
    assert any(pull.arm != pull.observe for pull in pulls)
    assert p[-1].max() > 0.5


def test_one_arm():
    p, _ = play(bw.Avner(), np.ones((20, 1)))
    assert (p == 1.0).all()
