"""From checked tables to entries: sweeps expanded, files found, objects built, combinations tried."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from bothworlds import environments, policies
from bothworlds._value import from_table, plain
from bothworlds.environments.base import Environment, reads_p
from bothworlds.errors import BothworldsError, InvalidArgumentError, OutOfRangeError, PartError, in_words
from bothworlds.experiments.experiment import FINDERS, MANIFEST, Entry, file_hash
from bothworlds.experiments.spec.mistakes import MistakeReport, spell_location
from bothworlds.experiments.spec.schema import data_fields, setting_types
from bothworlds.experiments.spec.variants import (
    Location,
    Names,
    Variant,
    as_written,
    count_variants,
    describe_table,
    expand_sweeps,
    swept_value,
)
from bothworlds.simulation.job import check_pair, check_recording
from bothworlds.simulation.run import require_environment

LIMIT = 100_000  # cells
# parts with which any number around them can be tried
STAND_INS: dict[str, dict[str, Any]] = {
    "policy": {"kind": "exp3"},
    "environment": {"kind": "bernoulli", "n_arms": 4, "gap": 0.25, "optimal": 2},
    "regularizer": {"kind": "log-barrier"},
    "rates": {"kind": "root-rate", "theta": 1.0},
    "estimator": {"kind": "importance-weighted"},
    "predictions": {"kind": "mean-predictions"},
}

Table: TypeAlias = tuple[int, dict[str, Any]]
"""The number of a [[policy]] or [[environment]] table, and its content: checked, nested, with sweeps."""


# --- files -------------------------------------------------------------------------------------------------


class FileFinder(NamedTuple):
    """The folder of an experiment file; for the copy that a study keeps, also that of the original."""

    folder: Path
    origin: Path | None
    is_study: bool
    """Is this the folder of a study?"""

    @classmethod
    def of(cls, folder: Path) -> FileFinder:
        """Look whether the folder holds a study, and what its manifest says."""
        folder = folder.absolute()
        if not (folder / MANIFEST).is_file():
            return cls(folder, None, False)
        try:
            found = json.loads((folder / MANIFEST).read_bytes())["folder"]
        except (OSError, ValueError, LookupError, TypeError):
            return cls(folder, None, True)  # damaged: what reads the store says so
        return cls(folder, Path(found) if isinstance(found, str) else None, True)

    @property
    def original(self) -> Path:
        """The folder that the experiment was first read in."""
        return self.origin or self.folder

    def data_file(self, name: str) -> Path:
        """A data file: beside the experiment, else beside the original."""
        return self._first([self.folder / name], name)

    def module_file(self, name: str) -> Path:
        """A Python file; a study keeps its own copy."""
        copies = [self.folder / "modules" / f"{Path(name).stem}.py"] if self.is_study else []
        return self._first([self.folder / name, *copies], name)

    def _first(self, files: list[Path], name: str) -> Path:
        files += [self.origin / name] if self.origin else []
        return next((file for file in files if file.exists()), files[0])

    def where_else(self, name: str) -> str:
        """What to add where a file is not found."""
        if self.origin is None or Path(name).is_absolute():
            return ""
        return f"this is a copy of an experiment from {self.origin}, and {name} is not there either"


# --- entries --------------------------------------------------------------------------------------------


class BuiltEntry(NamedTuple):
    """An entry with the object it describes, the number of its table, and whether the user labeled it."""

    entry: Entry
    built: Any
    table: int
    labeled: bool


def build_entries(
    report: MistakeReport, family: Literal["policy", "environment"], tables: list[Table], files: FileFinder
) -> list[BuiltEntry]:
    """All variants of all tables, built; those that their classes refuse are reported and left out."""
    made = []
    hashes: dict[Path, str] = {}
    for number, table in tables:
        seen: set[tuple[Location, str]] = set()
        for variant in expand_sweeps(table, family):
            try:
                located = _find_files(variant.table, family, files, hashes)
                built = from_table(_without_labels(located), FINDERS[family])
                if family == "environment":
                    require_environment(built)
                settings = _settings(located, built, family)
            except (BothworldsError, OSError) as error:
                _report_refusal(report, (family, number), variant, family, error, seen)
                names = _setting_at_fault(variant, family, error)
                rest = variant if names is None else _taken_out(variant, names)
                _look_further(report, (family, number), rest, seen)
                continue
            swept = swept_settings(report, (family, number), variant)
            labeled = "label" in table
            try:
                label = describe_table(variant.table, family, frozenset(variant.swept))
            except InvalidArgumentError as error:
                report.add((family, number, "label"), str(error))
                label, labeled = located["kind"], False  # so that other mistakes with it are found, too
            entry = Entry(label, located["kind"], settings, swept, family)
            made.append(BuiltEntry(entry, built, number, labeled))
    return _distinct(report, family, made)


def try_settings(
    report: MistakeReport, family: Literal["policy", "environment"], tables: list[Table]
) -> None:
    """Look for more mistakes in tables that have some, and are here without them."""
    for number, table in tables:
        seen: set[tuple[Location, str]] = set()
        if count_variants(table, family) <= LIMIT:
            for variant in expand_sweeps(table, family):
                _look_further(report, (family, number), variant, seen)


def _look_further(
    report: MistakeReport, prefix: Location, variant: Variant, seen: set[tuple[Location, str]]
) -> None:
    """Report what else is refused in a table from which mistakes were taken out, one after the other.

    Only what a class says of a single number that the file gives is sure not to follow from what is missing.
    """
    family = str(prefix[0])
    replaced: set[Names] = set()
    while True:
        try:
            from_table(_without_labels(variant.table), FINDERS[family])
        except PartError as error:
            names = (
                _setting_at_fault(variant, family, error)
                if isinstance(error.error, OutOfRangeError)
                else None
            )
            if names is not None:
                _report_refusal(report, prefix, variant, family, error, seen)
                variant = _taken_out(variant, names)
            elif error.location and error.location not in replaced:  # on to what is around this part
                replaced.add(error.location)
                variant = _taken_out(
                    variant, error.location, STAND_INS[_family(variant.table, family, error.location)]
                )
            else:
                return
        else:
            return


def _family(table: dict[str, Any], family: str, names: Names) -> str:
    """The family of the part at ``names``."""
    for name in names:
        cls: Any = FINDERS[family](table["kind"])
        family, table = setting_types(cls)[name].family or family, table[name]
    return family


def _taken_out(variant: Variant, names: Names, instead: dict[str, Any] | None = None) -> Variant:
    table = copy.deepcopy(variant.table)
    inner = table
    for name in names[:-1]:
        inner = inner[name]
    del inner[names[-1]]
    if instead is not None:
        inner[names[-1]] = instead
    swept = {other: value for other, value in variant.swept.items() if other[: len(names)] != names}
    return Variant(table, swept, {other: variant.index[other] for other in swept})


def swept_settings(report: MistakeReport, prefix: Location, variant: Variant) -> dict[str, Any]:
    """The swept settings by the names that the file gives them; lists and parts in words: all are scalars."""
    out = {}
    for names in variant.swept:
        location = as_written((*prefix, *variant.location(names)), report.document)[len(prefix) :]
        key = ".".join(step for step in location if isinstance(step, str))
        out[key] = swept_value(variant, str(prefix[0]), names)
    return out


def _find_files(
    table: dict[str, Any], family: str, files: FileFinder, hashes: dict[Path, str], location: Names = ()
) -> dict[str, Any]:
    """The table without labels, with data files by absolute path and checksum."""
    out = {
        key: _find_files(value, family, files, hashes, (*location, key)) if _is_part(value) else value
        for key, value in table.items()
        if key != "label"
    }
    data = sorted(data_fields(FINDERS[family](table["kind"])))
    given = [name for name in data if name in table]
    for name in given:
        if isinstance(table[name], str):
            refusal = InvalidArgumentError(
                name, table[name], "written out here", fix="a file is named by path = ..."
            )
            raise PartError(location, table["kind"], refusal)
    if "path" in table and not given:
        path = files.data_file(table["path"]).resolve()
        try:
            hashes[path] = hashes.get(path) or file_hash(path)
        except OSError as error:
            refusal = InvalidArgumentError(
                "path",
                table["path"],
                "a file that can be read",
                got=f"{table['path']!r}: {error.strerror} ({path})",
                fix=files.where_else(table["path"]),
            )
            raise PartError(location, table["kind"], refusal) from error
        out |= {"path": str(path), "sha256": hashes[path]}
    elif data and ("path" in table or len(given) < len(data)):
        got = ", ".join([*given, *(["path"] if "path" in table else [])]) or "neither"
        wanted = f"given for {table['kind']}, or {' and '.join(data)}, but not both"
        refusal = InvalidArgumentError("path", table.get("path"), wanted, got=got)
        raise PartError(location, table["kind"], refusal)
    return out


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and "kind" in value


def _without_labels(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_labels(value) if _is_part(value) else value
        for key, value in table.items()
        if key not in ("label", "sha256")
    }


def _settings(table: dict[str, Any], built: Any, family: str) -> dict[str, Any]:
    """Every setting as the object has it: equal, however much of it the file left to defaults."""
    if "path" not in table and not any(_is_part(value) for value in table.values()):
        return policies.to_dict(built) if family == "policy" else environments.to_dict(built)
    skip = data_fields(type(built)) if "path" in table else set()
    out = {"kind": table["kind"]} | {key: table[key] for key in ("path", "sha256") if key in table}
    for key, value in built.given().items():
        if key not in skip:
            inner = table.get(key, {})
            out[key] = _settings(inner, value, family) if _is_part(inner) else _plain_part(value, family)
    return out


def _plain_part(value: Any, family: str) -> Any:
    if not hasattr(value, "parameters"):
        return plain(value)
    return policies.to_dict(value) if family == "policy" else environments.to_dict(value)


def _setting_at_fault(variant: Variant, family: str, error: Exception) -> Names | None:
    """The setting that an error is about, if it is one that the file gives."""
    names, cause = _cause(error)
    table = variant.table
    for name in names:
        table = table[name]
    cls: Any = FINDERS[family](table["kind"])
    if "path" in table and not data_fields(cls) & table.keys():
        return (*names, "path")
    argument = cause.argument if isinstance(cause, InvalidArgumentError) else None
    return (*names, argument) if argument in table and argument in setting_types(cls) else None


def _cause(error: Exception) -> tuple[Names, Exception]:
    """Which part of a table an error is about, and the error itself."""
    return (error.location, error.error) if isinstance(error, PartError) else ((), error)


def _report_refusal(
    report: MistakeReport,
    prefix: Location,
    variant: Variant,
    family: str,
    error: Exception,
    seen: set[tuple[Location, str]],
) -> None:
    """Report that a class refused its settings, at the setting that it names, or at the whole table."""
    names = _setting_at_fault(variant, family, error)
    text = str(error)
    whole, cause = _cause(error)
    inner: tuple[int, ...] = ()
    if names and isinstance(cause, InvalidArgumentError) and names[-1] == cause.argument:
        inner = cause.index
    location = (*prefix, *variant.location(names or whole), *inner)
    if (location, text) in seen:
        return  # the same for other values of other sweeps
    seen.add((location, text))
    where = ""
    if names not in variant.index:
        swept = swept_settings(report, prefix, variant)
        where = ", ".join(f"{key} = {value!r}" for key, value in swept.items())
    report.add(location, f"{text} (where {where})" if where else text)


def _distinct(report: MistakeReport, family: str, made: list[BuiltEntry]) -> list[BuiltEntry]:
    """Give every entry a label of its own; two that are the same in everything are a mistake."""
    first: dict[str, BuiltEntry] = {}
    out = []
    for item in made:
        other = first.get(item.entry.label)
        if other is None:
            first[item.entry.label] = item
            out.append(item)
            continue
        location = spell_location((family, other.table))
        if other.entry.settings == item.entry.settings:
            report.add(
                (family, item.table),
                f"{item.entry.label!r} is here twice, see {location}: remove one of them",
            )
        elif item.labeled and other.table != item.table:
            text = f"label must be unique, got {item.entry.label!r}, which {location} has too"
            report.add((family, item.table, "label"), text)
        else:
            entry = _numbered(item.entry, first)
            first[entry.label] = item
            out.append(item._replace(entry=entry))
    return out


def _numbered(entry: Entry, taken: dict[str, BuiltEntry]) -> Entry:
    number = 2
    while f"{entry.label} #{number}" in taken:
        number += 1
    return Entry(f"{entry.label} #{number}", entry.kind, entry.settings, entry.swept, entry.family)


# --- combinations ---------------------------------------------------------------------------------------


def check_combinations(
    report: MistakeReport,
    made: dict[str, list[BuiltEntry]],
    horizons: Sequence[int],
    *,
    tell_horizon: bool,
    evidence: bool,
) -> None:
    """Try every environment with every horizon, and every policy with both; report what does not fit."""
    playable: dict[tuple[int, int], tuple[Any, ...]] = {}
    unrecorded: set[int] = set()
    for i, world in enumerate(made["environment"]):
        try:
            check_recording(world.built, evidence=evidence)
        except InvalidArgumentError as error:
            if world.table not in unrecorded:
                report.add(("environment", world.table), f"{world.entry.label!r}: {error}")
            unrecorded.add(world.table)
        for horizon in horizons:
            try:
                playable[i, horizon] = _capabilities(world.built, horizon)
            except Exception as error:  # a class written by a user may raise anything
                what = f"cannot be played for horizon {horizon}: {in_words(error)}"
                report.add(("environment", world.table), f"{world.entry.label!r} {what}")
    for player, world, horizon, misfit in _misfits(made, playable, tell_horizon, evidence):
        where = spell_location(("environment", world.table))
        against = f"in {world.entry.label!r} ({where}) with horizon {horizon}"
        report.add(
            ("policy", player.table), f"{player.entry.label!r} cannot play {against}: {in_words(misfit)}"
        )


def _capabilities(environment: Environment, horizon: int) -> tuple[Any, ...]:
    """All of an environment that decides whether a policy can play in it: what ``check_pair`` reads."""
    reads_distribution = bool(reads_p(environment.parameters(horizon)))
    return (
        environment.n_arms,
        environment.problem,
        environment.sleeps,
        environment.shows_any_arm,
        reads_distribution,
    )


def _misfits(
    made: dict[str, list[BuiltEntry]],
    playable: dict[tuple[int, int], tuple[Any, ...]],
    tell_horizon: bool,
    evidence: bool,
) -> Iterator[tuple[BuiltEntry, BuiltEntry, int, Exception]]:
    """The first misfit of every policy with every environment table.

    ``playable`` has the capabilities of each environment, by its number and the horizon.
    """
    for player in made["policy"]:
        fitting: set[Any] = set()
        reported: set[int] = set()
        for (i, horizon), capabilities in playable.items():
            world = made["environment"][i]
            known_horizon = horizon if tell_horizon else None
            if (capabilities, known_horizon) in fitting or world.table in reported:
                continue
            try:
                check_pair(player.built, world.built, known_horizon, evidence=evidence)
            except Exception as error:  # as above
                reported.add(world.table)
                yield player, world, horizon, error
            else:
                fitting.add((capabilities, known_horizon))
