"""e^x − 1, e^x − 1 − x and log(x/y) with all their digits, which is what divergences are made of.

With w = log(x/y), every divergence here is a combination of ``bend``: x/y − 1 − log(x/y) = bend(w) for the
log-barrier, x·bend(−w) for Shannon entropy, y^β/(1−β)·(β·bend(w) − bend(βw)) for Tsallis entropy. The
textbook form subtracts numbers of order 1 to get one of order w², and for w = 1e-9 there is nothing
left of it.
"""

from __future__ import annotations

import math

from bothworlds._jit import kernel

HIGHEST = 709.0  # beyond it e^x overflows, which Python calls an error and compiled code infinity
NEAR = 0.05  # the series below is exact to 2e-17 here; beyond, e^x − 1 − x loses a factor 40 at most


@kernel
def bend(x: float) -> float:
    """e^x − 1 − x, to a relative 1e-14 for any x."""
    if abs(x) < NEAR:
        # Σ 2x^k/(k+2)!, k = 0 … 7, in pairs: the processor works on them side by side
        z = x * x
        far = (1.0 / 360.0 + x * (1.0 / 2520.0)) + z * (1.0 / 20160.0 + x * (1.0 / 181440.0))
        return 0.5 * z * ((1.0 + x * (1.0 / 3.0)) + z * ((1.0 / 12.0 + x * (1.0 / 60.0)) + z * far))
    return math.expm1(x) - x if x < HIGHEST else math.inf


@kernel
def growth(x: float) -> float:
    """e^x − 1; the series is several times faster than the library where most steps are."""
    if abs(x) < NEAR:
        return x + bend(x)
    return math.expm1(x) if x < HIGHEST else math.inf


@kernel
def log_ratio(x: float, y: float) -> float:
    """log(x/y) for x ≥ 0 and y > 0: nearby floats have an exact difference, and log1p keeps it."""
    r = (x - y) / y
    if abs(r) < 0.01:
        return r * (1.0 - r * (0.5 - r * (1.0 / 3.0 - r * (0.25 - r * (0.2 - r * (1.0 / 6.0 - r / 7.0))))))
    if abs(r) < 0.5:
        return math.log1p(r)
    if x == 0.0:
        return -math.inf
    return math.log(x) - math.log(y)
