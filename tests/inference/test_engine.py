"""The engine, held to 40 digits; and what its sums promise: any order, any split, any side."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mpf

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, OutOfRangeError
from bothworlds.inference import engine
from bothworlds.inference.engine import bounds, e_values, logs_of, multiply, normalize
from oracle import inference as oracle


def products(values):
    growth, octaves = np.zeros(32), np.zeros(32)
    for i, x in enumerate(values):
        multiply(growth, 0, x)
        if i % engine.FACTORS == engine.FACTORS - 1:
            normalize(growth, octaves, 0, 32)
    return growth, octaves


def series(seed):
    rng = np.random.default_rng(seed)
    kinds = [
        rng.random(60),
        (rng.random(300) < 0.04).astype(float),
        rng.random(40) ** 20,
        rng.random(50) / rng.random(50) ** 4,
        np.full(70, 1e-9),
        np.array([1e12] * 40),
        np.array([0.0, 1.0]),
    ]
    return [kind.tolist() for kind in kinds]


def test_grid_and_weights_are_those_of_the_definition():
    assert engine.BETS.tolist() == [float(bet) for bet in oracle.BETS]
    assert np.exp(engine.LOG_WEIGHTS) == pytest.approx([float(w) for w in oracle.WEIGHTS], rel=1e-14)


@pytest.mark.parametrize("which", range(7))
def test_products_are_sums_of_logarithms(which):
    values = series(1)[which]
    exact = [float(a) for a in oracle.sums(values)]
    assert logs_of(*products(values)) == pytest.approx(exact, rel=1e-13, abs=0)


@pytest.mark.parametrize("which", range(7))
def test_evidence_and_bounds_to_forty_digits(which):
    values = series(2)[which]
    logs = logs_of(*products(values))
    exact, n = oracle.sums(values), len(values)
    for mean in (0.0, 1e-6, 0.03, 0.5, 1.0, 2.0):
        assert e_values(logs, n, mean)[0] == pytest.approx(
            float(oracle.log_e(exact, n, mean)), rel=1e-11, abs=1e-11
        )
    for level in (0.4, 0.025, 1e-6):
        for top in (1.0, 2.0):
            wanted = float(oracle.lower(exact, n, level, top))
            assert bounds(logs, n, level, top=top)[0] == pytest.approx(wanted, rel=1e-10, abs=1e-13)


def test_slope_and_curvature_are_derivatives():
    rng = np.random.default_rng(3)
    logs, n = logs_of(*products(rng.random(200).tolist())), 200.0
    for m in (0.01, 0.3, 0.5, 0.9):
        h = 1e-5
        (a, da, _), (_, slope, bend), (b, db, _) = (engine.log_e(logs, n, m + d) for d in (-h, 0.0, h))
        assert slope == pytest.approx((b - a) / (2 * h), rel=1e-6)
        assert bend == pytest.approx((db - da) / (2 * h), rel=1e-6)


def test_a_thousand_million_counts():
    for ones, zeros in ((3 * 10**8, 7 * 10**8), (10**9 - 5, 5), (0, 10**9)):
        interval = bw.inference.ConfidenceSequence.of_counts(ones=ones, zeros=zeros).interval()
        n = ones + zeros
        low = oracle.lower(oracle.sums_of_counts(ones), n, 0.025)
        high = 1 - oracle.lower(oracle.sums_of_counts(zeros), n, 0.025)
        assert interval.low == pytest.approx(float(low), rel=1e-7, abs=1e-14)
        assert interval.high == pytest.approx(float(high), rel=1e-7)
        assert interval.low <= ones / n <= interval.high


@pytest.mark.compiled
def test_many_factors_keep_their_digits():
    """Ten million equal numbers: were roundings to add up, it would be here."""
    n, x = 10**7, 0.1
    sequence = bw.inference.ConfidenceSequence()
    sequence.update(np.full(n, x))
    logs = logs_of(sequence._growth, sequence._octaves)
    exact = [float(n * oracle.mp.log(1 + bet * mpf(x))) for bet in oracle.BETS]
    assert logs[:32] == pytest.approx(exact, rel=1e-12)


def test_nothing_seen_says_nothing():
    interval = bw.inference.ConfidenceSequence().interval()
    assert (interval.low, interval.high) == (0.0, 1.0)
    assert math.isnan(interval.estimate)


def test_order_and_shards_do_not_matter():
    rng = np.random.default_rng(5)
    values, weights = rng.random(500), 1.0 / rng.random(500)
    whole, shuffled, one, two = (bw.inference.ConfidenceSequence() for _ in range(4))
    order = rng.permutation(500)
    whole.update(values, weight=weights)
    shuffled.update(values[order], weight=weights[order])
    one.update(values[:123], weight=weights[:123])
    for value, weight in zip(values[123:], weights[123:], strict=True):
        two.update(value, weight=weight)
    one.miss(3)
    whole.miss(3)
    shuffled.miss(3)
    for other in (shuffled, one + two, two + one):
        assert len(other) == 503
        mine, theirs = whole.interval(), other.interval()
        for name in ("low", "high", "estimate"):
            assert getattr(mine, name) == pytest.approx(getattr(theirs, name), abs=1e-12)


def test_rewards_and_losses_mirror_each_other():
    values = np.random.default_rng(6).random(200) ** 3
    up, down = bw.inference.ConfidenceSequence(), bw.inference.ConfidenceSequence(low=-3.0, high=5.0)
    up.update(values)
    down.update(5.0 - 8.0 * values)
    one, two = up.interval(), down.interval()
    assert (two.low, two.high) == pytest.approx((5.0 - 8.0 * one.high, 5.0 - 8.0 * one.low))


def test_less_error_is_wider_and_a_miss_never_helps():
    values = np.random.default_rng(7).random(300)
    ends = []
    for error in (0.2, 0.05, 1e-3, 1e-9):
        sequence = bw.inference.ConfidenceSequence(error)
        sequence.update(values)
        ends.append(sequence.interval())
    assert all(b.low < a.low and a.high < b.high for a, b in pairwise(ends))
    sequence.miss()
    assert sequence.interval().low < ends[-1].low
    assert sequence.interval().high > ends[-1].high


def test_an_adversary_that_moves_the_mean_does_not_fool_the_running_one():
    """Means that depend on the past: E at the running mean stays below 1/level in nearly all runs."""
    missed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        logs, total, up = np.zeros(32), 0.0, 0
        for n in range(1, 301):
            mean = 0.9 if up * 2 < n else 0.2  # leads the sums away from where they are
            x = float(rng.random() < mean)
            up += int(x)
            total += mean
            logs += np.log1p(engine.BETS * x)
            if n % 10 == 0 and engine.log_e(logs, float(n), total / n)[0] >= math.log(20.0):
                missed += 1
                break
    assert missed <= 200 * 0.05


def test_refusals_leave_everything_as_it_was():
    sequence = bw.inference.ConfidenceSequence()
    sequence.update([0.5, 1.0])
    before = repr(sequence)
    for wrong in (1.5, -0.1, math.nan, "many", [0.2, math.inf]):
        with pytest.raises(InvalidArgumentError, match="values"):
            sequence.update(wrong)
    with pytest.raises(OutOfRangeError, match="weight"):
        sequence.update(1.0, weight=-1.0)
    with pytest.raises(InvalidArgumentError, match="weight"):
        sequence.update([1.0, 0.0], weight=[1.0])
    with pytest.raises(OutOfRangeError, match="count"):
        sequence.miss(-1)
    with pytest.raises(OutOfRangeError, match="error"):
        bw.inference.ConfidenceSequence(0.0)
    with pytest.raises(InvalidArgumentError, match=r"error=0\.05"):
        _ = sequence + bw.inference.ConfidenceSequence(0.1)
    with pytest.raises(TypeError):
        _ = sequence + 1
    assert repr(sequence) == before


def test_printed_bounds_are_rounded_outward():
    interval = bw.inference.Interval(0.12345, 0.2, 0.34561, error=0.05, world="any")
    assert str(interval) == "0.200 [0.123, 0.346]"
    assert not interval.refuted
    assert bw.inference.Interval(0.3, 0.25, 0.2, error=0.05, world="any").refuted
