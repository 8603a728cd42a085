"""Evaluations on a terminal: policies as people type them, a table, a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from bothworlds import _check
from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference.evaluation import Evaluation
from bothworlds.inference.intervals import digits_for, number_text
from bothworlds.inference.log import labels_in
from bothworlds.inference.targets import LOGGED


def named_policies(log: Any, texts: Sequence[str]) -> dict[str, Any]:
    """An arm, ``green=0.9,red=0.1``, ``uniform`` or ``logged``; by default the last, and every arm."""
    labels = labels_in(log)
    by_name = {str(label): label for label in labels}
    even = dict.fromkeys(labels, 1.0 / len(labels))
    if not texts:
        return {LOGGED: LOGGED} | {f"always {label}": {label: 1.0} for label in labels}
    policies: dict[str, Any] = {}
    for text in texts:
        if text in by_name:
            policies[f"always {text}"] = {by_name[text]: 1.0}
        elif text in (LOGGED, "uniform"):
            policies[text] = LOGGED if text == LOGGED else even
        else:
            policies[text] = dict(_share(part, by_name) for part in text.split(","))
    return policies


def _share(text: str, by_name: Mapping[str, Any]) -> tuple[Any, float]:
    name, _, share = text.partition("=")
    if name.strip() not in by_name:
        fix = did_you_mean(name, by_name)
        raise InvalidArgumentError("--policy", text, f"an arm of the log: {', '.join(by_name)}", fix=fix)
    try:
        return by_name[name.strip()], float(share)
    except ValueError:
        raise InvalidArgumentError("--policy", text, "an arm and its probability, green=0.9") from None


def rich_evaluation_table(found: Mapping[str, Evaluation]) -> Any:
    """Evaluations as a ``rich`` table, to be printed by its console."""
    from rich.table import Table  # noqa: PLC0415 - only needed on a terminal

    error = next(iter(found.values())).interval.error
    result = Table(
        title=f"Reward per decision, in any world, at any time with probability {1.0 - error:.4g}",
        box=None,
        header_style="bold",
    )
    for name in ("policy", "estimate", "interval", "for one look", "size", "largest w"):
        justify: Literal["left", "right"] = "left" if name in ("policy", "interval") else "right"
        result.add_column(name, justify=justify, no_wrap=True)
    digits = digits_for([one.interval for one in found.values()])
    for name, one in found.items():
        result.add_row(
            name,
            number_text(one.interval.estimate, digits),
            one.interval.bounds_text(digits),
            "–" if one.adaptive is None else str(one.adaptive),
            f"{one.effective_size:,.0f}",
            f"{one.largest_weight:.4g}",
        )
    return result


def evaluation_chart(found: Mapping[str, Evaluation], path: str | PathLike[str] | None = None) -> Any:
    """Intervals and estimates as an Altair chart; written to ``path`` (.svg, .png, .pdf, .html) if given."""
    alt = _check.extra("altair", "plot", "charts")
    rows = [
        {
            "policy": name,
            "low": one.interval.low,
            "high": one.interval.high,
            "estimate": one.interval.estimate,
        }
        for name, one in found.items()
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("policy:N", title=None, sort=list(found), axis=alt.Axis(labelLimit=300))
    )
    chance = 1.0 - next(iter(found.values())).interval.error
    spans = base.mark_rule(strokeWidth=3).encode(
        x=alt.X("low:Q", title="reward per decision", scale=alt.Scale(zero=False)), x2="high:Q"
    )
    chart = (spans + base.mark_point(filled=True, size=70).encode(x="estimate:Q")).properties(
        width=480, title=f"right at any time with probability {chance:.4g}, whatever the world"
    )
    if path is not None:
        chart.save(str(path))
    return chart
