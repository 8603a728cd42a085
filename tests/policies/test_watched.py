"""The watch: against its oracle round by round, its promises, what it refuses, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, OutOfRangeError
from bothworlds.policies.ftrl.state import LOSS_COUNT, LOSS_SUM
from bothworlds.policies.watched.state import DOUBT, FAVORITE, NONE, RESTARTS
from oracle import watched
from playing import Player, bernoulli, quantile


class Base:
    """A policy for the oracle to watch over: the package's own, which has an oracle of its own."""

    def __init__(self, policy, n_arms):
        self.policy, self.n_arms = policy, n_arms
        self.player = Player(policy, n_arms)

    @property
    def p(self):
        return self.player.p

    def update(self, arm, loss, weight):
        self.player.update(arm, loss, weight, 0.0)

    def restart(self, total, count):
        self.player = Player(self.policy, self.n_arms)
        if hasattr(self.player.state, "carried"):
            self.player.state.scalars[LOSS_SUM] = total
            self.player.state.scalars[LOSS_COUNT] = count


def compare(policy, losses, seed):
    """Same distribution in every round, same verdicts; return the oracle and the player."""
    n_arms = losses.shape[1]
    player = Player(policy, n_arms)
    oracle = watched.Watched(Base(policy.policy, n_arms), n_arms, policy.explore, policy.budget)
    for t, uniform in enumerate(np.random.default_rng(seed).random(len(losses))):
        p = np.array(oracle.p)
        np.testing.assert_allclose(player.p, p, rtol=1e-9, err_msg=f"round {t + 1}")
        arm, shown, weight, memo = player.act(uniform)
        assert arm == shown == quantile(p, uniform)
        np.testing.assert_allclose(weight, p[arm], rtol=1e-9)
        assert player.update(arm, losses[t, arm], weight, memo) == 0
        oracle.update(arm, losses[t, arm], weight)
    return oracle, player


def change(before, after, rounds, seed):
    return np.vstack([bernoulli(before, rounds, seed), bernoulli(after, rounds, seed + 1)])
