"""Randomness, from the papers: quantile draws, Threefry-2×32-20, and Cheng's BB for Beta variates."""

from __future__ import annotations

import math
import struct


def quantile(p, uniform):
    """The first arm at which the cumulative probability exceeds the uniform."""
    reached = 0
    total = sum(p)
    for arm, value in enumerate(p):
        reached += value
        if value > 0 and reached > uniform * total:
            return arm
    return max(arm for arm, value in enumerate(p) if value > 0)


def rotate(x, n):
    """Rotate a 32-bit word to the left."""
    return int(f"{x:032b}"[n:] + f"{x:032b}"[:n], 2)


def threefry(key, counter):
    """Salmon et al. 2011: rounds of add, rotate, exclusive-or; the key schedule every four."""
    schedule = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA]
    x = [(counter[0] + schedule[0]) % 2**32, (counter[1] + schedule[1]) % 2**32]
    for r in range(20):
        x[0] = (x[0] + x[1]) % 2**32
        x[1] = rotate(x[1], (13, 15, 26, 6, 17, 29, 16, 24)[r % 8]) ^ x[0]
        if (r + 1) % 4 == 0:
            s = (r + 1) // 4
            x[0] = (x[0] + schedule[s % 3]) % 2**32
            x[1] = (x[1] + schedule[(s + 1) % 3] + s) % 2**32
    return tuple(x)


def words(integer):
    """Low and high 32 bits."""
    return struct.unpack("<II", struct.pack("<Q", integer))


def expand(uniform, counter):
    """52 bits of the block, centered in their interval."""
    x = threefry(words(int(uniform * 2**53)), words(counter))
    return (int(f"{x[0]:032b}{x[1]:032b}"[:52], 2) + 0.5) / 2**52


def beta(a, b, uniform, stream):
    """Beta(a, b): inversion if a parameter is 1, else Cheng 1978, algorithm BB, steps 1 to 5."""
    uniforms = (expand(uniform, stream * 2**32 + i) for i in range(10**6))
    if a == 1:
        return 1 - next(uniforms) ** (1 / b)
    if b == 1:
        return next(uniforms) ** (1 / a)
    small, large = sorted((a, b))
    alpha = small + large
    scale = math.sqrt((alpha - 2) / (2 * small * large - alpha))
    gamma = small + 1 / scale
    while True:
        u1, u2 = next(uniforms), next(uniforms)
        v = scale * math.log(u1 / (1 - u1))
        w = small * math.exp(v)
        if alpha * math.log(alpha / (large + w)) + gamma * v - math.log(4) >= math.log(u1 * u1 * u2):
            return w / (large + w) if small == a else large / (large + w)
