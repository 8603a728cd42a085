"""Sets of m arms, as published: HYBRID, LBINFV, CombUCB1, MP-TS, and systematic sampling; in losses."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from oracle import draws


def madow(p, uniform):
    """Madow 1949: item i is in iff some u + k, k = 0, 1, …, lies between Σ_{j<i} p_j and Σ_{j≤i} p_j."""
    ends = np.concatenate([[0.0], np.cumsum(p)])
    points = [uniform + k for k in range(round(sum(p)))]
    return [i for i in range(len(p)) if any(ends[i] <= point < ends[i + 1] for point in points)]


def step(losses, rates, derivative, m):
    """argmin <p, L> + Σ β_i φ(p_i) over Σp = m: L_i + β_i φ'(p_i) = λ, searched for in λ and log p/(1−p)."""

    def share(multiplier):
        def place(loss, rate):
            def defect(logit):
                return derivative(expit(logit), expit(-logit)) - (multiplier - loss) / rate

            return brentq(defect, -600, 600, xtol=1e-13, rtol=1e-15)

        return expit([place(loss, rate) for loss, rate in zip(losses, rates, strict=True)])

    n = len(losses)
    ends = np.asarray(losses) + np.asarray(rates) * derivative(m / n, 1 - m / n)
    low, high = min(ends) - 1, max(ends) + 1
    return share(brentq(lambda multiplier: sum(share(multiplier)) - m, low, high, xtol=1e-13, rtol=1e-15))


class Hybrid:
    """Zimmert, Luo and Wei 2019, Algorithm 1: o in [−1, 1], Ψ = Σ −√x + γ(1−x)log(1−x), η = 1/√t."""

    def __init__(self, n_arms, m):
        self.m, self.t, self.sums = m, 1, np.zeros(n_arms)
        self.gamma = 1.0 if m <= n_arms / 2 else min(1.0, 1 / math.sqrt(math.log(n_arms / (n_arms - m))))
        self.solve()

    def solve(self):
        def derivative(x, rest):
            return -0.5 / math.sqrt(x) - self.gamma * (math.log(rest) + 1)

        self.p = step(self.sums, np.full(len(self.sums), math.sqrt(self.t)), derivative, self.m)

    def update(self, arms, losses, weights):
        self.sums -= 1.0
        for arm, loss, weight in zip(arms, losses, weights, strict=True):
            self.sums[arm] += ((2 * loss - 1) + 1) / weight
        self.t += 1
        self.solve()


class LBINFV:
    """Tsuchiya, Ito and Honda 2023, Algorithm 1; least squares, or gradient descent with η."""

    def __init__(self, n_arms, m, horizon, epsilon=0.2, eta=None):
        self.m, self.n, self.gamma, self.epsilon, self.eta = m, n_arms, math.log(horizon), epsilon, eta
        self.sums, self.alphas = np.zeros(n_arms), np.zeros(n_arms)
        self.seen = [[] for _ in range(n_arms)]
        self.solve()

    @property
    def predictions(self):
        if self.eta is None:
            return np.array([(0.5 + sum(seen)) / (1 + len(seen)) for seen in self.seen])
        values = np.full(self.n, 0.5)
        for i, seen in enumerate(self.seen):
            for loss in seen:
                values[i] = (1 - self.eta) * values[i] + self.eta * loss
        return values

    def solve(self):
        def derivative(x, rest):
            return 1 - 1 / x - self.gamma * math.log(rest)

        beta = np.sqrt((1 + self.epsilon) ** 2 + self.alphas / self.gamma)
        self.p = step(self.sums + self.predictions, beta, derivative, self.m)

    def update(self, arms, losses, weights):
        predictions = self.predictions
        self.sums += predictions
        for arm, loss, weight in zip(arms, losses, weights, strict=True):
            error, x = loss - predictions[arm], self.p[arm]
            self.sums[arm] += error / weight
            self.alphas[arm] += error**2 * min(1.0, 2 * (1 - x) / (x**2 * self.gamma))
            self.seen[arm].append(loss)
        self.solve()


def comb_ucb1(losses, m, alpha=1.5):
    """Kveton et al. 2015, Algorithm 1, for losses: the sets played; items that were never seen come first."""
    rounds, n = losses.shape
    seen, sets = [[] for _ in range(n)], []
    for t in range(rounds):
        index = [
            -math.inf if not x else sum(x) / len(x) - math.sqrt(alpha * math.log(t) / len(x)) for x in seen
        ]
        chosen = sorted(sorted(range(n), key=lambda i: (index[i], i))[:m])
        sets.append(chosen)
        for i in chosen:
            seen[i].append(losses[t, i])
    return sets


def mp_ts(losses, uniforms, m):
    """Komiyama, Honda and Nakagawa 2015 for losses 0 and 1: the sets played, the posteriors at the end."""
    rounds, n = losses.shape
    ones, zeros, sets = [1] * n, [1] * n, []
    for t in range(rounds):
        values = [draws.beta(ones[i], zeros[i], uniforms[t], i) for i in range(n)]
        chosen = sorted(sorted(range(n), key=lambda i: values[i])[:m])
        sets.append(chosen)
        for i in chosen:
            ones[i] += int(losses[t, i])
            zeros[i] += 1 - int(losses[t, i])
    return sets, ones, zeros
