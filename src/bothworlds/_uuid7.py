"""Fresh ids: UUIDs of version 7 (RFC 9562), which begin with the time."""

from __future__ import annotations

import os
import time


def uuid7() -> bytes:
    """A fresh one: 48 bits of milliseconds since 1970, 74 of noise, and what says that it is one."""
    milliseconds = time.time_ns() // 1_000_000
    noise = int.from_bytes(os.urandom(10), "big")
    high = (milliseconds & (1 << 48) - 1) << 16 | 0x7000 | noise >> 68
    low = 0b10 << 62 | noise & (1 << 62) - 1
    return (high << 64 | low).to_bytes(16, "big")
