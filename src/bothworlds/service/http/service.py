"""The process: hubs, keys, metrics, and the housekeeping between requests."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from bothworlds import _jit
from bothworlds.service import problems
from bothworlds.service.config import Config
from bothworlds.service.http.auth import Doorkeeper, signing_secret
from bothworlds.service.http.metrics import Metrics
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.logs import logger
from bothworlds.service.messages import Read, Request
from bothworlds.service.monitor import Monitor
from bothworlds.service.registry import Registry, is_postgresql, sqlite_path
from bothworlds.service.replica import Replica
from bothworlds.service.retention import export_and_retain
from bothworlds.service.store import open_store

T = TypeVar("T")
HOUSEKEEPING = 1.0  # seconds
RETENTION = 3600.0
EX_SOFTWARE = 70  # what a process ends with that must not go on


class Service:
    """Everything that requests need, from the start of the process to its end."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.registry = Registry(config.storage.url)
        self.metrics = Metrics()
        self.draining = asyncio.Event()
        self.full: problems.StorageFullError | None = None
        self.streams = 0
        self.exporting: set[asyncio.Task[None]] = set()
        self.free_bytes: int | None = None
        self._hubs: dict[str, Hub] = {}
        self._monitors: dict[str, Monitor] = {}
        self._opening = asyncio.Lock()
        secret = signing_secret(self.registry)
        self.doorkeeper = Doorkeeper(rate=config.limits.rate_per_key, secret=secret)
        self.doorkeeper.know(self.registry.known_keys())
        self._tasks: list[asyncio.Task[None]] = []

    # --- start and stop -------------------------------------------------------------------------------

    async def start(self) -> None:
        """Read the logs of all projects that have keys, and begin to keep house."""
        for name in sorted({key.project_name for key in self.registry.known_keys()}):
            await self.hub(name)
        tasks = self._keep_house(), self._run_monitors(), self._keep_short()
        self._tasks = [asyncio.create_task(task) for task in tasks]

    async def stop(self) -> None:
        """Answer what waits, keep snapshots, close everything."""
        self.draining.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(asyncio.to_thread(hub.close) for hub in self._hubs.values()))
        self.registry.close()

    async def hub(self, project: str) -> Hub:
        """The hub of a project."""
        found = self._hubs.get(project)
        if found is not None:
            return found
        async with self._opening:
            if project not in self._hubs:
                if len(self._hubs) >= self.config.limits.max_projects:
                    raise problems.LimitReachedError(f"{len(self._hubs)} projects are served")
                self._hubs[project] = await asyncio.to_thread(self._open, project)
        return self._hubs[project]

    def _open(self, project: str) -> Hub:
        storage, limits = self.config.storage, self.config.limits
        limited = HubLimits(
            max_queue=limits.max_queue,
            max_open=limits.max_open,
            snapshot_every=storage.snapshot_every,
            refresh=storage.refresh,
        )
        hub = Hub(open_store(storage.url, fill=True), project, limits=limited)
        hub.on_batch = self.metrics.batch
        logger.info("opened", extra={"project": project, "position": hub.position})
        return hub

    def monitor(self, project: str) -> Monitor:
        """The monitor of a project whose hub is open."""
        if project not in self._monitors:
            self._monitors[project] = Monitor(self._hubs[project], self.registry)
        return self._monitors[project]

    @property
    def hubs(self) -> dict[str, Hub]:
        """All hubs by the names of their projects."""
        return self._hubs

    # --- asking ---------------------------------------------------------------------------------------

    async def submit(self, hub: Hub, requests: Sequence[Request]) -> list[Any]:
        """Answers, or problems, of requests that write."""
        if self.full is not None:
            raise self.full
        return await hub.answers(requests)

    async def ask(self, hub: Hub, request: Request) -> Any:
        """The answer to a request that writes; raises the problem that it met."""
        (answer,) = await self.submit(hub, [request])
        if isinstance(answer, problems.ServiceError):
            raise answer
        return answer

    async def read(self, hub: Hub, function: Callable[[Replica], T]) -> T:
        """What a function finds in memory, while nothing moves."""
        (answer,) = await hub.answers([Read(lambda: function(hub.replica))])
        if isinstance(answer, problems.ServiceError):
            raise answer
        return cast(T, answer)

    # --- housekeeping ---------------------------------------------------------------------------------

    async def _keep_house(self) -> None:
        while True:
            self.end_if_failed()
            try:
                self.doorkeeper.know(await asyncio.to_thread(self.registry.known_keys))
                self._look_at_disk()
            except (problems.ServiceError, OSError) as error:
                logger.warning("housekeeping failed", extra={"error": str(error)})
            await asyncio.sleep(HOUSEKEEPING)

    async def _run_monitors(self) -> None:
        """Let the monitors follow the logs, for the board."""
        if _jit.can_compile():  # in a process of its own, so that nobody waits
            code = "import os; os.nice(19); from bothworlds.service import monitor; monitor.compile_kernels()"
            none = asyncio.subprocess.DEVNULL  # who reads what we say must not wait for its end
            compiling = await asyncio.create_subprocess_exec(
                sys.executable, "-c", code, stdin=none, stdout=none
            )
            try:
                await compiling.wait()
            finally:
                if compiling.returncode is None:  # the service stops
                    compiling.kill()
        while True:
            await asyncio.sleep(HOUSEKEEPING)
            for project in list(self._hubs):
                try:
                    await asyncio.to_thread(self.monitor(project).catch_up)
                except problems.ServiceError as problem:
                    logger.warning("watch failed", extra={"project": project, "error": problem.detail})
                except Exception as error:  # whatever is shown must not stop what is decided
                    logger.error("watch failed", extra={"project": project}, exc_info=error)

    async def _keep_short(self) -> None:
        """Once an hour, export and delete what is older than it is to be kept."""
        storage = self.config.storage
        while storage.retention:
            for project in list(self._hubs):
                try:
                    gone = await asyncio.to_thread(
                        export_and_retain,
                        storage.url,
                        project,
                        days=storage.retention,
                        folder=Path(storage.exports) / "retained",
                    )
                except Exception as error:  # nothing is deleted that was not exported
                    logger.error("retention failed", extra={"project": project}, exc_info=error)
                    continue
                if gone is not None and gone.decisions:
                    logger.info("retained", extra={"project": project, **gone._asdict()})
            await asyncio.sleep(RETENTION)

    def _look_at_disk(self) -> None:
        url = self.config.storage.url
        if is_postgresql(url):
            return
        free = shutil.disk_usage(Path(sqlite_path(url)).absolute().parent).free
        self.metrics.free_bytes.set(free)
        self.free_bytes = free
        wanted = self.config.storage.min_free
        self.full = None
        if free < wanted:
            self.full = problems.StorageFullError(
                f"{free} bytes are left on the disk, of {wanted} that must be"
            )

    def end_if_failed(self) -> None:
        """End the process if a write may be lost: what is on disk is known when the log is read again."""
        for name, hub in self._hubs.items():
            if hub.failure is not None:
                self.end(f"{name}: {hub.failure!r}")

    def end(self, why: str) -> None:
        """End the process, when what is on its way to clients has been sent."""
        logger.critical("ended", extra={"error": why})
        asyncio.get_running_loop().call_later(0.05, os._exit, EX_SOFTWARE)

    def why_not_ready(self) -> str | None:
        """Why no requests should come here; None if they may."""
        if self.draining.is_set():
            return "draining"
        if self.full is not None:
            return "storage-full"
        for hub in self._hubs.values():
            if hub.failure is not None:
                return "storage-failed"
            if hub.replica.doubted:
                return "log-behind"
        return None
