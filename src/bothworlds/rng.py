"""From a seed to independent random streams.

Every stream is a counter-based Philox generator keyed by ``SeedSequence(seed, spawn_key=path)``: streams
of different paths are independent, and the stream of one path does not depend on how many others exist or
in which order they are made. Whole runs take their numbers from :class:`Uniforms`, the same bits sooner.

Kernels get no generator, only the uniforms of one pull. One that needs more of them makes them from one by
:func:`expand`, a hash whose arithmetic stays within 64-bit integers, compiled or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bothworlds._check import integer
from bothworlds._jit import FloatArray, entry, introduce, kernel
from bothworlds.errors import InvalidArgumentError, StateError

AHEAD = 64  # rows that are made at once


def stream(seed: int | None, *path: int) -> np.random.Generator:
    """The random stream at ``path`` below ``seed`` (``None``: fresh entropy from the system)."""
    if seed is not None:
        seed = integer("seed", seed, at_least=0, fix="use a non-negative integer, or None for fresh entropy")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=path)))


def branch(generator: np.random.Generator, number: int) -> np.random.Generator:
    """Another stream: a function of the position of ``generator``, which stays, and of a number."""
    position = to_dict(generator)
    entropy = [*position["key"], *position["counter"], position["buffer_pos"]]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy, spawn_key=(number,))))


def to_dict(generator: np.random.Generator) -> dict[str, Any]:
    """The exact position of a Philox stream, in plain JSON types."""
    state = generator.bit_generator.state
    return {
        "bit_generator": state["bit_generator"],
        "counter": [int(word) for word in state["state"]["counter"]],
        "key": [int(word) for word in state["state"]["key"]],
        "buffer": [int(word) for word in state["buffer"]],
        "buffer_pos": int(state["buffer_pos"]),
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }


def from_dict(data: dict[str, Any]) -> np.random.Generator:
    """The stream that :func:`to_dict` described, at the same position."""
    try:
        if data["bit_generator"] != "Philox":
            raise InvalidArgumentError("bit_generator", data["bit_generator"], "'Philox'")
        bits = np.random.Philox(key=0)  # without one it would ask the system for entropy
        bits.state = {
            "bit_generator": "Philox",
            "state": {
                "counter": np.array(data["counter"], dtype=np.uint64),
                "key": np.array(data["key"], dtype=np.uint64),
            },
            "buffer": np.array(data["buffer"], dtype=np.uint64),
            "buffer_pos": data["buffer_pos"],
            "has_uint32": data["has_uint32"],
            "uinteger": data["uinteger"],
        }
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise StateError(f"the saved random stream cannot be restored: {error}") from error
    return np.random.Generator(bits)


class Rows:
    """A stream taken in rows of ``width`` numbers, made some dozens at a time.

    A call of NumPy's for each would take as long as the round of a fast policy. The position of the stream
    is that of the rows taken, not of those made.
    """

    def __init__(self, generator: np.random.Generator, width: int) -> None:
        self.width = width
        self._generator = generator
        self._begin: Any = None  # the generator's position before the rows were made
        self._rows: FloatArray = np.empty((0, width))
        self._taken = 0  # so many of them

    def take(self) -> FloatArray:
        """The next row."""
        taken = self._taken
        if taken == len(self._rows):
            self._begin = self._generator.bit_generator.state
            self._rows, taken = self._generator.random((AHEAD, self.width)), 0
        self._taken = taken + 1
        return self._rows[taken]  # type: ignore[no-any-return]

    @property
    def generator(self) -> np.random.Generator:
        """NumPy's generator at the position of the stream, which goes on after whatever is drawn from it."""
        if self._taken < len(self._rows):
            self._generator.bit_generator.state = self._begin
            self._generator.random((self._taken, self.width))
        self._rows, self._taken = self._rows[:0], 0
        return self._generator


# --- in blocks ------------------------------------------------------------------------------------------
# NumPy makes its doubles one function call at a time; that would be a fifth of a round of a fast policy.


class Uniforms:
    """The numbers of ``stream(seed, *path).random()``, bit by bit, for several paths: a row for each."""

    def __init__(self, seed: int, *paths: tuple[int, ...]) -> None:
        sequences = [np.random.SeedSequence(seed, spawn_key=path) for path in paths]
        self._keys = np.array([sequence.generate_state(2, np.uint64) for sequence in sequences])
        self._counter = np.uint64(1)  # NumPy counts before it draws
        self._left: FloatArray = np.empty((len(paths), 0))

    def draw(self, *shape: int) -> FloatArray:
        """The next numbers, an array of this shape for each path."""
        out = np.empty((len(self._keys), *shape))
        self.fill(out)
        return out

    def fill(self, out: FloatArray) -> None:
        """Fill a contiguous array."""
        rows = out.reshape(len(out), -1)
        size = rows.shape[1]
        begin = min(self._left.shape[1], size)
        rows[:, :begin], self._left = self._left[:, :begin], self._left[:, begin:]
        needed = -(-(size - begin) // 4) * 4
        if begin == 0 and needed == size:
            philox(self._keys, self._counter, rows)
        elif needed:
            more = np.empty((len(rows), needed))
            philox(self._keys, self._counter, more)
            rows[:, begin:], self._left = more[:, : size - begin], more[:, size - begin :]
        self._counter += np.uint64(needed // 4)


LONG_WORD = 0xFFFFFFFFFFFFFFFF  # 64 bits


def plus(a: int, b: int) -> int:
    """The sum of two 64-bit words, without what is carried over."""
    return (int(a) + int(b)) & LONG_WORD


def times(a: int, b: int) -> tuple[int, int]:
    """The high and the low half of the product of two 64-bit words."""
    product = int(a) * int(b)
    return product >> 64, product & LONG_WORD


@introduce
def _extend_numba() -> None:
    """The same for compiled code, where words are unsigned integers."""
    from bothworlds import _numba  # noqa: PLC0415 - imports numba

    _numba.extend_by_long_words(plus, times)


@entry
def philox(keys: Any, begin: Any, out: FloatArray) -> None:
    """Philox-4×64 with 10 rounds: in each row four uniforms for each counter, from ``begin`` on.

    J. Salmon, M. Moraes, R. Dror, D. Shaw: Parallel Random Numbers: As Easy as 1, 2, 3. SC 2011.
    """
    nothing = begin ^ begin
    for row in range(out.shape[0]):
        counter = begin
        for i in range(0, out.shape[1], 4):
            x0, x1, x2, x3 = counter, nothing, nothing, nothing
            k0, k1 = keys[row, 0], keys[row, 1]
            for _ in range(10):
                high0, low0 = times(x0, 0xD2E7470EE14C6C93)
                high1, low1 = times(x2, 0xCA5A826395121157)
                x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
                k0, k1 = plus(k0, 0x9E3779B97F4A7C15), plus(k1, 0xBB67AE8584CAA73B)
            out[row, i] = (x0 >> 11) * 2.0**-53
            out[row, i + 1] = (x1 >> 11) * 2.0**-53
            out[row, i + 2] = (x2 >> 11) * 2.0**-53
            out[row, i + 3] = (x3 >> 11) * 2.0**-53
            counter = plus(counter, 1)


# --- inside kernels -------------------------------------------------------------------------------------

WORD = 0xFFFFFFFF  # 32 bits: sums of a few words fit a signed 64-bit integer, so nothing ever overflows
PARITY = 0x1BD11BDA
ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


@kernel
def threefry(key0: int, key1: int, counter0: int, counter1: int) -> tuple[int, int]:
    """Threefry-2×32 with 20 rounds: two words out of a key and a counter of two 32-bit words each.

    J. Salmon, M. Moraes, R. Dror, D. Shaw: Parallel Random Numbers: As Easy as 1, 2, 3. SC 2011.
    """
    key2 = key0 ^ key1 ^ PARITY
    x0 = (counter0 + key0) & WORD
    x1 = (counter1 + key1) & WORD
    for group in range(5):
        for i in range(4):
            turn = ROTATIONS[4 * (group % 2) + i]
            x0 = (x0 + x1) & WORD
            x1 = ((x1 << turn) & WORD) | (x1 >> (32 - turn))
            x1 ^= x0
        key0, key1, key2 = key1, key2, key0
        x0 = (x0 + key0) & WORD
        x1 = (x1 + key1 + group + 1) & WORD
    return x0, x1


@kernel
def expand(uniform: float, counter: int) -> float:
    """Number ``counter`` (0 … 2^63−1) of the independent uniforms that grow from one uniform in [0, 1).

    The key is the 53 bits of ``uniform``. The result is an odd multiple of 2^−53: never 0 or 1, symmetric
    about ½, and a ``uniform`` to expand in its turn.
    """
    bits = int(uniform * 9007199254740992.0)
    x0, x1 = threefry(bits & WORD, bits >> 32, counter & WORD, counter >> 32)
    return (float((x0 << 20) | (x1 >> 12)) + 0.5) / 4503599627370496.0
