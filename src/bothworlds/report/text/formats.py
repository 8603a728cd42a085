"""Tables as text for a terminal, CSV, Markdown, and LaTeX for papers (booktabs)."""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO, StringIO

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from bothworlds._words import counted
from bothworlds.report.text import ROBUST_NOTE, TextTable

FEWEST_TOTALS = 2  # of a scorecard: the geometric mean and the worst
TABLE_FORMATS = ("text", "csv", "latex", "markdown")
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "[": "{[}",  # at the start of a row it would be an option of the command before
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "–": "--",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
    "★": r"$\star$",
    "●": r"$\bullet$",
    "○": r"$\circ$",
    "✗": r"$\times$",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "⁺": r"$^+$",
    "²": r"$^2$",
    "₁": r"$_1$",
    "₂": r"$_2$",
}
_LETTERS = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon "
    "varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
_GREEK = zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", _LETTERS.split(), strict=True)
_TRANSLATION = str.maketrans(_LATEX | {letter: rf"$\{name}$" for letter, name in _GREEK})
_ROOT = re.compile(r"√(?:\(([^()]*)\)|(\w))")
_NUMBER = re.compile(r"-(?=\d)")


def as_rich(table: TextTable) -> RenderableType:
    """For a terminal, with colors where there are some; narrow terminals get letters as headings."""
    return _Fitting(table)


class _Fitting:
    """A table that gives way where there is not enough room."""

    def __init__(self, table: TextTable) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table, room = self.table, options.max_width
        endless = options.update_width(100_000)
        for table, may_wrap in narrower(self.table):
            needs = Measurement.get(console, endless, _grid(table))
            if room >= (needs.minimum if may_wrap else needs.maximum):
                break
        yield Text(table.title, style="bold")
        yield _grid(table)
        yield from map(Text, table.notes)


def _grid(table: TextTable) -> Table:
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for j, (name, right) in enumerate(zip(table.header, table.numbers, strict=True)):
        # a scorecard has many columns: long headings go over several lines, numbers never do
        total = 0 < len(table.header) - j <= table.totals and not table.transposed
        heading = (
            "\n".join(name.split() if total else textwrap.wrap(name, 12)) if table.styles and right else name
        )
        whole = bool(table.styles) and right  # a number that is cut would be another one
        widest = max((cell_len(row[j]) for row in table.rows), default=0) if whole else 0
        result.add_column(
            Text(heading),
            justify="right" if right else "left",
            no_wrap=whole,
            min_width=max(widest, 5 if right else 12) if table.styles else None,
            overflow="fold",
        )
    for i, row in enumerate(table.rows):
        styles = (
            table.styles.get((i, j)) or ("bold" if (i, j) in table.best else "") for j in range(len(row))
        )
        result.add_row(*(Text(cell, style=style) for cell, style in zip(row, styles, strict=True)))
    return result


def narrower(table: TextTable) -> Iterator[tuple[TextTable, bool]]:
    """The table, and, of a scorecard, ever narrower versions of it; may names of policies wrap there?

    Without what stands in for means; with A, B, … for the environments, which are listed below it, and with
    or without what stands in for means; without environments.
    """
    yield table, False
    if not table.totals or table.transposed:
        return
    n = len(table.header) - 1 - table.totals
    totals = range(n + 1, len(table.header))
    letters = string.ascii_uppercase[:n]
    key = tuple(f"{letter}  {name}" for letter, name in zip(letters, table.header[1:], strict=False))
    header = (table.header[0], *letters, "mean", *table.header[n + 2 :])
    lettered = replace(table, header=header, notes=key + table.notes)
    few = tuple(note for note in table.notes if note != ROBUST_NOTE)
    if n:
        columns = [*range(n + 2), totals[-1]]
        yield replace(_columns(table, columns), totals=FEWEST_TOTALS, notes=few), False
        yield lettered, False
        yield replace(_columns(lettered, columns), totals=FEWEST_TOTALS, notes=key + few), True
    scores = f"the scores of {counted(n, 'environment')}"
    note = f"No room for {scores}: widen the terminal, or see the table “scores”."
    alone = _columns(lettered, [0, totals[0], totals[-1]])
    yield replace(alone, totals=FEWEST_TOTALS, notes=(*[note] * bool(n), *few)), True


def _columns(table: TextTable, kept: Sequence[int]) -> TextTable:
    """Some columns of a table."""
    places = {j: place for place, j in enumerate(kept)}
    return replace(
        table,
        header=tuple(table.header[j] for j in kept),
        rows=[tuple(row[j] for j in kept) for row in table.rows],
        numbers=tuple(table.numbers[j] for j in kept),
        styles={(i, places[j]): style for (i, j), style in table.styles.items() if j in places},
        best=frozenset((i, places[j]) for i, j in table.best if j in places),
    )


def as_text(table: TextTable) -> str:
    """Plain text, as wide as it needs to be."""
    out = StringIO()
    Console(file=out, width=100_000, color_system=None, legacy_windows=False).print(as_rich(table))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).rstrip() + "\n"


def as_csv(frame: pd.DataFrame) -> str:
    """All columns, all digits (floats read back exactly), nothing for what is missing."""
    out = BytesIO()
    options = pa_csv.WriteOptions(quoting_style="needed")
    pa_csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), out, options)
    return out.getvalue().decode()


def as_markdown(table: TextTable) -> str:
    """A pipe table, with title and notes as paragraphs."""

    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join("---:" if right else "---" for right in table.numbers) + "|"
    rows = [
        tuple(f"**{cell}**" if (i, j) in table.best else cell for j, cell in enumerate(map(_markdown, row)))
        for i, row in enumerate(table.rows)
    ]
    body = "\n".join([line(tuple(map(_markdown, table.header))), rule, *map(line, rows)])
    parts = [f"**{_markdown(table.title)}**", body, *map(_markdown, table.notes)]
    return "\n\n".join(parts) + "\n"


def _markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<\[\]])", r"\\\1", text.replace("\n", " "))


def as_latex(table: TextTable, *, siunitx: bool = False) -> str:
    """A ``tabular`` with the rules of booktabs; title and notes are comments above it.

    Numbers are in math mode, the best in bold, and what names a group of rows is printed once. With
    ``siunitx`` columns of numbers are its ``S`` columns, which align them at the decimal point; means and
    the widths of their intervals stand in two of them, with ± between.
    """
    paired = [_is_paired(row[j] for row in table.rows) for j in range(len(table.header))]
    options = "detect-weight, group-digits=integer, group-minimum-digits=4, "
    options += "group-separator={,}"
    needs = r"needs \usepackage{booktabs}" + (rf" and \usepackage[{options}]{{siunitx}}" if siunitx else "")
    columns = "".join(
        (_aligned(row[j] for row in table.rows) if siunitx else "r") if right else "l"
        for j, right in enumerate(table.numbers)
    )
    header = [
        _across(latex(cell), paired[j]) if siunitx and right else latex(cell)
        for j, (cell, right) in enumerate(zip(table.header, table.numbers, strict=True))
    ]
    lines = []
    for i, row in enumerate(table.rows):
        group, before = row[: table.grouped], table.rows[i - 1][: table.grouped]
        again = i > 0 and group == before
        if i > 0 and table.grouped and not again:
            lines.append(r"\addlinespace")
        cells = [
            "" if again and j < table.grouped else _latex_cell(table, i, j, siunitx, paired[j])
            for j in range(len(row))
        ]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join(
        [
            *(f"% {' '.join(comment.split())}" for comment in (table.title, needs, *table.notes)),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(header) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


_DIGITS = re.compile(r"(−?[\d,]*\.?\d+)(?: ± ([\d,]*\.?\d+))?( [★●○·✗!])?")
_INTERVAL = re.compile(r"(−?[\d,]*\.?\d+) \[(−?[\d,]*\.?\d+|–), (−?[\d,]*\.?\d+|–)\]")


def _is_paired(cells: Iterable[str]) -> bool:
    """Whether these are means with widths."""
    return any(match and match[2] for match in map(_DIGITS.fullmatch, cells))


def _aligned(cells: Iterable[str]) -> str:
    r"""The columns of siunitx with room for these numbers: one, or two with ± between.

    >>> print(_aligned(["1,234 ± 12", "−5.20 ± 0.31", "–"]), _aligned(["16", "8"]), _aligned(["–"]))
    S[table-format=-4.2]@{${}\pm{}$}S[table-format=2.2] S[table-format=2] r
    """
    found = [match.groups() for match in map(_DIGITS.fullmatch, cells) if match]
    if not found:
        return "r"
    widths = [width for _, width, _ in found if width]
    between = rf"@{{${{}}\pm{{}}$}}{_with_room(widths)}" if widths else ""
    return _with_room([value for value, _, _ in found]) + between


def _with_room(numbers: Sequence[str]) -> str:
    parts = [number.lstrip("−").replace(",", "").partition(".") for number in numbers]
    before, after = max(len(whole) for whole, _, _ in parts), max(len(decimals) for _, _, decimals in parts)
    sign = "-" if any(number.startswith("−") for number in numbers) else ""
    return f"S[table-format={sign}{before}{f'.{after}' if after else ''}]"


def _across(text: str, paired: bool) -> str:
    """What is no number, in one column of siunitx or across two."""
    return rf"\multicolumn{{2}}{{c}}{{{text}}}" if paired else f"{{{text}}}"


def _latex_cell(table: TextTable, i: int, j: int, siunitx: bool, paired: bool) -> str:
    cell, best = table.rows[i][j], (i, j) in table.best
    found = _DIGITS.fullmatch(cell) if table.numbers[j] else None
    between = _INTERVAL.fullmatch(cell) if table.numbers[j] else None
    if between is not None:
        value, low, high = map(_in_math, between.groups())
        text = rf"${value}\;[{low};\,{high}]$"  # a comma would look like those of thousands
        return _across(text, paired) if siunitx else text
    if found is None:
        text = rf"\textbf{{{latex(cell)}}}" if best else latex(cell)
        return _across(text, paired) if siunitx and table.numbers[j] else text
    value, width, mark = found.groups()
    if siunitx and bool(width) == paired and mark != " !":  # a warning stays, where a rank is in bold
        plain = [number.replace(",", "").replace("−", "-") for number in (value, width) if number]
        return " & ".join(rf"\bfseries {number}" if best else number for number in plain)
    inside = _in_math(value) + (rf" \pm {_in_math(width)}" if width else "")
    number = rf"$\mathbf{{{inside}}}$" if best else f"${inside}$"
    if siunitx:
        return _across(f"{number} !" if mark == " !" else number, paired)
    return number if mark is None else f"{number} {latex(mark.strip())}"


def _in_math(number: str) -> str:
    r"""A number, or what stands where there is none, in math mode.

    >>> print(_in_math("−1,234.5"), _in_math("–"))
    -1{,}234.5 \mbox{--}
    """
    return number.replace(",", "{,}").replace("−", "-").replace("–", r"\mbox{--}")


def latex(text: str) -> str:
    r"""Text that prints as itself in LaTeX; Greek letters, roots and signs become mathematics.

    Examples
    --------
    >>> print(latex("β=0.5, 100% of R/√(KT) & -3 ± 1"))
    $\beta$=0.5, 100\% of R/$\sqrt{KT}$ \& $-$3 $\pm$ 1
    """
    text = _NUMBER.sub("−", " ".join(text.split()))
    parts, end = [], 0
    for match in _ROOT.finditer(text):
        inside = (match[1] or match[2] or "").translate(_TRANSLATION).replace("$", "")
        parts += [text[end : match.start()].translate(_TRANSLATION), rf"$\sqrt{{{inside}}}$"]
        end = match.end()
    return "".join([*parts, text[end:].translate(_TRANSLATION)])
