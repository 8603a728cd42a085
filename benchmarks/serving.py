"""What durability costs over HTTP: CPU of the served process per request, with and without storage.

``python benchmarks/serving.py [--folder DIR] [--seconds S]``. The service is a process of its own; what
answers without storage is the same application around a hub that draws and learns in memory. Clients are
connections that decide and report by turns, as fast as they are answered. All figures are of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bothworlds.bandit.keys import fill_with_key
from bothworlds.bandit.learner import Learner
from bothworlds.service import ids, messages
from bothworlds.service.http.service import Service
from bothworlds.service.hub import Hub
from figures import Figure, print_figures
from service import syncs

BATCH = 100
OPEN = 64  # connections of an open loop
PAIRS = 300.0  # a second
BANDITS = 50


class MemoryHub(Hub):
    """The same answers, of which nothing is kept."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._tickets: dict[bytes, tuple[Learner, Any]] = {}

    async def answers(self, requests: Any) -> list[Any]:
        """Draw and learn at once."""
        if any(isinstance(request, messages.Read) for request in requests):
            return await super().answers(requests)
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        replica = self.replica
        if isinstance(request, messages.Decide):
            experiment = replica.named(request.experiment)
            bandit = experiment.segments.get(request.segment)
            if bandit is None:
                bandit = self.ask(messages.Read(lambda: replica.segment(experiment, request.segment, 0.0)))
            learner = replica.learner_of(bandit)
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


async def play(port: int, key: str, seconds: float, batch: int, connections: int = 32) -> int:
    """Requests, or items of batches, that were answered."""
    asking = [Connection(port, key) for _ in range(connections if batch == 1 else 4)]
    end, done = time.perf_counter() + seconds, 0

    async def client(connection: Connection, number: int) -> None:
        nonlocal done
        await connection.open()
        while time.perf_counter() < end:
            name, segment = "hot", f"s{number % BANDITS}"
            made = [ids.text_of(ids.new_id()) for _ in range(batch)]  # as clients make them
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

    await asyncio.gather(*(client(one, number) for number, one in enumerate(asking)))
    return done


def environment(folder: Path, compiled: str) -> dict[str, str]:
    """That of a process that is served: byte code is kept, as ``pip install`` and Python keep it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "BOTHWORLDS_LIMITS_RATE_PER_KEY": "1e9",
        "BOTHWORLDS_COMPILE": compiled,
    }


@contextlib.contextmanager
def serving(
    path: Path, *, durable: bool = True, compiled: str = "wait"
) -> Iterator[tuple[int, str, psutil.Process]]:
    """A service on a file: its port, its key (the first time), its process."""
    start = ["-m", "bothworlds", "serve"] if durable else [__file__, "--memory"]
    served = subprocess.Popen(
        [sys.executable, *start, "--port", "0", "--database", f"sqlite:///{path}"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(path.parent, compiled),
    )
    assert served.stdout is not None
    try:
        line = served.stdout.readline()
        key = re.search(r"bw_\S+", line)
        if key is not None:
            line = served.stdout.readline()
        port = int(re.search(r":(\d+)$", line.strip())[1])
        yield port, "" if key is None else key[0], psutil.Process(served.pid)
    finally:
        served.terminate()
        served.wait()


def measured(folder: Path, seconds: float, *, durable: bool) -> dict[int, tuple[float, float]]:
    """CPU seconds per item, and items per second, by the size of batches."""
    found = {}
    with serving(folder / f"{durable}.db", durable=durable) as (port, key, process):
        asyncio.run(prepare(port, key))
        asyncio.run(play(port, key, 2.0, 1))  # machine code, segments
        for batch in (1, BATCH):
            before, began = process.cpu_times(), time.perf_counter()
            done = asyncio.run(play(port, key, seconds, batch))
            after, took = process.cpu_times(), time.perf_counter() - began
            cpu = after.user + after.system - before.user - before.system
            found[batch] = (cpu / done, done / took)
    return found


async def keep_asking(
    port: int, key: str, rate: float, seconds: float, took: list[tuple[float, str, float]]
) -> int:
    """Pairs at random moments, whether or not others were answered; how many were not sent.

    Notes of every request when it was answered, whether it was a "decision" or an "outcome", and its seconds:
    of a decision since it was due, of an outcome since it was sent.
    """
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(OPEN):
        connection = Connection(port, key)
        await connection.open()
        free.put_nowait(connection)
    chance = random.Random(1)
    running: set[asyncio.Task[None]] = set()
    began = time.perf_counter()
    due, dropped = began, 0

    async def pair(at: float) -> None:
        connection = await free.get()
        text = ids.text_of(ids.new_id())
        body = b'{"id":"%s","segment":"s%d"}' % (text.encode(), chance.randrange(BANDITS))
        await connection.ask(b"POST", "/v1/experiments/hot/decisions", body)
        decided = time.perf_counter()
        took.append((decided - began, "decision", decided - at))
        await connection.ask(b"PUT", f"/v1/decisions/{text}/outcome", b'{"reward":%.3f}' % chance.random())
        took.append((time.perf_counter() - began, "outcome", time.perf_counter() - decided))
        free.put_nowait(connection)

    while due < began + seconds:
        due += chance.expovariate(rate)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        if len(running) >= 20 * OPEN:  # it is not keeping up at all
            dropped += 1
            continue
        task = asyncio.create_task(pair(due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    return dropped


def latencies(folder: Path, seconds: float) -> tuple[list[float], list[float], float]:
    """Seconds of outcomes at 300 pairs/s, of bare syncs right after, and pairs/s of 64 connections."""
    took: list[tuple[float, str, float]] = []
    with serving(folder / "open.db") as (port, key, _):
        asyncio.run(prepare(port, key))
        asyncio.run(play(port, key, 2.0, 1))
        asyncio.run(keep_asking(port, key, PAIRS, seconds, took))
        bare = syncs(folder, 500)
        pairs = asyncio.run(play(port, key, seconds, 1, connections=OPEN)) / seconds / 2.0
    return [one for _, what, one in took if what == "outcome"], bare, pairs


def first_decision(folder: Path, compiled: str) -> tuple[float, float]:
    """Seconds from ``bothworlds serve`` to an answer, and those of the processor.

    The database is there, and so are byte code and machine code. ``compiled``: ``wait`` until machine code is
    loaded, or decide as Python until it is worth it, in the ``background``, as it is by default.
    """
    path = folder / f"{compiled}.db"
    with serving(path) as (port, key, _):
        asyncio.run(prepare(port, key))
        asyncio.run(play(port, key, 1.0, 1))
    body = json.dumps({"id": str(uuid.uuid4()), "segment": "s0"}).encode()
    began = time.perf_counter()
    with serving(path, compiled=compiled) as (port, _, process):
        connection = Connection(port, key)

        async def ask() -> None:
            await connection.open()
            await connection.ask(b"POST", "/v1/experiments/hot/decisions", body)

        asyncio.run(ask())
        took, used = time.perf_counter() - began, process.cpu_times()
    return took, used.user + used.system


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
    with tempfile.TemporaryDirectory(dir=options.folder, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        durable = measured(folder, options.seconds, durable=True)
        bare = measured(folder, options.seconds, durable=False)
        outcomes, bare_syncs, pairs = latencies(folder, options.seconds)
        first, first_cpu = first_decision(folder, "wait")
        usual, usual_cpu = first_decision(folder, "background")
    for title, found in (("durable", durable), ("without storage", bare)):
        for batch, (cpu, rate) in found.items():
            what = "request" if batch == 1 else f"item of batches of {batch}"
            print(f"{title}: {1e6 * cpu:.0f} µs of CPU per {what}, {rate:,.0f}/s")
    one, other = np.quantile(outcomes, [0.5, 0.99]), np.quantile(bare_syncs, [0.5, 0.99])
    print(f"outcomes at {PAIRS:.0f} pairs/s: p50 {1e3 * one[0]:.2f}, p99 {1e3 * one[1]:.2f} ms", end="; ")
    print(f"fdatasync right after: p50 {1e3 * other[0]:.2f}, p99 {1e3 * other[1]:.2f} ms")
    print(f"{OPEN} connections: {pairs:,.0f} pairs/s; fdatasync: {1 / np.mean(bare_syncs):,.0f}/s")
    print(f"serve to the first decision: {first:.1f} s, {first_cpu:.1f} of them CPU", end="; ")
    print(f"where it need not be machine code, as by default: {usual:.1f} s, {usual_cpu:.1f} of them CPU")
    figures = (
        Figure("a durable request / one without storage, CPU", durable[1][0] / bare[1][0], at_most=2.0),
        Figure("an item of batches of 100 / a request, CPU", durable[BATCH][0] / durable[1][0], at_most=0.2),
        Figure("an outcome at 300 pairs/s / fdatasync, p50", one[0] / other[0], at_most=1.5),
        Figure("an outcome at 300 pairs/s / fdatasync, p99", one[1] / other[1], at_most=2.0),
        Figure("durable pairs/s / fdatasync per second", pairs * np.mean(bare_syncs), at_least=5.0),
        Figure("pairs/s of a free core, by CPU", 0.5 / durable[1][0], at_least=4000.0),
        Figure("serve to the first decision, s", first, at_most=3.0),
    )
    print_figures(figures)


if __name__ == "__main__":
    main()
