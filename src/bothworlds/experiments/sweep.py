"""Sweeps: a list where one value is wanted stands for all its items; several lists, for all combinations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bothworlds.experiments.lines import Place
from bothworlds.experiments.shapes import FAMILIES, Shape, shapes

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """A table in which every sweep is settled."""

    table: dict[str, Any]
    swept: dict[Names, Any] = field(default_factory=dict)
    """The value chosen in each sweep."""
    index: dict[Names, int] = field(default_factory=dict)
    """Which item of its list that is."""

    def place(self, names: Names) -> Place:
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


def _alternatives(shape: Shape, value: Any) -> list[Any]:
    return list(value) if shape.is_sweep(value) else [value]


def count(table: dict[str, Any], family: str) -> int:
    """How many variants a table has, without making any."""
    known = shapes(FAMILIES[family].registry[table["kind"]])
    return math.prod(
        sum(count(item, shape.family) for item in _alternatives(shape, table[key]))
        if shape.family
        else len(_alternatives(shape, table[key]))
        for key, shape in known.items()
        if key in table
    )


def expand(table: dict[str, Any], family: str) -> Iterator[Variant]:
    """All variants of a table; the first key varies slowest."""
    known = shapes(FAMILIES[family].registry[table["kind"]])
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


def _choices(key: str, shape: Shape, value: Any) -> Iterator[Variant]:
    """What one key of a table may be: one-key variants."""
    for number, item in enumerate(_alternatives(shape, value)):
        parts = expand(item, shape.family) if shape.family else [Variant(item)]
        for part in parts:
            swept = {(key,): part.table} if shape.is_sweep(value) else {}
            index = {(key,): number} if shape.is_sweep(value) else {}
            inner = part.under(key)
            yield Variant({key: part.table}, swept | inner.swept, index | inner.index)
