"""LinearSPM in NumPy, as one would write it: BLAS for S(p), a linear solver, Newton over all arms at once."""

from __future__ import annotations

import math

import numpy as np


class NumpyLinearSPM:
    """The light constants; ``features`` have a constant, ``design`` is their G-optimal design."""

    def __init__(self, features: np.ndarray, design: np.ndarray) -> None:
        self.phi, self.p0 = features, design
        self.n, self.d = features.shape
        self.alpha = 1.0 - 0.25 / math.log(self.n)
        self.beta, self.sums = 1.0, np.zeros(self.n)
        self.q = np.full(self.n, 1.0 / self.n)
        self.explore()

    def explore(self) -> None:
        """From q to p."""
        top = self.q.max()
        self.z = self.d * min(top, 1.0 - top) ** (1.0 - self.alpha) / (1.0 - self.alpha)
        gamma = max(1e-8, min(0.5, (1.0 - self.alpha) * self.z / self.beta))
        self.p = (1.0 - gamma) * self.q + gamma * self.p0

    def act(self, uniform: float) -> int:
        """The arm at a quantile of p."""
        return min(int(np.searchsorted(self.p.cumsum(), uniform)), self.n - 1)

    def update(self, arm: int, loss: float) -> None:
        """Estimates, rate, q and p."""
        matrix = self.phi.T @ (self.p[:, None] * self.phi)
        direction = np.linalg.solve(matrix, self.phi[arm])
        self.sums += (2.0 * loss - 1.0) * (self.phi @ direction)
        self.sums -= self.sums.min()
        h = (self.q**self.alpha - self.q).sum() / self.alpha
        self.beta += 0.5 * self.z / (self.beta * h)
        power = 1.0 / (1.0 - self.alpha)
        shift = self.beta
        for _ in range(100):  # Newton from the end of the bracket is monotone
            y = self.sums + shift
            q = (self.beta / y) ** power
            excess = q.sum() - 1.0
            if abs(excess) < 1e-12:
                break
            shift += excess / (power * (q / y).sum())
        self.q = q
        self.explore()
