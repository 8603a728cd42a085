"""The verdict of :func:`verify` as a table: rich on a terminal, plain text elsewhere."""

from __future__ import annotations

from typing import Any

from bothworlds.theory.verification import Row

HEADER = ("lemma", "verdict", "worst margin", "rounds", "explained in", "note")


def cells(row: Row) -> tuple[str, ...]:
    """One row in words."""
    verdict = "holds" if row.holds else "FAILS"
    note = row.note if row.holds else f"{row.note}; worst: {row.worst}".removeprefix("; ")
    return row.lemma, verdict, f"{row.margin:.2g}", f"{row.rounds:,}", row.page, note


def lemma_table(rows: list[Row]) -> str:
    """The rows as plain text.

    Examples
    --------
    >>> import bothworlds as bw
    >>> rows = bw.theory.verify(policies=[bw.TsallisINF()], rounds=50, search=False)
    >>> print(bw.theory.lemma_table(rows[:2]).splitlines()[1].split()[:2])
    ['decomposition', 'holds']
    """
    lines = [HEADER, *(cells(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def rich_lemma_table(rows: list[Row]) -> Any:
    """The rows as a ``rich`` table, to be printed by its console."""
    from rich.table import Table  # noqa: PLC0415 - only needed on a terminal

    result = Table(title="The paper's lemmas on real runs")
    for name in HEADER:
        result.add_column(name, justify="right" if name in ("worst margin", "rounds") else "left")
    for row in rows:
        style = None if row.holds else "bold red"
        result.add_row(*cells(row), style=style)
    return result
