"""Values: frozen dataclasses that are known by name, print only what is not default, and become tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError, PartError, StateError
from bothworlds.settings import settings_of

_families: list[type[Value]] = []


@dataclass(frozen=True, repr=False, init=False)
class Value:
    """Base class of policies, environments and their parts.

    A class with a ``name`` is known by it to saved states and experiment files:
    ``class UCB1(Policy, name="ucb1")``.
    """

    registry: ClassVar[dict[str, type]]
    """The classes of one family by name; the base class of each family has its own."""

    registered_name: ClassVar[str] = ""
    """The name of this class; a class without one inherits that of another."""

    namespace: ClassVar[str] = "policy"
    """Names are unique among the families of a namespace: a policy and its parts."""

    allowed: ClassVar[str]
    """What is allowed where one of a family is asked for, in words."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        """Of a class without fields, or one that has forgotten ``@dataclass``, which would make its own."""
        require_dataclass(type(self))
        if given or settings:
            raise TypeError(f"{type(self).__name__} has no settings")

    def __init_subclass__(cls, *, name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "registry" in vars(cls):
            _families.append(cls)
        if name is not None:
            register(cls, name)

    def __post_init__(self) -> None:
        """Hold every field to its type (see ``bothworlds.settings``)."""
        kind: type = type(self)
        for name, setting in settings_of(kind).items():
            self._set(**{name: setting.check(name, getattr(self, name))})

    def _set(self, **values: Any) -> None:
        """Set attributes while it is made, after which it is frozen."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def require(cls, value: Any, *, name: str, index: tuple[int, ...] = ()) -> Any:
        """``value``, if it is one of this family; else an error that says what would be."""
        if isinstance(value, cls):
            return value
        named = cls.registry.get(value) if isinstance(value, str) else value
        fix = ""
        if isinstance(named, type) and issubclass(named, cls):
            asks = any(field.default is MISSING for field in settings(named))
            fix = f"write {named.__name__}({'...' if asks else ''})"
        raise InvalidArgumentError(name, value, cls.allowed, fix=fix, index=index)

    def given(self) -> dict[str, Any]:
        """The settings that make an equal one: what follows from the others is left at its default."""
        return {field.name: getattr(self, field.name) for field in settings(self)}

    def __repr__(self) -> str:
        shown, given = [], self.given()
        for field in settings(self):
            value = given[field.name]
            if field.default is MISSING and not field.kw_only:
                shown.append(repr(value))
            elif field.default is MISSING or value != field.default:
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def require_dataclass(cls: type) -> None:
    """Settings become fields by ``@dataclass`` alone: without it they would be ignored."""
    for kind in cls.__mro__:
        if issubclass(kind, Value) and "__dataclass_fields__" not in vars(kind):
            forgotten = [name for name, hint in kind.__annotations__.items() if "ClassVar" not in str(hint)]
            if forgotten:
                fix = f"put @dataclass(frozen=True, repr=False) above class {kind.__name__}"
                got = f"a plain class with {', '.join(forgotten)}"
                raise InvalidArgumentError(kind.__name__, kind, "a dataclass", got=got, fix=fix)


def register(cls: type[Value], name: str) -> None:
    """Make a class known by name in its family; defined again it replaces itself.

    That happens in a notebook, and where a study runs its own copy of a file that a program has imported.
    """
    if not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name):
        fix = f"write name={'-'.join(re.findall('[a-z0-9]+', name.lower())) or 'a-name'!r}"
        raise InvalidArgumentError("name", name, "lower-case words and digits with hyphens", fix=fix)
    taken = names_in(cls.namespace).get(name, cls)
    if taken.__qualname__ != cls.__qualname__ or not _same_file(taken.__module__, cls.__module__):
        got = f"{name!r}, which is {taken.__qualname__} of {taken.__module__}"
        raise InvalidArgumentError("name", name, "free", got=got)
    cls.registry[name] = cls
    cls.registered_name = name


def _same_file(one: str, other: str) -> bool:
    """Is it one module, or two with the same source?"""
    return one == other or (bool(_source(one)) and _source(one) == _source(other))


def _source(module: str) -> bytes:
    """What the file of a module holds; nothing where it has none."""
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        return Path(file).read_bytes() if file else b""
    except OSError:
        return b""


def families() -> tuple[type[Value], ...]:
    """The base classes of all families: policies, environments, and each kind of part."""
    return tuple(_families)


def names_in(namespace: str) -> dict[str, type]:
    """All classes of a namespace by name."""
    found = [family for family in _families if family.namespace == namespace]
    return {name: cls for family in found for name, cls in family.registry.items()}


def is_ours(part: Value) -> bool:
    """Are its class and those of its parts of this package, so that any process has them?"""
    parts = [value for value in part.given().values() if isinstance(value, Value)]
    return type(part).__module__.startswith("bothworlds.") and all(map(is_ours, parts))


def settings(part: Any) -> list[Field[Any]]:
    """The fields of a class (or of an instance) that are given to it; others it sets itself."""
    return [field for field in fields(part) if field.init]


def plain(value: Any) -> Any:
    """A number, string or (nested) sequence of numbers in JSON types."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value


def to_table(part: Any) -> dict[str, Any]:
    """A policy or environment (or a part of one) in plain JSON types: its name and its fields."""
    kind = vars(type(part)).get("registered_name")
    if not kind:
        kind, family = type(part).__name__, type(part).__mro__[1].__name__
        raise StateError(
            f"{kind} has no name, so it cannot be saved; write class {kind}({family}, name='a-name')"
        )
    table: dict[str, Any] = {"kind": kind}
    for name, value in part.given().items():
        is_part = hasattr(value, "parameters")
        table[name] = to_table(value) if is_part else plain(value)
    return table


def from_table(
    data: Mapping[str, Any],
    find: Callable[[Any], type[Any]],
    location: tuple[str, ...] = (),
    family: type[Value] | None = None,
) -> Any:
    """What :func:`to_table` described; refusals are :class:`PartError`.

    A kind is looked up in its ``family``, which for a part is that of its field; where no family is known, by
    ``find``. A table with a ``path`` is read by the class method ``read`` of its class.
    """
    kind = data["kind"]
    try:
        cls = find(kind) if family is None else _member(family, kind)
    except Exception as error:
        raise PartError(location, str(kind), error) from error
    values = {
        key: from_table(value, find, (*location, key), _family(cls, key))
        if isinstance(value, Mapping) and "kind" in value
        else value
        for key, value in data.items()
        if key != "kind"
    }
    try:
        if "path" in values and hasattr(cls, "read"):
            return cls.read(values.pop("path"), **values)
        return cls(**values)
    except Exception as error:  # a class written by a user may raise anything
        raise PartError(location, str(kind), error) from error


def _family(cls: type, name: str) -> type[Value] | None:
    """The family that a field is for; None where its type does not tell."""
    field = settings_of(cls).get(name)
    kind = field.type if field else None
    return next((each for each in _families if isinstance(kind, type) and issubclass(kind, each)), None)


def _member(family: type[Value], kind: Any) -> type[Any]:
    return family.registry[_check.known(family.__name__.lower(), kind, family.registry)]
