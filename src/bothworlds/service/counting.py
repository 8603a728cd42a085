"""How many decisions are open: those that were made, less those that the log has closed."""

from __future__ import annotations

import time
from collections import deque

from bothworlds.service.store.base import ProjectRow, ServiceStore

ON_DISK_AFTER = 3.0  # seconds: decisions that any process made before are on disk
EVERY = 1.0  # seconds between two looks


class OpenDecisions:
    """The open decisions of a project; those that other processes made in the last seconds are missing.

    A closing whose decision is no longer kept counts as well, so that for a while after each retention
    there may be more open decisions than this says.

    Parameters
    ----------
    store, project:
        Where they are.
    """

    def __init__(self, store: ServiceStore, project: ProjectRow) -> None:
        self._store, self._project = store, project
        self._next = 0.0
        self._begin()

    def _begin(self) -> None:
        self._made, self._until = 0, 0.0  # decisions made up to here
        self._recent: deque[float] = deque()  # when those after that were made, in this process
        self._changes, self._looked = 0, self._project.start  # entries that close nothing

    def look_if_due(self, now: float, position: int) -> None:
        """Count what is new, if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        row = self._store.project(self._project.name)
        if (row.start, row.retained) != (self._project.start, self._project.retained):
            self._project = row
            self._begin()
        until = max(self._until, now - ON_DISK_AFTER)
        self._made += self._store.count_decisions(row.id, self._until, until)
        self._until = until
        while self._recent and self._recent[0] <= until:
            self._recent.popleft()
        self._changes += len(self._store.changes(row.id, self._looked, position))
        self._looked = max(self._looked, position)

    def made(self, at: float) -> None:
        """A decision was made by this process."""
        if at > self._until:
            self._recent.append(at)

    def changed(self, position: int) -> None:
        """The entry at this position closes nothing."""
        if position > self._looked:
            self._changes, self._looked = self._changes + 1, position

    def at(self, position: int) -> int:
        """How many are open, when so much of the log has been read."""
        closed = position - self._project.start - self._changes
        return max(0, self._made + len(self._recent) - closed)
