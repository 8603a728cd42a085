"""Settings of a part written beside its name, and the way back to where they were written.

``regularizer = "tsallis"`` with ``beta = 0.3`` beside it means
``regularizer = { kind = "tsallis", beta = 0.3 }``.
A key that the table's own class knows is never moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bothworlds.experiments.lines import Place
from bothworlds.experiments.shapes import FAMILIES, shapes


def unfold(table: dict[str, Any], family: str) -> dict[str, Any]:
    """The same table with every named part as a table of its own."""
    cls = FAMILIES[family].registry.get(_text(table.get("kind")))
    if cls is None:
        return table
    result = dict(table)
    spare = table.keys() - shapes(cls).keys() - {"kind", "label"}
    for key, shape in shapes(cls).items():
        if shape.family is None or key not in table:
            continue
        moved: set[str] = set()
        value = table[key]
        parts = []
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, str):
                beside = spare & _keys(part, shape.family)
                moved |= beside
                part = {"kind": part} | {name: table[name] for name in table if name in beside}  # noqa: PLW2901
            parts.append(unfold(part, shape.family) if isinstance(part, dict) else part)
        result[key] = parts if isinstance(value, list) else parts[0]
        spare -= moved
        for name in moved:
            del result[name]
    return result


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _keys(kind: str, family: str) -> set[str]:
    """The keys of a kind; of an unknown one those of the whole family, for they are not the mistake."""
    registry = FAMILIES[family].registry
    classes = [registry[kind]] if kind in registry else registry.values()
    return {key for cls in classes for key in shapes(cls)}


def written(place: Place, document: Mapping[str, Any]) -> Place:
    """Where in the document as written a place of the unfolded one is."""
    out: list[str | int] = []
    table: tuple[Place, Mapping[str, Any]] = ((), document)
    value: Any = document
    for step in place:
        if isinstance(value, str):  # a part by its name: its settings stand beside it
            if step == "kind":
                break
            out, value = list(table[0]), table[1]
        if isinstance(value, Mapping):
            table = (tuple(out), value)
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            value = None
        out.append(step)
    return tuple(out)
