"""From checked tables to entries: sweeps expanded, objects built, combinations tried; refusals reported."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from bothworlds import environments, policies
from bothworlds._value import PartError, from_table, key_of, plain
from bothworlds.errors import BothworldsError, InvalidArgument
from bothworlds.experiments.experiment import CHECKPOINTS, FINDERS, Entry, file_hash
from bothworlds.experiments.labels import label, swept_word
from bothworlds.experiments.lines import Place
from bothworlds.experiments.mistakes import Report, spell
from bothworlds.experiments.shapes import FAMILIES, data_fields, shapes
from bothworlds.experiments.sweep import Names, Variant, count, expand
from bothworlds.experiments.unfold import written
from bothworlds.simulate.run import check_pair, require_environment

LIMIT = 100_000  # cells
POINTS = 10**9  # stored points: 40 GB
BYTES = 40.0  # a stored point, at most
SECONDS = 3e-7  # a round, about: ten arms, one core

Table: TypeAlias = tuple[int, dict[str, Any]]
"""The number of a [[policy]] or [[environment]] table, and its content: checked, unfolded, with sweeps."""


class Made(NamedTuple):
    """An entry with the object it describes, the number of its table, and whether the user labelled it."""

    entry: Entry
    built: Any
    table: int
    labelled: bool


# --- size -----------------------------------------------------------------------------------------------


def check_size(
    report: Report, tables: dict[str, list[Table]], horizons: Sequence[int], head: dict[str, Any]
) -> bool:
    """Refuse a study that could not be run; by multiplication, before anything is expanded."""
    numbers = {family: sum(count(table, family) for _, table in tables[family]) for family in tables}
    cells = math.prod(numbers.values()) * len(horizons)
    rounds = head.get("checkpoints", CHECKPOINTS)
    points = cells * head.get("replications", 1) * (rounds if isinstance(rounds, int) else len(rounds))
    if cells <= LIMIT and points <= POINTS and max(numbers.values()) <= LIMIT:
        return True
    seconds = SECONDS * math.prod(numbers.values()) * sum(horizons) * head.get("replications", 1)
    makes = f"{numbers['policy']:,} policies × {numbers['environment']:,} environments × {len(horizons):,} horizons"
    cost = f"about {duration(seconds)} of one processor core and up to {size(BYTES * points)} on disk"
    if cells <= LIMIT and points > POINTS:
        allowed = f"at most {POINTS:,} points can be stored: take fewer replications or checkpoints"
        text = f"the study would store {points:,} points of {cells:,} cells, {cost}; {allowed}"
    else:
        allowed = f"at most {LIMIT:,} are allowed: shorten the lists, or split the study into several files"
        text = f"the sweeps make {cells:,} cells ({makes}), {cost}; {allowed}"
    report.add((), text)
    return False


def duration(seconds: float) -> str:
    """A time in its largest unit.

    >>> duration(90), duration(3e12)
    ('1.5 minutes', '95,129 years')
    """
    for unit, length in (("years", 31_536_000.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f"{seconds / length:,.{0 if seconds >= 10 * length else 1}f} {unit}"
    return f"{seconds:.0f} seconds"


def size(count: float) -> str:
    """A number of bytes in its largest unit.

    >>> size(4e13)
    '40 TB'
    """
    power = min(6, int(math.log10(max(count, 1.0)) // 3))
    return f"{count / 1000.0**power:,.0f} {('bytes', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB')[power]}"


# --- entries --------------------------------------------------------------------------------------------


def make_entries(
    report: Report, family: Literal["policy", "environment"], tables: list[Table], folder: Path
) -> list[Made]:
    """All variants of all tables, built; those that their classes refuse are reported and left out."""
    made = []
    hashes: dict[Path, str] = {}
    for number, table in tables:
        seen: set[tuple[Place, str]] = set()
        for variant in expand(table, family):
            try:
                located = _locate(variant.table, folder, hashes)
                built = from_table(_bare(located), FINDERS[family])
                if family == "environment":
                    require_environment(built)
                settings = _settings(located, built, family)
            except (BothworldsError, OSError) as error:
                _refuse(report, (family, number), variant, family, error, seen)
                continue
            swept = swept_settings(report, (family, number), variant)
            entry = Entry(label(variant, family), located["kind"], settings, swept, family)
            made.append(Made(entry, built, number, "label" in table))
    return _distinct(report, family, made)


def swept_settings(report: Report, prefix: Place, variant: Variant) -> dict[str, Any]:
    """The swept settings by the names that the file gives them; lists and parts in words: all are scalars."""
    out = {}
    for names, value in variant.swept.items():
        place = written((*prefix, *variant.place(names)), report.document)[len(prefix) :]
        key = ".".join(step for step in place if isinstance(step, str))
        out[key] = swept_word(variant, str(prefix[0]), names, value)
    return out


def _locate(
    table: dict[str, Any], folder: Path, hashes: dict[Path, str], place: Names = ()
) -> dict[str, Any]:
    """The table without labels, with data files by absolute path and checksum."""
    out = {
        key: _locate(value, folder, hashes, (*place, key)) if _is_part(value) else value
        for key, value in table.items()
        if key != "label"
    }
    if "path" in table:
        path = (folder / table["path"]).resolve()
        try:
            hashes[path] = hashes.get(path) or file_hash(path)
        except OSError as error:
            said = f"path must name a file that can be read, got {table['path']!r}: {error.strerror} ({path})"
            raise PartError(place, table["kind"], InvalidArgument(said)) from error
        out |= {"path": str(path), "sha256": hashes[path]}
    return out


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and "kind" in value


def _bare(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _bare(value) if _is_part(value) else value for key, value in table.items() if key != "sha256"
    }


def _settings(table: dict[str, Any], built: Any, family: str) -> dict[str, Any]:
    """Every setting as the object has it: equal, however much of it the file left to defaults."""
    if "path" not in table and not any(_is_part(value) for value in table.values()):
        return policies.to_dict(built) if family == "policy" else environments.to_dict(built)
    skip = data_fields(type(built)) if "path" in table else set()
    out = {"kind": table["kind"]} | {key: table[key] for key in ("path", "sha256") if key in table}
    for field in fields(built):
        key, value = key_of(field), getattr(built, field.name)
        if field.name not in skip:
            inner = table.get(key, {})
            out[key] = _settings(inner, value, family) if _is_part(inner) else _plain_part(value, family)
    return out


def _plain_part(value: Any, family: str) -> Any:
    if not hasattr(value, "parameters"):
        return plain(value)
    return policies.to_dict(value) if family == "policy" else environments.to_dict(value)


def _refuse(
    report: Report,
    prefix: Place,
    variant: Variant,
    family: str,
    error: Exception,
    seen: set[tuple[Place, str]],
) -> None:
    """Report that a class refused its settings, at the setting that its message begins with."""
    names: Names = getattr(error, "place", ())
    text = str(error)
    table = variant.table
    for name in names:
        family, table = shapes(FAMILIES[family].registry[table["kind"]])[name].family or family, table[name]
    cls = FAMILIES[family].registry[table["kind"]]
    found = re.match(r"(\w+)((?:\[\d+\])*) ", text)
    inner: Place = ()
    if found and found[1] in shapes(cls):
        names = (*names, found[1])
        inner = tuple(int(index) for index in re.findall(r"\d+", found[2]))
        if isinstance(table.get(found[1]), str) and found[1] in data_fields(cls):
            text += "; a file is named by path = ..."
    place = (*prefix, *variant.place(names), *inner)
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
                what = f"cannot be played for horizon {horizon}: {_said(error)}"
                report.add(("environment", world.table), f"{world.entry.label!r} {what}")
    for player, world, horizon, misfit in _misfits(made, horizons, refused, tell_horizon):
        against = f"in {world.entry.label!r} ({spell(('environment', world.table))}) with horizon {horizon}"
        report.add(("policy", player.table), f"{player.entry.label!r} cannot play {against}: {_said(misfit)}")


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


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, BothworldsError) else f"{type(error).__name__}: {error}"
