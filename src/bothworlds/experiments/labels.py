"""Labels: short enough for a table, and saying what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bothworlds.experiments.shapes import FAMILIES, shapes
from bothworlds.experiments.sweep import Names, Variant

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


def label(variant: Variant, family: str) -> str:
    """The label that the user wrote with the swept values behind it, or one made of the settings."""
    if "label" not in variant.table:
        return describe(variant.table, family, frozenset(variant.swept))
    words = [variant.table["label"]]
    for names, value in variant.swept.items():
        words.append(_word(names[-1], value, _family(variant.table, family, names)))
    return " ".join(words)


def describe(table: Mapping[str, Any], family: str, swept: frozenset[Names] = frozenset()) -> str:
    """The name of the class and what differs from its defaults, or was swept.

    >>> table = {"kind": "ftrl", "regularizer": {"kind": "tsallis", "beta": 0.3}, "constants": "light"}
    >>> describe(table, "policy")
    'FTRL Tsallis β=0.3 light'
    """
    if "label" in table:
        return str(table["label"])
    cls = FAMILIES[family].registry[table["kind"]]
    words = [cls.__name__]
    for key, shape in shapes(cls).items():
        if key not in table:
            continue
        if shape.family:
            inner = frozenset(names[1:] for names in swept if names[0] == key and len(names) > 1)
            words.append(describe(table[key], shape.family, inner))
        elif table[key] != shape.default or (key,) in swept:
            words.append(_word(key, table[key], None))
    return " ".join(words)


def _family(table: Mapping[str, Any], family: str, names: Names) -> str | None:
    """The family of the part at ``names``; None for a plain setting."""
    shape = shapes(FAMILIES[family].registry[table["kind"]])[names[0]]
    if len(names) == 1 or shape.family is None:
        return shape.family
    return _family(table[names[0]], shape.family, names[1:])


def _word(key: str, value: Any, family: str | None) -> str:
    if family:
        return describe(value, family)
    if isinstance(value, bool):
        return key if value else f"no {key}"
    if key == "path":
        return Path(value).name
    return value if isinstance(value, str) else f"{SYMBOLS.get(key, key)}={compact(value)}"


def compact(value: Any) -> str:
    """A number with at most six digits, a short list in full, a long one by its length."""
    if isinstance(value, list):
        if len(value) > LONGEST_LIST or any(isinstance(item, list) for item in value):
            return f"[{len(value)}]"
        return ",".join(compact(item) for item in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def swept_word(variant: Variant, family: str, names: Names, value: Any) -> Any:
    """A swept value as a scalar: a list or a part in words, without what was swept inside it."""
    part = _family(variant.table, family, names)
    if part:
        inner = {other[len(names)] for other in variant.swept if other[: len(names)] == names != other}
        return describe({key: item for key, item in value.items() if key not in inner}, part)
    return compact(value) if isinstance(value, list) else value
