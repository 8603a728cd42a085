"""Tsallis entropy with its linear term: against 60-digit arithmetic, its limits, and the plain form."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import step as oracle

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract

LOSSES = [0.0, 1.0, 2.5, 40.0, 1e6]
RATES = [0.5, 3.0, 1.0, 20.0, 7.0]


@pytest.mark.parametrize("log_barrier", [0.0, 1e-9, 2.0, 162.0])
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.5, 2 / 3, 0.95])
def test_it_agrees_with_the_oracle(alpha, log_barrier):
    s = bw.solve(LOSSES, RATES, bw.regularizers.CenteredTsallis(alpha), log_barrier=log_barrier)
    p, multiplier = oracle.solve(LOSSES, RATES, [(1, "centered", alpha)], log_barrier)
    assert s.status == "converged"
    assert s.residual <= 1e-12
    np.testing.assert_allclose(s.p, [float(value) for value in p], rtol=1e-11)
    assert s.multiplier == pytest.approx(float(multiplier), rel=1e-12)


def test_at_alpha_one_it_is_shannon():
    ours = bw.solve(LOSSES[:4], RATES[:4], bw.regularizers.CenteredTsallis(1.0))
    shannon = bw.solve(LOSSES[:4], RATES[:4], bw.Shannon())
    np.testing.assert_allclose(ours.p, shannon.p, rtol=1e-13)
    nearly = bw.solve(LOSSES[:4], RATES[:4], bw.regularizers.CenteredTsallis(1.0 - 1e-9))
    np.testing.assert_allclose(nearly.p, shannon.p, rtol=1e-5)


def test_at_alpha_zero_two_arms_solve_a_quadratic():
    # γ(1/p − 1) − γ(1/(1−p) − 1) = L, as for the log-barrier: the linear terms cancel at equal rates
    plain = bw.solve([0.0, 7.0], 1.5, bw.LogBarrier())
    np.testing.assert_allclose(
        bw.solve([0.0, 7.0], 1.5, bw.regularizers.CenteredTsallis(0.0)).p, plain.p, rtol=1e-13
    )


def test_with_equal_rates_it_is_plain_tsallis_at_the_rate_over_alpha():
    ours = bw.solve(LOSSES, 2.0, bw.regularizers.CenteredTsallis(0.7))
    np.testing.assert_allclose(ours.p, bw.solve(LOSSES, 2.0 / 0.7, bw.Tsallis(0.7)).p, rtol=1e-12)


def test_with_unequal_rates_the_linear_term_matters():
    ours = bw.solve([0.0, 0.0], [1.0, 3.0], bw.regularizers.CenteredTsallis(0.5)).p
    plain = bw.solve([0.0, 0.0], [2.0, 6.0], bw.Tsallis(0.5)).p
    assert abs(ours - plain).max() > 0.05
    # γ₁(p₁^{−½} − 1) = γ₂(p₂^{−½} − 1)
    assert ours[0] ** -0.5 - 1 == pytest.approx(3 * (ours[1] ** -0.5 - 1))


def test_a_hybrid_with_it():
    hybrid = bw.Hybrid(bw.regularizers.CenteredTsallis(0.4), bw.Shannon(), weight=0.3)
    s = bw.solve(LOSSES, RATES, hybrid)
    p, _ = oracle.solve(LOSSES, RATES, [(1, "centered", 0.4), (0.3, "shannon", None)])
    np.testing.assert_allclose(s.p, [float(value) for value in p], rtol=1e-11)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, math.nan, "half"])
def test_alpha_outside_the_unit_interval(alpha):
    with pytest.raises(InvalidArgumentError, match="alpha must be a finite number at least 0 and at most 1"):
        bw.regularizers.CenteredTsallis(alpha)
