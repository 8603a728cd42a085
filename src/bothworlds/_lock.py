"""Locks on files that end with the process that holds them, however it ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


def acquire(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file against every other holder; False if somebody has it and we do not wait."""
    if fcntl is None:  # pragma: no cover - Windows
        return _acquire_windows(descriptor, wait)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _acquire_windows(descriptor: int, wait: bool) -> bool:  # pragma: no cover - Windows
    import msvcrt  # noqa: PLC0415

    os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far behind the text: a locked byte cannot be read
    try:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return True


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait until nobody else is inside for the same path."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        acquire(descriptor, wait=True)
        yield
    finally:
        os.close(descriptor)  # releases
