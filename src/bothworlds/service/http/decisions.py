"""Decisions and outcomes: the two requests that come often, by themselves and by the hundred."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from bothworlds.bandit.pull import label_of
from bothworlds.errors import InvalidArgumentError
from bothworlds.service import ids, messages, problems
from bothworlds.service.http import mistakes, schemas
from bothworlds.service.http.endpoints import (
    MAX_DEPTH,
    Answer,
    Call,
    depth_of,
    id_in_path,
    problem_details,
    service_error_of,
)
from bothworlds.service.http.schemas import moment
from bothworlds.service.replica import Replica

REPLAYED = ((b"idempotent-replayed", b"true"),)


def request_of(call: Call, body: schemas.NewDecision) -> messages.Decide:
    """What the hub is asked."""
    context = None
    if body.context is not None:
        if depth_of(body.context) > MAX_DEPTH:
            raise mistakes.at("/context", f"must be nested at most {MAX_DEPTH} deep")
        context = msgspec.json.encode(body.context)
    among = None if body.among is None else tuple(label_of(arm) for arm in body.among)
    experiment, key = call.path["experiment"], call.caller.key_number
    return messages.Decide(experiment, body.id, body.segment, body.unit, context, among, key)


def decision_of(made: messages.Decision) -> schemas.Decision:
    """A decision of the hub as it is sent to a client."""
    return schemas.Decision(
        id=made.id,
        experiment=made.experiment,
        segment=made.segment,
        arm=made.arm,
        observe=made.observe,
        probability=made.probability,
        seen=made.seen,
        made=moment(made.made),
        deadline=None if made.deadline is None else moment(made.deadline),
    )


def outcome_of(found: messages.Outcome) -> schemas.Outcome:
    """An outcome of the hub as it is sent to a client."""
    return schemas.Outcome(id=found.id, learned=found.learned, reason=found.reason, position=found.position)


async def decide(call: Call) -> Answer:
    """Choose an arm; the same id again gets the same decision."""
    made = await call.service.ask(call.hub, request_of(call, call.body))
    if made.repeated:
        return Answer(decision_of(made), 200, REPLAYED)
    call.metrics.decisions.labels(made.experiment).inc()
    return Answer(decision_of(made), 201)


async def decide_many(call: Call) -> Answer:
    """Choose many arms, in one commit; one that is refused does not refuse the others."""
    found = await many(call, call.body.decisions, schemas.NewDecision, lambda item: request_of(call, item))
    results = []
    made = sum(isinstance(answer, messages.Decision) and not answer.repeated for answer in found)
    if made:
        call.metrics.decisions.labels(call.path["experiment"]).inc(made)
    for answer in found:
        if isinstance(answer, messages.Decision):
            status = 200 if answer.repeated else 201
            results.append(schemas.DecisionResult(status=status, decision=decision_of(answer)))
        else:
            results.append(schemas.DecisionResult(status=answer.status, problem=in_results(answer)))
    return Answer(schemas.DecisionResults(results=results))


async def report(call: Call) -> Answer:
    """Report the reward or the loss of a decision; the same again changes nothing."""
    body = call.body
    key = call.caller.key_number
    request = messages.Report(id_in_path(call, "a decision"), reward=body.reward, loss=body.loss, key=key)
    return closed(call, await call.service.ask(call.hub, request))


async def withdraw(call: Call) -> Answer:
    """Close a decision without learning, because its arm was never shown."""
    return closed(
        call,
        await call.service.ask(
            call.hub, messages.Withdraw(id_in_path(call, "a decision"), call.caller.key_number)
        ),
    )


def closed(call: Call, outcome: messages.Outcome) -> Answer:
    """The answer to a report or a withdrawal."""
    call.metrics.outcomes.labels(outcome.reason or "learned").inc()
    return Answer(outcome_of(outcome), 200, REPLAYED if outcome.repeated else ())


async def report_many(call: Call) -> Answer:
    """Report many outcomes, in one commit; one that is refused does not refuse the others."""

    def request(item: schemas.NewOutcomeOf) -> messages.Report:
        return messages.Report(item.id, reward=item.reward, loss=item.loss, key=call.caller.key_number)

    results = []
    reasons: Counter[str] = Counter()
    for answer in await many(call, call.body.outcomes, schemas.NewOutcomeOf, request):
        if isinstance(answer, messages.Outcome):
            reasons[answer.reason or "learned"] += 1
            results.append(schemas.OutcomeResult(status=200, outcome=outcome_of(answer)))
        else:
            results.append(schemas.OutcomeResult(status=answer.status, problem=in_results(answer)))
    for reason, n in reasons.items():
        call.metrics.outcomes.labels(reason).inc(n)
    return Answer(schemas.OutcomeResults(results=results))


async def many(call: Call, items: list[msgspec.Raw], kind: Any, request: Any) -> list[Any]:
    """Answers and problems of many requests, each of which is decoded by itself."""
    limit = call.service.config.limits.max_batch
    if len(items) > limit:
        raise problems.TooLargeError(f"{len(items)} items, of {limit} that are taken at once", limit=limit)
    decoder = msgspec.json.Decoder(kind)
    requests: list[Any] = []
    results: list[Any] = [None] * len(items)
    places = []
    for place, item in enumerate(items):
        try:
            requests.append(request(decoder.decode(item)))
            places.append(place)
        except msgspec.ValidationError as error:
            results[place] = mistakes.of_body(error, kind, bytes(item))
        except (msgspec.MsgspecError, InvalidArgumentError) as error:
            results[place] = service_error_of(error)
    answers = await call.service.submit(call.hub, requests) if requests else []
    for place, answer in zip(places, answers, strict=True):
        results[place] = answer
    if requests and all(isinstance(answer, problems.StorageError) for answer in answers):
        raise answers[0]
    return results


def in_results(problem: problems.ServiceError) -> schemas.Problem:
    """A problem of one of many."""
    return msgspec.convert(problem_details(problem, None), schemas.Problem)


async def find(call: Call) -> Answer:
    """A decision, and what became of it."""
    text = id_in_path(call, "a decision")
    return Answer(await call.service.read(call.hub, lambda replica: found_in(replica, text)))


def found_in(replica: Replica, text: str) -> schemas.FoundDecision:
    """A decision in memory, or on disk."""
    identity = ids.bytes_of(text)
    row = replica.open.get(identity) or replica.store.decisions(replica.id, [identity]).get(identity)
    if row is None:
        replica.require_kept(identity)
        raise problems.UnknownDecisionError(f"no decision has the id {text}", id=text)
    experiment = replica.bandit_of(row).experiment
    entry = replica.store.closings(replica.id, [identity]).get(identity)
    closing: schemas.Closing | None = None
    if entry is not None:
        closing = schemas.Closing(
            source=entry.kind,  # type: ignore[arg-type]
            reward=None if entry.kept is None else experiment.blank.value_of(entry.kept),
            at=moment(entry.at),
            position=entry.pos,
        )
    made = decision_of(replica.decision(row, repeated=True))
    return schemas.FoundDecision(**msgspec.structs.asdict(made), closed=closing)
