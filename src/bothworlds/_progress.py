"""How far a long task is, on stderr: a bar on a terminal; elsewhere, if asked for, a line now and then."""

from __future__ import annotations

import sys
import threading
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from bothworlds._words import clock

PATIENCE = 2.0  # seconds before there is a bar
LINE_SECONDS = 10.0  # between two lines, where nobody sees a bar


class Progress:
    """Counts units of work, and shows on a terminal a bar with the time left once two seconds have passed.

    Parameters
    ----------
    title, total:
        What is done, and how many units of it there are.
    enabled:
        Whether anything is shown; by default only on a terminal.
    lines:
        Whether to write lines in place of a bar where stderr is not a terminal; also on one without ``rich``.
    """

    def __init__(self, title: str, total: float, *, enabled: bool | None = None, lines: bool = False) -> None:
        terminal = sys.stderr.isatty()
        drawn = terminal and find_spec("rich") is not None
        self._title, self._total, self._done = title, total, 0.0
        self._enabled = terminal if enabled is None else enabled
        self._lines = (lines or terminal) and not drawn
        self._began = self._last_line = time.monotonic()
        self._lock = threading.Lock()
        self._bar: Any = None
        self._status: Any = None

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def advance(self, amount: float) -> None:
        """Report finished work, from any thread."""
        with self._lock:
            self._done += amount
            known = 0.0 < self._done <= self._total
            left = self.elapsed * (self._total / self._done - 1.0) if known else None
            self._draw(self._title, "" if left is None else f"about {clock(left)} left")

    def show(self, done: float, title: str, note: str) -> None:
        """Replace what is shown: units that are done, the title, and a word on the time left."""
        with self._lock:
            self._done = done
            self._draw(title, note)

    def say(self, text: str) -> None:
        """A line of its own."""
        live = self._bar or self._status
        if live is not None:
            live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif self._enabled:
            print(text, file=sys.stderr, flush=True)

    def step(self, text: str) -> None:
        """What is being done before the work that is counted: on a terminal it replaces the last step."""
        if self._lines or not self._enabled:
            self.say(text)
            return
        from rich import console, markup  # noqa: PLC0415 - only needed on a terminal

        if self._status is None:
            self._status = console.Console(stderr=True).status("")
            self._status.start()
        self._status.update(markup.escape(text))

    def restart(self) -> None:
        """The work that is counted begins only now."""
        self._end_status()
        self._began = self._last_line = time.monotonic()

    def _draw(self, title: str, note: str) -> None:
        if not self._enabled:
            return
        if self._lines:
            if time.monotonic() - self._last_line >= LINE_SECONDS:
                self._last_line = time.monotonic()
                share = 100 * self._done / self._total
                line = f"{share:3.0f}%  {title}, {clock(self.elapsed)} so far"
                self.say(f"{line}, {note}" if note else line)
        elif self.elapsed >= PATIENCE:
            if self._bar is None:
                self._bar = self._start()
            self._bar.update(self._task, completed=self._done, description=title, note=note)

    def _start(self) -> Any:
        from rich import console, progress  # noqa: PLC0415 - only needed for long runs

        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[note]}"),
        )
        bar = progress.Progress(*columns, console=console.Console(stderr=True), transient=True)
        self._task = bar.add_task(self._title, total=self._total, note="")
        bar.start()
        return bar

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_status()
        if self._bar is not None:
            self._bar.stop()
