"""Driving the kernels of a policy round by round, as Bandit does, on given uniforms and losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds.policies.base import act_once, init, read_distribution, update_once


class Run(NamedTuple):
    """What happened: the distribution, the arm and the epoch of every round, and the state at the end."""

    p: np.ndarray
    arms: np.ndarray
    epochs: np.ndarray
    params: Any
    state: Any


def run(policy, uniforms, losses, *, horizon=None, read=True, **replaced):
    """Play ``losses`` (rounds × arms) on ``uniforms`` (one per round); ``replaced`` changes parameters.

    ``read=False`` leaves the distributions unread, for speed.
    """
    rounds, n_arms = losses.shape
    params = policy.resolve(n_arms, horizon)._replace(**replaced)
    state = init(params)
    buffer = np.empty(1)
    act = act_once.bind(params, state, buffer)
    learn = update_once.bind(params, state, 0, 0.0, 1.0, 0)
    p = np.full((rounds + 1, n_arms), np.nan)
    arms, epochs = np.empty(rounds, dtype=int), np.empty(rounds, dtype=int)
    for t in range(rounds):
        if read:
            read_distribution(params, state, p[t])
        buffer[0] = uniforms[t]
        arm, observe, _, weight, epoch = act(params, state, buffer)
        assert arm == observe
        assert learn(params, state, observe, losses[t, observe], weight, epoch) == 0
        arms[t], epochs[t] = arm, epoch
    read_distribution(params, state, p[rounds])
    return Run(p, arms, epochs, params, state)


def bernoulli(means, rounds, seed):
    """Uniforms, and independent losses 0 or 1 with these means."""
    rng = np.random.default_rng(seed)
    return rng.random(rounds), (rng.random((rounds, len(means))) < means).astype(float)


def histories(rounds, *, n_arms=(2, 3, 5), seed=0):
    """Uniforms and losses, binary and fractional, for several numbers of arms."""
    rng = np.random.default_rng(seed)
    for n in n_arms:
        means = rng.uniform(0.1, 0.9, n)
        yield rng.random(rounds), (rng.random((rounds, n)) < means).astype(float)
        yield rng.random(rounds), rng.beta(2 * means, 2 * (1 - means), (rounds, n))


def regret(result, means):
    """The pseudo-regret of the arms played."""
    means = np.asarray(means)
    return float((means[result.arms] - means.min()).sum())
