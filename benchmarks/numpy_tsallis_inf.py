"""Tsallis-INF as one would write it in NumPy: Newton for the multiplier, warm-started from the last round."""

from __future__ import annotations

import numpy as np


class NumpyTsallisINF:
    """The peer that one-call-at-a-time use is measured against."""

    def __init__(self, n_arms: int, seed: int) -> None:
        self.losses = np.zeros(n_arms)
        self.multiplier = -np.sqrt(n_arms)
        self.round = 0
        self.rng = np.random.default_rng(seed)

    def pull(self) -> int:
        """Solve for p and draw from it."""
        self.round += 1
        rate = np.sqrt(self.round)
        # from any start below min L − γ Newton on the convex Σp(x) reaches the root after one overshoot
        x = min(self.multiplier, self.losses.min() - rate)
        for _ in range(50):
            ratio = rate / (self.losses - x)
            p = ratio * ratio
            step = (p.sum() - 1.0) / (2.0 * (p * ratio).sum() / rate)
            x = min(x - step, self.losses.min() - rate)
            if abs(step) <= 1e-13 * abs(x):
                break
        self.multiplier = x
        self.p = p
        return int(np.searchsorted(np.cumsum(p), self.rng.random() * p.sum()))

    def update(self, arm: int, loss: float) -> None:
        """Importance-weight the loss."""
        self.losses[arm] += loss / self.p[arm]


class NumpyBisection(NumpyTsallisINF):
    """The same, with the multiplier bisected to the last bit each round: straightforward, and slow."""

    def pull(self) -> int:
        """Solve for p and draw from it."""
        self.round += 1
        rate = np.sqrt(self.round)
        smallest = self.losses.min()
        low, high = smallest - rate * np.sqrt(self.losses.size), smallest - rate
        while True:
            x = 0.5 * (low + high)
            self.p = (rate / (self.losses - x)) ** 2
            if not low < x < high:
                break
            if self.p.sum() > 1.0:
                high = x
            else:
                low = x
        return int(np.searchsorted(np.cumsum(self.p), self.rng.random() * self.p.sum()))
