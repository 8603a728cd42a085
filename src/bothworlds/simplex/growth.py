"""e^x − 1, e^x − 1 − x and log(x/y) with all their digits, which is what divergences are made of.

With w = log(x/y), every divergence here is a combination of ``bend``: x/y − 1 − log(x/y) = bend(w) for the
log-barrier, x·bend(−w) for Shannon entropy, y^β/(1−β)·(β·bend(w) − bend(βw)) for Tsallis entropy. The
textbook form subtracts numbers of order 1 to get one of order w², and for w = 1e-9 there is nothing
left of it.

All take a number or a block of four (_simd.py), which is several times faster as long as all four are near.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bothworlds._jit import generic, kernel
from bothworlds._simd import all_at_most, exp_of, lane, log_of, make_block, most, root

HIGHEST = 709.0  # beyond it e^x overflows, which Python calls an error and compiled code infinity
DOUBLINGS = 4  # from near to 16 times as far, which is as far as nearly all steps are
NEAR = 0.05  # the series below is exact to 2e-17 here; beyond, e^x − 1 − x loses a factor 40 at most


@kernel(inline=True)
def odd_part(x: Any) -> Any:
    """sinh x for |x| < NEAR."""
    z = x * x
    return x + x * z * ((1.0 / 6.0 + z * (1.0 / 120.0)) + (z * z) * (1.0 / 5040.0 + z * (1.0 / 362880.0)))


@kernel(inline=True)
def even_part(x: Any) -> Any:
    """cosh x − 1 for |x| < NEAR."""
    z = x * x
    return 0.5 * z * ((1.0 + z * (1.0 / 12.0)) + (z * z) * (1.0 / 360.0 + z * (1.0 / 20160.0)))


@kernel(inline=True)
def near_bend(x: Any) -> Any:
    """e^x − 1 − x for |x| < NEAR: Σ 2x^k/(k+2)!, k = 0 … 7, in pairs that are computed side by side."""
    z = x * x
    far = (1.0 / 360.0 + x * (1.0 / 2520.0)) + z * (1.0 / 20160.0 + x * (1.0 / 181440.0))
    return 0.5 * z * ((1.0 + x * (1.0 / 3.0)) + z * ((1.0 / 12.0 + x * (1.0 / 60.0)) + z * far))


@kernel(inline=True)
def size(x: Any) -> Any:
    """|x| of a block."""
    return most(x, -x)


@generic
def bend(x: Any) -> Any:
    """e^x − 1 − x, to a relative 1e-14 for any x."""
    if abs(x) < NEAR:
        return near_bend(x)
    return math.expm1(x) - x if x < HIGHEST else math.inf


@bend.register(np.ndarray, inline=True)
def _(x: Any) -> Any:
    return near_bend(x) if all_at_most(size(x), NEAR) else far_bend(x)


@kernel
def far_bend(x: Any) -> Any:
    """``bend`` of a block whose numbers are not all near."""
    if all_at_most(size(x), NEAR * 2.0**DOUBLINGS):
        part = x * 0.5**DOUBLINGS
        result = near_bend(part)
        for _ in range(DOUBLINGS):  # e^{2x} − 1 − 2x = 2·(e^x − 1 − x) + (e^x − 1)²
            gain = part + result
            result = 2.0 * result + gain * gain
            part = 2.0 * part
        return result
    return make_block(bend(lane(x, 0)), bend(lane(x, 1)), bend(lane(x, 2)), bend(lane(x, 3)))


@generic
def expm1(x: Any) -> Any:
    """e^x − 1; the series is several times faster than the library where most steps are."""
    if abs(x) < NEAR:
        return x + near_bend(x)
    return math.expm1(x) if x < HIGHEST else math.inf


@expm1.register(np.ndarray, inline=True)
def _(x: Any) -> Any:
    return x + near_bend(x) if all_at_most(size(x), NEAR) else far_expm1(x)


@kernel
def far_expm1(x: Any) -> Any:
    """``expm1`` of a block whose numbers are not all near."""
    if all_at_most(size(x), NEAR * 2.0**DOUBLINGS):
        return x + far_bend(x)
    return make_block(expm1(lane(x, 0)), expm1(lane(x, 1)), expm1(lane(x, 2)), expm1(lane(x, 3)))


@generic
def exponentials(u: Any) -> tuple[Any, Any, Any]:
    """e^u − 1, e^{−u} and 1 − e^{−u}."""
    gain = expm1(u)
    left = 1.0 / (1.0 + gain) if u >= -1.0 else 1.0 + expm1(-u)  # 1 + (e^u − 1) would have lost it
    return gain, left, gain * left if gain < 1e300 else 1.0


@exponentials.register(np.ndarray, inline=True)
def _(u: Any) -> tuple[Any, Any, Any]:
    if all_at_most(size(u), NEAR):
        odd, even = odd_part(u), even_part(u)
        lost = odd - even
        return odd + even, 1.0 - lost, lost
    return far_exponentials(u)


@kernel
def far_exponentials(u: Any) -> tuple[Any, Any, Any]:
    """``exponentials`` of a block whose numbers are not all near."""
    if all_at_most(size(u), NEAR * 2.0**DOUBLINGS):
        odd, even = odd_part(u * 0.5**DOUBLINGS), even_part(u * 0.5**DOUBLINGS)
        for _ in range(DOUBLINGS):  # sinh 2x = 2·sinh x·cosh x, cosh 2x − 1 = 2·sinh² x
            odd, even = 2.0 * odd * (1.0 + even), 2.0 * odd * odd
        lost = odd - even
        return odd + even, 1.0 - lost, lost
    a, b = exponentials(lane(u, 0)), exponentials(lane(u, 1))
    c, d = exponentials(lane(u, 2)), exponentials(lane(u, 3))
    return (
        make_block(a[0], b[0], c[0], d[0]),
        make_block(a[1], b[1], c[1], d[1]),
        make_block(a[2], b[2], c[2], d[2]),
    )


@kernel(inline=True)
def near_log(r: Any) -> Any:
    """log(1 + r) for |r| < 0.01."""
    return r * (
        1.0 - r * (0.5 - r * (1.0 / 3.0 - r * (0.25 - r * (0.2 - r * (1.0 / 6.0 - r * (1.0 / 7.0))))))
    )


@kernel
def log_ratio(x: float, y: float) -> float:
    """log(x/y) for x ≥ 0 and y > 0: nearby floats have an exact difference, and log1p keeps it."""
    r = (x - y) / y
    if abs(r) < 0.01:
        return near_log(r)  # type: ignore[no-any-return]
    if abs(r) < 0.5:
        return math.log1p(r)
    if x == 0.0:
        return -math.inf
    return math.log(x) - math.log(y)


@generic
def log(x: Any) -> Any:
    """Natural logarithms of normal numbers."""
    return math.log(x)


@log.register(np.ndarray, inline=True)
def _(x: Any) -> Any:
    return log_of(x)


@generic
def power(x: Any, exponent: float) -> Any:
    """x to any power in (−1, 1), of normal numbers."""
    return math.sqrt(x) if exponent == 0.5 else x**exponent


@power.register(np.ndarray, inline=True)
def _(x: Any, exponent: float) -> Any:
    return root(x) if exponent == 0.5 else exp_of(exponent * log_of(x))
