"""The regularizer of LB-INF-V, which is outside the solver's convex class: against a 60-digit oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.simplex.regularizers import ComplementBarrier
from bothworlds.simplex.regularizers.base import respond, slope
from oracle import complement as oracle

CASES = {
    "ties": ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
    "ties, spread rates": ([0.0, 0.0, 0.0], [1e-3, 1.0, 1e3]),
    "gaps": ([0.0, 1.0, 5.0], [1.2, 1.3, 1.4]),
    "far ahead": ([0.0, 1e6, 1e6], [1.2, 1.2, 3.0]),
    "small rates": ([0.0, 3.0], [1e-3, 1e-3]),
    "huge offset": ([1e12, 1e12 + 1.0], [2.0, 1.0]),
}


@pytest.mark.parametrize("log_barrier", [0.0, pytest.param(2.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("weight", [0.1, 1.4426950408889634, 9.0, 40.0])
@pytest.mark.parametrize("case", CASES)
def test_it_agrees_with_the_oracle(case, weight, log_barrier):
    losses, rates = CASES[case]
    s = bw.solve(losses, rates, ComplementBarrier(weight), log_barrier=log_barrier)
    p, multiplier = oracle.solve(losses, rates, weight, log_barrier)
    assert s.status == "converged"
    assert s.residual <= 1e-12
    assert abs(math.fsum(s.p) - 1) <= 1e-12
    np.testing.assert_allclose(s.p, [float(value) for value in p], rtol=1e-10)
    # λ is as exact as a sum that is exact to 1e-14 makes it: dΣp/dλ is small when one arm has nearly all
    exact = [float(value) for value in p]
    steepness = sum(
        q / (rate * slope(ComplementBarrier(weight).parameters(), -math.log(q))[1] + log_barrier / q)
        for q, rate in zip(exact, rates, strict=True)
    )
    assert abs(s.multiplier - float(multiplier)) <= 1e-14 / steepness + 1e-15 * abs(float(multiplier))


@pytest.mark.parametrize("weight", [1e-2, 1.0, 9.0, 100.0])
def test_the_response_inverts_the_slope(weight):
    # from p = 1e-12 to odds of 1e-12 against the arm; with any start, good or bad, or none
    params = ComplementBarrier(weight).parameters()
    for depth in 10.0 ** np.linspace(-12, math.log10(27.0), 60):
        height, first, second = slope(params, depth)
        for start in (0.0, math.exp(-depth), 0.5, 1e-9, 1.0 - 1e-9, 1.0):
            p, dy, ddy = respond(params, 3.0 * height, 3.0, 0.0, start)
            assert p == pytest.approx(math.exp(-depth), rel=1e-12)
            assert dy == pytest.approx(3.0 * first, rel=1e-10)
            assert ddy == pytest.approx(3.0 * second, rel=1e-9, abs=1e-9 * first)


def test_the_slope_is_that_of_the_definition_and_not_convex():
    params = ComplementBarrier(9.0).parameters()
    for p in (0.01, 0.3, 0.9):
        height, first, second = slope(params, -math.log(p))
        assert height == pytest.approx(1 / p - 1 + 9 * math.log(1 - p))
        step = 1e-6
        up, down = slope(params, -math.log(p) + step)[0], slope(params, -math.log(p) - step)[0]
        assert first == pytest.approx((up - down) / (2 * step), rel=1e-6)
        assert (second > 0) == (p < 1 / (1 + 3))  # convex in the depth only below p = 1/(1+√w)


@pytest.mark.compiled
def test_a_thousand_hostile_steps_converge():
    rng = np.random.default_rng(4)
    for _ in range(1000):
        n = int(rng.choice([2, 3, 20]))
        losses = 10.0 ** rng.uniform(-3, 12, n)
        rates = 10.0 ** rng.uniform(-1, 1, n)  # six orders apart, float64 cannot place λ for the smallest
        s = bw.solve(losses, rates, ComplementBarrier(10.0 ** rng.uniform(-2, 2)))
        assert s.status == "converged"
        assert s.residual <= 1e-12
        assert abs(math.fsum(s.p) - 1) <= 1e-12


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, None])
def test_bad_weights(weight):
    with pytest.raises(InvalidArgumentError, match="weight must be a finite number above 0"):
        ComplementBarrier(weight)
