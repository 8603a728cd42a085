"""What is shown of a project: how its bandits do, with bands that hold at any time, and how they did.

Bands are over decisions that are mature. One with a deadline is mature when that is over: if good news
travels faster than silence, the answers that are there early are no fair sample. One without counts from
when it was made, and while its answer is out both bounds allow for whatever it will be.
"""

from __future__ import annotations

import itertools
import json
import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bothworlds._code_cache import cache_directory
from bothworlds._lock import exclusive
from bothworlds.bandit.learner import Learner
from bothworlds.bandit.pull import Label
from bothworlds.inference import state as evidence_state
from bothworlds.inference.intervals import World
from bothworlds.inference.statements import Evidence
from bothworlds.service.counting import ON_DISK_AFTER
from bothworlds.service.hub import Hub
from bothworlds.service.logs import logger
from bothworlds.service.messages import Read
from bothworlds.service.registry import DECISION, ENTRY, REPORT, Registry
from bothworlds.service.replica import Replica, SegmentBandit
from bothworlds.service.reporters import Reporter, Reporters
from bothworlds.service.store.base import REPORT as REPORTED
from bothworlds.service.store.base import WITHDRAWN

CURVE = sa.table("curve", sa.column("bandit"), sa.column("at"), sa.column("body"))
CHUNK = 5000  # rows that are read at once
MAX_POINTS = 512  # of a curve; then every other one goes
PATIENCE = 0.05  # seconds of work on points each time
ERROR = 0.05  # of a band, ever


class Point(NamedTuple):
    """A bandit at a moment; lists go by the arms. None where nothing can be said."""

    at: float
    position: int
    decisions: int
    probabilities: list[float]
    pulls: list[int]
    means: list[float | None]
    lows: list[float | None]
    highs: list[float | None]
    regret: list[float | None]
    """Low end, estimate, high end."""
    drift: bool


@dataclass(eq=False)
class View:
    """What the board knows of one bandit: counts, sums over mature decisions, and its curve."""

    bandit: int
    experiment: str
    segment: str
    n_arms: int
    full: bool
    """Are probabilities exact, so that there are statements for any world?"""
    bounded: bool
    """Are rewards in a known range, and of the arm that was played?"""
    decisions: int = 0
    closed: dict[str, int] = field(default_factory=dict)
    """How many decisions were closed, by the kind of entry."""
    late: int = 0
    """Reports that came after the deadline."""
    position: int = 0
    """The last entry of the log that closed one of its decisions."""
    last: float | None = None
    """When that entry was written, in seconds since 1970."""
    restarts: int = 0
    since: float = 0.0
    """Decisions before this time were made in another world: before a restart."""
    points: list[Point] | None = None
    spacing: float = 1.0
    """Seconds between points."""
    drawn: int = 0
    """When the last point was drawn, in milliseconds since 1970."""

    def __post_init__(self) -> None:
        self.evidence_state = evidence_state.init_evidence(self.n_arms, self.full)

    def grow(self, n_arms: int) -> None:
        """Add arms, of which nothing is known, until there are so many."""
        while self.n_arms < n_arms:
            self.evidence_state = evidence_state.with_another_arm(self.evidence_state)
            self.n_arms += 1

    @property
    def open(self) -> int:
        """How many decisions are not closed."""
        return max(0, self.decisions - sum(self.closed.values()))


class State(NamedTuple):
    """A bandit in the memory of the hub."""

    labels: tuple[Label, ...]
    disabled: tuple[Label, ...]
    retired: tuple[Label, ...]
    probabilities: dict[Label, float]
    frozen: bool


class Monitor:
    """Follows the log of a project, and has what the board shows of it.

    Parameters
    ----------
    hub, registry:
        Where learners are, and where rows are.

    Notes
    -----
    All of it is a fold over rows, begun anew by each process; only the points of curves are kept. Calls may
    come from any thread.
    """

    def __init__(self, hub: Hub, registry: Registry) -> None:
        self._hub, self._registry = hub, registry
        self._project = hub.replica.id
        self._views: dict[int, View] = {}
        self._guard = threading.Lock()
        self._made = self._due = 0.0  # decisions made, and due, up to here were counted
        self._position = 0
        self._moved: dict[int, None] = {}  # bandits that want a point
        self._late_at = -math.inf
        self.reporters = Reporters()
        self.caught_up = False

    # --- reading --------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Take in what is new. Whoever reads meanwhile waits for a chunk at most."""
        with self._registry.read() as db:
            until = time.time() - ON_DISK_AFTER
            self._count(db, self._made, until)
            self._made = max(self._made, until)
            self._follow(db)
            with self._guard:
                odd = self.reporters.check()
            for reporter in odd:
                self._warn(reporter)
            self._mature(db, until)
            if time.monotonic() - self._late_at > 30.0:
                self._late_at = time.monotonic()
                self._count_late(db)
            self.caught_up = True
            with self._guard:
                self._draw(db)

    def _warn(self, reporter: Reporter) -> None:
        known = {key.number: key.id for key in self._registry.known_keys(self._hub.replica.project)}
        key = "none" if reporter.number is None else known.get(reporter.number)
        logger.warning("odd rewards", extra={"project": self._hub.replica.project, "key": key})

    def _view(self, number: int) -> View:
        if number not in self._views:
            found: SegmentBandit = self._ask(lambda replica: _bandit(replica, number))
            policy, settings = found.experiment.blank.policy, found.experiment.settings
            bounded = not (policy.decoupled or settings.low is None or settings.high is None)
            full = policy.explicit and not policy.decoupled and settings.high is not None
            n_arms = len(found.experiment.blank.labels)
            self._views[number] = View(number, found.experiment.name, found.segment, n_arms, full, bounded)
        return self._views[number]

    def _ask(self, function: Any) -> Any:
        return self._hub.ask(Read(lambda: function(self._hub.replica)))

    def _count(self, db: sa.Connection, begin: float, end: float, only: Sequence[int] = ()) -> None:
        """Decisions made in (begin, end], by arm."""
        c = DECISION.c
        waits = c.due.is_not(None).label("waits")
        query = (
            sa.select(c.bandit, c.arm, c.key, waits, sa.func.count().label("n"))
            .where(c.project == self._project, c.made > begin, c.made <= end)
            .group_by(c.bandit, c.arm, c.key, waits)
        )
        if only:
            query = query.where(c.bandit.in_(only))
        rows = db.execute(query).all()
        with self._guard:
            for row in rows:
                view = self._view(row.bandit)
                view.grow(row.arm + 1)
                if not only:
                    view.decisions += row.n
                    self.reporters.of(row.key).decisions += row.n
                    self._moved[view.bandit] = None
                if not row.waits:
                    view.evidence_state.sums.pulls[row.arm] += row.n

    def _follow(self, db: sa.Connection) -> None:
        """Entries of the log that are new."""
        e, d = ENTRY.c, DECISION.c
        of_decision = (d.arm, d.probability, d.made, d.due, d.key.label("asked"))
        columns = (e.pos, e.kind, e.experiment, e.bandit, e.kept, e.at, e.ticket, e.key, *of_decision)
        joined = sa.outerjoin(ENTRY, DECISION, sa.and_(d.project == e.project, d.id == e.decision))
        while True:
            query = (
                sa.select(*columns)
                .select_from(joined)
                .where(e.project == self._project, e.pos > self._position)
                .order_by(e.pos)
                .limit(CHUNK)
            )
            found = db.execute(query).all()
            rows = list(itertools.takewhile(lambda row: row.made is None or row.made <= self._made, found))
            for restarted, part in itertools.groupby(rows, lambda row: row.kind == "restart"):
                if restarted:
                    for row in part:
                        self._restart(db, row)
                else:
                    with self._guard:
                        self._fold(part)
            if rows:
                self._position = rows[-1].pos
            if len(rows) < CHUNK:  # of those that are left, decisions have not been counted
                return

    def _fold(self, rows: Iterable[Any]) -> None:
        """Entries that close decisions, in their order."""
        answers: dict[int, list[Any]] = {}
        for row in rows:
            if row.bandit is None or row.made is None:  # a change of arms; or its decision is no longer kept
                continue
            view = self._view(row.bandit)
            view.closed[row.kind] = view.closed.get(row.kind, 0) + 1
            view.position, view.last = row.pos, row.at
            self._moved[view.bandit] = None
            if row.kind == REPORTED:
                self.reporters.of(row.asked).answered += 1
                stream = (view.bandit, row.arm) if view.bounded else None
                self.reporters.report(row.key, stream, 1.0 - row.kept)
            if row.due is None and Learner.restarts_before(bytes(row.ticket)) == view.restarts:
                view.grow(row.arm + 1)
                if row.kind == WITHDRAWN:
                    view.evidence_state.sums.pulls[row.arm] -= 1.0  # it was never shown
                elif row.kept is not None:
                    answers.setdefault(view.bandit, []).append((row.arm, row.kept, row.probability))
        self._answer(answers)

    def _answer(self, answers: dict[int, list[Any]]) -> None:
        for number, rows in answers.items():
            arms, losses, probabilities = zip(*rows, strict=True)
            evidence_state.answered_many(
                self._views[number].evidence_state,
                np.array(arms, np.int64),
                1.0 - np.array(losses),
                np.array(probabilities),
            )
        answers.clear()

    def _restart(self, db: sa.Connection, row: Any) -> None:
        """Everything begins anew with what is decided from here on."""
        with self._guard:
            views = self._views.items()
            anew = [number for number, view in views if self._experiment_of(view) == row.experiment]
            for number in anew:
                view = self._views[number]
                view.restarts, view.since = view.restarts + 1, row.at
                view.evidence_state = evidence_state.init_evidence(view.n_arms, view.full)
        if anew and self._made > row.at:
            self._count(db, row.at, self._made, anew)

    def _experiment_of(self, view: View) -> int:
        return self._hub.replica.experiments[view.experiment].id

    def _mature(self, db: sa.Connection, until: float) -> None:
        """Decisions whose deadline is over, in the order of their deadlines."""
        e, d = ENTRY.c, DECISION.c
        joined = sa.outerjoin(DECISION, ENTRY, sa.and_(d.project == e.project, d.id == e.decision))
        columns = (d.bandit, d.arm, d.probability, d.due, d.made, e.kind, e.kept)
        while True:
            query = (
                sa.select(*columns)
                .select_from(joined)
                .where(d.project == self._project, d.due > self._due, d.due <= until)
                .order_by(d.due)
                .limit(CHUNK)
            )
            found = db.execute(query).all()
            rows = list(_whole(found, CHUNK))
            with self._guard:
                self._take_in(rows)
            if rows:
                self._due = rows[-1].due
            if len(rows) < len(found) or len(found) < CHUNK:
                return

    def _take_in(self, rows: Iterable[Any]) -> None:
        taken: dict[int, list[Any]] = {}
        for row in rows:
            view = self._view(row.bandit)
            view.grow(row.arm + 1)
            if row.made >= view.since and row.kind != WITHDRAWN:
                reward = math.nan if row.kept is None else 1.0 - row.kept
                taken.setdefault(view.bandit, []).append((row.arm, reward, row.probability))
            self._moved[view.bandit] = None
        for number, some in taken.items():
            arms, rewards, probabilities = zip(*some, strict=True)
            columns = (np.array(arms, np.int64), np.array(rewards), np.array(probabilities))
            evidence_state.take_in(self._views[number].evidence_state, *columns)

    def _count_late(self, db: sa.Connection) -> None:
        d, r = DECISION.c, REPORT.c
        query = (
            sa.select(d.bandit, sa.func.count().label("n"))
            .join_from(REPORT, DECISION, sa.and_(d.project == r.project, d.id == r.decision))
            .where(r.project == self._project, r.late == 1)
            .group_by(d.bandit)
        )
        rows = db.execute(query).all()
        with self._guard:
            for row in rows:
                self._view(row.bandit).late = row.n

    # --- points ---------------------------------------------------------------------------------------

    def _draw(self, db: sa.Connection) -> None:
        """Points of bandits that have moved, as many as there is time for."""
        end = time.monotonic() + PATIENCE
        drawn: list[View] = []
        for number in list(self._moved):
            view = self._views[number]
            points = self._points(db, view)
            at = math.floor(time.time() / view.spacing) * view.spacing  # all processes have the same
            if points and at <= points[-1].at:
                continue
            del self._moved[number]
            points.append(self._point(view, at))
            view.drawn = time.time_ns() // 1_000_000
            drawn.append(view)
            if time.monotonic() > end:
                break
        if drawn:
            self._keep(drawn)

    def _points(self, db: sa.Connection, view: View) -> list[Point]:
        if view.points is None:
            query = sa.select(CURVE.c.at, CURVE.c.body).where(CURVE.c.bandit == view.bandit)
            rows = db.execute(query.order_by(CURVE.c.at)).all()
            view.points = [Point(row.at, *json.loads(row.body)) for row in rows]
            while len(view.points) > 1 and view.spacing * MAX_POINTS < view.points[-1].at - view.points[0].at:
                view.spacing *= 2.0
        return view.points

    def _keep(self, views: Sequence[View]) -> None:
        """Write last points down; where there are too many, every other one goes."""
        with self._registry.write() as db:
            for view in views:
                assert view.points is not None
                last, here = view.points[-1], CURVE.c.bandit == view.bandit
                if db.execute(sa.select(CURVE.c.at).where(here, CURVE.c.at == last.at)).first() is None:
                    row = {"bandit": view.bandit, "at": last.at, "body": json.dumps(last[1:])}
                    db.execute(sa.insert(CURVE).values(**row))
                if len(view.points) > MAX_POINTS:
                    gone = {point.at for point in view.points[1:-1:2]}
                    view.points = [point for point in view.points if point.at not in gone]
                    view.spacing *= 2.0
                    db.execute(sa.delete(CURVE).where(here, CURVE.c.at.in_(gone)))

    def _point(self, view: View, at: float) -> Point:
        state: State = self._ask(lambda replica: _state(replica, view.bandit))
        evidence = self.evidence(view, state.labels)
        n = len(state.labels)
        view.grow(n)
        means: list[float | None] = [None] * n
        lows, highs = list(means), list(means)
        regret: list[float | None] = [None] * 3
        drift = False
        if evidence is not None:
            found = list(evidence.intervals().values())
            means = [finite_or_none(one.estimate) for one in found]
            lows, highs = (
                [finite_or_none(one.low) for one in found],
                [finite_or_none(one.high) for one in found],
            )
            lost = evidence.regret
            regret = [finite_or_none(lost.low), finite_or_none(lost.estimate), finite_or_none(lost.high)]
            drift = bool(evidence.drift)
        return Point(
            at,
            view.position,
            view.decisions,
            [state.probabilities.get(label, 0.0) for label in state.labels],
            [int(one) for one in view.evidence_state.sums.pulls],
            means,
            lows,
            highs,
            regret,
            drift,
        )

    def evidence(self, view: View, labels: tuple[Label, ...]) -> Evidence | None:
        """What can be concluded; None where the range is learned, or another arm is shown than observed."""
        experiment = self._hub.replica.experiments[view.experiment]
        low, high = experiment.settings.low, experiment.settings.high
        if low is None or high is None or experiment.blank.policy.decoupled:
            return None
        view.grow(len(labels))
        return Evidence(view.evidence_state, labels, error=ERROR, low=low, high=high)

    # --- showing --------------------------------------------------------------------------------------

    def bandits(self, experiment: str) -> list[View]:
        """The views of an experiment, in the order of their segments."""
        with self._guard:
            found = [view for view in self._views.values() if view.experiment == experiment]
        return sorted(found, key=lambda view: view.segment)

    def shown(self, view: View) -> tuple[State, Evidence | None]:
        """A bandit as it is now, and what can be concluded."""
        state: State = self._ask(lambda replica: _state(replica, view.bandit))
        with self._guard:
            return state, self.evidence(view, state.labels)

    def curve(self, view: View) -> list[Point]:
        """The points of its curve so far, oldest first."""
        with self._guard, self._registry.read() as db:
            return list(self._points(db, view))

    def changed(self, since: int, limit: int) -> list[tuple[View, Point]]:
        """Bandits with a point that was drawn after this time, in milliseconds, and that point."""
        with self._guard:
            views = [view for view in self._views.values() if view.points and view.drawn > since]
            views.sort(key=lambda view: view.drawn)
            return [(view, view.points[-1]) for view in views[:limit] if view.points]

    def reported(self) -> list[Reporter]:
        """What each key decided and reported; copies, which stay as they are."""
        with self._guard:
            return [replace(reporter) for reporter in self.reporters]

    @property
    def behind(self) -> int:
        """Entries of the log that are not taken in yet, while it is read for the first time."""
        return 0 if self.caught_up else max(1, self._hub.position - self._position)

    @property
    def odd_keys(self) -> int:
        """How many keys report odd rewards."""
        return sum(reporter.odd for reporter in self.reporters)

    @property
    def position(self) -> int:
        """The entries of the log that were taken in."""
        return self._position


def _whole(rows: Sequence[Any], limit: int) -> Iterator[Any]:
    """Rows in order, up to the first that is not closed yet; and no half of those that are due at once."""
    last = rows[-1].due if len(rows) == limit else None
    everything = last is None or rows[0].due == last
    for row in rows:
        if row.kind is None or (row.due == last and not everything):
            return
        yield row


def _bandit(replica: Replica, number: int) -> SegmentBandit:
    if number not in replica.bandits:
        replica._find_bandits()
    return replica.bandits[number]


def _state(replica: Replica, number: int) -> State:
    learner = replica.learner_of(_bandit(replica, number))
    return State(learner.labels, learner.disabled, learner.retired, learner.probabilities(), learner.frozen)


def compile_kernels() -> None:
    """Have the machine code of all that a monitor computes, in memory and on disk; one process at a time."""
    with exclusive(cache_directory() / "compiling"):
        _compute_once()


def _compute_once() -> None:
    for full in (False, True):
        state = evidence_state.init_evidence(2, full)
        arms, values = np.zeros(1, np.int64), np.ones(1)
        evidence_state.take_in(state, arms, values, values)
        evidence_state.answered_many(state, arms, values, values)
        worlds: tuple[World, ...] = ("stationary", "any") if full else ("stationary",)
        for world in worlds:
            evidence = Evidence(state, (0, 1), world=world)
            _ = evidence.intervals(), evidence.regret, evidence.drift


def finite_or_none(value: float) -> float | None:
    """A number, or None in the place of NaN and infinities, which JSON does not have."""
    return None if math.isnan(value) or math.isinf(value) else value
