"""Exact draws from distributions, out of the uniforms that grow from one (see rng.expand)."""

from __future__ import annotations

import math

from bothworlds._jit import kernel
from bothworlds.rng import expand

LOG_4 = math.log(4.0)
LOG_5_PLUS_1 = 1.0 + math.log(5.0)


@kernel
def sample_beta(a: float, b: float, uniform: float, stream: int) -> float:
    """An exact draw from Beta(a, b), a, b ≥ 1, from the uniforms that grow from ``uniform``.

    Different ``stream`` numbers (below 2^31) give independent draws. a = 1 and b = 1 by inversion, all else
    by Cheng's algorithm BB: rejection from the distribution of w/(b + w), w = a·(u/(1−u))^β, with a ≤ b.
    The two tests before the last are cheap consequences of it, by log x ≤ x − 1, and change no outcome.

    R. Cheng: Generating Beta Variates with Nonintegral Shape Parameters. Comm. ACM 21 (1978).
    """
    counter = stream << 32
    if a == 1.0:
        return -math.expm1(math.log(expand(uniform, counter)) / b)
    if b == 1.0:
        return math.exp(math.log(expand(uniform, counter)) / a)
    low = min(a, b)
    high = max(a, b)
    total = a + b
    beta = math.sqrt((total - 2.0) / (2.0 * a * b - total))
    gamma = low + 1.0 / beta
    while True:
        u = expand(uniform, counter)
        z = u * u * expand(uniform, counter + 1)
        counter += 2
        v = beta * math.log(u / (1.0 - u))  # |v| < 37: u is at least 2^-53 from 0 and 1, and β ≤ 1
        w = low * math.exp(v)
        r = gamma * v - LOG_4
        s = low + r - w
        if s + LOG_5_PLUS_1 >= 5.0 * z:
            break
        log_z = math.log(z)
        if s >= log_z or r + total * math.log(total / (high + w)) >= log_z:
            break
    return w / (high + w) if a <= b else high / (high + w)


@kernel
def sample_truncated_normal(location: float, scale: float, uniform: float, stream: int) -> float:
    """An exact draw from a normal distribution restricted to [0, 1], by rejection.

    For a location in [0, 1] and a scale of at most 1 at least 34% of the tries are kept.
    """
    counter = stream << 32
    while True:
        radius = math.sqrt(-2.0 * math.log(expand(uniform, counter)))
        angle = 2.0 * math.pi * expand(uniform, counter + 1)
        counter += 2
        for z in (radius * math.cos(angle), radius * math.sin(angle)):  # Box and Muller
            value = location + scale * z
            if 0.0 <= value <= 1.0:
                return value
