"""Every chart of a study as files for papers: vector graphics and bitmaps on white, at column width."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd
import vl_convert

from bothworlds import statefile
from bothworlds.errors import InvalidArgumentError
from bothworlds.report.charts import info, render
from bothworlds.report.charts.axes import configure
from bothworlds.report.charts.info import Columns, Panel
from bothworlds.report.charts.sweeps import sweeps
from bothworlds.report.palette import PAPER, ratio_names
from bothworlds.report.writing import writing

if TYPE_CHECKING:
    from bothworlds.report.study import Study

FORMATS = ("svg", "pdf", "png")
VERSION = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
WIDTH, SCALE = 300, 4.0  # of a column of text, in points; bitmaps have so many pixels per point


def write_figures(
    study: Study,
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = FORMATS,
    bounds: pd.DataFrame | None = None,
) -> list[Path]:
    """Write the charts of a study into a folder.

    ``scorecard``, ``timing``; per world ``curves-…``, ``final-…`` and ``pairs-…`` (against the best policy of
    the study); ``sweep-…`` per swept setting and world; ``probabilities-…`` of the best policy per world.
    Names hold the label of the world, in plain letters, after its number, so that they stay unique.

    Parameters
    ----------
    formats:
        Any of "svg", "pdf", "png".
    bounds:
        As in :func:`bothworlds.report.page.write_report`.

    Returns
    -------
    The paths written, in that order.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise InvalidArgumentError("formats", formats, f"some of {', '.join(FORMATS)}")
    target = Path(folder)
    with writing("figures", target):
        target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts(study, bounds=bounds):
        spec = chart.to_dict(validate=False)
        spec["config"] = configure(PAPER, size=10)
        svg = vl_convert.vegalite_to_svg(spec, vl_version=VERSION)
        for kind in formats:
            path = target / f"{name}.{kind}"
            content = _convert(svg, kind)
            with writing("figures", target):
                statefile.write_bytes(path, content)
            written.append(path)
    return written


def _convert(svg: str, kind: str) -> bytes:
    if kind == "pdf":
        return vl_convert.svg_to_pdf(svg)
    if kind == "png":
        return vl_convert.svg_to_png(svg, scale=SCALE, ppi=72)
    return svg.encode()


def plain_name(label: str) -> str:
    """A label as part of a file name: plain letters, digits and hyphens.

    >>> plain_name("FTRL Tsallis β=0.3, √T")
    'ftrl-tsallis-beta-0-3-t'
    """
    spelled = "".join(
        unicodedata.name(c, "").split()[-1].lower() if "GREEK" in unicodedata.name(c, "") else c
        for c in label
    )
    ascii_only = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-")[:60].strip("-")


def charts(study: Study, *, bounds: pd.DataFrame | None = None) -> Iterator[tuple[str, Any]]:
    """Name and chart of every figure."""
    panels = info.panels(study.cells)
    policies = [str(entry["label"]) for entry in study.manifest["policies"]]
    scores = [row for row in info.scores_info(study.scores, study.ranking) if row["step"] is not None]
    if scores:
        yield (
            "scorecard",
            render.scores_chart(
                [row | {"world": row["environment"], "step": ratio_names()[row["step"]]} for row in scores]
            ),
        )
    curves, final, pairs = info.by_cell(study.curves), info.by_cell(study.final), info.by_world(study.pairs)
    best = str(study.ranking["policy"].iloc[0]) if len(study.ranking) else policies[0]
    for panel in panels:
        yield from _panel_charts(study, panel, policies, best, curves, final, pairs, bounds)
    for sweep in sweeps(study.summary, study.manifest):
        for number, view in enumerate(sweep.views()):
            rows = [row for row in sweep.rows if row["view"] == view]
            name = f"sweep-{plain_name(sweep.setting)}-{number + 1:02d}-{plain_name(view)}"
            setting = sweep.setting.partition(".")[2] or sweep.setting
            yield (
                name,
                render.sweep_chart(
                    rows, sweep.series(), setting=setting, x=sweep.scale(), width=WIDTH, title=view
                ),
            )
    yield "timing", render.timing_chart(info.timing_info(study.timing), policies, width=WIDTH)


def _panel_charts(
    study: Study,
    panel: Panel,
    policies: Sequence[str],
    best: str,
    curves: Mapping[int, Columns],
    final: Mapping[int, Columns],
    pairs: dict[tuple[str, int], pd.DataFrame],
    bounds: pd.DataFrame | None,
) -> Iterator[tuple[str, Any]]:
    """The figures of one world, as far as the store has results of it."""
    name = f"{panel.number + 1:02d}-{plain_name(panel.title)}"
    rows = info.curves_info(curves, panel, policies)
    here = [policy for policy in policies if any(row["policy"] == policy for row in rows)]
    if not here:
        return
    theory = info.bounds_info(bounds, panel)
    yield (
        f"curves-{name}",
        render.curves_chart(rows, policies, bounds=theory, y="log", width=WIDTH, title=panel.title),
    )
    ends = info.finals_info(final, panel)
    if ends:
        yield (
            f"final-{name}",
            render.finals_chart(
                ends, policies, height=render.FINALS_STEP * len(here), width=WIDTH, title=panel.title
            ),
        )
    compared = pairs.get((panel.environment, panel.horizon))
    against = [] if compared is None else info.pairs_info(compared, reference=best)
    if against:
        yield (
            f"pairs-{name}",
            render.pairs_chart(against, policies, width=WIDTH, title=f"{panel.title}, against {best}"),
        )
    if best in here:
        cell = study.manifest["cells"][panel.cells[best]]
        frame = study.probabilities(panel.cells[best])
        if len(frame):
            shares = info.probabilities_info(frame, gaps=cell["gaps"], optimal=cell["optimal"], points=100)
            arms = list(dict.fromkeys(row["arm"] for row in shares))
            yield (
                f"probabilities-{name}",
                render.probabilities_chart(shares, arms=arms, width=WIDTH, title=f"{best}: {panel.title}"),
            )
