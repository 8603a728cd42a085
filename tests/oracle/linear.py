"""Linear bandits with listed arms, as published, with matrices: losses in [−1, 1], and a constant feature."""

from __future__ import annotations

import math

import numpy as np

from oracle.graphs import SPM


def information(features, p):
    """S(p) = Σ_i p_i φ_i φ_iᵀ."""
    return sum(p[i] * np.outer(x, x) for i, x in enumerate(features))


def variances(features, p):
    """φ_iᵀ S(p)^{-1} φ_i of every arm."""
    inverse = np.linalg.inv(information(features, p))
    return np.array([x @ inverse @ x for x in features])


class LinearSPM:
    """Ito, Tsuchiya and Honda 2024, Algorithm 1 with rule (10), equations (33) to (36).

    The features are used as they are given, with a constant before them; the design comes from outside.
    """

    def __init__(self, features, design, c, light):
        self.phi = np.column_stack([np.ones(len(features)), features])
        self.K, self.d = self.phi.shape
        self.p0 = design
        self.alpha = a = 1 - 1 / (4 * math.log(self.K))
        if light:
            beta, fixed, self.factor, self.mixing = 1.0, 0.0, 0.5, 1 - a
        else:
            beta, self.factor, self.mixing = 8 * c * self.d / (1 - a), 1.0, 4 * c
            fixed = 32 * self.d / ((1 - a) ** 2 * beta)
        self.spm = SPM(np.eye(self.K), a, beta, fixed, 1.0)

    def z(self):
        q = self.spm.p
        return self.d * min(max(q), 1 - max(q)) ** (1 - self.alpha) / (1 - self.alpha)

    @property
    def p(self):
        """(1 − γ)q + γ p_0, γ = 4cz/β."""
        gamma = min(0.5, self.mixing * self.z() / self.spm.beta)
        return (1 - gamma) * self.spm.p + gamma * self.p0

    @property
    def q(self):
        """An arm is shown with the probability with which it is played."""
        return self.p

    def estimates(self, arm, loss):
        """ô_i = o φ_IᵀS(p)^{-1}φ_i."""
        inverse = np.linalg.inv(information(self.phi, self.p))
        return (2 * loss - 1) * (self.phi @ inverse @ self.phi[arm])

    def update(self, arm, loss, weight):
        a, q = self.alpha, self.spm.p
        estimates = self.estimates(arm, loss) * (self.p[arm] / weight)
        h = sum(x**a - x for x in q) / a
        self.spm.beta += self.factor * self.z() / (self.spm.beta * h)
        self.spm.L += estimates
        self.spm.p = self.spm.solve()


class EXP2(LinearSPM):
    """Bubeck, Cesa-Bianchi and Kakade 2012, with a rate for all times: η = min{k√(log K/(dt)), 1/(2cd)}."""

    def __init__(self, features, design, c, k):
        super().__init__(features, design, c, light=True)
        self.c, self.k, self.t = c, k, 1

    def rate(self):
        return min(self.k * math.sqrt(math.log(self.K) / (self.d * self.t)), 1 / (2 * self.c * self.d))

    @property
    def p(self):
        gamma = self.c * self.d * self.rate()
        return (1 - gamma) * self.spm.p + gamma * self.p0

    def update(self, arm, loss, weight):
        self.spm.L += self.estimates(arm, loss) * (self.p[arm] / weight)
        self.t += 1
        weights = np.exp(-self.rate() * (self.spm.L - min(self.spm.L)))
        self.spm.p = weights / weights.sum()
