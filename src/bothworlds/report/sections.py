"""The sections of the page as HTML; what they show is computed elsewhere."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from bothworlds._words import counted
from bothworlds.report import tables
from bothworlds.report.charts.info import Panel
from bothworlds.report.charts.sweeps import Sweep
from bothworlds.report.finding import Finding
from bothworlds.report.markup import Content, Markup, tag
from bothworlds.report.palette import PAGE, dash, shape

if TYPE_CHECKING:
    from bothworlds.report.study import Study


@dataclass(frozen=True)
class Section:
    """A section that another part of the package adds to the page, e.g. "Where did the regret go?".

    Text is split into paragraphs at empty lines; charts are Altair charts or Vega-Lite specifications with
    their data inside; tables are frames. Titles and text are escaped.
    """

    title: str
    text: str = ""
    charts: Sequence[tuple[str, Any]] = ()
    tables: Sequence[tuple[str, pd.DataFrame]] = ()


def section(identifier: str, title: str, parts: Sequence[Content]) -> Markup:
    """A section with its heading."""
    heading = tag("h2", title, id=f"{identifier}-title")
    return tag("section", [heading, *parts], id=identifier, aria_labelledby=f"{identifier}-title")


def swatch(index: int) -> Markup:
    """Line and marker of a policy, as in the charts."""
    colour, pattern = PAGE.colour(index), " ".join(map(str, dash(index))).replace("1 0", "none")
    paths = {
        "circle": "M17 4a4 4 0 1 1 0 8a4 4 0 1 1 0-8z",
        "square": "M13.4 4.4h7.2v7.2h-7.2z",
        "triangle-up": "M17 3.4l4.6 8.2h-9.2z",
        "diamond": "M17 2.8l4 5.2l-4 5.2l-4-5.2z",
        "cross": "M15.4 3.4h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
        "triangle-down": "M17 12.6l4.6-8.2h-9.2z",
        "triangle-right": "M21.6 8l-8.2 4.6v-9.2z",
        "triangle-left": "M12.4 8l8.2 4.6v-9.2z",
    }
    return Markup(
        '<svg width="34" height="16" aria-hidden="true">'
        f'<path d="M1 8H33" stroke="{colour}" stroke-width="2" stroke-dasharray="{pattern}"/>'
        f'<path d="{paths[shape(index)]}" fill="{colour}"/></svg>'
    )


def select(
    identifier: str, label: str, options: Sequence[tuple[str, str]], chosen: str | None = None
) -> Markup:
    """A labelled select."""
    items = [
        tag("option", text, value=value, selected="" if value == chosen else None) for value, text in options
    ]
    return tag("label", [f"{label} ", tag("select", items, id=identifier)])


def switch(identifier: str, label: str, values: Sequence[str]) -> Markup:
    """Buttons of which one is pressed."""
    buttons = [tag("button", value, type="button", value=value, aria_pressed="false") for value in values]
    group = tag("span", buttons, class_="switch", id=identifier)
    return tag("fieldset", [tag("legend", label), group])


def scorecard_section(study: Study, found: Finding) -> Markup:
    """The finding in words, and the scorecard."""
    lines = tag("ul", [tag("li", sentence) for sentence in found.sentences], class_="finding")
    if found.best is None:
        return section("finding", "Which policy survives which world?", [lines])
    card = tables.scorecard(study.scores, study.ranking, study.summary)
    return section("finding", "Which policy survives which world?", [lines, card])


def regret_section(panels: Sequence[Panel], policies: Sequence[str], best: int, bounds: bool) -> Markup:
    """Curves and distributions with the controls they share."""
    largest = max(panel.horizon for panel in panels)
    here = [panel for panel in panels if panel.horizon == largest]
    options = [(str(panel.number), panel.title) for panel in panels]
    if len(here) <= 12:
        options.insert(0, ("all", f"all {len(here)}" if len(here) > 1 else here[0].title))
    row = [
        select("world", "World", options),
        switch("scale-x", "Rounds", ["linear", "log"]),
        switch("scale-y", "Regret", ["linear", "log"]),
        select(
            "band", "Band", [("mean", "95% interval of the mean"), ("spread", "5% to 95% of replications")]
        ),
    ]
    if bounds:
        box = Markup('<input type="checkbox" id="show-bounds" checked>')
        row.append(tag("label", [box, "bounds of theory (dotted)"]))
    items = [
        tag("li", tag("button", [swatch(i), name], type="button", data_policy=str(i), aria_pressed="true"))
        for i, name in enumerate(policies)
    ]
    tools = [("all", "show all"), ("none", "hide all")]
    if len(policies) > best:
        tools.append(("best", f"best {best}"))
    items += [tag("li", tag("button", text, type="button", value=v, class_="tool")) for v, text in tools]
    legend = tag(
        "ul",
        items,
        id="legend",
        class_="legend long" if len(policies) > 16 else "legend",
        aria_label="policies, on and off",
    )
    hint = tag(
        "p",
        "Click a policy to switch it off and on, with shift to see it alone. Point at a curve to read it.",
        class_="note screen",
    )
    scale = tag(
        "p",
        "Mean regret of each policy, with a band. The log scale of regret is linear between −1 and 1, as "
        "regret may be zero or negative.",
        class_="note",
    )
    controls = tag("div", [tag("div", row, class_="row"), legend], class_="controls sticky")
    parts = [
        scale,
        hint,
        controls,
        tag("div", "", id="curves", class_="grid"),
        tag("h3", "Distribution of the final regret"),
        tag(
            "p",
            "A dot per replication; a box from the 25% to the 75% quantile, with the median; lines to 5% and "
            "95%.",
            class_="note",
        ),
        tag("div", "", id="finals", class_="grid"),
    ]
    return section("regret", "Regret over time", parts)


def sweeps_section(sweeps: Sequence[Sweep]) -> Markup:
    """Final regret against a swept setting."""
    settings = [(str(i), sweep.setting.replace(".", ": ")) for i, sweep in enumerate(sweeps)]
    legends = [
        tag(
            "ul",
            [tag("li", [swatch(i), name]) for i, name in enumerate(sweep.series())],
            class_="legend arms long" if len(sweep.series()) > 16 else "legend arms",
            data_sweep_legend=str(number),
        )
        for number, sweep in enumerate(sweeps)
    ]
    chosen = [select("sweep-setting", "Setting", settings), select("sweep-view", "In", [])]
    controls = tag("div", chosen, class_="row screen")
    chart = tag("div", "", id="sweep-chart", class_="chart")
    note = tag("p", "Mean final regret with its 95% interval. The scale of regret follows the switch above.")
    return section(
        "sweeps",
        "What the swept settings do",
        [note, controls, *legends, tag("figure", chart, class_="narrow")],
    )


def run_section(panels: Sequence[Panel], policies: Sequence[str], best: int) -> Markup:
    """Arm probabilities of a chosen run."""
    row = [
        select("run-policy", "Policy", [(str(i), name) for i, name in enumerate(policies)], str(best)),
        select("run-world", "World", [(str(panel.number), panel.title) for panel in panels]),
    ]
    parts = [
        tag("p", "The distribution from which arms are drawn, in the first replication of the chosen cell."),
        tag("div", row, class_="row"),
        tag("ul", "", id="run-arms", class_="legend arms"),
        tag("figure", tag("div", "", id="run-chart", class_="chart"), class_="narrow"),
        tag("p", "No probabilities are stored for this cell.", id="run-empty", class_="empty", hidden=""),
    ]
    return section("arms", "Arm probabilities over time", parts)


def pairs_section(panels: Sequence[Panel], policies: Sequence[str], best: int) -> Markup:
    """Differences to a reference policy."""
    row = [
        select("pairs-world", "World", [(str(panel.number), panel.title) for panel in panels]),
        select(
            "pairs-reference", "Reference", [(str(i), name) for i, name in enumerate(policies)], str(best)
        ),
    ]
    head = ["policy", "difference", "95% interval", "wins", "p-value"]
    grid = tag(
        "table",
        [
            tag("caption", "Differences of the mean final regret to the reference."),
            tag("thead", tag("tr", [tag("th", name, scope="col") for name in head])),
            tag("tbody", "", id="pairs-rows"),
        ],
    )
    parts = [
        tag(
            "p",
            "Replications share their random numbers, so that policies are compared pair by pair: the mean "
            "difference of final regret, its 95% interval, how often the policy wins, and the p-value of the "
            "paired t-test, corrected for the number of pairs of the world (Holm).",
        ),
        tag("div", row, class_="row"),
        tag("p", "", id="pairs-note", class_="note", aria_live="polite"),
        tag("figure", tag("div", "", id="pairs-chart", class_="chart"), class_="narrow"),
        tag("div", grid, class_="scroll", tabindex="0", role="region", aria_label="pairwise comparison"),
    ]
    return section("pairs", "Pair by pair", parts)


def extra_section(index: int, extra: Section, first_chart: int) -> Markup:
    """A section that was handed in; its charts are numbered from ``first_chart``."""
    parts: list[Content] = [tag("p", text.strip()) for text in extra.text.split("\n\n") if text.strip()]
    for i, (caption, _) in enumerate(extra.charts):
        place = tag("div", "", class_="chart", data_spec=str(first_chart + i), data_title=caption)
        parts.append(tag("figure", [tag("figcaption", caption), place], class_="narrow"))
    parts += [tables.frame_table(frame, caption) for caption, frame in extra.tables]
    return section(f"extra-{index}", extra.title, parts)


def methods_section(study: Study, text: str | None) -> Markup:
    """How to get these numbers again."""
    manifest = study.manifest
    runs: list[dict[str, Any]] = manifest["runs"]
    last = runs[-1] if runs else {}
    command = shlex.join(map(str, last.get("command") or [])) or "–"
    versions = [f"bothworlds {manifest['version']}", f"Python {last.get('python', '–')}"]
    versions += [f"{name} {version}" for name, version in (last.get("packages") or {}).items()]
    machines = dict.fromkeys(f"{run.get('cpu') or '–'}, {_cores(run)}" for run in runs)
    horizons = sorted({int(cell["horizon"]) for cell in manifest["cells"]})
    rows = [
        ("Seed", str(manifest["seed"])),
        ("Replications", f"{manifest['replications']:,}, the same random numbers for every policy"),
        ("Horizon", ", ".join(f"{h:,}" for h in horizons) + _told(manifest)),
        ("Versions", ", ".join(versions)),
        ("Commit", str(last.get("commit") or "–")),
        ("CPU", "; ".join(machines) or "–"),
        ("Runs", _runs(runs)),
        ("Fingerprint", str(manifest["fingerprint"])),
    ]
    listed = tag("dl", [part for name, value in rows for part in (tag("dt", name), tag("dd", value))])
    worlds = [
        tag("li", [tag("b", str(e["label"])), f": {e['repr']}; {e['regret_kind']}"])
        for e in manifest["environments"][:40]
    ]
    played = [tag("li", [tag("b", str(p["label"])), f": {p['repr']}"]) for p in manifest["policies"][:40]]
    parts: list[Content] = [
        tag(
            "p",
            "Regret is measured as each environment defines it (listed below). Bands are 95% bootstrap "
            "intervals of the mean over replications. The same experiment gives the same bits on any number "
            "of workers. To reproduce:",
        ),
        tag("pre", command, tabindex="0"),
        listed,
        tag("details", [tag("summary", "Policies and environments"), tag("ul", played), tag("ul", worlds)]),
    ]
    if text is not None:
        file = [tag("summary", "The experiment file"), tag("pre", text, tabindex="0")]
        parts.append(tag("details", file, open=""))
    return section("methods", "Methods", parts)


def _cores(run: dict[str, Any]) -> str:
    return counted(int(run["cores"]), "core") if run.get("cores") else "–"


def _told(manifest: dict[str, Any]) -> str:
    return ", known to the policies" if manifest.get("tell_horizon", True) else ", unknown to the policies"


def _runs(runs: Sequence[dict[str, Any]]) -> str:
    said = []
    for run in runs:
        end = f"{run['seconds']:.1f} s" if run.get("seconds") is not None else "not finished"
        said.append(f"{run.get('started', '–')}, {run.get('executor', '–')} × {run.get('jobs', '–')}, {end}")
    return "; ".join(said) or "–"
