"""Policies for stochastic worlds: KL-UCB, Thompson sampling, ε-greedy, as published, in losses."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
from scipy import special, stats
from scipy.integrate import quad

from oracle import draws


def kl(p, q):
    """Bernoulli divergence, with 0·log 0 = 0."""
    value = mp.mpf(0)
    if p > 0:
        value += p * mp.log(p / q) if q > 0 else mp.inf
    if p < 1:
        value += (1 - p) * mp.log((1 - p) / (1 - q)) if q < 1 else mp.inf
    return value


def kl_upper(mean, level):
    """max{q in [mean, 1] : kl(mean, q) ≤ level} by bisection, in 40 digits."""
    low, high = mp.mpf(mean), mp.mpf(1)
    for _ in range(130):
        middle = (low + high) / 2
        if kl(mp.mpf(mean), middle) <= level:
            low = middle
        else:
            high = middle
    return low


def room(mean, level):
    """1 − kl_upper(mean reward, level) from the mean loss, by bisection of its logarithm: it may be tiny."""
    if mean == 0:
        return 0.0
    low, high = -2000.0, math.log(mean)
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return high
        value = mean * (math.log(mean) - middle)
        if mean < 1:
            value += (1 - mean) * (math.log1p(-mean) - math.log1p(-math.exp(middle)))
        if value > level:
            low = middle
        else:
            high = middle


def kl_ucb(losses, c):
    """Garivier and Cappé 2011, Algorithm 1: the arms played. The largest bound leaves the least room."""
    rounds, n_arms = losses.shape
    seen, arms = [[] for _ in range(n_arms)], []
    for t in range(1, rounds + 1):
        if t <= n_arms:
            arm = t - 1
        else:
            level = math.log(t) + c * math.log(math.log(t))
            rooms = [room(sum(x) / len(x), level / len(x)) if any(x) else -math.inf for x in seen]
            arm = rooms.index(min(rooms))
        arms.append(arm)
        seen[arm].append(float(losses[t - 1, arm]))
    return arms


def smallest(ones, zeros):
    """P(arm i has the smallest draw), by adaptive quadrature over each arm's density."""
    quantiles = (1e-12, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-6)
    cuts = sorted(
        {float(x) for a, b in zip(ones, zeros, strict=True) for x in stats.beta.ppf(quantiles, a, b)}
    )
    ones, zeros = np.array(ones, dtype=float), np.array(zeros, dtype=float)
    out = []
    for i in range(len(ones)):
        others = np.arange(len(ones)) != i

        def integrand(x, i=i, others=others):
            log_density = special.xlogy(ones[i] - 1, x) + special.xlog1py(zeros[i] - 1, -x)
            density = math.exp(log_density - special.betaln(ones[i], zeros[i]))
            return density * special.betaincc(ones[others], zeros[others], x).prod()

        pieces = zip([0.0, *cuts], [*cuts, 1.0], strict=True)
        out.append(sum(quad(integrand, low, high, epsabs=1e-13, epsrel=1e-11)[0] for low, high in pieces))
    return np.array(out)


def thompson(uniforms, losses):
    """Agrawal and Goyal 2012, Algorithm 2, in losses: arms, and the counts before every round."""
    rounds, n_arms = losses.shape
    ones, zeros = [1] * n_arms, [1] * n_arms
    arms, posteriors = [], []
    for t in range(rounds):
        posteriors.append((list(ones), list(zeros)))
        samples = [draws.beta(ones[i], zeros[i], uniforms[t], i) for i in range(n_arms)]
        arm = samples.index(min(samples))
        arms.append(arm)
        loss = losses[t, arm]
        if draws.expand(uniforms[t], n_arms << 32) < loss:
            ones[arm] += 1
        else:
            zeros[arm] += 1
    return arms, posteriors


def epsilon_greedy(uniforms, losses, epsilon):
    """Auer et al. 2002, Figure 3, with ε a function of the round: p and the arms."""
    rounds, n_arms = losses.shape
    seen = [[] for _ in range(n_arms)]
    out, arms = [], []
    for t in range(1, rounds + 1):
        means = [sum(values) / len(values) if values else -1.0 for values in seen]
        p = np.full(n_arms, epsilon(t) / n_arms)
        p[int(np.argmin(means))] += 1 - epsilon(t)
        arm = draws.quantile(p, uniforms[t - 1])
        out.append(p)
        arms.append(arm)
        seen[arm].append(losses[t - 1, arm])
    return out, arms
