"""What a setting of a policy, an environment or a part may be, said once: by the type of its field.

``Value.__post_init__`` holds every field to its type: numbers are numbers, words are among those of their
``Literal``, parts are of their family. Ranges are part of the type too; what has one is finite:

>>> from dataclasses import dataclass
>>> from bothworlds._value import Value
>>> @dataclass(frozen=True, repr=False)
... class Explorer(Value):
...     explore: UnitInterval = 0.1
...     window: Annotated[int, Within(at_least=2)] | None = None
>>> Explorer(explore=1)
Explorer(explore=1.0)
>>> Explorer(explore=1.5)
Traceback (most recent call last):
...
bothworlds.errors.OutOfRangeError: explore must be a finite number at least 0 and at most 1, got 1.5
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from bothworlds import _check


class Within(NamedTuple):
    """The range of a number, as part of its type: ``Annotated[float, Within(above=0.0)]``."""

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    fix: str = ""
    """What to do where the number is outside, added to the error."""


Positive: TypeAlias = Annotated[float, Within(above=0.0)]
NonNegative: TypeAlias = Annotated[float, Within(at_least=0.0)]
UnitInterval: TypeAlias = Annotated[float, Within(at_least=0.0, at_most=1.0)]
Count: TypeAlias = Annotated[int, Within(at_least=1)]

Check: TypeAlias = Callable[[str, Any], Any]


class Setting(NamedTuple):
    """The type of a field, taken apart."""

    type: Any
    """Without ``None`` and without its range; ``Any`` where nobody can tell."""
    within: Within
    optional: bool
    """May it be None?"""

    @classmethod
    def of(cls, hint: Any) -> Setting:
        """From an annotation."""
        options, optional = [hint], False
        if get_origin(hint) in (Union, types.UnionType):
            options = [option for option in get_args(hint) if option is not types.NoneType]
            optional = len(options) < len(get_args(hint))
        kind, within = Union[tuple(options)], Within()  # noqa: UP007 - of one it is that one
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            within = next((note for note in notes if isinstance(note, Within)), within)
        return cls(kind, within, optional)

    def check(self, name: str, value: Any) -> Any:
        """The value, numbers as Python's; or an error that says what is allowed."""
        if self.optional and value is None:
            return None
        if get_origin(self.type) is Literal:
            _check.one_of(name, value, (*get_args(self.type), *((None,) if self.optional else ())))
            return value
        if self.type is bool:
            _check.one_of(name, value, (True, False))
            return bool(value)
        if self.type is float:
            return _check.number(name, value, finite=self.within != Within(), **self.within._asdict())
        if self.type is int:
            return _check.integer(name, value, at_least=self.within.at_least, fix=self.within.fix)
        require = getattr(self.type, "require", None)  # of a family
        return value if require is None else require(value, name=name)


@functools.cache
def settings_of(cls: type) -> dict[str, Setting]:
    """The fields of a class that are given to it, by name."""
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception:  # names that exist for type checkers only
        hints = {}
    return {field.name: Setting.of(hints.get(field.name, Any)) for field in fields(cls) if field.init}
