"""From a seed to independent random streams.

Every stream is a counter-based Philox generator keyed by ``SeedSequence(seed, spawn_key=path)``: streams
of different paths are independent, and the stream of one path does not depend on how many others exist or
in which order they are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bothworlds._check import integer
from bothworlds.errors import InvalidArgument, StateError


def stream(seed: int | None, *path: int) -> np.random.Generator:
    """The random stream at ``path`` below ``seed`` (``None``: fresh entropy from the system)."""
    if seed is not None:
        seed = integer("seed", seed, at_least=0, fix="use a non-negative integer, or None for fresh entropy")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=path)))


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
            raise InvalidArgument(f"bit_generator is {data['bit_generator']!r}, expected 'Philox'")
        bits = np.random.Philox()
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
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise StateError(f"the saved random stream cannot be restored: {error}") from error
    return np.random.Generator(bits)
