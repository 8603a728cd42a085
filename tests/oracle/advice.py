"""Bandits with expert advice, as published, with the whole matrix of advice in every round."""

from __future__ import annotations

import math

import numpy as np

from oracle import draws
from oracle.graphs import SPM


class EXP4:
    """Exponential weights over experts, with η = √(log N/(M t)) in round t; no exploration is added."""

    def __init__(self, n_experts, n_arms):
        self.N, self.M, self.t = n_experts, n_arms, 1
        self.L = np.zeros(n_experts)
        self.q = np.full(n_experts, 1 / n_experts)

    def draw(self, advice, uniform):
        """J ~ P = Σ_i q_i φ_i; the arm and P_J."""
        P = [sum(self.q[i] * advice[i][j] for i in range(self.N)) for j in range(self.M)]
        arm = draws.quantile(P, uniform)
        return arm, P[arm]

    def update(self, advice, arm, probability, loss):
        """ℓ̂_i = ℓ φ_{i,J}/P_J."""
        self.learn(np.array([loss * advice[i][arm] / probability for i in range(self.N)]))

    def learn(self, estimates):
        self.L += estimates
        self.t += 1
        eta = math.sqrt(math.log(self.N) / (self.M * self.t))
        weights = np.exp(-eta * (self.L - min(self.L)))
        self.q = weights / weights.sum()


class Matched(EXP4):
    """Ito, Tsuchiya and Honda 2024, Algorithm 1 with rule (10) and z of (150); the step is that of graphs."""

    def __init__(self, n_experts, n_arms, light):
        super().__init__(n_experts, n_arms)
        self.alpha = a = 1 - 1 / (4 * math.log(n_experts))
        beta = 1.0 if light else 8 * n_experts / (1 - a)
        fixed = 0.0 if light else 32 * n_arms / ((1 - a) ** 2 * beta)
        self.factor = 0.5 if light else 1.0
        self.spm = SPM(np.eye(n_experts), a, beta, fixed, 1.0)

    def learn(self, estimates):
        a = self.alpha
        star = min(max(self.q), 1 - max(self.q))
        z = self.factor * self.M * star ** (1 - a) / (1 - a)
        h = sum(x**a - x for x in self.q) / a
        self.spm.L += estimates
        self.spm.beta += z / (self.spm.beta * h)
        self.q = self.spm.solve()
