"""How large a study is: counted, and estimated, before anything of it is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from bothworlds._words import counted
from bothworlds.experiments.experiment import CHECKPOINTS
from bothworlds.experiments.mistakes import Report
from bothworlds.experiments.sweep import count

LIMIT = 100_000  # cells
POINTS = 10**9  # stored points: 40 GB
BYTES = 40.0  # a stored point, at most
SECONDS = 3e-7  # a round, about: ten arms, one core

Table: TypeAlias = tuple[int, dict[str, Any]]
"""The number of a [[policy]] or [[environment]] table, and its content: checked, unfolded, with sweeps."""


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
    sides = [*numbers.items(), ("horizon", len(horizons))]
    makes = " × ".join(counted(number, noun) for noun, number in sides)
    cost = f"about {duration(seconds)} of one processor core and up to {size(BYTES * points)} on disk"
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


def duration(seconds: float) -> str:
    """A time in its largest unit.

    >>> duration(90), duration(3e12)
    ('1.5 minutes', '95,129 years')
    """
    for unit, length in (("years", 31_536_000.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f"{seconds / length:,.{0 if seconds >= 10 * length else 1}f} {unit}"
    return counted(round(seconds), "second")


def size(count: float) -> str:
    """A number of bytes in its largest unit.

    >>> size(4e13)
    '40 TB'
    """
    power = min(6, int(math.log10(max(count, 1.0)) // 3))
    return f"{count / 1000.0**power:,.0f} {('bytes', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB')[power]}"
