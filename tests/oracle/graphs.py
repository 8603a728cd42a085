"""Feedback graphs, as published, with a matrix: shows[j][i] is 1 if playing j shows the loss of i."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from oracle import draws


class Exponential:
    """Estimates with the probability of being seen, for whatever turns sums of them into a distribution."""

    def __init__(self, shows):
        self.shows = np.asarray(shows, dtype=float)
        self.K = len(self.shows)
        self.L = np.zeros(self.K)
        self.p = np.full(self.K, 1 / self.K)

    @property
    def seen(self):
        """P_i = Σ_j p_j·1[j shows i]."""
        return self.p @ self.shows

    def estimates(self, arm, losses):
        """ℓ̂_i = (ℓ_i − 1[i ∈ I])·1[i seen]/P_i + 1[i ∈ I], I = {i: i does not show itself, p_i > ½}."""
        out = np.zeros(self.K)
        for i in range(self.K):
            favorite = 1.0 if self.shows[i, i] == 0 and self.p[i] > 0.5 else 0.0
            if self.shows[arm, i] == 1:
                out[i] += (losses[i] - favorite) / self.seen[i]
            out[i] += favorite
        return out


class SPM(Exponential):
    """Ito, Tsuchiya and Honda 2024, Algorithm 1 with rule (10); z and h of (21) to (31) and (139)."""

    def __init__(self, shows, alpha, beta, fixed, scale):
        super().__init__(shows)
        self.alpha, self.beta, self.fixed, self.scale = alpha, beta, fixed, scale

    def update(self, arm, losses):
        a, q = self.alpha, self.p
        h = sum(x**a - x for x in q) / a
        star = min(max(q), 1 - max(q))
        z = sum(min(x, star) ** (2 - a) / seen for x, seen in zip(q, self.seen, strict=True)) / (1 - a)
        self.L += self.estimates(arm, losses)
        self.beta += self.scale * z / (self.beta * h)
        self.p = self.solve()

    def solve(self):
        """argmin <q, L> + β·ψ_α(q) + β̄·ψ_{1−α}(q), by L_i − λ = β·q^{α−1} + β̄·q^{−α} for all i."""
        a, b, c = self.alpha, self.beta, self.fixed

        def share(multiplier, loss):
            def defect(log_q):
                return b * math.exp((a - 1) * log_q) + c * math.exp(-a * log_q) - (loss - multiplier)

            return math.exp(brentq(defect, -60, 1e-9, xtol=1e-15, rtol=1e-15))

        high = min(self.L) - b - c
        low = min(self.L) - (b + c) * self.K

        def excess(multiplier):
            return sum(share(multiplier, loss) for loss in self.L) - 1

        root = brentq(excess, low - 1e-6, high, xtol=1e-14, rtol=1e-15)
        return np.array([share(root, loss) for loss in self.L])


class Hedge(Exponential):
    """p_i ∝ exp(−η L_i), η = c·√(log K/V), V the sum of Σ_i p_i/P_i before, and that of the first round."""

    def __init__(self, shows, c):
        super().__init__(shows)
        self.c, self.V = c, self.variance()

    def variance(self):
        shares = [min(x, 1 - x) if self.shows[i, i] == 0 else x for i, x in enumerate(self.p)]
        return sum(np.array(shares) / self.seen)

    def update(self, arm, losses):
        self.L += self.estimates(arm, losses)
        self.V += self.variance()
        weights = np.exp(-self.c * math.sqrt(math.log(self.K) / self.V) * (self.L - min(self.L)))
        self.p = weights / weights.sum()


class AdaHedge(Exponential):
    """De Rooij et al. 2014, Figure 1 (their MATLAB code): mix loss, Hedge loss, Delta."""

    def __init__(self, shows):
        super().__init__(shows)
        self.Delta = 0.0

    def mix(self, eta, losses):
        smallest = min(losses)
        if eta == math.inf:
            weights = (losses == smallest).astype(float)
        else:
            weights = np.exp(-eta * (losses - smallest))
        s = sum(weights)
        M = smallest - math.log(s / len(losses)) / eta
        return weights / s, M

    def update(self, arm, losses):
        eta = math.inf if self.Delta == 0 else math.log(self.K) / self.Delta
        w, before = self.mix(eta, self.L)
        estimates = self.estimates(arm, losses)
        h = w @ estimates
        self.L = self.L + estimates
        _, after = self.mix(eta, self.L)
        self.Delta += max(0, h - (after - before))
        eta = math.inf if self.Delta == 0 else math.log(self.K) / self.Delta
        self.p, _ = self.mix(eta, self.L)


def ucb_n(losses, shows, alpha=2.0):
    """Caron et al. 2012: the arms played, by observed means and counts."""
    rounds, n = np.shape(losses)
    seen = [[] for _ in range(n)]
    arms = []
    for t in range(1, rounds + 1):
        unseen = [i for i in range(n) if not seen[i]]
        arm = (
            unseen[0]
            if unseen
            else min(range(n), key=lambda i: np.mean(seen[i]) - math.sqrt(alpha * math.log(t) / len(seen[i])))
        )
        arms.append(arm)
        for i in range(n):
            if shows[arm][i]:
                seen[i].append(losses[t - 1][i])
    return arms


def ts_n(losses, shows, uniforms):
    """Tossou et al. 2017: the arms played by Thompson sampling that learns all it is shown, 0 or 1."""
    n = len(losses[0])
    ones, zeros = [1] * n, [1] * n
    arms = []
    for row, uniform in zip(losses, uniforms, strict=True):
        values = [draws.beta(ones[i], zeros[i], uniform, i) for i in range(n)]
        arm = values.index(min(values))
        arms.append(arm)
        for i in range(n):
            if shows[arm][i]:
                ones[i] += int(row[i])
                zeros[i] += 1 - int(row[i])
    return arms
