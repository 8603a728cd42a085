"""The FTRL step in 60-digit arithmetic.

A regularizer is a list of (weight, kind, beta) with kind "log", "tsallis", "centered" (Tsallis with its
linear term), "inverse" (ψ = 1/p) or "shannon"; several entries make a hybrid. Two nested Newton searches,
each monotone: per arm on y(v) = Σ weight·h(v)·γ + C·e^v, which is convex and increasing in the depth
v = −log p; outside on Σp(x) = total, which is convex and decreasing in the shift x = min L − λ.
"""

from __future__ import annotations

import mpmath as mp

DIGITS = 60


def slope(parts, rate, barrier, depth):
    """y and dy/dv of one arm at p = exp(−depth)."""
    e = mp.exp(depth)
    y = barrier * e
    dy = barrier * e
    for weight, kind, beta in parts:
        if kind == "log":
            term, derivative = e, e
        elif kind == "tsallis":
            b = mp.mpf(beta)
            term = b / (1 - b) * mp.exp((1 - b) * depth)
            derivative = (1 - b) * term
        elif kind == "centered":
            b = 1 - mp.mpf(beta)
            term, derivative = mp.expm1(b * depth) / b, mp.exp(b * depth)
        elif kind == "inverse":
            term, derivative = e**2, 2 * e**2
        else:
            term, derivative = depth, mp.mpf(1)
        y += rate * weight * term
        dy += rate * weight * derivative
    return y, dy


def depth_beyond(parts, rate, barrier, y):
    """A depth beyond the root: no single term may reach y on its own (all terms are ≥ 0 for v ≥ 0)."""
    if y <= slope(parts, rate, barrier, mp.mpf(0))[0]:
        return mp.mpf(0)
    candidates = [mp.log(y / barrier)] if barrier > 0 else []
    for weight, kind, beta in parts:
        s = y / (rate * weight)
        if kind == "log":
            candidates.append(mp.log(s))
        elif kind == "tsallis":
            candidates.append(mp.log(s * (1 - mp.mpf(beta)) / beta) / (1 - mp.mpf(beta)))
        elif kind == "centered":
            candidates.append(mp.log1p(s * (1 - mp.mpf(beta))) / (1 - mp.mpf(beta)))
        elif kind == "inverse":
            candidates.append(mp.log(s) / 2)
        else:
            candidates.append(s)
    return min(candidates)


def arm(parts, rate, barrier, y, depth=None):
    """Depth, p and dy/dv of the arm whose slope is y; ``depth`` may be a guess."""
    if depth is None:
        depth = depth_beyond(parts, rate, barrier, y)
    for _ in range(2000):
        value, derivative = slope(parts, rate, barrier, depth)
        step = (value - y) / derivative
        depth -= step
        if abs(step) < mp.mpf(10) ** (12 - DIGITS) * (1 + abs(depth)):
            return depth, mp.exp(-depth), derivative
    raise ArithmeticError("inner Newton did not converge")


def solve(losses, rates, parts, log_barrier=0.0, total=1.0, start=None):
    """(p, λ) as mpf. ``start`` may hold guesses of both; the root is unique, so they only save time."""
    with mp.workdps(DIGITS):
        pairs = [(mp.mpf(loss), mp.mpf(rate)) for loss, rate in zip(losses, rates, strict=True)]
        barrier, total = mp.mpf(log_barrier), mp.mpf(total)
        base = min(loss for loss, _ in pairs)
        low = max(slope(parts, rate, barrier, -mp.log(total))[0] - (loss - base) for loss, rate in pairs)
        if len(pairs) == 1:
            return [total], base - low
        guesses, multiplier = ([0.0] * len(pairs), base - low) if start is None else start
        x = max(low, base - mp.mpf(multiplier))
        depths = [-mp.log(mp.mpf(float(p))) if p > 1e-300 else None for p in guesses]
        for _ in range(2000):
            arms = [
                arm(parts, rate, barrier, loss - base + x, depth)
                for (loss, rate), depth in zip(pairs, depths, strict=True)
            ]
            step = (mp.fsum(p for _, p, _ in arms) - total) / mp.fsum(p / dy for _, p, dy in arms)
            if abs(step) <= mp.mpf(10) ** -40 * abs(x):
                return [p for _, p, _ in arms], base - x
            x = max(low, x + step)
            # a small step keeps each depth a good guess; after a large one, begin beyond the root again
            depths = [depth for depth, _, _ in arms] if abs(step) < abs(x) / 100 else [None] * len(pairs)
        raise ArithmeticError("outer Newton did not converge")


def kkt_spread(p, losses, rates, parts, log_barrier):
    """How far L_i + φ_i'(p_i) is from being the same for all arms, relative to the terms of each arm."""
    with mp.workdps(DIGITS):
        values, scales = [], []
        base = mp.mpf(float(min(losses)))
        for value, loss, rate in zip(p, losses, rates, strict=True):
            if value < 1e-300:
                continue
            y, dy = slope(
                parts, mp.mpf(float(rate)), mp.mpf(float(log_barrier)), -mp.log(mp.mpf(float(value)))
            )
            values.append(mp.mpf(float(loss)) - base - y)
            scales.append(abs(y) + dy)
        middle = [-v for v in values]
        # the multiplier lies within every arm's own rounding: compare with the most exact arm
        anchor = middle[min(range(len(scales)), key=lambda i: scales[i])]
        return float(max(abs(m - anchor) / s for m, s in zip(middle, scales, strict=True)))
