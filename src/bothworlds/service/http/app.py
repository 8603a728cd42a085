"""The ASGI application, and the server that runs it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator
from itertools import groupby
from typing import Any

import msgspec
import uvicorn
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.routing import Route, Router
from uvicorn.supervisors import Multiprocess

from bothworlds.errors import InvalidArgumentError
from bothworlds.service import logs, problems
from bothworlds.service.config import Config, Server
from bothworlds.service.http.connections import BoundedConnection
from bothworlds.service.http.endpoints import Path, refusal, request_id_of, send_answer
from bothworlds.service.http.routes import ENDPOINTS
from bothworlds.service.http.service import Service


class Anything(PathConvertor):
    """The rest of a path, slashes and ends of lines included: a unit may have any name."""

    regex = r"[\s\S]*"


register_url_convertor("anything", Anything())
HANDED_ON = "BOTHWORLDS_SERVICE"  # the configuration, from the parent to its workers


class App:
    """A service behind HTTP; the service lives from startup to shutdown.

    Parameters
    ----------
    config:
        How it is run.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.service: Service = None  # type: ignore[assignment]
        routes = []
        for path, endpoints in groupby(sorted(ENDPOINTS, key=_rank), key=lambda one: one.path):
            served = Path(lambda: self.service, list(endpoints))
            routes.append(Route(path, served))
        self._router = Router(
            routes, redirect_slashes=False, default=self._not_found, lifespan=self._lifespan
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, or the life of the process."""
        await self._router(scope, receive, send)

    async def _not_found(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        request_id = request_id_of(dict(scope["headers"]))
        answer = refusal(problems.UnknownPathError("nothing is served there"), self.service, request_id)
        await send_answer(send, answer, request_id)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        self.service = Service(self.config)
        self._drain_on_signals()
        await self.service.start()
        logs.logger.info("started", extra={"pid": os.getpid()})
        yield
        await self.service.stop()
        logs.logger.info("stopped", extra={"pid": os.getpid()})

    def _drain_on_signals(self) -> None:
        """Let streams end when the server is told to stop: it waits for them."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            before = signal.getsignal(number)

            def drain(signum: int, frame: Any, before: Any = before) -> None:
                self.service.draining.set()
                if callable(before):
                    before(signum, frame)

            signal.signal(number, drain)


def _rank(endpoint: Any) -> tuple[int, str]:
    """What comes often is looked for first."""
    order = [one.path for one in ENDPOINTS]
    return order.index(endpoint.path), endpoint.path


def create_app() -> App:
    """The application of a worker, whose parent has left the configuration in the environment."""
    config = msgspec.json.decode(os.environ[HANDED_ON], type=Config)
    logs.set_up(config.log.level, config.log.format)
    return App(config)


def listen(server: Server) -> socket.socket:
    """A socket at the address of the configuration."""
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        return socket.create_server((server.host, server.port), family=family, backlog=2048)
    except OSError as error:
        number = error.errno or 0
        if number < 0 or number == errno.EADDRNOTAVAIL:  # below 0: no address has this name
            fix = "127.0.0.1 is reached by this machine alone, 0.0.0.0 by all that can reach it"
            got = f"{server.host}, which is none"
            raise InvalidArgumentError(
                "--host", server.host, "an address of this machine", got=got, fix=fix
            ) from None
        got = f"{server.host}:{server.port}, {os.strerror(number).lower()}"
        fix = "choose another with --port, or 0 for any"
        if number == errno.EACCES:
            fix = "choose one from 1024 on with --port, or 0 for any"
        raise InvalidArgumentError("--port", server.port, "free", got=got, fix=fix) from None


def run_server(config: Config, listening: socket.socket) -> None:
    """Serve until told to stop."""
    server = config.server
    os.environ[HANDED_ON] = msgspec.json.encode(config).decode()
    settings = uvicorn.Config(
        "bothworlds.service.http.app:create_app",
        factory=True,
        http=BoundedConnection,
        workers=server.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=server.keep_alive,
        timeout_graceful_shutdown=int(server.grace),
        ws="none",
        proxy_headers=False,
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn sends it again when all is closed
    if server.workers == 1:
        uvicorn.Server(settings).run([listening])
    else:
        Multiprocess(settings, [listening]).run()
