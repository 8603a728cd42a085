"""What all charts share: data, sizes, the looks of policies, axes that suit regret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from bothworlds.report.charts.info import Row
from bothworlds.report.palette import PAPER, Look, dash, shape

Data = list[Row] | str
Scale = Literal["linear", "log"]
LABEL = "abs(datum.value) >= 1000 ? format(datum.value, '~s') : format(datum.value, '~g')"


def data(rows: Data) -> Any:
    """Rows, or the name under which the page hands them in."""
    return alt.NamedData(name=rows) if isinstance(rows, str) else alt.InlineData(values=rows)


def sized(chart: Any, width: int | None, height: int, title: str | None) -> Any:
    """The chart with its size and title; as wide as its place on the page if ``width`` is None."""
    chart = chart.properties(width="container" if width is None else width, height=height)
    return chart if title is None else chart.properties(title=title)


def configure(look: Look, *, size: int = 12) -> dict[str, Any]:
    """The Vega-Lite config that goes with a look."""
    text = {"labelColor": look.ink, "titleColor": look.ink, "labelFontSize": size, "titleFontSize": size}
    return {
        "background": None if look is not PAPER else look.paper,
        "font": look.font,
        "view": {"stroke": None},
        "axis": {
            **text,
            "titleFontWeight": "normal",
            "gridColor": look.grid,
            "domainColor": look.muted,
            "tickColor": look.muted,
            "labelPadding": 4,
            "titlePadding": 8,
            "tickSize": 4,
        },
        "legend": {**text, "labelLimit": 360, "symbolStrokeWidth": 2, "rowPadding": 4},
        "title": {"color": look.ink, "fontSize": size + 1, "fontWeight": "bold", "anchor": "start"},
        "header": {**text, "labelFontWeight": "bold"},
    }


def policy_scales(policies: Sequence[str], look: Look, legend: bool) -> dict[str, Any]:
    """One legend for colour and shape; none on the page, which has its own."""
    names, indices = list(policies), range(len(policies))
    columns = 2 if max(map(len, names), default=0) < 28 else 1
    show = alt.Legend(title=None, orient="bottom", columns=columns, symbolOpacity=1) if legend else None
    return {
        "color": alt.Color(
            "policy:N", scale=alt.Scale(domain=names, range=[look.colour(i) for i in indices]), legend=show
        ),
        "strokeDash": alt.StrokeDash(
            "policy:N", scale=alt.Scale(domain=names, range=[dash(i) for i in indices]), legend=None
        ),
        "shape": alt.Shape(
            "policy:N", scale=alt.Scale(domain=names, range=[shape(i) for i in indices]), legend=show
        ),
    }


def number(field: str, title: str) -> alt.Tooltip:
    """A number in a tooltip, with four digits."""
    return alt.Tooltip(f"{field}:Q", title=title, format=",.4~r")


def powers(low: float, high: float, *, signed: bool = True) -> list[float]:
    """Where a log scale is named: powers of ten between two numbers, with 2 and 5 times them if few.

    ``signed``: of either sign, and zero; nothing smaller than 1, or than 10 where there is more than 100, so
    that labels do not meet around zero. Empty if nothing round lies in between.

    >>> powers(-150, 1234), powers(0, 60)
    ([-100.0, -10.0, 0.0, 10.0, 100.0, 1000.0], [0.0, 1.0, 10.0])
    >>> powers(150, 600), powers(0.02, 0.3, signed=False)
    ([200.0, 500.0], [0.02, 0.05, 0.1, 0.2])
    """
    first = -15 if not signed else 1 if max(-low, high) > 100 else 0
    for digits in ((1,), (1, 2, 5)):
        ladder = [float(f"{d}e{k}") for k in range(first, 16) for d in digits]
        both = [*(-v for v in reversed(ladder)), 0.0, *ladder] if signed else ladder
        found = [v for v in both if low <= v <= high]
        if len(found) > 2:
            break
    return found


def axis(
    field: str, title: str, scale: Scale, rows: Data, *others: str, signed: bool = True, zero: bool = True
) -> dict[str, Any]:
    """A quantitative axis; ``others`` are further fields that share it.

    Regret may be zero or negative, so its log scale (``signed``) is linear between −1 and 1.
    """
    zero = zero and signed
    shape: Any = alt.Scale(zero=zero, nice=signed)
    values: Any = alt.Undefined
    if scale == "log":
        shape = alt.Scale(type="log", nice=False)
        if signed:
            shape = alt.Scale(type="symlog", constant=1, nice=False, zero=zero)
        found = [row[name] for row in rows if not isinstance(row, str) for name in (field, *others)]
        known = [value for value in found if value is not None] + ([0.0] if zero else [])
        values = (powers(min(known), max(known), signed=signed) if known else []) or alt.Undefined
    overlap: Any = "greedy" if values is alt.Undefined else False
    axis = alt.Axis(labelExpr=LABEL, tickCount=5, labelOverlap=overlap, labelFlush=False, values=values)
    return {"field": field, "type": "quantitative", "title": title, "scale": shape, "axis": axis}


def rounds(rows: Data, scale: Scale) -> Any:
    """The axis of rounds."""
    return alt.X(**axis("round", "round", scale, rows, signed=False))
