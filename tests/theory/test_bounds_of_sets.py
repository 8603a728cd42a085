"""Bounds of policies for sets."""

from __future__ import annotations

import math

import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.theory.bounds.divergences import bernoulli_divergence

HOW = {"n_arms": 8, "horizon": 10_000, "choose": 3}
GAPS = [0.0, 0.0, 0.0, 0.1, 0.1, 0.2, 0.2, 0.5]


def test_their_terms():
    hybrid = bw.theory.bound(bw.HybridINF(), gaps=GAPS, **HOW)
    assert hybrid.adversarial.value == pytest.approx(math.sqrt(3 * 8 * 10_000))
    assert hybrid.self_bounding["gaps"].value == pytest.approx((10 + 10 + 5 + 5 + 2) * math.log(10_000))
    most = bw.theory.bound(bw.HybridINF(), n_arms=8, horizon=10_000, choose=6)
    assert most.adversarial.value == pytest.approx(2 * math.sqrt(10_000 * math.log(4)))
    variance = bw.theory.bound(bw.LBINFV(), gaps=GAPS, corruption=4.0, **HOW).self_bounding
    assert variance["gaps"].value == pytest.approx(2.4 * (32 + 3) * math.log(10_000))
    assert variance["corruption"].value == pytest.approx(math.sqrt(4 * 3 * variance["gaps"].value))
    optimism = bw.theory.bound(bw.CombUCB1(), gaps=GAPS, **HOW)
    assert optimism.adversarial is None
    gap, free = (bound.value for bound in optimism.all)
    assert gap == pytest.approx(24 * math.log(10_000) / 0.1)
    assert free == pytest.approx(math.sqrt(24 * 10_000 * math.log(10_000)))
    assert not any(bound.explicit for bound in (*hybrid.all, *optimism.all, variance))


def test_gaps_to_the_best_arm_become_gaps_to_the_set():
    to_the_best = [0.0, 0.1, 0.2, 0.3, 0.3, 0.4, 0.4, 0.7]
    one, other = (bw.theory.bound(bw.LBINFV(), gaps=gaps, **HOW) for gaps in (to_the_best, GAPS))
    assert one.self_bounding.value == pytest.approx(other.self_bounding.value)


def test_where_sizes_differ():
    how = {"n_arms": 3, "horizon": 10_000, "means": [0.2, 0.4, 0.75], "outside": 0.5}
    both = bw.theory.bound(bw.HybridINF(), choose="any", **how)
    assert both.adversarial.value == pytest.approx(math.sqrt(9 * 10_000))
    leave, choose = both.self_bounding.terms
    assert leave.value == pytest.approx(4 * math.log(10_000))
    assert choose.value == pytest.approx(1 / 0.3 + 1 / 0.1)
    most = bw.theory.bound(bw.HybridINF(), choose=(0, 2), **how)
    assert most.self_bounding is None
    assert most.adversarial.value == pytest.approx(math.sqrt(6 * 10_000))
    variance = bw.theory.bound(bw.LBINFV(), choose=(0, 2), **how)
    assert variance.adversarial.value == pytest.approx(math.sqrt(4 * 6 * 10_000 * math.log(10_000)))
    for sizes, gap in (("any", 0.1), ((0, 1), 0.2), ((0, 2), 0.1), ((2, 3), 0.25), ((1, 2), 0.1)):
        found = bw.theory.bound(bw.CombUCB1(), choose=sizes, **how).all[0].value
        m = 3 if sizes == "any" else sizes[1]
        assert found == pytest.approx(3 * m * math.log(10_000) / gap), sizes


def test_multiple_plays():
    means = [0.2, 0.3, 0.5, 0.6]
    bound = bw.theory.bound(bw.Thompson(), n_arms=4, horizon=1000, means=means, choose=2).self_bounding
    slope = sum((mean - 0.3) / bernoulli_divergence(mean, 0.3) for mean in (0.5, 0.6))
    assert bound["gaps"].value == pytest.approx(slope * math.log(1000))


def test_two_best_sets_are_not_covered():
    tied = [0.0, 0.0, 0.1, 0.1, 0.1, 0.2, 0.2, 0.5]
    assert bw.theory.bound(bw.HybridINF(), gaps=tied, **HOW).self_bounding is None
    assert bw.theory.bound(bw.HybridINF(), gaps=GAPS, corruption=1.0, **HOW).self_bounding is None


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (bw.TsallisINF(), {}, "which is not for sets"),
        (bw.HybridINF(), {"choose": 8}, "choose must be below the number of arms, 8"),
        (bw.CombUCB1(alpha=2.0), {"gaps": GAPS}, "CombUCB1 has one with alpha=1.5"),
        (bw.CombUCB1(), {}, "one with a bound that covers this setting"),
        (bw.CombUCB1(), {"choose": "any"}, "one with a bound that covers this setting"),
        (bw.Thompson(), {"choose": "any", "means": [0.2] * 8}, "one with a bound that covers this setting"),
        (bw.HybridINF(), {"choose": "any", "gaps": GAPS}, "give means: gaps do not say"),
        (bw.HybridINF(), {"choose": "any", "corruption": 2.0}, "corruption must be 0 for choose='any'"),
    ],
)
def test_what_is_not_covered_is_refused(policy, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.theory.bound(policy, **(HOW | options))
