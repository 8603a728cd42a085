"""Drive a policy's kernels round by round, alone or beside an oracle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bothworlds import _changeover
from bothworlds.policies.base import init, pull_once, read_distribution, update_once


def interpret(monkeypatch, *entries):
    """Run these entries as plain Python: the same bits, without compiling them for every type."""
    monkeypatch.setattr(_changeover, "_bound", {})  # kernels that bandits share: others want machine code
    for entry in entries:
        monkeypatch.setitem(entry.__dict__, "compiled", entry.python)
        monkeypatch.setitem(entry.__dict__, "bind", lambda *_, code=entry.python: code)


def bernoulli(means, rounds, seed=0):
    """A table of 0/1 losses, one row per round."""
    return (np.random.default_rng(seed).random((rounds, len(means))) < np.asarray(means)).astype(float)


class Given:
    """A random stream of a bandit that gives these rows."""

    def __init__(self, rows):
        self.rows = iter(rows)

    def take(self):
        return np.atleast_1d(next(self.rows))


class Player:
    """A policy in play: ``p`` is in force, ``act`` draws, ``update`` learns.

    One arm is played as Python, unless ``compiled`` asks for more: FTRL has a step of its own for it, and
    test_contract.py has it compiled once.
    """

    def __init__(self, policy, n_arms, horizon=None, *, compiled=None, **replaced):
        self.params = policy.resolve(n_arms, horizon)._replace(**replaced)
        self.state = init(self.params)
        self.n_arms = n_arms
        self._uniforms = np.zeros(policy.draws)
        if n_arms == 1 and not compiled:
            self._pull, self._update = pull_once.python, update_once.python
            self._read = read_distribution.python
            return
        self._pull = pull_once.bind(self.params, self.state, self._uniforms, 0)
        self._update = update_once.bind(self.params, self.state, 0, 0.0, 1.0, 0.0)
        self._read = read_distribution

    @property
    def p(self):
        out = np.empty(self.n_arms)
        self._read(self.params, self.state, out)
        return out

    def act(self, uniforms):
        self._uniforms[:] = uniforms
        arm, shown, _, weight, memo = self._pull(self.params, self.state, self._uniforms, 0)
        return arm, shown, weight, memo

    def update(self, shown, loss, weight, memo):
        return self._update(self.params, self.state, shown, loss, weight, memo)


def play(policy, losses, *, horizon=None, seed=1):
    """Play a table of losses; return p before every round and the arms played."""
    losses = np.asarray(losses, dtype=float)
    rounds, n_arms = losses.shape
    player = Player(policy, n_arms, horizon)
    uniforms = np.random.default_rng(seed).random((rounds, policy.draws))
    p, arms = np.empty((rounds, n_arms)), np.empty(rounds, dtype=int)
    for t in range(rounds):
        p[t] = player.p
        arms[t], shown, weight, memo = player.act(uniforms[t])
        assert player.update(shown, losses[t, shown], weight, memo) == 0
    return p, arms


def regret(policy, means, rounds, *, horizon=None, seed=0):
    """Pseudo-regret Σ_t <p^t, Δ> of one run on Bernoulli losses."""
    p, _ = play(policy, bernoulli(means, rounds, seed), horizon=horizon, seed=seed + 1000)
    return float((p @ (np.asarray(means) - min(means))).sum())


def uniform_regret(means, rounds):
    """That of uniform play."""
    return rounds * float(np.mean(means) - min(means))


def loss_table(kind, n_arms, rounds, seed=0):
    """Random losses, "binary" or "fractional", arm 0 a little better than the others."""
    rng = np.random.default_rng(seed)
    means = np.linspace(0.35, 0.65, n_arms)
    if kind == "binary":
        return (rng.random((rounds, n_arms)) < means).astype(float)
    return rng.beta(2 * means, 2 * (1 - means), (rounds, n_arms))


def quantile(p, uniform):
    """The arm at a quantile of a distribution."""
    return int(np.searchsorted(np.cumsum(p), uniform * np.sum(p), side="right"))


def agree(mine, exact, rtol, t):
    """``assert_allclose`` in round t, asked only where it would say no: it takes twenty times longer."""
    if not np.all(np.abs(mine - exact) <= rtol * np.abs(exact)):
        np.testing.assert_allclose(mine, exact, rtol=rtol, err_msg=f"round {t + 1}")


def compare(policy, oracle, losses, *, horizon=None, seed=1, rtol=1e-9):
    """Play policy and oracle on the same uniforms: same arms, and p equal to ``rtol`` in every round.

    The oracle divides by the policy's own weight, which has just been compared with its own: with weak
    regularizers 1/p in L and back multiplies rounding errors, and after a hundred rounds even two exact
    transcriptions of one formula would differ.
    """
    rounds, n_arms = losses.shape
    player = Player(policy, n_arms, horizon)
    uniforms = np.random.default_rng(seed).random((rounds, policy.draws))
    for t in range(rounds):
        p, q = np.array(oracle.p), np.array(oracle.q)
        agree(player.p, p, rtol, t)
        arm, shown, weight, memo = player.act(uniforms[t])
        assert arm == quantile(p, uniforms[t, 0])
        assert shown == quantile(q, uniforms[t, -1])
        agree(weight, q[shown], rtol, t)
        assert player.update(shown, losses[t, shown], weight, memo) == 0
        oracle.update(shown, losses[t, shown], weight)
    np.testing.assert_allclose(player.p, oracle.p, rtol=rtol)
    return player


class Drive(NamedTuple):
    """What happened: the distribution, the arm and the memo of every round, and the player at the end."""

    p: np.ndarray
    arms: np.ndarray
    memos: np.ndarray
    player: Player

    @property
    def params(self):
        return self.player.params

    @property
    def state(self):
        return self.player.state


def drive(policy, uniforms, losses, *, horizon=None, read=True, **replaced):
    """Play ``losses`` (rounds × arms) on ``uniforms`` (one per round); ``replaced`` changes parameters.

    ``read=False`` leaves the distributions unread, for speed.
    """
    rounds, n_arms = losses.shape
    player = Player(policy, n_arms, horizon, **replaced)
    p = np.full((rounds + 1, n_arms), np.nan)
    arms, memos = np.empty(rounds, dtype=int), np.empty(rounds)
    for t in range(rounds):
        if read:
            p[t] = player.p
        arms[t], shown, weight, memos[t] = player.act(uniforms[t])
        assert arms[t] == shown
        assert player.update(shown, losses[t, shown], weight, float(memos[t])) == 0
    p[rounds] = player.p
    return Drive(p, arms, memos, player)


def histories(rounds, *, n_arms=(2, 3, 5), seed=0):
    """Uniforms and losses, binary and fractional, for several numbers of arms."""
    rng = np.random.default_rng(seed)
    for n in n_arms:
        means = rng.uniform(0.1, 0.9, n)
        yield rng.random(rounds), (rng.random((rounds, n)) < means).astype(float)
        yield rng.random(rounds), rng.beta(2 * means, 2 * (1 - means), (rounds, n))


def drawn(means, rounds, seed):
    """Uniforms for the policy, and independent losses 0 or 1 with these means."""
    rng = np.random.default_rng(seed)
    return rng.random(rounds), (rng.random((rounds, len(means))) < means).astype(float)


def regret_of_arms(result, means):
    """The pseudo-regret of the arms that were played."""
    means = np.asarray(means)
    return float((means[result.arms] - means.min()).sum())
