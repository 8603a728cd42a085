"""Where chunks are played: threads or processes of this machine, any ``concurrent.futures.Executor``.

Threads are the default: kernels release the interpreter's lock, nothing is sent, nothing starts twice.
A world written in Python (``PythonEnvironment``) holds that lock, so a study with one gets processes.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from abc import ABC, abstractmethod
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from typing import Any

from bothworlds import _check
from bothworlds._words import counted
from bothworlds.environments import Corrupted, Delayed, PythonEnvironment
from bothworlds.errors import InvalidArgumentError
from bothworlds.experiments import provenance
from bothworlds.experiments.work import Work, play

MOST_UNDER_WAY = 1000  # chunks given to an executor whose size is not known
NAMES = ("threads", "processes")


class Crew(ABC):
    """The workers of a run. ``under_way`` is how many chunks they should have at a time."""

    name: str
    jobs: int | None
    under_way: int
    lost: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)
    """What the future of a chunk raises if its worker is gone; ``rebuild`` may help."""
    shared_fate = True
    """Does the loss of one worker take all chunks under way with it?"""
    here = False
    """Do they run on this machine, and read kernels that were compiled here?"""
    patience = 3
    """After how many losses a chunk is to blame for them."""

    @abstractmethod
    def submit(self, work: Work) -> Future[bytes]:
        """Have a chunk played."""

    def rebuild(self) -> bool:
        """Replace workers that are gone; False if that is not ours to do."""
        return False

    @abstractmethod
    def stop(self) -> None:
        """End the work that is under way, soon; its results are not wanted."""

    @abstractmethod
    def close(self) -> None:
        """Let the workers go."""


class Threads(Crew):
    """Threads of this process."""

    here = True

    def __init__(self, jobs: int) -> None:
        self.name = counted(jobs, "thread")
        self.jobs, self.under_way = jobs, 2 * jobs
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="bothworlds")
        self._stop = threading.Event()

    def submit(self, work: Work) -> Future[bytes]:
        """Have a chunk played."""
        return self._pool.submit(play, work, self._stop)

    def stop(self) -> None:
        """Within a block of rounds."""
        self._stop.set()

    def close(self) -> None:
        """Wait for the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Processes(Crew):
    """Fresh processes of this machine; a pool that loses one is replaced."""

    here = True

    def __init__(self, jobs: int) -> None:
        self.name = counted(jobs, "process")
        self.jobs, self.under_way = jobs, 2 * jobs
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # forking a process with threads can hang
        self._stop = context.Event()
        self._pool = ProcessPoolExecutor(self.jobs, context, initializer=_enlist, initargs=(self._stop,))

    def submit(self, work: Work) -> Future[bytes]:
        """Have a chunk played."""
        return self._pool.submit(_play_here, work)

    def rebuild(self) -> bool:
        """Another pool."""
        self.close()
        self._start()
        return True

    def stop(self) -> None:
        """Within a block of rounds."""
        self._stop.set()

    def close(self) -> None:
        """Wait for the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)


_stop_here: Any = None


def _enlist(stop: Any) -> None:
    """Prepare a worker process: Ctrl-C is the driver's business, and nobody outlives the driver."""
    global _stop_here  # noqa: PLW0603 - the one thing a worker process is told at its start
    _stop_here = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: Any) -> None:
    """Without this the workers of a killed driver would wait for work for ever."""
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _play_here(work: Work) -> bytes:
    return play(work, _stop_here)


class Guest(Crew):
    """Any executor of the caller's; it is neither rebuilt nor shut down."""

    def __init__(self, executor: Executor, jobs: int | None = None) -> None:
        self.name = type(executor).__name__
        self.jobs = jobs
        self.under_way = MOST_UNDER_WAY if jobs is None else 2 * jobs
        self._executor = executor
        self._futures: set[Future[bytes]] = set()

    def submit(self, work: Work) -> Future[bytes]:
        """Have a chunk played."""
        future: Future[bytes] = self._executor.submit(play, work)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def stop(self) -> None:
        """Cancel what has not begun."""
        for future in list(self._futures):
            future.cancel()

    def close(self) -> None:
        """Cancel what has not begun; the executor is the caller's."""
        self.stop()


def make_crew(executor: Any, jobs: Any, worlds: list[Any]) -> Crew:
    """The workers that ``run_study`` was asked for; ``worlds`` are the environments of the study."""
    if jobs is not None:
        jobs = _check.integer("jobs", jobs, at_least=1)
    if isinstance(executor, Executor):
        return Guest(executor, jobs)
    if isinstance(executor, str) and "://" in executor:
        from bothworlds.experiments.cluster import Cluster  # noqa: PLC0415 - needs an extra of its own

        return Cluster(executor)
    if executor is None:
        executor = "processes" if any(_holds_the_lock(world) for world in worlds) else "threads"
    if executor not in NAMES:
        raise InvalidArgumentError(
            "executor",
            executor,
            "'threads', 'processes', the address of a dask scheduler such as 'tcp://host:8786', "
            "or a concurrent.futures.Executor",
        )
    jobs = provenance.cores() if jobs is None else jobs
    return Threads(jobs) if executor == "threads" else Processes(jobs)


def _holds_the_lock(world: Any) -> bool:
    while isinstance(world, (Delayed, Corrupted)):
        world = world.base
    return isinstance(world, PythonEnvironment)
