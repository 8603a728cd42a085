"""One page that holds a whole study: self-contained, offline, readable on paper, a phone, in the dark.

``templates/page.html`` says what stands where; here is what it is filled with. Templates escape everything
that is not marked as HTML, so that no label can become markup.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2
import pandas as pd
import vl_convert
from markupsafe import Markup

from bothworlds._version import __version__
from bothworlds._words import counted, plural, some_are
from bothworlds.errors import InvalidArgumentError
from bothworlds.report.figures.contents import heat, symbol
from bothworlds.report.folder import write_files
from bothworlds.report.numbers.rows import (
    ChartRow,
    Panel,
    Sweep,
    bound_rows,
    by_cell,
    by_world,
    curve_rows,
    final_rows,
    find_sweeps,
    pair_rows,
    panels,
    probability_rows,
    short_labels,
)
from bothworlds.report.numbers.scores import (
    GAPS_SCORE,
    MINIMAX_SCORE,
    RATIO_STEPS,
    Scorecard,
    ratio_names,
    scorecard,
)
from bothworlds.report.page import charts
from bothworlds.report.page.sections import Section, findings
from bothworlds.report.styles import (
    COLORS,
    DARK_COLORS,
    N_STYLES,
    PAGE_THEME,
    choose_policies,
    dash,
    ink_on,
    marker,
    ratio_colors,
    shade_colors,
    telling_setting,
)
from bothworlds.report.text import LOG_ENDED, MISSING, NEGATIVE_NOTE, format_fixed, format_number

if TYPE_CHECKING:
    from bothworlds.report.study import Study

SCORE_MEANINGS = {
    GAPS_SCORE: "compares the mean regret R with the smallest of any policy in that world",
    MINIMAX_SCORE: "measures R in units of the minimax rate, where arms have no fixed gaps and the heading "
    "says so",
}
STATISTICS = {
    "mean": "mean",
    "trimmed": "trimmed mean (without a tenth on either side)",
    "median": "median",
    "q95": "95% quantile",
    "cvar": "CVaR (mean of the worst 5%)",
    "worst": "worst replication",
}
"""What the table of numbers can show, one at a time: the class of its cells, and its name."""
MOST_COLUMNS = 12
"""More worlds than that, and more than policies, stand in rows."""
# Numbers that a page may hold, however many cells there are; few cells show every checkpoint.
CURVE_POINTS, FINAL_POINTS, PROBABILITY_NUMBERS, PAIR_ROWS = 48_000, 48_000, 160_000, 20_000
MOST_POLICIES = 10  # switched on at first, when there are more
MOST_PANELS = 12  # drawn at once


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
    write_files("the report", target.parent, [(target.name, text.encode())])
    return target


def page(study: Study, *, bounds: pd.DataFrame | None = None, sections: Sequence[Section] = ()) -> str:
    """The report as text: see :func:`write_report`."""
    manifest, all_panels = study.manifest, panels(study.cells)
    unplayed = int((study.cells["replications"] < manifest["replications"]).sum())
    found = findings(study.scores, study.ranking, study.pairs, study.tails, unplayed)
    data = page_data(study, bounds)
    data["extra"] = [_extra_spec(chart) for extra in sections for _, chart in extra.charts]
    extras = _extras(sections)
    template = templates().get_template("page.html")
    return template.render(
        version=__version__,
        title=study.title,
        description=str(manifest.get("description") or ""),
        css=_asset("page.css"),
        js=_asset("page.js"),
        bundle=_vega_bundle(),
        light=_colors(COLORS, dark=False),
        dark=_colors(DARK_COLORS, dark=True),
        facts=_facts(study),
        notice=_notice(study),
        contents=_contents(study, data, extras),
        data=data,
        sentences=found.sentences,
        scorecard=None if study.scores["ratio"].isna().all() else score_grid(scorecard(study)),
        ratio_names=ratio_names(),
        best_mark=RATIO_STEPS[0][1],
        log_ended=LOG_ENDED,
        policies=list(enumerate(study.policies)),
        panels=[(panel.number, panel.title) for panel in all_panels],
        overview=_overview(data),
        best=study.policies.index(found.best) if found.best in study.policies else 0,
        bounds=bounds is not None,
        extras=extras,
        heats=[(i, heat["title"]) for i, heat in enumerate(data["heats"])],
        settings=[(i, sweep["setting"].replace(".", ": ")) for i, sweep in enumerate(data["sweeps"])],
        slowest=float(study.timing["nanoseconds_per_round"].max()),
        statistics=STATISTICS,
        **_grids(study, all_panels),
        manifest=manifest,
        command=_command(manifest),
        methods=_methods(manifest),
        experiment=_experiment(study),
    )


@cache
def templates() -> jinja2.Environment:
    """The templates of this package; what they print is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": format_number,
        "fixed": format_fixed,
        "twice": lambda name: (name, name),
    }
    environment.tests["known"] = pd.notna
    environment.globals |= {"color": PAGE_THEME.color, "dash": dash, "marker": marker}
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    return environment


@cache
def _vega_bundle() -> Markup:
    """Vega, Vega-Lite and Vega-Embed in one script."""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=charts.VEGA_LITE)
    return Markup(script.replace("</script", "<\\/script"))  # a script element ends there, wherever it stands


def _colors(policies: Sequence[str], *, dark: bool) -> dict[str, Any]:
    """The colors of a page in the light, or in the dark."""
    ratios = [(color, ink_on(color)) for color in ratio_colors(dark=dark)]
    return {"policies": policies, "ratios": ratios, "shades": shade_colors(dark=dark)}


def _asset(name: str) -> Markup:
    return Markup(files(__name__).joinpath("assets", name).read_text(encoding="utf-8"))


# --- tables -----------------------------------------------------------------------------------------------


class Heading(NamedTuple):
    """The name of a row or column, and a note in small letters."""

    name: str
    note: str = ""


class Grid(NamedTuple):
    """A table with headings on both sides; None where there is nothing. The template draws the cells."""

    caption: str
    corner: str
    columns: list[Heading]
    rows: list[tuple[Heading, list[Any]]]


def grid(
    caption: str,
    policies: Sequence[str],
    worlds: Sequence[Heading],
    cells: Mapping[tuple[str, str], Any],
    before: Mapping[Heading, Mapping[str, Any]] | None = None,
    after: Mapping[Heading, Mapping[str, Any]] | None = None,
) -> Grid:
    """Policies × worlds, with further columns per policy before and after them; worlds in rows where there
    are many of them."""
    table = [(name, [column.get(p) for p in policies]) for name, column in (before or {}).items()]
    table += [(world, [cells.get((p, world.name)) for p in policies]) for world in worlds]
    table += [(name, [column.get(p) for p in policies]) for name, column in (after or {}).items()]
    if len(worlds) > MOST_COLUMNS and len(worlds) > len(policies):
        return Grid(caption, "world", [Heading(p) for p in policies], table)
    rows = [(Heading(p), [column[i] for _, column in table]) for i, p in enumerate(policies)]
    return Grid(caption, "policy", [heading for heading, _ in table], rows)


def score_grid(card: Scorecard) -> Grid:
    """The scorecard, with what its numbers are in the caption."""
    kinds = [kind for kind in SCORE_MEANINGS if kind in card.kinds.values()]
    meanings = "; ".join(f"{kind} {SCORE_MEANINGS[kind]}" for kind in kinds)
    caption = (
        f"Scores after {card.rounds}, and below them the mean regret R: lower is better, {RATIO_STEPS[0][1]} "
        f"marks the best of a world. The score {meanings}. Colors show the ratio to the best of the same "
        "world; “mean” is the geometric mean of these ratios, “worst” the largest, “by median” and “by "
        "trimmed” the geometric mean where medians and trimmed means stand in for means."
        f"{f' {NEGATIVE_NOTE}' if card.negative else ''}"
    )
    notes = {name: kind for name, kind in card.kinds.items() if len(kinds) > 1 and kind != GAPS_SCORE}
    worlds = [Heading(name, notes.get(name, "")) for name in card.environments]
    cells = {key: entry._asdict() | {"step": entry.step} for key, entry in card.entries.items()}
    totals = {
        Heading("mean", "geometric"): {
            p: {"total": x, "strong": True} for p, x in card.geometric_mean.items()
        },
        Heading("worst"): {p: {"total": x, "strong": False} for p, x in card.worst.items()},
    }
    robust = {
        Heading(f"by {name}", "geometric"): {p: {"total": x, "strong": False} for p, x in column.items()}
        for name, column in card.robust.items()
    }
    return grid(caption, card.policies, worlds, cells, totals, robust)


def _grids(study: Study, all_panels: Sequence[Panel]) -> dict[str, Grid | None]:
    """The tables of growth, numbers and time."""
    titles = {(panel.environment, panel.horizon): panel.title for panel in all_panels}
    worlds = [Heading(title) for title in titles.values()]
    captions = {
        "growth": "How late regret grows with the round t: the law that fits best, and the fitted power of t "
        "with its 95% interval.",
        "tails": "Final regret, with 95% intervals. Marked: one replication makes the mean; "
        "study.replay(cell, number) plays it again.",
        "timing": "Time per round in nanoseconds: kernels only, after compilation, averaged over the "
        "replications.",
    }
    grids: dict[str, Grid | None] = {}
    bands = study.summary[["cell", "low", "high"]]
    for name, caption in captions.items():
        frame = getattr(study, name)
        rows = (frame.merge(bands, on="cell") if name == "tails" else frame).to_dict("records")
        cells = {(row["policy"], titles[row["environment"], row["horizon"]]): row for row in rows}
        grids[name] = grid(caption, study.policies, worlds, cells)
    scaling = study.scaling
    cells = {(row["policy"], row["environment"]): row for row in scaling.to_dict("records")}
    environments = [Heading(name) for name in dict.fromkeys(scaling["environment"])]
    caption = "How final regret grows with the horizon T, from horizon to horizon."
    grids["scaling"] = grid(caption, study.policies, environments, cells) if cells else None
    return grids


def _frame_grid(caption: str, frame: pd.DataFrame) -> Grid:
    """Any frame: its first column names the rows."""
    corner, *columns = (str(column) for column in frame.columns)
    rows = [(Heading(str(row[0])), list(row[1:])) for row in frame.itertuples(index=False)]
    return Grid(caption, corner, [Heading(name) for name in columns], rows)


# --- what stands around them ------------------------------------------------------------------------------


def _contents(study: Study, data: dict[str, Any], extras: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Sections that this study has: anchor → name."""
    names = {"regret": "Regret", "finding": "Finding"}
    names |= {"sweeps": "Sweeps"} if data["sweeps"] else {}
    names |= {"final": "Final regret"}
    names |= {"arms": "Arms"} if data["probabilities"] else {}
    names |= {extra["id"]: extra["title"] for extra in extras}
    names |= {"growth": "Growth"} | ({"pairs": "Pairs"} if len(study.pairs) else {})
    return names | {"numbers": "Numbers", "time": "Time", "methods": "Methods"}


def _overview(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The choice of all worlds at once, unless they are too many."""
    shown = data["overview"]
    if not shown:
        return []
    return [("all", f"all {len(shown)}" if len(shown) > 1 else data["panels"][shown[0]]["title"])]


def _facts(study: Study) -> list[tuple[int, str]]:
    manifest, cells = study.manifest, study.cells
    facts = [
        (len(manifest["policies"]), "policy"),
        (len(manifest["environments"]), "world"),
        (int(cells["horizon"].max()), "round"),
        (manifest["replications"], "replication"),
    ]
    played = int((cells["horizon"] * manifest["replications"]).sum())
    return [(n, plural(n, noun)) for n, noun in facts] + [
        (played, f"{plural(played, 'round')} played in all")
    ]


def _notice(study: Study) -> str:
    if study.complete:
        return ""
    cells = study.cells
    empty = int((cells["replications"] == 0).sum())
    return (
        f"This study is not complete. The store has {study.status}; "
        f"{some_are(empty, len(cells), 'cell')} without a result yet. The finding may change."
    )


def _extras(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Sections that were handed in; their charts are numbered through."""
    numbers = count()
    return [
        {
            "id": f"extra-{i}",
            "title": section.title,
            "paragraphs": [text.strip() for text in section.text.split("\n\n") if text.strip()],
            "legend": section.legend,
            "charts": [(next(numbers), caption) for caption, _ in section.charts],
            "tables": [_frame_grid(caption, frame) for caption, frame in section.tables],
        }
        for i, section in enumerate(sections)
    ]


def _extra_spec(chart: Any) -> dict[str, Any]:
    """A chart that was handed in, as Vega, as wide as its place on the page if it is a single view."""
    spec: dict[str, Any] = dict(chart) if isinstance(chart, dict) else chart.to_dict()
    if not {"hconcat", "vconcat", "concat", "facet", "repeat"} & set(spec):
        spec["width"] = "container"
    return vl_convert.vegalite_to_vega(spec, vl_version=charts.VEGA_LITE, config=charts.vega_config())


def _command(manifest: dict[str, Any]) -> str:
    """The command of the last run."""
    last = manifest["runs"][-1] if manifest["runs"] else {}
    return shlex.join(map(str, last.get("command") or [])) or MISSING


def _methods(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """How to get these numbers again."""
    runs: list[dict[str, Any]] = manifest["runs"]
    last = runs[-1] if runs else {}
    versions = [f"bothworlds {manifest['version']}", f"Python {last.get('python', MISSING)}"]
    versions += [f"{name} {version}" for name, version in (last.get("packages") or {}).items()]
    machines = dict.fromkeys(f"{run.get('cpu') or MISSING}, {_cores(run)}" for run in runs)
    horizons = sorted({int(cell["horizon"]) for cell in manifest["cells"]})
    known = "known" if manifest.get("tell_horizon", True) else "unknown"
    return [
        ("Seed", str(manifest["seed"])),
        ("Replications", f"{manifest['replications']:,}, the same random numbers for every policy"),
        ("Horizon", f"{', '.join(f'{h:,}' for h in horizons)}, {known} to the policies"),
        ("Versions", ", ".join(versions)),
        ("Commit", str(last.get("commit") or MISSING)),
        ("CPU", "; ".join(machines) or MISSING),
        ("Runs", "; ".join(map(_run_in_words, runs)) or MISSING),
        ("Fingerprint", str(manifest["fingerprint"])),
    ]


def _cores(run: dict[str, Any]) -> str:
    return counted(int(run["cores"]), "core") if run.get("cores") else MISSING


def _run_in_words(run: dict[str, Any]) -> str:
    end = "not finished" if run.get("finished") is None else f"{run['seconds']:.1f} s"
    started, executor, jobs = (run.get(key, MISSING) for key in ("started", "executor", "jobs"))
    return f"{started}, {executor} × {jobs}, {end}"


def _experiment(study: Study) -> str | None:
    file = study.path / "experiment.toml"
    return file.read_text(encoding="utf-8") if file.exists() else None


# --- what the script draws: each number once, in columns, of four digits, within a budget -----------------


def points_each(budget: int, among: int, least: int, most: int) -> int:
    """How many points each of ``among`` curves may have.

    >>> points_each(48_000, 48, 24, 120), points_each(48_000, 1000, 24, 120)
    (120, 48)
    """
    return max(least, min(most, budget // max(1, among)))


def four_digits(value: Any) -> Any:
    """Four significant digits; None for what JSON cannot say; integers and text as they are."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        rounded = float(f"{value:.4g}")
        return int(rounded) if rounded.is_integer() else rounded
    return value


def packed(rows: Sequence[ChartRow], names: dict[str, int]) -> dict[str, list[Any]]:
    """Rows as columns; policies by their number in ``names``."""
    keys = list(rows[0]) if rows else []
    columns: dict[str, list[Any]] = {key: [four_digits(row[key]) for row in rows] for key in keys}
    for key in ("policy", "reference"):
        if key in columns:
            columns[key] = [names[value] for value in columns[key]]
    return columns


def page_data(study: Study, bounds: pd.DataFrame | None = None) -> dict[str, Any]:
    """Everything that the script of the page draws."""
    here, policies = panels(study.cells), study.policies
    names = {policy: i for i, policy in enumerate(policies)}
    n_cells = len(study.cells)
    curves, final = by_cell(study.curves), by_cell(study.final)
    points = points_each(CURVE_POINTS, n_cells, 24, 120)
    dots = points_each(FINAL_POINTS, n_cells, 16, 100)
    swept = find_sweeps(study.summary, study.manifest)
    order = [names[str(policy)] for policy in study.ranking["policy"]]
    overview = [panel.number for panel in here if panel.largest and curves.keys() & panel.cells.values()]
    return {
        "policies": policies,
        "short": short_labels(policies, charts.LONGEST_NAME),
        "swept": swept_values(study),
        "color": telling_setting(study, policies)[0] or "policy",
        "styles": [[PAGE_THEME.color(i), dash(i), marker(i)] for i in range(N_STYLES)],
        "shown": order[:MOST_POLICIES] if len(policies) > MOST_POLICIES else list(range(len(policies))),
        "order": order,
        "best": MOST_POLICIES,
        "panels": [
            {"title": p.title, "environment": p.environment, "horizon": p.horizon, "arms": _n_arms(study, p)}
            for p in here
        ],
        "overview": overview if len(overview) <= MOST_PANELS else [],
        "curves": [packed(curve_rows(curves, p, policies, points=points), names) for p in here],
        "finals": [packed(final_rows(final, p, points=dots), names) for p in here],
        "bounds": [packed(bound_rows(bounds, p), names) for p in here],
        "pairs": _pairs(study, here, names),
        "probabilities": _probabilities(study, here, names),
        "sweeps": [_sweep(sweep) for sweep in swept],
        "heats": _heats(study, here),
        "specs": _specs(policies, bounds is not None, swept),
        "config": charts.vega_config(),
        "steps": {"finals": charts.FINALS_STEP, "pairs": charts.PAIRS_STEP},
    }


def _specs(policies: Sequence[str], bounds: bool, swept: Sequence[Sweep]) -> dict[str, Any]:
    """The charts without their data, on linear scales; the script of the page sets scales and domains."""

    def plain(chart: Any) -> dict[str, Any]:
        spec: dict[str, Any] = chart.to_dict()
        spec.pop("config", None)
        return spec

    specs = {
        "curves": charts.curves_chart(policies, bounds=bounds),
        "finals": charts.finals_chart(policies),
        "tails": charts.tails_chart(policies),
        "probabilities": charts.probabilities_chart(),
        "pairs": charts.pairs_chart(policies),
    }
    if swept:
        specs["heat"] = charts.heat_chart()
        specs["sweeps"] = charts.sweep_chart()
    return {name: plain(chart) for name, chart in specs.items()}


def _n_arms(study: Study, panel: Panel) -> int:
    return int(study.manifest["cells"][next(iter(panel.cells.values()))]["n_arms"])


def swept_values(study: Study) -> dict[str, list[float | None]]:
    """The swept numbers of the policies: setting → its value for every policy, None where it has none."""
    entries = study.manifest["policies"]
    names = dict.fromkeys(name for entry in entries for name in entry["swept"])
    columns = {
        name: [
            float(v) if isinstance(v := entry["swept"].get(name), (int, float)) else None for entry in entries
        ]
        for name in names
    }
    return {name: column for name, column in columns.items() if len({*column} - {None}) > 1}


def _heats(study: Study, panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Final regret by the first two swept settings, of worlds with results; none where fewer are swept."""
    found = []
    legend = choose_policies(study, None, None, None)
    last = len(RATIO_STEPS) - 1
    for panel in panels:
        try:
            grid = heat(study, panel, legend)
        except InvalidArgumentError:
            continue
        shades = [[None if math.isnan(s) else round(last * s) for s in line] for line in grid.shades.tolist()]
        found.append(
            {"title": panel.title, "x": grid.x_label, "y": grid.y_label, "columns": grid.columns}
            | {"rows": grid.rows, "shades": shades}
            | {"values": [[four_digits(value) for value in line] for line in grid.values.tolist()]}
        )
    return found


def _pairs(study: Study, panels: Sequence[Panel], names: dict[str, int]) -> list[dict[str, list[Any]]]:
    """Every pair in both directions; only those with the best of their world when there are too many."""
    pairs, means = study.pairs, study.summary.set_index("cell")["mean"].to_dict()
    worlds = by_world(pairs)
    found = []
    for panel in panels:
        rows: list[ChartRow] = []
        if (panel.environment, panel.horizon) in worlds:
            best = None
            if 2 * len(pairs) > PAIR_ROWS:
                best = min(panel.cells, key=lambda policy: means.get(panel.cells[policy], math.inf))
            rows = pair_rows(worlds[panel.environment, panel.horizon], reference=best)
        found.append(packed(rows, names))
    return found


def _probabilities(study: Study, panels: Sequence[Panel], names: dict[str, int]) -> dict[str, Any]:
    """For each run: rounds, arms, and a row of thousandths per arm. Keyed "panel-policy"."""
    n_cells = len(study.cells)
    most = 8
    points = points_each(PROBABILITY_NUMBERS // most, n_cells, 16, 60)
    cells = {cell["cell"]: cell for cell in study.manifest["cells"]}
    played = set(study.summary["cell"])
    found: dict[str, Any] = {}
    for panel in panels:
        for policy, number in panel.cells.items():
            frame = study.probabilities(number) if number in played else None
            if frame is None or frame.empty:
                continue
            cell = cells[number]
            rows = probability_rows(
                frame, gaps=cell.get("gaps"), optimal=cell.get("optimal"), most=most, points=points
            )
            arms = list(dict.fromkeys(row["arm"] for row in rows))
            rounds = [row["round"] for row in rows if row["order"] == 0]
            shares = [[round(1000 * row["p"]) for row in rows if row["arm"] == arm] for arm in arms]
            found[f"{panel.number}-{names[policy]}"] = {
                "rounds": rounds,
                "arms": arms,
                "colors": charts.arm_colors(arms),
                "p": shares,
            }
    return found


def _sweep(sweep: Sweep) -> dict[str, Any]:
    """The rows of a sweep by view, with the style of each series."""
    series = sweep.series()
    index = {name: i for i, name in enumerate(series)}
    views = [
        {
            "title": view,
            "rows": {
                key: [
                    index[row[key]] if key == "series" else four_digits(row[key])
                    for row in sweep.rows
                    if row["view"] == view
                ]
                for key in ("series", "value", "mean", "low", "high")
            },
        }
        for view in sweep.views()
    ]
    return {
        "setting": sweep.setting,
        "symbol": symbol(sweep.setting),
        "scale": sweep.scale(),
        "series": series,
        "views": views,
    }
