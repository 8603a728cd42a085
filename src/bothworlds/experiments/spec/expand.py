"""From a table as written to all that it stands for: parts by name, and sweeps.

``regularizer = "tsallis"`` with ``beta = 0.3`` beside it means
``regularizer = { kind = "tsallis", beta = 0.3 }``; a key that the table's own class knows is never moved.
A list where one value is wanted is a sweep: it stands for all its items, and several lists for all
combinations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bothworlds.experiments.spec.schema import FAMILIES, SettingType, setting_types

Location: TypeAlias = tuple[str | int, ...]
"""Where a value is in a document: keys and numbers of list items, from the outermost."""
Names: TypeAlias = tuple[str, ...]


# --- parts -------------------------------------------------------------------------------------------------


def nest_parts(table: dict[str, Any], family: str) -> dict[str, Any]:
    """The same table with every named part as a table of its own."""
    cls = FAMILIES[family].registry.get(_text(table.get("kind")))
    if cls is None:
        return table
    result = dict(table)
    spare = table.keys() - setting_types(cls).keys() - {"kind", "label"}
    for key, setting in setting_types(cls).items():
        if setting.family is None or key not in table:
            continue
        moved: set[str] = set()
        value = table[key]
        parts = []
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, str):
                beside = spare & _keys(part, setting.family)
                moved |= beside
                part = {"kind": part} | {name: table[name] for name in table if name in beside}  # noqa: PLW2901
            parts.append(nest_parts(part, setting.family) if isinstance(part, dict) else part)
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
    return {key for cls in classes for key in setting_types(cls)}


def as_written(location: Location, document: Mapping[str, Any]) -> Location:
    """Where in the document as written a location of the nested one is."""
    out: list[str | int] = []
    table: tuple[Location, Mapping[str, Any]] = ((), document)
    value: Any = document
    for step in location:
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


# --- sweeps ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """A table in which every sweep is settled."""

    table: dict[str, Any]
    swept: dict[Names, Any] = field(default_factory=dict)
    """The value chosen in each sweep."""
    index: dict[Names, int] = field(default_factory=dict)
    """Which item of its list that is."""

    def location(self, names: Names) -> Location:
        """Where in the unexpanded table the value at ``names`` comes from."""
        out: list[str | int] = []
        for stop, name in enumerate(names, 1):
            out.append(name)
            if names[:stop] in self.index:
                out.append(self.index[names[:stop]])
        return tuple(out)

    def under(self, name: str) -> Variant:
        """The same, as part ``name`` of another table."""
        return Variant(
            self.table,
            {(name, *names): value for names, value in self.swept.items()},
            {(name, *names): value for names, value in self.index.items()},
        )


def _alternatives(setting: SettingType, value: Any) -> list[Any]:
    return list(value) if setting.is_sweep(value) else [value]


def count_variants(table: dict[str, Any], family: str) -> int:
    """How many variants a table has, without making any."""
    known = setting_types(FAMILIES[family].registry[table["kind"]])
    return math.prod(
        sum(count_variants(item, setting.family) for item in _alternatives(setting, table[key]))
        if setting.family
        else len(_alternatives(setting, table[key]))
        for key, setting in known.items()
        if key in table
    )


def expand_sweeps(table: dict[str, Any], family: str) -> Iterator[Variant]:
    """All variants of a table; the first key varies slowest."""
    known = setting_types(FAMILIES[family].registry[table["kind"]])
    columns = [
        list(_choices(key, known[key], value)) if key in known else [Variant({key: value})]
        for key, value in table.items()
    ]
    for combination in itertools.product(*columns):
        merged = Variant({})
        for choice in combination:
            merged.table.update(choice.table)
            merged.swept.update(choice.swept)
            merged.index.update(choice.index)
        yield merged


def _choices(key: str, setting: SettingType, value: Any) -> Iterator[Variant]:
    """What one key of a table may be: one-key variants."""
    for number, item in enumerate(_alternatives(setting, value)):
        parts = expand_sweeps(item, setting.family) if setting.family else [Variant(item)]
        for part in parts:
            swept = {(key,): part.table} if setting.is_sweep(value) else {}
            index = {(key,): number} if setting.is_sweep(value) else {}
            inner = part.under(key)
            yield Variant({key: part.table}, swept | inner.swept, index | inner.index)
