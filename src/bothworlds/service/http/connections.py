"""Connections that take their time, or too much room: bounded here, before anything knows who asks.

A connection has a deadline for each request to be whole, from its first byte on, one for an answer that waits
for its reader, and room for the head of a request. There are so many of them, and no more.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, cast

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bothworlds.service import problems
from bothworlds.service.config import Config
from bothworlds.service.http.endpoints import problem_details

LINGER = 5.0  # seconds that what was sent last has to reach a client


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection, with the limits of the application's configuration."""

    def connection_made(self, transport: Any) -> None:
        """Somebody has connected, and must say something."""
        super().connection_made(cast(asyncio.Transport, _Joined(transport, self.loop)))
        config: Config = self.app.config  # of App
        self._limits = config.server
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._in_head, self._head = True, 0
        if len(self.connections) > config.limits.max_connections:
            self._refuse(problems.OverloadedError(f"{config.limits.max_connections} connections are open"))
        else:
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        for timer in (self._reading, self._writing, self._ending):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    # --- what comes -----------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Some bytes, of which a request begins if none has begun."""
        if self._ending is not None:
            return
        if self._reading is None:
            self._await_request()
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > self._limits.max_head:
            self._refuse(problems.HeadTooLargeError(f"the head has more than {self._limits.max_head} bytes"))

    def on_headers_complete(self) -> None:
        """What follows is a body, which has a limit of its own."""
        self._in_head, self._head = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._in_head, self._head = True, 0
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().on_message_complete()

    def _await_request(self) -> None:
        self._reading = self.loop.call_later(self._limits.request_timeout, self._refuse_slow)

    def _refuse_slow(self) -> None:
        seconds = self._limits.request_timeout
        self._refuse(problems.TooSlowError(f"the request was not whole after {seconds:g} s"))

    def _refuse(self, problem: problems.ServiceError) -> None:
        """Say why, unless something else is being said, and close."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            content = msgspec.json.encode(problem_details(problem, None))
            head = (
                f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}",
                "content-type: application/problem+json",
                f"content-length: {len(content)}",
                "connection: close",
            )
            self.transport.write("\r\n".join((*head, "", "")).encode() + content)
        self._end()

    # --- what goes ------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        """There is more to be read than we keep: somebody must read it."""
        super().pause_writing()
        self._writing = self.loop.call_later(self._limits.answer_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """Some of it was read."""
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def timeout_keep_alive_handler(self) -> None:
        """Nothing came for long."""
        self._end()

    def _end(self) -> None:
        """Close, whether or not the other side reads what was sent last."""
        self.transport.close()
        if self._ending is None:
            self._ending = self.loop.call_later(LINGER, self.transport.abort)


class _Joined:
    """A transport that sends the head of an answer with its body: one system call and one packet less.

    uvicorn writes the two one after the other. What is written first waits for what follows, at most until
    the loop is at its next step.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._first = b""
        self._waits = False

    def write(self, data: bytes) -> None:
        """Send this, after or with what waits."""
        if self._first:
            first, self._first = self._first, b""
            self._transport.write(first + data)
        elif self._waits:  # and was sent: more of the same answer
            self._transport.write(data)
        else:
            self._first, self._waits = data, True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        self._waits = False
        if self._first:
            first, self._first = self._first, b""
            self._transport.write(first)

    def close(self) -> None:
        """Send what waits, and close."""
        self._send()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
