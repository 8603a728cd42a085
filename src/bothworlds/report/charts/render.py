"""Draw rows of :mod:`bothworlds.report.charts.info` as Altair charts.

Each function takes rows, or the name of a data set that the page fills in, and a :class:`Look`: the page's
look refers to CSS variables, so that its charts follow dark mode and print without being drawn again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from bothworlds.report.charts.axes import Data, Scale, axis, data, number, policy_scales, rounds, sized
from bothworlds.report.charts.info import Row
from bothworlds.report.palette import ARMS, PAPER, REST, Look, ratio_colours, ratio_names

Band = Literal["mean", "spread"]
FINALS_STEP, PAIRS_STEP = 34, 26  # height of a policy
INTERVALS = "intervals"


def curves_chart(
    rows: Data,
    policies: Sequence[str],
    *,
    bounds: Data | None = None,
    x: Scale = "log",
    y: Scale = "linear",
    band: Band = "mean",
    look: Look = PAPER,
    width: int | None = 300,
    height: int = 220,
    title: str | None = None,
    legend: bool = True,
) -> Any:
    """Regret over time: a line, sparse markers and a band per policy; bounds dotted.

    ``band`` is the 95% interval of the mean, or goes from the 5% to the 95% quantile of the replications.
    Both it and ``shown``, the policies switched on, are parameters of the chart, for the page to set.
    """
    params = [alt.param(name="shown", value=list(policies)), alt.param(name="band", value=band)]
    base = (
        alt.Chart(data(rows))
        .transform_filter("indexof(shown, datum.policy) >= 0")
        .transform_calculate(
            from_="band === 'mean' ? datum.low : datum.q05", to="band === 'mean' ? datum.high : datum.q95"
        )
    )
    scales = policy_scales(policies, look, legend)
    horizontal = rounds(rows, x)
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
    if look is not PAPER:
        layers.append(_hover_layer(base, horizontal, vertical, scales))
    chart = alt.layer(*layers).add_params(*params)
    return sized(chart, width, height, title)


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


def _if_any(layer: Any, rows: Data, field: str) -> list[Any]:
    """A layer of intervals, unless there are none: a single replication has no interval of its mean.

    What is left to the page carries the name by which its script finds it, to do the same.
    """
    if isinstance(rows, str):
        return [layer.properties(name=INTERVALS)]
    known = (row[field] is not None and not math.isnan(row[field]) for row in rows)
    return [layer] if any(known) else []


def _bounds_layer(bounds: Data, horizontal: Any, scales: dict[str, Any]) -> Any:
    return (
        alt.Chart(data(bounds))
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
                number("round", "round"),
                number("bound", "value"),
            ],
        )
    )


def _hover_layer(base: Any, horizontal: Any, vertical: Any, scales: dict[str, Any]) -> Any:
    """The nearest point answers, wherever the pointer is."""
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
                number("mean", "mean regret"),
                number("low", "95% from"),
                number("high", "95% to"),
                number("q05", "5% quantile"),
                number("q95", "95% quantile"),
            ],
        )
        .add_params(near)
    )


def finals_chart(
    rows: Data,
    policies: Sequence[str],
    *,
    x: Scale = "linear",
    look: Look = PAPER,
    width: int | None = 300,
    height: int | None = None,
    title: str | None = None,
) -> Any:
    """Final regret: a dot per replication, a box from quartile to quartile, whiskers to 5% and 95%."""
    base = alt.Chart(data(rows)).transform_filter("indexof(shown, datum.policy) >= 0")
    scales = policy_scales(policies, look, False)
    row = alt.Y("policy:N", sort=list(policies), title=None, axis=alt.Axis(labelLimit=170, ticks=False))
    across = axis("regret", "final regret", x, rows, zero=False)
    across["scale"].padding = 6  # no dot is cut at the edge

    def along(field: str) -> Any:
        part = base.transform_filter(f"isValid(datum.{field})")
        return part.encode(x=alt.X(**across | {"field": field}), y=row, color=scales["color"])

    tooltip = [alt.Tooltip("policy:N"), number("median", "median")]
    tooltip += [number("q25", "25% quantile"), number("q75", "75% quantile")]
    tooltip += [number("q05", "5% quantile"), number("q95", "95% quantile")]
    whisker = along("q05").mark_rule(strokeWidth=1.5, aria=False).encode(x2="q95:Q")
    box = along("q25").mark_bar(height=12, opacity=0.3, aria=False).encode(x2="q75:Q", tooltip=tooltip)
    middle = along("median").mark_tick(thickness=3, height=16, aria=False).encode(tooltip=tooltip)
    dots = along("regret").mark_circle(size=14, opacity=0.55, yOffset=11, aria=False)
    chart = alt.layer(whisker, box, middle, dots).add_params(alt.param(name="shown", value=list(policies)))
    return sized(chart, width, height or FINALS_STEP * len(policies), title)


def probabilities_chart(
    rows: Data,
    *,
    x: Scale = "log",
    look: Look = PAPER,
    width: int | None = 300,
    height: int = 220,
    title: str | None = None,
    arms: Sequence[str] | None = None,
) -> Any:
    """Arm probabilities over time, stacked: the optimal arms below, darkest first.

    The colour follows ``order``, so the page can fill in any run; the legend names places, not arms, unless
    ``arms`` names them.
    """
    seams = look.paper
    colours = [*ARMS]
    legend = None
    if arms is not None:
        legend = alt.Legend(
            title=None, labelExpr=f"{json.dumps(list(arms))}[datum.value]", symbolType="square"
        )
        colours = arm_colours(arms)
    area = (
        alt.Chart(data(rows))
        .mark_area(stroke=seams, strokeWidth=0.8, aria=False)
        .encode(
            x=rounds(rows, x),
            y=alt.Y(
                "p:Q",
                stack="zero",
                title="probability",
                scale=alt.Scale(domain=[0, 1], nice=False),
                axis=alt.Axis(format=".0%", tickCount=5),
            ),
            color=alt.Color(
                "order:O", scale=alt.Scale(domain=list(range(len(colours))), range=colours), legend=legend
            ),
            order="order:Q",
            tooltip=[
                alt.Tooltip("arm:N"),
                alt.Tooltip("round:Q", format=","),
                alt.Tooltip("p:Q", title="probability", format=".1%"),
            ],
        )
    )
    return sized(area, width, height, title)


def arm_colours(arms: Sequence[str]) -> list[str]:
    """Colours of the arms of :func:`probabilities_info`, spread over the scale; grey for "other arms"."""
    single = [name for name in arms if not name.endswith("other arms")]
    last = max(1, len(single) - 1)
    spread = [ARMS[round(i * (len(ARMS) - 1) / last)] for i in range(len(single))]
    return spread + [REST] * (len(arms) - len(single))


def pairs_chart(
    rows: Data,
    policies: Sequence[str],
    *,
    look: Look = PAPER,
    width: int | None = 300,
    title: str | None = None,
) -> Any:
    """Differences of regret to a reference policy with their 95% intervals; left of zero is better."""
    scales = policy_scales(policies, look, False)
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("policy:N", sort=list(policies), title=None, axis=alt.Axis(labelLimit=170, ticks=False)),
        color=scales["color"],
    )
    tooltip = [alt.Tooltip("policy:N"), alt.Tooltip("reference:N"), number("difference", "difference")]
    tooltip += [number("low", "95% from"), number("high", "95% to")]
    tooltip += [alt.Tooltip("wins:Q", title="wins", format=".0%"), alt.Tooltip("p_value:Q", format=".2~g")]
    across = axis("difference", "regret minus that of the reference", "linear", rows)
    rule = base.mark_rule(strokeWidth=2.5, aria=False).encode(
        x=alt.X("low:Q", title=across["title"]), x2="high:Q", tooltip=tooltip
    )
    dot = base.mark_point(filled=True, size=70, opacity=1, aria=False).encode(
        x=alt.X(**across), shape=scales["shape"], tooltip=tooltip
    )
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=look.muted, strokeDash=[4, 3])
    chart = alt.layer(zero.encode(x="zero:Q"), *_if_any(rule, rows, "low"), dot)
    return sized(chart, width, PAIRS_STEP * max(1, len(policies) - 1), title)


def sweep_chart(
    rows: Data,
    series: Sequence[str],
    *,
    setting: str,
    x: Scale = "linear",
    y: Scale = "log",
    look: Look = PAPER,
    width: int | None = 300,
    height: int = 220,
    title: str | None = None,
    legend: bool = True,
) -> Any:
    """Final regret against a swept setting, a line per series."""
    scales = policy_scales(series, look, legend)
    base = alt.Chart(data(rows)).transform_calculate(policy="datum.series")
    horizontal = alt.X(**axis("value", setting, x, rows, signed=False))
    vertical = alt.Y(**axis("mean", "final regret", y, rows, "low", "high", zero=y == "linear"))
    band = _area(base, horizontal, ("low", "high"), "final regret", scales)
    tooltip = [alt.Tooltip("series:N"), number("value", "setting"), number("mean", "mean regret")]
    tooltip += [number("low", "95% from"), number("high", "95% to")]
    point = base.mark_point(filled=True, size=60, opacity=1, aria=False).encode(
        x=horizontal, y=vertical, color=scales["color"], shape=scales["shape"], tooltip=tooltip
    )
    layers = [_line(base, horizontal, vertical, scales), *_if_any(band, rows, "low"), point]
    return sized(alt.layer(*layers), width, height, title)


def scores_chart(rows: list[Row], *, title: str | None = None, look: Look = PAPER) -> Any:
    """The scorecard as a picture: policies × worlds, scores, coloured by ratio to the best."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "world:N", sort=worlds, title=None, axis=alt.Axis(orient="top", labelAngle=-30, labelLimit=240)
        ),
        y=alt.Y("policy:N", sort=policies, title=None, axis=alt.Axis(labelLimit=260)),
    )
    steps = ratio_names()
    fill = base.mark_rect(stroke=look.paper, strokeWidth=2).encode(
        color=alt.Color(
            "step:N",
            sort=steps,
            scale=alt.Scale(domain=steps, range=ratio_colours()),
            legend=alt.Legend(title="ratio to the best", symbolType="square"),
        )
    )
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("score:Q", format=".2f"), color=alt.value("#111111")
    )
    return (fill + text).properties(
        width=alt.Step(62), height=alt.Step(26), **({"title": title} if title else {})
    )


def timing_chart(rows: list[Row], policies: Sequence[str], *, look: Look = PAPER, width: int = 300) -> Any:
    """Nanoseconds per round: a mark per world and policy."""
    scales = policy_scales(policies, look, False)
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_tick(thickness=2, height=14)
        .encode(
            x=alt.X(**axis("nanoseconds_per_round", "nanoseconds per round", "log", rows, signed=False)),
            y=alt.Y("policy:N", sort=list(policies), title=None, axis=alt.Axis(labelLimit=260)),
            color=scales["color"],
        )
        .properties(width=width, height=alt.Step(22))
    )
