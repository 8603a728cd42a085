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

import contextlib
import json
import os
import queue
import secrets
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import Any, NamedTuple

import msgspec
import numpy as np

from bothworlds.bandit.keys import fill_with_key
from bothworlds.bandit.learner import CHANGES, Learner, engine
from bothworlds.bandit.pull import Label, label_of
from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.service import ids, problems
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
from bothworlds.service.settings import POOL, Settings, name_of
from bothworlds.service.store.base import (
    DEFAULT,
    DROPPED,
    REPORT,
    WITHDRAWN,
    BanditRow,
    DecisionRow,
    EntryRow,
    ReportRow,
    Store,
)

CHUNK = 20_000  # entries that are read at once
CONTEXT = 4096  # bytes
LOOKBACK = 60.0  # seconds: what a process with a slower clock was about to write when others swept
JUMP = 60.0  # seconds that a clock must differ from the steady one to be mistrusted


class Limits(NamedTuple):
    """What a hub allows itself."""

    max_queue: int = 5000
    """Requests that wait; more are refused."""
    max_wait: float = 2.0
    """Seconds that the oldest of them may have waited when another comes."""
    max_batch: int = 1000
    """Requests in one transaction."""
    max_recent: int = 100_000
    """Open decisions in memory; others are read when they are needed."""
    snapshot_every: int = 5000
    """Entries of the log between snapshots."""
    refresh: float = 0.1
    """Seconds after which an idle hub looks what others have written, and which deadlines are over."""
    sweep_every: float = 1.0
    """Seconds between two looks at deadlines."""


@dataclass(eq=False)
class Experiment:
    """An experiment in memory."""

    id: int
    name: str
    settings: Settings
    secret: bytes
    blank: Learner
    """One that has learned nothing, with the arms of now."""
    changes: list[tuple[int, str, Any]] = field(default_factory=list)
    """Position, kind and arm of each change that was not refused."""
    segments: dict[str, SegmentBandit] = field(default_factory=dict)


@dataclass(eq=False)
class SegmentBandit:
    """The bandit of one segment. Its learner is made when it is first needed."""

    id: int
    experiment: Experiment
    segment: str
    secret: bytes
    learner: Learner | None = None


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
    """

    def __init__(
        self,
        store: Store,
        project: str = "default",
        *,
        limits: Limits | None = None,
        clock: Any = time.time,
    ) -> None:
        self.limits = Limits() if limits is None else limits
        self.failure: BaseException | None = None
        self._store = store
        self._clock = clock
        row = store.project(name_of("project", project))
        self.project, self._id, self._secret = row.name, row.id, row.secret
        self._engine = store.engine(engine())
        self._experiments: dict[str, Experiment] = {}
        self._by_id: dict[int, Experiment] = {}
        self._bandits: dict[int, SegmentBandit] = {}
        self._open: OrderedDict[bytes, DecisionRow] = OrderedDict()
        self._touched: set[SegmentBandit] = set()  # since the last snapshot
        self._uniforms = np.empty(8)
        self._swept = row.swept
        self._sweep_at = 0.0
        self._steady = time.monotonic() - clock()
        self._doubted = False  # the last transaction: did it commit?
        self._begin(row.snapshot)
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._waiting = 0
        self._oldest = 0.0
        self._closing = False
        self._process = os.getpid()
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"bothworlds hub {project}", daemon=True)
        self._thread.start()

    # --- asking ---------------------------------------------------------------------------------------

    def submit(self, requests: Sequence[Request]) -> Future[list[Answer | problems.Problem]]:
        """Hand over requests; the future has an answer for each, or the problem that it met.

        Raises :class:`~bothworlds.service.problems.Overloaded` before any work.
        """
        if os.getpid() != self._process:
            raise problems.Closed("the process has forked: open it again in the child")
        job = _Job(list(requests), Future(), time.monotonic())
        with self._guard:
            if self.failure is not None:
                raise self._failed()
            if self._closing:
                raise problems.Closed("it was closed")
            waited = job.since - self._oldest if self._waiting else 0.0
            if self._waiting + len(job.requests) > self.limits.max_queue and self._waiting:
                raise problems.Overloaded(f"{self._waiting} requests wait")
            if waited > self.limits.max_wait:
                raise problems.Overloaded(f"the oldest request has waited for {waited:.1f} s")
            if not self._waiting:
                self._oldest = job.since
            self._waiting += len(job.requests)
            self._queue.put(job)
        return job.future

    def ask(self, request: Request) -> Any:
        """The answer to one request; raises the problem that it met."""
        (answer,) = self.submit([request]).result()
        if isinstance(answer, problems.Problem):
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
        made: bool = self.ask(Read(lambda: self._create(name, settings)))
        return made

    def experiments(self) -> dict[str, Settings]:
        """The settings of all experiments by name."""
        found: dict[str, Settings] = self.ask(
            Read(lambda: {name: one.settings for name, one in self._experiments.items()})
        )
        return found

    def learner(self, experiment: str, segment: str = "") -> Learner:
        """A copy of the learner of a segment, as of now; a fresh one where nothing was decided yet."""
        found: Learner = self.ask(Read(lambda: self._copy(experiment, segment)))
        return found

    @property
    def position(self) -> int:
        """The position of the log up to which has been learned."""
        return self._seen

    def sweep(self) -> int:
        """Close the decisions whose wait is over; how many. The hub does it by itself, every second."""
        closed: int = self.ask(Read(self._sweep))
        return closed

    def snapshot(self) -> None:
        """Keep the states of all learners that have moved. The hub does it by itself, now and then."""
        self.ask(Read(self._snapshot))

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
            if self.failure is None:
                self._keep_house(ended)
        with contextlib.suppress(problems.Problem):
            self._store.close()

    def _collect(self) -> tuple[list[_Job], bool]:
        """What waits, or nothing if nothing comes for a while; and whether that was the last."""
        jobs: list[_Job] = []
        count, ended = 0, False
        with contextlib.suppress(queue.Empty):
            job = self._queue.get(timeout=self.limits.refresh)
            while True:
                if job is None:
                    ended = True
                    break
                jobs.append(job)
                count += len(job.requests)
                if count >= self.limits.max_batch:
                    break
                job = self._queue.get_nowait()
        with self._guard:
            self._waiting -= count
            self._oldest = time.monotonic()
        return jobs, ended

    def _work(self, jobs: list[_Job]) -> None:
        requests = [request for job in jobs for request in job.requests]
        answers: list[Any]
        try:
            if self.failure is not None:
                raise self._failed()
            answers = self._answer(requests)
        except problems.Problem as problem:
            self._doubted = True
            if isinstance(problem, problems.StorageFailed):
                self.failure = problem
            answers = [problem] * len(requests)
        except BaseException as error:  # a defect: say so to everybody who waits, and stop
            self.failure = error
            answers = [self._failed()] * len(requests)
        begin = 0
        for job in jobs:
            end = begin + len(job.requests)
            if job.future.set_running_or_notify_cancel():
                job.future.set_result(answers[begin:end])
            begin = end

    def _failed(self) -> problems.StorageFailed:
        return problems.StorageFailed(f"stopped by {self.failure!r}: start again, which reads the log")

    def _keep_house(self, ended: bool) -> None:
        try:
            self._catch_up()
            if time.monotonic() >= self._sweep_at:
                self._sweep_at = time.monotonic() + self.limits.sweep_every
                self._sweep()
            if ended or self._seen - self._kept >= self.limits.snapshot_every:
                self._snapshot()
        except problems.StorageFailed as problem:
            self.failure = problem
        except problems.Problem:
            self._doubted = True
        except BaseException as error:
            self.failure = error

    # --- the log --------------------------------------------------------------------------------------

    def _begin(self, snapshot: int) -> None:
        """Experiments, bandits, and all that came after the last snapshot."""
        self._seen = self._kept = snapshot
        self._find_experiments()
        self._find_bandits()
        for experiment in self._by_id.values():
            self._recall(experiment)
        self._store.changed()
        self._catch_up(certainly=True)

    def _find_experiments(self) -> None:
        for row in self._store.experiments(self._id):
            if row.id not in self._by_id:
                settings = msgspec.json.decode(row.settings, type=Settings)
                made = Experiment(row.id, row.name, settings, row.secret, settings.learner())
                self._by_id[row.id] = self._experiments[row.name] = made

    def _find_bandits(self) -> None:
        for row in self._store.bandits(self._id):
            if row.id not in self._bandits:
                self._bandits[row.id] = made = self._bandit(row)
                made.experiment.segments[row.segment] = made

    def _bandit(self, row: BanditRow) -> SegmentBandit:
        if row.experiment not in self._by_id:
            self._find_experiments()
        experiment = self._by_id[row.experiment]
        secret = blake2b(row.segment.encode(), key=experiment.secret, digest_size=16).digest()
        return SegmentBandit(row.id, experiment, row.segment, secret)

    def _recall(self, experiment: Experiment) -> None:
        """The changes of arms up to here."""
        for entry in self._store.changes(self._id, experiment.id, self._seen):
            self._apply_change(experiment, entry)

    def _catch_up(self, *, certainly: bool = False) -> None:
        """Learn what others have written, and what we have if a commit was in doubt."""
        if not (self._store.changed() or self._doubted or certainly):
            return
        while entries := self._store.tail(self._id, self._seen, CHUNK):
            self._apply(entries)
        self._doubted = False

    def _apply(self, entries: Sequence[EntryRow]) -> None:
        """Learn entries, which follow on what was learned."""
        if entries[0].pos != self._seen + 1 or entries[-1].pos != self._seen + len(entries):
            raise StateError(
                f"the log of {self.project!r} has a gap between {self._seen} and {entries[-1].pos}"
            )
        outcomes: dict[int, tuple[list[bytes], list[float]]] = {}
        for entry in entries:
            if entry.bandit is None:
                self._learn(outcomes)
                self._apply_change(self._experiment_of(entry), entry)
            elif entry.kept is not None:
                tickets, kept = outcomes.setdefault(entry.bandit, ([], []))
                tickets.append(entry.ticket)  # type: ignore[arg-type]
                kept.append(entry.kept)
            if entry.decision is not None:
                self._open.pop(entry.decision, None)
        self._learn(outcomes)
        self._seen = entries[-1].pos

    def _learn(self, outcomes: dict[int, tuple[list[bytes], list[float]]]) -> None:
        for number, (tickets, kept) in outcomes.items():
            if number not in self._bandits:
                self._find_bandits()
            bandit = self._bandits[number]
            self._awake(bandit).learn(tickets, kept)
            self._touched.add(bandit)
        outcomes.clear()

    def _experiment_of(self, entry: EntryRow) -> Experiment:
        if entry.experiment not in self._by_id:
            self._find_experiments()
        return self._by_id[entry.experiment]

    def _apply_change(self, experiment: Experiment, entry: EntryRow) -> None:
        """Let arms change in all segments; what was refused at its place in the log changes nothing."""
        arm = label_of(json.loads(entry.body or "null"))
        try:
            experiment.blank.change(entry.kind, arm)
        except InvalidArgumentError:
            return
        experiment.changes.append((entry.pos, entry.kind, arm))
        for bandit in experiment.segments.values():
            if bandit.learner is not None:
                bandit.learner.change(entry.kind, arm)
                self._touched.add(bandit)

    def _awake(self, bandit: SegmentBandit) -> Learner:
        """The learner of a bandit, made of its last snapshot if it has none: nothing came since."""
        if bandit.learner is None:
            bandit.learner = self._restored(bandit)
        return bandit.learner

    def _restored(self, bandit: SegmentBandit) -> Learner:
        learner, at = bandit.experiment.settings.learner(), 0
        incomplete = False  # is the state older than what this bandit was told?
        for snapshot in self._store.snapshots(bandit.id):
            if snapshot.pos > self._seen:  # by a process that is ahead
                incomplete = True
            elif sha256(snapshot.state).digest() == snapshot.sha256:
                learner, at = Learner.load(snapshot.state), snapshot.pos
                break
            else:
                incomplete = True
                warnings.warn(
                    f"the snapshot of bandit {bandit.id} at {snapshot.pos} is damaged; it is made again",
                    RuntimeWarning,
                    stacklevel=1,
                )
        changes = iter([change for change in bandit.experiment.changes if change[0] > at])
        upcoming = next(changes, None)
        while incomplete and (rows := self._store.tail(self._id, at, CHUNK, bandit=bandit.id)):
            for row in rows:
                if row.pos > self._seen:
                    incomplete = False
                    break
                while upcoming is not None and upcoming[0] < row.pos:
                    learner.change(*upcoming[1:])
                    upcoming = next(changes, None)
                if row.kept is not None:
                    learner.learn([row.ticket], [row.kept])  # type: ignore[list-item]
                at = row.pos
        while upcoming is not None:
            learner.change(*upcoming[1:])
            upcoming = next(changes, None)
        return learner

    def _snapshot(self) -> None:
        """Keep the states that have moved since the last time."""
        states = {bandit.id: self._awake(bandit).dump() for bandit in self._touched}
        if states:
            with self._store.write(self._id, log=False):
                self._store.insert_snapshots(self._id, self._seen, self._engine, states, self._swept)
        self._touched.clear()
        self._kept = self._seen

    # --- a batch --------------------------------------------------------------------------------------

    def _answer(self, requests: Sequence[Request]) -> list[Any]:
        self._catch_up()
        batch = _Batch(self._clock())
        answers: list[Any] = [None] * len(requests)
        self._prepare(requests, batch)
        for i, request in enumerate(requests):
            try:
                answers[i] = self._plan(request, batch)
            except problems.Problem as problem:
                answers[i] = problem
            except InvalidArgumentError as error:
                answers[i] = problems.InvalidRequest(error)
        if batch.drawn or batch.closings or batch.changes:
            self._commit(batch)
        return [answer.settle() if isinstance(answer, _Pending) else answer for answer in answers]

    def _prepare(self, requests: Sequence[Request], batch: _Batch) -> None:
        """Read at once what many will need: decisions that are not in memory."""
        wanted = set()
        for request in requests:
            if isinstance(request, (Report, Withdraw)):
                with contextlib.suppress(InvalidArgumentError):
                    identity = ids.bytes_of(request.id)
                    if identity not in self._open:
                        wanted.add(identity)
        if wanted:
            batch.known = self._store.decisions(self._id, wanted)

    def _plan(self, request: Request, batch: _Batch) -> Any:
        match request:
            case Decide():
                return self._plan_decision(request, batch)
            case Report():
                return self._plan_report(request, batch)
            case Withdraw():
                return self._plan_closing(self._find(request.id, batch), WITHDRAWN, None, batch)
            case Change():
                return self._plan_change(request, batch)
            case Read():
                return request.function()
        raise InvalidArgumentError("request", request, "a request")

    def _named(self, name: str) -> Experiment:
        if name not in self._experiments:
            self._find_experiments()
        if name not in self._experiments:
            raise problems.UnknownExperiment(f"no experiment is called {name!r}", experiment=name)
        return self._experiments[name]

    def _segment(self, experiment: Experiment, segment: str) -> SegmentBandit:
        """The bandit of a segment, made if there is none, or the pool if there are too many."""
        name_of("segment", segment, empty=True)
        for name in (segment, POOL):
            if name in experiment.segments:
                return experiment.segments[name]
            self._find_bandits()  # another process may have made it
            if name not in experiment.segments and (
                name == POOL or len(experiment.segments) < experiment.settings.max_segments
            ):
                self._store.insert_bandits(self._id, [(experiment.id, name)], self._clock())
                self._find_bandits()
            if name in experiment.segments:
                return experiment.segments[name]
        raise AssertionError("a pool was made")

    def _plan_decision(self, request: Decide, batch: _Batch) -> _Pending:
        experiment = self._named(request.experiment)
        bandit = self._segment(experiment, request.segment)
        unit = None if request.unit is None else ids.of_unit(self._secret, name_of("unit", request.unit))
        if request.context is not None and len(request.context) > CONTEXT:
            wanted = f"at most {CONTEXT} bytes"
            raise InvalidArgumentError("context", request.context, wanted, got=f"{len(request.context)}")
        if request.id is not None:
            identity = ids.bytes_of(request.id)
        elif experiment.settings.sticky and unit is not None:
            identity = ids.of_unit(bandit.secret, str(request.unit))
        else:
            identity = ids.new()
        pending = _PendingDecision(identity, bandit, unit, self, batch)
        if identity in batch.drawn or identity in self._open:
            return pending
        learner = self._awake(bandit)
        uniforms = self._uniforms[: learner.draws]
        fill_with_key(bandit.secret, identity, uniforms)
        draw = learner.decide(uniforms, among=request.among)
        due = None if experiment.settings.wait is None else batch.now + experiment.settings.wait
        batch.drawn[identity] = DecisionRow(
            identity,
            bandit.id,
            draw.arm,
            draw.probability,
            draw.ticket,
            self._seen,
            self._engine,
            batch.now,
            due,
            unit,
            request.context,
        )
        return pending

    def _find(self, text: str, batch: _Batch) -> DecisionRow:
        identity = ids.bytes_of(text)
        row = self._open.get(identity) or batch.known.get(identity)
        if row is None:
            raise problems.UnknownDecision(f"no decision has the id {text}", id=text)
        return row

    def _plan_report(self, request: Report, batch: _Batch) -> _Pending:
        if (request.reward is None) == (request.loss is None):
            got = "neither" if request.reward is None else "both"
            raise InvalidArgumentError("reward", request.reward, "given, or loss, and not both", got=got)
        row = self._find(request.id, batch)
        word, value = ("reward", request.reward) if request.loss is None else ("loss", request.loss)
        if row.bandit not in self._bandits:
            self._find_bandits()
        experiment = self._bandits[row.bandit].experiment
        return self._plan_closing(row, REPORT, experiment.blank.take(word, value), batch)

    def _plan_closing(self, row: DecisionRow, kind: str, kept: float | None, batch: _Batch) -> _Pending:
        if row.bandit not in self._bandits:
            self._find_bandits()
        pending = _PendingClosing(row, kind, kept, self, batch)
        batch.closings.append(pending)
        return pending

    def _plan_change(self, request: Change, batch: _Batch) -> _Pending:
        experiment = self._named(request.experiment)
        if request.what not in CHANGES:
            raise InvalidArgumentError("what", request.what, f"one of {', '.join(CHANGES)}")
        trial = Learner.load(experiment.blank.dump())
        trial.change(request.what, request.arm)  # refused before it is written
        pending = _PendingChange(experiment, request)
        batch.changes.append(pending)
        return pending

    def _commit(self, batch: _Batch) -> None:
        """Write everything in one transaction, then learn it."""
        log = bool(batch.closings or batch.changes)
        with self._store.write(self._id, log=log) as head:
            if batch.drawn:
                new = self._store.insert_decisions(self._id, list(batch.drawn.values()))
                if len(new) < len(batch.drawn):
                    batch.stored = self._store.decisions(self._id, batch.drawn.keys() - new)
            entries = self._entries(batch, head) if log else []
            self._store.insert_entries(self._id, entries)
            self._store.insert_reports(self._id, list(batch.reports.values()))
        for identity, row in batch.drawn.items():
            if identity not in batch.stored:
                self._remember(row)
        if entries:
            if head != self._seen:  # others were faster
                self._catch_up(certainly=True)
            else:
                self._apply(entries)

    def _entries(self, batch: _Batch, head: int) -> list[EntryRow]:
        """What is new of a batch, as entries of the log, and as reports that wait or are late."""
        wanted = {closing.row.id for closing in batch.closings}
        batch.closed = self._store.closings(self._id, wanted)
        batch.reported = self._store.reports(self._id, wanted)
        entries: list[EntryRow] = []
        for closing in batch.closings:
            entry = closing.entry(head + len(entries) + 1)
            if entry is not None:
                entries.append(entry)
        for change in batch.changes:
            entry = change.entry(head + len(entries) + 1, batch.now)
            entries.append(entry)
        return entries

    def _remember(self, row: DecisionRow) -> None:
        self._open[row.id] = row
        if len(self._open) > self.limits.max_recent:
            self._open.popitem(last=False)

    def _decision(self, row: DecisionRow, *, repeated: bool) -> Decision:
        bandit = self._bandits[row.bandit]
        if row.seen > self._seen:  # made by a process that is ahead, perhaps of an arm that is new
            self._catch_up(certainly=True)
        labels = bandit.experiment.blank.labels
        return Decision(
            ids.text_of(row.id),
            bandit.experiment.name,
            bandit.segment,
            labels[row.arm],
            labels[Learner.observed(row.ticket)],
            row.probability,
            row.seen,
            row.made,
            row.due,
            repeated,
        )

    # --- experiments ----------------------------------------------------------------------------------

    def _create(self, name: str, settings: Settings) -> bool:
        text = settings.to_json()
        made = name not in self._experiments and self._store.insert_experiment(
            self._id, name, text, secrets.token_bytes(16), self._clock()
        )
        there = self._named(name).settings
        if there != settings:
            differ = [
                key for key in settings.__struct_fields__ if getattr(there, key) != getattr(settings, key)
            ]
            raise problems.ExperimentExists(
                f"the experiment {name!r} is there with other settings: {', '.join(differ)}",
                experiment=name,
                differ=differ,
            )
        return made

    def _copy(self, experiment: str, segment: str) -> Learner:
        found = self._named(experiment)
        if segment not in found.segments:
            self._find_bandits()
        source = self._awake(found.segments[segment]) if segment in found.segments else found.blank
        return Learner.load(source.dump())

    # --- deadlines ------------------------------------------------------------------------------------

    def _sweep(self) -> int:
        """Close decisions whose wait is over: with what was reported, with the default, or unlearned."""
        waits = [one.settings.wait for one in self._by_id.values() if one.settings.wait is not None]
        if not waits:
            return 0
        now = self._clock()
        if abs(time.monotonic() - now - self._steady) > JUMP:
            warnings.warn("the clock has jumped: deadlines wait for one more", RuntimeWarning, stacklevel=1)
            self._steady = time.monotonic() - now
            self._sweep_at = time.monotonic() + max(waits)
            return 0
        closed = 0
        while rows := self._store.due(self._id, self._swept - LOOKBACK, now, self.limits.max_batch):
            batch = _Batch(now)
            self._find_bandits()
            with self._store.write(self._id, log=True) as head:
                batch.closed = self._store.closings(self._id, [row.id for row in rows])
                batch.reported = self._store.reports(self._id, [row.id for row in rows])
                fresh = [row for row in rows if row.id not in batch.closed]
                entries = [self._overdue(row, head + 1 + i, batch) for i, row in enumerate(fresh)]
                self._store.insert_entries(self._id, entries)
            if entries and head == self._seen:
                self._apply(entries)
            else:
                self._catch_up(certainly=True)
            closed += len(entries)
        self._swept = now
        return closed

    def _overdue(self, row: DecisionRow, pos: int, batch: _Batch) -> EntryRow:
        bandit = self._bandits[row.bandit]
        experiment = bandit.experiment
        report, missing = batch.reported.get(row.id), experiment.settings.missing
        kind, kept = DROPPED, None
        if report is not None:
            kind, kept = REPORT, report.kept
        elif missing is not None:
            kind, kept = DEFAULT, experiment.blank.take("reward", missing)
        return EntryRow(pos, kind, experiment.id, row.bandit, row.id, kept, row.ticket, batch.now, None)


# --- what is under way ----------------------------------------------------------------------------------


class _Job(NamedTuple):
    """Requests of one caller."""

    requests: list[Request]
    future: Future[list[Any]]
    since: float


class _Batch:
    """Requests of one transaction, and what was found there."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.known: dict[bytes, DecisionRow] = {}  # decisions that were read
        self.drawn: dict[bytes, DecisionRow] = {}  # to be written
        self.stored: dict[bytes, DecisionRow] = {}  # of those, the ones that were there before
        self.closings: list[_PendingClosing] = []
        self.closed: dict[bytes, EntryRow] = {}  # by entries of before, then of this batch too
        self.reported: dict[bytes, ReportRow] = {}  # likewise
        self.reports: dict[bytes, ReportRow] = {}  # to be written
        self.changes: list[_PendingChange] = []


class _Pending:
    """An answer that is known when the batch is on disk."""

    def settle(self) -> Any:
        """The answer, or a problem."""
        raise NotImplementedError


class _PendingDecision(_Pending):
    def __init__(
        self, identity: bytes, bandit: SegmentBandit, unit: bytes | None, hub: Hub, batch: _Batch
    ) -> None:
        self.identity, self.bandit, self.unit = identity, bandit, unit
        self.hub, self.batch = hub, batch
        self.first = identity not in batch.drawn and identity not in hub._open
        self.row = hub._open.get(identity)

    def settle(self) -> Decision | problems.Problem:
        row = self.batch.stored.get(self.identity) or self.row or self.batch.drawn[self.identity]
        if row.bandit != self.bandit.id or (self.unit is not None and row.unit != self.unit):
            text = ids.text_of(self.identity)
            return problems.IdReused(
                f"the id {text} belongs to a decision of another experiment, segment or unit", id=text
            )
        return self.hub._decision(row, repeated=not self.first or self.identity in self.batch.stored)


class _PendingClosing(_Pending):
    def __init__(self, row: DecisionRow, kind: str, kept: float | None, hub: Hub, batch: _Batch) -> None:
        self.row, self.kind, self.kept = row, kind, kept
        self.hub, self.batch = hub, batch
        self.answer: Outcome | problems.Problem | None = None

    def entry(self, pos: int) -> EntryRow | None:
        """The entry that closes the decision, unless it is closed, or waits for its deadline."""
        batch, row = self.batch, self.row
        bandit = self.hub._bandits[row.bandit]
        text = ids.text_of(row.id)
        closing, report = batch.closed.get(row.id), batch.reported.get(row.id)
        if closing is not None and closing.kind in (DEFAULT, DROPPED) and self.kept is not None:
            self._late(text, closing, report)
            return None
        if closing is not None or report is not None:
            self.answer = self._again(text, closing, report)
            return None
        if self.kept is not None and bandit.experiment.settings.learn_at == "deadline":
            batch.reports[row.id] = batch.reported[row.id] = ReportRow(row.id, self.kept, batch.now, False)
            self.answer = Outcome(text, learned=False, reason="waiting")
            return None
        made = EntryRow(
            pos, self.kind, bandit.experiment.id, row.bandit, row.id, self.kept, row.ticket, batch.now, None
        )
        batch.closed[row.id] = made
        return made

    def _late(self, text: str, closing: EntryRow, report: ReportRow | None) -> None:
        if report is not None and report.kept != self.kept:
            self.answer = self._exists(text, report.kept)
            return
        if report is None:
            assert self.kept is not None
            late = ReportRow(self.row.id, self.kept, self.batch.now, True)
            self.batch.reports[self.row.id] = self.batch.reported[self.row.id] = late
        self.answer = Outcome(
            text, learned=False, reason="late", position=closing.pos, repeated=report is not None
        )

    def _again(
        self, text: str, closing: EntryRow | None, report: ReportRow | None
    ) -> Outcome | problems.Problem:
        """The same as before, or a contradiction."""
        if closing is None:
            assert report is not None
            if self.kept != report.kept:
                return self._exists(text, report.kept)
            return Outcome(text, learned=False, reason="waiting", repeated=True)
        if self.kept is None:
            if closing.kind == WITHDRAWN:
                return Outcome(text, False, "withdrawn", closing.pos, repeated=True)
            return self._exists(text, closing.kept)
        if closing.kept != self.kept:
            return self._exists(text, closing.kept)
        return Outcome(text, learned=True, position=closing.pos, repeated=True)

    def _exists(self, text: str, kept: float | None) -> problems.Problem:
        stored = None if kept is None else self.hub._bandits[self.row.bandit].experiment.blank.value_of(kept)
        said = "it was closed without one" if stored is None else f"the reward {stored:g} is stored"
        return problems.OutcomeExists(
            f"the decision {text} has had its outcome: {said}", id=text, reward=stored
        )

    def settle(self) -> Outcome | problems.Problem:
        if self.answer is not None:
            return self.answer
        entry = self.batch.closed[self.row.id]
        text = ids.text_of(self.row.id)
        if self.kept is None:
            return Outcome(text, False, "withdrawn", entry.pos)
        learner = self.hub._bandits[self.row.bandit].learner
        if learner is not None and learner.frozen:
            return Outcome(text, False, "frozen", entry.pos)
        return Outcome(text, learned=True, position=entry.pos)


class _PendingChange(_Pending):
    def __init__(self, experiment: Experiment, request: Change) -> None:
        self.experiment, self.request = experiment, request
        self.pos = 0

    def entry(self, pos: int, now: float) -> EntryRow:
        """The entry that changes arms."""
        self.pos = pos
        body = json.dumps(self.request.arm)
        return EntryRow(pos, self.request.what, self.experiment.id, None, None, None, None, now, body)

    def settle(self) -> Changed | problems.Problem:
        if not any(pos == self.pos for pos, _, _ in self.experiment.changes):
            wanted = "possible when it was its turn"
            return problems.InvalidRequest(InvalidArgumentError("arm", self.request.arm, wanted))
        blank = self.experiment.blank
        return Changed(self.experiment.name, blank.arms, blank.disabled, blank.retired, self.pos)
