"""How far a run is and how long it will take: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from bothworlds._words import counted
from bothworlds.experiments.chunk import About
from bothworlds.experiments.plan import Job

LINE_SECONDS = 10.0  # between two lines, where nobody sees a bar


class Pace:
    """Foretells the time left from the chunks that are done.

    Nominal costs are right up to a factor that depends on the policy (and the machine), which the seconds of
    its finished jobs tell; how many seconds of work are done in a second is measured too.
    """

    def __init__(self, costs: Sequence[float], policies: Sequence[int]) -> None:
        """Of each cell: nominal seconds of a replication, and the index of its policy."""
        self._costs, self._policies = costs, policies
        self._nominal: dict[int, float] = defaultdict(float)
        self._actual: dict[int, float] = defaultdict(float)
        self.worked = 0.0

    def nominal(self, job: Job) -> float:
        """What a job should take."""
        return self._costs[job.cell] * (job.stop - job.first)

    def learn(self, about: About, *, now: bool) -> None:
        """From a chunk that is done: ``now``, or in an earlier run."""
        for job, seconds in about.jobs:
            self._nominal[self._policies[job.cell]] += self.nominal(job)
            self._actual[self._policies[job.cell]] += seconds
            self.worked += seconds if now else 0.0

    def seconds(self, jobs: Iterable[Job]) -> float:
        """How much work jobs are."""
        overall = _ratio(sum(self._actual.values()), sum(self._nominal.values()), 1.0)
        total = 0.0
        for job in jobs:
            policy = self._policies[job.cell]
            total += self.nominal(job) * _ratio(self._actual[policy], self._nominal[policy], overall)
        return total

    def left(self, jobs: Iterable[Job], elapsed: float, workers: int) -> float:
        """Seconds until these jobs are done, ``elapsed`` seconds after the start."""
        speed = self.worked / elapsed if self.worked and elapsed > 0.0 else float(workers)
        return self.seconds(jobs) / speed


def _ratio(actual: float, nominal: float, otherwise: float) -> float:
    return actual / nominal if nominal > 0.0 and actual > 0.0 else otherwise


def clock(seconds: float) -> str:
    """Seconds as people write them.

    >>> clock(4.2), clock(75), clock(7322)
    ('0:04', '1:15', '2:02:02')
    """
    whole = max(0, round(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class Display:
    """Says how far a run is, on stderr."""

    def __init__(self, total: int, *, enabled: bool) -> None:
        self._total, self._enabled = total, enabled
        self._terminal = enabled and sys.stderr.isatty()
        self._began = self._line = time.monotonic()
        self._bar: Any = None
        self._status: Any = None

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def restart(self) -> None:
        """The work begins only now."""
        self._end_status()
        self._began = self._line = time.monotonic()

    def say(self, text: str) -> None:
        """A line of its own."""
        live = self._bar or self._status
        if live is not None:
            live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif self._enabled:
            print(text, file=sys.stderr, flush=True)

    def step(self, text: str) -> None:
        """What is being done before the first chunk: on a terminal it replaces what was said before."""
        if not self._terminal:
            self.say(text)
            return
        from rich import console, markup  # noqa: PLC0415 - only needed on a terminal

        if self._status is None:
            self._status = console.Console(stderr=True).status("")
            self._status.start()
        self._status.update(markup.escape(text))

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def show(self, done: int, share: float, left: float | None) -> None:
        """``done`` chunks, which are a ``share`` of the work of this run; seconds that are left, if known."""
        then = "kernels compile the first time" if left is None else f"about {clock(left)} left"
        if self._terminal:
            if self._bar is None:
                self._bar = _bar(self._total)
            self._bar.update(self._bar.task_ids[0], completed=100.0 * share, chunks=done, left=then)
        elif time.monotonic() - self._line >= LINE_SECONDS:
            self._line = time.monotonic()
            chunks = f"{done} of {counted(self._total, 'chunk')}"
            self.say(f"{100 * share:3.0f}%  {chunks}, {clock(self.elapsed)} so far, {then}")

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_status()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar(total: int) -> Any:
    from rich import console, progress  # noqa: PLC0415 - only needed on a terminal

    bar = progress.Progress(
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn(f"{{task.fields[chunks]}} of {counted(total, 'chunk')}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[left]}"),
        console=console.Console(stderr=True),
        transient=True,
    )
    bar.add_task("", total=100.0, chunks=0, left="")
    bar.start()
    return bar
