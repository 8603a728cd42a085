"""Bounds of policies for sets."""

from __future__ import annotations

import math

import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError

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
    ],
)
def test_what_is_not_covered_is_refused(policy, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.theory.bound(policy, **(HOW | options))
