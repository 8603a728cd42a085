r"""Policies two by two, on common random numbers.

All policies of a replication meet the same randomness of the world, so they are compared by their
differences d_r = R_a − R_b in the replications r that both have. The test is the paired t-test
(``scipy.stats.ttest_rel``), because the question is which *expected* regret is smaller. A test of ranks
answers another one: a policy that is a little better in nine runs of ten and fails in the tenth wins by
ranks and loses on average. With few replications and rare failures the t-test errs on the side of "no
difference", as it should.

Within a world, p-values of all pairs are corrected by Holm's method: the chance that any of the differences
called significant at 5% is none, is at most 5%.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bothworlds._jit import FloatArray, IntArray
from bothworlds.report.bands import mean_band

ALL_PAIRS = 30
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


def compare(regret: FloatArray, present: NDArray[np.bool_]) -> Pairs:
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
    a, b = _choose(regret, present)
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


def _choose(regret: FloatArray, present: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Which pairs to compare."""
    policies = regret.shape[0]
    if policies <= ALL_PAIRS:
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
