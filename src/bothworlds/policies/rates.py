"""Learning rates γ_i^t = θ·√(1 + Σ_{τ<t} w_τ · max(p_i^τ, 1/T)^{1−2α}).

The paper has w = 1. ``error_weighted`` takes w = 4·(prediction error)² instead. T is

* known,
* unknown, replaced by T_k in segments of that length, T_{k+1} = T_k² (``RESTARTS``), or
* unknown, replaced by the running round: log(t + K) for log T, 1/t for the clip (``RUNNING``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bothworlds._jit import FloatArray, kernel

KNOWN = 0
RESTARTS = 1
RUNNING = 2
UNUSED = 1e300  # a horizon that plays no part; finite, so that states are plain JSON


class RateParameters(NamedTuple):
    """θ (before division by √log T where ``over_log``), α, and what stands for T."""

    theta: float
    over_log: bool
    alpha: float
    growing: bool
    error_weighted: bool
    schedule: int
    horizon: float
    """T; the first T_k under ``RESTARTS``; ``UNUSED`` where T plays no part."""


def log_horizon(horizon: float) -> float:
    """log T, but at least 1: the paper's 1/√(log T) is meant for T ≥ 3."""
    return max(1.0, math.log(horizon))


@kernel
def coefficient(rate: RateParameters, t: float, horizon: float, n_arms: int) -> float:
    """θ in round t."""
    if not rate.over_log:
        return rate.theta
    effective = t + n_arms if rate.schedule == RUNNING else horizon
    return rate.theta / math.sqrt(max(1.0, math.log(effective)))


@kernel
def accumulate(
    rate: RateParameters, t: float, horizon: float, weight: float, p: FloatArray, sums: FloatArray
) -> None:
    """Add round t's term w·max(p_i, 1/T)^{1−2α} to every sum."""
    if not rate.growing:
        return
    clip = 1.0 / t if rate.schedule == RUNNING else 1.0 / horizon
    power = 1.0 - 2.0 * rate.alpha
    if power == 0.0:
        for i in range(p.size):
            sums[i] += weight
    elif power == 1.0:
        for i in range(p.size):
            sums[i] += weight * max(p[i], clip)
    elif power == -1.0:
        for i in range(p.size):
            sums[i] += weight / max(p[i], clip)
    else:
        for i in range(p.size):
            sums[i] += weight * max(p[i], clip) ** power
