"""Tsallis or Shannon entropy, any rates, with an extra barrier C > 0: y_i = γ_i·h(v_i) + C·e^{v_i}.

Here y_i = L_i − λ and v = −log p: no closed form. Newton in all w_i = 1/p_i, in which y is nearly linear, and
λ at once. With the defect e = y − γh − Cw, s = dy/dv = γh' + Cw, and  dλ = (1 − Σp + Σ p·e/s) / Σ p/s ,

    a = (e − dλ)/s,      w ← w·(1 + a + b·a²),      b = (s − d²y/dv²)/(2s) = (h' − h'')·γ/(2s) .

The second-order term b·a² makes the step of each arm third-order; that of λ follows, as the Σp to which it
would lead says by how much to mend dλ. Neither needs another power or logarithm. A step is accepted once
all |a| ≤ 1e-5, with which what is left is of the order of 1e-15. The arm whose loss has changed is brought
near its root before, alone, and the others by the λ that makes up for it. A step that would make p more
than four times as large is cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, generic, kernel
from bothworlds._simd import LANES, add_up, exp_of, fill, lane, load, log_of, most, store, whole
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.steps.base import (
    CANCELLATION,
    MULTIPLIER,
    N_CARRIED,
    PASSES,
    TOTAL,
    adds_up,
    advance,
    carries,
    cold,
)

GIVE = N_CARRIED  # Σ p/s; then three numbers per arm: e/s, 1/s and b
BY_ARM = N_CARRIED + 1
SMALL = 1e-5
ALONE = 3  # steps of the one arm whose loss has changed
CUT = -0.75  # the least change of w


class TsallisBarrierStep(NamedTuple):
    """No parameter; the type selects the kernel."""


class ShannonBarrierStep(NamedTuple):
    """No parameter; the type selects the kernel."""


@generic
def height_and_slope(step: Any, regularizer: Any, depth: Any) -> tuple[Any, Any, float]:
    """h(v) and its derivative h', for a block of depths, and (h' − h'')/h', which does not depend on v."""
    raise NotImplementedError


@height_and_slope.register(TsallisBarrierStep, inline=True)
def _(step: TsallisBarrierStep, regularizer: Any, depth: Any) -> tuple[Any, Any, float]:
    power = 1.0 - regularizer.beta
    h = regularizer.factor * exp_of(power * depth)
    return h, power * h, regularizer.beta


@height_and_slope.register(ShannonBarrierStep, inline=True)
def _(step: ShannonBarrierStep, regularizer: Any, depth: Any) -> tuple[Any, Any, float]:
    return depth, fill(1.0), 1.0


def _carries(step: Any, n_arms: int) -> int:
    return BY_ARM + 3 * n_arms


@kernel(inline=True)
def defect(
    step: Any, regularizer: Any, y: Any, rate: Any, log_barrier: float, p: Any
) -> tuple[Any, Any, Any]:
    """e/s, 1/s and b of a block of arms."""
    h, slope, bend = height_and_slope(step, regularizer, 0.0 - log_of(p))
    barrier = log_barrier / p
    steep = rate * slope
    give = 1.0 / (steep + barrier)
    return (y - rate * h - barrier) * give, give, (0.5 * bend) * (steep * give)


@kernel(inline=True)
def fill_defects(
    step: Any,
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    shift: float,
    p: FloatArray,
    defects: FloatArray,
    gives: FloatArray,
    bends: FloatArray,
) -> tuple[float, float, float]:
    """Fill e/s, 1/s and b; return Σp, Σ p·e/s and Σ p/s."""
    n = p.size
    sums, wrong, give = fill(0.0), fill(0.0), fill(0.0)
    for i in range(0, whole(n), LANES):
        block = load(p, i)
        e, g, b = defect(step, regularizer, load(losses, i) - shift, load(rates, i), log_barrier, block)
        store(defects, i, e)
        store(gives, i, g)
        store(bends, i, b)
        sums = sums + block
        wrong = wrong + block * e
        give = give + block * g
    total, error, slack = add_up(sums), add_up(wrong), add_up(give)
    for i in range(whole(n), n):
        e, g, b = defect(step, regularizer, fill(losses[i] - shift), fill(rates[i]), log_barrier, fill(p[i]))
        defects[i], gives[i], bends[i] = lane(e, 0), lane(g, 0), lane(b, 0)
        total += p[i]
        error += p[i] * defects[i]
        slack += p[i] * gives[i]
    return total, error, slack


@kernel(inline=True)
def moved_to(p: Any, e: Any, give: Any, bend: Any, dx: float) -> tuple[Any, Any]:
    """p/(1 + a + b·a²), and a, of a block or an arm."""
    a = e - give * dx
    return p / (1.0 + most(a * (1.0 + bend * a), CUT)), a


@kernel(inline=True)
def shift_p(
    p: FloatArray, defects: FloatArray, gives: FloatArray, bends: FloatArray, dx: float, keep: bool
) -> tuple[float, float]:
    """The new Σp and the sum of all |a|; ``p`` itself is only changed if it is to be kept."""
    n = p.size
    sums, change = fill(0.0), fill(0.0)
    for i in range(0, whole(n), LANES):
        block, a = moved_to(load(p, i), load(defects, i), load(gives, i), load(bends, i), dx)
        if keep:
            store(p, i, block)
        sums = sums + block
        change = change + most(a, 0.0 - a)
    total, largest = add_up(sums), add_up(change)
    for i in range(whole(n), n):
        block, a = moved_to(fill(p[i]), defects[i], gives[i], bends[i], dx)
        if keep:
            p[i] = lane(block, 0)
        total += lane(block, 0)
        largest += abs(a)
    return total, largest


def _advance(
    step: Any,
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    carried: FloatArray,
    p: FloatArray,
    moved: int,
    before: float,
    drift: float,
) -> int:
    n = p.size
    defects = carried[BY_ARM : BY_ARM + n]
    gives = carried[BY_ARM + n : BY_ARM + 2 * n]
    bends = carried[BY_ARM + 2 * n : BY_ARM + 3 * n]
    shift = carried[MULTIPLIER]
    if moved >= 0 and carried[GIVE] > 0.0 and losses[moved] != before:
        old, slack = p[moved], carried[GIVE] - p[moved] * gives[moved]
        alone, y, rate = fill(old), fill(losses[moved] - shift), fill(rates[moved])
        for _ in range(ALONE):
            e, g, b = defect(step, regularizer, y, rate, log_barrier, alone)
            alone = moved_to(alone, e, g, b, 0.0)[0]
        new, give = lane(alone, 0), lane(g, 0)
        dx = (old - new) / (slack + new * give)
        for i in range(n):
            p[i] = p[i] / (1.0 + max(-gives[i] * dx, CUT))
        p[moved] = new / (1.0 + max(-give * dx, CUT))
        shift += dx
    else:
        shift += drift
    for _ in range(PASSES):
        total, error, slack = fill_defects(
            step, regularizer, losses, rates, log_barrier, shift, p, defects, gives, bends
        )
        dx = (1.0 - total + error) / slack
        dx += (1.0 - shift_p(p, defects, gives, bends, dx, False)[0]) / slack
        shift += dx
        total, largest = shift_p(p, defects, gives, bends, dx, True)
        if largest <= SMALL:
            # Σp/s is a mean of 1/s: digits of y = L − λ are lost where λ is far larger than s
            if adds_up(total, p.size) and abs(shift) * slack <= CANCELLATION:
                carried[MULTIPLIER] = shift
                carried[TOTAL] = total
                carried[GIVE] = slack
                return CONVERGED
            break
    return cold(step, regularizer, losses, rates, log_barrier, carried, p)


for _kind in (TsallisBarrierStep, ShannonBarrierStep):
    carries.register(_kind)(_carries)
    advance.register(_kind, inline=True)(_advance)
