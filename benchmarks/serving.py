"""What durability costs over HTTP: CPU of the served process per request, with and without storage.

``python benchmarks/serving.py [--folder DIR] [--seconds S]``. The service is a process of its own; what
answers without storage is the same application around a hub that draws and learns in memory. Clients are
connections that decide and report by turns, as fast as they are answered. All figures are of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bothworlds.bandit.keys import fill_with_key
from bothworlds.bandit.learner import Learner
from bothworlds.service import ids, messages
from bothworlds.service.http.service import Service
from bothworlds.service.hub import Hub

CONNECTIONS = 32
BATCH = 100
BANDITS = 50


class MemoryHub(Hub):
    """The same answers, of which nothing is kept."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._tickets: dict[bytes, tuple[Learner, Any]] = {}

    def submit(self, requests: Any) -> Future[list[Any]]:
        """Draw and learn at once."""
        if any(isinstance(request, messages.Read) for request in requests):
            return super().submit(requests)
        done: Future[list[Any]] = Future()
        done.set_result([self._answer(request) for request in requests])
        return done

    def _answer(self, request: Any) -> Any:
        replica = self.replica
        if isinstance(request, messages.Decide):
            experiment = replica.named(request.experiment)
            bandit = experiment.segments.get(request.segment)
            if bandit is None:
                bandit = self.ask(messages.Read(lambda: replica.segment(experiment, request.segment, 0.0)))
            learner = replica.awake(bandit)
            identity = ids.bytes_of(request.id)
            uniforms = np.empty(learner.draws)
            fill_with_key(bandit.secret, identity, uniforms)
            draw = learner.decide(uniforms)
            self._tickets[identity] = (learner, draw.ticket)
            arm = learner.labels[draw.arm]
            return messages.Decision(
                ids.text_of(identity),
                experiment.name,
                request.segment,
                arm,
                arm,
                draw.probability,
                0,
                time.time(),
            )
        learner, ticket = self._tickets.pop(ids.bytes_of(request.id))
        learner.learn([ticket], [learner.take("reward", request.reward)])
        return messages.Outcome(request.id, learned=True, position=1)


def serve_from_memory(arguments: list[str]) -> None:
    """``bothworlds serve`` with such a hub."""
    from bothworlds import cli  # noqa: PLC0415 - in the served process alone
    from bothworlds.service.http import service  # noqa: PLC0415

    service.Hub = MemoryHub
    assert Service._open.__globals__["Hub"] is MemoryHub
    sys.argv[1:] = ["serve", *arguments]
    cli.main()


class Connection:
    """A connection that stays open, and costs little."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._head = (
            f"Host: bench\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n".encode()
        )

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def ask(self, method: bytes, path: str, body: bytes) -> bytes:
        """The body of an answer."""
        self._writer.write(
            b"%s %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s"
            % (method, path.encode(), self._head, len(body), body)
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        content = await self._reader.readexactly(length)
        if head[9:12] == b"503":  # kernels are being compiled
            await asyncio.sleep(0.2)
            return await self.ask(method, path, body)
        assert head[9:11] == b"20", content
        return content


async def play(port: int, key: str, seconds: float, batch: int) -> int:
    """Requests, or items of batches, that were answered."""
    connections = [Connection(port, key) for _ in range(CONNECTIONS if batch == 1 else 4)]
    end, done = time.perf_counter() + seconds, 0

    async def client(connection: Connection, number: int) -> None:
        nonlocal done
        await connection.open()
        while time.perf_counter() < end:
            name, segment = "hot", f"s{number % BANDITS}"
            made = [str(uuid.uuid4()) for _ in range(batch)]
            if batch == 1:
                body = json.dumps({"id": made[0], "segment": segment}).encode()
                await connection.ask(b"POST", f"/v1/experiments/{name}/decisions", body)
                await connection.ask(b"PUT", f"/v1/decisions/{made[0]}/outcome", b'{"reward":1.0}')
            else:
                body = json.dumps({"decisions": [{"id": one, "segment": segment} for one in made]}).encode()
                await connection.ask(b"POST", f"/v1/experiments/{name}/decisions:batch", body)
                body = json.dumps({"outcomes": [{"id": one, "reward": 1.0} for one in made]}).encode()
                await connection.ask(b"POST", "/v1/outcomes:batch", body)
            done += 2 * batch
            number += 1

    await asyncio.gather(*(client(one, number) for number, one in enumerate(connections)))
    return done


def measured(folder: Path, seconds: float, *, durable: bool) -> dict[int, tuple[float, float]]:
    """CPU seconds per item, and items per second, by the size of batches."""
    url = f"sqlite:///{folder / f'{durable}.db'}"
    arguments = ["--port", "0", "--database", url]
    start = ["-m", "bothworlds", "serve"] if durable else [__file__, "--memory"]
    served = subprocess.Popen(
        [sys.executable, *start, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"BOTHWORLDS_LIMITS_RATE_PER_KEY": "1e9", "BOTHWORLDS_COMPILE": "wait"},
    )
    assert served.stdout is not None
    key = re.search(r"bw_\S+", served.stdout.readline())[0]
    port = int(re.search(r":(\d+)$", served.stdout.readline().strip())[1])
    found = {}
    try:
        asyncio.run(prepare(port, key))
        asyncio.run(play(port, key, 2.0, 1))  # machine code, segments
        process = psutil.Process(served.pid)
        for batch in (1, BATCH):
            before, began = process.cpu_times(), time.perf_counter()
            done = asyncio.run(play(port, key, seconds, batch))
            after, took = process.cpu_times(), time.perf_counter() - began
            cpu = after.user + after.system - before.user - before.system
            found[batch] = (cpu / done, done / took)
    finally:
        served.terminate()
        served.wait()
    return found


async def prepare(port: int, key: str) -> None:
    """Wait until it listens, and make an experiment."""
    connection = Connection(port, key)
    await connection.open()
    body = json.dumps({"name": "hot", "arms": list("abcde"), "policy": "light-barrier"}).encode()
    await connection.ask(b"POST", "/v1/experiments", body)


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        serve_from_memory(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        durable = measured(folder, options.seconds, durable=True)
        bare = measured(folder, options.seconds, durable=False)
    for title, found in (("durable", durable), ("without storage", bare)):
        for batch, (cpu, rate) in found.items():
            what = "request" if batch == 1 else f"item of batches of {batch}"
            print(f"{title}: {1e6 * cpu:.0f} µs of CPU per {what}, {rate:,.0f}/s")
    print(f"a durable request / one without storage, CPU: {durable[1][0] / bare[1][0]:.2f} (goal: 2.0)")
    print(f"an item of a batch / a single request, CPU: {durable[BATCH][0] / durable[1][0]:.2f} (goal: 0.2)")


if __name__ == "__main__":
    main()
