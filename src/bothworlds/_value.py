"""Frozen dataclasses that print only what differs from their defaults, and their form as plain tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

import numpy as np

from bothworlds.errors import PartError, StateError


@dataclass(frozen=True, repr=False)
class Value:
    """Base class of policies and environments."""

    def __repr__(self) -> str:
        shown = []
        for field in settings(self):
            value = getattr(self, field.name)
            if field.default is MISSING and not field.kw_only:
                shown.append(repr(value))
            elif field.default is MISSING or value != field.default:
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def settings(part: Any) -> list[Field[Any]]:
    """The fields of a class (or of an instance) that are given to it; others it sets itself."""
    return [field for field in fields(part) if field.init]


def key_of(field: Field[Any]) -> str:
    """What a field is called in a table: its name, unless its metadata say otherwise.

    A table keeps the registry name under ``kind``, so a field of that name needs another one there.
    """
    return str(field.metadata.get("key", field.name))


def plain(value: Any) -> Any:
    """A number, string or (nested) sequence of numbers in JSON types."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value


def to_table(part: Any, registry: Mapping[str, type], register: str) -> dict[str, Any]:
    """A policy or environment (or a part of one) in plain JSON types: its registry name and its fields."""
    kind = next((name for name, cls in registry.items() if cls is type(part)), None)
    if kind is None:
        raise StateError(
            f"{type(part).__name__} is not registered, so it cannot be saved; "
            f"call {register}('a-name', {type(part).__name__}) first"
        )
    table: dict[str, Any] = {"kind": kind}
    for field in settings(part):
        value = getattr(part, field.name)
        is_part = hasattr(value, "parameters")
        table[key_of(field)] = to_table(value, registry, register) if is_part else plain(value)
    return table


def from_table(
    data: Mapping[str, Any], find: Callable[[Any], type[Any]], location: tuple[str, ...] = ()
) -> Any:
    """What :func:`to_table` described. ``find`` gives the class of a kind; refusals are :class:`PartError`.

    A table with a ``path`` is read by the class method ``read`` of its class.
    """
    values = {
        key: from_table(value, find, (*location, key))
        if isinstance(value, Mapping) and "kind" in value
        else value
        for key, value in data.items()
    }
    kind = values.pop("kind")
    try:
        cls = find(kind)
        for field in settings(cls):
            if key_of(field) != field.name and key_of(field) in values:
                values[field.name] = values.pop(key_of(field))
        if "path" in values and hasattr(cls, "read"):
            return cls.read(values.pop("path"), **values)
        return cls(**values)
    except Exception as error:  # a class written by a user may raise anything
        raise PartError(location, str(kind), error) from error
