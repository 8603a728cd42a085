"""``bothworlds``: parse, call, print."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bothworlds import _version, environments, policies
from bothworlds._value import settings
from bothworlds._words import counted, duration
from bothworlds.errors import BothworldsError, InvalidArgumentError
from bothworlds.service import cli as service

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bothworlds.experiments.experiment import Experiment
    from bothworlds.report.study import Study

app = typer.Typer(
    name="bothworlds",
    help="Multi-armed bandits that need not know whether the world is stochastic or adversarial.",
    epilog="Start with: bothworlds new, then bothworlds run experiment.toml",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
out = Console()
err = Console(stderr=True)

File = Annotated[Path, typer.Argument(help="The experiment file (TOML).", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="Replace a setting of the file: policy.0.beta=0.4; may be repeated."),
]
Seed = Annotated[int | None, typer.Option("--seed", help="In place of the seed of the file.")]
Replications = Annotated[
    int | None, typer.Option("--replications", help="In place of the replications of the file.")
]
Figures = Annotated[
    bool, typer.Option("--figures", help="Also write every chart as SVG, PDF and PNG, for a paper.")
]
Taken = Annotated[
    bool,
    typer.Option("--account", help="Also take a run of each FTRL policy apart: where did the regret go?"),
]

Siunitx = Annotated[
    bool, typer.Option("--siunitx", help="LaTeX tables with columns of siunitx, aligned at the point.")
]


def _version_asked(asked: bool) -> None:
    if asked:
        out.print(f"bothworlds {_version.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version_asked, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


# --- studies --------------------------------------------------------------------------------------------


@app.command()
def new(
    file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("experiment.toml"),
) -> None:
    """Write a commented experiment file to start from."""
    from bothworlds.experiments.spec import starter_text

    try:
        with file.open("x", encoding="utf-8") as stream:  # never over a file that is there
            stream.write(starter_text(name=file.name, folder=file.stem))
    except FileExistsError:
        raise InvalidArgumentError(
            "FILE", file, "a file that does not exist yet", got=str(file), fix="choose another name"
        ) from None
    except OSError as error:
        raise InvalidArgumentError("FILE", file, "writable", got=f"{file}: {error.strerror}") from None
    _say(f"Wrote {file}. Next: bothworlds run {shlex.quote(str(file))}")


@app.command()
def check(
    file: File, settings: Overrides = None, seed: Seed = None, replications: Replications = None
) -> None:
    """Read an experiment file, report every mistake, and say what it would run."""
    from bothworlds.experiments.plan import nominal_costs

    experiment = _read(file, settings, seed, replications)
    cells = experiment.cells()
    table = Table("environment", "horizon", "policies", box=None, header_style="bold")
    for environment in range(len(experiment.environments)):
        label = escape(experiment.environments[environment].label)
        for horizon in experiment.horizons:
            here = [c for c in cells if c.environment == environment and c.horizon == horizon]
            table.add_row(label, f"{horizon:,}", str(len(here)))
    out.print(table)
    many = f"{counted(len(cells), 'cell')} × {counted(experiment.replications, 'replication')}"
    worlds = [entry.build() for entry in experiment.environments]
    seconds = sum(nominal_costs(experiment, worlds)) * experiment.replications
    _say(f"{experiment.title}: {many}, about {duration(seconds)} of one processor core")


@app.command()
def run(
    file: File,
    folder: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder of the study; the name of the file, if not given."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Workers on this machine; one per core.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a dask scheduler, such as tcp://host:8786.")
    ] = None,
    settings: Overrides = None,
    seed: Seed = None,
    replications: Replications = None,
    report: Annotated[bool, typer.Option(help="Write tables and the report at the end.")] = True,
    figures: Figures = False,
    account: Taken = False,
    siunitx: Siunitx = False,
) -> None:
    """Run a study, or the rest of it, and show what came out.

    Stopped in any way, it goes on where it was when run again with the same folder, and ends with the same
    bits.
    """
    from bothworlds.experiments.run import run_study

    if jobs is not None and cluster is not None:
        raise InvalidArgumentError(
            "--jobs",
            jobs,
            "left out with --cluster",
            fix="--jobs is for this machine and --cluster for another",
        )
    if cluster is not None and "://" not in cluster:
        raise InvalidArgumentError(
            "--cluster",
            cluster,
            "the address of a dask scheduler such as tcp://host:8786",
            fix="`dask scheduler` prints it, and without --cluster the study is run on this machine",
        )
    experiment = _read(file, settings, seed, replications)
    folder = folder or Path(file.stem)
    command = ["bothworlds", *sys.argv[1:]]
    run_study(experiment, folder, jobs=jobs, executor=cluster, command=command)
    _show(folder, report, figures, account, siunitx)


def _read(file: Path, settings: list[str] | None, seed: int | None, replications: int | None) -> Experiment:
    from bothworlds.experiments.spec import parse_setting, read

    overrides = dict(map(parse_setting, settings or ()))
    overrides |= {} if seed is None else {"seed": seed}
    overrides |= {} if replications is None else {"replications": replications}
    return read(file, overrides=overrides)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a study.")],
    second: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of another one.")],
) -> None:
    """Compare two studies: the same policies in the same worlds, before and after a change."""
    from bothworlds.report.study import Study
    from bothworlds.report.text import comparison_table
    from bothworlds.report.text.formats import as_rich

    out.print(as_rich(comparison_table(Study.load(first), Study.load(second))))


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="The folder of a study, finished or not.")],
    figures: Figures = False,
    account: Taken = False,
    siunitx: Siunitx = False,
) -> None:
    """Write tables and the report of a study again, and show its scorecard."""
    _show(folder, True, figures, account, siunitx)


def _show(folder: Path, report: bool, figures: bool, account: bool, siunitx: bool) -> None:
    from bothworlds.report.study import Study

    study = Study.load(folder)
    out.print(study.rich())
    if study.has_evidence:
        out.print(study.rich("evidence"))
    if report:
        _write(study, folder, figures, account, siunitx)


def _write(study: Study, folder: Path, figures: bool, account: bool, siunitx: bool) -> None:
    from bothworlds.report.numbers import upper_bounds
    from bothworlds.report.page import write_report
    from bothworlds.report.page.sections import evidence_section, regret_section

    with err.status("Writing tables and report …"):
        study.write_tables(folder / "tables", siunitx=siunitx)
        proved = upper_bounds(study)
        sections = (evidence_section(study), regret_section(study) if account else None)
        extra = [section for section in sections if section]
        page = write_report(study, folder / "report.html", bounds=proved, sections=extra)
    _say(f"Tables: {folder / 'tables'}\nReport: {page}")
    if figures:
        from bothworlds.report.figures.figure import write_figures

        with err.status("Drawing figures …"):
            write_figures(study, folder / "figures")
        _say(f"Figures: {folder / 'figures'}")


@app.command("figures")
def figures_command(
    folder: Annotated[Path, typer.Argument(help="The folder of a study, finished or not.")],
    panel: Annotated[
        list[str] | None,
        typer.Option(
            "--panel",
            "-p",
            help="KIND or KIND:ENVIRONMENT, such as regret:1 or 'survival:iid'; repeated, panels of one "
            "figure. Without it: every chart of the study, a file each.",
        ),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file (or the folder, without --panel).")
    ] = None,
    width: Annotated[str, typer.Option(help="Such as 3.25in, 8.5cm, 246pt.")] = "3.25in",
    height: Annotated[str | None, typer.Option(help="By default what the panels need.")] = None,
    font: Annotated[str, typer.Option(help="sans, serif, or the name of an installed font.")] = "sans",
    form: Annotated[
        list[str] | None, typer.Option("--format", "-f", help="pdf, svg, png or pgf; may be repeated.")
    ] = None,
    columns: Annotated[int | None, typer.Option(min=1, help="Panels beside each other.")] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", help="The label of a policy to show; may be repeated.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A template of labels: 'β={beta}, C={log_barrier}'.")
    ] = None,
    color: Annotated[
        str | None, typer.Option(help="The swept setting that colors lines, or 'policy'.")
    ] = None,
    names: Annotated[str, typer.Option(help="Where lines are named: auto, ends, legend, none.")] = "auto",
    x: Annotated[str | None, typer.Option(help="linear or log.")] = None,
    y: Annotated[str | None, typer.Option(help="linear, log, per-log (R/log t), per-root (R/√(Kt)).")] = None,
    replications: Annotated[
        int | None, typer.Option(min=1, help="Of a decomposition, which plays them again; all, without it.")
    ] = None,
    bounds: Annotated[bool, typer.Option("--bounds", help="Draw bounds of theory beside regret.")] = False,
    equal: Annotated[bool, typer.Option("--equal", help="The same limits for panels of a kind.")] = False,
    titles: Annotated[bool, typer.Option("--titles", help="Name the world above each panel.")] = False,
) -> None:
    """Draw figures for a paper: panels in one figure, at the width of a column, without titles.

    Prints what each panel shows, for the caption; beside a decomposition stands its LaTeX table.
    """
    from bothworlds.report.figures.figure import FORMATS, draw_figures, write_figures
    from bothworlds.report.study import Study

    study = Study.load(folder)
    looks = {"width": width, "height": height, "font": font, "names": names, "titles": titles}
    ending = target.suffix[1:] if target is not None and panel else ""
    if form and ending in FORMATS and ending not in form:
        raise InvalidArgumentError(
            "--format", form[0], f"{ending}, as the name says that --out gives", fix="leave one of them out"
        )
    formats = form or [target.suffix[1:] if target is not None and target.suffix else "pdf"]
    if not panel:
        with err.status("Drawing figures …"):
            written = write_figures(study, target or folder / "figures", formats=formats, **looks)
        _say(f"Figures: {written[0].parent}, {counted(len(written), 'file')}")
        return
    chosen = {"policies": policy, "label": label, "color": color}
    options = {"x": x, "y": y, "bounds": bounds or None, "replications": replications}
    files, caption = draw_figures(
        study,
        panel,
        target or folder / "figures" / "figure",
        formats=formats,
        chosen=chosen,
        options={name: value for name, value in options.items() if value is not None},
        columns=columns,
        equal=equal,
        **looks,
    )
    _say("\n".join(map(str, files)))
    _say(caption)


@app.command()
def warmup(
    file: Annotated[
        Path | None, typer.Argument(help="A study; without it, all policies in a Bernoulli world.")
    ] = None,
) -> None:
    """Compile kernels ahead of their first use, and keep them on disk (minutes, once)."""
    if file is not None:
        from bothworlds.experiments.run.kernels import precompile
        from bothworlds.experiments.spec import read
        from bothworlds.experiments.store.provenance import cores

        experiment = read(file)
        kernels = precompile(experiment, experiment.cells(), max(2, cores()), _say, few=0)
        _say(f"compiled: {kernels}" if kernels else "the kernels of this study are in the cache")
        return
    from bothworlds.warmup import fill_cache

    seconds = fill_cache()
    _say(f"{len(seconds)} kernels are in the cache; that took {duration(sum(seconds.values()))}")


@app.command()
def schema() -> None:
    """Print the JSON schema of experiment files, for editors."""
    from bothworlds.experiments.spec import json_schema

    print(json.dumps(json_schema(), indent=2))


# --- logs -----------------------------------------------------------------------------------------------


@app.command()
def evaluate(
    log: Annotated[Path, typer.Argument(help="Decisions: Parquet, CSV or JSON lines.", show_default=False)],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            help="An arm, 'green=0.9,red=0.1', 'uniform' or 'logged'; may be repeated. "
            "Without it: the logger, and every arm.",
        ),
    ] = None,
    error: Annotated[float, typer.Option(help="How often an interval may ever be wrong.")] = 0.05,
    low: Annotated[float, typer.Option(help="The smallest reward there can be.")] = 0.0,
    high: Annotated[float, typer.Option(help="The largest.")] = 1.0,
    missing: Annotated[
        str | None, typer.Option(help="Rows without reward: 'outstanding' or 'ignorable'.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Also draw the intervals: .html, .svg, .png or .pdf.")
    ] = None,
) -> None:
    """What would other policies have earned on the decisions of a log?

    Its columns are action, reward and propensity; with propensity_ARM for every arm there is an estimate for
    papers, too.
    """
    from bothworlds.inference import printing
    from bothworlds.inference.evaluation import evaluate_several

    found = evaluate_several(
        log, printing.named_policies(log, policy or ()), error=error, low=low, high=high, missing=missing
    )
    out.print(printing.rich_evaluation_table(found))
    first = next(iter(found.values()))
    _say(f"{counted(first.decisions, 'decision')}; {first.audit}")
    if chart is not None:
        printing.evaluation_chart(found, chart)
        _say(f"Chart: {chart}")
    if first.audit:
        raise typer.Exit(1)


# --- theory ---------------------------------------------------------------------------------------------


@app.command()
def verify(
    rounds: Annotated[int, typer.Option(min=2, help="The length of each game.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other games.")] = 0,
) -> None:
    """Check the paper's lemmas, one by one, on games from benign to hostile."""
    from bothworlds.theory import rich_lemma_table
    from bothworlds.theory import verify as check_lemmas

    rows = check_lemmas(rounds=rounds, seed=seed)
    out.print(rich_lemma_table(rows))
    if not all(row.holds for row in rows):
        raise typer.Exit(1)


# --- the service ----------------------------------------------------------------------------------------

app.command()(service.serve)
app.add_typer(service.app, name="service")

# --- what there is --------------------------------------------------------------------------------------


@app.command("policies")
def policies_command(
    name: Annotated[str | None, typer.Argument(help="One of them, in full.")] = None,
) -> None:
    """List the policies, or explain one."""
    _catalog("policy", policies.REGISTRY, name)


@app.command("environments")
def environments_command(
    name: Annotated[str | None, typer.Argument(help="One of them, in full.")] = None,
) -> None:
    """List the environments, or explain one."""
    _catalog("environment", environments.REGISTRY, name)


def _catalog(what: str, registry: Mapping[str, type[Any]], name: str | None) -> None:
    if name is not None:
        getter = policies.get if what == "policy" else environments.get
        cls: Any = getter(name)
        out.print(f"[bold]{name}[/bold]  {cls.__name__}{_signature(cls)}\n", highlight=False)
        out.print(inspect.cleandoc(cls.__doc__ or ""), markup=False, highlight=False, soft_wrap=True)
        return
    table = Table("kind", "what it is, and its settings", box=None, header_style="dim")
    table.columns[0].no_wrap = True
    for kind, cls in registry.items():
        first = escape(inspect.cleandoc(cls.__doc__ or "").partition("\n")[0])
        takes = ", ".join(field.name for field in settings(cls))
        table.add_row(f"[bold]{kind}[/bold]", f"{first}\n[dim]{takes}[/dim]" if takes else first)
    out.print(table)
    _say(f"More on one: bothworlds {'policies' if what == 'policy' else 'environments'} NAME")


def _signature(cls: type[Any]) -> str:
    shown = [f.name if f.default is MISSING else f"{f.name}={f.default!r}" for f in settings(cls)]
    return f"({', '.join(shown)})"


# --- the way in -----------------------------------------------------------------------------------------


def _say(text: str) -> None:
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line; mistakes are explained without a traceback."""
    try:
        app(prog_name="bothworlds")
    except BothworldsError as error:
        said = "\n".join([str(error), *getattr(error, "__notes__", [])])
        err.print(f"[bold red]error:[/bold red] {escape(said)}", highlight=False, soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
