"""From checked tables to entries: sweeps expanded, objects built, combinations tried; refusals reported."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bothworlds import environments, policies
from bothworlds._value import from_table, key_of, plain, settings
from bothworlds.errors import BothworldsError, InvalidArgumentError, OutOfRangeError, PartError, in_words
from bothworlds.experiments.experiment import FINDERS, Entry, file_hash
from bothworlds.experiments.labels import label, swept_word
from bothworlds.experiments.lines import Place
from bothworlds.experiments.mistakes import Report, spell
from bothworlds.experiments.places import Places
from bothworlds.experiments.shapes import data_fields, shapes
from bothworlds.experiments.size import LIMIT, Table
from bothworlds.experiments.sweep import Names, Variant, count, expand
from bothworlds.experiments.unfold import written
from bothworlds.simulation.job import check_pair
from bothworlds.simulation.run import require_environment

# parts with which any number around them can be tried
STAND_INS: dict[str, dict[str, Any]] = {
    "policy": {"kind": "exp3"},
    "environment": {"kind": "bernoulli", "n_arms": 4, "gap": 0.25, "optimal": 2},
    "regularizer": {"kind": "log-barrier"},
    "estimator": {"kind": "importance-weighted"},
}


class Made(NamedTuple):
    """An entry with the object it describes, the number of its table, and whether the user labelled it."""

    entry: Entry
    built: Any
    table: int
    labelled: bool


# --- entries --------------------------------------------------------------------------------------------


def make_entries(
    report: Report, family: Literal["policy", "environment"], tables: list[Table], places: Places
) -> list[Made]:
    """All variants of all tables, built; those that their classes refuse are reported and left out."""
    made = []
    hashes: dict[Path, str] = {}
    for number, table in tables:
        seen: set[tuple[Place, str]] = set()
        for variant in expand(table, family):
            try:
                located = _locate(variant.table, family, places, hashes)
                built = from_table(_bare(located), FINDERS[family])
                if family == "environment":
                    require_environment(built)
                settings = _settings(located, built, family)
            except (BothworldsError, OSError) as error:
                _refuse(report, (family, number), variant, family, error, seen)
                names = _blame(variant, family, error)
                rest = variant if names is None else _taken_out(variant, names)
                _look_further(report, (family, number), rest, seen)
                continue
            swept = swept_settings(report, (family, number), variant)
            entry = Entry(label(variant, family), located["kind"], settings, swept, family)
            made.append(Made(entry, built, number, "label" in table))
    return _distinct(report, family, made)


def try_settings(report: Report, family: Literal["policy", "environment"], tables: list[Table]) -> None:
    """Look for more mistakes in tables that have some, and are here without them."""
    for number, table in tables:
        seen: set[tuple[Place, str]] = set()
        if count(table, family) <= LIMIT:
            for variant in expand(table, family):
                _look_further(report, (family, number), variant, seen)


def _look_further(report: Report, prefix: Place, variant: Variant, seen: set[tuple[Place, str]]) -> None:
    """Report what else is refused in a table from which mistakes were taken out, one after the other.

    Only what a class says of a single number that the file gives is sure not to follow from what is missing.
    """
    family = str(prefix[0])
    replaced: set[Names] = set()
    while True:
        try:
            from_table(_bare(variant.table), FINDERS[family])
        except PartError as error:
            names = _blame(variant, family, error) if isinstance(error.error, OutOfRangeError) else None
            if names is not None:
                _refuse(report, prefix, variant, family, error, seen)
                variant = _taken_out(variant, names)
            elif error.place and error.place not in replaced:  # on to what is around this part
                replaced.add(error.place)
                variant = _taken_out(
                    variant, error.place, STAND_INS[_family(variant.table, family, error.place)]
                )
            else:
                return
        else:
            return


def _family(table: dict[str, Any], family: str, names: Names) -> str:
    """The family of the part at ``names``."""
    for name in names:
        cls: Any = FINDERS[family](table["kind"])
        family, table = shapes(cls)[name].family or family, table[name]
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


def swept_settings(report: Report, prefix: Place, variant: Variant) -> dict[str, Any]:
    """The swept settings by the names that the file gives them; lists and parts in words: all are scalars."""
    out = {}
    for names in variant.swept:
        place = written((*prefix, *variant.place(names)), report.document)[len(prefix) :]
        key = ".".join(step for step in place if isinstance(step, str))
        out[key] = swept_word(variant, str(prefix[0]), names)
    return out


def _locate(
    table: dict[str, Any], family: str, places: Places, hashes: dict[Path, str], place: Names = ()
) -> dict[str, Any]:
    """The table without labels, with data files by absolute path and checksum."""
    out = {
        key: _locate(value, family, places, hashes, (*place, key)) if _is_part(value) else value
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
            raise PartError(place, table["kind"], refusal)
    if "path" in table and not given:
        path = places.file(table["path"]).resolve()
        try:
            hashes[path] = hashes.get(path) or file_hash(path)
        except OSError as error:
            refusal = InvalidArgumentError(
                "path",
                table["path"],
                "a file that can be read",
                got=f"{table['path']!r}: {error.strerror} ({path})",
                fix=places.missed(table["path"]),
            )
            raise PartError(place, table["kind"], refusal) from error
        out |= {"path": str(path), "sha256": hashes[path]}
    elif data and ("path" in table or len(given) < len(data)):
        got = ", ".join([*given, *(["path"] if "path" in table else [])]) or "neither"
        wanted = f"given for {table['kind']}, or {' and '.join(data)}, but not both"
        refusal = InvalidArgumentError("path", table.get("path"), wanted, got=got)
        raise PartError(place, table["kind"], refusal)
    return out


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and "kind" in value


def _bare(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _bare(value) if _is_part(value) else value
        for key, value in table.items()
        if key not in ("label", "sha256")
    }


def _settings(table: dict[str, Any], built: Any, family: str) -> dict[str, Any]:
    """Every setting as the object has it: equal, however much of it the file left to defaults."""
    if "path" not in table and not any(_is_part(value) for value in table.values()):
        return policies.to_dict(built) if family == "policy" else environments.to_dict(built)
    skip = data_fields(type(built)) if "path" in table else set()
    out = {"kind": table["kind"]} | {key: table[key] for key in ("path", "sha256") if key in table}
    for field in settings(built):
        key, value = key_of(field), getattr(built, field.name)
        if field.name not in skip:
            inner = table.get(key, {})
            out[key] = _settings(inner, value, family) if _is_part(inner) else _plain_part(value, family)
    return out


def _plain_part(value: Any, family: str) -> Any:
    if not hasattr(value, "parameters"):
        return plain(value)
    return policies.to_dict(value) if family == "policy" else environments.to_dict(value)


def _blame(variant: Variant, family: str, error: Exception) -> Names | None:
    """The setting that an error is about, if it is one that the file gives."""
    names, cause = _cause(error)
    table = variant.table
    for name in names:
        table = table[name]
    cls: Any = FINDERS[family](table["kind"])
    if "path" in table and not data_fields(cls) & table.keys():
        return (*names, "path")
    argument = cause.argument if isinstance(cause, InvalidArgumentError) else None
    return (*names, argument) if argument in table and argument in shapes(cls) else None


def _cause(error: Exception) -> tuple[Names, Exception]:
    """Which part of a table an error is about, and the error itself."""
    return (error.place, error.error) if isinstance(error, PartError) else ((), error)


def _refuse(
    report: Report,
    prefix: Place,
    variant: Variant,
    family: str,
    error: Exception,
    seen: set[tuple[Place, str]],
) -> None:
    """Report that a class refused its settings, at the setting that it names, or at the whole table."""
    names = _blame(variant, family, error)
    text = str(error)
    whole, cause = _cause(error)
    inner: tuple[int, ...] = ()
    if names and isinstance(cause, InvalidArgumentError) and names[-1] == cause.argument:
        inner = cause.index
    place = (*prefix, *variant.place(names or whole), *inner)
    if (place, text) in seen:
        return  # the same for other values of other sweeps
    seen.add((place, text))
    where = ""
    if names not in variant.index:
        swept = swept_settings(report, prefix, variant)
        where = ", ".join(f"{key} = {value!r}" for key, value in swept.items())
    report.add(place, f"{text} (where {where})" if where else text)


def _distinct(report: Report, family: str, made: list[Made]) -> list[Made]:
    """Give every entry a label of its own; two that are the same in everything are a mistake."""
    first: dict[str, Made] = {}
    out = []
    for item in made:
        other = first.get(item.entry.label)
        if other is None:
            first[item.entry.label] = item
            out.append(item)
            continue
        place = spell((family, other.table))
        if other.entry.settings == item.entry.settings:
            report.add(
                (family, item.table), f"{item.entry.label!r} is here twice, see {place}: remove one of them"
            )
        elif item.labelled and other.table != item.table:
            text = f"label must be unique, got {item.entry.label!r}, which {place} has too"
            report.add((family, item.table, "label"), text)
        else:
            entry = _numbered(item.entry, first)
            first[entry.label] = item
            out.append(item._replace(entry=entry))
    return out


def _numbered(entry: Entry, taken: dict[str, Made]) -> Entry:
    number = 2
    while f"{entry.label} #{number}" in taken:
        number += 1
    return Entry(f"{entry.label} #{number}", entry.kind, entry.settings, entry.swept, entry.family)


# --- combinations ---------------------------------------------------------------------------------------


def check_fit(
    report: Report, made: dict[str, list[Made]], horizons: Sequence[int], *, tell_horizon: bool
) -> None:
    """Try every environment with every horizon, and every policy with both; report what does not fit."""
    refused: set[tuple[int, int]] = set()
    for i, world in enumerate(made["environment"]):
        for horizon in horizons:
            try:
                world.built.parameters(horizon)
            except Exception as error:  # a class written by a user may raise anything
                refused.add((i, horizon))
                what = f"cannot be played for horizon {horizon}: {in_words(error)}"
                report.add(("environment", world.table), f"{world.entry.label!r} {what}")
    for player, world, horizon, misfit in _misfits(made, horizons, refused, tell_horizon):
        against = f"in {world.entry.label!r} ({spell(('environment', world.table))}) with horizon {horizon}"
        report.add(
            ("policy", player.table), f"{player.entry.label!r} cannot play {against}: {in_words(misfit)}"
        )


def _misfits(
    made: dict[str, list[Made]], horizons: Sequence[int], refused: set[tuple[int, int]], tell_horizon: bool
) -> Iterator[tuple[Made, Made, int, Exception]]:
    """The first misfit of every policy table with every environment table."""
    for player in made["policy"]:
        tried: set[Any] = set()
        told_already: set[int] = set()
        for i, world in enumerate(made["environment"]):
            for horizon in horizons:
                told = horizon if tell_horizon else None
                base = type(getattr(world.built, "base", None))
                key = (world.built.n_arms, type(world.built), base, told)  # all that a policy can tell apart
                if key in tried or (i, horizon) in refused or world.table in told_already:
                    continue
                tried.add(key)
                try:
                    check_pair(player.built, world.built, told)
                except Exception as error:  # as above
                    told_already.add(world.table)
                    yield player, world, horizon, error
