r"""Confidence bands of a mean over replications, by the percentile bootstrap.

Resample the n replications with replacement, take the mean, do so again and again: the 2.5% and 97.5%
quantiles of those means are the band. Whole replications are resampled, so what is compared at two rounds
of a curve comes from the same resamples. This is ``scipy.stats.bootstrap(…, np.mean, method="percentile")``
and the tests hold it to that. Since a mean depends on a resample only through how often each replication
was taken, the matrix of those counts is drawn once per n and shared by all curves, which makes a sweep of a
thousand cells take seconds.

The resamples are seeded by a constant: the same store gives the same bits. Sums are taken by ``np.einsum``
rather than by the linear algebra library, whose last bits depend on its number of threads.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from bothworlds._jit import FloatArray

RESAMPLES = 1001
"""So many that the bounds move by less than a tenth of a standard error with the seed. (RESAMPLES − 1)·2.5%
is whole, so that quantiles fall on resamples."""
LEVEL = 0.95
SEED = 20_210


@lru_cache(maxsize=64)
def weights(n: int) -> FloatArray:
    """Resamples × n: the share of each replication in each resample. Read only."""
    drawn = np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n))  # as scipy.stats.bootstrap draws
    rows = np.arange(RESAMPLES)[:, None] * n
    counts = np.bincount((drawn + rows).ravel(), minlength=RESAMPLES * n).reshape(RESAMPLES, n)
    result: FloatArray = counts / n
    result.flags.writeable = False
    return result


def resampled_means(values: FloatArray) -> FloatArray:
    """Means of all resamples of ``values`` (replications × anything): anything × resamples."""
    means: FloatArray = np.einsum("nm,bn->mb", values, weights(len(values)))
    return means


def percentiles(statistics: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The bounds of the central 95% of resampled statistics (last axis); NaN where one of them is."""
    ordered = np.sort(statistics, axis=-1)  # NaN last
    rank = round((1.0 - LEVEL) / 2.0 * (RESAMPLES - 1))
    ended = np.isnan(ordered[..., -1])
    return (
        np.where(ended, np.nan, ordered[..., rank]),
        np.where(ended, np.nan, ordered[..., RESAMPLES - 1 - rank]),
    )


def mean_band(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the 95% band of the mean over replications.

    Parameters
    ----------
    values:
        Replications × m.

    Returns
    -------
    low, high:
        m bounds each; NaN for a single replication, and where a value is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.arange(20.0).reshape(10, 2)
    >>> low, high = mean_band(values)
    >>> bool((low < values.mean(axis=0)).all() and (values.mean(axis=0) < high).all())
    True
    """
    if len(values) < 2:
        nothing = np.full(values.shape[1], np.nan)
        return nothing, nothing.copy()
    return percentiles(resampled_means(values))
