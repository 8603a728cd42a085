"""Charts: rows of numbers, drawn; and every chart of a study as files for papers.

Figures are vector graphics and bitmaps on white, at column width.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import vl_convert

from bothworlds.errors import InvalidArgumentError
from bothworlds.report.charts import draw
from bothworlds.report.charts.palette import PAPER_LOOK
from bothworlds.report.charts.rows import (
    CellColumns,
    Panel,
    bound_rows,
    by_cell,
    by_world,
    curve_rows,
    final_rows,
    find_sweeps,
    pair_rows,
    panels,
    probability_rows,
    score_rows,
    timing_rows,
)
from bothworlds.report.folder import write_files
from bothworlds.report.numbers.scores import scorecard

if TYPE_CHECKING:
    from bothworlds.report.study import Study

FIGURE_FORMATS = ("svg", "pdf", "png")
WIDTH, SCALE = 300, 4.0  # of a column of text, in points; bitmaps have so many pixels per point


def write_figures(
    study: Study,
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = FIGURE_FORMATS,
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
    unknown = [name for name in formats if name not in FIGURE_FORMATS]
    if unknown or not formats:
        raise InvalidArgumentError("formats", formats, f"some of {', '.join(FIGURE_FORMATS)}")
    return write_files("figures", Path(folder), _files(study, formats, bounds))


def _files(study: Study, formats: Sequence[str], bounds: pd.DataFrame | None) -> Iterator[tuple[str, bytes]]:
    for name, chart in figures(study, bounds=bounds):
        spec = chart.to_dict(validate=False)
        spec["config"] = draw.vega_config(PAPER_LOOK, size=10)
        svg = vl_convert.vegalite_to_svg(spec, vl_version=draw.VEGA_LITE)
        for kind in formats:
            yield f"{name}.{kind}", _convert(svg, kind)


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


def figures(study: Study, *, bounds: pd.DataFrame | None = None) -> Iterator[tuple[str, Any]]:
    """Name and chart of every figure."""
    scores = score_rows(scorecard(study))
    if scores:
        yield "scorecard", draw.scores_chart(scores)
    curves, final, pairs = by_cell(study.curves), by_cell(study.final), by_world(study.pairs)
    best = str(study.ranking["policy"].iloc[0]) if len(study.ranking) else study.policies[0]
    for panel in panels(study.cells):
        yield from _panel_figures(study, panel, best, curves, final, pairs, bounds)
    for sweep in find_sweeps(study.summary, study.manifest):
        setting = sweep.setting.partition(".")[2] or sweep.setting
        for number, view in enumerate(sweep.views()):
            yield (
                f"sweep-{plain_name(sweep.setting)}-{number + 1:02d}-{plain_name(view)}",
                draw.sweep_chart(
                    [row for row in sweep.rows if row["view"] == view],
                    sweep.series(),
                    setting=setting,
                    x=sweep.scale(),
                    width=WIDTH,
                    title=view,
                ),
            )
    yield "timing", draw.timing_chart(timing_rows(study.timing), study.policies, width=WIDTH)


def _panel_figures(
    study: Study,
    panel: Panel,
    best: str,
    curves: Mapping[int, CellColumns],
    final: Mapping[int, CellColumns],
    pairs: dict[tuple[str, int], pd.DataFrame],
    bounds: pd.DataFrame | None,
) -> Iterator[tuple[str, Any]]:
    """The figures of one world, as far as the store has results of it."""
    name, policies = f"{panel.number + 1:02d}-{plain_name(panel.title)}", study.policies
    rows = curve_rows(curves, panel, policies)
    here = {row["policy"] for row in rows}
    if not here:
        return
    look: dict[str, Any] = {"width": WIDTH, "title": panel.title}
    proved = bound_rows(bounds, panel)
    yield f"curves-{name}", draw.curves_chart(rows, policies, bounds=proved, y="log", **look)
    ends = final_rows(final, panel)
    if ends:
        height = draw.FINALS_STEP * len(here)
        yield f"final-{name}", draw.finals_chart(ends, policies, height=height, **look)
    compared = pairs.get((panel.environment, panel.horizon))
    against = [] if compared is None else pair_rows(compared, reference=best)
    if against:
        look["title"] = f"{panel.title}, against {best}"
        yield f"pairs-{name}", draw.pairs_chart(against, policies, **look)
    frame = study.probabilities(panel.cells[best]) if best in here else pd.DataFrame()
    if len(frame):
        cell = study.manifest["cells"][panel.cells[best]]
        shares = probability_rows(frame, gaps=cell["gaps"], optimal=cell["optimal"], points=100)
        arms = list(dict.fromkeys(row["arm"] for row in shares))
        look["title"] = f"{best}: {panel.title}"
        yield f"probabilities-{name}", draw.probabilities_chart(shares, arms=arms, **look)
