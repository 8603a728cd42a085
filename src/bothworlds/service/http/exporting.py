"""Exports that are asked for, watched and fetched over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from bothworlds.service import problems
from bothworlds.service.exports import Exports, Subject
from bothworlds.service.http import schemas
from bothworlds.service.http.endpoints import Answer, Call, id_in_path
from bothworlds.service.http.experiments import note
from bothworlds.service.replica import Replica

PART = 1 << 18  # bytes


async def start(call: Call) -> Answer:
    """Export the decisions of an experiment to Parquet, one file for each day."""
    service, body, project = call.service, call.body, call.caller.project
    exports = Exports(Path(service.config.storage.exports))

    def subject(replica: Replica) -> Subject:
        found = replica.named(body.experiment)
        return Subject.of(found.name, found.settings, found.blank.labels)

    wanted = await service.read(call.hub, subject)
    if len(service.exporting) >= service.config.limits.max_exports:
        raise problems.LimitReachedError(f"{len(service.exporting)} exports are under way")
    await note(call, "export", body.experiment, body)
    identity = await asyncio.to_thread(
        exports.begin, project, body.experiment, keep=service.config.limits.kept_exports
    )
    task = asyncio.create_task(
        asyncio.to_thread(
            exports.run,
            service.registry,
            project,
            call.caller.number,
            identity,
            wanted,
            begin=0.0 if body.begin is None else body.begin.timestamp(),
            end=None if body.end is None else body.end.timestamp(),
            max_rows=service.config.limits.max_export,
        )
    )
    service.exporting.add(task)
    task.add_done_callback(service.exporting.discard)
    found = exports.find(project, identity)
    return Answer(schemas.Export(**found), 202, [(b"location", f"/v1/exports/{identity}".encode())])


async def find(call: Call) -> Answer:
    """How far an export is, and its files."""
    exports = Exports(Path(call.service.config.storage.exports))
    return Answer(schemas.Export(**exports.find(call.caller.project, id_in_path(call, "an export"))))


async def fetch(call: Call) -> Answer:
    """A file of an export."""
    exports = Exports(Path(call.service.config.storage.exports))
    path = exports.file(call.caller.project, id_in_path(call, "an export"), call.path["name"])
    return Answer(parts(path), media_type=b"application/vnd.apache.parquet")


async def parts(path: Path) -> AsyncIterator[bytes]:
    """A file, part by part."""
    with path.open("rb") as file:
        while part := await asyncio.to_thread(file.read, PART):
            yield part
