"""Requests that go to the disk together: planned, written in one transaction, learned, answered."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bothworlds.bandit.keys import fill_with_key
from bothworlds.bandit.learner import CHANGES, Learner
from bothworlds.errors import InvalidArgumentError
from bothworlds.service import ids, problems
from bothworlds.service.messages import (
    Alter,
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
from bothworlds.service.replica import YOUNG, LiveExperiment, Replica, SegmentBandit
from bothworlds.service.settings import altered_settings, name_of
from bothworlds.service.store.base import (
    DEFAULT,
    DROPPED,
    REPORT,
    SETTINGS,
    WITHDRAWN,
    DecisionRow,
    EntryRow,
    ReportRow,
)

CONTEXT = 4096  # bytes of it that are kept


class RequestBatch:
    """Requests of one transaction, and what was found there."""

    def __init__(self, replica: Replica, now: float) -> None:
        self.replica = replica
        self.now = now
        self.known: dict[bytes, DecisionRow] = {}  # decisions that were read
        self.drawn: dict[bytes, DecisionRow] = {}  # to be written
        self.stored: dict[bytes, DecisionRow] = {}  # of those, the ones that were there before
        self.closings: list[PendingClosing] = []
        self.closed: dict[bytes, EntryRow] = {}  # by entries of before, then of this batch too
        self.reported: dict[bytes, ReportRow] = {}  # likewise
        self.reports: dict[bytes, ReportRow] = {}  # to be written
        self.changes: list[PendingChange | PendingSettings] = []

    def answer(self, requests: Sequence[Request]) -> list[Any]:
        """An answer for each, or the problem that it met; one that fails does not fail its neighbors."""
        self._read_decisions(requests)
        answers: list[Any] = []
        for request in requests:
            try:
                answers.append(self._plan(request))
            except problems.StorageError:
                raise
            except problems.ServiceError as problem:
                answers.append(problem)
            except InvalidArgumentError as error:
                answers.append(problems.InvalidRequestError(error))
        if self.drawn or self.closings or self.changes:
            self._commit()
        return [answer.settle() if isinstance(answer, Pending) else answer for answer in answers]

    def _read_decisions(self, requests: Sequence[Request]) -> None:
        """Read at once the decisions that are not in memory."""
        wanted = set()
        for request in requests:
            if isinstance(request, (Report, Withdraw)):
                with contextlib.suppress(InvalidArgumentError):
                    identity = ids.bytes_of(request.id)
                    if identity not in self.replica.open:
                        wanted.add(identity)
        if wanted:
            self.known = self.replica.store.decisions(self.replica.id, wanted)

    # --- planning -------------------------------------------------------------------------------------

    def _plan(self, request: Request) -> Any:
        match request:
            case Decide():
                return self._decide(request)
            case Report():
                return self._report(request)
            case Withdraw():
                return self._close(self._find(request.id), WITHDRAWN, None, request.key)
            case Change():
                return self._change(request)
            case Alter():
                return self._alter(request)
            case Read():
                return request.function()
        raise InvalidArgumentError("request", request, "a request")

    def _decide(self, request: Decide) -> Pending:
        replica = self.replica
        experiment = replica.named(request.experiment)
        if experiment.archived:
            name = request.experiment
            raise problems.ExperimentArchivedError(f"the experiment {name!r} is archived", experiment=name)
        bandit = replica.segment(experiment, request.segment, self.now)
        unit = None if request.unit is None else ids.of_unit(replica.secret, name_of("unit", request.unit))
        if request.context is not None and len(request.context) > CONTEXT:
            got = f"{len(request.context)}"
            raise InvalidArgumentError("context", request.context, f"at most {CONTEXT} bytes", got=got)
        identity = ids.new_id() if request.id is None else ids.bytes_of(request.id)
        if experiment.settings.sticky and unit is not None:  # whatever its id: clients make one for each call
            identity = self._kept_by(request, experiment, bandit)
        pending = PendingDecision(identity, bandit, unit, replica, self)
        if pending.first:
            if not self._is_stored(request, identity):
                replica.require_room(len(self.drawn))
            learner = replica.learner_of(bandit)
            uniforms = np.empty(learner.draws)
            fill_with_key(bandit.secret, identity, uniforms)
            draw = learner.decide(uniforms, among=request.among)
            wait = experiment.settings.wait
            self.drawn[identity] = DecisionRow(
                identity,
                bandit.id,
                draw.arm,
                draw.probability,
                draw.ticket,
                replica.position,
                replica.engine,
                self.now,
                None if wait is None else self.now + wait,
                unit,
                request.context,
                request.key,
            )
        return pending

    def _kept_by(self, request: Decide, experiment: LiveExperiment, bandit: SegmentBandit) -> bytes:
        """The id of the decision that a unit keeps: its first one whose arm can be played."""
        blank, among = experiment.blank, request.among
        identity = ids.of_unit(bandit.secret, str(request.unit))
        if among is None and not (blank.disabled or blank.retired):
            return identity
        playable = set(blank.arms).difference(blank.disabled)
        if among is not None:
            playable.intersection_update(among)
        absent = {arm for arm, label in enumerate(blank.labels) if label not in playable}
        while (row := self._made(identity)) is not None and row.arm in absent:
            identity = ids.after(bandit.secret, identity)  # never drawn twice: at most one for each arm
        return identity

    def _made(self, identity: bytes) -> DecisionRow | None:
        """The decision of an id, if there is one."""
        replica = self.replica
        row = self.drawn.get(identity) or replica.open.get(identity)
        return row or replica.store.decisions(replica.id, [identity]).get(identity)

    def _is_stored(self, request: Decide, identity: bytes) -> bool:
        """Was the decision made before, as far as it matters? An id that may have been deleted is refused."""
        replica = self.replica
        old = request.id is not None and ids.is_older(identity, self.now - YOUNG)
        if not (old or replica.is_full(len(self.drawn))):
            return False
        stored = bool(replica.store.decisions(replica.id, [identity]))
        if old and not stored:
            replica.require_kept(identity)
        return stored

    def _find(self, text: str) -> DecisionRow:
        identity = ids.bytes_of(text)
        row = self.replica.open.get(identity) or self.known.get(identity)
        if row is None:
            self.replica.require_kept(identity)
            raise problems.UnknownDecisionError(f"no decision has the id {text}", id=text)
        return row

    def _report(self, request: Report) -> Pending:
        if (request.reward is None) == (request.loss is None):
            got = "neither" if request.reward is None else "both"
            raise InvalidArgumentError("reward", request.reward, "given, or loss, and not both", got=got)
        row = self._find(request.id)
        kind, value = ("reward", request.reward) if request.loss is None else ("loss", request.loss)
        try:
            feedback = self.replica.bandit_of(row).experiment.blank.take(kind, value)
        except InvalidArgumentError as error:
            error.fix = "low, high and clip of the experiment say what is taken"
            raise
        return self._close(row, REPORT, feedback, request.key)

    def _close(self, row: DecisionRow, kind: str, feedback: float | None, key: int | None) -> Pending:
        self.replica.bandit_of(row)  # read now what is needed inside the transaction
        self.closings.append(PendingClosing(row, kind, feedback, key, self.replica, self))
        return self.closings[-1]

    def _change(self, request: Change) -> Pending:
        experiment = self.replica.named(request.experiment)
        if request.what not in CHANGES:
            raise InvalidArgumentError("what", request.what, f"one of {', '.join(CHANGES)}")
        trial = Learner.load(experiment.blank.dump())
        trial.change(request.what, request.arm)  # refused before it is written
        self.changes.append(PendingChange(experiment, request))
        return self.changes[-1]

    def _alter(self, request: Alter) -> Pending:
        experiment = self.replica.named(request.experiment)
        altered_settings(experiment.settings, request.settings)  # refused before it is written
        self.changes.append(PendingSettings(experiment, request))
        return self.changes[-1]

    # --- writing --------------------------------------------------------------------------------------

    def _commit(self) -> None:
        """Write everything in one transaction, then learn it."""
        replica, store = self.replica, self.replica.store
        log = bool(self.closings or self.changes)
        entries: list[EntryRow] = []
        with replica.write(log=log) as head:
            if self.drawn:
                new = store.insert_decisions(replica.id, list(self.drawn.values()))
                if len(new) < len(self.drawn):
                    self.stored = store.decisions(replica.id, self.drawn.keys() - new)
            if log:
                entries = self._entries(head)
                store.insert_entries(replica.id, entries)
                store.insert_reports(replica.id, list(self.reports.values()))
        for identity, row in self.drawn.items():
            if identity not in self.stored:
                replica.remember(row)
        replica.follow(head, entries)

    def _entries(self, head: int) -> list[EntryRow]:
        """What is new, as entries of the log, and as reports that wait or are late."""
        replica = self.replica
        wanted = {closing.row.id for closing in self.closings if not replica.surely_open(closing.row, head)}
        if wanted:
            self.closed = replica.store.closings(replica.id, wanted)
            self.reported = replica.store.reports(replica.id, wanted)
        entries: list[EntryRow] = []
        for closing in self.closings:
            entry = closing.entry(head + len(entries) + 1)
            if entry is not None:
                entries.append(entry)
        for change in self.changes:
            entries.append(change.entry(head + len(entries) + 1, self.now))
        return entries


# --- answers that are known when the batch is on disk ---------------------------------------------------


class Pending:
    """An answer that is known when the batch is on disk."""

    def settle(self) -> Any:
        """The answer, or a problem."""
        raise NotImplementedError


class PendingDecision(Pending):
    """The first decision of an id."""

    def __init__(
        self,
        identity: bytes,
        bandit: SegmentBandit,
        unit: bytes | None,
        replica: Replica,
        batch: RequestBatch,
    ) -> None:
        self.identity, self.bandit, self.unit = identity, bandit, unit
        self.replica, self.batch = replica, batch
        self.first = identity not in batch.drawn and identity not in replica.open
        self.row = replica.open.get(identity)

    def settle(self) -> Decision | problems.ServiceError:
        """The decision that is on disk."""
        row = self.batch.stored.get(self.identity) or self.row or self.batch.drawn[self.identity]
        if row.bandit != self.bandit.id or (self.unit and row.unit and row.unit != self.unit):
            text = ids.text_of(self.identity)
            return problems.IdReusedError(
                f"the id {text} belongs to a decision of another experiment, segment or unit", id=text
            )
        return self.replica.decision(row, repeated=not self.first or self.identity in self.batch.stored)


class PendingClosing(Pending):
    """The end of a decision, by a report or a withdrawal."""

    def __init__(
        self,
        row: DecisionRow,
        kind: str,
        feedback: float | None,
        key: int | None,
        replica: Replica,
        batch: RequestBatch,
    ) -> None:
        self.row, self.kind, self.feedback, self.key = row, kind, feedback, key
        self.replica, self.batch = replica, batch
        self.answer: Outcome | problems.ServiceError | None = None

    def entry(self, pos: int) -> EntryRow | None:
        """The entry that closes the decision, unless it is closed, or waits for its deadline."""
        batch, row = self.batch, self.row
        bandit = self.replica.bandit_of(row)
        text = ids.text_of(row.id)
        closing, report = batch.closed.get(row.id), batch.reported.get(row.id)
        if closing is not None and closing.kind in (DEFAULT, DROPPED) and self.feedback is not None:
            self._late(text, closing, report)
            return None
        if closing is not None or report is not None:
            self.answer = self._again(text, closing, report)
            return None
        at_deadline = bandit.experiment.settings.learn_at == "deadline" and row.due is not None
        if self.feedback is not None and at_deadline:
            waiting = ReportRow(row.id, self.feedback, batch.now, False, self.key)
            batch.reports[row.id] = batch.reported[row.id] = waiting
            self.answer = Outcome(text, learned=False, reason="waiting")
            return None
        made = EntryRow(
            pos,
            self.kind,
            bandit.experiment.id,
            row.bandit,
            row.id,
            self.feedback,
            row.ticket,
            batch.now,
            None,
            self.key,
        )
        batch.closed[row.id] = made
        return made

    def _late(self, text: str, closing: EntryRow, report: ReportRow | None) -> None:
        if report is not None and report.kept != self.feedback:
            self.answer = self._exists(text, report.kept)
            return
        if report is None:
            assert self.feedback is not None
            late = ReportRow(self.row.id, self.feedback, self.batch.now, True, self.key)
            self.batch.reports[self.row.id] = self.batch.reported[self.row.id] = late
        self.answer = Outcome(
            text, learned=False, reason="late", position=closing.pos, repeated=report is not None
        )

    def _again(
        self, text: str, closing: EntryRow | None, report: ReportRow | None
    ) -> Outcome | problems.ServiceError:
        """The answer to a report of a decision that has one: the same outcome again, or a problem."""
        if closing is None:
            assert report is not None
            if self.feedback != report.kept:
                return self._exists(text, report.kept)
            return Outcome(text, learned=False, reason="waiting", repeated=True)
        if self.feedback is None:
            if closing.kind == WITHDRAWN:
                return Outcome(text, False, "withdrawn", closing.pos, repeated=True)
            return self._exists(text, closing.kept)
        if closing.kept != self.feedback:
            return self._exists(text, closing.kept)
        return Outcome(text, learned=True, position=closing.pos, repeated=True)

    def _exists(self, text: str, feedback: float | None) -> problems.ServiceError:
        learner = self.replica.bandit_of(self.row).experiment.blank
        stored = None if feedback is None else learner.value_of(feedback)
        said = "it was closed without one" if stored is None else f"the reward {stored:g} is stored"
        return problems.OutcomeExistsError(
            f"the decision {text} has had its outcome: {said}", id=text, reward=stored
        )

    def settle(self) -> Outcome | problems.ServiceError:
        """How the decision was closed, or why not."""
        if self.answer is not None:
            return self.answer
        entry = self.batch.closed[self.row.id]
        text = ids.text_of(self.row.id)
        if self.feedback is None:
            return Outcome(text, False, "withdrawn", entry.pos)
        bandit = self.replica.bandit_of(self.row)
        if bandit.learner is not None and bandit.learner.frozen:
            return Outcome(text, False, "frozen", entry.pos)
        if Learner.restarts_before(self.row.ticket) != bandit.experiment.restarts_before(entry.pos):
            return Outcome(text, False, "restarted", entry.pos)
        return Outcome(text, learned=True, position=entry.pos)


class PendingChange(Pending):
    """A change of arms."""

    def __init__(self, experiment: LiveExperiment, request: Change) -> None:
        self.experiment, self.request = experiment, request
        self.pos = 0

    def entry(self, pos: int, now: float) -> EntryRow:
        """The entry that changes arms."""
        self.pos = pos
        body = json.dumps(self.request.arm)
        return EntryRow(pos, self.request.what, self.experiment.id, None, None, None, None, now, body)

    def settle(self) -> Changed | problems.ServiceError:
        """The arms of now; a problem if others were faster and it had become impossible."""
        if not any(pos == self.pos for pos, _, _ in self.experiment.changes):
            wanted = "possible when it was its turn"
            return problems.InvalidRequestError(InvalidArgumentError("arm", self.request.arm, wanted))
        blank = self.experiment.blank
        return Changed(self.experiment.name, blank.arms, blank.disabled, blank.retired, self.pos)


class PendingSettings(Pending):
    """A change of settings."""

    def __init__(self, experiment: LiveExperiment, request: Alter) -> None:
        self.experiment, self.request = experiment, request
        self.pos = 0

    def entry(self, pos: int, now: float) -> EntryRow:
        """The entry that changes settings."""
        self.pos = pos
        body = json.dumps({"after": self.request.version, "settings": self.request.settings})
        return EntryRow(pos, SETTINGS, self.experiment.id, None, None, None, None, now, body)

    def settle(self) -> int | problems.ServiceError:
        """The version that it made, or a problem if the experiment had another one than expected."""
        version = self.experiment.version
        if version != self.pos:
            detail = (
                f"the experiment {self.experiment.name!r} has changed since version {self.request.version}"
            )
            return problems.PreconditionFailedError(detail, version=version)
        return version
