"""Who asks, and what they may: keys in a header, or a cookie of the board."""

from __future__ import annotations

import base64
import hmac
import secrets
import time
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from bothworlds.service import problems
from bothworlds.service.registry import Key, Registry, parse_key

RIGHTS: dict[str, frozenset[str]] = {
    "decider": frozenset({"decide"}),
    "viewer": frozenset({"read"}),
    "editor": frozenset({"decide", "read", "edit"}),
    "admin": frozenset({"decide", "read", "edit", "administer"}),
}
COOKIE = "bothworlds_session"
LINK_SECONDS = 3600.0
SESSION_SECONDS = 12 * 3600.0
DENIED = "send 'Authorization: Bearer bw_…' with a key that is neither revoked nor over"


def signing_secret(registry: Registry) -> bytes:
    """What links and cookies are signed with, in all processes that share a database."""
    return sha256(b"links and sessions" + registry.secret("default")).digest()


class Caller(NamedTuple):
    """Who asks: the id of a key, its project, and what it may do."""

    key: str
    project: str
    number: int
    """Of the project."""
    rights: frozenset[str]
    key_number: int


class Doorkeeper:
    """Knows the keys, and counts what each of them asks.

    Parameters
    ----------
    rate:
        Requests per second of one key; twice as many at once.
    secret:
        Signs links and cookies. Processes that share it know each other's.
    """

    def __init__(self, *, rate: float, secret: bytes) -> None:
        self._keys: dict[str, Key] = {}
        self._rate = rate
        self._secret = secret
        self._tokens: dict[str, tuple[float, float]] = {}
        self._used: dict[str, float] = {}  # links, until they are over

    def know(self, keys: Iterable[Key]) -> None:
        """Replace all keys by these."""
        self._keys = {key.id: key for key in keys}
        self._tokens = {name: bucket for name, bucket in self._tokens.items() if name in self._keys}

    def admit(self, headers: Mapping[bytes, bytes], right: str, method: str = "GET") -> Caller:
        """Who sent these headers, if they may do this. A cookie opens nothing but what is read with GET."""
        header = headers.get(b"authorization")
        if header is not None:
            caller = self._by_key(header)
        elif b"cookie" in headers and right == "read" and method == "GET":
            caller = self._by_cookie(headers[b"cookie"])
        else:
            raise problems.UnauthorizedError(DENIED)
        if right not in caller.rights:
            raise problems.ForbiddenError(f"the key {caller.key} must not {right}")
        return caller

    def _by_key(self, header: bytes) -> Caller:
        scheme, _, value = header.decode("latin-1").partition(" ")
        try:
            identity, secret = parse_key(value.strip())
        except ValueError:
            identity, secret = "", ""
        key = self._keys.get(identity)
        if scheme.lower() != "bearer" or key is None or not key.opens(secret, time.time()):
            raise problems.UnauthorizedError(DENIED)
        return Caller(key.id, key.project_name, key.project, RIGHTS[key.role], key.number)

    def spend(self, caller: Caller, cost: int = 1) -> None:
        """Count requests against the rate of a key."""
        now, burst = time.monotonic(), 2.0 * self._rate
        tokens, since = self._tokens.get(caller.key, (burst, now))
        tokens = min(burst, tokens + (now - since) * self._rate)
        if tokens < min(cost, burst):
            self._tokens[caller.key] = (tokens, now)
            raise problems.RateLimitedError(f"more than {self._rate:g} requests per second", limit=self._rate)
        self._tokens[caller.key] = (tokens - cost, now)

    # --- the board ------------------------------------------------------------------------------------

    def link(self, key: str) -> str:
        """What opens the board once, for an hour, signed; it goes after the ``#``, which no server sees."""
        return self._sign("link", key, time.time() + LINK_SECONDS)

    def session(self, link: str) -> str:
        """What a cookie holds, for a link that was not used before."""
        key, now = self._check("link", link), time.time()
        if link in self._used:
            raise problems.UnauthorizedError("this link was used: ask for another")
        self._require_reader(key, now)
        self._used = {used: end for used, end in self._used.items() if end > now}
        self._used[link] = now + LINK_SECONDS
        return self._sign("session", key, now + SESSION_SECONDS)

    def _require_reader(self, identity: str, now: float) -> None:
        """Who has a link may know what became of its key."""
        key = self._keys.get(identity)
        if key is None:
            why = "is not known here"
        elif key.revoked is not None:
            why = "was revoked"
        elif not key.is_good(now):
            why = "is over"
        elif "read" not in RIGHTS[key.role]:
            why = f"is of a {key.role}, who must not read"
        else:
            return
        raise problems.UnauthorizedError(
            f"the key {identity} of this link {why}: ask for a link with another key"
        )

    def _by_cookie(self, header: bytes) -> Caller:
        for part in header.decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == COOKIE:
                key = self._keys.get(self._check("session", value))
                if key is not None and key.is_good(time.time()):
                    rights = RIGHTS[key.role] & RIGHTS["viewer"]
                    return Caller(key.id, key.project_name, key.project, rights, key.number)
        raise problems.UnauthorizedError(DENIED)

    def _sign(self, what: str, key: str, end: float) -> str:
        text = f"{what}.{key}.{int(end)}.{secrets.token_hex(8)}"
        return f"{text}.{self._signature(text)}"

    def _signature(self, text: str) -> str:
        digest = hmac.new(self._secret, text.encode(), sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def _check(self, what: str, signed: str) -> str:
        """The key that something signed is for."""
        text, _, signature = signed.rpartition(".")
        parts = text.split(".")
        good = hmac.compare_digest(self._signature(text).encode(), signature.encode("utf-8", "replace"))
        if not good or len(parts) != 4 or parts[0] != what or float(parts[2]) < time.time():
            raise problems.UnauthorizedError("this link or session is over")
        return parts[1]
