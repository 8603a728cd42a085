"""The hub of a project: one thread that decides, writes down, learns, and answers, in that order.

Requests collect while a batch is on its way to the disk, and are the next batch: one commit for all of them,
without a timer. Only this thread touches learners and store, so that nothing needs a lock:

1. what other processes have added to the log is learned,
2. decisions are drawn, from what is committed,
3. decisions, outcomes and changes of arms are written in one transaction,
4. what was written is learned,
5. all are answered.

A learner is a function of the log (:mod:`bothworlds.bandit.learner`), a decision one of the learner and of
the hash of its id. So nobody has to agree with anybody on anything but the order of the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeAlias

from bothworlds.bandit.learner import Learner
from bothworlds.bandit.pull import Label
from bothworlds.service import problems
from bothworlds.service.batch import RequestBatch
from bothworlds.service.messages import (
    Answer,
    Change,
    Changed,
    Decide,
    Decision,
    Outcome,
    Read,
    Report,
    Request,
    Withdraw,
)
from bothworlds.service.replica import Replica
from bothworlds.service.settings import Settings, name_of
from bothworlds.service.store.base import ServiceStore
from bothworlds.service.sweeping import Sweeper


class HubLimits(NamedTuple):
    """Bounds on the queue, the memory and the pauses of a hub."""

    max_queue: int = 5000
    """Requests that wait; more are refused."""
    max_wait: float = 2.0
    """Seconds that the oldest of them may have waited when another comes."""
    max_batch: int = 1000
    """Requests in one transaction."""
    remembered: int = 100_000
    """Open decisions in memory; others are read when they are needed."""
    max_open: int | None = None
    """Open decisions of the project; no more are made until some are closed. None: they are not counted."""
    snapshot_every: int = 5000
    """Entries of the log between snapshots."""
    refresh: float = 0.1
    """Seconds after which an idle hub looks what others have written, and which deadlines are over."""
    sweep_every: float = 1.0
    """Seconds between two looks at deadlines."""


class Hub:
    """Decide and learn for the experiments of one project, durably.

    Parameters
    ----------
    store:
        Where everything is kept. The hub closes it.
    project:
        The name of the project; made if there is none.
    limits:
        How much may wait, and how often things are done.
    clock:
        The time in seconds since 1970; for tests of clocks that jump.

    Notes
    -----
    Calls may come from any thread; :meth:`submit` does not wait. After a failed ``fsync`` nothing is done any
    more (:attr:`failure`): what is on disk is not known, until the log is read again.

    Examples
    --------
    >>> from bothworlds.service.hub import Hub
    >>> from bothworlds.service.settings import checked_settings
    >>> from bothworlds.service.store import open_store
    >>> hub = Hub(open_store("sqlite:///shop.db"))
    >>> hub.create("button", checked_settings(["blue", "green"], "tsallis-inf"))
    True
    >>> decision = hub.decide("button", unit="u-42")
    >>> hub.report(decision.id, reward=1.0).learned
    True
    >>> hub.close()
    """

    def __init__(
        self,
        store: ServiceStore,
        project: str = "default",
        *,
        limits: HubLimits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.limits = HubLimits() if limits is None else limits
        self.failure: BaseException | None = None
        self.on_batch: Callable[[int, float], None] = lambda size, seconds: None
        """Called after each batch, in the thread of the hub, for those who measure."""
        self._clock = clock
        try:
            self._replica = Replica(
                store,
                project,
                remembered=self.limits.remembered,
                max_open=self.limits.max_open,
                snapshot_every=self.limits.snapshot_every,
            )
            self._replica.count_open(clock())
        except BaseException:
            store.close()
            raise
        self._sweeper = Sweeper(self._replica, clock, self.limits.sweep_every)
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._waiting = 0
        self._oldest = 0.0
        self._closing = False
        self._process = os.getpid()
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"bothworlds hub {project}", daemon=True)
        self._thread.start()

    # --- asking ---------------------------------------------------------------------------------------

    def submit(self, requests: Sequence[Request]) -> Future[list[Answer | problems.ServiceError]]:
        """Hand over requests; the future has an answer for each, or the problem that it met.

        Raises :class:`~bothworlds.service.problems.OverloadedError` before any work.
        """
        future: Future[list[Answer | problems.ServiceError]] = Future()
        self._enqueue(_Job(list(requests), future, time.monotonic()))
        return future

    async def answers(self, requests: Sequence[Request]) -> list[Answer | problems.ServiceError]:
        """The same for ``asyncio``, which hears of all answers of a batch at once."""
        future: asyncio.Future[list[Answer | problems.ServiceError]] = (
            asyncio.get_running_loop().create_future()
        )
        self._enqueue(_Job(list(requests), future, time.monotonic()))
        return await future

    def _enqueue(self, job: _Job) -> None:
        if os.getpid() != self._process:
            raise problems.ClosedError("the process has forked: open it again in the child")
        with self._guard:
            if self.failure is not None:
                raise self._failed()
            if self._closing:
                raise problems.ClosedError("it was closed")
            waited = job.since - self._oldest if self._waiting else 0.0
            if self._waiting + len(job.requests) > self.limits.max_queue and self._waiting:
                raise problems.OverloadedError(f"{self._waiting} requests wait")
            if waited > self.limits.max_wait:
                raise problems.OverloadedError(f"the oldest request has waited for {waited:.1f} s")
            if not self._waiting:
                self._oldest = job.since
            self._waiting += len(job.requests)
            self._queue.put(job)

    def ask(self, request: Request) -> Any:
        """The answer to one request; raises the problem that it met."""
        (answer,) = self.submit([request]).result()
        if isinstance(answer, problems.ServiceError):
            raise answer
        return answer

    def decide(self, experiment: str, **options: Any) -> Decision:
        """Choose an arm; options are those of :class:`~bothworlds.service.messages.Decide`."""
        made: Decision = self.ask(Decide(experiment, **options))
        return made

    def report(self, id: str, *, reward: float | None = None, loss: float | None = None) -> Outcome:
        """Learn the outcome of a decision."""
        outcome: Outcome = self.ask(Report(id, reward=reward, loss=loss))
        return outcome

    def withdraw(self, id: str) -> Outcome:
        """Close a decision without learning."""
        outcome: Outcome = self.ask(Withdraw(id))
        return outcome

    def change(self, experiment: str, what: Any, arm: Label | None = None) -> Changed:
        """Add, retire, disable or enable an arm in all segments, or restart them."""
        changed: Changed = self.ask(Change(experiment, what, arm))
        return changed

    def create(self, name: str, settings: Settings) -> bool:
        """Make an experiment; False if it is there with the same settings, a problem if with others."""
        name_of("name", name)
        made: bool = self.ask(Read(lambda: self._replica.create(name, settings, self._clock())))
        return made

    def experiments(self) -> dict[str, Settings]:
        """The settings of all experiments by name."""
        found: dict[str, Settings] = self.ask(Read(self._replica.settings))
        return found

    def learner(self, experiment: str, segment: str = "") -> Learner:
        """A copy of the learner of a segment, as of now; a fresh one where nothing was decided yet."""
        found: Learner = self.ask(Read(lambda: self._replica.copy(experiment, segment)))
        return found

    @property
    def replica(self) -> Replica:
        """What is in memory; for functions that are called by way of :class:`Read`."""
        return self._replica

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return self._waiting

    @property
    def position(self) -> int:
        """The position of the log up to which has been learned."""
        return self._replica.position

    @property
    def divergences(self) -> int:
        """How often a state was not that which another process had kept: engines that are not the same."""
        return self._replica.divergences

    def sweep(self) -> int:
        """Close the decisions whose wait is over; how many. The hub does it by itself, every second."""
        closed: int = self.ask(Read(self._sweeper.sweep))
        return closed

    def snapshot(self) -> None:
        """Keep the states of all learners that have moved. The hub does it by itself, now and then."""
        self.ask(Read(self._replica.snapshot))

    def close(self) -> None:
        """Answer what waits, keep a snapshot, close the store."""
        with self._guard:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        if os.getpid() == self._process:
            self._thread.join()

    # --- the thread -----------------------------------------------------------------------------------

    def _run(self) -> None:
        ended = False
        while not ended:
            jobs, ended = self._collect()
            if jobs:
                self._work(jobs)
            self._keep_house(ended, idle=not jobs)
        with contextlib.suppress(problems.ServiceError):
            self._replica.store.close()

    def _collect(self) -> tuple[list[_Job], bool]:
        """What waits, or nothing if nothing comes for a while; and whether that was the last."""
        jobs: list[_Job] = []
        count, ended = 0, False
        with contextlib.suppress(queue.Empty):
            job = self._queue.get(timeout=self.limits.refresh)
            while job is not None:
                jobs.append(job)
                count += len(job.requests)
                if count >= self.limits.max_batch:
                    break
                job = self._queue.get_nowait()
            ended = job is None
        with self._guard:
            self._waiting -= count
            self._oldest = time.monotonic()
        return jobs, ended

    def _work(self, jobs: list[_Job]) -> None:
        requests = [request for job in jobs for request in job.requests]
        answers: list[Any] = []

        def answer() -> None:
            if self.failure is not None:
                raise self._failed()
            self._replica.catch_up()
            answers.extend(RequestBatch(self._replica, self._clock()).answer(requests))

        began = time.perf_counter()
        problem = self._attempt(answer)
        self.on_batch(len(requests), time.perf_counter() - began)
        if problem is not None:
            answers = [problem] * len(requests)
        begin = 0
        awaited: defaultdict[asyncio.AbstractEventLoop, list[_Answered]] = defaultdict(list)
        for job in jobs:
            end = begin + len(job.requests)
            found, begin = answers[begin:end], end
            if not isinstance(job.future, Future):
                awaited[job.future.get_loop()].append((job.future, found))
            elif job.future.set_running_or_notify_cancel():
                job.future.set_result(found)
        for loop, answered in awaited.items():  # waking it is what costs, so once
            with contextlib.suppress(RuntimeError):  # it is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, answered)

    def _keep_house(self, ended: bool, *, idle: bool) -> None:
        """Between batches: what others wrote, deadlines, snapshots."""

        def keep() -> None:
            replica = self._replica
            if idle or ended:  # else the next batch does
                replica.catch_up()
            self._sweeper.sweep_if_due()
            replica.count_open(self._clock())
            overdue = replica.position - replica.snapshot_position >= 2 * self.limits.snapshot_every
            replica.snapshot(now=ended or overdue)

        if self.failure is None:
            self._attempt(keep)

    def _attempt(self, function: Callable[[], None]) -> problems.ServiceError | None:
        """Call it; the problem that it met, if any. What must not be tried again is the end."""
        try:
            function()
        except problems.StorageFailedError as problem:
            self.failure = self.failure or problem
            return problem
        except problems.ServiceError as problem:
            self._replica.doubted = True
            return problem
        except BaseException as error:  # a defect: nobody knows what was half done
            self.failure = error
            return self._failed()
        return None

    def _failed(self) -> problems.StorageFailedError:
        return problems.StorageFailedError(f"stopped by {self.failure!r}: start again, which reads the log")


class _Job(NamedTuple):
    """Requests of one caller."""

    requests: list[Request]
    future: Future[list[Any]] | asyncio.Future[list[Any]]
    since: float


_Answered: TypeAlias = tuple[asyncio.Future[list[Any]], list[Any]]


def _settle(answered: list[_Answered]) -> None:
    """Hand over answers, in the thread of those who wait for them, if they still do."""
    for future, answers in answered:
        if not future.done():
            future.set_result(answers)
