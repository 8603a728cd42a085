r"""Statistics over the replications of a study: bands of a mean, how regret grows, policies two by two.

**Bands** are 95% confidence bands of a mean, by the percentile bootstrap: resample the n replications with
replacement, take the mean, do so again and again; the 2.5% and 97.5% quantiles of those means are the band.
Whole replications are resampled, so what is compared at two rounds of a curve comes from the same resamples.
This is ``scipy.stats.bootstrap(…, np.mean, method="percentile")`` and the tests hold it to that. Since a mean
depends on a resample only through how often each replication was taken, the matrix of those counts is drawn
once per n and shared by all curves, which makes a sweep of a thousand cells take seconds. The resamples are
seeded by a constant: the same store gives the same bits. Sums are taken by ``np.einsum`` rather than by the
linear algebra library, whose last bits depend on its number of threads.

**Growth** of regret is like log T, √T or T, or there is none. Candidates are R(t) = a + b·f(t) with b ≥ 0 and
f one of −1/√t ("bounded"), log t, √t and t: the family (t^γ − 1)/γ at γ = −1/2, 0, 1/2, 1. They are compared
on the last decade of a curve, t ≥ T/10, by how its growth is spread over the checkpoints t_0 < t_1 < … there.
Law f predicts that the share

.. math:: π_j(f) = \frac{f(t_j) - f(t_{j-1})}{f(T) - f(t_0)}

of it falls between t_{j−1} and t_j, whatever a and b are; the law with the largest
Σ_j (R(t_j) − R(t_{j−1}))·log π_j(f) is preferred. That is the multinomial likelihood of the places where the
regret was incurred, which is the right one where regret is a count of independent mistakes, and a reasonable
contrast where it is not. A curve that does not grow over the last decade is bounded. Checkpoints of one
replication depend on each other, replications do not. So the choice is made again on the mean curve of every
bootstrap resample of the replications; a law is named only if at least 95% of the resamples agree, otherwise
the growth is "undecided". What agrees is the shape over one decade: see docs/analysis.md for what that can
and cannot say.

**Pairs** of policies meet the same randomness of the world in a replication, so they are compared by their
differences d_r = R_a − R_b in the replications r that both have. The test is the paired t-test
(``scipy.stats.ttest_rel``), because the question is which *expected* regret is smaller. A test of ranks
answers another one: a policy that is a little better in nine runs of ten and fails in the tenth wins by ranks
and loses on average. With few replications and rare failures the t-test errs on the side of "no difference",
as it should. Within a world, p-values of all pairs are corrected by Holm's method: the chance that any of the
differences called significant at 5% is none, is at most 5%.

**Tails**: a mean over replications may be the work of one of them. CVaR is the mean of the worst 5%;
intervals of quantiles lie between order statistics, for any distribution (``scipy.stats.quantile_test``); the
trimmed mean leaves out a tenth on either side; and the mean without its largest value says whether one
replication makes it.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bothworlds._jit import FloatArray, IntArray

# --- bands of a mean --------------------------------------------------------------------------------------

RESAMPLES = 1001
"""So many that the bounds move by less than a tenth of a standard error with the seed. (RESAMPLES − 1)·2.5%
is whole, so that quantiles fall on resamples."""
LEVEL = 0.95
SEED = 20_210


@lru_cache(maxsize=64)
def resample_weights(n: int) -> FloatArray:
    """Resamples × n: the share of each replication in each resample. Read only."""
    drawn = np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n))  # as scipy.stats.bootstrap draws
    rows = np.arange(RESAMPLES)[:, None] * n
    counts = np.bincount((drawn + rows).ravel(), minlength=RESAMPLES * n).reshape(RESAMPLES, n)
    result: FloatArray = counts / n
    result.flags.writeable = False
    return result


def resampled_means(values: FloatArray) -> FloatArray:
    """Means of all resamples of ``values`` (replications × anything): anything × resamples."""
    means: FloatArray = np.einsum("nm,bn->mb", values, resample_weights(len(values)))
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


# --- tails --------------------------------------------------------------------------------------------------

TAIL = 0.05
"""The share of replications whose mean is CVaR."""
TRIMMED = 0.1
"""The share that the trimmed mean leaves out on either side."""
LIFTED = 0.25
"""One replication makes a mean that is so much larger with it than without it."""


def conditional_value_at_risk(values: FloatArray, tail: float = TAIL) -> float:
    """The mean of the largest values, so many that they make up the share ``tail``; the last one in part.

    This is the average of the quantile function over its last part, (1/tail)·∫_{1−tail}^1 Q(u) du.

    Examples
    --------
    >>> import numpy as np
    >>> conditional_value_at_risk(np.array([1.0, 2.0, 3.0, 10.0]), 0.375)
    7.666666666666667
    """
    largest = np.sort(values)[::-1]
    share = tail * values.size
    weights = np.clip(share - np.arange(values.size), 0.0, 1.0)
    return float(largest @ weights / share)


@lru_cache(maxsize=256)
def quantile_ranks(n: int, q: float) -> tuple[int, int]:
    """Ranks, from 0, of the order statistics of n values between which the q-quantile lies with 95%.

    The number of values below it is binomial, whatever their distribution. A rank below 0, or of n: so few
    values do not bound it on that side.

    Examples
    --------
    >>> quantile_ranks(20, 0.5), quantile_ranks(20, 0.95)
    ((5, 14), (16, 20))
    """
    from scipy import stats  # noqa: PLC0415 - a second to import

    beyond = (1.0 - LEVEL) / 2.0
    low = int(stats.binom.ppf(beyond, n, q)) - 1
    if stats.binom.cdf(low, n, q) > beyond:
        low -= 1
    return low, int(stats.binom.ppf(1.0 - beyond, n, q))


def quantile_interval(ordered: FloatArray, q: float) -> tuple[float, float]:
    """The 95% interval of a quantile from values in increasing order; NaN where there are too few."""
    low, high = quantile_ranks(ordered.size, q)
    return (
        float(ordered[low]) if low >= 0 else np.nan,
        float(ordered[high]) if high < ordered.size else np.nan,
    )


def trimmed_mean(ordered: FloatArray) -> float:
    """The mean without the smallest and the largest tenth of values in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> trimmed_mean(np.array([0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 4.0, 9999.0]))
    2.25
    """
    cut = int(TRIMMED * ordered.size)
    return float(ordered[cut : ordered.size - cut].mean())


# --- growth -------------------------------------------------------------------------------------------------

LAWS = ("bounded", "log T", "√T", "T")
UNDECIDED = "undecided"
DECISIVE = 0.95
NEGLIGIBLE_GROWTH = 1e-9
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


UNKNOWN_GROWTH = Growth(UNDECIDED, np.nan, np.nan, np.nan, (np.nan,) * len(LAWS))


def last_decade(rounds: IntArray) -> slice:
    """The checkpoints of the last decade."""
    return slice(int(np.searchsorted(rounds * WINDOW, rounds[-1])), None)


def evenly(n: int, most: int) -> list[int]:
    """At most ``most`` of the indices 0..n-1, evenly spaced, the first and the last among them.

    >>> evenly(5, 10), evenly(9, 3)
    ([0, 1, 2, 3, 4], [0, 4, 8])
    """
    if n <= most:
        return list(range(n))
    return [int(i) for i in np.unique(np.linspace(0, n - 1, most).round())]


def fit_growth(rounds: IntArray, regret: FloatArray) -> Growth:
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
    >>> growth = fit_growth(rounds, 100 + scale * np.sqrt(rounds))
    >>> growth.law, round(growth.exponent, 2)
    ('√T', 0.18)
    """
    if rounds.size < 2 or np.isnan(regret).any():
        return UNKNOWN_GROWTH
    t = rounds.astype(np.float64)
    mean = regret.mean(axis=0)[:, None]
    slope = float(_slope(t, mean)[0])
    if len(regret) < 2:
        return UNKNOWN_GROWTH._replace(exponent=slope)
    resamples = resampled_means(regret)
    low, high = percentiles(_slope(t, resamples))
    if rounds.size < 3:
        return UNKNOWN_GROWTH._replace(exponent=slope, low=float(low), high=float(high))
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
    grows = curves[-1] - curves[0] > NEGLIGIBLE_GROWTH * np.abs(curves[-1])
    return np.where(grows, np.argmax(likelihood, axis=0), 0)


# --- pairs --------------------------------------------------------------------------------------------------

ALL_PAIRS_UP_TO = 30
"""Up to so many policies, all pairs; beyond, every policy against the one of smallest mean regret."""


class Pairs(NamedTuple):
    """One entry per pair (a, b): mean of R_a − R_b, its 95% band, p-values, and who won how often."""

    a: IntArray
    b: IntArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray
    p_holm: FloatArray
    wins: IntArray
    ties: IntArray
    replications: IntArray


def holm(p_values: FloatArray, tests: int | None = None) -> FloatArray:
    """Holm's correction: the smallest of m p-values times m, the next times m − 1, …, made increasing.

    Parameters
    ----------
    p_values:
        NaN stays NaN, and counts as a test.
    tests:
        m, if more tests were possible than are listed (those left out count as if they had p = 1).

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)  # NaN last
    factors = (tests or p_values.size) - np.arange(p_values.size)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return corrected


def compare_pairs(regret: FloatArray, present: NDArray[np.bool_]) -> Pairs:
    """Compare the policies of one world.

    Parameters
    ----------
    regret:
        Policies × replications, final regret; NaN where a log ended: then the pair has NaN.
    present:
        The same shape, true where the store has that replication.

    Returns
    -------
    Pairs
        In the order of the policies.
    """
    a, b = _pairs_to_compare(regret, present)
    both = present[a] & present[b]
    n = both.sum(axis=1)
    columns = {name: np.full(a.size, np.nan) for name in ("difference", "low", "high", "p_value")}
    d = np.where(both, regret[a] - regret[b], 0.0)
    patterns, group = np.unique(both, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):  # a single one, if the store is complete
        chosen = np.flatnonzero(group.ravel() == number)
        if pattern.any():
            values = d[np.ix_(chosen, np.flatnonzero(pattern))].T
            columns["difference"][chosen] = values.mean(axis=0)
            columns["low"][chosen], columns["high"][chosen] = mean_band(values)
            columns["p_value"][chosen] = _p_values(values)
    total = regret.shape[0] * (regret.shape[0] - 1) // 2
    wins, ties = (both & (d < 0)).sum(axis=1), (both & (d == 0)).sum(axis=1)
    return Pairs(
        a, b, **columns, p_holm=holm(columns["p_value"], total), wins=wins, ties=ties, replications=n
    )


def _pairs_to_compare(regret: FloatArray, present: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Which pairs to compare."""
    policies = regret.shape[0]
    if policies <= ALL_PAIRS_UP_TO:
        pairs = np.array(list(combinations(range(policies), 2)), dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]
    counts = present.sum(axis=1)
    means = np.where(present, regret, 0.0).sum(axis=1) / np.maximum(counts, 1)
    best = int(np.argmin(np.where(np.isnan(means) | (counts == 0), np.inf, means)))
    others = np.delete(np.arange(policies), best)
    return others, np.full(policies - 1, best)


def _p_values(d: FloatArray) -> FloatArray:
    """Two-sided paired t-tests of replications × pairs; 1 if all differences are 0, 0 if all are equal."""
    if len(d) < 2:
        return np.full(d.shape[1], np.nan)
    same = (d == d[0]).all(axis=0)
    p = np.where(d[0] == 0.0, 1.0, 0.0)
    p[np.isnan(d).any(axis=0)] = np.nan
    varying = ~same & ~np.isnan(p)
    if varying.any():
        from scipy import stats  # noqa: PLC0415 - a second to import, and nothing else here needs it

        p[varying] = stats.ttest_1samp(d[:, varying], 0.0, axis=0).pvalue  # of differences: ttest_rel
    return p
