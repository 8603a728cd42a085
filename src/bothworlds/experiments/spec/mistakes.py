"""Collects the mistakes of a file and words them: the line, the value, what is allowed, the closest name."""

from __future__ import annotations

import bisect
import copy
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin

from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError, Mistake, SpecError, UnknownNameError
from bothworlds.experiments.modules import load_plugins
from bothworlds.experiments.spec.schema import FAMILIES, MANY, ONE, TopLevel, setting_types
from bothworlds.experiments.spec.variants import Location, as_written

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


class MistakeReport:
    """The mistakes of one file, and of the settings that replace some of its own."""

    def __init__(
        self, source: str, text: str, document: dict[str, Any], overrides: Mapping[str, Any] | None = None
    ) -> None:
        self.source = source
        self.document = document
        self.lines = line_numbers(text)
        self.overrides = {path_of(name): (name, value) for name, value in (overrides or {}).items()}
        self.mistakes: list[Mistake] = []

    def add(self, location: Location, text: str) -> None:
        """Note a mistake at a location of the nested document."""
        location = as_written(location, self.document)
        line = next(
            (self.lines[location[:n]] for n in range(len(location), 0, -1) if location[:n] in self.lines),
            None,
        )
        mistake = Mistake(line, spell_location(location), text)
        for n in range(len(location), 0, -1):
            if location[:n] in self.overrides:  # it is not in the file
                mistake = Mistake(None, spell_override(*self.overrides[location[:n]]), text)
        if mistake not in self.mistakes:
            self.mistakes.append(mistake)

    def add_invalid(self, prefix: Location, data: Any, family: str | None, errors: Iterable[Any]) -> None:
        """Note what pydantic found in ``data``, which stands at ``prefix``."""
        for error in errors:
            steps, tables = resolve_location(error["loc"], data, family)
            location = (*prefix, *steps, *(("kind",) if error["type"] == "union_tag_invalid" else ()))
            beside = self.taken_by_owner(location, *tables) if error["type"] == "missing" else {}
            if steps and steps[-1] in beside:
                part = location[:-1]
                name = next(step for step in reversed(part) if isinstance(step, str))
                self.add(part, _not_handed_on(name, tables[0]["kind"], beside))
            else:
                self.add(location, self.explain(error, location, *tables))

    def taken_by_owner(self, location: Location, table: Any, family: str | None) -> dict[str, Any]:
        """Settings that a part given by its name lacks, while those beside it go to the table that it is in.

        ``location`` is that of a setting of the part, ``table`` the part.
        """
        found: dict[str, Any] = {}
        if family is None or not isinstance(self._value(location[:-1]), str):
            return found
        for name in setting_types(FAMILIES[family].registry[table["kind"]]):
            value = self._value(as_written((*location[:-1], name), self.document))
            if name not in table and value is not None:
                found[name] = value
        return found

    def _value(self, location: Location) -> Any:
        """What the file has at a location; None if nothing."""
        value: Any = self.document
        for step in location:
            inside = step in value if isinstance(value, Mapping) else False
            if isinstance(value, list) and isinstance(step, int):
                inside = step < len(value)
            if not inside:
                return None
            value = value[step]
        return value

    def explain(self, error: Any, location: Location, table: Any, family: str | None) -> str:
        """A mistake in words; ``table`` is the innermost table that it is in, of this family."""
        kind, value, context = error["type"], error["input"], error.get("ctx", {})
        name = next((step for step in reversed(location) if isinstance(step, str)), "the file")
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
        if location == (name,) and name in ("policy", "environment") and kind in ("list_type", "dict_type"):
            return f"{name} must be a list of tables: begin each of them with a line [[{name}]]"
        if kind in ("too_short", "string_too_short"):
            return f"{name} must not be empty: {_fix_empty(name)}"
        wanted = WANTED[kind].format(**context) if kind in WANTED else f"valid ({error['msg']})"
        return _must_be(name, value, wanted, fix=_whole(kind, value))

    def close(self) -> None:
        """Raise if there was any mistake."""
        if self.mistakes:
            raise SpecError(self.source, sorted(self.mistakes, key=lambda mistake: mistake.line or 0))


def resolve_location(
    found: Iterable[str | int], data: Any, family: str | None
) -> tuple[Location, tuple[Any, str | None]]:
    """The location that pydantic means, without its tags; the table there and the family of that table."""
    location: list[str | int] = []
    steps = [step for step in found if step not in (ONE, MANY)]
    table, value, known = data, data, family
    while True:
        if known and isinstance(value, dict):
            table, family = value, known
            steps = steps[1:] if steps and steps[0] == value.get("kind") else steps  # the tag of the union
        elif known and not isinstance(value, list):
            family = known
        if not steps:
            return tuple(location), (table, family)
        step, *steps = steps
        location.append(step)
        if isinstance(value, dict) and isinstance(step, str):
            cls = FAMILIES[family].registry.get(value.get("kind", "")) if family else None
            setting = setting_types(cls).get(step) if cls else None
            known, value = (setting.family if setting else None), value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]


def without_mistakes(data: dict[str, Any], family: str, errors: Iterable[Any]) -> dict[str, Any] | None:
    """The table without the settings that pydantic refused; None where not even its kind is known."""
    rest = copy.deepcopy(data)
    for error in errors:
        steps, _ = resolve_location(error["loc"], data, family)
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
    top = list(TopLevel.model_fields)
    if family is None:
        return f"unknown key {name!r}{_closest(name, top)} Known at the top of a file: {', '.join(top)}"
    cls = FAMILIES[family].registry[table["kind"]]
    keys = list(setting_types(cls))
    takes = f"{table['kind']} takes: {', '.join(keys)}" if keys else f"{table['kind']} has no settings"
    if name in top:
        return f"{name} belongs to the top of the file, before the first [[...]]. {takes}"
    for key, setting in setting_types(cls).items():
        owners = [kind for kind, part in _kinds(setting.family) if name in setting_types(part)]
        if owners:
            return f"{name} is a setting of {key} = {' or '.join(repr(owner) for owner in owners)}. {takes}"
    beside = [
        key
        for setting in setting_types(cls).values()
        for _, part in _kinds(setting.family)
        for key in setting_types(part)
    ]
    return f"unknown key {name!r}{_closest(name, [*keys, 'label', *beside])} {takes}"


def _kinds(family: str | None) -> list[tuple[str, type]]:
    return list(FAMILIES[family].registry.items()) if family else []


def unknown_kind(family: str, name: Any) -> str:
    """The closest name; or why an installed package did not bring this one."""
    group = f"bothworlds.{'policies' if family == 'policy' else f'{family}s'}"
    failure = load_plugins().failures.get((group, str(name)))
    error = UnknownNameError(family, name, FAMILIES[family].registry)
    own = "" if error.fix else 'One of your own needs its file at the top: modules = ["its_file.py"]'
    hint = failure or own
    return f"{error}. {hint}" if hint else str(error)


def spell_location(location: Location) -> str:
    """A location in words.

    >>> spell_location(("policy", 2, "beta", 0))
    'policy[2].beta[0]'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return text.removeprefix(".")


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


def not_toml(source: str, text: str, error: tomllib.TOMLDecodeError) -> SpecError:
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


def _not_handed_on(name: str, kind: str, beside: Mapping[str, Any]) -> str:
    """That the settings beside a part are not its own, and how to write those that are."""
    settings = ", ".join(f"{key} = {json.dumps(value, default=str)}" for key, value in beside.items())
    return (
        f"{kind} needs its own {' and '.join(beside)}: what stands beside {name} belongs to the table around "
        f'it; write {name} = {{ kind = "{kind}", {settings} }}'
    )


def _annotation(name: str, table: Any, family: str | None) -> Any:
    """The type of a setting: of a table of this family, or of the top of the file."""
    if family is None:
        return TopLevel.model_fields[name].annotation
    return setting_types(FAMILIES[family].registry[table["kind"]])[name].type


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


# --- lines of a TOML file: tomllib reads values, but says nothing of where they are ------------------------

BLANK = re.compile(r"[ \t]*")
BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
KEY = re.compile(r"""[ \t]*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*""")
STRING = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"{3,5}'
    r"|'''[\s\S]*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
)
OTHER = re.compile(r"[^,\]}#\n]*")  # a number, boolean or date


def line_numbers(text: str) -> dict[Location, int]:
    """The line of every key and list item of a valid TOML file.

    >>> found = line_numbers('seed = 1\\n[[policy]]\\nkind = "ftrl"\\nbeta = [\\n  0.3,\\n  0.5]')
    >>> found["policy", 0, "beta", 1]
    6
    """
    return _Scanner(text).found


class _Scanner:
    """A recursive descent that may assume what ``tomllib`` has checked: the file is well-formed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.ends = [match.start() for match in re.finditer("\n", text)]
        self.found: dict[Location, int] = {}
        self.lengths: dict[Location, int] = {}  # of arrays of tables
        table: Location = ()
        while self.skip(BLANK_LINES) < len(text):
            if text.startswith("[", self.at):
                table = self.header()
            else:
                self.pair(table)

    def skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        assert match is not None  # every pattern here matches valid TOML
        self.at = match.end()
        return self.at

    def note(self, location: Location) -> None:
        for stop in range(1, len(location) + 1):  # a.b.c makes tables a and a.b too
            self.found.setdefault(location[:stop], bisect.bisect_left(self.ends, self.at) + 1)

    def keys(self) -> list[str]:
        """A dotted key."""
        found = []
        while True:
            match = KEY.match(self.text, self.at)
            assert match is not None
            self.at = match.end()
            found.append(next(iter(tomllib.loads(f"{match[1]} = 0"))))
            if not self.text.startswith(".", self.at):
                return found
            self.at += 1

    def header(self) -> Location:
        """``[a.b]`` or ``[[a.b]]``: the table that the following pairs go to."""
        many = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if many else 1
        table: Location = ()
        *outer, last = self.keys()
        for key in outer:
            table = self.last((*table, key))
        table = (*table, last)
        if many:
            self.lengths[table] = self.lengths.get(table, 0) + 1
        table = self.last(table)
        end, self.at = self.at, start
        self.note(table)
        self.at = end + (2 if many else 1)
        return table

    def last(self, location: Location) -> Location:
        """The table that a header means: of an array of tables, the last."""
        return (*location, self.lengths[location] - 1) if location in self.lengths else location

    def pair(self, table: Location) -> None:
        start = self.at
        location = (*table, *self.keys())
        end, self.at = self.at, start
        self.note(location)
        self.at = end + 1  # the equals sign
        self.skip(BLANK)
        self.value(location)

    def value(self, location: Location) -> None:
        self.note(location)
        opening = self.text[self.at]
        if opening == "[":
            self.items("]", location)
        elif opening == "{":
            self.items("}", location)
        else:
            self.skip(STRING if opening in "\"'" else OTHER)

    def items(self, closing: str, location: Location) -> None:
        """The items of an array, or the pairs of an inline table."""
        self.at += 1
        number = 0
        while True:
            self.skip(BLANK_LINES)
            if self.text.startswith(closing, self.at):
                break
            if self.text.startswith(",", self.at):
                self.at += 1
            elif closing == "}":
                self.pair(location)
            else:
                self.value((*location, number))
                number += 1
        self.at += 1
