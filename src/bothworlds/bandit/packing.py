"""An idle bandit as some kilobytes of bytes instead of dozens of objects; it is unpacked when it is used."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np

from bothworlds import rng
from bothworlds.bandit.arms import Roster

# what bandits of one kind have in common stays an object
SHARED = (
    "_arms",
    "_policy",
    "_params",
    "_horizon",
    "_range",
    "_shares",
    "_wait",
    "_missing",
    "_problem",
    "_slots",
)


class Packed(NamedTuple):
    """The attributes of a bandit, packed."""

    shared: tuple[Any, ...]
    """Those of ``SHARED``, as they are."""
    own: bytes
    """The others, pickled."""
    form: Any
    """What the state is made of: nested tuples of types, and sizes of arrays."""
    numbers: bytes
    """Those of all arrays of the state, one after the other."""


_forms: dict[Any, Any] = {}  # equal forms are one object


def pack_bandit(attributes: dict[str, Any]) -> Packed:
    """Pack the attributes that make a bandit what it is."""
    own = dict(attributes)
    shared = tuple(own.pop(name) for name in SHARED)
    arrays: list[Any] = []
    form = _take_apart(own.pop("_state"), arrays)
    own["_random"] = rng.to_dict(own["_random"].generator), own["_random"].width
    own["_roster"] = own["_roster"].disabled, own["_roster"].retired
    pickled = pickle.dumps(own, pickle.HIGHEST_PROTOCOL)
    return Packed(shared, pickled, _forms.setdefault(form, form), b"".join(arrays))


def unpack_bandit(packed: Packed) -> dict[str, Any]:
    """The attributes that were packed."""
    attributes: dict[str, Any] = pickle.loads(packed.own) | dict(zip(SHARED, packed.shared, strict=True))
    position, width = attributes["_random"]
    attributes["_random"] = rng.Rows(rng.from_dict(position), width)
    attributes["_roster"] = Roster(attributes["_arms"], *attributes["_roster"])
    attributes["_state"], _ = _put_together(packed.form, bytearray(packed.numbers), 0)
    return attributes


def _take_apart(state: Any, arrays: list[Any]) -> Any:
    forms = []
    for part in state:
        if type(part) is np.ndarray:
            arrays.append(part.data)
            forms.append(part.size)
        else:
            forms.append(_take_apart(part, arrays))
    return type(state), tuple(forms)


def _put_together(form: Any, numbers: bytearray, begin: int) -> tuple[Any, int]:
    """A part of the state, whose numbers begin there, and where they end."""
    kind, forms = form
    parts = []
    for inner in forms:
        if type(inner) is int:
            parts.append(np.frombuffer(numbers, np.float64, inner, begin))
            begin += 8 * inner
        else:
            part, begin = _put_together(inner, numbers, begin)
            parts.append(part)
    return kind(*parts), begin
