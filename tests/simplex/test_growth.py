"""e^x − 1 and its relatives, of numbers and of blocks, against 50 digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from bothworlds._jit import entry
from bothworlds._simd import load, store
from bothworlds.simplex.growth import bend, expm1, exponentials
from interpreting import plain_python  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract

NEAR = [1e-300, -1e-17, 1e-9, -0.049]
MIDDLE = [0.0501, -0.3, 1e-12, 0.79]  # by doubling
FAR = [0.81, -5.0, 1e-9, 40.0]  # one by one
BEYOND = [-600.0, 600.0, -0.9, 0.0]


@entry
def of_block(x, out):
    block = load(x, 0)
    gain, left, lost = exponentials(block)
    store(out[0], 0, expm1(block))
    store(out[1], 0, bend(block))
    store(out[2], 0, gain)
    store(out[3], 0, left)
    store(out[4], 0, lost)


@entry
def of_numbers(x, out):
    for i in range(x.size):
        out[0, i] = expm1(x[i])
        out[1, i] = bend(x[i])
        out[2, i], out[3, i], out[4, i] = exponentials(x[i])


def exact(x):
    with mp.workdps(50 + 700):
        x = mp.mpf(x)
        rows = [mp.expm1(x), mp.expm1(x) - x, mp.expm1(x), mp.exp(-x), -mp.expm1(-x)]
        return [float(row) for row in rows]


@pytest.mark.parametrize("kernel", [of_block, of_numbers], ids=["block", "numbers"])
@pytest.mark.parametrize("numbers", [NEAR, MIDDLE, FAR, BEYOND], ids=["near", "middle", "far", "beyond"])
def test_all_digits_are_there(kernel, numbers):
    x, out = np.array(numbers), np.empty((5, 4))
    expected = np.transpose([exact(number) for number in numbers])
    kernel(x, out)
    np.testing.assert_allclose(out, expected, rtol=1e-13)
