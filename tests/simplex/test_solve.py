"""The step: against 60-digit arithmetic, scipy, closed forms, and bad input."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from oracle import step as oracle

BETAS = (0.01, 0.1, 0.3, 0.5, 2 / 3, 0.9, 0.97, 0.99)
BARRIERS = (0.0, 1e-9, 1.0, 162.0, 1e4)


def parts_of(regularizer):
    """The oracle's description of a regularizer."""
    match regularizer:
        case bw.LogBarrier():
            return [(1, "log", None)]
        case bw.Tsallis(beta=beta):
            return [(1, "tsallis", beta)]
        case bw.Shannon():
            return [(1, "shannon", None)]
        case bw.Hybrid(first=first, second=second, weight=weight):
            return parts_of(first) + [(weight * w, kind, beta) for w, kind, beta in parts_of(second)]


def check(losses, rates, regularizer, log_barrier, total=1.0):
    """Solve, and hold the answer to the issue's three bounds."""
    s = bw.solve(losses, rates, regularizer, log_barrier=log_barrier, total=total)
    assert s.status == "converged"
    assert np.isfinite(s.p).all()
    assert (s.p >= 0).all()
    assert abs(math.fsum(s.p) - total) <= 1e-12 * total
    assert s.residual <= 1e-12
    parts = parts_of(regularizer)
    assert oracle.kkt_spread(s.p, losses, rates, parts, log_barrier) <= 1e-12
    p, multiplier = oracle.solve(losses, rates, parts, log_barrier, total, start=(s.p, s.multiplier))
    for mine, exact in zip(s.p.tolist(), p, strict=True):
        if exact >= 1e-300:
            assert abs(mine - exact) <= 1e-10 * exact
        else:
            assert mine <= 1.1e-300
    assert abs(s.multiplier - multiplier) <= 1e-12 * max(abs(multiplier), *map(abs, losses))
    return s


REGULARIZERS = (bw.LogBarrier(), bw.Shannon(), *(bw.Tsallis(beta) for beta in BETAS))


def hostile(n_arms):
    """Losses and rates made to hurt: ties, huge gaps, huge offsets, rates spread over six orders."""
    rng = np.random.default_rng(n_arms)
    spread = 10.0 ** np.linspace(-3, 3, n_arms)
    ramp = np.arange(n_arms, dtype=float)
    return {
        "ties, spread rates": (np.zeros(n_arms), spread),
        "ties, small rates": (np.full(n_arms, 1e12), np.full(n_arms, 1e-3)),
        "one far ahead": (np.where(ramp == 0, 0.0, 1e12), np.ones(n_arms)),
        "one far behind, large rates": (np.where(ramp == 0, 1e12, 0.0), 1e3 * spread),
        "unit gaps on 1e12": (1e12 + ramp, spread[::-1].copy()),
        "geometric": (10.0 ** rng.uniform(-3, 12, n_arms), 10.0 ** rng.uniform(0, 6, n_arms)),
        "loss equals rate": (spread - spread[0], spread),
        "half tied, half gone": (np.where(ramp % 2 == 0, 5.0, 3e8), 10.0 ** rng.uniform(-3, 3, n_arms)),
    }


@pytest.mark.parametrize("log_barrier", BARRIERS)
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=repr)
@pytest.mark.parametrize(
    "n_arms",
    [
        1,
        2,
        pytest.param(3, marks=pytest.mark.slow),
        5,
        pytest.param(50, marks=[pytest.mark.slow, pytest.mark.compiled]),
    ],
)
def test_hostile_inputs_agree_with_the_oracle(n_arms, regularizer, log_barrier):
    for losses, rates in hostile(n_arms).values():
        check(losses, rates, regularizer, log_barrier)


@pytest.mark.compiled
@pytest.mark.slow  # 60 digits for a thousand arms; fifty arms are above
@pytest.mark.parametrize("log_barrier", [0.0, 1.0, 1e4])
@pytest.mark.parametrize(
    "regularizer", [bw.LogBarrier(), bw.Shannon(), bw.Tsallis(0.5), bw.Tsallis(0.99)], ids=repr
)
def test_a_thousand_arms_agree_with_the_oracle(regularizer, log_barrier):
    for name in ("geometric", "ties, spread rates"):
        check(*hostile(1000)[name], regularizer, log_barrier)


finite = st.floats(min_value=0.0, max_value=1e12, allow_subnormal=False)
nice = st.sampled_from([0.0, 1.0, 2.0, 1e3, 1e6, 1e12])


@st.composite
def problems(draw):
    n = draw(st.sampled_from([1, 2, 3, 8]))
    losses = draw(st.lists(finite | nice, min_size=n, max_size=n))
    smallest = draw(st.floats(min_value=-3, max_value=0))
    rates = [10.0 ** (smallest + draw(st.floats(min_value=0, max_value=6))) for _ in range(n)]
    if draw(st.booleans()):
        rates = [rates[0]] * n
    beta = draw(st.floats(min_value=0.01, max_value=0.99))
    regularizer = draw(st.sampled_from([bw.LogBarrier(), bw.Shannon(), bw.Tsallis(beta), bw.Tsallis(0.5)]))
    barrier = draw(st.sampled_from(BARRIERS) | st.floats(min_value=0, max_value=1e4, allow_subnormal=False))
    total = draw(st.just(1.0) | st.floats(min_value=1e-6, max_value=1.0))
    return losses, rates, regularizer, barrier, total


@settings(max_examples=30 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 300, deadline=None)
@given(problems())
def test_any_input_agrees_with_the_oracle(problem):
    check(*problem)


@pytest.mark.parametrize("total", [1e-9, 0.25, 1.0, 3.0, 50.0])
@pytest.mark.parametrize("log_barrier", [0.0, 2.0])
@pytest.mark.parametrize("regularizer", [bw.LogBarrier(), bw.Shannon(), bw.Tsallis(0.3)], ids=repr)
def test_any_total_mass(regularizer, log_barrier, total):
    check([0.0, 1.0, 3.0, 3.0], [1.0, 2.0, 0.5, 1.0], regularizer, log_barrier, total)


@pytest.mark.parametrize(
    "hybrid",
    [
        bw.Hybrid(bw.Tsallis(0.5), bw.Shannon()),
        bw.Hybrid(bw.Shannon(), bw.LogBarrier(), weight=1e-3),
        bw.Hybrid(bw.Tsallis(0.3), bw.Hybrid(bw.Shannon(), bw.Tsallis(0.9), weight=2.0), weight=10.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("log_barrier", [0.0, 1.0])
def test_hybrids_agree_with_the_oracle(hybrid, log_barrier):
    for losses, rates in hostile(5).values():
        check(losses, rates, hybrid, log_barrier)


def test_a_hybrid_of_two_log_barriers_is_a_log_barrier_with_the_summed_rate():
    twice = bw.solve(
        [0.0, 2.0, 9.0], [1.0, 2.0, 3.0], bw.Hybrid(bw.LogBarrier(), bw.LogBarrier(), weight=2.0)
    )
    once = bw.solve([0.0, 2.0, 9.0], [3.0, 6.0, 9.0], bw.LogBarrier())
    np.testing.assert_allclose(twice.p, once.p, rtol=1e-13)


def test_shannon_with_equal_rates_is_softmax():
    losses = np.array([0.0, 1.0, 2.5, 40.0])
    expected = np.exp(-losses / 3.0) / np.exp(-losses / 3.0).sum()
    np.testing.assert_allclose(bw.solve(losses, 3.0, bw.Shannon()).p, expected, rtol=1e-14)


def test_two_arms_with_log_barrier_solve_a_quadratic():
    # γ/p − γ/(1−p) = L: p = (L + 2γ − √(L² + 4γ²))/(2L) for the arm with loss L
    loss, rate = 7.0, 1.5
    p = (loss + 2 * rate - math.sqrt(loss**2 + 4 * rate**2)) / (2 * loss)
    np.testing.assert_allclose(bw.solve([0.0, loss], rate, bw.LogBarrier()).p, [1 - p, p], rtol=1e-13)


def test_scipy_brentq_finds_the_same_multiplier():
    rng = np.random.default_rng(3)
    for _ in range(50):
        losses, rates = rng.exponential(10.0, 6), 10.0 ** rng.uniform(-1, 2, 6)
        beta = rng.uniform(0.1, 0.9)
        c = rates * beta / (1 - beta)
        s = bw.solve(losses, rates, bw.Tsallis(beta))
        low = (losses - c * 6 ** (1 - beta)).min()
        high = (losses - c).min()
        root = brentq(lambda x: ((c / (losses - x)) ** (1 / (1 - beta))).sum() - 1, low, high, xtol=1e-14)  # noqa: B023
        assert s.multiplier == pytest.approx(root, abs=1e-11)


def test_the_answer_is_a_minimum():
    rng = np.random.default_rng(5)
    losses, rates = rng.exponential(3.0, 5), rng.uniform(0.5, 4.0, 5)
    beta, barrier = 0.7, 0.4

    def objective(p):
        return p @ losses - (rates * p**beta).sum() / (1 - beta) - barrier * np.log(p).sum()

    best = bw.solve(losses, rates, bw.Tsallis(beta), log_barrier=barrier).p
    for _ in range(200):
        other = 0.999 * best + 0.001 * rng.dirichlet(np.ones(5))
        assert objective(other) > objective(best)


def test_no_linear_term_in_shannon():
    # with arm-dependent rates, p·log p instead of p·log(p/e) would move the solution
    s = bw.solve([0.0, 0.0], [1.0, 3.0], bw.Shannon())
    assert s.multiplier == pytest.approx(math.log(s.p[0]))
    assert s.multiplier == pytest.approx(3 * math.log(s.p[1]))


def test_one_arm_takes_all():
    for regularizer in REGULARIZERS:
        s = bw.solve([123.0], [7.0], regularizer, log_barrier=2.0, total=0.3)
        assert s.p.tolist() == [0.3]
        assert s.residual <= 1e-15


def test_underflow_is_zero_not_nan():
    s = bw.solve([0.0, 1e12], [1e-3, 1e-3], bw.Shannon())
    assert s.p.tolist() == [1.0, 0.0]
    # found by hypothesis: the barrier alone would put p at 1e-309
    check([0.0, 0.0, 179769314.0], [1.0, 1.0, 1.0], bw.Shannon(), 1e-300)
    check([0.0, 1e12], [1e-3, 1e-3], bw.Hybrid(bw.Shannon(), bw.Shannon()), 0.0)


@pytest.mark.compiled
@pytest.mark.parametrize("regularizer", [bw.LogBarrier(), bw.Tsallis(0.5), bw.Shannon()], ids=repr)
@pytest.mark.parametrize("log_barrier", [0.0, 1.0])
def test_a_million_arms(regularizer, log_barrier):
    rng = np.random.default_rng(1)
    losses, rates = rng.exponential(100.0, 10**6), 10.0 ** rng.uniform(-1, 1, 10**6)
    s = bw.solve(losses, rates, regularizer, log_barrier=log_barrier)
    assert abs(math.fsum(s.p) - 1) <= 1e-12
    assert s.residual <= 1e-12
    assert s.iterations <= 12


def test_warm_start_saves_iterations_and_gives_the_same_answer():
    rng = np.random.default_rng(2)
    losses, rates = rng.exponential(10.0, 20), rng.uniform(1, 5, 20)
    for regularizer in REGULARIZERS:
        cold = bw.solve(losses, rates, regularizer, log_barrier=0.1)
        losses_later = losses + np.eye(20)[3]
        again = bw.solve(losses_later, rates, regularizer, log_barrier=0.1)
        warm = bw.solve(losses_later, rates, regularizer, log_barrier=0.1, start=cold)
        assert warm.iterations <= again.iterations
        np.testing.assert_allclose(warm.p, again.p, rtol=1e-12)


def test_a_hopeless_warm_start_does_no_harm():
    good = bw.solve([0.0, 1.0, 2.0], 1.0, bw.Tsallis(0.7), log_barrier=1.0)
    for p, multiplier in [([1.0, 0.0, 0.0], 1e300), ([1e-300] * 3, -1e12), ([0.0] * 3, math.nan)]:
        start = bw.Solution(np.array(p), multiplier, 0.0, 0.0, 1, "converged")
        s = bw.solve([0.0, 1.0, 2.0], 1.0, bw.Tsallis(0.7), log_barrier=1.0, start=start)
        np.testing.assert_allclose(s.p, good.p, rtol=1e-13)


def test_what_float64_cannot_reach_is_said():
    assert bw.solve([0.0, 1.0, 2.0], 1.0, bw.Tsallis(1 - 1e-4)).status == "converged"
    for distance in (1e-6, 1e-9):
        s = bw.solve([0.0, 1.0, 2.0], 1.0, bw.Tsallis(1 - distance))
        assert s.status == "limited"
        assert 1e-12 < abs(s.sum_error) < 1e-8
        assert s.residual <= 1e-12


def test_solution_is_read_only():
    s = bw.solve([0.0, 1.0], 1.0, bw.LogBarrier())
    with pytest.raises(ValueError, match="read-only"):
        s.p[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"losses": []}, "losses must be at least one number, one per arm"),
        ({"losses": [0.0, math.nan]}, r"losses\[1\] must be finite, got nan"),
        ({"losses": [0.0, math.inf]}, r"losses\[1\] must be finite, got inf"),
        ({"losses": [[0.0, 1.0]]}, r"losses must be a one-dimensional sequence, got shape \(1, 2\)"),
        ({"losses": ["a", "b"]}, "losses must be a one-dimensional sequence of numbers"),
        ({"losses": ["0", "1"]}, "losses must be a one-dimensional sequence of numbers"),
        ({"rates": [1.0]}, r"rates must be a one-dimensional sequence of length 2, got shape \(1,\)"),
        ({"rates": [1.0, -1.0]}, r"rates\[1\] must be finite and above 0, got -1.0"),
        ({"rates": [1.0, math.nan]}, r"rates\[1\] must be finite and above 0, got nan"),
        ({"rates": 0.0}, "rates must be a finite number above 0, got 0.0"),
        ({"regularizer": 0.5}, r"regularizer must be LogBarrier\(\), Tsallis\(beta\).*got 0.5"),
        ({"log_barrier": -1.0}, "log_barrier must be a finite number at least 0, got -1.0"),
        ({"log_barrier": math.nan}, "log_barrier must be a finite number at least 0, got nan"),
        ({"total": 0.0}, "total must be a finite number above 0, got 0.0"),
        ({"start": "warm"}, "start must be a Solution for 2 arms, got 'warm'"),
    ],
)
def test_bad_input_is_named(arguments, message):
    good = {"losses": [0.0, 1.0], "rates": [1.0, 1.0], "regularizer": bw.LogBarrier()}
    with pytest.raises(InvalidArgumentError, match=message):
        bw.solve(**(good | arguments))


@pytest.mark.parametrize("beta", [0.0, 1.0, -0.5, 2.0, math.nan, "half", None, True])
def test_beta_outside_the_unit_interval(beta):
    with pytest.raises(
        InvalidArgumentError, match=r"beta must be a finite number above 0 and below 1.*LogBarrier\(\)"
    ):
        bw.Tsallis(beta)


def test_bad_hybrids():
    with pytest.raises(InvalidArgumentError, match=r"second must be LogBarrier\(\), "):
        bw.Hybrid(bw.Shannon(), "tsallis")
    with pytest.raises(InvalidArgumentError, match="weight must be a finite number above 0"):
        bw.Hybrid(bw.Shannon(), bw.LogBarrier(), weight=0.0)
