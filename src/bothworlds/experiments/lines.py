"""On which line of a TOML file a value stands: ``tomllib`` reads values, but says nothing of places."""

from __future__ import annotations

import bisect
import re
import tomllib
from typing import TypeAlias

Place: TypeAlias = tuple[str | int, ...]

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


def lines(text: str) -> dict[Place, int]:
    """The line of every key and list item of a valid TOML file.

    >>> lines('seed = 1\\n[[policy]]\\nkind = "ftrl"\\nbeta = [\\n  0.3,\\n  0.5]')[("policy", 0, "beta", 1)]
    6
    """
    return _Scanner(text).found


class _Scanner:
    """A recursive descent that may assume what ``tomllib`` has checked: the file is well-formed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.ends = [match.start() for match in re.finditer("\n", text)]
        self.found: dict[Place, int] = {}
        self.lengths: dict[Place, int] = {}  # of arrays of tables
        table: Place = ()
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

    def note(self, place: Place) -> None:
        for stop in range(1, len(place) + 1):  # a.b.c makes tables a and a.b too
            self.found.setdefault(place[:stop], bisect.bisect_left(self.ends, self.at) + 1)

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

    def header(self) -> Place:
        """``[a.b]`` or ``[[a.b]]``: the table that the following pairs go to."""
        many = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if many else 1
        table: Place = ()
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

    def last(self, place: Place) -> Place:
        """The table that a header means: of an array of tables, the last."""
        return (*place, self.lengths[place] - 1) if place in self.lengths else place

    def pair(self, table: Place) -> None:
        start = self.at
        place = (*table, *self.keys())
        end, self.at = self.at, start
        self.note(place)
        self.at = end + 1  # the equals sign
        self.skip(BLANK)
        self.value(place)

    def value(self, place: Place) -> None:
        self.note(place)
        opening = self.text[self.at]
        if opening == "[":
            self.items("]", place)
        elif opening == "{":
            self.items("}", place)
        else:
            self.skip(STRING if opening in "\"'" else OTHER)

    def items(self, closing: str, place: Place) -> None:
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
                self.pair(place)
            else:
                self.value((*place, number))
                number += 1
        self.at += 1
