"""Old decisions go: a log that begins with states instead of its first entries.

In this order, so that a process may be killed anywhere:

1. the log is folded up to where it is to begin, as :mod:`bothworlds.service.verify` does it,
2. one transaction writes the states there, and that the log begins there: from now on nobody reads what is
   before,
3. decisions, then entries, are deleted, a thousand at a time. What a killed process has left is deleted by
   the next.

Changes of arms and settings stay for good: they are few, and tell what arms there are.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bothworlds import _check
from bothworlds.bandit.learner import engine
from bothworlds.service.replay import Replay
from bothworlds.service.replica import DAY, Replica
from bothworlds.service.store import open_store
from bothworlds.service.store.base import ProjectRow, ServiceStore
from bothworlds.service.sweeping import LOOKBACK

CHUNK = 20_000  # entries that are read at once
ROWS = 1000  # that are deleted in one transaction
PAUSE = 0.005  # seconds between two of them, for those who decide


class Retained(NamedTuple):
    """How many rows were deleted, and what is left."""

    before: float
    """Decisions that were made before this time are no longer kept; seconds since 1970."""
    start: int
    """The log begins after this position."""
    decisions: int
    entries: int


def export_and_retain(
    url: str,
    project: str,
    *,
    days: float,
    folder: Path,
    now: float | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Retained | None:
    """Export whole days that are older than so many days, then delete them; None if another process is at it.

    Parameters
    ----------
    url, project:
        Which database, and which project in it.
    days:
        How long decisions are kept.
    folder:
        Where exports go: a folder for each project and experiment, a file for each day (UTC). They are on
        disk before anything is deleted.
    now:
        Seconds since 1970; None: those of the clock.
    tell:
        Called with what is being done.
    """
    _check.number("days", days, at_least=1.0)
    store = open_store(url)
    try:
        row = store.project(project)
        if not store.may_retain(row.id):
            return None
        row = store.project(project)
        wanted = cutoff(row, store, (time.time() if now is None else now) - DAY * days)
        until = max(row.retained, math.floor(wanted / DAY) * DAY)
        if _goes(store, row, until):
            _export(url, row, until, folder, tell)
        return retain(store, project, before=until, tell=tell)
    finally:
        store.close()


def _export(url: str, row: ProjectRow, until: float, folder: Path, tell: Callable[[str], None]) -> None:
    """The decisions of all experiments that are about to go."""
    from bothworlds.service import exports  # noqa: PLC0415 - needs pyarrow
    from bothworlds.service.registry import Registry  # noqa: PLC0415

    registry, store = Registry(url), open_store(url)
    try:
        body = {"from": row.retained, "until": until}
        registry.note(row.id, key="retention", action="retain", target=row.name, body=body)
        replica = Replica(store, row.name, remembered=1)
        for name in replica.settings():
            found = replica.named(name)
            place = folder / exports.folder_name(row.name) / exports.folder_name(name)
            part = place / f".{os.getpid()}"
            subject = exports.Subject.of(name, found.settings, found.blank.labels)
            rows, files = exports.export(registry, row.id, subject, part, begin=row.retained, end=until)
            for file in files:
                sync(part / file)
                (part / file).replace(place / file)
            part.rmdir()
            sync(place)
            tell(f"{rows} decisions of {name} exported")
    finally:
        store.close()
        registry.close()


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cutoff(row: ProjectRow, store: ServiceStore, before: float) -> float:
    """Before this time decisions can go: before ``before``, and before any that waits for its deadline."""
    waiting = store.oldest_waiting(row.id, row.swept - LOOKBACK)
    return max(row.retained, before if waiting is None else min(before, waiting))


def retain(
    store: ServiceStore,
    project: str = "default",
    *,
    before: float,
    tell: Callable[[str], None] = lambda text: None,
) -> Retained:
    """Delete what is known of decisions that were made before a time. Export them first.

    Whoever serves the same database goes on meanwhile. Decisions that are left can be computed again, as
    before; the log begins early enough for that, and at a position that is in snapshots.

    Parameters
    ----------
    store:
        A store of its own.
    project:
        The name of the project.
    before:
        Seconds since 1970. Decisions that are older go, and are closed for good if nobody has reported an
        outcome; those of experiments that wait for a deadline stay until it is over, and so does all that
        is younger.
    tell:
        Called with what is being done.

    Examples
    --------
    >>> import time
    >>> import bothworlds as bw
    >>> from bothworlds.service.retention import retain
    >>> from bothworlds.service.store import open_store
    >>> with bw.open("kept.db", "button", arms=["blue", "green"], policy="tsallis-inf") as bandit:
    ...     for _ in range(3):
    ...         _ = bandit.update(bandit.pull(), reward=1.0)
    ...     before = bandit.probabilities
    >>> store = open_store("kept.db")
    >>> gone = retain(store, before=time.time())
    >>> gone.decisions, gone.entries
    (3, 2)
    >>> store.close()
    >>> with bw.open("kept.db", "button", arms=["blue", "green"], policy="tsallis-inf") as bandit:
    ...     bandit.probabilities == before
    True
    """
    before = _check.number("before", before, at_least=0.0)
    row = store.project(project)
    until = cutoff(row, store, before)
    if _goes(store, row, until):
        start, states = _fold(store, row, until, tell)
        own = store.engine(engine())
        with store.write(row.id, log=True):  # unless another process was faster
            store.move_start(row.id, before=row.start, start=start, retained=until, engine=own, states=states)
        row = store.project(project)
    start, until = row.start, row.retained
    decisions = entries = 0
    while n := store.delete_decisions(row.id, until, ROWS):
        decisions += n
        tell(f"{decisions} decisions deleted")
        time.sleep(PAUSE)
    while n := store.delete_entries(row.id, start, ROWS):
        entries += n
        tell(f"{entries} entries deleted")
        time.sleep(PAUSE)
    return Retained(until, start, decisions, entries)


def _goes(store: ServiceStore, row: ProjectRow, until: float) -> bool:
    """Is there anything to be deleted that was kept so far?"""
    begin, end = math.nextafter(row.retained, -math.inf), math.nextafter(until, -math.inf)
    return store.count_decisions(row.id, begin, end) > 0


def _fold(
    store: ServiceStore, row: ProjectRow, until: float, tell: Callable[[str], None]
) -> tuple[int, dict[int, bytes]]:
    """Where the log can begin, and the states there of bandits that have any entry before."""
    with store.write(row.id, log=False) as head:
        last = min(row.snapshot, head - 1)  # the last entry stays: it says how long the log is
    seen = store.first_seen(row.id, until)
    if seen is not None:
        last = min(last, seen)  # whatever is left can be computed again
    replay = Replay.of(store, row)
    while replay.position < last:
        entries = store.entries(row.id, replay.position, min(CHUNK, last - replay.position))
        young = next((i for i, entry in enumerate(entries) if entry.at >= until), None)
        replay.apply(entries[:young])
        tell(f"{replay.position} entries read")
        if young is not None or not entries:
            break
    return replay.position, {number: replay.learners[number].dump() for number in replay.updated}
