"""Collects the mistakes of a file and words them: the place, the value, what is allowed, the closest name."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin

from bothworlds.errors import InvalidArgumentError, Mistake, SpecError, UnknownNameError, did_you_mean
from bothworlds.experiments.lines import Place, lines
from bothworlds.experiments.models import MANY, ONE, Head
from bothworlds.experiments.modules import GROUPS, load_plugins
from bothworlds.experiments.shapes import FAMILIES, shapes
from bothworlds.experiments.unfold import written

EXAMPLES = {
    "horizon": "horizon = 10_000",
    "replications": "replications = 32",
    "policy": '[[policy]] with kind = "light-barrier"',
    "environment": '[[environment]] with kind = "bernoulli", n_arms = 8 and gap = 0.2',
}

# what pydantic wants, by the type of its error; its context fills in the numbers
WANTED = {
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "a boolean",
    "string_type": "a string",
    "list_type": "a list",
    "dict_type": "a dictionary",
    "finite_number": "a finite number",
    "greater_than_equal": "greater than or equal to {ge}",
    "less_than_equal": "less than or equal to {le}",
}


class Report:
    """The mistakes of one file."""

    def __init__(self, source: str, text: str, document: dict[str, Any]) -> None:
        self.source = source
        self.document = document
        self.lines = lines(text)
        self.mistakes: list[Mistake] = []

    def add(self, place: Place, text: str) -> None:
        """Note a mistake at a place of the unfolded document."""
        place = written(place, self.document)
        line = next(
            (self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), None
        )
        mistake = Mistake(line, spell(place), text)
        if mistake not in self.mistakes:
            self.mistakes.append(mistake)

    def add_invalid(self, prefix: Place, data: Any, family: str | None, errors: Iterable[Any]) -> None:
        """Note what pydantic found in ``data``, which stands at ``prefix``."""
        for error in errors:
            steps, tables = follow(error["loc"], data, family)
            place = (*prefix, *steps, *(("kind",) if error["type"] == "union_tag_invalid" else ()))
            self.add(place, self.explain(error, place, *tables))

    def explain(self, error: Any, place: Place, table: Any, family: str | None) -> str:
        """A mistake in words; ``table`` is the innermost table that it is in, of this family."""
        kind, value, context = error["type"], error["input"], error.get("ctx", {})
        name = next((step for step in reversed(place) if isinstance(step, str)), "the file")
        if kind == "missing":
            owner = f"{table['kind']} needs it" if family else f"for example {EXAMPLES[name]}"
            return f"{name} is missing: {owner}"
        if kind == "extra_forbidden":
            return unknown_key(name, table, family)
        if kind == "literal_error":
            choices = _choices(_annotation(name, table, family))
            *others, last = [repr(choice) for choice in choices]
            wanted = f"{', '.join(others)} or {last}" if others else last
            return _must_be(name, value, wanted, fix=did_you_mean(str(value).lower(), choices))
        if kind == "union_tag_invalid" and family:
            if isinstance(value["kind"], list):
                return _must_be("kind", value["kind"], "one name", fix="write a table for each")
            return unknown_kind(family, value["kind"])
        if kind == "union_tag_not_found" and family:
            known = ", ".join(sorted(FAMILIES[family].registry))
            return f"kind is missing: it names the {family}. Known: {known}"
        if kind == "model_attributes_type" and family:
            return _must_be(name, value, f"the name of {_a(family)} or a table with a kind")
        if place == (name,) and name in ("policy", "environment") and kind in ("list_type", "dict_type"):
            return f"{name} must be a list of tables: begin each of them with a line [[{name}]]"
        if kind in ("too_short", "string_too_short"):
            return f"{name} must not be empty: {_fix_empty(name)}"
        wanted = WANTED[kind].format(**context) if kind in WANTED else f"valid ({error['msg']})"
        return _must_be(name, value, wanted, fix=_whole(kind, value))

    def close(self) -> None:
        """Raise if there was any mistake."""
        if self.mistakes:
            raise SpecError(self.source, sorted(self.mistakes, key=lambda mistake: mistake.line or 0))


def follow(
    location: Iterable[str | int], data: Any, family: str | None
) -> tuple[Place, tuple[Any, str | None]]:
    """The place that pydantic means, without its tags; the table there and the family of that table."""
    place: list[str | int] = []
    steps = [step for step in location if step not in (ONE, MANY)]
    table, value, known = data, data, family
    while True:
        if known and isinstance(value, dict):
            table, family = value, known
            steps = steps[1:] if steps and steps[0] == value.get("kind") else steps  # the tag of the union
        elif known and not isinstance(value, list):
            family = known
        if not steps:
            return tuple(place), (table, family)
        step, *steps = steps
        place.append(step)
        if isinstance(value, dict) and isinstance(step, str):
            cls = FAMILIES[family].registry.get(value.get("kind", "")) if family else None
            shape = shapes(cls).get(step) if cls else None
            known, value = (shape.family if shape else None), value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]


def without_mistakes(data: dict[str, Any], family: str, errors: Iterable[Any]) -> dict[str, Any] | None:
    """The table without the settings that pydantic refused; None where not even its kind is known."""
    rest = copy.deepcopy(data)
    for error in errors:
        steps, _ = follow(error["loc"], data, family)
        while steps and isinstance(steps[-1], int):
            steps = steps[:-1]
        if not steps:
            return None
        table: Any = rest
        for step in steps[:-1]:
            inside = isinstance(table, list) or step in table
            table = table[step] if inside else {}  # it may be gone already, with what it was in
        table.pop(steps[-1], None)
    return rest


def unknown_key(name: str, table: Any, family: str | None) -> str:
    """Which key was meant, or where this one belongs."""
    top = list(Head.model_fields)
    if family is None:
        return f"unknown key {name!r}{_closest(name, top)} Known at the top of a file: {', '.join(top)}"
    cls = FAMILIES[family].registry[table["kind"]]
    keys = list(shapes(cls))
    takes = f"{table['kind']} takes: {', '.join(keys)}" if keys else f"{table['kind']} has no settings"
    if name in top:
        return f"{name} belongs to the top of the file, before the first [[...]]. {takes}"
    for key, shape in shapes(cls).items():
        owners = [kind for kind, part in _kinds(shape.family) if name in shapes(part)]
        if owners:
            return f"{name} is a setting of {key} = {' or '.join(repr(owner) for owner in owners)}. {takes}"
    beside = [
        key for shape in shapes(cls).values() for _, part in _kinds(shape.family) for key in shapes(part)
    ]
    return f"unknown key {name!r}{_closest(name, [*keys, 'label', *beside])} {takes}"


def _kinds(family: str | None) -> list[tuple[str, type]]:
    return list(FAMILIES[family].registry.items()) if family else []


def unknown_kind(family: str, name: Any) -> str:
    """The closest name; or why an installed package did not bring this one."""
    group = next((group for group in GROUPS if group == f"bothworlds.{family}s"), None)
    if group is None and family == "policy":
        group = "bothworlds.policies"
    failure = load_plugins().failures.get((group or "", str(name)))
    error = UnknownNameError(family, name, FAMILIES[family].registry)
    return f"{error}{f'. {failure}' if failure else ''}"


def spell(place: Place) -> str:
    """A place in words.

    >>> spell(("policy", 2, "beta", 0))
    'policy[2].beta[0]'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".")


def malformed(source: str, text: str, error: tomllib.TOMLDecodeError) -> SpecError:
    """What is wrong with a file that is not TOML, under the line that it is in."""
    said, _, where = str(error).rpartition(" (at ")
    rows = text.split("\n")
    found = re.match(r"line (\d+), column (\d+)", where)  # all that there is before Python 3.14
    line, column = (int(found[1]), int(found[2])) if found else (len(rows), len(rows[-1]) + 1)
    if not found:  # the end of the document: show the last line with something on it
        while line > 1 and not rows[line - 1].strip():
            line -= 1
        column = len(rows[line - 1]) + 1
    margin = f"  {line} | "
    shown = rows[line - 1].rstrip("\r").expandtabs(1)
    pointer = " " * (len(margin) - 2) + "| " + " " * (column - 1) + "^"
    return SpecError(source, [Mistake(line, "", f"not valid TOML: {said}\n{margin}{shown}\n{pointer}")])


def _must_be(name: str, value: Any, wanted: str, fix: str = "") -> str:
    return str(InvalidArgumentError(name, value, wanted, fix=fix))


def _annotation(name: str, table: Any, family: str | None) -> Any:
    """The type of a setting: of a table of this family, or of the top of the file."""
    if family is None:
        return Head.model_fields[name].annotation
    return shapes(FAMILIES[family].registry[table["kind"]])[name].type


def _choices(annotation: Any) -> tuple[str, ...]:
    """The values of the ``Literal`` in an annotation."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(choice for part in get_args(annotation) for choice in _choices(part))


def _closest(name: str, choices: Iterable[str]) -> str:
    question = did_you_mean(name.lower(), choices)
    return f"; {question}" if question else "."


def _a(family: str) -> str:
    return f"an {family}" if family[0] in "aeiou" else f"a {family}"


def _fix_empty(name: str) -> str:
    return f"write at least one {EXAMPLES[name]}" if name in EXAMPLES else "give at least one value"


def _whole(kind: str, value: Any) -> str:
    is_whole = kind == "int_type" and isinstance(value, float) and value.is_integer()
    return f"write {int(value)}" if is_whole else ""
