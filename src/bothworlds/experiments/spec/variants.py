"""From a table as written to its variants: parts by name, sweeps, and what each variant is called.

``regularizer = "tsallis"`` with ``beta = 0.3`` beside it means
``regularizer = { kind = "tsallis", beta = 0.3 }``; a key that the table's own class knows is never moved.
A list where one value is wanted is a sweep: it stands for all its items, and several lists for all
combinations. A label says what was chosen, and is short enough for a table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
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


# --- labels ------------------------------------------------------------------------------------------------

SYMBOLS = {
    "n_arms": "K",
    "gap": "Δ",
    "log_barrier": "C",
    "alpha": "α",
    "beta": "β",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "kappa": "κ",
    "theta": "θ",
}
LONGEST_LIST = 4  # of numbers, spelled out


def describe_table(table: Mapping[str, Any], family: str, swept: frozenset[Names] = frozenset()) -> str:
    """The name of the class and what differs from its defaults, or the user's label; and what was swept.

    A label with settings in braces is a template, and says all there is to say.

    >>> table = {"kind": "ftrl", "regularizer": {"kind": "tsallis", "beta": 0.3}, "constants": "light"}
    >>> describe_table(table, "policy")
    'FTRL Tsallis β=0.3 light'
    >>> describe_table(table | {"label": "mine"}, "policy", frozenset({("regularizer", "beta")}))
    'mine β=0.3'
    >>> describe_table(table | {"label": "β={beta}, {constants}"}, "policy")
    'β=0.3, light'
    """
    if "{" in table.get("label", ""):
        return fill_template(table["label"], table, FAMILIES[family].registry[table["kind"]].__name__)
    return " ".join(_words(table, family, swept, swept_only=False))


def _words(table: Mapping[str, Any], family: str, swept: frozenset[Names], *, swept_only: bool) -> list[str]:
    cls = FAMILIES[family].registry[table["kind"]]
    words = [] if swept_only else [table.get("label", cls.__name__)]
    swept_only = swept_only or "label" in table
    for key, setting in setting_types(cls).items():
        if key not in table:
            continue
        value = table[key]
        shown = (key,) in swept or not (swept_only or _is_default(value, setting))
        if setting.family:
            inner = frozenset(names[1:] for names in swept if names[0] == key and len(names) > 1)
            words += _words(value, setting.family, inner, swept_only=not shown)
        elif shown:
            words.append(_word(key, value))
    return words


def fill_template(template: str, settings: Mapping[str, Any], name: str) -> str:
    """A label from a template: settings by name, in braces; ``{regularizer_beta}`` is that of a part.

    >>> table = {"kind": "ftrl", "regularizer": {"kind": "tsallis", "beta": 0.3}, "log_barrier": 1.0}
    >>> fill_template("β={beta}, C={log_barrier:.2f}", table, "FTRL")
    'β=0.3, C=1.00'

    Raises
    ------
    InvalidArgumentError
        If there is no such setting.
    """
    known = {"label": name} | _leaves(settings)
    try:
        return template.format_map({key: _Leaf(value) for key, value in known.items()})
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        names = [key for key in known if key != "label"]
        wrong = f"unknown {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
        close = did_you_mean(str(error.args[0]), names) if isinstance(error, KeyError) else ""
        raise InvalidArgumentError(
            "label",
            template,
            "a template of settings in braces",
            got=f"{template!r}: {wrong}",
            fix=f"{close} the settings of {name} are {', '.join(names)}".lstrip(),
        ) from error


def _leaves(settings: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Settings by name and by path, however deep; where two have the same name, the first."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            inner = {key: value.get("kind", "")} | _leaves(value, f"{path}{key}_")
        else:
            inner = {} if key == "label" else {key: value, f"{path}{key}": value}
        found |= {name: inner[name] for name in inner if name not in found}
    return found


class _Leaf:
    """A value that is written in a label as in all of them, unless the template says how."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __format__(self, how: str) -> str:
        return format(self.value, how) if how else format_value(self.value)


def _is_default(value: Any, setting: SettingType) -> bool:
    if setting.family is None:
        return bool(value == setting.default)
    is_kind = type(setting.default) is FAMILIES[setting.family].registry[value["kind"]]
    return is_kind and all(
        getattr(setting.default, key) == setting for key, setting in value.items() if key != "kind"
    )


def _word(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return key if value else f"no {key}"
    if key == "path":
        return Path(value).name
    return value if isinstance(value, str) else f"{SYMBOLS.get(key, key)}={format_value(value)}"


def format_value(value: Any) -> str:
    """A number with at most six digits, a short list in full, a long one by its length."""
    if isinstance(value, list):
        if len(value) > LONGEST_LIST or any(isinstance(item, list) for item in value):
            return f"[{len(value)}]"
        return ",".join(format_value(item) for item in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def swept_value(variant: Variant, family: str, names: Names) -> Any:
    """A swept value as a scalar: a list or a part in words, without what was swept inside it."""
    value, part = variant.table, family
    for name in names:
        setting = setting_types(FAMILIES[part].registry[value["kind"]])[name]
        value, part = value[name], setting.family or ""
    if part:
        inner = {other[len(names) :] for other in variant.swept if other[: len(names)] == names != other}
        return describe_table(_without(value, inner), part)
    return format_value(value) if isinstance(value, list) else value


def _without(table: Mapping[str, Any], left_out: set[Names]) -> dict[str, Any]:
    return {
        key: _without(value, {names[1:] for names in left_out if names[0] == key and len(names) > 1})
        if isinstance(value, dict)
        else value
        for key, value in table.items()
        if (key,) not in left_out
    }
