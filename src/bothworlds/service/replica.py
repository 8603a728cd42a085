"""A project in memory: its experiments and their learners, as of a position of the log."""

from __future__ import annotations

import json
import math
import secrets
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from operator import itemgetter
from typing import Any

import msgspec

from bothworlds.bandit.learner import Learner, engine, learn_all
from bothworlds.bandit.pull import label_of
from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.service import ids, problems
from bothworlds.service.counting import OpenDecisions
from bothworlds.service.messages import Decision
from bothworlds.service.settings import POOL, Settings, name_of
from bothworlds.service.store.base import SETTINGS, BanditRow, DecisionRow, EntryRow, ServiceStore

DAY = 86_400.0  # seconds
YOUNG = 3600.0  # seconds for which decisions are kept in any case
CHUNK = 1000  # entries that are read at once: as many as caches hold
LARGEST = 512_000  # the same, where they are of many bandits
FEW = 20  # of one bandit, among those


@dataclass(eq=False)
class LiveExperiment:
    """An experiment in memory."""

    id: int
    name: str
    settings: Settings
    secret: bytes
    created: float
    """Seconds since 1970."""
    fresh: Learner
    """As it was made; never changed."""
    blank: Learner
    """One that has learned nothing, with the arms of now."""
    version: int = 0
    """The position of the last change of arms or settings."""
    archived: bool = False
    """Are no more decisions made?"""
    changes: list[tuple[int, str, Any]] = field(default_factory=list)
    """Position, kind and arm of each change that was not refused."""
    segments: dict[str, SegmentBandit] = field(default_factory=dict)

    def restarts_before(self, position: int) -> int:
        """How often it had been restarted before this position of the log."""
        return sum(what == "restart" and at < position for at, what, _ in self.changes)


@dataclass(eq=False)
class SegmentBandit:
    """The bandit of one segment. Its learner is made when it is first needed."""

    id: int
    experiment: LiveExperiment
    segment: str
    secret: bytes
    learner: Learner | None = None


class Replica:
    """All that can be known from the log up to :attr:`position`, and the decisions that were made lately.

    Parameters
    ----------
    store:
        Where the log is.
    project:
        The name of the project; made if there is none.
    remembered:
        So many open decisions are kept in memory; others are read when they are needed.
    max_open:
        So many decisions may be open; None: they are not counted.
    snapshot_every:
        States are kept where the position is a multiple of this: all processes keep them at the same places,
        and so find out whether they differ.

    Notes
    -----
    For one thread. A bandit without a learner in memory has no entry since its last snapshot: its
    learner is made of that when it is first needed.
    """

    def __init__(
        self,
        store: ServiceStore,
        project: str,
        *,
        remembered: int,
        max_open: int | None = None,
        snapshot_every: int = 5000,
    ) -> None:
        self.store = store
        row = store.project(name_of("project", project))
        self.project, self.id, self.secret, self.swept = row.name, row.id, row.secret, row.swept
        self.engine = store.engine(engine())
        self.experiments: dict[str, LiveExperiment] = {}
        self.bandits: dict[int, SegmentBandit] = {}
        self.open: OrderedDict[bytes, DecisionRow] = OrderedDict()
        self.doubted = False
        """Was a transaction cut off, so that nobody knows whether it was committed?"""
        self.divergences = 0
        """How often a state was not that which another process had kept."""
        self._max_open = max_open
        self._counted = None if max_open is None else OpenDecisions(store, row)
        self._remembered = remembered
        self._snapshot_every = snapshot_every
        self._by_id: dict[int, LiveExperiment] = {}
        self._touched: set[SegmentBandit] = set()  # since states were last dumped
        self._dumped: tuple[int, dict[int, bytes]] = (0, {})  # a position and states there, to be kept
        self.position = self.snapshot_position = row.snapshot
        """Up to these positions the log has been learned, and is in snapshots."""
        self._find_experiments()
        self._find_bandits()
        for entry in store.changes(self.id, 0, self.position):
            self._change(entry)
        store.changed()
        self.catch_up(certainly=True)
        self._alone = True  # has nobody else added anything since?

    # --- the log --------------------------------------------------------------------------------------

    def catch_up(self, *, certainly: bool = False) -> None:
        """Learn what others have written, and what we have if a commit was in doubt."""
        if not (self.store.changed() or self.doubted or certainly):
            return
        limit = CHUNK
        while rows := self.store.tail(self.id, self.position, limit):
            self._alone = False
            columns = [list(map(itemgetter(i), rows)) for i in range(4)]
            changes = self.store.changes(self.id, self.position, rows[-1][0]) if None in columns[1] else []
            self._apply(columns, changes, behind=len(rows) == limit or limit > CHUNK)
            if len(set(columns[1])) * FEW > len(
                rows
            ):  # where bandits are many, so that each learner gets many at a time
                limit = min(8 * limit, LARGEST)
        self.doubted = False

    def follow(self, head: int, entries: Sequence[EntryRow]) -> None:
        """Learn entries that were written after ``head``; if others were faster, theirs first."""
        if head != self.position:
            self.catch_up(certainly=True)
        elif entries:
            columns = zip(*((each.pos, each.bandit, each.kept, each.ticket) for each in entries), strict=True)
            self._apply(tuple(columns), [entry for entry in entries if entry.bandit is None])
        for entry in entries:
            if entry.decision is not None:
                self.open.pop(entry.decision, None)

    def _apply(
        self, columns: Sequence[Sequence[Any]], changes: Sequence[EntryRow], *, behind: bool = False
    ) -> None:
        """Learn what follows on what was learned; the columns are those of ``LearnerRow``.

        ``behind``: there is more to come, and no time to note states.
        """
        positions, numbers, feedback, tickets = columns
        last = self.position + len(positions)
        if positions[0] != self.position + 1 or positions[-1] != last:
            raise StateError(
                f"the log of {self.project!r} has a gap between {self.position} and {positions[-1]}"
            )
        self._prepare(set(numbers) - {None}, changes)
        first, every, begin = self.position + 1, self._snapshot_every, 0
        stops = {change.pos: change for change in changes}
        marks: Sequence[int] = () if behind else range(-(-first // every) * every, last + 1, every)
        for stop in sorted(stops.keys() | set(marks)):
            change = stops.get(stop)
            end = stop - first + (change is None)  # the entry at the stop is an outcome, or the change
            self._learn(numbers[begin:end], feedback[begin:end], tickets[begin:end])
            if change is not None:
                self._change(change)
            begin, self.position = stop - first + 1, stop
            if stop in marks:
                self._dump()
        self._learn(numbers[begin:], feedback[begin:], tickets[begin:])
        self.position = last

    def _prepare(self, numbers: set[int], changes: Sequence[EntryRow]) -> None:
        """Read all that is needed, before anything is learned: a store that fails must not leave a half."""
        if not {change.experiment for change in changes} <= self._by_id.keys():
            self._find_experiments()
        if not numbers <= self.bandits.keys():
            self._find_bandits()
        for number in numbers:
            self.learner_of(self.bandits[number])

    def _learn(self, numbers: Sequence[Any], feedback: Sequence[Any], tickets: Sequence[Any]) -> None:
        """Learn the feedback of bandits, in its order; None where a decision was closed without any."""
        if None in feedback:
            rows = [row for row in zip(numbers, feedback, tickets, strict=True) if row[1] is not None]
            if not rows:
                return
            numbers, feedback, tickets = zip(*rows, strict=True)
        places: dict[int, int] = {}
        for number in numbers:
            places.setdefault(number, len(places))
        bandits = [self.bandits[number] for number in places]
        self._touched.update(bandits)
        if len(bandits) == 1:
            self.learner_of(bandits[0]).learn(tickets, feedback)
        elif bandits:
            learn_all(
                [self.learner_of(one) for one in bandits], [places[n] for n in numbers], tickets, feedback
            )

    def _change(self, entry: EntryRow) -> None:
        """Let arms change in all segments; what was refused at its place in the log changes nothing."""
        experiment = self._by_id[entry.experiment]
        if self._counted is not None:
            self._counted.changed(entry.pos)
        if entry.kind == SETTINGS:
            self._alter(experiment, entry)
            return
        arm = label_of(json.loads(entry.body or "null"))
        try:
            experiment.blank.change(entry.kind, arm)
        except InvalidArgumentError:
            return
        experiment.changes.append((entry.pos, entry.kind, arm))
        experiment.version = entry.pos
        for bandit in experiment.segments.values():
            if bandit.learner is not None:
                bandit.learner.change(entry.kind, arm)
                self._touched.add(bandit)

    def _alter(self, experiment: LiveExperiment, entry: EntryRow) -> None:
        """Change settings, unless something else was changed since they were read."""
        body = json.loads(entry.body or "null")
        if body["after"] == experiment.version:
            settings = body["settings"]
            experiment.archived = settings.pop("archived", experiment.archived)
            experiment.settings = msgspec.structs.replace(experiment.settings, **settings)
            experiment.version = entry.pos

    def learner_of(self, bandit: SegmentBandit) -> Learner:
        """The learner of a bandit; if it is not in memory, of its last snapshot: it has no entry since."""
        if bandit.learner is None:
            bandit.learner = self._restored(bandit)
        return bandit.learner

    def _restored(self, bandit: SegmentBandit, *, certainly: bool = False) -> Learner:
        learner: Learner | None = None
        at = 0
        incomplete = certainly  # may entries of this bandit follow on the state?
        for snapshot in self.store.snapshots(bandit.id):
            if snapshot.pos > self.position:  # by a process that is ahead
                incomplete = True
            elif sha256(snapshot.state).digest() == snapshot.sha256:
                learner = Learner.load(snapshot.state, fresh=bandit.experiment.fresh)
                at = snapshot.pos
                break
            else:
                incomplete = True
                warnings.warn(
                    f"the snapshot of bandit {bandit.id} at {snapshot.pos} is damaged; it is made again",
                    RuntimeWarning,
                    stacklevel=1,
                )
        if learner is None:
            learner, at = self._first(bandit)
        changes = iter([change for change in bandit.experiment.changes if change[0] > at])
        upcoming = next(changes, None)
        while incomplete and (rows := self.store.tail(self.id, at, CHUNK, bandit=bandit.id)):
            for pos, _, feedback, ticket in rows:
                if pos > self.position:
                    incomplete = False
                    break
                while upcoming is not None and upcoming[0] < pos:
                    learner.change(*upcoming[1:])
                    upcoming = next(changes, None)
                if feedback is not None and ticket is not None:
                    learner.learn([ticket], [feedback])
                at = pos
        while upcoming is not None:
            learner.change(*upcoming[1:])
            upcoming = next(changes, None)
        return learner

    def _first(self, bandit: SegmentBandit) -> tuple[Learner, int]:
        """A bandit where the log begins, and where that is."""
        base = self.store.base(bandit.id)
        if base is None:
            return bandit.experiment.fresh.twin(), 0
        if sha256(base.state).digest() != base.sha256:
            raise StateError(
                f"the state of bandit {bandit.id}, with which the log begins, is damaged: restore a backup"
            )
        return Learner.load(base.state, fresh=bandit.experiment.fresh), base.pos

    def write(self, *, log: bool) -> AbstractContextManager[int]:
        """A transaction of the store, unless its log is shorter than what was learned of it."""
        return self._checked(self.store.write(self.id, log=log))

    @contextmanager
    def _checked(self, writing: AbstractContextManager[int]) -> Iterator[int]:
        with writing as head:
            if head < self.position:
                raise StateError(
                    f"the log of {self.project!r} ends at {head}, and {self.position} had been read: the "
                    "database is an older copy, or a replica that had not got everything"
                )
            yield head

    def _dump(self) -> None:
        """Note the states that have moved since the last time, as they are here."""
        if self._touched:
            states = {bandit.id: self.learner_of(bandit).dump() for bandit in self._touched}
            self._dumped = self.position, self._dumped[1] | states  # those of before have not moved
            self._touched.clear()

    def snapshot(self, *, now: bool = True) -> None:
        """Keep the states of multiples of ``snapshot_every``; and those of now, if they have moved since."""
        if now:
            self._dump()
        pos, states = self._dumped
        if states:
            with self.write(log=False):
                differ = self.store.insert_snapshots(self.id, pos, self.engine, states, self.swept)
            self._dumped = 0, {}
            for number in sorted(differ):
                self._diverged(self.bandits[number], pos)
        self.snapshot_position = self.position if now else max(pos, self.snapshot_position)

    def forget_sweeps(self) -> None:
        """Look at all deadlines again, here and after a restart."""
        with self.write(log=False):
            self.store.forget_sweeps(self.id)
        self.swept = 0.0

    def _diverged(self, bandit: SegmentBandit, pos: int) -> None:
        """Another process has kept another state: everybody goes on from that one."""
        self.divergences += 1
        bandit.learner = self._restored(bandit, certainly=True)
        warnings.warn(
            f"the state of bandit {bandit.id} at {pos} is not the one that another process kept, which is "
            "taken instead",
            RuntimeWarning,
            stacklevel=1,
        )

    # --- experiments and bandits -----------------------------------------------------------------------

    def _find_experiments(self) -> None:
        for row in self.store.experiments(self.id):
            if row.id not in self._by_id:
                settings = msgspec.json.decode(row.settings, type=Settings)
                fresh = settings.learner()
                made = LiveExperiment(
                    row.id, row.name, settings, row.secret, row.created, fresh, fresh.twin()
                )
                self._by_id[row.id] = self.experiments[row.name] = made

    def _find_bandits(self) -> None:
        for row in self.store.bandits(self.id, max(self.bandits, default=0)):
            self.bandits[row.id] = made = self._bandit(row)
            made.experiment.segments[row.segment] = made

    def _bandit(self, row: BanditRow) -> SegmentBandit:
        if row.experiment not in self._by_id:
            self._find_experiments()
        experiment = self._by_id[row.experiment]
        secret = blake2b(row.segment.encode(), key=experiment.secret, digest_size=16).digest()
        return SegmentBandit(row.id, experiment, row.segment, secret)

    def named(self, name: str) -> LiveExperiment:
        """The experiment of this name."""
        if name not in self.experiments:
            self._find_experiments()
        if name not in self.experiments:
            raise problems.UnknownExperimentError(f"no experiment is called {name!r}", experiment=name)
        return self.experiments[name]

    def segment(self, experiment: LiveExperiment, segment: str, now: float) -> SegmentBandit:
        """The bandit of a segment, made if there is none, or the pool if there are too many."""
        name_of("segment", segment, empty=True)
        for name in (segment, POOL):
            if name in experiment.segments:
                return experiment.segments[name]
            self._find_bandits()  # another process may have made it
            if name not in experiment.segments and (
                name == POOL or len(experiment.segments) < experiment.settings.max_segments
            ):
                self.store.insert_bandits(self.id, [(experiment.id, name)], now)
                self._find_bandits()
            if name in experiment.segments:
                return experiment.segments[name]
        raise AssertionError("a pool was made")

    def bandit_of(self, row: DecisionRow) -> SegmentBandit:
        """The bandit that made a decision."""
        if row.bandit not in self.bandits:
            self._find_bandits()
        return self.bandits[row.bandit]

    def create(self, name: str, settings: Settings, now: float) -> bool:
        """Make an experiment; False if it is there with the same settings, a problem if with others."""
        text = settings.to_json()
        made = name not in self.experiments and self.store.insert_experiment(
            self.id, name, text, secrets.token_bytes(16), now
        )
        there = self.named(name).settings
        if there != settings:
            differ = [
                key for key in settings.__struct_fields__ if getattr(there, key) != getattr(settings, key)
            ]
            raise problems.ExperimentExistsError(
                f"the experiment {name!r} is there with other settings: {', '.join(differ)}",
                experiment=name,
                differ=differ,
            )
        return made

    def settings(self) -> dict[str, Settings]:
        """The settings of all experiments by name."""
        self._find_experiments()
        return {name: experiment.settings for name, experiment in self.experiments.items()}

    def copy(self, experiment: str, segment: str) -> Learner:
        """A copy of the learner of a segment; a fresh one where nothing was decided yet."""
        found = self.named(experiment)
        if segment not in found.segments:
            self._find_bandits()
        source = self.learner_of(found.segments[segment]) if segment in found.segments else found.blank
        return Learner.load(source.dump())

    # --- decisions ------------------------------------------------------------------------------------

    def remember(self, row: DecisionRow) -> None:
        """Keep an open decision in memory."""
        self.open[row.id] = row
        if self._counted is not None:
            self._counted.made(row.made)
        if len(self.open) > self._remembered:
            self.open.popitem(last=False)

    def surely_open(self, row: DecisionRow, head: int) -> bool:
        """Is a decision open, without a question to the store, when the log ends at ``head``?

        It is, if it is in memory, and nobody else has ever added anything; without a deadline, no report
        waits.
        """
        return self._alone and head == self.position and row.due is None and row.id in self.open

    def count_open(self, now: float) -> None:
        """Count open decisions, now and then, if there is a limit."""
        if self._counted is not None:
            self._counted.look_if_due(now, self.position)

    @property
    def n_open(self) -> int:
        """Open decisions of the project; of those in memory where there is no limit."""
        return len(self.open) if self._counted is None else self._counted.at(self.position)

    def is_full(self, more: int) -> bool:
        """Are there, with so many more, as many open decisions as there may be?"""
        return self._max_open is not None and self.n_open + more >= self._max_open

    def require_room(self, more: int) -> None:
        """Refuse a decision after so many others, if there are as many open ones as there may be."""
        if self.is_full(more):
            raise problems.LimitReachedError(
                f"{self._max_open} decisions of {self.project!r} are open, which is the limit: report or "
                "withdraw them, let experiments wait for a limited time only, or raise limits.max_open",
                limit=self._max_open,
            )

    def require_kept(self, identity: bytes) -> None:
        """Refuse an id that nothing is known of, if it is so old that its decision may have been deleted.

        One that seems to be older than the first experiment is none that says its time.
        """
        at = ids.time_of(identity)
        first = min((one.created for one in self.experiments.values()), default=math.inf)
        if at is not None and first - DAY <= at < self.store.project(self.project).retained:
            text = ids.text_of(identity)
            raise problems.DecisionGoneError(
                f"the id {text} is older than what is kept: use a fresh one (was the clock right?)",
                id=text,
            )

    def decision(self, row: DecisionRow, *, repeated: bool) -> Decision:
        """A decision as it is answered."""
        bandit = self.bandits[row.bandit]
        if row.seen > self.position:  # made by a process that is ahead, perhaps of an arm that is new
            self.catch_up(certainly=True)
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
