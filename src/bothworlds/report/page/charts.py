"""Altair charts of the rows of :mod:`bothworlds.report.numbers.rows`, which the page fills in.

Colors are CSS variables, so that charts follow dark mode and print without being drawn again; each is as wide
as its place on the page. Scales are linear: the script of the page has log scales, and their labels.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from bothworlds.report.numbers.rows import short_labels
from bothworlds.report.numbers.scores import RATIO_STEPS
from bothworlds.report.styles import ARM_COLORS, OTHER_ARMS_COLOR, PAGE_THEME, dash, marker

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])  # the version that Altair writes
AXIS_LABEL = "abs(datum.value) >= 1000 ? format(datum.value, '~s') : format(datum.value, '~g')"
LONGEST_NAME = 22  # letters of a policy's name beside a chart
FINALS_STEP, PAIRS_STEP = 34, 26  # height of a policy
INTERVALS_LAYER, NAMES_LAYER = "intervals", "names"  # by which the script finds them
HEIGHT = 220


# --- what all charts share ----------------------------------------------------------------------------------


def chart_of(name: str) -> Any:
    """A chart of the data set that the page hands in under this name."""
    return alt.Chart(alt.NamedData(name=name))


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


def axis(field: str, title: str, *, signed: bool = True, zero: bool = True) -> dict[str, Any]:
    """A quantitative axis on a linear scale, which the script of the page may make a log one.

    Where nothing is negative (not ``signed``), as rounds, the scale begins and ends with the data.
    """
    scale = alt.Scale(zero=zero and signed, nice=signed)
    look = alt.Axis(labelExpr=AXIS_LABEL, tickCount=5, labelOverlap="greedy", labelFlush=False)
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": look}


def rounds_axis() -> Any:
    """The axis of rounds."""
    return alt.X(**axis("round", "round", signed=False))


# --- the charts ---------------------------------------------------------------------------------------------


def curves_chart(policies: Sequence[str], *, bounds: bool) -> Any:
    """Regret over time: a line, sparse markers and a band per policy; bounds, if there are some, dotted.

    The page sets two parameters: ``shown``, the policies switched on, and ``band``, which is the 95% interval
    of the mean, or goes from the 5% to the 95% quantile of the replications.
    """
    params = [alt.param(name="shown", value=list(policies)), alt.param(name="band", value="mean")]
    base = (
        chart_of("rows")
        .transform_filter("indexof(shown, datum.policy) >= 0")
        .transform_calculate(
            from_="band === 'mean' ? datum.low : datum.q05", to="band === 'mean' ? datum.high : datum.q95"
        )
    )
    scales = policy_scales(policies)
    horizontal = rounds_axis()
    vertical = alt.Y(**axis("mean", "regret"))
    shown = base.transform_filter("datum.mark === 1")
    marks = shown.mark_point(filled=True, size=46, opacity=1, aria=False).encode(
        x=horizontal, y=vertical, color=scales["color"], shape=scales["shape"]
    )
    area = _area(base, horizontal, ("from_", "to"), "regret", scales)
    layers = [_line(base, horizontal, vertical, scales), area, marks]
    if bounds:
        layers.append(_bounds_layer(horizontal, scales))
    layers += [_names_layer(horizontal, scales), _hover_layer(base, horizontal, vertical, scales)]
    return sized(alt.layer(*layers).add_params(*params), 260)


def _line(base: Any, horizontal: Any, vertical: Any, scales: dict[str, Any]) -> Any:
    """The line of each policy; it comes first in a chart, since the first one's axis counts."""
    return base.mark_line(strokeWidth=2, aria=False).encode(
        x=horizontal, y=vertical, color=scales["color"], strokeDash=scales["strokeDash"]
    )


def _area(base: Any, horizontal: Any, fields: tuple[str, str], title: str, scales: dict[str, Any]) -> Any:
    """The band of each policy; the script leaves it out where one replication has no interval of its mean."""
    low, high = fields
    band = base.mark_area(opacity=0.16, aria=False).encode(
        x=horizontal, y=alt.Y(f"{low}:Q", title=title), y2=f"{high}:Q", color=scales["color"]
    )
    return band.properties(name=INTERVALS_LAYER)


def _bounds_layer(horizontal: Any, scales: dict[str, Any]) -> Any:
    return (
        chart_of("bounds")
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


def finals_chart(policies: Sequence[str]) -> Any:
    """Final regret: a dot per replication, a box from quartile to quartile, whiskers to 5% and 95%."""
    base = chart_of("rows").transform_filter("indexof(shown, datum.policy) >= 0")
    scales = policy_scales(policies)
    row = alt.Y("policy:N", sort=list(policies), title=None, axis=names_axis(policies))
    across = axis("regret", "final regret", zero=False)
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


def tails_chart(policies: Sequence[str]) -> Any:
    """The share of replications with more final regret than x, on a log scale: a step per replication."""
    scales = policy_scales(policies)
    base = chart_of("rows").transform_filter("indexof(shown, datum.policy) >= 0")
    share = alt.Y(
        "share:Q",
        title="P(R > x)",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0], format="~g", labelOverlap="greedy"),
    )
    line = base.mark_line(interpolate="step-before", strokeWidth=2, aria=False).encode(
        x=alt.X(**axis("regret", "final regret x", zero=False)),
        y=share,
        color=scales["color"],
        strokeDash=scales["strokeDash"],
        tooltip=[alt.Tooltip("policy:N")],
    )
    chart = alt.layer(line).add_params(alt.param(name="shown", value=list(policies)))
    return sized(chart, HEIGHT)


def heat_chart() -> Any:
    """Final regret by two swept settings: a place per pair, colored in the steps of the ratio."""
    base = chart_of("rows").encode(x=alt.X("x:O", axis=alt.Axis(labelAngle=0)), y=alt.Y("y:O"))
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
    return sized((places + texts).resolve_scale(color="independent"), HEIGHT)


def probabilities_chart() -> Any:
    """Arm probabilities over time, stacked: the optimal arms below, darkest first.

    The color follows ``order``, so the page can fill in any run.
    """
    colors = list(ARM_COLORS)
    area = (
        chart_of("rows")
        .mark_area(stroke=PAGE_THEME.paper, strokeWidth=0.8, aria=False)
        .encode(
            x=rounds_axis(),
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
    return sized(area, 280)


def arm_colors(arms: Sequence[str]) -> list[str]:
    """Colors of the arms of :func:`probability_rows`, spread over the scale; gray for "other arms"."""
    single = [name for name in arms if not name.endswith("other arms")]
    last = max(1, len(single) - 1)
    spread = [ARM_COLORS[round(i * (len(ARM_COLORS) - 1) / last)] for i in range(len(single))]
    return spread + [OTHER_ARMS_COLOR] * (len(arms) - len(single))


def pairs_chart(policies: Sequence[str]) -> Any:
    """Differences of regret to a reference policy with their 95% intervals; left of zero is better."""
    scales = policy_scales(policies)
    base = chart_of("rows").encode(
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
    across = axis("difference", "regret minus that of the reference")
    rule = base.mark_rule(strokeWidth=2.5, aria=False).encode(
        x=alt.X("low:Q", title=across["title"]), x2="high:Q", tooltip=tooltip
    )
    dot = base.mark_point(filled=True, size=70, opacity=1, aria=False).encode(
        x=alt.X(**across), shape=scales["shape"], tooltip=tooltip
    )
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).encode(x="zero:Q")
    zero = zero.mark_rule(color=PAGE_THEME.muted, strokeDash=[4, 3])
    chart = alt.layer(zero, rule.properties(name=INTERVALS_LAYER), dot)
    return sized(chart, PAIRS_STEP * max(1, len(policies) - 1))


def sweep_chart() -> Any:
    """Final regret against a swept setting, a line per series; the page names the setting and the series."""
    scales = policy_scales([])
    base = chart_of("rows").transform_calculate(policy="datum.series")
    horizontal = alt.X(**axis("value", "setting", signed=False))
    vertical = alt.Y(**axis("mean", "final regret"))
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
    return sized(alt.layer(_line(base, horizontal, vertical, scales), band, point), 300)
