"""What a registered class takes in a file, read off its dataclass: nothing here knows any policy by name."""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from bothworlds._value import key_of, settings
from bothworlds.environments import Environment
from bothworlds.policies import Policy
from bothworlds.policies.ftrl.estimators import Estimator
from bothworlds.policies.ftrl.predictions import Predictions
from bothworlds.policies.ftrl.rates import Rates
from bothworlds.simplex.regularizers import Regularizer

AS_WRITTEN = 99  # the depth of a field that takes any value: no list is deep enough to be a sweep of it


class Family(NamedTuple):
    """A base class whose subclasses have names."""

    base: type
    registry: Mapping[str, type]


FAMILIES = {
    "policy": Family(Policy, Policy.registry),
    "environment": Family(Environment, Environment.registry),
    "regularizer": Family(Regularizer, Regularizer.registry),
    "rates": Family(Rates, Rates.registry),
    "estimator": Family(Estimator, Estimator.registry),
    "predictions": Family(Predictions, Predictions.registry),
}


@dataclass(frozen=True)
class Shape:
    """What one key of a table takes."""

    key: str
    type: Any
    """The type of one value, lists by nature as ``list[...]``; ``Any`` where the class alone can tell."""
    depth: int
    """How many lists a single value is nested in by nature; one more is a sweep."""
    family: str | None
    """For a part, which is a table itself, its family."""
    required: bool
    default: Any

    def is_sweep(self, value: Any) -> bool:
        """Is the value a list of alternatives?"""
        return nesting(value) > self.depth


def nesting(value: Any) -> int:
    """How many lists deep a value is, going by first items."""
    depth = 0
    while isinstance(value, list):
        depth += 1
        value = value[0] if value else None
    return depth


@functools.cache
def shapes(cls: type) -> dict[str, Shape]:
    """The keys that a table of this class takes, apart from ``kind`` and ``label``."""
    try:
        hints = get_type_hints(cls)
    except Exception:  # names that exist for type checkers only
        hints = {}
    data = data_fields(cls)
    found = {}
    for field in settings(cls):
        kind, depth, family = _translate(hints.get(field.name, Any))
        required = field.default is MISSING and field.default_factory is MISSING and field.name not in data
        key = key_of(field)
        found[key] = Shape(key, kind, depth, family, required, field.default)
    if data:
        found["path"] = Shape("path", str, 0, None, False, MISSING)
    return found


def data_fields(cls: type) -> set[str]:
    """The fields that a file in place of them would hold: those which ``cls.read(path, …)`` does not take."""
    if not hasattr(cls, "read"):
        return set()
    return {field.name for field in settings(cls)} - set(inspect.signature(cls.read).parameters)


def _translate(hint: Any) -> tuple[Any, int, str | None]:
    """An annotation as a type for files, the depth of its lists, and the family of a part."""
    options = [hint]
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]  # files have no null
    if len(options) > 1:
        plain = all(option in (int, float, str, bool) for option in options)
        return (functools.reduce(operator.or_, options), 0, None) if plain else (Any, AS_WRITTEN, None)
    hint = options[0]
    if hint in (int, float, str, bool) or get_origin(hint) is Literal:
        return hint, 0, None
    for name, family in FAMILIES.items():
        if isinstance(hint, type) and issubclass(hint, family.base):
            return None, 0, name
    if get_origin(hint) in (list, tuple, Sequence) and len(set(get_args(hint)) - {Ellipsis}) == 1:
        inner, depth, part = _translate(get_args(hint)[0])
        if part is None and depth < AS_WRITTEN:
            return list.__class_getitem__(inner), depth + 1, None
    return Any, AS_WRITTEN, None
