"""How figures look: fonts and sizes of a paper, colors, ticks, and labels that do not meet."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.font_manager import get_font_names
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from bothworlds._jit import FloatArray
from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
from bothworlds.report.figures.choice import LineStyle
from bothworlds.report.figures.contents import log_ticks
from bothworlds.report.palette import COLORS, DASHES, MARKERS, SHADES, ratio_colors

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


def settings(font: str) -> Any:
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
    return _SHAPES[MARKERS[style.number % len(MARKERS)]]


def dash_of(style: LineStyle) -> Any:
    """The dash of a line; none where a scale of colors tells lines apart."""
    dash = DASHES[style.number // len(COLORS) % len(DASHES)] if style.shade is None else [1, 0]
    return "solid" if dash == [1, 0] else (0, tuple(0.7 * length for length in dash))


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
