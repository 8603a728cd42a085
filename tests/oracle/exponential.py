"""Policies of the exponential-weights family, from their published formulas, in plain NumPy.

Each oracle has ``p`` (distribution of the arm played), ``q`` (of the arm observed) and ``update``, which
gets the arm observed, its loss, and the probability with which it was observed.
"""

from __future__ import annotations

import math

import numpy as np


def softmax(scores):
    weights = np.exp(scores - np.max(scores))
    return weights / weights.sum()


class Oracle:
    def __init__(self, n_arms):
        self.n_arms = n_arms
        self.t = 1
        self.losses = np.zeros(n_arms)

    @property
    def q(self):
        return self.p


class EXP3(Oracle):
    """Bubeck and Cesa-Bianchi, Theorem 3.1: η_t = √(log K/(tK))."""

    @property
    def eta(self):
        return math.sqrt(math.log(self.n_arms) / (self.t * self.n_arms))

    @property
    def p(self):
        return softmax(-self.eta * self.losses)

    def update(self, arm, loss, weight):
        self.losses[arm] += loss / weight
        self.t += 1


class EXP3IX(EXP3):
    """Neu 2015: η_t = 2γ_t."""

    def update(self, arm, loss, weight):
        super().update(arm, loss, weight + self.eta / 2)


class Avner(EXP3):
    """Observe from q ∝ √p."""

    @property
    def q(self):
        roots = np.sqrt(self.p)
        return roots / roots.sum()


class EXP3PlusPlus(Oracle):
    """Seldin and Lugosi 2017."""

    def __init__(self, n_arms, alpha=3.0, beta=256.0):
        super().__init__(n_arms)
        self.alpha, self.beta = alpha, beta
        self.seen = [[] for _ in range(n_arms)]

    @property
    def epsilon(self):
        t, k = self.t, self.n_arms
        ucb, lcb = [], []
        for losses in self.seen:
            radius = math.sqrt(self.alpha * math.log(t * k ** (1 / self.alpha)) / (2 * len(losses)))
            ucb.append(min(1.0, np.mean(losses) + radius))
            lcb.append(max(0.0, np.mean(losses) - radius))
        epsilon = []
        for a in range(k):
            gap = max(0.0, lcb[a] - min(ucb))
            xi = math.inf if gap == 0 else self.beta * math.log(t) / (t * gap**2)
            epsilon.append(min(1 / (2 * k), 0.5 * math.sqrt(math.log(k) / (t * k)), xi))
        return np.array(epsilon)

    @property
    def p(self):
        if self.t <= self.n_arms:
            return np.eye(self.n_arms)[self.t - 1]
        eta = 0.5 * math.sqrt(math.log(self.n_arms) / (self.t * self.n_arms))
        epsilon = self.epsilon
        return (1 - epsilon.sum()) * softmax(-eta * self.losses) + epsilon

    def update(self, arm, loss, weight):
        self.losses[arm] += loss / weight
        self.seen[arm].append(loss)
        self.t += 1


class ITH22(Oracle):
    """β_{t+1} = β_t + c/√(1 + ΣH/log K); without a horizon c follows log(t + K)."""

    def __init__(self, n_arms, horizon):
        super().__init__(n_arms)
        self.horizon = horizon
        self.entropies = []
        self.beta = self.c

    @property
    def c(self):
        logarithm = math.log(self.t + self.n_arms if self.horizon is None else self.horizon)
        return max(1.0, 0.5 * math.sqrt(self.n_arms * max(1.0, logarithm) / math.log(self.n_arms)))

    @property
    def p(self):
        return softmax(-self.losses / self.beta)

    def update(self, arm, loss, weight):
        p = self.p
        self.losses[arm] += loss / weight
        self.entropies.append(-(p * np.log(p)).sum())
        self.beta += self.c / math.sqrt(1 + sum(self.entropies) / math.log(self.n_arms))
        self.t += 1
