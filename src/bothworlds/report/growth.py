r"""How regret grows late: like log T, √T or T, or not at all.

Candidates are R(t) = a + b·f(t) with b ≥ 0 and f one of −1/√t ("bounded"), log t, √t and t: the family (t^γ
− 1)/γ at γ = −1/2, 0, 1/2, 1. They are compared on the last decade of a curve, t ≥ T/10, by how its growth
is spread over the checkpoints t_0 < t_1 < … there. Law f predicts that the share

.. math:: π_j(f) = \frac{f(t_j) - f(t_{j-1})}{f(T) - f(t_0)}

of it falls between t_{j−1} and t_j, whatever a and b are; the law with the largest
Σ_j (R(t_j) − R(t_{j−1}))·log π_j(f) is preferred. That is the multinomial likelihood of the places where the
regret was incurred, which is the right one where regret is a count of independent mistakes, and a reasonable
contrast where it is not. A curve that does not grow over the last decade is bounded.

Checkpoints of one replication depend on each other, replications do not. So the choice is made again on the
mean curve of every bootstrap resample of the replications; a law is named only if at least 95% of the
resamples agree, otherwise the growth is "undecided". What agrees is the shape over one decade: see
docs/analysis.md for what that can and cannot say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray
from bothworlds.report.bands import percentiles, resampled_means

LAWS = ("bounded", "log T", "√T", "T")
UNDECIDED = "undecided"
DECISIVE = 0.95
ROUNDING = 1e-9
"""Growth over the whole window by a smaller share of the regret is that of rounding errors in its mean."""
WINDOW = 10
"""The late part of a curve: from T/10 to T."""


class Growth(NamedTuple):
    """The law preferred; the exponent with its 95% interval; the share of resamples that prefer each law."""

    law: str
    exponent: float
    low: float
    high: float
    weights: tuple[float, ...]


NOTHING = Growth(UNDECIDED, np.nan, np.nan, np.nan, (np.nan,) * len(LAWS))


def late(rounds: IntArray) -> slice:
    """The checkpoints of the last decade."""
    return slice(int(np.searchsorted(rounds * WINDOW, rounds[-1])), None)


def fit(rounds: IntArray, regret: FloatArray) -> Growth:
    """The growth of the mean of some curves.

    Parameters
    ----------
    rounds:
        m increasing rounds (or horizons).
    regret:
        Replications × m.

    Returns
    -------
    Growth
        Without interval and weights for a single replication; without a law for fewer than three rounds, and
        with NaN for fewer than two, or where a log has ended. ``exponent`` is the slope of log R̄ against
        log t, NaN unless R̄ > 0 throughout; its interval is NaN unless that holds in every resample.

    Examples
    --------
    >>> import numpy as np
    >>> rounds = np.geomspace(1000, 10_000, 20).round().astype(int)
    >>> scale = np.random.default_rng(0).uniform(0.5, 1.5, size=(16, 1))
    >>> growth = fit(rounds, 100 + scale * np.sqrt(rounds))
    >>> growth.law, round(growth.exponent, 2)
    ('√T', 0.18)
    """
    if rounds.size < 2 or np.isnan(regret).any():
        return NOTHING
    t = rounds.astype(np.float64)
    mean = regret.mean(axis=0)[:, None]
    slope = float(_slope(t, mean)[0])
    if len(regret) < 2:
        return NOTHING._replace(exponent=slope)
    resamples = resampled_means(regret)
    low, high = percentiles(_slope(t, resamples))
    if rounds.size < 3:
        return NOTHING._replace(exponent=slope, low=float(low), high=float(high))
    shares = np.bincount(_preferred(t, resamples), minlength=len(LAWS)) / resamples.shape[1]
    first = int(np.argmax(shares))
    law = LAWS[first] if shares[first] >= DECISIVE else UNDECIDED
    return Growth(law, slope, float(low), float(high), tuple(shares.tolist()))


def _slope(t: FloatArray, curves: FloatArray) -> FloatArray:
    """Least squares slope of log R against log t for every column; NaN where R is not positive."""
    x = np.log(t)
    x -= x.mean()
    positive = (curves > 0.0).all(axis=0)
    slope: FloatArray = np.einsum("m,mb->b", x, np.log(np.where(positive, curves, 1.0))) / np.sum(x * x)
    return np.where(positive, slope, np.nan)


def _preferred(t: FloatArray, curves: FloatArray) -> IntArray:
    """The index of the law that each column follows best."""
    predicted = np.array([np.diff(values) for values in (-1.0 / np.sqrt(t), np.log(t), np.sqrt(t), t)])
    shares = predicted / predicted.sum(axis=1, keepdims=True)
    likelihood = np.einsum("lm,mb->lb", np.log(shares), np.diff(curves, axis=0))
    grows = curves[-1] - curves[0] > ROUNDING * np.abs(curves[-1])
    return np.where(grows, np.argmax(likelihood, axis=0), 0)
