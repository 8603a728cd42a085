"""Bandits in a process that forks: whole in the child, with ids and draws of their own.

``os.fork`` copies a bandit and its random stream. Without care all workers of a server would draw the same
arms and give out the same ids, and a lock that another thread held at that moment would stay locked. So all
locks are taken around a fork, and in the child every bandit begins a new
instance.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What must differ between a process and its forked children: a bandit, or a mapping of bandits."""

    _lock: Any

    _forks: int
    """How many forks of the process it has seen."""

    def _continue_in_child(self, fork: int) -> None:
        """Draw, and name pulls, differently from the parent and from its other children.

        ``fork`` is the number of this fork: each child of the process has another one.
        """


_alive: WeakSet[Any] = WeakSet()
_guard = threading.RLock()
_held: list[Any] = []


def survive_forks(bandit: Forkable) -> None:
    """Let ``bandit`` become a new instance in every child of this process."""
    with _guard:
        _alive.add(bandit)


def _before() -> None:
    """Take all locks. Only one of them is ever waited for, by a thread that holds none of the others.

    Whoever has locked a bandit may be about to lock another one, or to make one: he must be able to.
    """
    wanted: Any = _guard
    while wanted is not None:
        with wanted:
            wanted = _first_that_is_locked()
    for bandit in _held:
        bandit._forks += 1


def _first_that_is_locked() -> Any:
    """Take all locks, or none of them, without waiting; the one that another thread has, if there is one."""
    if not _guard.acquire(blocking=False):
        return _guard
    for bandit in list(_alive):
        if not bandit._lock.acquire(blocking=False):
            _release()
            return bandit._lock
        _held.append(bandit)
    return None


def _release() -> None:
    for bandit in _held:
        bandit._lock.release()
    _held.clear()
    _guard.release()


def _after_in_child() -> None:
    for bandit in _held:
        bandit._continue_in_child(bandit._forks)
    _release()


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_after_in_child)
