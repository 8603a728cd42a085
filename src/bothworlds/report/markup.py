"""Escaped HTML: the only place where tags and text meet, so that no label can become markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class Markup:
    """Text that is HTML already; everything else is escaped."""

    text: str


Content = str | Markup


def inner(content: Content) -> str:
    """HTML of a piece of text or markup.

    >>> inner("a < b"), inner(Markup("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return content.text if isinstance(content, Markup) else escape(content)


def tag(name: str, content: Content | Iterable[Content] = "", **attributes: str | None) -> Markup:
    """An element; ``class_`` stands for class, underscores for hyphens; None leaves an attribute out.

    >>> tag("a", "x & y", href="#top", class_="link").text
    '<a href="#top" class="link">x &amp; y</a>'
    """
    parts = [content] if isinstance(content, str | Markup) else content
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{''.join(map(inner, parts))}</{name}>")


@dataclass(frozen=True)
class Cell:
    """One cell of a table: a main text, a small one below it, a class."""

    text: Content
    small: Content = ""
    class_: str | None = None

    def html(self) -> Markup:
        """The td element."""
        small = [tag("small", self.small)] if self.small else []
        return tag("td", [self.text, *small], class_=self.class_)


def table(
    caption: Content,
    corner: str,
    columns: Sequence[Content],
    rows: Sequence[tuple[Content, Sequence[Cell]]],
    *,
    class_: str = "",
) -> Markup:
    """A table with a caption and headers on both sides, in a box that scrolls on a small screen."""
    head = tag("tr", [tag("th", corner, scope="col"), *(tag("th", c, scope="col") for c in columns)])
    body = [tag("tr", [tag("th", name, scope="row"), *(c.html() for c in cells)]) for name, cells in rows]
    inside = [tag("caption", caption), tag("thead", head), tag("tbody", body)]
    return tag(
        "div",
        tag("table", inside, class_=class_ or None),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption if isinstance(caption, str) else corner,
    )


def matrix(
    caption: Content,
    policies: Sequence[str],
    worlds: Sequence[str],
    cells: dict[tuple[str, str], Cell],
    *,
    class_: str = "matrix",
    extra: Sequence[tuple[str, dict[str, Cell]]] = (),
    heads: Mapping[str, Content] | None = None,
) -> Markup:
    """Policies × worlds, with further columns per policy; worlds in rows where there are many of them.

    ``heads`` replaces the names of worlds by something richer.
    """
    nothing = Cell("–", class_="none")
    named = {w: (heads or {}).get(w, w) for w in worlds}
    if len(worlds) > 12 and len(worlds) > len(policies):
        rows: list[tuple[Content, list[Cell]]] = [
            (name, [column.get(p, nothing) for p in policies]) for name, column in extra
        ]
        rows += [(named[w], [cells.get((p, w), nothing) for p in policies]) for w in worlds]
        return table(caption, "world", policies, rows, class_=class_)
    body: list[tuple[Content, list[Cell]]] = [
        (p, [column.get(p, nothing) for _, column in extra] + [cells.get((p, w), nothing) for w in worlds])
        for p in policies
    ]
    return table(caption, "policy", [*(name for name, _ in extra), *named.values()], body, class_=class_)


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element: it cannot close the element or open a comment.

    >>> script_json({"label": "</script><!--"})
    '{"label":"\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
