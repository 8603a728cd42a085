"""The Kullback–Leibler divergence between Bernoulli distributions, and confidence bounds by it."""

from __future__ import annotations

import math

from bothworlds._jit import kernel

KL_NEWTON_LIMIT = 100  # 5 steps are common, 19 the most in 400 000 hostile inputs
SMALLEST_EXPONENT = -700.0  # exp() of less is below 1e-304


@kernel
def kl(p: float, q: float) -> float:
    """kl(p, q) = p·log(p/q) + (1−p)·log((1−p)/(1−q)), for 0 ≤ q ≤ p ≤ 1 with q > 0 where p > 0."""
    gap = p - q
    value = 0.0
    if p > 0.0:
        # near p the first-order terms of the two logarithms cancel: log1p of the gap keeps what is left
        value += p * math.log(p / q) if q < 0.5 * p else -p * math.log1p(-gap / p)
    if p < 1.0:
        value -= (1.0 - p) * math.log1p(gap / (1.0 - p))
    return value


@kernel
def kl_lower(p: float, level: float) -> float:
    """The smallest q in [0, p] with kl(p, q) ≤ level; the largest above p is 1 − kl_lower(1 − p, level).

    kl(p, ·) decreases and is convex on (0, p]. So Newton's method from a point left of the root stays left
    of it and moves right, always. Two such points, of which the right one is taken:

    * p − √(level/2): there kl ≥ 2(p − q)² = level, by Pinsker's inequality;
    * exp(−(level + H)/p), H = −p·log p − (1−p)·log(1−p): there p·log(1/q) − H = level, and kl is no less,
      because it only adds −(1−p)·log(1−q) ≥ 0.

    A bound below 1e-304 is returned as 0.
    """
    if p <= 0.0 or level <= 0.0:
        return p
    entropy = -p * math.log(p)
    if p < 1.0:
        entropy -= (1.0 - p) * math.log1p(-p)
    exponent = -(level + entropy) / p
    if exponent < SMALLEST_EXPONENT:
        return 0.0
    q = max(p - math.sqrt(0.5 * level), math.exp(exponent))
    for _ in range(KL_NEWTON_LIMIT):
        if q >= p:
            return p
        step = (kl(p, q) - level) * q * (1.0 - q) / (p - q)
        q += step
        if step <= 2e-16 * q:
            break
    return q
