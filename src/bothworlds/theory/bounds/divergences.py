"""K_inf of families of losses: how far an arm is, in nats, from a law of its family with a smaller mean."""

from __future__ import annotations

import math

import numpy as np

from bothworlds._jit import FloatArray

BISECTIONS = 200  # beyond the last bit


def bernoulli_divergence(mean: float, best: float) -> float:
    """kl(mean, best) = m·log(m/b) + (1−m)·log((1−m)/(1−b)), for best ≤ mean.

    >>> round(bernoulli_divergence(0.5, 0.25), 12) == round(0.5 * math.log(4 / 3), 12)
    True
    """
    if mean <= best:
        return 0.0
    if best == 0.0:
        return math.inf  # an arm that never loses is told apart by the first loss
    value = mean * math.log1p((mean - best) / best)
    return value + ((1.0 - mean) * math.log1p((best - mean) / (1.0 - best)) if mean < 1.0 else 0.0)


def beta_divergence(mean: float, best: float, concentration: float) -> float:
    """KL between Beta(c·m, c·(1−m)) and the same with the mean ``best``."""
    from scipy.special import betaln, digamma  # noqa: PLC0415 - half a second to import

    if mean <= best:
        return 0.0
    c = concentration
    a, b, a_best, b_best = c * mean, c * (1.0 - mean), c * best, c * (1.0 - best)
    shift = (a - a_best) * digamma(a) + (b - b_best) * digamma(b)  # a + b is c on both sides
    return float(betaln(a_best, b_best) - betaln(a, b) + shift)


def truncated_normal_divergence(location: float, best: float, scale: float, mean: float) -> float:
    """KL between normals restricted to [0, 1]; ``mean`` is that of the first after truncation."""

    def log_mass(at: float) -> float:
        low, high = (math.erf((x - at) / (scale * math.sqrt(2.0))) for x in (0.0, 1.0))
        return math.log(0.5 * (high - low))

    if location <= best:
        return 0.0
    # (x − b)² − (x − a)² = (a − b)·(2x − a − b)
    moved = (location - best) * (2.0 * mean - location - best) / (2.0 * scale * scale)
    return log_mass(best) - log_mass(location) + moved


def discrete_divergence(values: FloatArray, probabilities: FloatArray, best: float) -> float:
    """K_inf among all laws on ``values``: max over λ in [0, 1/(b − min)] of E log(1 + λ(X − b)).

    The dual of inf{KL(ν, ν') : E ν' ≤ b} (Honda and Takemura 2010), for losses. Concave in λ: its slope
    E (X − b)/(1 + λ(X − b)) is positive at 0, where it is the gap, and decreases.
    """
    shifted = values - best
    if float(probabilities @ shifted) <= 0.0:
        return 0.0
    lowest = float(shifted.min())
    if lowest >= 0.0:
        return math.inf  # no law on these values has a smaller mean
    seen = probabilities > 0.0
    p, x = probabilities[seen], shifted[seen]
    low, high = 0.0, -1.0 / lowest
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if float(np.sum(p * x / (1.0 + middle * x))) > 0.0:
            low = middle
        else:
            high = middle
    return float(p @ np.log1p(low * x))
