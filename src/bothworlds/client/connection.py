"""How both clients connect."""

from __future__ import annotations

from typing import Any

import httpx

from bothworlds._version import __version__
from bothworlds.client.calls import Failure
from bothworlds.errors import InvalidArgumentError

CONNECTIONS = 100  # at a time; more requests wait
IDLE_SECONDS = 60.0  # the service closes idle connections after 75


NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def late(seconds: float, *, sent: bool = True) -> Failure:
    """The failure of a request that had no answer in time."""
    return Failure(f"no answer within {seconds:.3g} s", sent)


def failure_of(error: httpx.RequestError, seconds: float) -> Failure:
    """The failure that an error of httpx is."""
    sent = not isinstance(error, NOT_SENT)
    if isinstance(error, httpx.TimeoutException):
        return late(seconds, sent=sent)
    return Failure(f"{type(error).__name__}: {error}", sent)


def options(url: str, key: str) -> dict[str, Any]:
    """Arguments of an httpx client."""
    try:
        parsed = httpx.URL(url)
    except (TypeError, httpx.InvalidURL):
        parsed = httpx.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidArgumentError("url", url, "an address such as http://127.0.0.1:8787")
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key.startswith("bw_"):
        fix = "bothworlds service key new --role decider makes one"
        raise InvalidArgumentError("key", None, "a key such as bw_…", got="something else", fix=fix)
    return {
        "base_url": parsed,
        "headers": {
            "authorization": f"Bearer {key}",
            "content-type": "application/json",
            "user-agent": f"bothworlds/{__version__}",
        },
        "limits": httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=IDLE_SECONDS),
    }
