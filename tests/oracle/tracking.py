"""Policies for worlds that change, as published, in losses: all is computed afresh from the past."""

from __future__ import annotations

import math

import numpy as np

from oracle import draws
from oracle.stochastic import room


def forgetful_thompson(uniforms, losses, weight_of_age):
    """Thompson sampling in which an observation of this age (0 for the last) weighs so much.

    Raj and Kalyani 2017, Algorithm 1, for γ^age; Trovò et al. 2020, Algorithm 1, for a window. Gives the
    arms, and the parameters of the posteriors before every round.
    """
    rounds, n_arms = losses.shape
    past, arms, posteriors = [], [], []
    for t in range(rounds):
        ones, zeros = [1.0] * n_arms, [1.0] * n_arms
        for age, (arm, bit) in enumerate(reversed(past)):
            ones[arm] += weight_of_age(age) * bit
            zeros[arm] += weight_of_age(age) * (1 - bit)
        posteriors.append((ones, zeros))
        samples = [draws.beta(ones[i], zeros[i], uniforms[t], i) for i in range(n_arms)]
        arm = samples.index(min(samples))
        arms.append(arm)
        past.append((arm, int(draws.expand(uniforms[t], n_arms << 32) < losses[t, arm])))
    return arms, posteriors


def exp3s(uniforms, losses, gamma, alpha):
    """Auer et al. 2002, algorithm Exp3.S, with gains 1 − loss: the distributions and the arms."""
    rounds, n_arms = losses.shape
    w = np.ones(n_arms)
    out, arms = [], []
    for t in range(rounds):
        p = (1 - gamma) * w / w.sum() + gamma / n_arms
        arm = draws.quantile(p, uniforms[t])
        out.append(p)
        arms.append(arm)
        gains = np.zeros(n_arms)
        gains[arm] = (1 - losses[t, arm]) / p[arm]
        w = w * np.exp(gamma * gains / n_arms) + math.e * alpha / n_arms * w.sum()
    return out, arms


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def limits(n, most):
    """How many losses are younger than each limit of blocks, if n came: at most so many blocks of a size."""
    sizes = []  # oldest first
    for _ in range(n):
        sizes.append(1)
        size = 1
        while sizes.count(size) > most:
            at = sizes.index(size)
            sizes[at : at + 2] = [2 * size]
            size *= 2
    return np.cumsum(sizes[::-1])[:-1].tolist()


def changed(stream, delta, most):
    """Besson et al. 2022, equation (3), with the threshold of their experiments."""
    n, total = len(stream), sum(stream)
    for new in range(1, n) if most is None else limits(n, most):
        old, mean = n - new, total / n
        first, last = sum(stream[:old]) / old, sum(stream[old:]) / new
        if 0 < mean < 1 and old * kl(first, mean) + new * kl(last, mean) > math.log(n**1.5 / delta):
            return True
    return False


def glr_kl_ucb(losses, alpha, delta, *, local, growing=False, most=None):
    """Besson et al. 2022, Algorithm 1: the arms, and the rounds after which it restarted."""
    rounds, n_arms = losses.shape
    seen, begun = [[] for _ in range(n_arms)], [0] * n_arms
    arms, restarts = [], []
    for t in range(1, rounds + 1):
        share = alpha * math.sqrt(len(restarts) + 1) if growing else alpha
        turn = t % math.floor(n_arms / share) if share else 0
        if 1 <= turn <= n_arms:
            arm = turn - 1
        elif [] in seen:
            arm = seen.index([])
        else:
            levels = [math.log(t - since) / len(x) for x, since in zip(seen, begun, strict=True)]
            rooms = [
                room(sum(x) / len(x), level) if any(x) else -math.inf
                for x, level in zip(seen, levels, strict=True)
            ]
            arm = rooms.index(min(rooms))
        arms.append(arm)
        seen[arm].append(float(losses[t - 1, arm]))
        if changed(seen[arm], delta, most):
            restarts.append(t)
            for i in [arm] if local else range(n_arms):
                seen[i], begun[i] = [], t
    return arms, restarts
