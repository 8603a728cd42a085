"""Panels as one figure, and figures as files."""

from __future__ import annotations

import inspect
import io
import math
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter

from bothworlds import _check
from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
from bothworlds.report.figures.contents import (
    KINDS,
    ONCE,
    SLOW,
    Contents,
    HeatMap,
    Lines,
    PointRanges,
    Stack,
)
from bothworlds.report.figures.draw import (
    POINTS_PER_INCH,
    SIZE,
    Numbers,
    Words,
    inches,
    name_lines,
    name_ticks,
    put,
    rc_settings,
    settle_names,
)
from bothworlds.report.folder import write_files
from bothworlds.report.numbers.rows import choose_panels, panels
from bothworlds.report.styles import choose_policies
from bothworlds.report.text.formats import latex

if TYPE_CHECKING:
    from bothworlds.report.study import Study

FORMATS = ("pdf", "svg", "png", "pgf")
WIDTH = 3.25  # inches: a column of most two-column papers
GOLDEN = 0.62  # height of a panel over its width
MOST_NAMES = 10  # lines named at their ends; more have a legend
NAMES = ("auto", "ends", "legend", "none")


def contents(
    study: Study,
    kind: str = "regret",
    *,
    environment: str | int | None = None,
    policies: Sequence[str] | None = None,
    label: str | None = None,
    color: str | None = None,
    **options: Any,
) -> list[Contents]:
    """The contents of the panels of one kind: of one environment, or of all."""
    if kind not in KINDS:
        fix = did_you_mean(str(kind), KINDS)
        raise InvalidArgumentError("kind", kind, f"one of {', '.join(KINDS)}", fix=fix)
    known = list(inspect.signature(KINDS[kind]).parameters)[3:]
    for name, value in options.items():
        if name not in known:
            raise InvalidArgumentError(
                name, value, f"left out: {kind} takes {', '.join(known) or 'no options'}"
            )
    legend = choose_policies(study, policies, label, color)
    chosen = choose_panels(study, environment, optimal=kind == "decomposition")
    return [
        replace(KINDS[kind](study, panel, legend, **options), title=panel.title)
        for panel in chosen[: 1 if kind in ONCE else None]
    ]


def figure(
    shown: Sequence[Contents],
    *,
    width: float | str = WIDTH,
    height: float | str | None = None,
    font: str = "sans",
    columns: int | None = None,
    names: str = "auto",
    titles: bool = False,
    equal: bool = False,
    tex: bool = False,
) -> Figure:
    """Panels as one figure.

    Parameters
    ----------
    shown:
        What :func:`contents` returned, of any studies.
    width, height:
        Inches, or text such as "8.5cm"; the height follows from the panels if it is not given.
    font:
        "sans" or "serif".
    columns:
        Panels beside each other; one, or two where there are several.
    names:
        Where lines are named: "ends", "legend" (one for all panels), "none"; "auto" takes the ends of
        the lines where there is one panel with few of them.
    titles:
        Whether panels say what they show; otherwise several panels have letters, for the caption.
    equal:
        Whether all panels with the same axes have the same limits.
    tex:
        Text as LaTeX, for the format pgf.
    """
    if not shown:
        raise InvalidArgumentError("shown", shown, "at least one panel", got="none")
    _check.one_of("names", names, NAMES)
    across = min(len(shown), _check.integer("columns", columns, at_least=1) if columns else 2)
    down = math.ceil(len(shown) / across)
    wide = inches("width", width)
    names = _where_names_stand(names, shown)
    texts = _legend_texts(shown) if names == "legend" else []
    per_line = _legend_columns(texts, wide)
    tall = (
        _height(shown, wide, across) + 0.155 * math.ceil(len(texts) / per_line)
        if height is None
        else inches("height", height)
    )
    words: Words = latex if tex else _plain
    with mpl.rc_context(rc_settings(font)):
        made = Figure(figsize=(wide, tall), layout="constrained")
        FigureCanvasAgg(made)
        axes = [made.add_subplot(down, across, place + 1) for place in range(len(shown))]
        for place, (panel, ax) in enumerate(zip(shown, axes, strict=True)):
            put(panel, ax, words)
            if titles:
                ax.set_title(words(panel.title), loc="left")
            elif len(shown) > 1:
                ax.set_title(f"({chr(ord('a') + place)})", loc="left")
        if equal:
            _equalize(shown, axes)
        _say_once(axes, across)
        if tex:
            _tick_words(axes)
        if names == "legend" and texts:
            _legend(made, axes, texts, per_line, words)
        elif names == "ends":
            _name_at_ends(made, shown, axes, words)
    return made


def _where_names_stand(names: str, shown: Sequence[Contents]) -> str:
    if names != "auto":
        return names
    (alone, *others) = shown
    few = isinstance(alone, Lines) and not alone.steps and len(alone.lines) <= MOST_NAMES
    return "ends" if few and not others else "legend"


def _legend_texts(shown: Sequence[Contents]) -> list[str]:
    """The names of all lines and parts, each once."""
    texts = [line.label for panel in shown if isinstance(panel, Lines) for line in panel.lines]
    texts += [name for panel in shown if isinstance(panel, Stack) for name in panel.names]
    return list(dict.fromkeys(texts))


def _legend_columns(texts: Sequence[str], width: float) -> int:
    """How many names fit beside each other, in columns of equal length."""
    if not texts:
        return 1
    room = width * POINTS_PER_INCH / (0.55 * (SIZE - 1) * max(map(len, texts)) + 30.0)
    fits = max(1, min(len(texts), int(room)))
    return math.ceil(len(texts) / math.ceil(len(texts) / fits))


def _legend(made: Figure, axes: Sequence[Axes], texts: Sequence[str], per_line: int, words: Words) -> None:
    """One legend for all panels, below them."""
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(text, handle)
    made.legend(
        [handles[text] for text in texts],
        [words(text) for text in texts],
        loc="outside lower center",
        ncols=per_line,
        handlelength=1.8,
        columnspacing=1.2,
        borderaxespad=0.2,
        labelspacing=0.35,
    )


def _name_at_ends(made: Figure, shown: Sequence[Contents], axes: Sequence[Axes], words: Words) -> None:
    """Every line is named where it ends. The layout makes room; then the names move apart."""
    lined = [(panel, ax) for panel, ax in zip(shown, axes, strict=True) if isinstance(panel, Lines)]
    for panel, ax in lined:
        name_lines(ax, panel, words)
    made.draw_without_rendering()
    for _, ax in lined:
        settle_names(ax)


class _InLatex(Formatter):
    """What another formatter writes, as LaTeX."""

    def __init__(self, plain: Formatter) -> None:
        self.plain = plain

    def __call__(self, value: float, place: int | None = None) -> str:
        return latex(self.plain(value, place))


def _tick_words(axes: Sequence[Axes]) -> None:
    """The numbers at ticks as LaTeX: their minus sign is none of its letters. Names are LaTeX already."""
    for axis in (axis for ax in axes for axis in (ax.xaxis, ax.yaxis)):
        plain = axis.get_major_formatter()
        if isinstance(plain, Numbers):
            axis.set_major_formatter(_InLatex(plain))


def _say_once(axes: Sequence[Axes], across: int) -> None:
    """What an axis shows stands once per row, and once per column."""
    down, along = [ax.get_ylabel() for ax in axes], [ax.get_xlabel() for ax in axes]
    for place, ax in enumerate(axes):
        if place % across and down[place] == down[place - 1]:
            ax.set_ylabel("")
        if place + across < len(axes) and along[place] == along[place + across]:
            ax.set_xlabel("")


def draw_into(ax: Axes, panel: Contents, names: str, font: str) -> Figure:
    """One panel on axes of a figure of the caller's own, which stays as large as it is."""
    with mpl.rc_context(rc_settings(font)):
        put(panel, ax, _plain)
        if names != "none" and _legend_texts([panel]):
            ax.legend(handlelength=1.8)
    found: Any = ax.figure
    return found  # type: ignore[no-any-return]


def _plain(text: str) -> str:
    """Text as it is: a dollar would begin mathematics."""
    return text.replace("$", r"\$")


def _height(shown: Sequence[Contents], width: float, across: int) -> float:
    """Tall enough for the panels: points with ranges and heat maps need a line per policy."""
    each = width / across
    heights = []
    for panel in shown:
        if isinstance(panel, PointRanges):
            heights.append(0.5 + 0.19 * max(2, len(panel.rows)))
        elif isinstance(panel, HeatMap):
            heights.append(0.9 + 0.2 * len(panel.rows))
        else:
            heights.append(max(1.3, GOLDEN * each))
    rows = [heights[i : i + across] for i in range(0, len(heights), across)]
    return sum(max(row) for row in rows) + 0.05 * len(rows)


def _equalize(shown: Sequence[Contents], axes: Sequence[Axes]) -> None:
    for which in dict.fromkeys((type(p), getattr(p, "y_label", "")) for p in shown):
        same = [
            ax for p, ax in zip(shown, axes, strict=True) if (type(p), getattr(p, "y_label", "")) == which
        ]
        for get, put_limits in (("get_xlim", "set_xlim"), ("get_ylim", "set_ylim")):
            if get == "get_ylim" and which[0] in (PointRanges, HeatMap):
                continue
            ends = [getattr(ax, get)() for ax in same]
            limits = (min(low for low, _ in ends), max(high for _, high in ends))
            for ax in same:
                getattr(ax, put_limits)(*limits)
    for panel, ax in zip(shown, axes, strict=True):
        if isinstance(panel, Lines):
            name_ticks(ax.yaxis, panel.y_scale)
            name_ticks(ax.xaxis, panel.x_scale, panel.ticks)


# --- files ----------------------------------------------------------------------------------------------


def as_bytes(made: Figure, form: str) -> bytes:
    """A figure as a file of a format; the same figure gives the same bytes."""
    _check.one_of("format", form, FORMATS)
    if form == "pgf" and shutil.which("pdflatex") is None:
        raise InvalidArgumentError(
            "format",
            form,
            "pgf only where LaTeX is installed",
            got="pgf, and there is no pdflatex",
            fix="install TeX Live, which measures the text, or ask for pdf",
        )
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    buffer: Any = io.StringIO() if form == "pgf" else io.BytesIO()
    with mpl.rc_context(rc_settings("sans")):
        made.savefig(buffer, format=form, **({"metadata": undated[form]} if form in undated else {}))
    content: str | bytes = buffer.getvalue()
    return content.encode() if isinstance(content, str) else content


def write_figures(
    study: Study,
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = ("pdf", "svg", "png"),
    **layout: Any,
) -> list[Path]:
    """Write every chart of a study into a folder, a file per kind, world and format.

    ``scores``; per world ``regret-…``, ``final-…``, ``survival-…``, ``pairs-…``, ``probabilities-…`` and
    ``timing-…``; ``sweep-…`` and ``heat-…`` where settings are swept. Names hold the label of the
    environment, in plain letters, after its number, so that they stay unique.

    Parameters
    ----------
    formats:
        Any of "pdf", "svg", "png", "pgf".
    layout:
        As of :func:`figure`: width, font, …

    Returns
    -------
    The paths written, in that order.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise InvalidArgumentError("formats", formats, f"some of {', '.join(FORMATS)}")
    return write_files("figures", Path(folder), _files(study, formats, layout))


def _files(study: Study, formats: Sequence[str], layout: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    for name, panel in every_panel(study):
        for form, content in _in_formats([panel], formats, layout):
            yield f"{name}.{form}", content


def _in_formats(
    shown: Sequence[Contents], formats: Sequence[str], layout: dict[str, Any]
) -> Iterator[tuple[str, bytes]]:
    """One figure in every format: drawn once, and once more for LaTeX, which writes its own text."""
    made: dict[bool, Figure] = {}
    for form in formats:
        tex = form == "pgf"
        if tex not in made:
            made[tex] = figure(shown, tex=tex, **layout)
        yield form, as_bytes(made[tex], form)


def draw_figures(
    study: Study,
    wanted: Sequence[str],
    target: Path,
    *,
    formats: Sequence[str],
    chosen: dict[str, Any],
    options: dict[str, Any],
    **layout: Any,
) -> tuple[list[Path], str]:
    """One figure of panels that are given as "KIND" or "KIND:ENVIRONMENT", in every format; and its caption.

    Options that a kind does not take are for the other panels; each must be for one of them.
    """
    for form in formats:
        _check.one_of("--format", form, FORMATS)
    shown: list[Contents] = []
    used: set[str] = set()
    for text in wanted:
        kind, _, environment = text.partition(":")
        takes = inspect.signature(KINDS[kind]).parameters if kind in KINDS else {}
        mine = {name: value for name, value in options.items() if name in takes}
        used |= mine.keys()
        shown += contents(study, kind, environment=environment or None, **chosen, **mine)
    for name, value in options.items():
        if name not in used:
            raise InvalidArgumentError(
                f"--{name}", value, f"for a panel that takes it: {', '.join(wanted)} do not"
            )
    path = target.with_suffix("") if target.suffix[1:] in FORMATS else target
    files = [(f"{path.name}.{form}", content) for form, content in _in_formats(shown, formats, layout)]
    tables = [panel.table for panel in shown if isinstance(panel, Lines) and panel.table]
    files += [(f"{path.name}.tex", "\n".join(tables).encode())] if tables else []
    lettered = [f"({chr(ord('a') + i)}) {panel.caption}" for i, panel in enumerate(shown)]
    caption = shown[0].caption if len(shown) == 1 else "; ".join(lettered)
    return write_files("the figure", path.parent, files), f"{caption}."


def every_panel(study: Study) -> Iterator[tuple[str, Contents]]:
    """Name and contents of every figure that a study has something for."""
    for kind in (name for name in KINDS if name not in SLOW):
        for panel in panels(study.cells)[: 1 if kind in ONCE else None]:
            try:
                (found,) = contents(study, kind, environment=panel.number + 1)
            except InvalidArgumentError:
                continue  # nothing was swept, or recorded
            if not _empty(found):
                name = kind if kind in ONCE else f"{kind}-{panel.number + 1:02d}-{plain_name(panel.title)}"
                yield name, found


def _empty(panel: Contents) -> bool:
    if isinstance(panel, Lines):
        return not panel.lines
    return not panel.rows if isinstance(panel, (PointRanges, HeatMap)) else not panel.names


def plain_name(label: str) -> str:
    """A label as part of a file name: plain letters, digits and hyphens.

    >>> plain_name("FTRL Tsallis β=0.3, √T")
    'ftrl-tsallis-beta-0-3-t'
    """
    spelled = "".join(
        unicodedata.name(c, "").split()[-1].lower() if "GREEK" in unicodedata.name(c, "") else c
        for c in label
    )
    ascii_only = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-")[:60].strip("-")
