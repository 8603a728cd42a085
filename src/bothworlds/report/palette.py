"""Colors, dashes and shapes that survive print, dark mode and color-blind eyes.

A policy is told apart three times over: by color (after Okabe and Ito, without their yellow and shifted, so
that all seven stand out from the paper and are at least 20 apart in CIELAB to readers without red or green
cones), by the shape of its markers, and from the eighth policy on by the dash of its line. Seven colors and
eight shapes have no common divisor, so the first 56 policies all look different.

Ratios to the best are shown on a scale from blue (the best) over gray to vermilion (ten times the best or
worse), in steps, each with an ink that can be read on it: contrast 4.5 or more in light and in dark.
"""

from __future__ import annotations

from dataclasses import dataclass

from bothworlds.report.numbers.scores import RATIO_STEPS

COLORS = ("#1558C0", "#B23A10", "#00A36E", "#A84E90", "#BF8B00", "#3499E5", "#1C1C24")
DARK_COLORS = ("#6F86FF", "#DE5F28", "#3EE08C", "#DB7AA8", "#EBCB2A", "#74C4FF", "#F0F0F0")
MARKERS = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
DASHES = ([1, 0], [7, 3], [2, 2], [7, 2, 2, 2])
N_STYLES = len(COLORS) * len(MARKERS)  # color, shape and dash repeat after so many
# from dark blue to yellow: the order can be read from lightness alone (cividis)
ARM_COLORS = ("#00336F", "#39486B", "#575D6D", "#737475", "#918C76", "#B3A772", "#D6C263", "#FCE23F")
# of a swept setting, from small to large: away from the paper, on a light one and on a dark one
SHADES = ("#9CC3E6", "#3F7FBF", "#1B4A8A", "#0B1D3F")
DARK_SHADES = ("#2F5F94", "#4F8FD0", "#8FC3F2", "#E4F3FF")
SHADE_STEPS = 9
OTHER_ARMS_COLOR = "#C9C9C9"
# the ends and the middle of the ratio scale
_LIGHT = ("#66ABDB", "#F1F1F1", "#F0803C")
_DARK = ("#1666A0", "#33363B", "#A3470B")


@dataclass(frozen=True)
class Theme:
    """What a chart is drawn with: fixed colors on paper, CSS variables on the page, to follow the reader."""

    ink: str
    muted: str
    grid: str
    paper: str
    colors: tuple[str, ...]
    font: str

    def color(self, index: int) -> str:
        """The color of policy ``index``."""
        return self.colors[index % len(self.colors)]


PAPER_THEME = Theme("#111111", "#555555", "#E3E3E3", "#FFFFFF", COLORS, "Liberation Sans, Arial, sans-serif")
PAGE_THEME = Theme(
    "var(--ink)",
    "var(--muted)",
    "var(--grid)",
    "var(--paper)",
    tuple(f"var(--c{i})" for i in range(len(COLORS))),
    "system-ui, -apple-system, Segoe UI, Liberation Sans, sans-serif",
)


def marker(index: int) -> str:
    """The marker of policy ``index``."""
    return MARKERS[index % len(MARKERS)]


def dash(index: int) -> list[int]:
    """The dash of policy ``index``."""
    return list(DASHES[index // len(COLORS) % len(DASHES)])


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def luminance(color: str) -> float:
    """Relative luminance of ``#rrggbb``, as WCAG 2 defines it.

    >>> luminance("#FFFFFF"), luminance("#000000")
    (1.0, 0.0)
    """
    linear = [c / 255 for c in _channels(color)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in linear]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colors, from 1 to 21, as WCAG 2 defines it.

    >>> round(contrast("#FFFFFF", "#000000"), 6)
    21.0
    """
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def ink_on(color: str) -> str:
    """Near-black or white, whichever can be read better on ``color``."""
    return max(("#111111", "#FFFFFF"), key=lambda ink: contrast(ink, color))


def _mix(a: str, b: str, share: float) -> str:
    mixed = (round(x + (y - x) * share) for x, y in zip(_channels(a), _channels(b), strict=True))
    return "#" + "".join(f"{c:02X}" for c in mixed)


def shade_colors(*, dark: bool = False) -> list[str]:
    """The colors of a swept setting, in so many steps from its smallest value to its largest."""
    stops = DARK_SHADES if dark else SHADES
    places = [i * (len(stops) - 1) / (SHADE_STEPS - 1) for i in range(SHADE_STEPS)]
    return [_mix(stops[int(x)], stops[min(int(x) + 1, len(stops) - 1)], x - int(x)) for x in places]


def ratio_colors(*, dark: bool = False) -> list[str]:
    """The color of each step of the ratio, best first."""
    best, middle, worst = _DARK if dark else _LIGHT
    last = len(RATIO_STEPS) - 1
    steps = [2 * i / last for i in range(last + 1)]
    return [_mix(best, middle, s) if s <= 1 else _mix(middle, worst, s - 1) for s in steps]
