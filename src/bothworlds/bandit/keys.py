"""Draws that are a function of a key: the same user, the same arm."""

from __future__ import annotations

import secrets
import struct
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError, StateError

Key: TypeAlias = str | int | bytes

SIZE = 16  # of a secret, in bytes
WORDS = 8  # of 64 bits in one hash
HASH = struct.Struct(f"<{WORDS}Q")


def canonical(key: Any) -> bytes:
    """A key as bytes; keys of different kinds are different."""
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return b"i%d" % int(key)
    if isinstance(key, bytes):
        return b"b" + key
    raise InvalidArgumentError("key", key, "a string, an integer or bytes", fix="give str(key)")


def fill_with_key(secret: bytes, key: Any, out: FloatArray) -> None:
    """Uniforms on [0, 1), multiples of 2^−53, from BLAKE2b keyed with ``secret``."""
    data = canonical(key)
    for begin in range(0, out.size, WORDS):
        salt = (begin // WORDS).to_bytes(8, "little")
        words = HASH.unpack(blake2b(data, key=secret, salt=salt).digest())
        for i in range(begin, min(begin + WORDS, out.size)):
            out[i] = (words[i - begin] >> 11) * 2.0**-53


def new_secret(seed: int | None) -> bytes:
    """The secret of a bandit: a function of its seed, or fresh."""
    if seed is None:
        return secrets.token_bytes(SIZE)
    return blake2b(b"%d" % seed, digest_size=SIZE, person=b"bothworlds keys").digest()


def saved_secret(text: Any, bandit: str) -> bytes:
    """The secret in a saved state; one without gets the same whenever it is loaded."""
    if text is None:
        return blake2b(bandit.encode(), digest_size=SIZE).digest()
    try:
        secret = bytes.fromhex(text)
    except (TypeError, ValueError):
        secret = b""
    if len(secret) != SIZE:
        raise StateError(f"secret must be {2 * SIZE} hexadecimal digits, got {text!r}")
    return secret
