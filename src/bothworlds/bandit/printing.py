"""A bandit in words: a line, a table for terminals, one for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, NamedTuple

from bothworlds._words import counted, html_table, plural

if TYPE_CHECKING:
    from bothworlds.bandit.queries import Queries

SHOWN_ARMS = 20


class Arm(NamedTuple):
    """An arm, as a row of the table."""

    label: str
    p: float
    pulls: int
    mean: str
    """Of what was seen, as rewards or losses, whichever is reported, in the user's range."""
    past: str
    """How its probability has moved, as a line of blocks."""


def arms_of(bandit: Queries) -> list[Arm]:
    """The arms, likeliest first."""
    rows = []
    with bandit._lock:
        probabilities, history = bandit.probabilities, bandit.history
        for i, label in enumerate(bandit._arms):
            if i in bandit._roster.retired:
                continue
            mean = "–"
            if bandit._seen[i]:
                value = bandit._range.value_of(bandit._feedback_kind, bandit._sums[i] / bandit._seen[i])
                mean = f"{value:.4g}"
            past = history.line(label) if len(history) > 1 else ""
            rows.append(Arm(str(label), probabilities[label], bandit._pulls[i], mean, past))
    return sorted(rows, key=lambda row: -row.p)


def headline(bandit: Queries) -> str:
    """The number of arms, the policy, and how many pulls were made and are open."""
    of = f" of {bandit.horizon}" if bandit.horizon is not None else ""
    open_pulls = len(bandit.outstanding) if bandit._defers else len(bandit._open)
    waiting = f", {open_pulls} outstanding" if open_pulls else ""
    waiting += f", {bandit.late} late" if bandit.late else ""
    pulls = plural(bandit.horizon or bandit.rounds, "pull")
    posed = "" if bandit.problem.plain else f" ({bandit.problem})"
    return f"{len(bandit)} arms{posed}, {bandit.policy!r}, {bandit.rounds}{of} {pulls}{waiting}"


def line(bandit: Queries) -> str:
    """One line, for ``repr``."""
    first = arms_of(bandit)[0]
    return f"<Bandit: {headline(bandit)}; likeliest next: {first.label} ({first.p:.1%})>"


def plain_table(bandit: Queries) -> str:
    """A table, for ``print``."""
    arms, kind = arms_of(bandit), bandit._feedback_kind
    width = max(3, *(len(arm.label) for arm in arms[:SHOWN_ARMS]))
    past = "  so far" if arms[0].past else ""
    lines = [f"Bandit: {headline(bandit)}", f"{'arm':<{width}}  next pull    pulls  mean {kind}{past}"]
    for label, p, pulls, mean, past in arms[:SHOWN_ARMS]:
        line = f"{label:<{width}}  {p:>9.2%}  {pulls:>7}  {mean:>{5 + len(kind)}}  {past}"
        lines.append(line.rstrip())
    if len(arms) > SHOWN_ARMS:
        lines.append(f"… and {counted(len(arms) - SHOWN_ARMS, 'more arm')}")
    return "\n".join(lines)


def notebook_page(bandit: Queries) -> str:
    """A table and a chart in HTML, for notebooks."""
    arms = arms_of(bandit)
    rows = [[label, f"{p:.2%}", str(pulls), mean] for label, p, pulls, mean, _ in arms[:SHOWN_ARMS]]
    more = [f"… and {counted(len(arms) - SHOWN_ARMS, 'more arm')}"] if len(arms) > SHOWN_ARMS else []
    table = html_table(["arm", "next pull", "pulls", f"mean {bandit._feedback_kind}"], rows, more)
    return f"<p><b>Bandit</b>: {html.escape(headline(bandit))}</p>{table}{bandit.history.svg()}"
