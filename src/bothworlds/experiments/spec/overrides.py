"""Settings of an experiment file replaced from outside: ``policy.0.beta=0.4`` on the command line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from bothworlds._words import counted
from bothworlds.errors import InvalidArgumentError


def parse_setting(text: str) -> tuple[str, Any]:
    """``NAME=VALUE``, the value as in TOML; what is no TOML is text.

    >>> parse_setting("policy.0.beta=[0.3, 0.4]"), parse_setting("policy.0.kind=ucb1")
    (('policy.0.beta', [0.3, 0.4]), ('policy.0.kind', 'ucb1'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidArgumentError("--set", text, "NAME=VALUE such as policy.0.beta=0.4")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def path_of(name: str) -> tuple[str | int, ...]:
    """Where in the document a name leads.

    >>> path_of("policy.0.beta")
    ('policy', 0, 'beta')
    """
    return tuple(int(step) if step.isdecimal() else step for step in name.split("."))


def spell_override(name: str, value: Any) -> str:
    """A setting as it is given on the command line.

    >>> spell_override("policy.0.kind", "ucb1"), spell_override("tell_horizon", False)
    ('--set policy.0.kind=ucb1', '--set tell_horizon=false')
    """
    return f"--set {name}={value if isinstance(value, str) else json.dumps(value, default=str)}"


def override(text: str, settings: Mapping[str, Any]) -> str:
    """The text of an experiment file with some settings replaced, or added; comments and order stay.

    A name is a path: keys, and the numbers of the tables of ``[[policy]]`` and ``[[environment]]`` from 0.

    >>> print(override("seed = 1  # any\\n[[policy]]\\nkind = 'ucb1'", {"seed": 3, "policy.0.alpha": 0.5}))
    seed = 3  # any
    [[policy]]
    kind = 'ucb1'
    alpha = 0.5
    <BLANKLINE>
    """
    import tomlkit  # noqa: PLC0415 - only where something is replaced

    document = tomlkit.parse(text)
    for name, value in settings.items():
        *way, last = name.split(".")
        place: Any = document
        for depth, step in enumerate(way):
            place = _enter(place, step, name, ".".join(way[:depth]) or "the file")
        if isinstance(place, list):
            _number(place, last, name, ".".join(way))
            place[int(last)] = value
        else:
            place[last] = value
    return tomlkit.dumps(document)


def _enter(place: Any, step: str, name: str, where: str) -> Any:
    if isinstance(place, list):
        return place[_number(place, step, name, where)]
    if isinstance(place, Mapping) and step in place and isinstance(place[step], (Mapping, list)):
        return place[step]
    tables = [key for key in place if isinstance(place[key], (Mapping, list))]
    raise InvalidArgumentError(
        "--set",
        name,
        f"a path into the file; {where} has no table {step!r}",
        fix=f"it has {', '.join(tables)}",
    )


def _number(place: Sequence[Any], step: str, name: str, where: str) -> int:
    if not step.isdecimal() or int(step) >= len(place):
        raise InvalidArgumentError(
            "--set",
            name,
            f"a path with a number of {where} in 0..{len(place) - 1}",
            fix=f"the file has {counted(len(place), 'entry')}",
        )
    return int(step)
