"""Playing what is missing of a study: ``run_study`` sends chunks to workers and keeps each that is done."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from bothworlds._progress import Progress
from bothworlds._words import clock, counted, some_are
from bothworlds.errors import StoreError, WorkerError
from bothworlds.experiments.experiment import Experiment
from bothworlds.experiments.plan import Forecast, nominal_costs
from bothworlds.experiments.run.kernels import FEW as FEW_KERNELS
from bothworlds.experiments.run.kernels import missing_kernels, precompile
from bothworlds.experiments.run.workers import Workers, make_task, make_workers
from bothworlds.experiments.store import StoreWriter, provenance
from bothworlds.experiments.store.chunk import final_regret

__all__ = ["FinishedBatch", "FinishedChunk", "Summary", "run_study"]

FEW = 3  # chunks that are named one by one
TICK = 0.5  # seconds between two looks at the clock


class FinishedBatch(NamedTuple):
    """Replications first … stop−1 of a cell: who played where, mean final regret, seconds in kernels."""

    policy: str
    environment: str
    horizon: int
    first: int
    stop: int
    regret: float
    seconds: float


class FinishedChunk(NamedTuple):
    """What ``on_chunk`` is told: the number of a chunk, how many are done and planned, what is in it."""

    number: int
    done: int
    planned: int
    batches: tuple[FinishedBatch, ...]


@dataclass(frozen=True)
class Summary:
    """What a run did. ``kernel_seconds`` is the processor time of the chunks it ran, compilation excluded."""

    path: Path
    chunks: int
    chunks_run: int
    chunks_set_aside: int
    seconds: float
    kernel_seconds: float

    @property
    def chunks_reused(self) -> int:
        """Those of earlier runs."""
        return self.chunks - self.chunks_run


def run_study(
    experiment: Experiment,
    out: str | PathLike[str],
    *,
    jobs: int | None = None,
    executor: Executor | str | None = None,
    command: Sequence[str] | None = None,
    progress: bool = True,
    on_chunk: Callable[[FinishedChunk], None] | None = None,
) -> Summary:
    """Play a study into a folder; if the folder holds a part of it, play only what is missing.

    The numbers are bit by bit the same for every number of workers, every executor, and after any number of
    interruptions: ``kill -9`` at any moment loses only the chunks that were being played.

    Parameters
    ----------
    experiment:
        From ``experiments.spec.read``.
    out:
        A new folder, an empty one, or one that holds this very study.
    jobs:
        How many workers on this machine; by default one per processor. With an executor of your own: how
        many it has, so that not more than twice as many chunks are under way.
    executor:
        "threads" (the default, unless a world is written in Python), "processes", the address of a dask
        scheduler ("tcp://host:8786"), or any ``concurrent.futures.Executor``, which stays open.
    command:
        What to remember as the command of this run; by default ``sys.argv``.
    progress:
        Whether to say on stderr how far it is.
    on_chunk:
        Called in this thread whenever a chunk has been played and saved, with a :class:`FinishedChunk`: to
        log it elsewhere, say. What it raises ends the run; the same command goes on from there.

    Returns
    -------
    Summary
        The folder, and what was done.

    Raises
    ------
    StoreError
        The folder holds something else, is in use, or cannot be written. What was saved is valid.
    WorkerError
        Workers do not answer, have another version, or a chunk killed its worker three times.
    KeyboardInterrupt, SystemExit
        After Ctrl-C and SIGTERM, when the chunks that were done are saved.

    Examples
    --------
    >>> from bothworlds.experiments.spec import parse
    >>> from bothworlds.experiments.run import run_study
    >>> experiment = parse('''
    ... horizon = 1000
    ... replications = 4
    ... [[policy]]
    ... kind = "ucb1"
    ... [[environment]]
    ... kind = "bernoulli"
    ... n_arms = 4
    ... gap = 0.2
    ... ''')
    >>> summary = run_study(experiment, "study", progress=False)
    >>> summary.chunks_run
    1
    >>> run_study(experiment, "study", progress=False).chunks_run
    0
    """
    experiment.load_modules()
    with StoreWriter(out, experiment) as store:
        missing = [number for number in range(len(store.plan)) if number not in store.done]
        with Progress("", 1.0, enabled=progress, lines=True) as display:
            for path, reason in store.set_aside[:FEW]:
                display.say(f"a chunk cannot be used: {reason}; moved to {path}, it is played again")
            if len(store.set_aside) > FEW:
                display.say(f"… and {counted(len(store.set_aside) - FEW, 'more chunk')} in the same way")
            if not missing:
                there = some_are(len(store.done), len(store.plan), "chunk")
                display.say(f"nothing to play: {there} in {store.path} already")
                return Summary(store.path, len(store.plan), 0, 0, 0.0, 0.0)
            entries = (*experiment.environments, *experiment.policies)
            workers = make_workers(executor, jobs, [entry.build() for entry in entries])
            try:
                record = provenance.run_record(
                    command, workers.jobs, workers.name, len(store.done), len(store.set_aside)
                )
                with _ending_in_order():
                    return _Run(experiment, store, workers, display, missing, record, on_chunk).run()
            finally:
                workers.close()


@contextlib.contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM, as batch systems send it, ends a run as Ctrl-C does, unless the program has its own way."""
    main = threading.current_thread() is threading.main_thread()
    ours = main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


class _Run:
    """The chunks that wait, those that are under way, and what became of the others."""

    def __init__(
        self,
        experiment: Experiment,
        store: StoreWriter,
        workers: Workers,
        display: Progress,
        missing: list[int],
        record: dict[str, Any],
        on_chunk: Callable[[FinishedChunk], None] | None,
    ) -> None:
        self.experiment, self.store, self.workers, self.display = experiment, store, workers, display
        self.cells, self.record, self.on_chunk = experiment.cells(), record, on_chunk
        self.missing, self.waiting = missing, deque(missing)
        self.under_way: dict[Future[bytes], int] = {}
        self.deaths: Counter[int] = Counter()
        self.compiling = True  # workers elsewhere: for all that is known here
        worlds = [entry.build() for entry in experiment.environments]
        self.forecast = Forecast(nominal_costs(experiment, worlds), [cell.policy for cell in self.cells])
        for info in store.done.values():
            self.forecast.learn(info, now=False)
        self.began = self.playing_since = self.next_look = time.monotonic()

    def run(self) -> Summary:
        """Everything, with a record of it in the manifest."""
        store, missing = self.store, self.missing
        many = counted(len(missing), "chunk")
        if store.done:
            many = f"{some_are(len(store.done), len(store.plan), 'chunk')} there, {len(missing)}"
        self.display.say(f"{many} to play on {self.workers.name}, into {store.path}")
        try:
            store.manifest["runs"].append(self.record)
            self.save(store.write_manifest)
            if self.workers.is_local and self.workers.jobs:
                needed = {batch.cell for number in missing for batch in store.plan[number]}
                wanted = missing_kernels(
                    self.experiment, [cell for cell in self.cells if cell.number in needed]
                )
                self.compiling = 0 < len(wanted) <= FEW_KERNELS  # the chunks that need them compile these
                say, step = self.display.say, self.display.step
                precompile(self.experiment, wanted, self.workers.jobs, say, step=step)
                self.display.restart()
                self.playing_since = time.monotonic()
            self.play()
        except BaseException as error:
            self.workers.stop()
            self.keep_what_is_done()
            self.finish()
            error.add_note(self.how_to_resume())
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                self.display.say(f"interrupted: {self.how_to_resume()}")
            raise
        summary = self.finish()
        played = time.monotonic() - self.playing_since
        self.display.say(f"{counted(summary.chunks_run, 'chunk')} played in {clock(played)}")
        return summary

    def play(self) -> None:
        """Until no chunk is missing."""
        while self.waiting or self.under_way:
            self.send()
            done, _ = wait(self.under_way, timeout=TICK, return_when=FIRST_COMPLETED)
            in_order = sorted(done, key=self.under_way.__getitem__)
            lost = [future for future in in_order if not self.take(future)]
            if lost:
                self.recover(lost)
            self.show()

    def send(self) -> None:
        """Keep the workers busy; chunks whose worker died go one at a time, to find the one at fault."""
        while self.waiting and len(self.under_way) < self.workers.under_way:
            alone = self.workers.lost_together and (
                self.deaths[self.waiting[0]] or any(self.deaths[n] for n in self.under_way.values())
            )
            if alone and self.under_way:
                return
            number = self.waiting.popleft()
            fingerprint = self.store.manifest["fingerprint"]
            task = make_task(number, self.store.plan[number], self.experiment, self.cells, fingerprint)
            try:
                self.under_way[self.workers.submit(task)] = number
            except self.workers.lost:  # the pool broke a moment ago: its futures tell, if it has any
                self.waiting.appendleft(number)
                if not self.under_way and not self.workers.rebuild():
                    raise
                return

    def take(self, future: Future[bytes]) -> bool:
        """Save a chunk that is done; False if its worker was lost."""
        number = self.under_way[future]
        try:
            content = future.result()
        except self.workers.lost:
            return False
        except Exception as error:
            error.add_note(f"this was chunk {self.name(number)}")
            raise
        self.save(lambda: self.store.write_chunk(number, content))
        del self.under_way[future]
        self.forecast.learn(self.store.done[number], now=True)
        if self.on_chunk is not None:
            self.on_chunk(self.finished(number, content))
        return True

    def finished(self, number: int, content: bytes) -> FinishedChunk:
        """What ``on_chunk`` is told of a chunk."""
        batches = []
        for batch, seconds in self.store.done[number].batches:
            cell = self.cells[batch.cell]
            policy = self.experiment.policies[cell.policy].label
            environment = self.experiment.environments[cell.environment].label
            regret = final_regret(content, batch.cell, cell.horizon)
            batches.append(
                FinishedBatch(policy, environment, cell.horizon, batch.first, batch.stop, regret, seconds)
            )
        return FinishedChunk(number, len(self.store.done), len(self.store.plan), tuple(batches))

    def save(self, write: Callable[[], None]) -> None:
        """Write; an error of the system, such as a full disk, becomes a ``StoreError``."""
        try:
            write()
        except OSError as error:
            raise StoreError(
                f"the folder {self.store.path} cannot be written: {error.strerror or error}; make room there"
            ) from error

    def recover(self, gone: list[Future[bytes]]) -> None:
        """After the loss of workers: new ones, and the chunks that were lost wait again."""
        if self.workers.lost_together:  # every chunk under way is lost, unless it was done
            self.keep_what_is_done()
            gone = list(self.under_way)
        lost = sorted(self.under_way.pop(future) for future in gone)
        self.deaths.update(lost)
        guilty = [number for number in lost if self.deaths[number] >= self.workers.max_losses]
        if self.workers.lost_together and len(lost) > 1:
            guilty = []  # it may have been another one: they will be played one at a time
        if guilty or not self.workers.rebuild():
            which = "; ".join(self.name(number) for number in (guilty or lost)[:3])
            raise WorkerError(
                f"workers died again and again on chunk {which}; is there enough memory? "
                f"({self.workers.name})"
                if guilty
                else f"{self.workers.what_was_lost()}, in the middle of chunk {which}"
            )
        self.display.say(
            f"a worker died; {counted(len(lost), 'chunk')} {'is' if len(lost) == 1 else 'are'} played again"
        )
        self.waiting.extendleft(reversed(lost))

    def keep_what_is_done(self) -> None:
        """Save results that have arrived, as far as that is possible."""
        for future in list(self.under_way):
            if future.done() and not future.cancelled() and future.exception() is None:
                with contextlib.suppress(StoreError):
                    self.take(future)

    def finish(self) -> Summary:
        """Complete the record of this run."""
        run = [number for number in self.missing if number in self.store.done]
        seconds = time.monotonic() - self.began
        kernel = sum(self.store.done[number].seconds for number in run)
        self.record |= {
            "finished": provenance.now(),
            "chunks_run": len(run),
            "seconds": round(seconds, 3),
            "kernel_seconds": round(kernel, 3),
        }
        with contextlib.suppress(OSError):  # a full disk was reported already; the chunks are what counts
            self.store.write_manifest()
        aside = len(self.store.set_aside)
        return Summary(self.store.path, len(self.store.plan), len(run), aside, seconds, kernel)

    def show(self) -> None:
        """Show how far the run is, at most every ``TICK`` seconds."""
        began = time.monotonic()
        if began < self.next_look:
            return
        left = [batch for n in (*self.waiting, *self.under_way.values()) for batch in self.store.plan[n]]
        done, planned = len(self.store.done), len(self.store.plan)
        note = "kernels compile the first time" if self.compiling else ""  # until a chunk is done
        if self.forecast.worked:
            seconds = self.forecast.time_left(left, self.display.elapsed, self.workers.jobs or 1)
            note = f"about {clock(seconds)} left"
        now = f", {self.where(min(self.under_way.values()))}" if self.under_way else ""
        self.display.show(done / planned, f"{done} of {counted(planned, 'chunk')}{now}", note)
        taken = time.monotonic() - began
        self.next_look = began + max(TICK, 20 * taken)  # with many cells the forecast takes time

    def name(self, number: int) -> str:
        """A chunk in words: its number, first cell and replications."""
        batches = self.store.plan[number]
        cell = self.cells[batches[0].cell]
        more = f" and {counted(len(batches) - 1, 'more cell')}" if len(batches) > 1 else ""
        return (
            f"{number} ({self.where(number)}, {counted(cell.horizon, 'round')}, "
            f"replications {batches[0].first} to {batches[0].stop - 1}{more})"
        )

    def where(self, number: int) -> str:
        """The first cell of a chunk: which policy, in which environment."""
        cell = self.cells[self.store.plan[number][0].cell]
        policy, environment = self.experiment.policies[cell.policy], self.experiment.environments
        return f"{policy.label} in {environment[cell.environment].label}"

    def how_to_resume(self) -> str:
        """What to do after an interruption."""
        return (
            f"{some_are(len(self.store.done), len(self.store.plan), 'chunk')} saved in {self.store.path}; "
            "run the same command again to play the others"
        )
