"""Put the contents of a panel on the axes of a matplotlib figure."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bothworlds.report.figures.contents import HeatMap, Line, Lines, PointRanges, Stack
from bothworlds.report.figures.style import (
    HEAT,
    INK,
    MUTED,
    PART_COLORS,
    SIZE,
    Numbers,
    color_of,
    dash_of,
    marker_of,
    name_ticks,
    short_number,
    spread_apart,
)
from bothworlds.report.numbers.rows import short_labels
from bothworlds.report.palette import ink_on
from bothworlds.report.tables import format_number

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
