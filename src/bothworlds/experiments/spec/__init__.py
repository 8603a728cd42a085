"""Experiment files: what they may hold, how they are read, and what is said of mistakes.

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
import math
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from bothworlds._words import byte_size, counted, duration
from bothworlds.errors import InvalidArgumentError, Mistake, SpecError
from bothworlds.experiments.experiment import CHECKPOINTS, EVIDENCE, Experiment
from bothworlds.experiments.modules import GROUPS, PREFIX, Module, load_module, load_plugins
from bothworlds.experiments.spec.entries import (
    LIMIT,
    BuiltEntry,
    FileFinder,
    Table,
    build_entries,
    check_combinations,
    try_settings,
)
from bothworlds.experiments.spec.mistakes import MistakeReport, not_toml, without_mistakes
from bothworlds.experiments.spec.schema import RECORDS, TopLevel, json_schema, models
from bothworlds.experiments.spec.variants import count_variants, nest_parts

__all__ = ["json_schema", "parse", "read", "starter_text"]

TABLES: tuple[Literal["policy", "environment"], ...] = ("policy", "environment")
POINTS = 10**9  # stored points: 40 GB
BYTES = 40.0  # a stored point, at most
SECONDS = 3e-7  # a round, about: ten arms, one core


def read(path: str | PathLike[str], *, overrides: Mapping[str, Any] | None = None) -> Experiment:
    """The experiment that a file describes; :class:`~bothworlds.errors.SpecError` tells all its mistakes.

    ``overrides`` replace settings of the file, as ``bothworlds run --set`` does:
    ``{"seed": 3, "policy.0.beta": 0.4}``. The experiment keeps the text with them in place.
    """
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
    return parse(text, source=str(path), folder=file.parent, overrides=overrides)


def parse(
    text: str,
    *,
    source: str = "the experiment",
    folder: str | PathLike[str] = ".",
    overrides: Mapping[str, Any] | None = None,
) -> Experiment:
    """The experiment that a text describes; ``folder`` is what paths in it are relative to."""
    written = text
    try:
        document = tomllib.loads(text)
        if overrides:
            text = override(text, overrides)
            document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise not_toml(source, text, error) from error
    report = MistakeReport(source, written, document, overrides)
    files = FileFinder.of(Path(folder))
    modules = _modules(report, document.get("modules"), files)
    load_plugins()
    head = _head(report, document)
    unsound: dict[str, list[Table]] = {family: [] for family in TABLES}
    tables: dict[str, list[Table]] = {
        family: _tables(report, family, document.get(family), unsound[family]) for family in TABLES
    }
    horizons = head.get("horizon", [])
    made: dict[str, list[BuiltEntry]] = {}
    if check_size(report, tables, horizons, head):
        made = {family: build_entries(report, family, tables[family], files) for family in TABLES}
        for family in TABLES:
            try_settings(report, family, unsound[family])
        check_combinations(
            report,
            made,
            horizons,
            tell_horizon=head.get("tell_horizon", True),
            evidence=head.get("evidence", False),
        )
    report.close()
    rounds = head.get("checkpoints")
    record = [name for name in RECORDS if name == "regret" or name in head.get("record", RECORDS)]
    return Experiment(
        title=head.get("title") or Path(source).stem,
        description=head.get("description", ""),
        horizons=tuple(horizons),
        replications=head["replications"],
        seed=head.get("seed", 0),
        checkpoints=tuple(rounds) if isinstance(rounds, list) else rounds,
        record=(*record, EVIDENCE) if head.get("evidence") else tuple(record),
        tell_horizon=head.get("tell_horizon", True),
        policies=tuple(item.entry for item in made["policy"]),
        environments=tuple(item.entry for item in made["environment"]),
        modules=tuple(modules),
        text=text,
        packages=_packages(made),
        folder=str(files.original),
    )


def _modules(report: MistakeReport, names: Any, files: FileFinder) -> list[Module]:
    """Read and load the Python files that the experiment names."""
    found: list[Module] = []
    if not isinstance(names, list):
        return found  # nothing, or a mistake that the model reports
    for number, name in enumerate(names):
        if not isinstance(name, str):
            continue
        location = ("modules", number)
        try:
            module = Module(Path(name).stem, files.module_file(name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            said = "; ".join(
                filter(None, (getattr(error, "strerror", None) or str(error), files.where_else(name)))
            )
            report.add(
                location, f"modules must name Python files, relative to this one, got {name!r}: {said}"
            )
            continue
        if any(module.name == other.name for other in found):
            report.add(
                location, f"modules must have distinct names, got {module.name!r} twice: rename a file"
            )
            continue
        found.append(module)
        try:
            load_module(module)
        except Exception as error:  # whatever a user's file raises
            report.add(location, f"{name} cannot be loaded: {_module_error(error, name)}")
    return found


def _module_error(error: Exception, name: str) -> str:
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


def _head(report: MistakeReport, document: dict[str, Any]) -> dict[str, Any]:
    """The settings at the top of the file; those with mistakes are reported and left out."""
    bad: set[Any] = set()
    try:
        TopLevel.model_validate(document)
    except ValidationError as invalid:
        errors = invalid.errors(include_url=False)
        report.add_invalid((), document, None, errors)
        bad = {error["loc"][0] for error in errors}
    head = {key: value for key, value in document.items() if key in TopLevel.model_fields and key not in bad}
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
    report: MistakeReport, family: Literal["policy", "environment"], found: Any, unsound: list[Table]
) -> list[Table]:
    """The tables of a family, parts nested; what is left of those with mistakes goes to ``unsound``."""
    good: list[Table] = []
    adapter = models().adapters[family]
    for number, table in enumerate(found if isinstance(found, list) else []):
        if not isinstance(table, dict):
            continue  # the model of the head reports it
        nested = nest_parts(table, family)
        try:
            model = adapter.validate_python(nested)
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False)
            report.add_invalid((family, number), nested, family, errors)
            rest = without_mistakes(nested, family, errors)
            if rest is not None:
                unsound.append((number, rest))
        else:
            good.append((number, model.model_dump(exclude_unset=True, by_alias=True)))
    return good


def _packages(made: dict[str, list[BuiltEntry]]) -> dict[str, str]:
    """The installed packages that the kinds of this study come from."""
    groups = dict(zip(TABLES, GROUPS, strict=True))
    known = load_plugins().packages
    used = {(groups[item.entry.family], item.entry.kind) for items in made.values() for item in items}
    return dict(sorted(known[key] for key in used & known.keys()))


def check_size(
    report: MistakeReport, tables: dict[str, list[Table]], horizons: Sequence[int], head: dict[str, Any]
) -> bool:
    """Refuse a study that could not be run; by multiplication, before anything is expanded."""
    numbers = {family: sum(count_variants(table, family) for _, table in tables[family]) for family in tables}
    cells = math.prod(numbers.values()) * len(horizons)
    rounds = head.get("checkpoints", CHECKPOINTS)
    points = cells * head.get("replications", 1) * (rounds if isinstance(rounds, int) else len(rounds))
    if cells <= LIMIT and points <= POINTS and max(numbers.values()) <= LIMIT:
        return True
    seconds = SECONDS * math.prod(numbers.values()) * sum(horizons) * head.get("replications", 1)
    sides = [*numbers.items(), ("horizon", len(horizons))]
    makes = " × ".join(counted(number, noun) for noun, number in sides)
    cost = f"about {duration(seconds)} of one processor core and up to {byte_size(BYTES * points)} on disk"
    if cells <= LIMIT and points > POINTS:
        allowed = f"at most {POINTS:,} points can be stored: take fewer replications or checkpoints"
        text = (
            f"the study would store {counted(points, 'point')} of {counted(cells, 'cell')}, {cost}; {allowed}"
        )
    else:
        allowed = f"at most {LIMIT:,} are allowed: shorten the lists, or split the study into several files"
        text = f"the sweeps make {counted(cells, 'cell')} ({makes}), {cost}; {allowed}"
    report.add((), text)
    return False


# --- settings replaced from outside: ``policy.0.beta=0.4`` on the command line ----------------------------


def parse_setting(text: str) -> tuple[str, Any]:
    """``NAME=VALUE``, the value as in TOML; what is no TOML is text.

    >>> parse_setting("policy.0.beta=[0.3, 0.4]"), parse_setting("policy.0.kind=ucb1")
    (('policy.0.beta', [0.3, 0.4]), ('policy.0.kind', 'ucb1'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidArgumentError("--set", text, "NAME=VALUE such as policy.0.beta=0.4")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def override(text: str, settings: Mapping[str, Any]) -> str:
    """The text of an experiment file with some settings replaced, or added; comments and order stay.

    A name is a path: keys, and the numbers of the tables of ``[[policy]]`` and ``[[environment]]`` from 0.

    >>> print(override("seed = 1  # any\\n[[policy]]\\nkind = 'ucb1'", {"seed": 3, "policy.0.alpha": 0.5}))
    seed = 3  # any
    [[policy]]
    kind = 'ucb1'
    alpha = 0.5
    <BLANKLINE>
    """
    import tomlkit  # noqa: PLC0415 - only where something is replaced

    document = tomlkit.parse(text)
    for name, value in settings.items():
        *way, last = name.split(".")
        place: Any = document
        for depth, step in enumerate(way):
            place = _enter(place, step, name, ".".join(way[:depth]) or "the file")
        if isinstance(place, list):
            _number(place, last, name, ".".join(way))
            place[int(last)] = value
        else:
            place[last] = value
    return tomlkit.dumps(document)


def _enter(place: Any, step: str, name: str, where: str) -> Any:
    if isinstance(place, list):
        return place[_number(place, step, name, where)]
    if isinstance(place, Mapping) and step in place and isinstance(place[step], (Mapping, list)):
        return place[step]
    tables = [key for key in place if isinstance(place[key], (Mapping, list))]
    raise InvalidArgumentError(
        "--set",
        name,
        f"a path into the file; {where} has no table {step!r}",
        fix=f"it has {', '.join(tables)}",
    )


def _number(place: Sequence[Any], step: str, name: str, where: str) -> int:
    if not step.isdecimal() or int(step) >= len(place):
        raise InvalidArgumentError(
            "--set",
            name,
            f"a path with a number of {where} in 0..{len(place) - 1}",
            fix=f"the file has {counted(len(place), 'entry')}",
        )
    return int(step)


# --- the file that ``bothworlds new`` writes --------------------------------------------------------------


def starter_text(*, name: str = "study.toml", folder: str = "results") -> str:
    """A commented experiment file that runs as it is, in a few seconds once its kernels are compiled.

    >>> from bothworlds.experiments.spec import parse
    >>> len(parse(starter_text()).cells())
    18
    """
    text = package_files(__name__).joinpath("starter.toml").read_text(encoding="utf-8")
    return text.replace("{name}", name).replace("{folder}", folder)
