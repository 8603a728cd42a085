"""How policies look in charts: colors, dashes and shapes that survive print, dark mode and color-blind eyes.

A policy is told apart three times over: by color (after Okabe and Ito, without their yellow and shifted, so
that all seven stand out from the paper and are at least 20 apart in CIELAB to readers without red or green
cones), by the shape of its markers, and from the eighth policy on by the dash of its line. Seven colors and
eight shapes have no common divisor, so the first 56 policies all look different.

Ratios to the best are shown on a scale from blue (the best) over gray to vermilion (ten times the best or
worse), in steps, each with an ink that can be read on it: contrast 4.5 or more in light and in dark.

A :class:`Legend` says which policies of a study a chart shows, under which names, in which of these styles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
from bothworlds.experiments.spec.variants import fill_template
from bothworlds.report.numbers.rows import MOST_LISTED
from bothworlds.report.numbers.scores import RATIO_STEPS

if TYPE_CHECKING:
    from bothworlds.report.study import Study

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
    """What a chart of the page is drawn with: CSS variables, which follow the reader."""

    ink: str
    muted: str
    grid: str
    paper: str
    colors: tuple[str, ...]
    font: str

    def color(self, index: int) -> str:
        """The color of policy ``index``."""
        return self.colors[index % len(self.colors)]


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


# --- the policies that a chart shows ----------------------------------------------------------------------


@dataclass(frozen=True)
class LineStyle:
    """How a line is told apart: by number (color, marker, dash), or by its place on a scale of colors."""

    number: int = 0
    shade: float | None = None


@dataclass(frozen=True)
class Legend:
    """The policies that are shown, in the order of the file: what they are called, and how they look."""

    labels: Mapping[str, str]
    styles: Mapping[str, LineStyle]

    def __contains__(self, policy: object) -> bool:
        return policy in self.labels


def choose_policies(
    study: Study, chosen: Sequence[str] | None, label: str | None, color: str | None
) -> Legend:
    """The policies of a study that are asked for: by label, renamed by a template, colored by a setting."""
    known = study.policies
    for name in chosen or ():
        require_label(study, "policies", name)
    shown = [name for name in known if chosen is None or name in chosen]
    if not shown:
        raise InvalidArgumentError("policies", chosen, "at least one policy of the study", got="none")
    entries = {entry["label"]: entry for entry in study.manifest["policies"]}
    labels = {name: name for name in shown}
    if label is not None:
        labels = {name: fill_template(label, entries[name]["settings"], name) for name in shown}
        twice = [text for text in labels.values() if list(labels.values()).count(text) > 1]
        if twice:
            raise InvalidArgumentError(
                "label", label, "a template that tells all policies apart", got=f"{twice[0]!r} twice"
            )
    styles = {name: LineStyle(known.index(name)) for name in shown}
    setting, values = _setting_of(study, shown, color)
    if setting is not None:
        low, high = min(values.values()), max(values.values())
        logs = low > 0 and high > 20 * low
        place = math.log if logs else float
        span = place(high) - place(low) or 1.0
        shades = {name: (place(value) - place(low)) / span for name, value in values.items()}
        styles |= {name: LineStyle(styles[name].number, shade) for name, shade in shades.items()}
    return Legend(labels, styles)


def require_label(study: Study, argument: str, name: str) -> None:
    """Refuse a name that no policy of the study has, with those that there are."""
    known = study.policies
    if name not in known:
        listed = ", ".join(map(repr, known[:MOST_LISTED])) + (" …" if len(known) > MOST_LISTED else "")
        fix = did_you_mean(str(name), known)
        raise InvalidArgumentError(argument, name, f"a policy of the study ({listed})", fix=fix)


def telling_setting(study: Study, shown: Sequence[str]) -> tuple[str | None, dict[str, float]]:
    """The swept number, if any, that tells all these policies (three or more) apart, and its values."""
    for name, values in _swept_numbers(study, shown).items():
        if len(values) == len(shown) >= 3 and len(set(values.values())) == len(shown):
            return name, values
    return None, {}


def _swept_numbers(study: Study, shown: Sequence[str]) -> dict[str, dict[str, float]]:
    swept = {entry["label"]: entry["swept"] for entry in study.manifest["policies"]}
    names = dict.fromkeys(name for policy in shown for name in swept[policy])
    return {
        name: {p: float(swept[p][name]) for p in shown if isinstance(swept[p].get(name), (int, float))}
        for name in names
    }


def _setting_of(study: Study, shown: Sequence[str], color: str | None) -> tuple[str | None, dict[str, float]]:
    """The swept setting by which policies are colored, and its values."""
    if color is None:
        return telling_setting(study, shown)
    if color == "policy":
        return None, {}
    numbers = _swept_numbers(study, shown)
    found = [name for name in numbers if color in (name, name.rpartition(".")[2]) and numbers[name]]
    if not found:
        raise InvalidArgumentError(
            "color", color, "“policy” or a swept number", fix=f"swept here: {', '.join(numbers) or 'nothing'}"
        )
    return found[0], numbers[found[0]]
