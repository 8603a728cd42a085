"""Draw rows of :mod:`bothworlds.report.numbers.rows` as Altair charts.

Each function takes rows, or the name of a data set that the page fills in. Colors are CSS variables, so that
charts follow dark mode and print without being drawn again; each is as wide as its place on the page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from bothworlds.report.numbers.rows import AxisScale, ChartRow, short_labels
from bothworlds.report.numbers.scores import RATIO_STEPS
from bothworlds.report.styles import ARM_COLORS, OTHER_ARMS_COLOR, PAGE_THEME, dash, marker

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])  # the version that Altair writes
RowsOrName = list[ChartRow] | str
AXIS_LABEL = "abs(datum.value) >= 1000 ? format(datum.value, '~s') : format(datum.value, '~g')"
Band = Literal["mean", "spread"]
LONGEST_NAME = 22  # letters of a policy's name beside a chart
FINALS_STEP, PAIRS_STEP = 34, 26  # height of a policy
INTERVALS_LAYER, NAMES_LAYER = "intervals", "names"


# --- what all charts share ----------------------------------------------------------------------------------


def chart_data(rows: RowsOrName) -> Any:
    """Rows, or the name under which the page hands them in."""
    return alt.NamedData(name=rows) if isinstance(rows, str) else alt.InlineData(values=rows)


def sized(chart: Any, height: int) -> Any:
    """The chart so high, and as wide as its place on the page."""
    return chart.properties(width="container", height=height)


def vega_config() -> dict[str, Any]:
    """The Vega-Lite config that goes with the page."""
    theme = PAGE_THEME
    text = {"labelColor": theme.ink, "titleColor": theme.ink, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": None,
        "font": theme.font,
        "view": {"stroke": None},
        "axis": {
            **text,
            "titleFontWeight": "normal",
            "gridColor": theme.grid,
            "domainColor": theme.muted,
            "tickColor": theme.muted,
            "labelPadding": 4,
            "titlePadding": 8,
            "tickSize": 4,
        },
        "legend": {**text, "labelLimit": 360, "symbolStrokeWidth": 2, "rowPadding": 4},
        "title": {"color": theme.ink, "fontSize": 13, "fontWeight": "bold", "anchor": "start"},
        "header": {**text, "labelFontWeight": "bold"},
    }


def policy_scales(policies: Sequence[str]) -> dict[str, Any]:
    """Color, dash and shape of each policy; the page has a legend of its own."""
    names, indices = list(policies), range(len(policies))

    def scale(looks: list[Any]) -> alt.Scale:
        return alt.Scale(domain=names, range=looks)

    return {
        "color": alt.Color("policy:N", scale=scale([PAGE_THEME.color(i) for i in indices]), legend=None),
        "strokeDash": alt.StrokeDash("policy:N", scale=scale([dash(i) for i in indices]), legend=None),
        "shape": alt.Shape("policy:N", scale=scale([marker(i) for i in indices]), legend=None),
    }


def names_axis(policies: Sequence[str]) -> alt.Axis:
    """Policies beside their rows: cut in the middle where they are long, and never two of them alike."""
    short = dict(zip(policies, short_labels(policies, LONGEST_NAME), strict=True))
    text = json.dumps(short, ensure_ascii=False).replace("<", "\\u003c")
    return alt.Axis(labelLimit=0, ticks=False, labelExpr=f"({text})[datum.value]")


def number_tooltip(field: str, title: str) -> alt.Tooltip:
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
    field: str,
    title: str,
    scale: AxisScale,
    rows: RowsOrName,
    *others: str,
    signed: bool = True,
    zero: bool = True,
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
    axis = alt.Axis(labelExpr=AXIS_LABEL, tickCount=5, labelOverlap=overlap, labelFlush=False, values=values)
    return {"field": field, "type": "quantitative", "title": title, "scale": shape, "axis": axis}


def rounds_axis(rows: RowsOrName, scale: AxisScale) -> Any:
    """The axis of rounds."""
    return alt.X(**axis("round", "round", scale, rows, signed=False))


# --- the charts ---------------------------------------------------------------------------------------------


def curves_chart(
    rows: RowsOrName,
    policies: Sequence[str],
    *,
    bounds: RowsOrName | None = None,
    x: AxisScale = "log",
    y: AxisScale = "linear",
    band: Band = "mean",
    height: int = 220,
) -> Any:
    """Regret over time: a line, sparse markers and a band per policy; bounds dotted.

    ``band`` is the 95% interval of the mean, or goes from the 5% to the 95% quantile of the replications.
    Both it and ``shown``, the policies switched on, are parameters of the chart, for the page to set.
    """
    params = [alt.param(name="shown", value=list(policies)), alt.param(name="band", value=band)]
    base = (
        alt.Chart(chart_data(rows))
        .transform_filter("indexof(shown, datum.policy) >= 0")
        .transform_calculate(
            from_="band === 'mean' ? datum.low : datum.q05", to="band === 'mean' ? datum.high : datum.q95"
        )
    )
    scales = policy_scales(policies)
    horizontal = rounds_axis(rows, x)
    wide = ("low", "high") if band == "mean" else ("q05", "q95")
    reach = rows
    if isinstance(rows, list) and isinstance(bounds, list):
        reach = rows + [dict.fromkeys(("mean", *wide), row["bound"]) for row in bounds]
    vertical = alt.Y(**axis("mean", "regret", y, reach, *wide))
    shown = base.transform_filter("datum.mark === 1")
    marks = shown.mark_point(filled=True, size=46, opacity=1, aria=False).encode(
        x=horizontal, y=vertical, color=scales["color"], shape=scales["shape"]
    )
    area = _area(base, horizontal, ("from_", "to"), "regret", scales)
    layers = [_line(base, horizontal, vertical, scales), *_if_any(area, rows, wide[0]), marks]
    if bounds:
        layers.append(_bounds_layer(bounds, horizontal, scales))
    if isinstance(rows, str):
        layers.append(_names_layer(horizontal, scales))
    layers.append(_hover_layer(base, horizontal, vertical, scales))
    return sized(alt.layer(*layers).add_params(*params), height)


def _line(base: Any, horizontal: Any, vertical: Any, scales: dict[str, Any]) -> Any:
    """The line of each policy; it comes first in a chart, since the first one's axis counts."""
    return base.mark_line(strokeWidth=2, aria=False).encode(
        x=horizontal, y=vertical, color=scales["color"], strokeDash=scales["strokeDash"]
    )


def _area(base: Any, horizontal: Any, fields: tuple[str, str], title: str, scales: dict[str, Any]) -> Any:
    """The band of each policy."""
    low, high = fields
    return base.mark_area(opacity=0.16, aria=False).encode(
        x=horizontal, y=alt.Y(f"{low}:Q", title=title), y2=f"{high}:Q", color=scales["color"]
    )


def _if_any(layer: Any, rows: RowsOrName, field: str) -> list[Any]:
    """A layer of intervals, unless there are none: a single replication has no interval of its mean.

    What is left to the page carries the name by which its script finds it, to do the same.
    """
    if isinstance(rows, str):
        return [layer.properties(name=INTERVALS_LAYER)]
    known = (row[field] is not None and not math.isnan(row[field]) for row in rows)
    return [layer] if any(known) else []


def _bounds_layer(bounds: RowsOrName, horizontal: Any, scales: dict[str, Any]) -> Any:
    return (
        alt.Chart(chart_data(bounds))
        .transform_filter("indexof(shown, datum.policy) >= 0")
        .mark_line(strokeWidth=1.4, strokeDash=[1, 3], strokeCap="round", aria=False)
        .encode(
            x=horizontal,
            y=alt.Y("bound:Q", title="regret"),
            color=scales["color"],
            detail="name:N",
            tooltip=[
                alt.Tooltip("policy:N"),
                alt.Tooltip("name:N", title="bound"),
                number_tooltip("round", "round"),
                number_tooltip("bound", "value"),
            ],
        )
    )


def _names_layer(horizontal: Any, scales: dict[str, Any]) -> Any:
    """Names at the ends of lines; the page says at which height, in pixels."""
    place = alt.Y(field="pixel", type="quantitative", scale=None, axis=None)
    text = alt.Chart(alt.NamedData(name="names"), name=NAMES_LAYER).mark_text(
        align="left", dx=9, baseline="middle"
    )
    return text.encode(x=horizontal, y=place, text="text:N", color=scales["color"])


def _hover_layer(base: Any, horizontal: Any, vertical: Any, scales: dict[str, Any]) -> Any:
    """The point nearest to the pointer, with a tooltip."""
    near = alt.selection_point(
        name="near",
        nearest=True,
        on="pointerover",
        clear="pointerout",
        fields=["round", "policy"],
        empty=False,
    )
    return (
        base.mark_point(filled=True, size=90, aria=False)
        .encode(
            x=horizontal,
            y=vertical,
            color=scales["color"],
            shape=scales["shape"],
            opacity=alt.condition(near, alt.value(1), alt.value(0)),
            tooltip=[
                alt.Tooltip("policy:N"),
                alt.Tooltip("round:Q", format=","),
                number_tooltip("mean", "mean regret"),
                number_tooltip("low", "95% from"),
                number_tooltip("high", "95% to"),
                number_tooltip("q05", "5% quantile"),
                number_tooltip("q95", "95% quantile"),
            ],
        )
        .add_params(near)
    )


def finals_chart(rows: RowsOrName, policies: Sequence[str], *, x: AxisScale = "linear") -> Any:
    """Final regret: a dot per replication, a box from quartile to quartile, whiskers to 5% and 95%."""
    base = alt.Chart(chart_data(rows)).transform_filter("indexof(shown, datum.policy) >= 0")
    scales = policy_scales(policies)
    row = alt.Y("policy:N", sort=list(policies), title=None, axis=names_axis(policies))
    across = axis("regret", "final regret", x, rows, zero=False)
    across["scale"].padding = 6  # no dot is cut at the edge

    def along(field: str) -> Any:
        part = base.transform_filter(f"isValid(datum.{field})")
        return part.encode(x=alt.X(**across | {"field": field}), y=row, color=scales["color"])

    tooltip = [alt.Tooltip("policy:N"), number_tooltip("median", "median")]
    tooltip += [number_tooltip("q25", "25% quantile"), number_tooltip("q75", "75% quantile")]
    tooltip += [number_tooltip("q05", "5% quantile"), number_tooltip("q95", "95% quantile")]
    whisker = along("q05").mark_rule(strokeWidth=1.5, aria=False).encode(x2="q95:Q")
    box = along("q25").mark_bar(height=12, opacity=0.3, aria=False).encode(x2="q75:Q", tooltip=tooltip)
    middle = along("median").mark_tick(thickness=3, height=16, aria=False).encode(tooltip=tooltip)
    dots = along("regret").mark_circle(size=14, opacity=0.55, yOffset=11, aria=False)
    chart = alt.layer(whisker, box, middle, dots).add_params(alt.param(name="shown", value=list(policies)))
    return sized(chart, FINALS_STEP * len(policies))


def tails_chart(rows: RowsOrName, policies: Sequence[str], *, height: int = 220) -> Any:
    """The share of replications with more final regret than x, on a log scale: a step per replication."""
    scales = policy_scales(policies)
    base = alt.Chart(chart_data(rows)).transform_filter("indexof(shown, datum.policy) >= 0")
    share = alt.Y(
        "share:Q",
        title="P(R > x)",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0], format="~g", labelOverlap="greedy"),
    )
    line = base.mark_line(interpolate="step-before", strokeWidth=2, aria=False).encode(
        x=alt.X(**axis("regret", "final regret x", "linear", rows, zero=False)),
        y=share,
        color=scales["color"],
        strokeDash=scales["strokeDash"],
        tooltip=[alt.Tooltip("policy:N")],
    )
    chart = alt.layer(line).add_params(alt.param(name="shown", value=list(policies)))
    return sized(chart, height)


def heat_chart(rows: RowsOrName, *, height: int = 220) -> Any:
    """Final regret by two swept settings: a place per pair, colored in the steps of the ratio."""
    base = alt.Chart(chart_data(rows)).encode(x=alt.X("x:O", axis=alt.Axis(labelAngle=0)), y=alt.Y("y:O"))
    steps = list(range(len(RATIO_STEPS)))
    fill = alt.Color(
        "step:O", scale=alt.Scale(domain=steps, range=[f"var(--r{i})" for i in steps]), legend=None
    )
    ink = alt.Color(
        "step:O", scale=alt.Scale(domain=steps, range=[f"var(--i{i})" for i in steps]), legend=None
    )
    tooltip = [alt.Tooltip("x:O"), alt.Tooltip("y:O"), number_tooltip("mean", "mean regret")]
    places = base.mark_rect(stroke=PAGE_THEME.paper, strokeWidth=2, aria=False)
    places = places.encode(color=fill, tooltip=tooltip)
    texts = base.mark_text(aria=False).encode(text=alt.Text("mean:Q", format=",.3~r"), color=ink)
    return sized((places + texts).resolve_scale(color="independent"), height)


def probabilities_chart(rows: RowsOrName, *, x: AxisScale = "log", height: int = 220) -> Any:
    """Arm probabilities over time, stacked: the optimal arms below, darkest first.

    The color follows ``order``, so the page can fill in any run.
    """
    colors = list(ARM_COLORS)
    area = (
        alt.Chart(chart_data(rows))
        .mark_area(stroke=PAGE_THEME.paper, strokeWidth=0.8, aria=False)
        .encode(
            x=rounds_axis(rows, x),
            y=alt.Y(
                "p:Q",
                stack="zero",
                title="probability",
                scale=alt.Scale(domain=[0, 1], nice=False),
                axis=alt.Axis(format=".0%", tickCount=5),
            ),
            color=alt.Color(
                "order:O", scale=alt.Scale(domain=list(range(len(colors))), range=colors), legend=None
            ),
            order="order:Q",
            tooltip=[
                alt.Tooltip("arm:N"),
                alt.Tooltip("round:Q", format=","),
                alt.Tooltip("p:Q", title="probability", format=".1%"),
            ],
        )
    )
    return sized(area, height)


def arm_colors(arms: Sequence[str]) -> list[str]:
    """Colors of the arms of :func:`probability_rows`, spread over the scale; gray for "other arms"."""
    single = [name for name in arms if not name.endswith("other arms")]
    last = max(1, len(single) - 1)
    spread = [ARM_COLORS[round(i * (len(ARM_COLORS) - 1) / last)] for i in range(len(single))]
    return spread + [OTHER_ARMS_COLOR] * (len(arms) - len(single))


def pairs_chart(rows: RowsOrName, policies: Sequence[str]) -> Any:
    """Differences of regret to a reference policy with their 95% intervals; left of zero is better."""
    scales = policy_scales(policies)
    base = alt.Chart(chart_data(rows)).encode(
        y=alt.Y("policy:N", sort=list(policies), title=None, axis=names_axis(policies)),
        color=scales["color"],
    )
    tooltip = [
        alt.Tooltip("policy:N"),
        alt.Tooltip("reference:N"),
        number_tooltip("difference", "difference"),
    ]
    tooltip += [number_tooltip("low", "95% from"), number_tooltip("high", "95% to")]
    tooltip += [alt.Tooltip("wins:Q", title="wins", format=".0%"), alt.Tooltip("p_value:Q", format=".2~g")]
    across = axis("difference", "regret minus that of the reference", "linear", rows)
    rule = base.mark_rule(strokeWidth=2.5, aria=False).encode(
        x=alt.X("low:Q", title=across["title"]), x2="high:Q", tooltip=tooltip
    )
    dot = base.mark_point(filled=True, size=70, opacity=1, aria=False).encode(
        x=alt.X(**across), shape=scales["shape"], tooltip=tooltip
    )
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).encode(x="zero:Q")
    zero = zero.mark_rule(color=PAGE_THEME.muted, strokeDash=[4, 3])
    chart = alt.layer(zero, *_if_any(rule, rows, "low"), dot)
    return sized(chart, PAIRS_STEP * max(1, len(policies) - 1))


def sweep_chart(
    rows: RowsOrName,
    series: Sequence[str],
    *,
    setting: str,
    x: AxisScale = "linear",
    y: AxisScale = "log",
    height: int = 220,
) -> Any:
    """Final regret against a swept setting, a line per series."""
    scales = policy_scales(series)
    base = alt.Chart(chart_data(rows)).transform_calculate(policy="datum.series")
    horizontal = alt.X(**axis("value", setting, x, rows, signed=False))
    vertical = alt.Y(**axis("mean", "final regret", y, rows, "low", "high", zero=y == "linear"))
    band = _area(base, horizontal, ("low", "high"), "final regret", scales)
    tooltip = [
        alt.Tooltip("series:N"),
        number_tooltip("value", "setting"),
        number_tooltip("mean", "mean regret"),
    ]
    tooltip += [number_tooltip("low", "95% from"), number_tooltip("high", "95% to")]
    point = base.mark_point(filled=True, size=60, opacity=1, aria=False).encode(
        x=horizontal, y=vertical, color=scales["color"], shape=scales["shape"], tooltip=tooltip
    )
    layers = [_line(base, horizontal, vertical, scales), *_if_any(band, rows, "low"), point]
    return sized(alt.layer(*layers), height)
