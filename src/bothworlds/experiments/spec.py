"""Reading experiment files: every mistake is found in one go, and told with its place.

>>> from bothworlds.errors import SpecError
>>> from bothworlds.experiments.spec import parse
>>> text = '''
... horizon = 1000
... replications = 8
... [[policy]]
... kind = "tsallis-inf"
... estimater = "rv"
... [[environment]]
... kind = "bernoulli"
... n_arms = 4
... gap = [0.1, 1.5]
... '''
>>> try:
...     parse(text, source="study.toml")
... except SpecError as error:
...     print(error)
study.toml has 2 mistakes:
  line 6, policy[0].estimater: unknown key 'estimater'; did you mean 'estimator'? tsallis-inf takes: estimator
  line 10, environment[0].gap[1]: gap must be a finite number above 0 and at most 1, got 1.5
"""

from __future__ import annotations

import itertools
import tomllib
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from bothworlds.errors import Mistake, SpecError
from bothworlds.experiments.entries import Made, check_fit, make_entries, try_settings
from bothworlds.experiments.experiment import Cell, Entry, Experiment
from bothworlds.experiments.mistakes import Report, malformed, without_mistakes
from bothworlds.experiments.models import RECORDS, Head, models
from bothworlds.experiments.modules import GROUPS, PREFIX, Module, load, load_plugins
from bothworlds.experiments.places import Places
from bothworlds.experiments.size import Table, check_size
from bothworlds.experiments.unfold import unfold

FAMILIES: tuple[Literal["policy", "environment"], ...] = ("policy", "environment")

__all__ = ["Cell", "Entry", "Experiment", "Module", "parse", "read"]


def read(path: str | PathLike[str]) -> Experiment:
    """The experiment that a file describes; :class:`~bothworlds.errors.SpecError` tells all its mistakes."""
    file = Path(path)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SpecError(
            str(path), [Mistake(None, "", f"it cannot be read: {error.strerror or error}")]
        ) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SpecError(
            str(path), [Mistake(line, "", "not valid TOML: it must be encoded in UTF-8")]
        ) from error
    return parse(text, source=str(path), folder=file.parent)


def parse(text: str, source: str = "the experiment", folder: str | PathLike[str] = ".") -> Experiment:
    """The experiment that a text describes; ``folder`` is what paths in it are relative to."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise malformed(source, text, error) from error
    report = Report(source, text, document)
    places = Places.of(Path(folder))
    modules = _modules(report, document.get("modules"), places)
    load_plugins()
    head = _head(report, document)
    unsound: dict[str, list[Table]] = {family: [] for family in FAMILIES}
    tables: dict[str, list[Table]] = {
        family: _tables(report, family, document.get(family), unsound[family]) for family in FAMILIES
    }
    horizons = head.get("horizon", [])
    made: dict[str, list[Made]] = {}
    if check_size(report, tables, horizons, head):
        made = {family: make_entries(report, family, tables[family], places) for family in FAMILIES}
        for family in FAMILIES:
            try_settings(report, family, unsound[family])
        check_fit(report, made, horizons, tell_horizon=head.get("tell_horizon", True))
    report.close()
    rounds = head.get("checkpoints")
    return Experiment(
        title=head.get("title") or Path(source).stem,
        description=head.get("description", ""),
        horizons=tuple(horizons),
        replications=head["replications"],
        seed=head.get("seed", 0),
        checkpoints=tuple(rounds) if isinstance(rounds, list) else rounds,
        record=tuple(name for name in RECORDS if name == "regret" or name in head.get("record", RECORDS)),
        tell_horizon=head.get("tell_horizon", True),
        policies=tuple(item.entry for item in made["policy"]),
        environments=tuple(item.entry for item in made["environment"]),
        modules=tuple(modules),
        text=text,
        packages=_packages(made),
        folder=str(places.original),
    )


def _modules(report: Report, names: Any, places: Places) -> list[Module]:
    """Read and load the Python files that the experiment names."""
    found: list[Module] = []
    if not isinstance(names, list):
        return found  # nothing, or a mistake that the model reports
    for number, name in enumerate(names):
        if not isinstance(name, str):
            continue
        place = ("modules", number)
        try:
            module = Module(Path(name).stem, places.module(name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            said = "; ".join(
                filter(None, (getattr(error, "strerror", None) or str(error), places.missed(name)))
            )
            report.add(place, f"modules must name Python files, relative to this one, got {name!r}: {said}")
            continue
        if any(module.name == other.name for other in found):
            report.add(place, f"modules must have distinct names, got {module.name!r} twice: rename a file")
            continue
        found.append(module)
        try:
            load(module)
        except Exception as error:  # whatever a user's file raises
            report.add(place, f"{name} cannot be loaded: {_told(error, name)}")
    return found


def _told(error: Exception, name: str) -> str:
    """An error of a user's module with the line of the file that it comes from."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).name.startswith(f"{PREFIX}{Path(name).stem}_"):
            line = trace.tb_lineno
        trace = trace.tb_next
    said = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
    hint = ""
    if isinstance(error, ModuleNotFoundError):
        hint = "; a module of a study must stand alone: it may import installed packages only"
    return (said if line is None else f"{said} (line {line})") + hint


def _head(report: Report, document: dict[str, Any]) -> dict[str, Any]:
    """The settings at the top of the file; those with mistakes are reported and left out."""
    bad: set[Any] = set()
    try:
        Head.model_validate(document)
    except ValidationError as invalid:
        errors = invalid.errors(include_url=False)
        report.add_invalid((), document, None, errors)
        bad = {error["loc"][0] for error in errors}
    head = {key: value for key, value in document.items() if key in Head.model_fields and key not in bad}
    if "horizon" in head:
        head["horizon"] = head["horizon"] if isinstance(head["horizon"], list) else [head["horizon"]]
        for number, horizon in enumerate(head["horizon"]):
            if horizon in head["horizon"][:number]:
                report.add(("horizon", number), f"horizon must hold distinct numbers, got {horizon} twice")
    rounds = head.get("checkpoints")
    if isinstance(rounds, list):
        if any(later <= earlier for earlier, later in itertools.pairwise(rounds)):
            report.add(("checkpoints",), f"checkpoints must be increasing rounds, got {rounds}")
        longest = max(head.get("horizon", rounds))
        if max(rounds) > longest:
            fix = f"checkpoints must be rounds up to the longest horizon, {longest}, got {max(rounds)}"
            report.add(("checkpoints", rounds.index(max(rounds))), fix)
    return head


def _tables(
    report: Report, family: Literal["policy", "environment"], found: Any, unsound: list[Table]
) -> list[Table]:
    """The tables of a family, parts unfolded; what is left of those with mistakes goes to ``unsound``."""
    good: list[Table] = []
    adapter = models().adapters[family]
    for number, table in enumerate(found if isinstance(found, list) else []):
        if not isinstance(table, dict):
            continue  # the model of the head reports it
        unfolded = unfold(table, family)
        try:
            model = adapter.validate_python(unfolded)
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False)
            report.add_invalid((family, number), unfolded, family, errors)
            rest = without_mistakes(unfolded, family, errors)
            if rest is not None:
                unsound.append((number, rest))
        else:
            good.append((number, model.model_dump(exclude_unset=True, by_alias=True)))
    return good


def _packages(made: dict[str, list[Made]]) -> dict[str, str]:
    """The installed packages that the kinds of this study come from."""
    groups = dict(zip(FAMILIES, GROUPS, strict=True))
    known = load_plugins().packages
    used = {(groups[item.entry.family], item.entry.kind) for items in made.values() for item in items}
    return dict(sorted(known[key] for key in used & known.keys()))
