"""Experiments: made, listed, changed, archived; and their arms."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
from msgspec import UNSET

from bothworlds import policies
from bothworlds.errors import InvalidArgumentError, PartError, StateError, UnknownNameError
from bothworlds.policies.base import Policy
from bothworlds.service import messages, problems
from bothworlds.service.http import mistakes, schemas
from bothworlds.service.http.endpoints import Answer, Call
from bothworlds.service.replica import LiveExperiment, Replica
from bothworlds.service.settings import altered_settings, checked_settings


def shown(experiment: LiveExperiment) -> schemas.Experiment:
    """An experiment as it is now."""
    settings = msgspec.structs.asdict(experiment.settings)
    blank, bandits = experiment.blank, experiment.segments.values()
    return schemas.Experiment(
        **settings
        | {
            "name": experiment.name,
            "version": experiment.version,
            "arms": list(blank.arms),
            "disabled": list(blank.disabled),
            "retired": list(blank.retired),
            "segments": len(bandits),
            "frozen": sum(bandit.learner is not None and bandit.learner.frozen for bandit in bandits),
            "archived": experiment.archived,
        }
    )


def tagged(experiment: schemas.Experiment, status: int = 200, *, location: bool = False) -> Answer:
    """An experiment with its version in the header."""
    headers = [(b"etag", f'"{experiment.version}"'.encode())]
    if location:
        headers.append((b"location", f"/v1/experiments/{experiment.name}".encode()))
    return Answer(experiment, status, headers)


async def note(call: Call, action: str, target: str, body: Any = None) -> None:
    """Write down who asks for what, before it is done."""
    registry, caller = call.service.registry, call.caller
    await asyncio.to_thread(
        registry.note,
        caller.number,
        key=caller.key,
        action=action,
        target=target,
        body=msgspec.to_builtins(body),
        request=call.request_id,
    )


def policy_of(given: str | dict[str, Any] | None) -> Any:
    """A policy by its name, or by its settings."""
    try:
        if isinstance(given, dict):
            return policies.from_dict(given)
        return None if given is None else Policy.require(given)
    except (PartError, StateError, UnknownNameError) as error:
        raise mistakes.at("/policy", str(error)) from None


async def create(call: Call) -> Answer:
    """Make an experiment; the same settings again change nothing."""
    body, limits = call.body, call.service.config.limits
    for name, value, limit in (
        ("arms", body.arms if isinstance(body.arms, int) else len(body.arms), limits.max_arms),
        ("max_segments", body.max_segments, limits.max_segments),
    ):
        if value > limit:
            raise InvalidArgumentError(name, value, f"at most {limit}", got=f"{value}")
    options = {name: getattr(body, name) for name in body.__struct_fields__ if name not in ("name", "policy")}
    settings = checked_settings(options.pop("arms"), policy_of(body.policy), **options)

    def make(replica: Replica) -> tuple[bool, schemas.Experiment]:
        if body.name not in replica.settings() and len(replica.experiments) >= limits.max_experiments:
            raise problems.LimitReachedError(f"there are {len(replica.experiments)} experiments")
        made = replica.create(body.name, settings, time.time())
        return made, shown(replica.named(body.name))

    if call.service.full is not None:
        raise call.service.full
    await note(call, "create experiment", body.name, body)
    made, experiment = await call.service.read(call.hub, make)
    return tagged(experiment, 201 if made else 200, location=made)


async def listed(call: Call) -> Answer:
    """Experiments, in the order of their names."""
    limit, after = call.query["limit"], call.query["after"]

    def page(replica: Replica) -> schemas.Experiments:
        names = sorted(name for name in replica.settings() if after is None or name > after)
        here = [shown(replica.named(name)) for name in names[:limit]]
        return schemas.Experiments(experiments=here, after=names[limit - 1] if len(names) > limit else None)

    return Answer(await call.service.read(call.hub, page))


async def one(call: Call) -> Answer:
    """An experiment; its ETag is its version."""
    name = call.path["experiment"]
    return tagged(await call.service.read(call.hub, lambda replica: shown(replica.named(name))))


async def change(call: Call) -> Answer:
    """Change settings that no learner reads; If-Match must be the version that was read."""
    name = call.path["experiment"]
    changes = {
        key: value for key in call.body.__struct_fields__ if (value := getattr(call.body, key)) is not UNSET
    }
    return await altered(call, name, changes)


async def archive(call: Call) -> Answer:
    """Make no more decisions; outcomes of those that were made are still learned."""
    return await altered(call, call.path["experiment"], {"archived": True})


async def altered(call: Call, name: str, changes: dict[str, Any]) -> Answer:
    """The experiment after a change that its version allows."""
    match = call.headers.get(b"if-match")
    if match is None:
        raise problems.PreconditionRequiredError("send If-Match with the ETag of the experiment, or *")
    limit = call.service.config.limits.max_segments
    if changes.get("max_segments", 0) > limit:
        raise InvalidArgumentError("max_segments", changes["max_segments"], f"at most {limit}")

    def check(replica: Replica) -> int:
        experiment = replica.named(name)
        if match != b"*" and match.strip() != f'"{experiment.version}"'.encode():
            detail = f"the experiment {name!r} has version {experiment.version}"
            raise problems.PreconditionFailedError(detail, version=experiment.version)
        altered_settings(experiment.settings, changes)
        return experiment.version

    version = await call.service.read(call.hub, check)
    await note(call, "change experiment", name, changes)
    await call.service.ask(call.hub, messages.Alter(name, version, changes))
    return await one(call)


async def change_arms(call: Call) -> Answer:
    """Add, retire, disable or enable an arm in all segments, or restart them."""
    name, body = call.path["experiment"], call.body
    asked = {what: arm for what in body.__struct_fields__ if (arm := getattr(body, what)) is not UNSET}
    if len(asked) != 1:
        wanted = "must have one of add, retire, disable, enable, restart"
        raise mistakes.at("", f"{wanted}, got {' and '.join(asked) or 'none'}")
    ((what, arm),) = asked.items()
    limit = call.service.config.limits.max_arms

    def check(replica: Replica) -> None:
        if what == "add" and len(replica.named(name).blank.labels) >= limit:
            raise problems.LimitReachedError(f"there are {limit} arms")

    await call.service.read(call.hub, check)
    await note(call, f"{what} arm" if what != "restart" else what, name, arm)
    request = messages.Change(name, what, None if what == "restart" else arm)
    try:
        changed = await call.service.ask(call.hub, request)
    except problems.InvalidRequestError as problem:
        raise mistakes.at(f"/{what}", problem.detail) from None
    return Answer(
        schemas.Arms(
            experiment=changed.experiment,
            arms=list(changed.arms),
            disabled=list(changed.disabled),
            retired=list(changed.retired),
            position=changed.position,
        )
    )
