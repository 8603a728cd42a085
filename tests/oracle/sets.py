"""Sets of arms, as published: HYBRID, LBINFV, CombUCB1, MP-TS, and systematic sampling; in losses.

Sets are given as triples (arms, fewest, most): of these arms, from so many to so many. ``outside`` is the
loss of an arm that is left out: it is subtracted from all losses, so that the empty set costs 0.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from oracle import draws


def madow(p, uniform):
    """Madow 1949: item i is in iff some u + k, k = 0, 1, …, lies between Σ_{j<i} p_j and Σ_{j≤i} p_j."""
    ends = np.concatenate([[0.0], np.cumsum(p)])
    points = [uniform + k for k in range(len(p))]
    if abs(ends[-1] - round(ends[-1])) < 1e-9 and ends[-1] > 0.5:  # Σp = m, but for rounding
        points = points[: round(ends[-1])]
    return [i for i in range(len(p)) if any(ends[i] <= point < ends[i + 1] for point in points)]


def draw(p, uniform, sets):
    """Each group on its own; those after the first have uniforms that grow from the given one."""
    chosen = []
    for g, (arms, _, _) in enumerate(sets):
        found = madow([p[i] for i in arms], uniform if g == 0 else draws.expand(uniform, g))
        chosen += [arms[k] for k in found]
    return chosen


def step(losses, rates, derivative, sets):
    """argmin <p, L> + Σ β_i φ(p_i) over the convex hull of the sets."""
    p = np.empty(len(losses))
    for arms, fewest, most in sets:
        p[arms] = step_of_group(np.asarray(losses)[arms], np.asarray(rates)[arms], derivative, fewest, most)
    return p


def step_of_group(losses, rates, derivative, fewest, most):
    """L_i + β_i φ'(p_i) = λ, searched for in λ and log p/(1−p); λ = 0 if Σp is within its limits then."""

    def share(multiplier):
        def place(loss, rate):
            def defect(logit):
                return derivative(expit(logit), expit(-logit)) - (multiplier - loss) / rate

            return brentq(defect, -600, 600, xtol=1e-13, rtol=1e-15)

        return expit([place(loss, rate) for loss, rate in zip(losses, rates, strict=True)])

    if fewest < most:
        free = share(0.0)
        if fewest <= sum(free) <= most:
            return free
        most = most if sum(free) > most else fewest
    n, m = len(losses), most
    ends = np.asarray(losses) + np.asarray(rates) * derivative(m / n, 1 - m / n)
    low, high = min(ends) - 1, max(ends) + 1
    return share(brentq(lambda multiplier: sum(share(multiplier)) - m, low, high, xtol=1e-13, rtol=1e-15))


class Hybrid:
    """Zimmert, Luo and Wei 2019, Algorithm 1: o in [−1, 1], Ψ = Σ −√x + γ(1−x)log(1−x), η = 1/√t."""

    def __init__(self, n_arms, sets, outside=0.5):
        self.sets, self.outside, self.t, self.sums = sets, outside, 1, np.zeros(n_arms)
        self.gamma = 1.0
        ((_, fewest, m), *others) = sets
        if not others and fewest == m > n_arms / 2:
            self.gamma = min(1.0, 1 / math.sqrt(math.log(n_arms / (n_arms - m))))
        self.solve()

    def solve(self):
        def derivative(x, rest):
            return -0.5 / math.sqrt(x) - self.gamma * (math.log(rest) + 1)

        self.p = step(self.sums, np.full(len(self.sums), math.sqrt(self.t)), derivative, self.sets)

    def update(self, arms, losses, weights):
        self.sums -= 2 * self.outside
        for arm, loss, weight in zip(arms, losses, weights, strict=True):
            self.sums[arm] += ((2 * loss - 1) + 1) / weight
        self.t += 1
        self.solve()


class LBINFV:
    """Tsuchiya, Ito and Honda 2023, Algorithm 1; least squares, or gradient descent with η."""

    def __init__(self, n_arms, sets, horizon, epsilon=0.2, eta=None, outside=0.0):
        self.sets, self.outside = sets, outside
        self.n, self.gamma, self.epsilon, self.eta = n_arms, math.log(horizon), epsilon, eta
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
        self.p = step(self.sums + self.predictions - self.outside, beta, derivative, self.sets)

    def update(self, arms, losses, weights):
        predictions = self.predictions
        self.sums += predictions - self.outside
        for arm, loss, weight in zip(arms, losses, weights, strict=True):
            error, x = loss - predictions[arm], self.p[arm]
            self.sums[arm] += error / weight
            self.alphas[arm] += error**2 * min(1.0, 2 * (1 - x) / (x**2 * self.gamma))
            self.seen[arm].append(loss)
        self.solve()


def best(values, sets, outside):
    """The set with the smallest sum of value − outside, by trying all."""
    chosen = []
    for arms, fewest, most in sets:
        tried = [s for size in range(fewest, most + 1) for s in combinations(arms, size)]
        chosen += min(tried, key=lambda s: sum(values[i] - outside for i in s))
    return chosen


def comb_ucb1(losses, sets, outside=0.5, alpha=1.5):
    """Kveton et al. 2015, Algorithm 1, for losses: the sets played; items that were never seen come first."""
    rounds, n = losses.shape
    seen, played = [[] for _ in range(n)], []
    for t in range(rounds):
        index = [
            -1e6 + i if not x else sum(x) / len(x) - math.sqrt(alpha * math.log(t) / len(x))
            for i, x in enumerate(seen)
        ]
        chosen = sorted(best(index, sets, outside))
        played.append(chosen)
        for i in chosen:
            seen[i].append(losses[t, i])
    return played


def mp_ts(losses, uniforms, sets, outside=0.5):
    """Komiyama, Honda and Nakagawa 2015 for losses 0 and 1: the sets played, the posteriors at the end."""
    rounds, n = losses.shape
    ones, zeros, played = [1] * n, [1] * n, []
    for t in range(rounds):
        values = [draws.beta(ones[i], zeros[i], uniforms[t], i) for i in range(n)]
        chosen = sorted(best(values, sets, outside))
        played.append(chosen)
        for i in chosen:
            ones[i] += int(losses[t, i])
            zeros[i] += 1 - int(losses[t, i])
    return played, ones, zeros
