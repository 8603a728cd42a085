"""The FTRL step as a kernel: a safeguarded third-order root search in a proven bracket.

Minimize ``<p, L> + Σ_i [ γ_i ψ(p_i) − C log p_i ]`` over p ≥ 0 with Σp = m. By the KKT conditions there is
one number λ with  γ_i h(v_i) + C e^{v_i} = L_i − λ  for every arm (v = −log p, h as in regularizers/base.py).

*Unknown.* The shift x = min L − λ, so that y_i = (L_i − min L) + x is a sum of non-negative terms: nothing
cancels, whatever the size of L (for m ≤ 1; a larger mass with Shannon entropy makes x negative).

*Bracket.* Let Y_i(p) be the slope y at which arm i has probability p; it decreases in p.
  low  = max_i [Y_i(m)   − (L_i − min L)]: there some arm has p_i = m, so Σp ≥ m;
  high = max_i [Y_i(m/K) − (L_i − min L)]: there every arm has p_i ≤ m/K, so Σp ≤ m.
If no arm can have p_i = m (ψ' is infinite there: Y_i(m) = −∞), then instead
  low  = min_i [Y_i(m/K) − (L_i − min L)]: there every arm has p_i ≥ m/K, so Σp ≥ m.

*Step.* F(x) = Σ p_i is decreasing and log-convex. With κ = F F''/F'² − 1 ≥ 0 the function F^{−κ} has no
second-order term, so Newton on F^{−κ} converges with order three; for equal arms it is exact.
A step that leaves the bracket, and every third step once progress is slow, is replaced by bisection.
Where an arm nears the end of its domain F is not log-convex, and κ may be far below 0; κ = −1, which is
Newton on F itself, is then as far as it goes.

*Sum.* F − m is accumulated with error-free additions, so that the residual is not rounding noise of a
sum of 10⁶ terms. The returned p is what was summed: nothing is renormalized.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds.simplex.regularizers.base import respond, slope

CONVERGED = 0  # |Σp − m| ≤ 1e-12 m
LIMITED = 1  # λ is exact to the last bit of float64, which leaves the sum within 1e-6 m
FAILED = 2  # neither: never seen; a caller must not use p

SUM_GOAL = 2e-15  # stop as soon as the sum is this exact, relative to m
SUM_TOLERANCE = 1e-12  # what CONVERGED promises
SUM_LIMIT = 1e-6  # what LIMITED promises
STEP_RESOLUTION = 4.5e-16  # two units in the last place of x
ITERATION_LIMIT = 200
PATIENCE = 12  # iterations before bisections are mixed in


@kernel
def total_response(
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    total: float,
    base: float,
    shift: float,
    p: FloatArray,
) -> tuple[float, float, float]:
    """Fill ``p`` (its old content is the warm start); return Σp − m (compensated), −F' and F''."""
    excess = -total
    carry = 0.0
    steepness = 0.0
    curvature = 0.0
    for i in range(losses.size):
        value, first, second = respond(regularizer, losses[i] - base + shift, rates[i], log_barrier, p[i])
        p[i] = value
        ratio = value / first
        steepness += ratio
        curvature += ratio * (1.0 + second / first) / first
        # Knuth's two-sum: new + error == excess + value exactly
        new = excess + value
        back = new - excess
        carry += (excess - (new - back)) + (value - back)
        excess = new
    return excess + carry, steepness, curvature


@kernel
def step_towards(excess: float, steepness: float, curvature: float, total: float) -> float:
    """The change of x that brings Σp from m + excess to m, if F^{−κ} were linear."""
    mass = total + excess
    kappa = max(-1.0, mass * curvature / (steepness * steepness) - 1.0)
    error = excess / total
    if abs(error) < 1e-3:  # ((1+e)^κ − 1)/κ by its series: no cancellation, no logarithm
        growth = error * (1.0 + 0.5 * (kappa - 1.0) * error * (1.0 + (kappa - 2.0) * error / 3.0))
    elif kappa < 1e-8:
        growth = math.log1p(error)
    else:
        growth = math.expm1(min(kappa * math.log1p(error), 300.0)) / kappa  # beyond any bracket, still finite
    return growth * mass / steepness


@kernel
def solve_step(
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    total: float,
    multiplier: float,
    p: FloatArray,
) -> tuple[float, float, float, int, int]:
    """Fill ``p`` with the solution; return (min L, shift x, Σp − m, iterations, status).

    ``multiplier`` is a guess of λ = min L − x (NaN: none) and ``p`` a guess of the solution (0: none).
    """
    n_arms = losses.size
    at_total = slope(regularizer, -math.log(total))[0]
    at_share = slope(regularizer, -math.log(total / n_arms))[0]
    base = losses[0]
    for i in range(1, n_arms):
        base = min(base, losses[i])
    low = -math.inf
    high = -math.inf
    lowest = math.inf
    for i in range(n_arms):
        even = rates[i] * at_share + log_barrier / total * n_arms - (losses[i] - base)
        low = max(low, rates[i] * at_total + log_barrier / total - (losses[i] - base))
        high = max(high, even)
        lowest = min(lowest, even)
    if n_arms == 1:
        p[0] = total
        return base, low, 0.0, 0, CONVERGED

    high += 1e-12 * abs(high)  # equal arms have their root at this very end: let a rounded step land on it
    start = low
    unit = 0.0  # a change of x by this is a change of v by at most 1, whatever x is
    if low == -math.inf:
        low = lowest - 1e-12 * abs(lowest)
        start = high  # far below the root F is flat
        unit = rates[0]
        for i in range(1, n_arms):
            unit = min(unit, rates[i])  # dy/dv ≥ γ_i
    shift = base - multiplier
    if not low <= shift <= high:  # also when it is NaN
        shift = start
    excess = 0.0
    for iteration in range(1, ITERATION_LIMIT + 1):
        excess, steepness, curvature = total_response(
            regularizer, losses, rates, log_barrier, total, base, shift, p
        )
        if abs(excess) <= SUM_GOAL * total:
            return base, shift, excess, iteration, CONVERGED
        if excess > 0.0:
            low = shift
        else:
            high = shift
        step = step_towards(excess, steepness, curvature, total)
        resolution = STEP_RESOLUTION * max(abs(shift), unit)
        if abs(step) <= resolution or high - low <= resolution:
            # the root is at the next float of x, or nearer: p is exact up to its own rounding
            error = abs(excess) / total
            status = CONVERGED if error <= SUM_TOLERANCE else LIMITED if error <= SUM_LIMIT else FAILED
            return base, shift, excess, iteration, status
        new = shift + step
        if not low < new < high or (iteration > PATIENCE and iteration % 3 == 0):
            new = low + 0.5 * (high - low)
        shift = new
    return base, shift, excess, ITERATION_LIMIT, FAILED


@kernel
def kkt_residual(
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    base: float,
    shift: float,
    p: FloatArray,
) -> float:
    """The largest relative defect of γ_i h(v_i) + C/p_i = y_i, over arms with p_i ≥ 1e-300.

    Relative to |y| + dy/dv: the defect that changes p_i by its own size, or y_i by its own size.
    """
    worst = 0.0
    for i in range(losses.size):
        if p[i] < 1e-300:
            continue
        y = losses[i] - base + shift
        height, first, _ = slope(regularizer, -math.log(p[i]))
        if height == -math.inf:
            continue  # p_i < 1 has been rounded to the end of its domain
        barrier = log_barrier / p[i]
        defect = abs(y - rates[i] * height - barrier)
        worst = max(worst, defect / (abs(y) + rates[i] * first + barrier))
    return worst
