"""Four numbers at a time: arithmetic on blocks of arrays that always is SIMD, and always the same sum.

The compiler may not vectorize a sum without ``fastmath``, for that reorders it. Here the order is part of
the program: a block of four numbers is one value, sums are kept per lane and added up in one fixed way.
Every processor gives the same bits, with two, four or eight lanes of its own, and so does plain Python.

    a = fill(0.0)
    for i in range(0, whole(n), LANES):
        a = a + 1.0 / (load(x, i) - shift)
    total = add_up(a)                               # and the up to three numbers that are left, one by one

Blocks know + − × ÷ with blocks and floats, ``least``, ``most``, ``root``, and a logarithm and an exponential
made of these: the C library's take one number at a time. In Python blocks are small arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bothworlds._jit import FloatArray, introduce, kernel

LANES = 4


@kernel
def whole(n: int) -> int:
    """Where the last whole block of n numbers ends."""
    return n - n % LANES


def load(values: FloatArray, i: int) -> Any:
    """The block that begins at index i."""
    return values[i : i + LANES].copy()


def store(values: FloatArray, i: int, block: Any) -> None:
    """Write a block to index i on."""
    values[i : i + LANES] = block


def fill(value: float) -> Any:
    """A block of four times the same number."""
    return np.full(LANES, value)


def make_block(a: float, b: float, c: float, d: float) -> Any:
    """A block of four numbers."""
    return np.array([a, b, c, d])


def gather(values: FloatArray, arms: Any) -> Any:
    """In each lane the number of its arm, of interleaved ones: that of arm i for lane w is at 4i + w."""
    return values[_places(arms)]


def scatter(values: FloatArray, arms: Any, block: Any) -> None:
    """Write what :func:`gather` reads."""
    values[_places(arms)] = block


def _places(arms: Any) -> Any:
    return LANES * arms.astype(np.int64) + np.arange(LANES)


def indexable(values: tuple[Any, ...]) -> Any:
    """A tuple with items of one type, to be indexed: numba indexes a tuple by copying all of it."""
    return values


def item_of(items: Any, i: int) -> Any:
    """Item i of what :func:`indexable` made."""
    return items[i]


def add_up(block: Any) -> float:
    """(a + b) + (c + d)."""
    return float((block[0] + block[1]) + (block[2] + block[3]))


def least(a: Any, b: Any) -> Any:
    """The smaller one in each lane, of numbers that are not NaN."""
    return np.minimum(a, b)


def most(a: Any, b: Any) -> Any:
    """The larger one in each lane, of numbers that are not NaN."""
    return np.maximum(a, b)


def each_at_most(a: Any, b: Any) -> Any:
    """1 in each lane where a ≤ b, 0 elsewhere."""
    return np.less_equal(a, b).astype(np.float64)


def all_at_most(a: Any, b: Any) -> bool:
    """Is a ≤ b in every lane? Not where one of them is NaN."""
    return bool(np.less_equal(a, b).all())


def root(a: Any) -> Any:
    """Square roots."""
    return np.sqrt(a)


def mantissa_of(a: Any) -> Any:
    """m of a = m·2^k with m in [√½, √2), for positive normal numbers."""
    return _bits(MANTISSA & _shifted(a), ROOT_HALF)


def exponent_of(a: Any) -> Any:
    """k of a = m·2^k with m in [√½, √2), for positive normal numbers."""
    return (_shifted(a) >> 52).astype(np.float64) - 1023.0


def scale(a: Any, k: Any) -> Any:
    """a·2^k for whole numbers k, where a and the result are normal numbers."""
    return np.ldexp(a, k.astype(np.int64))


def lane(block: Any, k: int) -> float:
    """The number in lane k."""
    return float(block[k])


ROOT_HALF = 0x3FE6A09E00000000  # the bits of √½, rounded
ONE = 0x3FF0000000000000
MANTISSA = 0x000FFFFFFFFFFFFF


def _shifted(a: Any) -> Any:
    return np.asarray(a).view(np.int64) + (ONE - ROOT_HALF)


def _bits(word: Any, more: int) -> Any:
    return (word + more).view(np.float64)


@kernel(inline=True)
def log_of(a: Any) -> Any:
    """Natural logarithms of positive normal numbers, to one unit in the last place.

    a = m·2^k, f = m − 1, s = f/(2 + f): log m = f − f²/2 + s·(f²/2 + R), with fdlibm's polynomial R in s².
    """
    k = exponent_of(a)
    f = mantissa_of(a) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    odd = 0.6666666666666735130 + w * (
        0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591)
    )
    half = 0.5 * f * f
    return k * 6.93147180369123816490e-01 - (
        (half - (s * (half + (even + z * odd)) + k * 1.90821492927058770002e-10)) - f
    )


@kernel(inline=True)
def exp_of(a: Any) -> Any:
    """Exponentials, to one unit in the last place; of numbers below −700 that of −700, above 700 of 700.

    a = k·log 2 + r: e^r = 1 + (r·c/(2 − c) + r) with c = r − r²·P(r²), with fdlibm's polynomial P.
    """
    a = least(most(a, -700.0), 700.0)
    k = (a * 1.44269504088896338700e00 + 6755399441055744.0) - 6755399441055744.0  # the nearest whole number
    high = a - k * 6.93147180369123816490e-01
    low = k * 1.90821492927058770002e-10
    r = high - low
    z = r * r
    c = r - z * (
        1.66666666666666019037e-01
        + z
        * (
            -2.77777777770155933842e-03
            + z
            * (
                6.61375632143793436117e-05
                + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08)
            )
        )
    )
    return scale(1.0 - ((low - (r * c) / (2.0 - c)) - high), k)


def smallest(block: Any) -> float:
    """The smallest of the four."""
    return float(min(block[0], block[1], block[2], block[3]))


@introduce
def _extend_numba() -> None:
    """The same for compiled code."""
    from bothworlds._numba import extend_by_blocks  # noqa: PLC0415 - imports numba

    extend_by_blocks()
