"""Where chunks are played: threads or processes of this machine, a dask cluster, any executor.

A worker is sent plain values and gives back the bytes of a Parquet file. Threads are the default: kernels
release the interpreter's lock, nothing is sent, nothing starts twice. A world written in Python
(``PythonEnvironment``) holds that lock, so a study with one gets processes.
"""

from __future__ import annotations

import dataclasses
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import dataclass
from typing import Any

from bothworlds import _check
from bothworlds._words import counted
from bothworlds.errors import InvalidArgumentError, WorkerError
from bothworlds.experiments.experiment import EVIDENCE, Cell, Experiment
from bothworlds.experiments.plan import Batch
from bothworlds.experiments.store import chunk, provenance
from bothworlds.experiments.store.provenance import differences
from bothworlds.simulation.series import play_series

MOST_UNDER_WAY = 1000  # chunks given to an executor whose size is not known
NAMES = ("threads", "processes")
LOGGERS = ("distributed.client", "tornado.application")  # tracebacks, where we say what happened
TIMEOUT = 8.0  # seconds for the scheduler to answer


# --- what a worker does ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A chunk to be played, with as much of the experiment as that takes."""

    number: int
    fingerprint: str
    identity: dict[str, str]
    experiment: Experiment
    batches: tuple[tuple[Cell, Batch], ...]
    """The cells are renumbered: their indices are into the experiment that is sent."""


def make_task(
    number: int, batches: Sequence[Batch], experiment: Experiment, cells: Sequence[Cell], fingerprint: str
) -> Task:
    """A chunk, and only those policies and environments that it needs."""
    used = [cells[batch.cell] for batch in batches]
    policies = sorted({cell.policy for cell in used})
    environments = sorted({cell.environment for cell in used})
    part = dataclasses.replace(
        experiment,
        policies=tuple(experiment.policies[k] for k in policies),
        environments=tuple(experiment.environments[k] for k in environments),
        text="",
        description="",
    )
    renumbered = tuple(
        (
            cell._replace(
                policy=policies.index(cell.policy), environment=environments.index(cell.environment)
            ),
            batch,
        )
        for cell, batch in zip(used, batches, strict=True)
    )
    return Task(number, fingerprint, provenance.identity(), part, renumbered)


def play_task(task: Task, stop: threading.Event | None = None) -> bytes:
    """Play a chunk. The same bits in every process, on every machine of the same kind."""
    require_identity(task.identity)
    experiment = task.experiment
    experiment.load_modules()
    played = []
    for cell, batch in task.batches:
        first = batch.first == 0 and "probabilities" in experiment.record
        marks = experiment.marks(cell.horizon)
        series = play_series(
            experiment.policies[cell.policy].build(),
            experiment.environments[cell.environment].build(),
            horizon=cell.horizon,
            replications=range(batch.first, batch.stop),
            seed=experiment.seed,
            marks=marks,
            tell_horizon=experiment.tell_horizon,
            probabilities=first,
            evidence=EVIDENCE in experiment.record,
            stop=stop,
        )
        played.append(
            chunk.PlayedBatch(
                batch, marks, series.measured, series.probabilities, series.seconds, series.looks
            )
        )
    return chunk.encode(task.number, task.fingerprint, played, provenance.host())


def require_identity(wanted: dict[str, Any]) -> None:
    """Refuse to play for a program with another version or other sources."""
    different = differences(provenance.identity(), wanted)
    if different:
        raise WorkerError(
            f"the worker on {provenance.host()} has another bothworlds (there: the worker, here: the program "
            f"that runs the study): {'; '.join(different)}; install the same one on every worker"
        )


# --- who they are ------------------------------------------------------------------------------------------


class Workers(ABC):
    """The workers of a run. ``under_way`` is how many chunks they should have at a time."""

    name: str
    jobs: int | None
    under_way: int
    lost: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)
    """What the future of a chunk raises if its worker is gone; ``rebuild`` may help."""
    lost_together = True
    """Does the loss of one worker take all chunks under way with it?"""
    is_local = False
    """Do they run on this machine, and read kernels that were compiled here?"""
    max_losses = 3
    """After how many losses a chunk is to blame for them."""

    @abstractmethod
    def submit(self, task: Task) -> Future[bytes]:
        """Have a chunk played."""

    def rebuild(self) -> bool:
        """Replace workers that are gone; False if that is not ours to do."""
        return False

    def what_was_lost(self) -> str:
        """What to say where they cannot be replaced."""
        return f"workers were lost ({self.name})"

    @abstractmethod
    def stop(self) -> None:
        """End the work that is under way, soon; its results are not wanted."""

    @abstractmethod
    def close(self) -> None:
        """Let the workers go."""


class Threads(Workers):
    """Threads of this process."""

    is_local = True

    def __init__(self, jobs: int) -> None:
        self.name = counted(jobs, "thread")
        self.jobs, self.under_way = jobs, 2 * jobs
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="bothworlds")
        self._stop = threading.Event()

    def submit(self, task: Task) -> Future[bytes]:
        """Have a chunk played."""
        return self._pool.submit(play_task, task, self._stop)

    def stop(self) -> None:
        """End the work that is under way within a block of rounds."""
        self._stop.set()

    def close(self) -> None:
        """Wait for the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Processes(Workers):
    """Fresh processes of this machine; a pool that loses one is replaced."""

    is_local = True

    def __init__(self, jobs: int) -> None:
        self.name = counted(jobs, "process")
        self.jobs, self.under_way = jobs, 2 * jobs
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # forking a process with threads can hang
        self._stop = context.Event()
        self._pool = ProcessPoolExecutor(
            self.jobs, context, initializer=_start_worker, initargs=(self._stop,)
        )

    def submit(self, task: Task) -> Future[bytes]:
        """Have a chunk played."""
        return self._pool.submit(_play_here, task)

    def rebuild(self) -> bool:
        """Make a new pool."""
        self.close()
        self._start()
        return True

    def stop(self) -> None:
        """End the work that is under way within a block of rounds."""
        self._stop.set()

    def close(self) -> None:
        """Wait for the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)


_stop_here: Any = None


def _start_worker(stop: Any) -> None:
    """Prepare a worker process: it leaves Ctrl-C to the driver, and ends when the driver does."""
    global _stop_here  # noqa: PLW0603 - the one thing a worker process is told at its start
    _stop_here = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_with, args=(parent.sentinel,), daemon=True).start()


def _exit_with(sentinel: Any) -> None:
    """Without this the workers of a killed driver would wait for work for ever."""
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _play_here(task: Task) -> bytes:
    return play_task(task, _stop_here)


class GivenExecutor(Workers):
    """Any executor of the caller's; it is neither rebuilt nor shut down."""

    def __init__(self, executor: Executor, jobs: int | None = None) -> None:
        self.name = type(executor).__name__
        self.jobs = jobs
        self.under_way = MOST_UNDER_WAY if jobs is None else 2 * jobs
        self._executor = executor
        self._futures: set[Future[bytes]] = set()

    def submit(self, task: Task) -> Future[bytes]:
        """Have a chunk played."""
        future: Future[bytes] = self._executor.submit(play_task, task)
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


class Cluster(Workers):
    """The workers of a dask scheduler. Dask itself plays the chunks of a lost worker on another one."""

    jobs = None
    under_way = MOST_UNDER_WAY
    lost_together = False
    max_losses = 2  # dask gives a chunk up after the loss of several workers, not all of them by its fault

    def __init__(self, address: str) -> None:
        try:
            import distributed  # noqa: PLC0415 - an extra, and slow to import
        except ImportError:
            raise WorkerError(
                f"the cluster {address} needs dask.distributed: pip install 'bothworlds[cluster]'"
            ) from None
        self.lost = (distributed.KilledWorker, CancelledError)
        self._address = address
        try:
            client: Any = distributed.Client  # without annotations
            self._client = client(address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise WorkerError(
                f"no dask scheduler answers at {address!r} ({type(error).__name__}: {error}); "
                "start one with `dask scheduler`, and give the address that it prints"
            ) from error
        try:
            found = self._client.run(_identify(), on_error="return")
            self._require_same(found)
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False)
        self._levels = {name: logging.getLogger(name).level for name in LOGGERS}
        _set_levels(dict.fromkeys(LOGGERS, logging.CRITICAL))
        self.name = f"the dask cluster {address}, {counted(len(found), 'worker')} now"

    def _require_same(self, found: dict[str, Any]) -> None:
        here = provenance.identity()
        refused = []
        for worker, there in sorted(found.items()):
            if isinstance(there, BaseException):
                refused.append(f"{worker}: {type(there).__name__}: {there}")
            else:
                refused += [f"{worker}: {line}" for line in differences(there, here)]
        if refused:
            listing = "\n".join(f"  {line}" for line in refused[:12])
            raise WorkerError(
                "workers must have the bothworlds of this program (there: the worker, here: this program):\n"
                f"{listing}\ninstall the same one on every worker"
            )

    def submit(self, task: Task) -> Future[bytes]:
        """Have a chunk played."""
        return self._executor.submit(play_task, task)  # type: ignore[no-any-return]

    def rebuild(self) -> bool:
        """Nothing to do as long as the scheduler lives: it finds other workers."""
        return bool(self._client.status == "running")

    def what_was_lost(self) -> str:
        """The scheduler, if it is not there any more: stopped, killed, or out of reach."""
        if self._client.status == "running":
            return super().what_was_lost()
        return f"the dask scheduler at {self._address} does not answer any more (has it been stopped?)"

    def stop(self) -> None:
        """Chunks that a worker has begun are played to their end, for nothing; the others are not begun."""
        if self._client.status == "running":
            self._executor.shutdown(wait=False)

    def close(self) -> None:
        """Leave the cluster as it was."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client.close()
        _set_levels(self._levels)


def _set_levels(levels: dict[str, int]) -> None:
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def _identify() -> Callable[[], dict[str, str]]:
    # A function in a function is sent as its code: so a worker without bothworlds can say what it lacks.
    def identity() -> dict[str, str]:
        from bothworlds.experiments.store import provenance  # noqa: PLC0415

        return provenance.identity()

    return identity


def _holds_the_lock(part: Any) -> bool:
    """Is it written in Python, which one thread runs at a time?"""
    return bool(getattr(part, "made_in_blocks", False) or getattr(part, "in_python", False))


def make_workers(executor: Any, jobs: Any, parts: list[Any]) -> Workers:
    """The workers that ``run_study`` was asked for; ``parts`` are environments and policies of the study."""
    if jobs is not None:
        jobs = _check.integer("jobs", jobs, at_least=1)
    if isinstance(executor, Executor):
        return GivenExecutor(executor, jobs)
    if isinstance(executor, str) and "://" in executor:
        return Cluster(executor)
    if executor is None:
        executor = "processes" if any(map(_holds_the_lock, parts)) else "threads"
    if executor not in NAMES:
        raise InvalidArgumentError(
            "executor",
            executor,
            "'threads', 'processes', the address of a dask scheduler such as 'tcp://host:8786', "
            "or a concurrent.futures.Executor",
        )
    jobs = provenance.cores() if jobs is None else jobs
    return Threads(jobs) if executor == "threads" else Processes(jobs)
