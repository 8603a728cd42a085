"""The step over sets of m arms, Σp = m with every p below 1: against a 50-digit oracle, and properties."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.simplex.kernel import CONVERGED, FAILED, SUM_TOLERANCE, kkt_residual, solve_step
from bothworlds.simplex.regularizers import ComplementBarrier, ComplementTsallis
from bothworlds.simplex.regularizers.base import respond, slope
from bothworlds.simplex.steps import SEVERAL, SetStep, advance, begin, carries, note_round
from oracle import complement as oracle

SETS = {
    "ties": ([0.0] * 5, [1.0] * 5),
    "gaps": ([0.0, 1.0, 2.0, 5.0], [1.2, 1.3, 1.4, 1.2]),
    "two ahead": ([0.0, 0.5, 60.0, 61.0], [1.2, 2.0, 1.2, 3.0]),
    "huge offset": ([1e12, 1e12 + 1.0, 1e12 + 8.0], [2.0, 1.0, 1.0]),
}


def solved(losses, rates, regularizer, total, log_barrier=0.0, multiplier=math.nan, start=None):
    """The step as plain Python."""
    losses, rates = np.array(losses), np.array(rates)
    p = np.zeros(losses.size) if start is None else np.array(start)
    params = regularizer.parameters()
    base, shift, excess, _, status = solve_step(params, losses, rates, log_barrier, total, multiplier, p)
    assert status != FAILED
    assert abs(excess) <= SUM_TOLERANCE * total
    assert abs(math.fsum(p) - total) <= SUM_TOLERANCE * total
    assert kkt_residual(params, losses, rates, log_barrier, base, shift, p) <= 1e-12
    assert ((p > 0.0) & (p <= 1.0)).all()
    return p, base - shift


@pytest.mark.parametrize("kind", [ComplementBarrier, ComplementTsallis])
@pytest.mark.parametrize("case", SETS)
def test_it_agrees_with_the_oracle(case, kind):
    losses, rates = SETS[case]
    root = kind is ComplementTsallis
    for total, weight, log_barrier in ((2, 2.0, 0.0), (len(losses) - 1, 9.2, 0.0), (2, 0.3, 1.5)):
        p, multiplier = solved(losses, rates, kind(weight), float(total), log_barrier)
        exact, exact_multiplier = oracle.solve(losses, rates, weight, log_barrier, total, root)
        exact = np.array([float(value) for value in exact])
        # where all arms are near 0 or 1 the sum hardly depends on λ, which is as exact as that allows
        first = [slope(kind(weight).parameters(), -math.log(q))[1] if q < 1.0 else math.inf for q in exact]
        change = np.array(rates) * first + log_barrier / exact  # dλ/dv
        slack = 4e-15 * total / (exact / change).sum() + 1e-15 * max(1.0, *losses, abs(multiplier))
        assert abs(multiplier - float(exact_multiplier)) <= slack
        assert (abs(p / exact - 1.0) <= slack / change + 1e-13).all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_problem_is_solved_and_certified(data):
    n = data.draw(st.integers(2, 11))
    m = data.draw(st.integers(1, n - 1))
    numbers = st.lists(st.floats(0, 1e5), min_size=n, max_size=n)
    rates = data.draw(st.lists(st.floats(0.25, 100), min_size=n, max_size=n))
    kind = data.draw(st.sampled_from([ComplementBarrier, ComplementTsallis]))
    regularizer = kind(data.draw(st.floats(0.1, 20)))
    p, multiplier = solved(data.draw(numbers), rates, regularizer, float(m))
    solved(data.draw(numbers), rates, regularizer, float(m), multiplier=multiplier, start=p)


@pytest.mark.parametrize("weight", [1e-2, 2.0, 40.0])
@pytest.mark.parametrize("log_barrier", [0.0, 0.7])
def test_the_response_inverts_the_slope(weight, log_barrier):
    # from p = 1e-12 to odds of 1e-12 against the arm; with any start, good or bad, or none
    params = ComplementTsallis(weight).parameters()
    for depth in 10.0 ** np.linspace(-12, math.log10(27.0), 40):
        height, first, second = slope(params, depth)
        barrier = log_barrier * math.exp(depth)
        for start in (0.0, math.exp(-depth), 0.5, 1e-9, 1.0 - 1e-9, 1.0):
            p, dy, ddy = respond(params, 3.0 * height + barrier, 3.0, log_barrier, start)
            assert p == pytest.approx(math.exp(-depth), rel=1e-12)
            assert dy == pytest.approx(3.0 * first + barrier, rel=1e-8)
            assert ddy == pytest.approx(3.0 * second + barrier, rel=1e-7, abs=1e-8 * first)


def test_the_slope_is_that_of_the_definition():
    params = ComplementTsallis(3.0).parameters()
    for p in (0.01, 0.3, 0.9):
        height, first, second = slope(params, -math.log(p))
        assert height == pytest.approx(1 / math.sqrt(p) + 3 * math.log(1 - p))
        up, here, down = (slope(params, -math.log(p) + step)[0] for step in (1e-4, 0.0, -1e-4))
        assert first == pytest.approx((up - down) / 2e-4, rel=1e-6)
        assert second == pytest.approx((up - 2 * here + down) / 1e-8, rel=1e-4, abs=1e-5)


GROUPS = {
    "any": bw.Problem(choose="any"),
    "at most 2": bw.Problem(choose=(0, 2), outside=0.3),
    "2 to 3": bw.Problem(choose=(2, 3)),
    "slots": bw.Problem(slots=[2, 4]),
}


def advanced(problem, regularizer, rounds, log_barrier=0.0):
    """What the step makes of losses and rates, round by round, as plain Python: p, losses, rates, λ₀."""
    step = SetStep(problem.groups(6), 0.0, 0.0)
    params = regularizer.parameters()
    carried, p = np.zeros(carries(step, 6)), np.empty(6)
    begin(step, params, rounds[0][1][0], log_barrier, carried, p)
    for t, row in enumerate(rounds, 1):
        losses, rates = map(np.array, row)
        note_round(step, carried, float(t), 0.0)
        status = advance(step, params, losses, rates, log_barrier, carried, p, SEVERAL, 0.0, 0.0)
        assert status == CONVERGED
        yield p.copy(), losses, rates, problem.outside * (t - 1.0)


@pytest.mark.parametrize("log_barrier", [pytest.param(0.0, marks=pytest.mark.slow), 0.7])
@pytest.mark.parametrize("kind", [ComplementBarrier, ComplementTsallis])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == "at most 2" else ()) for name in GROUPS],
)
def test_groups_and_limits(name, kind, log_barrier):
    """KKT to 50 digits: λ = λ₀ within the limits, Σp = the limit with λ on the right side of λ₀ at it."""
    problem, rng = GROUPS[name], np.random.default_rng(3)
    losses, rounds, places = np.zeros(6), [], set()
    for t in range(8):
        rounds.append((losses.copy(), np.sqrt(t + 1.0) * rng.uniform(0.5, 1.5, 6)))
        losses += rng.choice([0.0, 0.4, 7.0, -5.0, 30.0], 6)
    root = kind is ComplementTsallis
    for p, losses, rates, outside in advanced(problem, kind(2.0), rounds, log_barrier):
        assert ((p > 0.0) & (p < 1.0)).all()
        for first, last, fewest, most in zip(*problem.groups(6)[:4], strict=True):
            part = slice(first, last)
            with mp.workdps(oracle.DIGITS):
                pairs = zip(losses[part], rates[part], strict=True)
                exact = [oracle.arm(outside - loss, rate, log_barrier, 2.0, root) for loss, rate in pairs]
            if fewest <= float(sum(exact)) <= most and fewest < most:
                places.add("between")
            else:
                limit = most if fewest == most or sum(exact) > most else fewest
                exact, multiplier = oracle.solve(losses[part], rates[part], 2.0, log_barrier, limit, root)
                if fewest < most:
                    places.add("at the most" if limit == most else "at the fewest")
                    assert (multiplier < outside) == (limit == most)
            np.testing.assert_allclose(p[part], [float(value) for value in exact], rtol=3e-12)
            rest = [float(1 - value) for value in exact]
            np.testing.assert_allclose(1.0 - p[part], rest, rtol=1e-9, atol=1e-15)
    wanted = {"any": 1, "at most 2": 2, "2 to 3": 2, "slots": 0}
    assert len(places) >= wanted[name], places


def test_what_the_step_cannot_do_the_general_solver_does(monkeypatch):
    monkeypatch.setattr("bothworlds.simplex.steps.sets.PASSES", 0)
    rounds = [([0.0, 3.0, 1.0, 9.0, 9.0, 9.0], [1.0] * 6)] * 2
    for name in ("slots", "at most 2"):
        for p, losses, rates, _ in advanced(GROUPS[name], ComplementTsallis(2.0), rounds):
            first = slice(0, 2) if name == "slots" else slice(0, 6)
            total = 1.0 if name == "slots" else p.sum()
            exact, _ = solved(losses[first], rates[first], ComplementTsallis(2.0), total)
            np.testing.assert_allclose(p[first], exact, rtol=1e-12)


def test_a_total_that_the_arms_cannot_hold_is_refused():
    for total in (3.0, 3.5):
        with pytest.raises(InvalidArgumentError, match=r"total must be below the number of arms, 3, got 3"):
            bw.solve([0.0, 1.0, 2.0], 1.0, ComplementTsallis(1.0), total=total)


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, None])
def test_bad_weights(weight):
    with pytest.raises(InvalidArgumentError, match="weight must be a finite number above 0"):
        ComplementTsallis(weight)
