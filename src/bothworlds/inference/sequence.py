"""``bw.inference.ConfidenceSequence``: the engine alone, for numbers as they come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds._jit import FloatArray, entry
from bothworlds._words import counted
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference.engine import (
    BETS,
    FACTORS,
    LARGEST,
    N_BETS,
    bounds,
    e_values,
    join_products,
    logs_of,
    multiply,
    normalize,
)
from bothworlds.inference.intervals import Interval, Scale


@entry
def _take_in(growth: FloatArray, octaves: FloatArray, values: FloatArray, weights: FloatArray) -> None:
    for i in range(values.size):
        weight = min(weights[i], LARGEST)
        multiply(growth, 0, weight * values[i])
        multiply(growth, N_BETS, weight * (1.0 - values[i]))
        if i % FACTORS == FACTORS - 1 or i == values.size - 1:
            normalize(growth, octaves, 0, 2 * N_BETS)


class ConfidenceSequence:
    """An interval for the mean of numbers that may be looked at after every one of them.

    The numbers are in [low, high]; nothing else is assumed. The target is the mean of their conditional means
    so far, (m_1 + … + m_n)/n, where m_i may depend on the past: for independent and identically distributed
    numbers, their mean. With probability at least 1 − error no interval, at any time, is wrong.

    Parameters
    ----------
    error:
        The probability that any interval is ever wrong; half of it for each side.
    low, high:
        The range of the numbers.

    Notes
    -----
    What is kept are sums: their order does not matter, two sequences can be added, and nothing is tuned to
    the data.

    Examples
    --------
    >>> import bothworlds as bw
    >>> clicks = bw.inference.ConfidenceSequence()
    >>> clicks.update([1, 0, 0, 1, 0, 0, 0, 1] * 50)
    >>> print(clicks.interval())
    0.375 [0.294, 0.461]
    >>> clicks.update(1, weight=2.0)  # drawn with probability ½ of what it should count for
    >>> clicks.miss()  # an answer that has not come: counted, since nobody knows what it would be
    >>> clicks
    <ConfidenceSequence: 402 numbers, 0.378 [0.296, 0.464], error 0.05>
    """

    def __init__(self, error: float = 0.05, *, low: float = 0.0, high: float = 1.0) -> None:
        self.error = _check.number("error", error, above=0.0, below=1.0)
        self._scale = Scale.of(low, high)
        self._n = 0
        self._weights = self._weighted = 0.0
        self._growth, self._octaves = np.zeros(2 * N_BETS), np.zeros(2 * N_BETS)

    @classmethod
    def of_counts(cls, *, ones: int, zeros: int, error: float = 0.05) -> ConfidenceSequence:
        """Of so many ones and so many zeros, for those who have nothing else.

        Examples
        --------
        >>> import bothworlds as bw
        >>> print(bw.inference.ConfidenceSequence.of_counts(ones=150, zeros=250).interval())
        0.375 [0.294, 0.461]
        """
        made = cls(error)
        counts = [_check.integer(name, n, at_least=0) for name, n in (("ones", ones), ("zeros", zeros))]
        for side, count in enumerate(counts):
            octaves = count * np.log2(1.0 + BETS)
            whole, at = np.floor(octaves), slice(side * N_BETS, (side + 1) * N_BETS)
            made._octaves[at] = whole
            made._growth[at] = np.expm1(count * np.log1p(BETS) - whole * math.log(2.0))
        made._n, made._weights, made._weighted = sum(counts), float(sum(counts)), float(counts[0])
        return made

    def __len__(self) -> int:
        return self._n

    def update(self, values: ArrayLike, *, weight: ArrayLike = 1.0) -> None:
        """Take in a number, or several.

        Parameters
        ----------
        values:
            In [low, high].
        weight:
            w ≥ 0 with mean 1 given the past, such as π(a)/p(a): then the target is the mean under π. One for
            all, or one for each.
        """
        fix = "give the range as ConfidenceSequence(low=..., high=...)"
        low, high = self._scale.low, self._scale.high
        given = np.atleast_1d(np.asarray(values))
        numbers = _check.vector("values", given, at_least=low, at_most=high, fix=fix)
        weights = np.asarray(weight)
        if weights.ndim == 0:
            weights = np.full(numbers.size, _check.number("weight", weights.item(), at_least=0.0))
        weights = _check.vector("weight", weights, size=numbers.size, at_least=0.0)
        units = np.clip((numbers - self._scale.low) / self._scale.span, 0.0, 1.0)
        _take_in(self._growth, self._octaves, units, weights)
        self._n += units.size
        self._weights += float(weights.sum())
        self._weighted += float(weights @ units)

    def miss(self, count: int = 1) -> None:
        """Count numbers that have not come, or never will: they might be anything in the range."""
        self._n += _check.integer("count", count, at_least=0)

    def interval(self) -> Interval:
        """The interval now."""
        low, above = bounds(logs_of(self._growth, self._octaves), self._n, self.error / 2)
        high = 1.0 - above
        estimate = self._weighted / self._weights if self._weights else math.nan
        if low <= high:
            estimate = min(max(estimate, low), high)
        return self._scale.mean(float(low), estimate, float(high), self.error, "any")

    def log_e(self, mean: float) -> float:
        """The logarithm of the evidence that the mean is larger than this: large if it is."""
        mean = _check.number("mean", mean, at_least=self._scale.low, at_most=self._scale.high)
        unit = (mean - self._scale.low) / self._scale.span
        return float(e_values(logs_of(self._growth, self._octaves)[:N_BETS], self._n, unit)[0])

    def __add__(self, other: Any) -> ConfidenceSequence:
        """Both, as if one had seen everything: for several servers, or several days."""
        if not isinstance(other, ConfidenceSequence):
            return NotImplemented
        if (self.error, self._scale) != (other.error, other._scale):
            wanted = f"with error={self.error} in [{self._scale.low:g}, {self._scale.high:g}]"
            raise InvalidArgumentError("other", other, wanted)
        total = ConfidenceSequence(self.error, low=self._scale.low, high=self._scale.high)
        total._growth, total._octaves = join_products(
            self._growth, self._octaves, other._growth, other._octaves
        )
        normalize(total._growth, total._octaves, 0, 2 * N_BETS)
        total._n = self._n + other._n
        total._weights = self._weights + other._weights
        total._weighted = self._weighted + other._weighted
        return total

    def __repr__(self) -> str:
        return f"<ConfidenceSequence: {counted(self._n, 'number')}, {self.interval()}, error {self.error:g}>"
