"""Has the mean of a stream changed? The generalized likelihood ratio of Bernoulli losses, in bounded memory.

After n losses with sum s, split into the first n₁ and the last n₂ with sums s₁ and s₂, the statistic is

    n₁·kl(s₁/n₁, s/n) + n₂·kl(s₂/n₂, s/n),

and a change is found if it exceeds a threshold for some split. All n − 1 splits would need all the past.
Here the past is kept in blocks: at most B blocks of 2^j losses for each j = 0, 1, …, the newest in the
smallest blocks; one too many on a level, and its two oldest become one on the next. Splits are the limits of
blocks, at most B·log2(n) of them. A block of 2^j losses is at least (B − 1)·(2^j − 1) losses old: so near
any place d losses ago there is a limit, no farther than ½ + ½·d/(B − 1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel

LEVELS = 32  # more losses than anybody will see


class Streams(NamedTuple):
    """The blocks of several streams, all in one array each."""

    filled: FloatArray
    """How many blocks there are, by stream and level."""
    blocks: FloatArray
    """Sums of blocks, by stream, level and age, oldest first; room for one too many on each level."""


def new_streams(n_streams: int, n_blocks: int) -> Streams:
    """Empty ones, with up to ``n_blocks`` blocks on a level."""
    return Streams(np.zeros(n_streams * LEVELS), np.zeros(n_streams * LEVELS * (n_blocks + 1)))


@kernel
def append(streams: Streams, n_blocks: int, stream: int, loss: float) -> None:
    """The next loss of a stream."""
    for level in range(stream * LEVELS, (stream + 1) * LEVELS):
        first = level * (n_blocks + 1)
        filled = int(streams.filled[level])
        streams.blocks[first + filled] = loss
        if filled < n_blocks:
            streams.filled[level] += 1.0
            return
        loss = streams.blocks[first] + streams.blocks[first + 1]
        for at in range(first, first + n_blocks - 1):
            streams.blocks[at] = streams.blocks[at + 2]
        streams.filled[level] -= 1.0


@kernel
def forget(streams: Streams, stream: int) -> None:
    """Empty a stream."""
    for level in range(stream * LEVELS, (stream + 1) * LEVELS):
        streams.filled[level] = 0.0


@kernel
def has_changed(
    streams: Streams, n_blocks: int, stream: int, count: float, total: float, threshold: float
) -> bool:
    """Does the statistic exceed the threshold for a split of this stream?

    ``count`` and ``total`` are n and s. Since kl(p, q) ≤ (p − q)²/(q(1−q)), the statistic is at most
    n₁n₂/n·(m₁ − m₂)²/(m(1−m)), m_i = s_i/n_i and m = s/n: most splits need no logarithm.
    """
    mean = total / count
    bound = threshold * mean * (1.0 - mean)
    size = 1.0
    n_new = 0.0
    s_new = 0.0
    for level in range(stream * LEVELS, (stream + 1) * LEVELS):
        first = level * (n_blocks + 1)
        for at in range(first + int(streams.filled[level]) - 1, first - 1, -1):
            n_new += size
            s_new += streams.blocks[at]
            n_old = count - n_new
            if n_old <= 0.0:
                return False
            new = min(1.0, s_new / n_new)  # fractional losses add up with rounding errors
            old = min(1.0, max(0.0, (total - s_new) / n_old))
            if n_old * n_new / count * ((new - old) * (new - old)) > bound:
                ratio = n_old * negentropy(old) + n_new * negentropy(new) - count * negentropy(mean)
                if ratio > threshold:
                    return True
        size *= 2.0
    return False


@kernel
def negentropy(m: float) -> float:
    """m·log m + (1−m)·log(1−m)."""
    if m <= 0.0 or m >= 1.0:
        return 0.0
    return m * math.log(m) + (1.0 - m) * math.log1p(-m)
