"""Colours, dashes and shapes that survive print, dark mode and colour-blind eyes.

A policy is told apart three times over: by colour (after Okabe and Ito, without their yellow and shifted, so
that all seven stand out from the paper and are at least 20 apart in CIELAB to readers without red or green
cones), by the shape of its markers, and from the eighth policy on by the dash of its line. Seven colours and
eight shapes have no common divisor, so the first 56 policies all look different.

Ratios to the best are shown on a scale from blue (the best) over grey to vermilion (ten times the best or
worse), in steps, each with an ink that can be read on it: contrast 4.5 or more in light and in dark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

COLOURS = ("#1558C0", "#B23A10", "#00A36E", "#A84E90", "#BF8B00", "#3499E5", "#1C1C24")
DARK_COLOURS = ("#6F86FF", "#DE5F28", "#3EE08C", "#DB7AA8", "#EBCB2A", "#74C4FF", "#F0F0F0")
SHAPES = (
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
LOOKS = len(COLOURS) * len(SHAPES)  # colour, shape and dash repeat after so many
# from dark blue to yellow: the order can be read from lightness alone (cividis)
ARMS = ("#00336F", "#39486B", "#575D6D", "#737475", "#918C76", "#B3A772", "#D6C263", "#FCE23F")
REST = "#C9C9C9"
# upper ends of the steps of the ratio scale; the last step is open
RATIOS = (1.0005, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, math.inf)
_LIGHT = ("#66ABDB", "#F1F1F1", "#F0803C")
_DARK = ("#1666A0", "#33363B", "#A3470B")


@dataclass(frozen=True)
class Look:
    """What a chart is drawn with: fixed colours on paper, CSS variables on the page, to follow the reader."""

    ink: str
    muted: str
    grid: str
    paper: str
    colours: tuple[str, ...]
    font: str

    def colour(self, index: int) -> str:
        """The colour of policy ``index``."""
        return self.colours[index % len(self.colours)]


PAPER = Look("#111111", "#555555", "#E3E3E3", "#FFFFFF", COLOURS, "Liberation Sans, Arial, sans-serif")
PAGE = Look(
    "var(--ink)",
    "var(--muted)",
    "var(--grid)",
    "var(--paper)",
    tuple(f"var(--c{i})" for i in range(len(COLOURS))),
    "system-ui, -apple-system, Segoe UI, Liberation Sans, sans-serif",
)


def shape(index: int) -> str:
    """The marker of policy ``index``."""
    return SHAPES[index % len(SHAPES)]


def dash(index: int) -> list[int]:
    """The dash of policy ``index``."""
    return list(DASHES[index // len(COLOURS) % len(DASHES)])


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, as WCAG 2 defines it.

    >>> luminance("#FFFFFF"), luminance("#000000")
    (1.0, 0.0)
    """
    linear = [c / 255 for c in _channels(colour)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in linear]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, from 1 to 21, as WCAG 2 defines it.

    >>> round(contrast("#FFFFFF", "#000000"), 6)
    21.0
    """
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def ink_on(colour: str) -> str:
    """Near-black or white, whichever can be read better on ``colour``."""
    return max(("#111111", "#FFFFFF"), key=lambda ink: contrast(ink, colour))


def _mix(a: str, b: str, share: float) -> str:
    mixed = (round(x + (y - x) * share) for x, y in zip(_channels(a), _channels(b), strict=True))
    return "#" + "".join(f"{c:02X}" for c in mixed)


def ratio_step(ratio: float) -> int | None:
    """The step of the scale that a ratio to the best falls into; None for NaN.

    >>> ratio_step(1.0), ratio_step(1.2), ratio_step(400.0)
    (0, 2, 8)
    """
    if math.isnan(ratio):
        return None
    return next(step for step, end in enumerate(RATIOS) if ratio <= end)


def ratio_colours(*, dark: bool = False) -> list[str]:
    """The colour of each step, best first."""
    best, middle, worst = _DARK if dark else _LIGHT
    steps = [2 * i / (len(RATIOS) - 1) for i in range(len(RATIOS))]
    return [_mix(best, middle, s) if s <= 1 else _mix(middle, worst, s - 1) for s in steps]


def ratio_names() -> list[str]:
    """What each step means, best first.

    >>> ratio_names()[0], ratio_names()[1], ratio_names()[-1]
    ('best', '≤ 1.1', '> 10')
    """
    inner = [f"≤ {high:g}" for _, high in pairwise(RATIOS[:-1])]
    return ["best", *inner, f"> {RATIOS[-2]:g}"]


def style_sheet() -> str:
    """The colours as CSS: ``--c0``… for policies, ``--a0``… for arms, ``.r0``… for ratios; light and dark."""

    def rules(colours: tuple[str, ...], ratios: list[str], rest: str) -> str:
        variables = [f"--c{i}:{c}" for i, c in enumerate(colours)]
        variables += [f"--r{i}:{c};--i{i}:{ink_on(c)}" for i, c in enumerate(ratios)]
        variables.append(f"--rest:{rest}")
        return ":root{" + ";".join(variables) + "}"

    light = rules(COLOURS, ratio_colours(), REST)
    dark = rules(DARK_COLOURS, ratio_colours(dark=True), "#5A5D63")
    classes = "".join(f".r{i}{{background:var(--r{i});color:var(--i{i})}}" for i in range(len(RATIOS)))
    return f"{light}\n@media screen and (prefers-color-scheme: dark){{{dark}}}\n{classes}"
