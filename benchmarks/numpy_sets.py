"""HYBRID and LBINFV for sets as one would write them in NumPy: Newton in λ, and in each item's logit."""

from __future__ import annotations

import numpy as np


class NumpySets:
    """FTRL over sets of m of d items; a subclass has its derivative, its rates and its estimates."""

    def __init__(self, d: int, m: int, seed: int) -> None:
        self.d, self.m, self.t = d, m, 0
        self.sums = np.zeros(d)
        self.logits = np.full(d, np.log(m / (d - m)))
        self.multiplier = 0.0
        self.rng = np.random.default_rng(seed)

    def invert(self, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x with φ'(x) = s for every item, and dx/ds, by Newton in the logit from the last round."""
        for _ in range(100):
            x = 1.0 / (1.0 + np.exp(-self.logits))
            rest = 1.0 / (1.0 + np.exp(self.logits))
            first, second = self.derivatives(x, rest)
            step = np.clip((slopes - first) / (second * x * rest), -1.0, 1.0)
            self.logits += step
            if np.abs(step).max() <= 1e-12:
                break
        return x, 1.0 / second

    def pull(self) -> np.ndarray:
        """Solve for x, and draw a set by systematic sampling."""
        self.t += 1
        rates = self.rates()
        losses = self.leader()
        low, high = -np.inf, np.inf
        for _ in range(100):
            x, change = self.invert((self.multiplier - losses) / rates)
            excess = x.sum() - self.m
            if abs(excess) <= 1e-12 * self.m:
                break
            low, high = (low, self.multiplier) if excess > 0.0 else (self.multiplier, high)
            new = self.multiplier - excess / (change / rates).sum()
            self.multiplier = new if low < new < high else 0.5 * (low + high)
        self.x = x
        ends = np.cumsum(x)
        points = (self.rng.random() + np.arange(self.m)) * (ends[-1] / self.m)
        return np.searchsorted(ends, points, side="right")


class NumpyHybrid(NumpySets):
    """Zimmert, Luo and Wei 2019, for losses in [0, 1] and m ≤ d/2."""

    def derivatives(self, x: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ' and φ'' of −√x + (1−x)·log(1−x)."""
        return -0.5 / np.sqrt(x) - np.log(rest) - 1.0, 0.25 * x**-1.5 + 1.0 / rest

    def rates(self) -> np.ndarray:
        """√t/2 for all."""
        return np.full(self.d, 0.5 * np.sqrt(self.t))

    def leader(self) -> np.ndarray:
        """Cumulative estimates."""
        return self.sums

    def update(self, arms: np.ndarray, losses: np.ndarray) -> None:
        """Importance weighting."""
        self.sums[arms] += losses / self.x[arms]


class NumpyLBINFV(NumpySets):
    """Tsuchiya, Ito and Honda 2023, with least squares."""

    def __init__(self, d: int, m: int, seed: int, horizon: int) -> None:
        super().__init__(d, m, seed)
        self.gamma = np.log(horizon)
        self.alphas, self.counts, self.seen = np.zeros(d), np.zeros(d), np.zeros(d)

    def derivatives(self, x: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ' and φ'' of x − 1 − log x + γ·(x + (1−x)·log(1−x))."""
        return 1.0 - 1.0 / x - self.gamma * np.log(rest), x**-2 + self.gamma / rest

    def predictions(self) -> np.ndarray:
        """m of all items."""
        return (0.5 + self.seen) / (1.0 + self.counts)

    def rates(self) -> np.ndarray:
        """β of all items."""
        return np.sqrt(1.44 + self.alphas / self.gamma)

    def leader(self) -> np.ndarray:
        """Cumulative estimates and predictions."""
        return self.sums + self.predictions()

    def update(self, arms: np.ndarray, losses: np.ndarray) -> None:
        """Estimates around the predictions."""
        predictions, x = self.predictions(), self.x[arms]
        errors = losses - predictions[arms]
        self.sums += predictions
        self.sums[arms] += errors / x
        self.alphas[arms] += errors**2 * np.minimum(1.0, 2.0 * (1.0 - x) / (x**2 * self.gamma))
        self.counts[arms] += 1.0
        self.seen[arms] += losses
