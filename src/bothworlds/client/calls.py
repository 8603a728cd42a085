"""What a client does, without sockets: generators that yield effects, and are sent their results.

:class:`~bothworlds.client.Client` and :class:`~bothworlds.client.AsyncClient` perform the effects.
"""

from __future__ import annotations

import json
import logging
import math
import random
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import UUID

from bothworlds._uuid7 import uuid7
from bothworlds.client.answers import Decision, Drained, Label, Outcome
from bothworlds.client.spool import Spool, SpooledReport
from bothworlds.errors import InvalidArgumentError, RefusedError, SpoolError, UnreachableError

logger = logging.getLogger("bothworlds.client")

OUTCOMES = "/v1/outcomes:batch"
MAX_IN_DOUBT = 10_000
BATCH = 500  # decisions or outcomes in a request
TRIES = 3
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
SHORTEST_TRY = 0.01  # seconds: what fails after less hides why the one before has failed
UNDONE = frozenset({"closed", "overloaded", "rate-limited"})  # refused before anything was done
LATER = frozenset({408, 425, 429})  # and all of 5xx: the same request may succeed another time

# --- effects --------------------------------------------------------------------------------------------


class Send(NamedTuple):
    """Send a request, and give back a RawReply; or a Failure, at the latest after so many seconds."""

    method: str
    path: str
    content: bytes | None
    seconds: float


class Pause(NamedTuple):
    """Wait so many seconds; nothing is given back."""

    seconds: float


class DiskCall(NamedTuple):
    """Call a function that waits for a disk, and give back what it returns."""

    function: Callable[[], Any]


class RawReply(NamedTuple):
    """What the service, or a proxy before it, answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Failure(NamedTuple):
    """Why there is no reply."""

    detail: str
    sent: bool
    """May the request have arrived?"""


Effect: TypeAlias = Send | Pause | DiskCall
T = TypeVar("T")
Call: TypeAlias = Generator[Effect, Any, T]


def on_disk(function: Callable[[], T]) -> Call[T]:
    """What a function of the spool returns, or raises."""

    def attempt() -> T | SpoolError:
        try:
            return function()
        except SpoolError as error:
            return error

    result = yield DiskCall(attempt)
    if isinstance(result, SpoolError):
        raise result
    found: T = result
    return found


# --- trying ---------------------------------------------------------------------------------------------


class Patience:
    """How long a request is tried again, from now on.

    Pauses have full jitter: uniform between nothing and a bound that doubles from 20 ms up to a second, so
    that clients that failed together do not come back together.

    Parameters
    ----------
    deadline:
        Seconds for all tries and pauses.
    tries:
        How many; None: as many as there is time for.
    share:
        The part of the deadline that one try may take. One that hangs is given up for another then.
    """

    def __init__(self, deadline: float, *, tries: int | None, share: float = 1.0) -> None:
        self._end = time.monotonic() + deadline
        self._longest = share * deadline
        self._tries = tries
        self._tried = 0

    @property
    def left(self) -> float:
        """Seconds that are left of the deadline."""
        return self._end - time.monotonic()

    def seconds(self) -> float:
        """How long the next try may take."""
        self._tried += 1
        return max(0.0, min(self._longest, self.left))

    def pause(self, at_least: float) -> float | None:
        """How long to wait before another try; None if there is none."""
        bound = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._tried - 1, 30))
        seconds = max(at_least, random.uniform(0.0, bound))
        return None if self._tried == self._tries or seconds >= self.left else seconds


def exchange(method: str, path: str, body: Any, patience: Patience, read: Callable[[Any], T]) -> Call[T]:
    """What ``read`` makes of the answer; :class:`UnreachableError` when patience is over."""
    content = None if body is None else json.dumps(body).encode()
    in_doubt = False
    while True:
        reply = yield Send(method, path, content, patience.seconds())
        at_least = 0.0
        if isinstance(reply, Failure):
            failure, in_doubt = reply.detail, in_doubt or reply.sent
        elif is_temporary(reply.status):
            problem = refused_error_of(reply)
            failure, at_least = problem.detail, retry_after(reply)
            in_doubt = in_doubt or problem.problem not in UNDONE
        elif not 200 <= reply.status < 300:
            raise refused_error_of(reply)
        else:
            try:
                return read(json.loads(reply.content))
            except (AttributeError, KeyError, TypeError, ValueError):
                failure, in_doubt = "the answer is none of this service", True
        pause = patience.pause(at_least)
        if pause is not None:
            yield Pause(pause)
        if pause is None or patience.left < SHORTEST_TRY:
            raise UnreachableError(failure, in_doubt=in_doubt)


def exchange_many(
    path: str, item_name: str, items: Sequence[Any], patience: Patience, read: Callable[[Any], T]
) -> Call[list[T | RefusedError | UnreachableError]]:
    """The same for each item, whose errors are results; refused as a whole, the request raises.

    ``item_name`` is what the service calls an item and, with an s, the list of them.
    """

    def read_all(answer: Any) -> list[T | RefusedError]:
        return [
            read(found[item_name])
            if found.get("problem") is None
            else refused(found["status"], found["problem"])
            for _, found in zip(waiting, answer["results"], strict=True)
        ]

    results: list[Any] = [None] * len(items)
    waiting = list(range(len(items)))
    while True:
        body = {f"{item_name}s": [items[i] for i in waiting]}
        try:
            answers: list[Any] = yield from exchange("POST", path, body, patience, read_all)
        except RefusedError as error:
            if error.status != 413 or len(items) == 1:
                raise
            middle = len(items) // 2  # too many, or too many bytes, for this service
            return [
                *(yield from exchange_many(path, item_name, items[:middle], patience, read)),
                *(yield from exchange_many(path, item_name, items[middle:], patience, read)),
            ]
        except UnreachableError as error:
            answers = [error] * len(waiting)
        for i, answer in zip(waiting, answers, strict=True):
            results[i] = answer
        waiting = [
            i for i in waiting if isinstance(results[i], RefusedError) and is_temporary(results[i].status)
        ]
        pause = patience.pause(0.0) if waiting else None
        if pause is None:
            for i in waiting:
                results[i] = UnreachableError(results[i].detail, in_doubt=results[i].problem not in UNDONE)
            return results
        yield Pause(pause)


def is_temporary(status: int) -> bool:
    """May the same request succeed another time?"""
    return status >= 500 or status in LATER


def refused_error_of(reply: RawReply) -> RefusedError:
    """What the service, or a proxy before it, has refused."""
    try:
        fields = json.loads(reply.content)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        fields = {"detail": f"status {reply.status}, without a reason"}
    return refused(reply.status, fields)


def refused(status: int, fields: Mapping[str, Any]) -> RefusedError:
    """A problem as the service describes it (RFC 9457)."""
    problem = str(fields.get("type", "")).rpartition("/")[2]
    return RefusedError(status, problem, str(fields.get("detail", problem)), fields=fields)


def retry_after(reply: RawReply) -> float:
    """Seconds that the service asks for."""
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0


# --- arguments ------------------------------------------------------------------------------------------


def identity_of(name: str, value: Any) -> str:
    """A UUID as it is written."""
    try:
        return str(UUID(value))
    except (AttributeError, TypeError, ValueError):
        fix = "give what decide returned, or its id"
        raise InvalidArgumentError(name, value, "a decision, or a UUID", fix=fix) from None


def number_of(name: str, value: Any) -> float:
    """A reward or a loss as it is sent."""
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidArgumentError(name, value, "a finite number")
    return number


def feedback_of(reward: Any, loss: Any, plural: bool = False) -> tuple[str, Any]:
    """The kind of feedback that was given, ``"reward"`` or ``"loss"``, and its value or values."""
    if (reward is None) == (loss is None):
        names = "rewards=... or losses=..." if plural else "reward=... or loss=..."
        both = "neither" if reward is None else "both"
        name = "rewards" if plural else "reward"
        raise InvalidArgumentError(name, reward, f"given, or else a loss: {names}", got=both)
    return ("loss", loss) if reward is None else ("reward", reward)


def decisions_path(experiment: Any) -> str:
    """Where decisions of an experiment are made."""
    if not isinstance(experiment, str) or not experiment:
        raise InvalidArgumentError("experiment", experiment, "the name of an experiment")
    return f"/v1/experiments/{quote(experiment, safe='')}/decisions"


# --- calls ----------------------------------------------------------------------------------------------


class Calls:
    """The calls of a client; its parameters are those of :class:`~bothworlds.client.Client`."""

    def __init__(
        self,
        decide_deadline: float,
        report_deadline: float,
        spool: str | PathLike[str] | None,
        spool_bytes: int,
    ) -> None:
        for name, value in (("decide_deadline", decide_deadline), ("report_deadline", report_deadline)):
            if number_of(name, value) <= 0.0:
                raise InvalidArgumentError(name, value, "a number of seconds above 0")
        self._decide_deadline = float(decide_deadline)
        self._report_deadline = float(report_deadline)
        self._spool = None if spool is None else Spool(spool, max_bytes=spool_bytes)
        self._spooled = self._spool is not None and len(self._spool) > 0
        self._reached = True
        self._in_doubt: deque[str] = deque(maxlen=MAX_IN_DOUBT)  # fell back here, and may be made there

    def _hurried(self) -> Patience:
        return Patience(self._decide_deadline, tries=TRIES)

    def _patient(self) -> Patience:
        tries = None if self._spool is None else TRIES  # whoever has a spool need not wait
        return Patience(self._report_deadline, tries=tries, share=1.0 / TRIES)

    def decide(
        self,
        experiment: str,
        *,
        fallback: Label,
        segment: str,
        unit: str | None,
        context: Mapping[str, Any] | None,
        among: Iterable[Label] | None,
        id: str | None,
    ) -> Call[Decision]:
        """One decision."""
        path = decisions_path(experiment)
        identity = fresh() if id is None else identity_of("id", id)
        body = asked(identity, segment, unit, context, among)
        try:
            decision = yield from exchange("POST", path, body, self._hurried(), Decision.of)
        except UnreachableError as error:
            return self._fallen_back(experiment, segment, fallback, error, identity if id is None else None)
        self._note_success()
        return decision

    def decide_many(
        self,
        experiment: str,
        units: Iterable[str | None],
        *,
        fallback: Label,
        segment: str,
        among: Iterable[Label] | None,
    ) -> Call[list[Decision]]:
        """One decision for each unit."""
        path = f"{decisions_path(experiment)}:batch"
        arms = None if among is None else list(among)
        items = [asked(fresh(), segment, unit, None, arms) for unit in units]
        results = yield from in_batches(path, "decision", items, self._hurried, Decision.of)
        for i, result in enumerate(results):
            if isinstance(result, UnreachableError):
                results[i] = self._fallen_back(experiment, segment, fallback, result, items[i]["id"])
            elif isinstance(result, Decision):
                self._note_success()
        return unless_refused(results)

    def _fallen_back(
        self, experiment: str, segment: str, fallback: Label, error: UnreachableError, identity: str | None
    ) -> Decision:
        if error.in_doubt and identity is not None:
            self._in_doubt.append(identity)
        if self._reached:  # an outage is logged once, not for each decision
            self._reached = False
            logger.warning("decisions fall back: %s", error)
        return Decision(
            id=None,
            experiment=experiment,
            segment=segment,
            arm=fallback,
            observe=fallback,
            probability=None,
            reason="fallback",
            error=str(error),
        )

    def _note_success(self) -> None:
        if not self._reached:
            self._reached = True
            logger.warning("decisions are drawn again")

    def report(self, decision: Decision | str, *, reward: float | None, loss: float | None) -> Call[Outcome]:
        """One outcome."""
        kind, value = feedback_of(reward, loss)
        number = number_of(kind, value)
        if isinstance(decision, Decision) and decision.id is None:
            return Outcome(None, False, "fallback")
        report = SpooledReport(identity_of("decision", getattr(decision, "id", decision)), kind, number)
        path = f"/v1/decisions/{report.id}/outcome"
        try:
            outcome = yield from exchange("PUT", path, {kind: number}, self._patient(), Outcome.of)
        except UnreachableError as error:
            return (yield from self._spool_reports([report], error))[0]
        yield from self._drain_some()
        return outcome

    def report_many(
        self,
        decisions: Iterable[Decision | str],
        *,
        rewards: Iterable[float] | None,
        losses: Iterable[float] | None,
    ) -> Call[list[Outcome]]:
        """Many outcomes."""
        kind, values = feedback_of(rewards, losses, plural=True)
        subjects, numbers = list(decisions), list(values)
        plural = {"reward": "rewards", "loss": "losses"}[kind]
        if len(subjects) != len(numbers):
            wanted = f"of length {len(subjects)}"
            raise InvalidArgumentError(
                plural, numbers, wanted, got=f"length {len(numbers)}", fix="give one for each"
            )
        results: list[Any] = [None] * len(subjects)
        places, reports = [], []
        for i, (subject, value) in enumerate(zip(subjects, numbers, strict=True)):
            number = number_of(f"{plural}[{i}]", value)
            if isinstance(subject, Decision) and subject.id is None:
                results[i] = Outcome(None, False, "fallback")
            else:
                identity = identity_of(f"decisions[{i}]", getattr(subject, "id", subject))
                places.append(i)
                reports.append(SpooledReport(identity, kind, number))
        items = [report.to_json() for report in reports]
        answers = yield from in_batches(OUTCOMES, "outcome", items, self._patient, Outcome.of)
        unsent = [i for i, answer in enumerate(answers) if isinstance(answer, UnreachableError)]
        if unsent:
            spooled = yield from self._spool_reports([reports[i] for i in unsent], answers[unsent[0]])
            for i, outcome in zip(unsent, spooled, strict=True):
                answers[i] = outcome
        elif reports:
            yield from self._drain_some()
        for i, answer in zip(places, answers, strict=True):
            results[i] = answer
        return unless_refused(results)

    def _spool_reports(self, reports: list[SpooledReport], error: UnreachableError) -> Call[list[Outcome]]:
        """Put reports that nobody has taken into the spool."""
        spool = self._spool
        if spool is None:
            raise error
        yield from on_disk(lambda: spool.add(reports))
        self._spooled = True
        return [Outcome(report.id, False, "spooled") for report in reports]

    def withdraw(self, decision: Decision | str) -> Call[Outcome]:
        """Close a decision without learning."""
        if isinstance(decision, Decision) and decision.id is None:
            return Outcome(None, False, "fallback")
        identity = identity_of("decision", getattr(decision, "id", decision))
        return (yield from self._withdraw(identity, self._patient()))

    def _withdraw(self, identity: str, patience: Patience) -> Call[Outcome]:
        return (yield from exchange("DELETE", f"/v1/decisions/{identity}", None, patience, Outcome.of))

    def drain(self) -> Call[Drained]:
        """Send all that waits, as far as the service can be reached."""
        sent, more = 0, True
        refusals: list[RefusedError] = []
        while more:
            batch_sent, batch_refusals, more = yield from self._drain_spool()
            sent, refusals = sent + batch_sent, refusals + batch_refusals
        yield from self._settle_doubts(MAX_IN_DOUBT)
        left = 0 if self._spool is None else (yield from on_disk(self._spool.__len__))
        return Drained(sent, refusals, left + len(self._in_doubt))

    def _drain_some(self) -> Call[None]:
        """Send some of what waits, after an answer that says that the service is there."""
        if self._spooled:
            try:
                yield from self._drain_spool()
            except (RefusedError, SpoolError) as error:  # the report that was made has had its answer
                logger.warning("the spool was not drained: %s", error)
        yield from self._settle_doubts(TRIES)

    def _drain_spool(self) -> Call[tuple[int, list[RefusedError], bool]]:
        """Send a batch: how many were taken, what was refused, and whether there may be more to send."""
        spool = self._spool
        self._spooled = False  # before looking: other threads may add
        reports = [] if spool is None else (yield from on_disk(lambda: spool.first(BATCH)))
        if spool is None or not reports:
            return 0, [], False
        self._spooled = True
        items = [report.to_json() for report in reports]
        answers = yield from exchange_many(OUTCOMES, "outcome", items, self._patient(), Outcome.of)
        settled, refusals = [], []
        for report, answer in zip(reports, answers, strict=True):
            if isinstance(answer, UnreachableError):
                continue
            settled.append(report.id)
            if isinstance(answer, RefusedError):
                logger.warning("a report in the spool was refused: %s, %s", report, answer.detail)
                refusals.append(answer)
        yield from on_disk(lambda: spool.remove(settled))
        return len(settled) - len(refusals), refusals, len(settled) == len(reports)

    def _settle_doubts(self, n: int) -> Call[None]:
        """Withdraw decisions that fell back here: if the service has made them, nobody plays them."""
        for _ in range(n):
            try:
                identity = self._in_doubt.popleft()
            except IndexError:  # other threads take from it, too
                return
            try:
                yield from self._withdraw(
                    identity, Patience(self._report_deadline, tries=1, share=1.0 / TRIES)
                )
            except RefusedError:  # it has not made it
                continue
            except UnreachableError:
                self._in_doubt.append(identity)
                return


def fresh() -> str:
    """The id of a decision to be made."""
    return str(UUID(bytes=uuid7()))


def asked(
    identity: str,
    segment: str,
    unit: str | None,
    context: Mapping[str, Any] | None,
    among: Iterable[Label] | None,
) -> dict[str, Any]:
    """The body of a request for a decision."""
    for name, text in (("segment", segment), ("unit", unit)):
        if not isinstance(text, str) and (name, text) != ("unit", None):
            raise InvalidArgumentError(name, text, "a string", fix=f"write {name}=str(...)")
    body: dict[str, Any] = {"id": identity, "segment": segment, "unit": unit}
    if context is not None:
        body["context"] = in_json("context", dict(context))
    if among is not None:
        body["among"] = in_json("among", list(among))
    return body


def in_json(name: str, value: T) -> T:
    """A value that JSON can hold, or an error."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        wanted = "of strings, numbers, lists and tables, as JSON has them"
        raise InvalidArgumentError(name, value, wanted, fix=str(error)) from None
    return value


def in_batches(
    path: str,
    item_name: str,
    items: Sequence[Any],
    patience: Callable[[], Patience],
    read: Callable[[Any], T],
) -> Call[list[Any]]:
    """A result or an error for each item, however many there are; nothing is raised."""
    results: list[Any] = []
    for begin in range(0, len(items), BATCH):
        batch = items[begin : begin + BATCH]
        try:
            results += yield from exchange_many(path, item_name, batch, patience(), read)
        except RefusedError as error:
            results += [error] * len(batch)
    return results


def unless_refused(results: list[T]) -> list[T]:
    """The results of many, unless one of them was refused: then that is raised, and has them all."""
    for i, result in enumerate(results):
        if isinstance(result, RefusedError):
            result.index, result.results = i, results
            raise result
    return results
