"""An endpoint: who may call it, what it reads and answers; and how a request becomes an answer."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from bothworlds.errors import InvalidArgumentError
from bothworlds.service import ids, problems
from bothworlds.service.http import mistakes
from bothworlds.service.http.auth import Caller
from bothworlds.service.http.metrics import ProjectMetrics
from bothworlds.service.http.service import Service
from bothworlds.service.hub import Hub
from bothworlds.service.logs import logger

JSON, PROBLEM = b"application/json", b"application/problem+json"
SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
NO_CONTENT_FROM_HERE = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
MAX_DEPTH = 5  # of a context
PROCESS = secrets.token_hex(8)  # what ids of requests begin with
counter = itertools.count(1)

Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Query:
    """A parameter after the question mark."""

    name: str
    type: Any = str
    default: Any = None
    description: str = ""


@dataclass(slots=True)
class Call:
    """A request that was let in."""

    service: Service
    request_id: str
    headers: Mapping[bytes, bytes]
    path: Mapping[str, str]
    query: dict[str, Any]
    body: Any = None
    caller: Caller = None  # type: ignore[assignment]
    """None where everybody is let in."""
    hub: Hub = None  # type: ignore[assignment]
    scope: Any = None
    receive: Any = None

    @property
    def metrics(self) -> ProjectMetrics:
        """The counters of the project."""
        return self.service.metrics.of(self.caller.project)


@dataclass(slots=True)
class Answer:
    """What is sent back: JSON types or structs; bytes with a type of their own; or a stream of bytes."""

    body: Any = None
    status: int = 200
    headers: Headers = ()
    media_type: bytes = JSON


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A method of a path.

    ``right`` says who may call it; there is no default, and None is everybody.
    """

    method: str
    path: str
    right: str | None
    handler: Callable[[Call], Awaitable[Answer]]
    body: Any = None
    """What is described."""
    decoded: Any = None
    """What is read, where that is another type."""
    answers: Mapping[int, Any]
    refusals: Sequence[type[problems.ServiceError]] = ()
    query: Sequence[Query] = ()
    big: bool = False
    cost: Callable[[Any], int] = field(default=lambda body: 1)
    media_type: str = "application/json"

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return (self.handler.__doc__ or "").partition("\n")[0].rstrip(".")


class Path:
    """What is served at a path: an ASGI application that chooses the endpoint of the method."""

    def __init__(self, service: Callable[[], Service], endpoints: Sequence[Endpoint]) -> None:
        self._service = service
        self._path = endpoints[0].path
        self._endpoints = {endpoint.method: endpoint for endpoint in endpoints}
        self._timers: dict[str, Any] = {}
        self._is_stream = any(one.media_type == "text/event-stream" for one in endpoints)
        self._decoders = {
            endpoint.method: msgspec.json.Decoder(endpoint.decoded or endpoint.body)
            for endpoint in endpoints
            if endpoint.body is not None
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        began = time.perf_counter()
        service, headers = self._service(), dict(scope["headers"])
        scope["bothworlds.route"] = self._path
        request_id = request_id_of(headers)
        endpoint = self._endpoints.get(scope["method"])
        if scope["method"] == "HEAD" and "GET" in self._endpoints:  # the server sends no body
            endpoint = None if self._is_stream else self._endpoints["GET"]
        try:
            if endpoint is None:
                head = ["HEAD"] if "GET" in self._endpoints and not self._is_stream else []
                allowed = ", ".join([*self._endpoints, *head])
                raise problems.WrongMethodError(f"use {allowed}", allow=allowed)
            answer = await self._answer(endpoint, service, scope, receive, headers, request_id)
        except Exception as error:
            answer = refusal(error, service, request_id)
        await send_answer(send, answer, request_id)
        if endpoint is not None:
            if endpoint.method not in self._timers:
                timer = service.metrics.request_seconds.labels(endpoint.method, endpoint.path)
                self._timers[endpoint.method] = timer
            self._timers[endpoint.method].observe(time.perf_counter() - began)
        if logger.isEnabledFor(10) or answer.status >= 400:
            log_request(scope, answer, request_id, time.perf_counter() - began)

    async def _answer(
        self,
        endpoint: Endpoint,
        service: Service,
        scope: Any,
        receive: Any,
        headers: Mapping[bytes, bytes],
        request_id: str,
    ) -> Answer:
        caller: Any = None
        if endpoint.right is not None:
            caller = service.doorkeeper.admit(headers, endpoint.right, endpoint.method)
        query = query_of(endpoint, scope["query_string"])
        call = Call(service, request_id, headers, scope["path_params"], query, None, caller)
        call.scope, call.receive = scope, receive
        cost = 1
        if endpoint.body is not None:
            server = service.config.server
            raw = await read_body(
                receive, headers, server.max_batch_body if endpoint.big else server.max_body
            )
            try:
                call.body = self._decoders[endpoint.method].decode(raw)
            except msgspec.ValidationError as error:
                raise mistakes.of_body(error, endpoint.decoded or endpoint.body, raw) from None
            except msgspec.DecodeError as error:
                raise mistakes.of_malformed(error, raw) from None
            cost = endpoint.cost(call.body)
        if caller is not None:
            service.doorkeeper.spend(caller, cost)
            call.hub = service.hubs.get(caller.project) or await service.hub(caller.project)
        return await endpoint.handler(call)


def id_in_path(call: Call, of: str) -> str:
    """The id in the address, of a decision, say."""
    text = call.path["id"]
    try:
        ids.bytes_of(text)
    except InvalidArgumentError as error:
        said = f"of the address must be {error.allowed}, got {error.got}; give the id that {of} came with"
        raise mistakes.of_parameter("id", said) from None
    return text


def request_id_of(headers: Mapping[bytes, bytes]) -> str:
    """The id that the client gave, or a fresh one."""
    given = headers.get(b"x-request-id", b"").decode("latin-1")
    return given if REQUEST_ID.match(given) else f"{PROCESS}-{next(counter):x}"


def query_of(endpoint: Endpoint, raw: bytes) -> dict[str, Any]:
    """The parameters of a request, checked."""
    found = {query.name: query.default for query in endpoint.query}
    if raw:
        types = {query.name: query.type for query in endpoint.query}
        for name, value in parse_qsl(raw.decode("latin-1"), keep_blank_values=True):
            if name not in types:
                known = f"Known: {', '.join(types)}" if types else "There are none here"
                raise mistakes.of_parameter(name, f"is no parameter. {known}")
            try:
                found[name] = msgspec.convert(value, types[name], strict=False)
            except msgspec.ValidationError as error:
                raise mistakes.of_query(name, value, error) from None
    return found


async def read_body(receive: Any, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """The body of a request, if it is JSON and not too large."""
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != JSON:
        raise problems.WrongMediaTypeError("send application/json")
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > limit:
        raise problems.TooLargeError(
            f"the body has {int(length)} bytes, of {limit} that are read", limit=limit
        )
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise problems.MalformedRequestError("the connection was closed before the body was whole")
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise problems.TooLargeError(f"the body has more than {limit} bytes", limit=limit)
        parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


# --- problems -------------------------------------------------------------------------------------------

HIDDEN = {
    "storage-unavailable": "the database is busy, or out of reach",
    "storage-full": "the disk of the database is full",
    "storage-failed": "a write may be lost; the service starts again",
    "closed": "the service is stopping, or has stopped",
}


def service_error_of(error: Exception) -> problems.ServiceError:
    """What an exception is called here."""
    if isinstance(error, problems.ServiceError):
        return error
    if isinstance(error, InvalidArgumentError):
        return problems.InvalidRequestError(error)
    if isinstance(error, RecursionError):
        return problems.MalformedRequestError("the body is nested too deep")
    if isinstance(error, (msgspec.DecodeError, UnicodeDecodeError)):
        return problems.MalformedRequestError(f"the body is no JSON: {error}")
    return problems.DefectError("a defect of the service; its log has more")


def problem_details(problem: problems.ServiceError, request_id: str | None) -> dict[str, Any]:
    """As RFC 9457 has it. What a database says is not for clients."""
    return {
        **problem.fields,
        "type": f"/problems/{problem.slug}",
        "title": problem.slug.replace("-", " "),
        "status": problem.status,
        "detail": HIDDEN.get(problem.slug, problem.detail),
        "instance": request_id,
    }


def refusal(error: Exception, service: Service, request_id: str) -> Answer:
    """The answer to a request that met an exception."""
    problem = service_error_of(error)
    service.metrics.refused.labels(problem.slug).inc()
    if isinstance(problem, problems.DefectError):
        logger.error("defect", exc_info=error, extra={"request": request_id})
    elif isinstance(problem, problems.StorageError):
        logger.error(problem.slug, extra={"request": request_id, "error": problem.detail})
        if isinstance(problem, problems.StorageFailedError):
            service.end(problem.detail)
    headers: list[tuple[bytes, bytes]] = []
    if problem.retry_after is not None:
        headers.append((b"retry-after", str(max(1, round(problem.retry_after))).encode()))
    if isinstance(problem, problems.UnauthorizedError):
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(problem, problems.WrongMethodError):
        headers.append((b"allow", problem.fields["allow"].encode()))
    if isinstance(problem, problems.RateLimitedError):
        headers.append((b"ratelimit", b'"key";r=0;t=1'))
        headers.append((b"ratelimit-policy", f'"key";q={problem.fields["limit"]:g};w=1'.encode()))
    return Answer(problem_details(problem, request_id), problem.status, headers, PROBLEM)


def log_request(scope: Any, answer: Answer, request_id: str, seconds: float) -> None:
    """Write a line; paths may hold units, so that only the route is written, and never a header."""
    route = scope.get("bothworlds.route", "")
    said = {
        "method": scope["method"],
        "route": route,
        "status": answer.status,
        "request": request_id,
        "seconds": round(seconds, 6),
    }
    if answer.status >= 400 and isinstance(answer.body, dict):
        said["problem"] = answer.body.get("type", "")
    logger.log(10 if answer.status < 500 else 30, "request", extra=said)


# --- sending --------------------------------------------------------------------------------------------

encode = msgspec.json.Encoder().encode


async def send_answer(send: Any, answer: Answer, request_id: str) -> None:
    """Send an answer, whole or as a stream."""
    headers = [*SECURITY, (b"x-request-id", request_id.encode()), *answer.headers]
    if not any(name == b"content-security-policy" for name, _ in answer.headers):
        headers.append(NO_CONTENT_FROM_HERE)
    if hasattr(answer.body, "__aiter__"):
        headers.append((b"content-type", answer.media_type))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        async for part in answer.body:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    content = b""
    if answer.status != 204:
        content = answer.body if isinstance(answer.body, bytes) else encode(answer.body)
        headers.append((b"content-type", answer.media_type))
        headers.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def depth_of(value: Any) -> int:
    """How deep lists and objects are nested."""
    if isinstance(value, dict):
        return 1 + max((depth_of(item) for item in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth_of(item) for item in value), default=0)
    return 0
