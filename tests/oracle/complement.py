"""The step with ψ(p) = p − 1 − log p + w·(p + (1−p)·log(1−p)), from its definition, by bracketed searches.

With ``of_root``, p − 1 − log p is −2√p. The total may be any m below the number of arms.
"""

from __future__ import annotations

import mpmath as mp

DIGITS = 50


def root(function, low, high):
    """The zero of an increasing function inside a bracket, by the Illinois method, to 35 digits."""
    at_low, at_high = function(low), function(high)
    side = 0
    while high - low > mp.mpf(10) ** -35 * (1 + abs(high)):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        if value == 0:
            return middle
        if value > 0:
            high, at_high = middle, value
            at_low = at_low / 2 if side == 1 else at_low
            side = 1
        else:
            low, at_low = middle, value
            at_high = at_high / 2 if side == -1 else at_high
            side = -1
        if abs(value) < mp.mpf(10) ** -42:
            return middle
    return (low + high) / 2


def derivative(p, rest, weight, of_root):
    """ψ'(p), given p and 1 − p."""
    return (-1 / mp.sqrt(p) if of_root else 1 - 1 / p) - weight * mp.log(rest)


def arm(target, rate, barrier, weight, of_root):
    """The p in (0, 1) with γψ'(p) − C/p = target, searched for as log p/(1−p)."""

    def defect(logit):
        p, rest = 1 / (1 + mp.exp(-logit)), 1 / (1 + mp.exp(logit))
        value = rate * derivative(p, rest, weight, of_root) - barrier / p - target
        return value / (1 + abs(value))  # the same zero, without the poles that slow the search down

    low, high = mp.mpf(-1), mp.mpf(1)
    while defect(low) > 0:
        low *= 2
    while defect(high) < 0:
        high *= 2
    return 1 / (1 + mp.exp(-root(defect, low, high)))


def solve(losses, rates, weight, log_barrier=0.0, total=1, of_root=False):
    """(p, λ): γ_i ψ'(p_i) − C/p_i = λ − L_i, Σp = m."""
    with mp.workdps(DIGITS):
        losses, rates = [mp.mpf(float(x)) for x in losses], [mp.mpf(float(x)) for x in rates]
        weight, barrier = mp.mpf(float(weight)), mp.mpf(float(log_barrier))
        pairs = list(zip(losses, rates, strict=True))

        def share(multiplier):
            return [arm(multiplier - loss, rate, barrier, weight, of_root) for loss, rate in pairs]

        # all p_i ≤ m/K at the lower end, all p_i ≥ m/K at the upper one
        even = mp.mpf(total) / len(losses)
        slope = derivative(even, 1 - even, weight, of_root)
        ends = [loss + rate * slope - barrier / even for loss, rate in pairs]
        multiplier = root(lambda x: mp.fsum(share(x)) - total, min(ends) - 1, max(ends) + 1)
        return share(multiplier), multiplier
