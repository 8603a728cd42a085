"""For those who look: how bandits do now, how they came to it, and what moves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from bothworlds.bandit.learner import engine
from bothworlds.service import problems
from bothworlds.service.http import schemas
from bothworlds.service.http.endpoints import Answer, Call
from bothworlds.service.http.schemas import moment
from bothworlds.service.monitor import Monitor, Point, View, finite_or_none
from bothworlds.service.reporters import ERROR
from bothworlds.service.store.base import DEFAULT, DROPPED, REPORT, WITHDRAWN

TICK = 1.0  # seconds
MOVED = 200  # bandits in one tick


def bandit_of(monitor: Monitor, view: View) -> schemas.Bandit:
    """A bandit as it is now."""
    state, evidence = monitor.shown(view)
    sums = view.evidence_state.sums
    intervals = {} if evidence is None else evidence.intervals()
    arms = []
    for i, label in enumerate(state.labels):
        bounds: dict[str, Any] = {}
        if evidence is not None:
            found = intervals[label]
            bounds = {
                "mean": finite_or_none(found.estimate),
                "low": finite_or_none(found.low),
                "high": finite_or_none(found.high),
            }
        status = "retired" if label in state.retired else "disabled" if label in state.disabled else "awake"
        arms.append(
            schemas.ArmView(
                arm=label,
                status=status,  # type: ignore[arg-type]
                probability=state.probabilities.get(label, 0.0),
                pulls=int(sums.pulls[i]),
                answers=int(sums.answers[i]),
                **bounds,
            )
        )
    concluded: dict[str, Any] = {}
    if evidence is not None:
        alarm, lost = evidence.drift, evidence.regret
        concluded = {
            "world": next(iter(intervals.values())).world,
            "drift": schemas.Drift(
                raised=bool(alarm),
                arm=alarm.arm,
                log_e=finite_or_none(alarm.log_e),
                threshold=alarm.threshold,
            ),
            "regret": schemas.Band(
                low=finite_or_none(lost.low),
                estimate=finite_or_none(lost.estimate),
                high=finite_or_none(lost.high),
            ),
        }
    return schemas.Bandit(
        segment=view.segment,
        decisions=view.decisions,
        open=view.open,
        reported=view.closed.get(REPORT, 0),
        defaulted=view.closed.get(DEFAULT, 0),
        dropped=view.closed.get(DROPPED, 0),
        withdrawn=view.closed.get(WITHDRAWN, 0),
        late=view.late,
        position=view.position,
        last=None if view.last is None else moment(view.last),
        frozen=state.frozen,
        arms=arms,
        **concluded,
    )


async def bandits(call: Call) -> Answer:
    """How the bandits of an experiment do, in the order of their segments."""
    name, limit = call.path["experiment"], call.query["limit"]
    settings = await call.service.read(call.hub, lambda replica: replica.named(name).settings)
    monitor, after, only = (
        call.service.monitor(call.caller.project),
        call.query["after"],
        call.query["segment"],
    )

    def found() -> tuple[list[schemas.Bandit], str | None]:
        views = [
            view
            for view in monitor.bandits(name)
            if (after is None or view.segment > after) and (only is None or view.segment == only)
        ]
        more = views[limit - 1].segment if len(views) > limit else None
        return [bandit_of(monitor, view) for view in views[:limit]], more

    here, more = await asyncio.to_thread(found)
    return Answer(
        schemas.Bandits(
            experiment=name,
            learn_at=settings.learn_at,
            wait=settings.wait,
            missing=settings.missing,
            position=monitor.position,
            behind=monitor.behind,
            engine=engine(),
            bandits=here,
            after=more,
        )
    )


def point_of(point: Point) -> schemas.CurvePoint:
    """A point as it is written."""
    return schemas.CurvePoint(**point._asdict() | {"at": moment(point.at)})


async def curve(call: Call) -> Answer:
    """How the bandit of a segment came to be what it is."""
    name, segment = call.path["experiment"], call.query["segment"] or ""
    labels = await call.service.read(call.hub, lambda replica: replica.named(name).blank.labels)
    monitor = call.service.monitor(call.caller.project)

    def found() -> list[Point]:
        view = next((view for view in monitor.bandits(name) if view.segment == segment), None)
        return [] if view is None else monitor.curve(view)

    points = await asyncio.to_thread(found)
    step = -(-len(points) // call.query["points"]) if points else 1
    chosen = points[::-1][::step][::-1]  # the last one is among them
    return Answer(
        schemas.Curve(
            experiment=name, segment=segment, arms=list(labels), points=[point_of(one) for one in chosen]
        )
    )


async def reporters(call: Call) -> Answer:
    """What each key asked for and reported, and which of them report odd rewards."""
    monitor = call.service.monitor(call.caller.project)
    known = await asyncio.to_thread(call.service.registry.known_keys, call.caller.project)
    named = {key.number: key for key in known}
    shown = []
    for one in await asyncio.to_thread(monitor.reported):
        key = None if one.number is None else named.get(one.number)
        shown.append(
            schemas.Reporter(
                key=None if key is None else key.id,
                label="" if key is None else key.label,
                decisions=one.decisions,
                answered=one.answered,
                reports=one.reports,
                compared=one.compared,
                difference=finite_or_none(one.difference),
                log_e=finite_or_none(one.log_e),
                compared_with=one.compared_with,
                differs_from=one.differs_from,
                odd=one.odd,
            )
        )
    return Answer(schemas.Reporters(error=ERROR, reporters=shown))


async def stream(call: Call) -> Answer:
    """What moves, once a second, as server-sent events; their ids are times in milliseconds."""
    service = call.service
    if service.streams >= service.config.limits.max_streams:
        raise problems.LimitReachedError(f"{service.streams} boards listen")
    last = call.headers.get(b"last-event-id", b"")
    since = int(last) if last.isdigit() and len(last) < 19 else 0
    return Answer(events(call, since), media_type=b"text/event-stream")


async def events(call: Call, since: int) -> AsyncIterator[bytes]:
    """Ticks, until the client leaves or the service stops."""
    service, monitor = call.service, call.service.monitor(call.caller.project)
    gone = asyncio.ensure_future(left(call.receive))
    drained = asyncio.ensure_future(service.draining.wait())
    service.streams += 1
    try:
        yield b"retry: 1000\n\n"
        while not (gone.done() or drained.done()):
            service.doorkeeper.admit(call.headers, "read")  # keys may be revoked meanwhile
            moved = await asyncio.to_thread(monitor.changed, since, MOVED)
            tick = schemas.Tick(
                at=moment(time.time()),
                position=monitor.position,
                free_bytes=service.free_bytes,
                ready=service.why_not_ready() is None,
                behind=monitor.behind,
                odd_keys=monitor.odd_keys,
                moved=[
                    schemas.Moved(
                        experiment=view.experiment,
                        segment=view.segment,
                        open=view.open,
                        late=view.late,
                        point=point_of(point),
                    )
                    for view, point in moved
                ],
            )
            since = max([since, *(view.drawn for view, _ in moved)])
            yield b"id: %d\nevent: tick\ndata: %s\n\n" % (since, msgspec.json.encode(tick))
            await asyncio.wait((gone, drained), timeout=TICK, return_when=asyncio.FIRST_COMPLETED)
    except problems.UnauthorizedError:
        return
    finally:
        service.streams -= 1
        gone.cancel()
        drained.cancel()


async def left(receive: Any) -> None:
    """Wait until the one who listens is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
