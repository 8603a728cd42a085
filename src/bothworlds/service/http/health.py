"""Is it up, is it ready, what does it count, what does it serve?"""

from __future__ import annotations

from bothworlds.service.http import schemas
from bothworlds.service.http.endpoints import Answer, Call


async def live(call: Call) -> Answer:
    """The process answers."""
    return Answer(schemas.Health(status="ok"))


async def ready(call: Call) -> Answer:
    """Requests may come."""
    why = call.service.why_not_ready()
    if why is not None:
        return Answer(schemas.Health(status="unavailable", detail=why), 503)
    return Answer(schemas.Health(status="ok"))


async def metrics(call: Call) -> Answer:
    """What Prometheus reads."""
    odd_keys = call.service.monitor(call.caller.project).odd_keys
    text = call.service.metrics.text(call.hub, odd_keys)
    return Answer(text, media_type=b"text/plain; version=0.0.4; charset=utf-8")
