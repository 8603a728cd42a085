"""Drive a policy's kernels round by round, alone or beside an oracle."""

from __future__ import annotations

import numpy as np

from bothworlds.policies.base import act_once, init, read_distribution, update_once


def bernoulli(means, rounds, seed=0):
    """A table of 0/1 losses, one row per round."""
    return (np.random.default_rng(seed).random((rounds, len(means))) < np.asarray(means)).astype(float)


class Player:
    """A policy in play: ``p`` is in force, ``act`` draws, ``update`` learns."""

    def __init__(self, policy, n_arms, horizon=None):
        self.params = policy.resolve(n_arms, horizon)
        self.state = init(self.params)
        self.n_arms = n_arms
        self._uniforms = np.zeros(policy.draws)
        self._act = act_once.bind(self.params, self.state, self._uniforms)
        self._update = update_once.bind(self.params, self.state, 0, 0.0, 1.0, 0)

    @property
    def p(self):
        out = np.empty(self.n_arms)
        read_distribution(self.params, self.state, out)
        return out

    def act(self, uniforms):
        self._uniforms[:] = uniforms
        return self._act(self.params, self.state, self._uniforms)

    def update(self, observe, loss, weight, epoch):
        return self._update(self.params, self.state, observe, loss, weight, epoch)


def play(policy, losses, *, horizon=None, seed=1):
    """Play a table of losses; return p before every round and the arms played."""
    losses = np.asarray(losses, dtype=float)
    rounds, n_arms = losses.shape
    player = Player(policy, n_arms, horizon)
    uniforms = np.random.default_rng(seed).random((rounds, policy.draws))
    p, arms = np.empty((rounds, n_arms)), np.empty(rounds, dtype=int)
    for t in range(rounds):
        p[t] = player.p
        arms[t], observe, _, weight, epoch = player.act(uniforms[t])
        assert player.update(observe, losses[t, observe], weight, epoch) == 0
    return p, arms


def regret(policy, means, rounds, *, horizon=None, seed=0):
    """Pseudo-regret Σ_t <p^t, Δ> of one run on Bernoulli losses."""
    p, _ = play(policy, bernoulli(means, rounds, seed), horizon=horizon, seed=seed + 1000)
    return float((p @ (np.asarray(means) - min(means))).sum())


def uniform_regret(means, rounds):
    """That of uniform play."""
    return rounds * float(np.mean(means) - min(means))
