"""Decisions whose wait is over: closed with what was reported, with what is missing, or unlearned."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable

from bothworlds.service.replica import Replica
from bothworlds.service.store.base import DEFAULT, DROPPED, REPORT, DecisionRow, EntryRow, ReportRow

ROWS = 1000  # decisions in one transaction
LOOKBACK = 60.0  # seconds: what a process with a slower clock was about to write when others swept
JUMP = 60.0  # seconds that a clock must differ from the steady one to be mistrusted


class Sweeper:
    """Looks now and then which deadlines are over.

    Several processes may do it: the log has one outcome of each decision. A clock that has jumped by more
    than a minute is mistrusted for as long as the longest wait, so that no deadline is over too early. Then
    all deadlines are looked at: times up to which others have been are those of another clock.
    """

    def __init__(self, replica: Replica, clock: Callable[[], float], every: float) -> None:
        self._replica = replica
        self._clock = clock
        self._every = every
        self._next = 0.0
        self._steady = time.monotonic() - clock()
        if replica.swept > clock() + JUMP:  # the clock was set back while nobody looked
            replica.forget_sweeps()

    def sweep_if_due(self) -> None:
        """Sweep, if it is time to."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every
            self.sweep()

    def sweep(self) -> int:
        """Close what is due; how many decisions."""
        replica = self._replica
        waits = [one.settings.wait for one in replica.experiments.values() if one.settings.wait is not None]
        if not waits:
            return 0
        if not replica.store.may_sweep(replica.id):
            return 0
        now = self._clock()
        if abs(time.monotonic() - now - self._steady) > JUMP:
            warnings.warn("the clock has jumped: deadlines wait once more", RuntimeWarning, stacklevel=1)
            self._steady = time.monotonic() - now
            self._next = time.monotonic() + max(waits)
            replica.forget_sweeps()
            return 0
        closed, begin = 0, replica.swept - LOOKBACK
        while rows := replica.store.due(replica.id, begin, now, ROWS):
            closed += self._close(rows, now)
            begin = math.nextafter(float(rows[-1].due or 0.0), -math.inf)  # more may be due at that moment
        replica.swept = now
        return closed

    def _close(self, rows: list[DecisionRow], now: float) -> int:
        replica, store = self._replica, self._replica.store
        for row in rows:
            replica.bandit_of(row)
        with replica.write(log=True) as head:
            wanted = [row.id for row in rows]
            closed, reports = store.closings(replica.id, wanted), store.reports(replica.id, wanted)
            fresh = [row for row in rows if row.id not in closed]
            entries = [
                self._entry(head + 1 + i, row, reports.get(row.id), now) for i, row in enumerate(fresh)
            ]
            store.insert_entries(replica.id, entries)
        replica.follow(head, entries)
        return len(entries)

    def _entry(self, pos: int, row: DecisionRow, report: ReportRow | None, now: float) -> EntryRow:
        experiment = self._replica.bandit_of(row).experiment
        missing = experiment.settings.missing
        kind, feedback, key = DROPPED, None, None
        if report is not None:
            kind, feedback, key = REPORT, report.kept, report.key
        elif missing is not None:
            kind, feedback = DEFAULT, experiment.blank.take("reward", missing)
        return EntryRow(pos, kind, experiment.id, row.bandit, row.id, feedback, row.ticket, now, None, key)
