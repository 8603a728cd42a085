"""Ids of decisions: 128 bits, written as UUIDs are."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from bothworlds._uuid7 import uuid7
from bothworlds.errors import InvalidArgumentError

SIZE = 16


def new_id() -> bytes:
    """A fresh id: a UUID of version 7, which begins with the time."""
    return uuid7()


def text_of(identity: bytes) -> str:
    """An id in the usual form of a UUID."""
    digits = identity.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def bytes_of(text: Any, name: str = "id") -> bytes:
    """The bytes of an id that is written as a UUID, or an error."""
    try:
        identity = bytes.fromhex(text.replace("-", ""))
    except (AttributeError, TypeError, ValueError):
        identity = b""
    if len(identity) != SIZE:
        wanted = "a UUID such as 0190f8a3-7b5e-7c31-8e1a-5a3f1f6f3c2d"
        raise InvalidArgumentError(
            name, text, wanted, fix="give the id that a decision came with; a new one needs none"
        )
    return identity


def time_of(identity: bytes) -> float | None:
    """When an id was made, in seconds since 1970; None unless it is a UUID of version 7, which says so."""
    if identity[6] >> 4 != 7 or identity[8] >> 6 != 2:
        return None
    return int.from_bytes(identity[:6], "big") / 1000.0


def is_older(identity: bytes, than: float) -> bool:
    """Does an id say that it was made before this time?"""
    at = time_of(identity)
    return at is not None and at < than


def of_unit(secret: bytes, unit: str) -> bytes:
    """A keyed hash of the name of a unit: nobody without the secret can find the name."""
    return blake2b(unit.encode("utf-8", "surrogatepass"), key=secret, digest_size=SIZE).digest()


def after(secret: bytes, identity: bytes) -> bytes:
    """The id that a unit has after this one; no unit has a name that leads there."""
    return blake2b(identity, key=secret, digest_size=SIZE, person=b"after").digest()
