"""The statistics by themselves: against closed forms, hand-made cases and known laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from bothworlds.report.numbers import statistics
from lab_store import LAWS

ROUNDS = np.unique(np.geomspace(1, 100_000, 100).round().astype(np.int64))
LATE = statistics.last_decade(ROUNDS)


def sample(
    law: str, scale: float, n: int, seed: int, *, offset: float = 0.0, walk: float = 0.0
) -> np.ndarray:
    """Curves over the last decade, of a law in the mean: Gamma increments, a random factor, a random walk."""
    rng = np.random.default_rng(seed)
    f, steps = LAWS[law], np.diff(ROUNDS, prepend=0)
    increments = scale * np.diff(f(1.0 * ROUNDS), prepend=f(0.0))
    curves = np.cumsum(rng.gamma(np.tile(increments / 0.5, (n, 1)), 0.5), axis=1)
    noise = walk * np.cumsum(rng.normal(size=curves.shape) * np.sqrt(steps), axis=1)
    return (offset + rng.gamma(50.0, 0.02, size=(n, 1)) * curves + noise)[:, LATE]


def test_the_last_decade():
    assert ROUNDS[LATE][0] >= 10_000 > ROUNDS[: LATE.start][-1]
    assert statistics.last_decade(np.array([10, 100])).start == 0  # its end belongs to it


@pytest.mark.parametrize("offset", [0.0, 300.0])
@pytest.mark.parametrize(("law", "scale"), [("bounded", 2000.0), ("log T", 8.0), ("√T", 1.0), ("T", 0.05)])
def test_a_law_is_recognized_whatever_came_before(law, scale, offset):
    """By its shape over the last decade; an offset, which hides it from the exponent, does not matter."""
    found = [
        statistics.fit_growth(ROUNDS[LATE], sample(law, scale, 32, seed, offset=offset)).law
        for seed in range(10)
    ]
    assert found.count(law) >= 9
    assert set(found) <= {law, "undecided"}


@pytest.mark.parametrize(("law", "exponent"), [("√T", 0.5), ("T", 1.0)])
def test_the_exponent_of_a_power_is_inside_its_interval(law, exponent):
    fits = [statistics.fit_growth(ROUNDS[LATE], sample(law, 1.0, 32, seed, walk=0.3)) for seed in range(40)]
    inside = sum(fit.low < exponent < fit.high for fit in fits)
    assert inside >= 33  # 38 of 40 would be 95%
    assert np.mean([fit.exponent for fit in fits]) == pytest.approx(exponent, abs=0.02)


def test_the_exponent_of_a_logarithm():
    """d log R/d log t = 1/log t, in the middle of the decade."""
    fitted = statistics.fit_growth(ROUNDS[LATE], sample("log T", 8.0, 64, 1))
    assert fitted.low < 1.0 / np.log(np.sqrt(10_000.0 * 100_000.0)) < fitted.high


def test_noise_without_growth_is_rarely_taken_for_a_law():
    """A random walk around a constant: most often undecided, or bounded, which is true."""
    laws = [
        statistics.fit_growth(ROUNDS[LATE], sample("bounded", 1.0, 16, seed, walk=1.0)).law
        for seed in range(60)
    ]
    wrong = [law for law in laws if law not in ("bounded", "undecided")]
    assert len(wrong) <= 3  # benchmarks/analysis.py measures 1%
    assert laws.count("undecided") >= 40


def test_regret_that_stops_or_falls_is_bounded():
    falling = np.linspace(50.0, 20.0, ROUNDS[LATE].size) + np.arange(8.0)[:, None]
    assert statistics.fit_growth(ROUNDS[LATE], falling).law == "bounded"
    constant = np.full((8, ROUNDS[LATE].size), 7.0)
    fitted = statistics.fit_growth(ROUNDS[LATE], constant)
    assert (fitted.law, fitted.weights) == ("bounded", (1.0, 0.0, 0.0, 0.0))
    assert fitted.exponent == pytest.approx(0.0, abs=1e-12)


def test_growth_of_negative_or_missing_regret_has_no_exponent():
    below = sample("√T", 1.0, 16, 0) - 1000.0
    fitted = statistics.fit_growth(ROUNDS[LATE], below)
    assert fitted.law == "√T"
    assert np.isnan([fitted.exponent, fitted.low, fitted.high]).all()
    below[3, -1] = np.nan
    assert statistics.fit_growth(ROUNDS[LATE], below) is statistics.UNKNOWN_GROWTH
    assert statistics.fit_growth(ROUNDS[-1:], below[:, -1:]) is statistics.UNKNOWN_GROWTH


def test_the_slope_is_numpys_least_squares():
    curves = sample("√T", 1.0, 16, 3)
    expected = np.polyfit(np.log(ROUNDS[LATE]), np.log(curves.mean(axis=0)), 1)[0]
    assert statistics.fit_growth(ROUNDS[LATE], curves).exponent == pytest.approx(expected, rel=1e-9)


def test_holm_by_hand():
    """Holm 1979: 0.01·4, 0.02·3, then 0.03·2 which may not fall below 0.06, then 0.5."""
    corrected = statistics.holm(np.array([0.03, 0.5, 0.01, 0.02]))
    np.testing.assert_allclose(corrected, [0.06, 0.5, 0.04, 0.06])
    with_missing = statistics.holm(np.array([np.nan, 0.02]))
    assert with_missing[1] == pytest.approx(0.04)
    assert np.isnan(with_missing[0])
    np.testing.assert_allclose(statistics.holm(np.array([0.01]), tests=10), [0.1])


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, st.integers(1, 12), elements=st.floats(0.0, 1.0)))
def test_holm_lies_between_the_p_value_and_bonferroni(p):
    corrected = statistics.holm(p)
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(1.0, p * p.size)).all()
    order = np.argsort(p)
    assert (np.diff(corrected[order]) >= 0.0).all()
    bonferroni_rejects, holm_rejects = p * p.size <= 0.05, corrected <= 0.05
    assert (holm_rejects | ~bonferroni_rejects).all()


def test_differences_without_spread():
    regret = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    found = statistics.compare_pairs(regret, np.ones_like(regret, dtype=bool))
    assert found.p_value.tolist() == [1.0, 0.0, 0.0]
    assert (found.wins.tolist(), found.ties.tolist()) == ([0, 3, 3], [3, 0, 0])
    assert found.difference.tolist() == [0.0, -1.0, -1.0]


def test_the_t_test_follows_the_mean_where_ranks_do_not():
    """A little better in 15 runs of 16, a failure in the last: no better on average, and not called so."""
    rng = np.random.default_rng(0)
    steady = 100.0 + rng.normal(size=16)
    risky = steady - 2.0 + 0.1 * rng.normal(size=16)
    risky[-1] += 500.0
    found = statistics.compare_pairs(np.array([risky, steady]), np.ones((2, 16), dtype=bool))
    assert found.difference[0] > 0.0
    assert found.p_value[0] > 0.05
    assert found.wins[0] == 15
    assert stats.wilcoxon(risky, steady).pvalue < 0.05


def test_policies_without_difference_are_seldom_called_different():
    """The family-wise error of 45 true null hypotheses, over 200 worlds of skewed regret."""
    rng = np.random.default_rng(5)
    false = 0
    for _ in range(200):
        regret = rng.gamma(2.0, size=(1, 16)) + rng.gamma(2.0, size=(10, 16))
        false += bool(statistics.compare_pairs(regret, np.ones((10, 16), dtype=bool)).p_holm.min() < 0.05)
    assert false <= 16  # 8%: 5% and three standard errors


# --- tails ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 6, 12, 21, 32, 64, 101, 500])
@pytest.mark.parametrize("q", [0.05, 0.25, 0.5, 0.95])
def test_quantile_intervals_are_those_of_scipy(n, q):
    values = np.sort(np.random.default_rng(n).standard_cauchy(n))
    theirs = stats.quantile_test(values, q=0.0, p=q).confidence_interval(0.95)
    assert statistics.quantile_interval(values, q) == pytest.approx((theirs.low, theirs.high), nan_ok=True)


@pytest.mark.parametrize("n", [1, 7, 20, 33])
def test_cvar_is_the_average_of_the_last_quantiles(n):
    values = np.random.default_rng(n).exponential(size=n)
    grid = (np.arange(200_000) + 0.5) / 200_000  # the midpoint rule, of the empirical quantile function
    quantiles = np.quantile(values, 1.0 - 0.05 * (1.0 - grid), method="inverted_cdf")
    assert statistics.conditional_value_at_risk(values) == pytest.approx(quantiles.mean(), rel=1e-4)


def test_the_trimmed_mean_is_that_of_scipy():
    values = np.random.default_rng(1).standard_cauchy(37)
    assert statistics.trimmed_mean(np.sort(values)) == pytest.approx(stats.trim_mean(values, 0.1))
