"""Log-barrier policies and the gap-tuned Tsallis-INF, from their published formulas, in plain NumPy.

Each step is solved by bisection on the multiplier, from the definition of the regularizer's derivative.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from oracle.exponential import Oracle


def bisect(share, low, high):
    """The x in [low, high] at which the decreasing Σ share(x) is 1, to the last bit."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        if share(middle).sum() > 1:
            low = middle
        else:
            high = middle
    return share(high)


def barrier_step(losses, rates):
    """argmin <p, L> − Σ γ_i log p_i: p_i = γ_i/(L_i − min L + x)."""
    gaps = losses - losses.min()
    return bisect(lambda x: rates / (gaps + x), 0.0 + (rates - gaps).max(), len(gaps) * rates.max())


def complement_step(losses, rates, gamma):
    """argmin <p, L> + Σ β_i φ(p_i) with φ'(x) = 1 − 1/x − γ·log(1−x); p by its logit, which keeps 1 − p."""
    gaps = losses - losses.min()

    def arm(target):
        return brentq(lambda s: 1 - 1 / expit(s) - gamma * log_expit(-s) - target, -40, 40, xtol=1e-15)

    def share(x):
        return expit(np.array([arm(-(gap + x) / rate) for gap, rate in zip(gaps, rates, strict=True)]))

    ends = -rates * (1 - len(gaps) - gamma * math.log(1 - 1 / len(gaps))) - gaps  # all p_i ≥ 1/K, all ≤ 1/K
    low, high = ends.min() - 1e-6, ends.max() + 1e-6
    return share(brentq(lambda x: share(x).sum() - 1, low, high, xtol=1e-15))


class BroadOMD(Oracle):
    """Wei and Luo 2018, Algorithm 3: optimistic mirror descent, Option II, step by step as printed."""

    def __init__(self, n_arms, horizon, eta=1 / 162):
        super().__init__(n_arms)
        self.horizon, self.eta = horizon, eta
        self.restarts = 0
        self.start()

    def start(self):
        self.variance = 0.0
        self.w_prime = np.full(self.n_arms, 1 / self.n_arms)

    @property
    def p(self):
        return self.w_prime  # m_t is a constant vector

    def update(self, arm, loss, weight):
        w = self.p
        e = np.eye(self.n_arms)[arm]
        self.variance += ((loss * e - w * loss) ** 2).sum()
        # w' = argmin <w, ℓ̂> + D(w, w'): 1/(ηw'_new) = 1/(ηw') + ℓ̂ − λ
        gradient = 1 / (self.eta * w) + loss * e / weight
        self.w_prime = barrier_step(gradient, np.full(self.n_arms, 1 / self.eta))
        if self.variance >= self.n_arms * math.log(self.horizon) / (3 * self.eta**2):
            self.eta /= 2
            self.restarts += 1
            self.start()


class BroadAnytime(Oracle):
    """The code's baseline: losses 2ℓ − 1 in [−1, 1], L += (loss + 1)/x, η_t = 4√(log(1+t)/t)."""

    @property
    def p(self):
        eta = 4 * math.sqrt(math.log(1 + self.t) / self.t)
        return barrier_step(self.losses, np.full(self.n_arms, 1 / eta))

    def update(self, arm, loss, weight):
        self.losses[arm] += ((2 * loss - 1) + 1) / weight
        self.t += 1


class Ito21(Oracle):
    """Ito 2021, Algorithm 1, with the doubling of Section 5.3 where the horizon is None."""

    def __init__(self, n_arms, horizon, eta=0.25):
        super().__init__(n_arms)
        self.eta, self.unknown = eta, horizon is None
        self.horizon = 4 if horizon is None else horizon
        self.m = np.full(n_arms, 0.5)
        self.gamma = np.full(n_arms, 2.0)

    @property
    def p(self):
        return barrier_step(self.losses + self.m, self.gamma)

    def update(self, arm, loss, weight):
        p, error = self.p, loss - self.m[arm]
        estimate = self.m.copy()
        estimate[arm] += error / weight
        self.losses += estimate
        for i in range(self.n_arms):
            nu = error**2 * ((1 - p[i]) ** 2 if i == arm else p[i] ** 2)
            self.gamma[i] += nu / (math.log(self.horizon) * 2 * self.gamma[i])
        self.m[arm] = (1 - self.eta) * self.m[arm] + self.eta * loss
        self.t += 1
        if self.unknown and self.t > self.horizon:
            self.horizon, self.t = self.horizon**2, 1
            self.losses = np.zeros(self.n_arms)
            self.gamma = np.full(self.n_arms, 2.0)


class LBINFV(Oracle):
    """Ito, Tsuchiya and Honda 2022 with least-squares predictions."""

    def __init__(self, n_arms, horizon, epsilon=0.2):
        super().__init__(n_arms)
        self.gamma, self.epsilon = math.log(horizon), epsilon
        self.alphas = np.zeros(n_arms)
        self.seen = [[] for _ in range(n_arms)]
        self.solve()

    @property
    def m(self):
        return np.array([(0.5 + sum(losses)) / (1 + len(losses)) for losses in self.seen])

    def solve(self):
        beta = np.sqrt((1 + self.epsilon) ** 2 + self.alphas / self.gamma)
        self.p = complement_step(self.losses + self.m, beta, self.gamma)

    def update(self, arm, loss, weight):
        p, m = self.p[arm], self.m
        error = loss - m[arm]
        self.losses += m
        self.losses[arm] += error / weight
        self.alphas[arm] += error**2 * min(1.0, 2 * (1 - p) / (p**2 * self.gamma))
        self.seen[arm].append(loss)
        self.solve()


class TsallisINFOracle(Oracle):
    """Zimmert and Seldin 2021: potential −Σ(w^α − αw)/(α(1−α)ξ_i), η_t from Theorem 4."""

    def __init__(self, gaps, alpha):
        super().__init__(len(gaps))
        self.alpha = alpha
        smallest = min(gap for gap in gaps if gap > 0)
        self.xi = np.array([gap if gap > 0 else smallest for gap in gaps]) ** (1 - 2 * alpha)

    @property
    def eta(self):
        a, t = self.alpha, self.t
        return 16**a / 4 * (1 - max(math.e, t) ** (a - 1)) / ((1 - a) * t**a)

    @property
    def p(self):
        # L_i − (w^{α−1} − 1)/((1−α)ηξ_i) = λ
        a, gaps = self.alpha, self.losses - self.losses.min()

        def share(x):
            return (1 + (1 - a) * self.eta * self.xi * (gaps + x)) ** (1 / (a - 1))

        high = ((self.n_arms ** (1 - a) - 1) / ((1 - a) * self.eta * self.xi)).max()
        return bisect(share, 0.0, high)

    def update(self, arm, loss, weight):
        self.losses[arm] += loss / weight
        self.t += 1
