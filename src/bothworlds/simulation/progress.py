"""A progress bar for what takes longer than two seconds, on a terminal only."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

PATIENCE = 2.0


class Progress:
    """Counts units of work; shows a bar with the time left once two seconds have passed."""

    def __init__(self, title: str, total: float, *, enabled: bool | None = None) -> None:
        self._title, self._total, self._done = title, total, 0.0
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, amount: float) -> None:
        """Report finished work, from any thread."""
        with self._lock:
            self._done += amount
            if not self._enabled or time.monotonic() - self._began < PATIENCE:
                return
            if self._bar is None:
                self._bar = self._start()
            self._bar.update(self._task, completed=self._done)

    def _start(self) -> Any:
        from rich import console, progress  # noqa: PLC0415 - only needed for long runs

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeRemainingColumn(),
        )
        bar = progress.Progress(*columns, console=console.Console(stderr=True), transient=True)
        self._task = bar.add_task(self._title, total=self._total)
        bar.start()
        return bar
