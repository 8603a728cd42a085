"""Tsallis (any β) and Shannon entropy without an extra barrier, any rates: p has a closed form.

With y_i = L_i − λ it is  p_i = (c_i/y_i)^m,  c_i = γ_i·β/(1−β), m = 1/(1−β),  or  p_i = e^{−y_i/γ_i}.

*Step.* Let F(λ) = Σp, with derivative F' and second derivative F'', and κ = 1/m. Newton on F^{−κ} (log F for
κ = 0), which is concave, and linear for equal arms, with its second-order term is

    d + ½·((1+κ)·F'/F − F''/F')·d²,      d = (1 − F^κ)/κ·F/F' .

*Passes.* A first pass at the old λ, where the step is from, and a second one that verifies it. Above the
upper end of the bracket, where some p_i = 1 and F ≥ 1, the search goes on from that end, from where
Newton descends to the root without leaving the bracket.

*Finish.* With v = dx·p'/p, what is left changes p by the factor 1 + v + (1+κ)/2·v² + …

Probabilities below e^{−700} are held there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, generic, kernel
from bothworlds._simd import (
    LANES,
    add_up,
    exp_of,
    fill,
    lane,
    least,
    load,
    log_of,
    most,
    smallest,
    store,
    whole,
)
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.steps.base import (
    CANCELLATION,
    MULTIPLIER,
    NEAR,
    PASSES,
    SLACK,
    TOTAL,
    adds_up,
    advance,
    cold,
)


class TsallisClosedStep(NamedTuple):
    """No parameter; the type selects the kernel."""


class ShannonClosedStep(NamedTuple):
    """No parameter; the type selects the kernel."""


@generic
def inverse_order(step: Any, regularizer: Any) -> float:
    """κ = 1/m: 1 − β for Tsallis entropy, 0 for Shannon entropy."""
    return 0.0


@inverse_order.register(TsallisClosedStep, inline=True)
def _(step: TsallisClosedStep, regularizer: Any) -> float:
    return float(1.0 - regularizer.beta)


@generic
def respond_to(step: Any, regularizer: Any, y: Any, rate: Any) -> tuple[Any, Any, Any]:
    """p, p'/p, and y minus its value at p = 1, of a block of arms."""
    raise NotImplementedError


@respond_to.register(TsallisClosedStep, inline=True)
def _(step: TsallisClosedStep, regularizer: Any, y: Any, rate: Any) -> tuple[Any, Any, Any]:
    m = 1.0 / (1.0 - regularizer.beta)
    c = rate * regularizer.factor
    # outside the bracket y may be negative; what comes out then is not used
    return exp_of(m * log_of(most(c / most(y, 1e-300), 1e-300))), m / y, y - c


@respond_to.register(ShannonClosedStep, inline=True)
def _(step: ShannonClosedStep, regularizer: Any, y: Any, rate: Any) -> tuple[Any, Any, Any]:
    speed = 1.0 / rate
    return exp_of(0.0 - y * speed), speed, y


@generic
def speed_of(step: Any, regularizer: Any, y: Any, rate: Any) -> Any:
    """p'/p of a block of arms."""
    raise NotImplementedError


@speed_of.register(TsallisClosedStep, inline=True)
def _(step: TsallisClosedStep, regularizer: Any, y: Any, rate: Any) -> Any:
    return (1.0 / (1.0 - regularizer.beta)) / y


@speed_of.register(ShannonClosedStep, inline=True)
def _(step: ShannonClosedStep, regularizer: Any, y: Any, rate: Any) -> Any:
    return 1.0 / rate


@kernel(inline=True)
def fill_responses(
    step: Any, regularizer: Any, losses: FloatArray, rates: FloatArray, shift: float, p: FloatArray
) -> tuple[float, float, float, float, float]:
    """Fill p; return F, F', F''/(1+κ), the smallest distance to p = 1, and p'/p at most."""
    n = p.size
    a, b, c, room, slow = fill(0.0), fill(0.0), fill(0.0), fill(math.inf), fill(math.inf)
    for i in range(0, whole(n), LANES):
        block, speed, space = respond_to(step, regularizer, load(losses, i) - shift, load(rates, i))
        store(p, i, block)
        a = a + block
        block = block * speed
        b = b + block
        c = c + block * speed
        room = least(space, room)
        slow = least(0.0 - speed, slow)
    mass, slope, curve, closest, fastest = add_up(a), add_up(b), add_up(c), smallest(room), smallest(slow)
    for i in range(whole(n), n):
        block, speed, space = respond_to(step, regularizer, fill(losses[i] - shift), fill(rates[i]))
        p[i], last, distance = lane(block, 0), lane(speed, 0), lane(space, 0)
        mass += p[i]
        slope += p[i] * last
        curve += (p[i] * last) * last
        closest = min(distance, closest)
        fastest = min(-last, fastest)
    return mass, slope, curve, closest, -fastest


@kernel(inline=True)
def finish(
    step: Any,
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    shift: float,
    dx: float,
    p: FloatArray,
) -> float:
    """Take p from λ to λ + dx; return Σp."""
    n = p.size
    half = 0.5 * (1.0 + inverse_order(step, regularizer))
    sums = fill(0.0)
    for i in range(0, whole(n), LANES):
        v = speed_of(step, regularizer, load(losses, i) - shift, load(rates, i)) * dx
        block = load(p, i) * (1.0 + v * (1.0 + half * v))
        store(p, i, block)
        sums = sums + block
    total = add_up(sums)
    for i in range(whole(n), n):
        v1 = speed_of(step, regularizer, losses[i] - shift, rates[i]) * dx
        p[i] = p[i] * (1.0 + v1 * (1.0 + half * v1))
        total += p[i]
    return total


@kernel(inline=True)
def lacking(kappa: float, mass: float) -> float:
    """(1 − F^κ)/κ; −log F for κ = 0."""
    excess = mass - 1.0
    if abs(excess) < 1e-3:  # its series: no cancellation
        return -excess * (1.0 - 0.5 * (1.0 - kappa) * excess * (1.0 - (2.0 - kappa) / 3.0 * excess))
    return -math.log(mass) if kappa == 0.0 else -math.expm1(kappa * math.log(mass)) / kappa


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
    kappa = inverse_order(step, regularizer)
    shift = carried[MULTIPLIER] + drift
    for _ in range(PASSES):
        mass, slope, curve, closest, fastest = fill_responses(step, regularizer, losses, rates, shift, p)
        if not closest * fastest >= -SLACK or not fastest > 0.0:  # beyond the upper end, or NaN
            shift += closest
            continue
        d = lacking(kappa, mass) * (mass / slope)
        dx = d + (0.5 * (1.0 + kappa)) * (slope / mass - curve / slope) * (d * d)
        if abs(dx) * fastest <= NEAR:
            total = finish(step, regularizer, losses, rates, shift, dx, p)
            shift += dx
            if adds_up(total, p.size) and abs(shift) * fastest <= CANCELLATION:
                carried[MULTIPLIER] = shift
                carried[TOTAL] = total
                return CONVERGED
            break
        shift += dx
    return cold(step, regularizer, losses, rates, log_barrier, carried, p)


for _kind in (TsallisClosedStep, ShannonClosedStep):
    advance.register(_kind, inline=True)(_advance)
