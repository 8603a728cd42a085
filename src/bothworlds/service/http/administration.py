"""Keys, the audit chain, erasure, sessions of the board."""

from __future__ import annotations

import asyncio
import json

from bothworlds.service import problems, registry
from bothworlds.service.http import schemas
from bothworlds.service.http.auth import COOKIE, SESSION_SECONDS
from bothworlds.service.http.endpoints import Answer, Call
from bothworlds.service.http.experiments import note
from bothworlds.service.http.schemas import moment
from bothworlds.service.replica import Replica


def shown_fields(key: registry.Key) -> dict[str, object]:
    """What may be shown of a key: never its hash."""
    return {
        "id": key.id,
        "project": key.project_name,
        "role": key.role,
        "label": key.label,
        "created": moment(key.created),
        "expires": None if key.expires is None else moment(key.expires),
        "revoked": None if key.revoked is None else moment(key.revoked),
    }


async def refresh_keys(call: Call) -> None:
    """Let this process know the keys of now."""
    call.service.doorkeeper.know(await asyncio.to_thread(call.service.registry.known_keys))


async def new_key(call: Call) -> Answer:
    """Make a key; its secret is shown this once."""
    body, project = call.body, call.caller.project
    if (
        len(await asyncio.to_thread(call.service.registry.known_keys, project))
        >= call.service.config.limits.max_keys
    ):
        raise problems.LimitReachedError("there are as many keys as there may be")
    identity = registry.new_key_id()
    await note(call, "new key", identity, body)
    key, text = await asyncio.to_thread(
        call.service.registry.new_key,
        body.role,
        project=project,
        label=body.label,
        days=body.days,
        identity=identity,
    )
    await refresh_keys(call)
    return Answer(schemas.MadeKey(**shown_fields(key), key=text), 201)  # type: ignore[arg-type]


async def keys(call: Call) -> Answer:
    """All keys of the project, without their secrets."""
    found = await asyncio.to_thread(call.service.registry.known_keys, call.caller.project)
    return Answer(schemas.Keys(keys=[schemas.Key(**shown_fields(key)) for key in found]))  # type: ignore[arg-type]


async def revoke(call: Call) -> Answer:
    """Take a key back, unless it is the last good one of an admin; again changes nothing."""
    identity, project = call.path["id"], call.caller.project
    known = await asyncio.to_thread(call.service.registry.known_keys, project)
    if not any(key.id == identity for key in known):
        raise problems.UnknownKeyError(f"no key has the id {identity!r}", id=identity)
    await note(call, "revoke key", identity)
    await asyncio.to_thread(call.service.registry.revoke, identity, project, keep_an_admin=True)
    await refresh_keys(call)
    return Answer(status=204)


async def audit(call: Call) -> Answer:
    """Who asked for what, in the order of time."""
    limit = call.query["limit"]
    rows = await asyncio.to_thread(
        call.service.registry.audit, call.caller.number, after=call.query["after"], limit=limit
    )
    entries = [
        schemas.AuditEntry(
            number=row.number,
            at=moment(row.at),
            key=row.key,
            action=row.action,
            target=row.target,
            body=json.loads(row.body),
            request=row.request,
            hash=row.hash.hex(),
        )
        for row in rows
    ]
    return Answer(
        schemas.AuditEntries(entries=entries, after=rows[-1].number if len(rows) == limit else None)
    )


async def erase(call: Call) -> Answer:
    """Blank a unit and its contexts; arms, probabilities and rewards stay."""
    number, found = call.caller.number, call.service.registry
    unit = await asyncio.to_thread(found.unit, number, call.path["unit"])
    await note(call, "erase unit", unit.hex())
    erased = await asyncio.to_thread(found.erase, number, unit)

    def forget(replica: Replica) -> None:
        for identity, row in replica.open.items():
            if row.unit == unit:
                replica.open[identity] = row._replace(unit=None, context=None)

    await call.service.read(call.hub, forget)
    return Answer(schemas.Erased(decisions=erased))


# --- sessions -------------------------------------------------------------------------------------------


async def new_link(call: Call) -> Answer:
    """A link that opens the board once, within an hour."""
    return Answer(schemas.Link(link=call.service.doorkeeper.link(call.caller.key)), 201)


async def new_session(call: Call) -> Answer:
    """Exchange a link for a cookie, with which the board can be read."""
    value = call.service.doorkeeper.session(call.body.link)
    cookie = f"{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={int(SESSION_SECONDS)}"
    if call.headers.get(b"x-forwarded-proto") == b"https" or call.scope["scheme"] == "https":
        cookie += "; Secure"
    return Answer(status=204, headers=[(b"set-cookie", cookie.encode())])
