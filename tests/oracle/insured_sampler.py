"""The insured sampler, transcribed from its specification step by step, in plain Python with lists.

x is solved by bisection, divergences and weights from their definitions; nothing is carried from round to
round but the statistics the specification names.
"""

from __future__ import annotations

import math

LEAKS = (1 / 16, 1 / 128, 1 / 1024, 1 / 16384)


def barrier(losses, c):
    """x_i = c_i/(L_i − ξ) with Σx = 1."""
    least = min(losses)
    gaps = [loss - least for loss in losses]
    low, high = 0.0, sum(c)  # of min L − ξ: at Σc every x_i is at most c_i/Σc
    for _ in range(80):
        middle = 0.5 * (low + high)
        if sum(ci / (gap + middle) for ci, gap in zip(c, gaps, strict=True)) > 1:
            low = middle
        else:
            high = middle
    return [ci / (gap + high) for ci, gap in zip(c, gaps, strict=True)]


def kl(a, b):
    """Bernoulli's divergence, where 0 < a, b < 1."""
    return a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))


def weight(z):
    return math.exp(-z) * 2 / (math.sqrt(math.pi * z) + math.sqrt(math.pi * z + 4))


class InsuredSampler:
    """``p`` is in force; ``x`` is to be kept with a draw; ``learn`` gets both back with the loss."""

    def __init__(self, n_arms, horizon=None, *, fixed=False):
        self.n_arms, self.horizon, self.fixed = n_arms, horizon, fixed
        self.n, self.s = [0] * n_arms, [0.0] * n_arms
        self.A, self.B, self.rho = [0.0] * n_arms, [0.0] * n_arms, [1.0] * n_arms
        self.k, self.v = ([[0.0] * 4 for _ in range(n_arms)] for _ in range(2))
        self.D = self.V = 0.0
        self.seen, self.seen_sum = 0, 0.0
        self.on = True
        self.reason = None
        self.C, self.theta = (8.0, 3.0) if fixed else (2.0, 1.5)
        self.start()

    def start(self, losses=None):
        self.t = 1
        self.L, self.S = losses or [0.0] * self.n_arms, [1.0] * self.n_arms
        self.gamma = [self.theta / math.sqrt(self.log(1))] * self.n_arms
        self.act()

    def log(self, t):
        return max(1.0, math.log(t + self.n_arms if self.horizon is None else self.horizon))

    @property
    def mean(self):
        return (0.5 + self.seen_sum) / (1 + self.seen)

    @property
    def q(self):  # of the arm observed: the one played
        return self.p

    def act(self):
        arms = range(self.n_arms)
        c = [self.C + gamma for gamma in self.gamma]
        self.x = barrier(self.L, c)
        if not self.on:
            self.p = self.x
            self.caps = [0.5 * ci for ci in c]
            return
        m = [(self.s[i] + 0.5) / (self.n[i] + 1) for i in arms]
        best = min(arms, key=lambda i: (m[i], -self.n[i]))
        z = [max(0.0, 1.5 * self.n[i] * kl(m[i], m[best]) / self.rho[i]) for i in arms]
        w = [1.0 if i == best else weight(z[i]) for i in arms]
        q = [wi / sum(w) for wi in w]
        epsilon = 0.03 if self.fixed else 0.2 / (1 + max(0.0, -self.D) / 25)
        raw = [max(q[i], epsilon * self.x[i]) for i in arms]
        self.p = [value / sum(raw) for value in raw]
        self.caps = [0.015 * c[i] if self.fixed else 0.5 * c[i] * self.p[i] / self.x[i] for i in arms]

    def update(self, arm, loss, weight):
        """At once: the draw was from the distribution in force."""
        self.learn(arm, loss, weight, self.x[arm], self.on)

    def learn(self, a, loss, p_a, x_a, on):
        """``on``: was the draw before the rejection?"""
        if on and not self.on:
            self.see(loss)
            return
        if self.on and self.rejects(a, loss, p_a, x_a):
            self.on = False
            self.C, self.theta = 0.5, 0.75
            self.see(loss)
            m = [(self.s[i] + 0.5) / (self.n[i] + 1) for i in range(self.n_arms)]
            self.start([sum(self.n) * (mi - min(m)) for mi in m] if self.reason == "change" else None)
            return
        b = [min(self.mean, cap) for cap in self.caps]
        d = loss - b[a]
        clip = 1 / (self.t if self.horizon is None else self.horizon)
        for i in range(self.n_arms):
            before = self.S[i]
            self.S[i] += 4 * d**2 * max(self.x[i], clip)
            self.L[i] += b[i]
            if self.on and self.horizon is None:
                self.gamma[i] += (
                    self.theta * (math.sqrt(self.S[i]) - math.sqrt(before)) / math.sqrt(self.log(self.t))
                )
            else:  # LightBarrier's own rates, or a known horizon
                self.gamma[i] = self.theta * math.sqrt(self.S[i]) / math.sqrt(self.log(self.t + 1))
        self.L[a] += d / p_a
        self.see(loss)
        if self.on:
            self.n[a] += 1
            self.s[a] += loss
        self.t += 1
        self.act()

    def see(self, loss):
        self.seen += 1
        self.seen_sum += loss

    def rejects(self, a, loss, p_a, x_a):
        n = self.n[a]
        changed = False
        if n >= 1:
            r = (loss - self.s[a] / n) * math.sqrt(n / (n + 1))
            m = (self.s[a] + 0.5) / (n + 1)
            v = m * (1 - m)
            self.A[a] += r**2
            self.B[a] += v
            self.rho[a] = min(1.0, (self.A[a] + 4) / (self.B[a] + 4))
            u = 4 + math.log(n)
            for j, eta in enumerate(LEAKS):
                self.k[a][j] = (1 - eta) * self.k[a][j] + r
                self.v[a][j] = (1 - eta) ** 2 * self.v[a][j] + v
                changed |= abs(self.k[a][j]) > math.sqrt(2 * u * self.v[a][j]) + u / 3
        e = (1 - x_a / p_a) * (loss - self.mean)
        self.D += e
        self.V += e**2
        indebted = 3 * math.sqrt(self.V) + 3 < self.D
        if changed or indebted:
            self.reason = "insurance" if indebted else "change"
        return changed or indebted
