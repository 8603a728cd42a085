"""Frozen dataclasses that print only what differs from their defaults."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields


@dataclass(frozen=True, repr=False)
class Value:
    """Base class of policies and environments."""

    def __repr__(self) -> str:
        shown = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default is MISSING and not field.kw_only:
                shown.append(repr(value))
            elif field.default is MISSING or value != field.default:
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"
