"""The complexities against exact arithmetic, and the order between them."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError


def test_against_exact_fractions():
    gaps = [Fraction(0), Fraction(1, 8), Fraction(0), Fraction(1, 2), Fraction(1, 4)]
    got = bw.theory.complexity([float(g) for g in gaps])
    above = [g for g in gaps if g > 0]
    assert (got.n_arms, got.n_optimal, got.smallest_gap) == (5, 2, 0.125)
    assert got.paper == 2 / min(above) + sum(1 / g for g in above)
    assert got.classic == sum(1 / g for g in above)
    assert got.crude == 5 / min(above)
    assert got.squared == sum(1 / g**2 for g in above)
    assert got.cubed == sum(1 / g**3 for g in above)
    assert got.total == sum(above)
    assert got.decoupled**2 == pytest.approx(float(5 * sum(1 / g**2 for g in above)), rel=1e-15)
    assert got.decoupled_prior**2 == pytest.approx(float(5 * sum(8 / g for g in above)), rel=1e-15)


def test_the_order_between_them():
    random = np.random.default_rng(1)
    for _ in range(200):
        gaps = random.random(random.integers(2, 9))
        gaps[: random.integers(1, gaps.size)] = 0.0
        g = bw.theory.complexity(gaps)
        assert g.classic <= g.paper <= g.crude * (1 + 1e-12)
        assert g.decoupled <= g.decoupled_prior * (1 + 1e-12)
        if g.n_optimal == 1:
            assert g.paper <= 2 * g.classic * (1 + 1e-12)  # of the same order under uniqueness


def test_equal_gaps_make_the_decoupled_ones_equal_and_the_designed_instance_separates_them():
    equal = bw.theory.complexity([0.0, *[0.25] * 7])
    assert equal.decoupled == pytest.approx(equal.decoupled_prior)
    apart = bw.theory.complexity([0.0, 0.05, *[0.5] * 126])
    assert apart.decoupled == pytest.approx(340, abs=1)
    assert apart.decoupled_prior == pytest.approx(834, abs=1)


def test_plain_types_and_text():
    g = bw.theory.complexity([0.0, 0.5])
    assert json.loads(json.dumps(g.to_dict()))["paper"] == 4.0
    assert "K/Δ_min" in g.table()


@pytest.mark.parametrize(
    ("gaps", "match"),
    [
        (
            [0.1, 0.2],
            r"gaps must be numbers of which one is 0, that of a best arm, got \[0.1, 0.2\]; subtract the",
        ),
        (
            [0.0, 0.0],
            r"gaps must be numbers of which one is positive, got \[0.0, 0.0\]; where all arms are optimal",
        ),
        ([], r"gaps must be numbers of which one is 0"),
        ([0.0, 1.5], r"gaps\[1\] must be finite and at least 0 and at most 1, got 1.5"),
        ([0.0, float("nan")], r"gaps\[1\] must be finite"),
        ("ab", r"gaps must be a one-dimensional sequence of numbers"),
    ],
)
def test_bad_gaps(gaps, match):
    with pytest.raises(InvalidArgumentError, match=match):
        bw.theory.complexity(gaps)
