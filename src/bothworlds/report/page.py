"""One page that holds a whole study: self-contained, offline, readable on paper, a phone, in the dark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd
import vl_convert

from bothworlds import statefile
from bothworlds._version import __version__
from bothworlds._words import plural, some_are
from bothworlds.report import sections as parts
from bothworlds.report import tables
from bothworlds.report.charts.axes import configure
from bothworlds.report.charts.info import panels as panels_of
from bothworlds.report.charts.sweeps import sweeps as sweeps_of
from bothworlds.report.finding import finding
from bothworlds.report.markup import Markup, inner, script_json, tag
from bothworlds.report.palette import PAGE, style_sheet
from bothworlds.report.payload import SHOWN, payload
from bothworlds.report.sections import Section
from bothworlds.report.writing import writing

if TYPE_CHECKING:
    from bothworlds.report.study import Study

__all__ = ["Section", "page", "write_report"]


VERSION = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])  # of Vega-Lite, that Altair writes


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script."""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VERSION)
    return script.replace("</script", "<\\/script")  # a script element ends there, wherever it stands


def _asset(name: str) -> str:
    return files("bothworlds.report").joinpath("assets", name).read_text(encoding="utf-8")


def write_report(
    study: Study,
    path: str | os.PathLike[str],
    *,
    bounds: pd.DataFrame | None = None,
    sections: Sequence[Section] = (),
) -> Path:
    """Write the report of a study as one HTML file.

    Parameters
    ----------
    study:
        A study, complete or not; the page says how much is there.
    path:
        Where to write. The file appears whole or not at all.
    bounds:
        Curves of theory to draw beside the measured ones: columns cell, round, bound, name.
    sections:
        Further sections, after the curves.

    Returns
    -------
    The path written.
    """
    target = Path(path)
    text = page(study, bounds=bounds, sections=sections)
    with writing("the report", target):
        target.parent.mkdir(parents=True, exist_ok=True)
        statefile.write_bytes(target, text.encode())
    return target


def page(study: Study, *, bounds: pd.DataFrame | None = None, sections: Sequence[Section] = ()) -> str:
    """The report as text: see :func:`write_report`."""
    data = payload(study, bounds)
    data["best"] = SHOWN
    data["extra"] = [_extra_spec(chart) for extra in sections for _, chart in extra.charts]
    body = _sections(study, data, bounds is not None, sections)
    links = [tag("li", tag("a", short, href=f"#{anchor}")) for anchor, short, _ in body]
    description = str(study.manifest.get("description") or "")
    return Template(_asset("page.html")).substitute(
        version=inner(__version__),
        title=inner(study.title),
        palette=style_sheet(),
        css=_asset("page.css"),
        js=_asset("page.js"),
        bundle=bundle(),
        description=tag("p", description, class_="lead").text if description else "",
        facts=_facts(study).text,
        notice=_notice(study).text,
        nav=tag("ul", links).text,
        sections="\n".join(markup.text for _, _, markup in body),
        data=script_json(data),
    )


def _sections(
    study: Study, data: dict[str, Any], bounds: bool, extra: Sequence[Section]
) -> list[tuple[str, str, Markup]]:
    """Anchor, name in the contents, and HTML of every section that this study has."""
    panels, policies = panels_of(study.cells), data["policies"]
    found = finding(study.scores, study.ranking, study.pairs)
    best = policies.index(found.best) if found.best in policies else 0
    here = [
        ("finding", "Finding", parts.scorecard_section(study, found)),
        ("regret", "Regret", parts.regret_section(panels, policies, SHOWN, bounds)),
    ]
    first = 0
    for i, one in enumerate(extra):
        here.append((f"extra-{i}", one.title, parts.extra_section(i, one, first)))
        first += len(one.charts)
    swept = sweeps_of(study.summary, study.manifest)
    if swept:
        here.append(("sweeps", "Sweeps", parts.sweeps_section(swept)))
    if data["probabilities"]:
        here.append(("arms", "Arms", parts.run_section(panels, policies, best)))
    growth, scaling = [tables.growth_table(study.growth, panels, policies)], study.scaling
    if len(scaling):
        growth.append(tables.scaling_table(scaling, policies))
    here.append(("growth", "Growth", parts.section("growth", "How fast does regret grow?", growth)))
    if len(study.pairs):
        here.append(("pairs", "Pairs", parts.pairs_section(panels, policies, best)))
    numbers = tables.summary_table(study.summary, panels, policies)
    here.append(("numbers", "Numbers", parts.section("numbers", "The numbers", [numbers])))
    timing = tables.timing_table(study.timing, panels, policies)
    here.append(("time", "Time", parts.section("time", "Time per round", [timing])))
    here.append(("methods", "Methods", parts.methods_section(study, _experiment(study))))
    return here


def _facts(study: Study) -> Markup:
    manifest, cells = study.manifest, study.cells
    longest = int(cells["horizon"].max())
    numbers = [
        (len(manifest["policies"]), "policy"),
        (len(manifest["environments"]), "world"),
        (longest, "round"),
        (manifest["replications"], "replication"),
    ]
    played = int((cells["horizon"] * manifest["replications"]).sum())
    facts = [(n, plural(n, noun)) for n, noun in numbers] + [
        (played, f"{plural(played, 'round')} played in all")
    ]
    items = [tag("li", [tag("b", f"{n:,}"), f" {words}"]) for n, words in facts]
    return tag("ul", items, class_="facts")


def _notice(study: Study) -> Markup:
    if study.complete:
        return Markup("")
    cells = study.cells
    empty = int((cells["replications"] == 0).sum())
    text = (
        f"This study is not complete. The store has {study.status}; "
        f"{some_are(empty, len(cells), 'cell')} without a result yet. The finding may change."
    )
    return tag("p", text, class_="notice", role="status")


def _experiment(study: Study) -> str | None:
    file = Path(study.path) / "experiment.toml"
    return file.read_text(encoding="utf-8") if file.exists() else None


def _extra_spec(chart: Any) -> dict[str, Any]:
    """A chart that was handed in, as Vega, as wide as its place on the page if it is a single view."""
    spec: dict[str, Any] = dict(chart) if isinstance(chart, dict) else chart.to_dict()
    if not {"hconcat", "vconcat", "concat", "facet", "repeat"} & set(spec):
        spec["width"] = "container"
    return vl_convert.vegalite_to_vega(spec, vl_version=VERSION, config=configure(PAGE))
