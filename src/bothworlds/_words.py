"""Words for messages: numbers with their nouns, times, sizes, values cut short, the closest name."""

from __future__ import annotations

import difflib
import html
import math
from collections.abc import Iterable
from typing import Any


def plural(n: int, noun: str) -> str:
    """The noun as it stands after a number.

    >>> plural(1, "policy"), plural(2, "policy"), plural(0, "process"), plural(5, "arm"), plural(2, "key")
    ('policy', 'policies', 'processes', 'arms', 'keys')
    """
    if n == 1:
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith("s") else "s")


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "cell"), counted(1200, "replication")
    ('1 cell', '1,200 replications')
    """
    return f"{n:,} {plural(n, noun)}"


def some_are(n: int, total: int, noun: str) -> str:
    """A part of a number of things, and the verb that follows it.

    >>> some_are(1, 1, "chunk"), some_are(1, 8, "chunk"), some_are(3, 8, "chunk")
    ('1 of 1 chunk is', '1 of 8 chunks is', '3 of 8 chunks are')
    """
    return f"{n:,} of {counted(total, noun)} {'is' if n == 1 or total == 1 else 'are'}"


def clock(seconds: float) -> str:
    """Seconds as people write them.

    >>> clock(4.2), clock(75), clock(7322)
    ('0:04', '1:15', '2:02:02')
    """
    whole = max(0, round(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def duration(seconds: float) -> str:
    """A time in its largest unit.

    >>> duration(90), duration(3e12)
    ('1.5 minutes', '95,129 years')
    """
    for unit, length in (("years", 31_536_000.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f"{seconds / length:,.{0 if seconds >= 10 * length else 1}f} {unit}"
    return counted(round(seconds), "second")


def byte_size(count: float) -> str:
    """A number of bytes in its largest unit.

    >>> byte_size(4e13)
    '40 TB'
    """
    power = min(6, int(math.log10(max(count, 1.0)) // 3))
    return f"{count / 1000.0**power:,.0f} {('bytes', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB')[power]}"


def html_table(heads: Iterable[str], rows: Iterable[Iterable[str]], notes: Iterable[str] = ()) -> str:
    """A table for a notebook, escaped: the first cell of each row names it.

    >>> html_table(["arm"], [["<b>"]])
    '<table><thead><tr><th>arm</th></tr></thead><tbody><tr><th>&lt;b&gt;</th></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
    body = ""
    for first, *others in rows:
        body += (
            f"<tr><th>{html.escape(first)}</th>"
            + "".join(f"<td>{html.escape(c)}</td>" for c in others)
            + "</tr>"
        )
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def short(value: Any) -> str:
    """The repr of a value, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The closest of the known names as a question; empty where none is close.

    >>> did_you_mean("tsalis", ["shannon", "tsallis"])
    "did you mean 'tsallis'?"
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""
