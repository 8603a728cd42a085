"""Put the contents of a panel on the axes of a matplotlib figure, and how all of them look."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.font_manager import get_font_names
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from bothworlds._jit import FloatArray
from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
from bothworlds.report.figures.contents import HeatMap, Line, Lines, PointRanges, Stack, log_ticks
from bothworlds.report.numbers.rows import short_labels
from bothworlds.report.styles import COLORS, SHADES, LineStyle, dash, ink_on, marker, ratio_colors
from bothworlds.report.text import format_number

# --- style: fonts and sizes of a paper, colors, ticks -----------------------------------------------------

INK, MUTED, GRID = "#111111", "#555555", "#E6E6E6"
FONTS = {"sans": ["DejaVu Sans"], "serif": ["STIXGeneral", "DejaVu Serif"]}  # matplotlib brings both along
POINTS_PER_INCH = 72.0
UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}  # inches; pt is TeX's
SIZE = 8.0  # of text, in points: what captions of papers have
_SHAPES = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "diamond": "D",
    "cross": "P",
    "triangle-down": "v",
    "triangle-right": ">",
    "triangle-left": "<",
}
SWEPT = LinearSegmentedColormap.from_list("swept", SHADES)
HEAT = LinearSegmentedColormap.from_list("heat", [*ratio_colors()])
PART_COLORS = ("#1558C0", "#7FB2E5", "#00A36E", "#BF8B00", "#B23A10", "#A84E90", "#555555", "#C9C9C9")


def inches(argument: str, value: float | str) -> float:
    """A length: a number of inches, or a text such as "3.25in", "8.5cm", "85mm", "246pt".

    >>> inches("width", 3.25), round(inches("width", "246pt"), 2), round(inches("width", "85 mm"), 2)
    (3.25, 3.4, 3.35)
    """
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", str(value))
    try:
        length = float(found[1]) * UNITS[found[2] or "in"] if found else math.nan
    except (KeyError, ValueError):
        length = math.nan
    if not 0.5 <= length <= 50.0:
        raise InvalidArgumentError(
            argument,
            value,
            "a length between 0.5 and 50 inches",
            fix='write it as "3.25in", "8.5cm" or "246pt"',
        )
    return length


def rc_settings(font: str) -> Any:
    """The settings of matplotlib that figures are made with."""
    if font not in FONTS and font not in get_font_names():
        fix = did_you_mean(font, get_font_names())
        raise InvalidArgumentError("font", font, "sans, serif, or the name of an installed font", fix=fix)
    return {
        "font.family": FONTS.get(font, [font, "DejaVu Sans"]),
        "mathtext.fontset": "dejavusans" if font == "sans" else "stix",
        "font.size": SIZE,
        "axes.labelsize": SIZE,
        "axes.titlesize": SIZE,
        "xtick.labelsize": SIZE - 1,
        "ytick.labelsize": SIZE - 1,
        "legend.fontsize": SIZE - 1,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": MUTED,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "xtick.minor.size": 1.4,
        "ytick.minor.size": 1.4,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.5,
        "lines.linewidth": 1.3,
        "lines.markersize": 3.5,
        "axes.labelpad": 3.0,
        "legend.frameon": False,
        "figure.dpi": 150,
        "savefig.dpi": 400,
        "figure.constrained_layout.h_pad": 0.03,
        "figure.constrained_layout.w_pad": 0.03,
        "pdf.fonttype": 42,  # TrueType: what publishers' checks ask for
        "svg.fonttype": "path",
        "svg.hashsalt": "bothworlds",  # the same figure, the same bytes
        "axes.unicode_minus": True,
        "pgf.rcfonts": False,  # the fonts of the paper
        "pgf.texsystem": "pdflatex",
    }


def color_of(style: LineStyle) -> str:
    """The color of a line."""
    return COLORS[style.number % len(COLORS)] if style.shade is None else to_hex(SWEPT(style.shade))


def marker_of(style: LineStyle) -> str:
    """The marker of a line."""
    return _SHAPES[marker(style.number)]


def dash_of(style: LineStyle) -> Any:
    """The dash of a line; none where a scale of colors tells lines apart."""
    lengths = dash(style.number) if style.shade is None else [1, 0]
    return "solid" if lengths == [1, 0] else (0, tuple(0.7 * length for length in lengths))


def short_number(value: float, _: Any = None) -> str:
    """A number at a tick: thousands and millions by letter, a true minus sign.

    >>> short_number(1500.0), short_number(-20.0), short_number(1e6), short_number(0.05)
    ('1.5k', '−20', '1M', '0.05')
    """
    size = abs(value)
    unit, letter = next(
        ((unit, letter) for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if size >= unit), (1.0, "")
    )
    return f"{value / unit:.4g}{letter}".replace("-", "−")


class Numbers(FuncFormatter):
    """Writes the numbers at ticks, as text that is not LaTeX yet."""


class Powers(FuncFormatter):
    """Writes powers of ten, as mathematics."""


def power_of_ten(value: float, _: Any = None) -> str:
    """A power of ten, or zero, as mathematics.

    >>> power_of_ten(1e4), power_of_ten(-10.0), power_of_ten(0.0)
    ('$10^{4}$', '$-10^{1}$', '$0$')
    """
    sign, size = "-" if value < 0.0 else "", abs(value)
    return f"${sign}10^{{{round(math.log10(size))}}}$" if size else "$0$"


def name_ticks(axis: Any, scale: str, ticks: Sequence[float] = ()) -> None:
    """Put ticks where they say something: swept values, powers of ten, round steps within a decade."""
    axis.set_major_formatter(Numbers(short_number))
    if scale == "log":
        low, high = sorted(axis.get_view_interval())
        found = list(ticks) or (
            signed_ticks(low, high) if axis.get_scale() == "symlog" else log_ticks(low, high)
        )
        between = [] if ticks else minor_ticks(found, low, high)
        if between:
            axis.set_major_formatter(Powers(power_of_ten))
        axis.set_major_locator(FixedLocator(found))
        axis.set_minor_locator(FixedLocator(between))
        axis.set_minor_formatter(NullFormatter())
        axis.set_view_interval(low, high, ignore=True)
    elif ticks:
        axis.set_major_locator(FixedLocator(list(ticks)))


def minor_ticks(named: Sequence[float], low: float, high: float) -> list[float]:
    """The multiples of powers of ten between low and high, where powers of ten (and zero) are what is named.

    >>> minor_ticks([10.0, 100.0], 8, 250)
    [8.0, 9.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 200.0]
    >>> minor_ticks([200.0, 400.0], 150, 450)
    []
    """
    powers = [math.log10(abs(tick)) for tick in named if tick]
    if not powers or any(abs(power - round(power)) > 1e-9 for power in powers):
        return []
    decades = range(math.floor(min(powers)) - 1, math.ceil(max(powers)) + 1)
    sizes = [digit * 10.0**k for k in decades for digit in range(2, 10)]
    if 0.0 in named:  # linear between −1 and 1
        sizes = [size for size in sizes if size > 1.0]
    return [value for size in sizes for value in (-size, size) if low <= value <= high]


def signed_ticks(low: float, high: float) -> list[float]:
    """Where an axis is named that is logarithmic on both sides of zero, and linear between −1 and 1.

    >>> signed_ticks(-120, 2500), signed_ticks(200, 900)
    ([-100.0, -10.0, 0.0, 10.0, 100.0, 1000.0], [200.0, 400.0, 600.0, 800.0])
    """
    if low > 1.0:
        return log_ticks(low, high)
    first = 1 if max(-low, high) > 100 else 0
    ladder = [10.0**k for k in range(first, 16)]
    below = [-v for v in reversed(ladder) if -v >= low and v >= max(-low, high) / 1e3]
    return [*below, *([0.0] if low <= 0.0 <= high else []), *(v for v in ladder if low <= v <= high)]


def spread_apart(wanted: FloatArray, least: float) -> FloatArray:
    """Places at least ``least`` apart, in the order of the wanted ones, as close to them as can be.

    The least squares solution: places minus i·least must be nondecreasing, which pooling neighbors that are
    too close solves exactly (isotonic regression).

    >>> spread_apart(np.array([0.0, 0.0, 10.0]), 2.0).tolist()
    [-1.0, 1.0, 10.0]
    """
    order = np.argsort(wanted, kind="stable")
    shifted = wanted[order] - least * np.arange(wanted.size)
    groups: list[tuple[float, int]] = []
    for value in shifted.tolist():
        total, count = value, 1
        while groups and groups[-1][0] / groups[-1][1] > total / count:
            before = groups.pop()
            total, count = total + before[0], count + before[1]
        groups.append((total, count))
    fitted = np.concatenate([np.full(count, total / count) for total, count in groups] or [np.empty(0)])
    places = np.empty(wanted.size)
    places[order] = fitted + least * np.arange(wanted.size)
    return places


# --- contents on axes --------------------------------------------------------------------------------------

Words = Callable[[str], str]
"""How text is written: as it is, or as LaTeX."""
LONGEST = 28  # letters of a label beside a line or a row


@singledispatch
def put(contents: Any, ax: Axes, words: Words) -> None:
    """Draw the contents of a panel."""
    raise TypeError(f"nothing draws {type(contents).__name__}")


@put.register
def _(contents: Lines, ax: Axes, words: Words) -> None:
    for number, line in enumerate(contents.lines):
        color, drawstyle = color_of(line.style), "steps-post" if contents.steps else "default"
        if line.bound:
            ax.plot(line.x, line.y, color=color, linestyle=(0, (0.8, 1.6)), linewidth=1.0, label=line.label)
            continue
        known = np.isfinite(line.low) & np.isfinite(line.high)
        if known.any():
            ax.fill_between(
                line.x, line.low, line.high, where=known.tolist(), color=color, alpha=0.16, linewidth=0
            )
        ax.plot(
            line.x,
            line.y,
            color=color,
            linestyle=dash_of(line.style),
            marker=marker_of(line.style) if _marks(line, contents) else "",
            markevery=1 if contents.ticks else (0.03 + 0.05 * (number % 4), 0.2),  # sparse, and staggered
            markeredgewidth=0,
            drawstyle=drawstyle,
            label=line.label,
        )
    ax.set_xlabel(words(contents.x_label))
    ax.set_ylabel(words(contents.y_label))
    _scales(ax, contents)


def _marks(line: Line, contents: Lines) -> bool:
    """Whether a line has markers: not where a scale of colors, or the shape of a step, tells it apart."""
    return bool(contents.ticks) or not (contents.steps or line.style.shade is not None)


def _scales(ax: Axes, contents: Lines) -> None:
    if contents.x_scale == "log":
        ax.set_xscale("log")
    values = np.concatenate([np.r_[line.y, line.low, line.high] for line in contents.lines] or [np.zeros(1)])
    values = values[np.isfinite(values)]
    if contents.y_scale == "log" and contents.steps:
        ax.set_yscale("log", nonpositive="mask")
    elif contents.y_scale == "log":
        # a scale in rounds begins at one of regret: what comes before, in the first hundredth, is no curve
        late = [line.y[line.x >= 0.01 * line.x[-1]] for line in contents.lines if line.x.size]
        known = np.concatenate([*late, values[values >= 1.0]] if late else [np.zeros(1)])
        _log_scale(ax.yaxis, known, least=0.0 if contents.ticks else 1.0)
    elif contents.zero and values.size:
        low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
        ax.set_ylim(low * 1.04, high * 1.04 or 1.0)
    _fit_across(ax, contents)
    name_ticks(ax.xaxis, contents.x_scale, contents.ticks)
    name_ticks(ax.yaxis, contents.y_scale)


def _fit_across(ax: Axes, contents: Lines) -> None:
    """From the first point to the last, with room for markers on a sweep; linear rounds begin at zero."""
    if not contents.lines:
        return
    bottom = ax.get_ylim()[0] if ax.get_yscale() == "log" and not contents.steps else -np.inf
    low, high = (
        min(float(line.x[np.argmax(line.y >= bottom)]) for line in contents.lines),  # where it is seen
        max(float(line.x[-1]) for line in contents.lines),
    )
    if low == high:
        return
    if contents.x_scale == "log":
        room = (high / low) ** (0.04 if contents.ticks else 0.0)
        ax.set_xlim(low / room, high * room)
    else:
        first = low if contents.ticks or contents.steps else 0.0
        room = 0.04 * (high - low) if contents.ticks else 0.0
        ax.set_xlim(first - room, high + room)


@put.register
def _(contents: PointRanges, ax: Axes, words: Words) -> None:
    labels = short_labels([row.label for row in contents.rows], LONGEST)
    for place, row in enumerate(contents.rows):
        color = color_of(row.style)
        if np.isfinite(row.line).all() and row.line[0] < row.line[1]:
            ax.plot(row.line, (place, place), color=color, linewidth=1.2, solid_capstyle="butt")
        if row.box is not None:
            ax.barh(place, row.box[1] - row.box[0], left=row.box[0], height=0.42, color=color, alpha=0.3)
            ax.plot((row.middle, row.middle), (place - 0.28, place + 0.28), color=color, linewidth=2.0)
        else:
            ax.plot(row.middle, place, marker=marker_of(row.style), color=color, markersize=4.5)
        if row.dots is not None:
            below = np.full(row.dots.size, place + 0.38)
            ax.plot(row.dots, below, "o", color=color, markersize=1.7, alpha=0.6, markeredgewidth=0)
    if contents.zero:
        ax.axvline(0.0, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_yticks(range(len(labels)), [words(label) for label in labels])
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(words(contents.x_label))
    if contents.x_scale == "log":
        values = np.concatenate([np.r_[row.line, row.middle] for row in contents.rows] or [np.zeros(1)])
        _log_scale(ax.xaxis, values)
    name_ticks(ax.xaxis, contents.x_scale)


def _log_scale(axis: Any, values: Any, *, least: float = 0.0) -> None:
    """A log scale, where all values are positive, and none is below ``least``.

    Regret may be zero or negative: then it is logarithmic on both sides of zero, and linear between −1 and 1.
    """
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    limits = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
    if low >= least and low > 1e-7 * high:
        limits(low / 1.15, high * 1.15)  # first: matplotlib would look for limits of its own
        scale("log", nonpositive="clip")  # a band may reach below zero
        return
    scale("symlog", linthresh=1.0, linscale=0.3)
    limits(0.0 if low >= 0.0 else low * 1.2, high * 1.2)


@put.register
def _(contents: HeatMap, ax: Axes, words: Words) -> None:
    ax.grid(visible=False)
    n_rows, n_columns = contents.values.shape
    edges = np.arange(n_columns + 1) - 0.5, np.arange(n_rows + 1) - 0.5
    image = ax.pcolormesh(*edges, np.ma.masked_invalid(contents.shades), cmap=HEAT, vmin=0.0, vmax=1.0)
    ax.invert_yaxis()
    for i in range(n_rows + 1):
        ax.axhline(i - 0.5, color="white", linewidth=1.0)
    for j in range(n_columns + 1):
        ax.axvline(j - 0.5, color="white", linewidth=1.0)
    if n_columns <= 12:
        for i, j in np.argwhere(np.isfinite(contents.values)):
            fill = "#" + "".join(f"{round(255 * c):02X}" for c in HEAT(contents.shades[i, j])[:3])
            text = format_number(float(contents.values[i, j]))
            ax.text(j, i, words(text), ha="center", va="center", fontsize=SIZE - 1.5, color=ink_on(fill))
    columns, rows = short_labels(contents.columns, LONGEST), short_labels(contents.rows, LONGEST)
    tilted: Any = (
        {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if max(map(len, columns)) > 6 else {}
    )
    ax.set_xticks(range(n_columns), [words(label) for label in columns], **tilted)
    ax.set_yticks(range(n_rows), [words(label) for label in rows])
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xlabel(words(contents.x_label))
    ax.set_ylabel(words(contents.y_label))
    name, ticks, texts = contents.scale
    bar: Any = ax.figure.colorbar(image, ax=ax, shrink=0.8, aspect=18, pad=0.03)
    bar.set_ticks(list(ticks), labels=[words(text) for text in texts])
    bar.set_label(words(name))
    bar.outline.set_visible(False)
    bar.solids.set(rasterized=False, edgecolor="face")  # pgf has no bitmaps; no seams between the steps
    bar.ax.tick_params(length=2, labelsize=SIZE - 1.5)


@put.register
def _(contents: Stack, ax: Axes, words: Words) -> None:
    colors = [PART_COLORS[i % len(PART_COLORS)] for i in range(len(contents.names))]
    below, above = np.minimum(contents.parts, 0.0), np.maximum(contents.parts, 0.0)
    ax.stackplot(contents.x, above, colors=colors, linewidth=0.3, edgecolor="white", labels=contents.names)
    if (below < 0.0).any():
        ax.stackplot(contents.x, below, colors=colors, linewidth=0.3, edgecolor="white")
        ax.axhline(0.0, color=INK, linewidth=0.6)
    ax.set_xscale(contents.x_scale)
    ax.set_xlim(float(contents.x[0]), float(contents.x[-1]))
    if contents.whole:
        ax.set_ylim(0.0, 1.0)
        ax.yaxis.set_major_formatter(Numbers(lambda value, _: f"{100 * value:.0f}%"))
    else:
        ax.plot(contents.x, contents.parts.sum(axis=0), color=INK, linewidth=1.0)
        ax.yaxis.set_major_formatter(Numbers(short_number))
    ax.set_xlabel("round")
    ax.set_ylabel(words(contents.y_label))
    name_ticks(ax.xaxis, contents.x_scale)


# --- names ----------------------------------------------------------------------------------------------


def name_lines(ax: Axes, contents: Lines, words: Words) -> None:
    """Name every line at its end, in its color. The figure must be laid out; only heights change here."""
    lines = [line for line in contents.lines if line.x.size]
    if not lines:
        return
    labels = short_labels([line.label for line in lines], LONGEST)
    for line, label in zip(lines, labels, strict=True):
        last = np.flatnonzero(np.isfinite(line.y))[-1]
        ax.annotate(
            words(label),
            (float(line.x[last]), float(line.y[last])),
            xycoords="data",
            xytext=(1.0, 0.5),
            textcoords=("axes fraction", "axes fraction"),
            fontsize=SIZE - 1,
            color=color_of(line.style),
            va="center",
            annotation_clip=False,
            gid="line-label",
        )


def settle_names(ax: Axes) -> None:
    """Move the names of lines to where they do not meet, and draw what leads to them."""
    figure: Any = ax.figure
    named: list[Any] = [text for text in ax.texts if text.get_gid() == "line-label"]
    if not named:
        return
    box = ax.get_window_extent()
    per_point = figure.dpi / 72.0
    ends = np.array([ax.transData.transform(text.xy) for text in named])
    height = 1.18 * (SIZE - 1) * per_point
    wanted = np.clip(np.nan_to_num(ends[:, 1]), box.y0, box.y1)
    places = spread_apart(wanted, height)
    over = max(0.0, float(places.max()) - box.y1 - height) - max(0.0, box.y0 - height - float(places.min()))
    places -= over
    for text, end, place in zip(named, ends, places, strict=True):
        x, y = box.x1 + 9.0 * per_point, float(place)
        text.set_position(((x - box.x0) / box.width, (y - box.y0) / box.height))
        inside = ax.transAxes.inverted()
        (x0, y0), (x1, y1) = inside.transform([(end[0] + 1.5 * per_point, end[1]), (x - 1.5 * per_point, y)])
        ax.plot(
            [x0, x1],
            [y0, y1],
            transform=ax.transAxes,
            color=text.get_color(),
            linewidth=0.5,
            clip_on=False,
            scalex=False,
            scaley=False,
            label="_leader",
        )
