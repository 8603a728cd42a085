"""A shop whose customers change their minds, on a real service: open the board and watch it learn.

    python examples/shop.py [--port 8787] [--seconds 600] [--rate 30] [--liar]

It starts ``bothworlds serve`` on a database of its own, in a folder that is gone at the end, and sends
visitors over HTTP: some thirty a second, who look, think and buy or leave. Three experiments run:

- ``button``: four colors; which of them sells best changes every minute, and the drift light comes on.
- ``price``: three prices, in four countries, each a segment with a taste of its own; a sale earns its price.
- ``letter``: which letter to send. Readers answer after seconds or never, so that silence counts as nothing
  after 5 s, and some answers come too late.

Visitors come by the web and by an app, which have a key each. With ``--liar`` a tenth of them come by a
partner who says that all of them have clicked: the board tells which key that is.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

EXPERIMENTS = (
    {"name": "button", "arms": ["blue", "orange", "green", "violet"]},
    {"name": "price", "arms": ["9.00", "12.00", "15.00"], "max_segments": 50},
    {"name": "letter", "arms": ["plain", "with a joke", "with a picture"], "wait": 5.0, "missing": 0.0},
)
COUNTRIES = {"de": 11.0, "fr": 13.0, "nl": 9.5, "pl": 8.0}  # what half of the visitors would pay
TURN = 60.0  # seconds in which one color is liked best
LETTERS = {"plain": 0.15, "with a joke": 0.25, "with a picture": 0.55}


class Shop:
    """Visitors, and a client that they share.

    Parameters
    ----------
    clients:
        Speak to the service, each with a key of its own, by the way that visitors come.
    seed:
        Of the visitors; times are real, so that no two runs are alike.
    """

    def __init__(self, clients: dict[str, httpx.AsyncClient], seed: int = 1) -> None:
        self.clients = clients
        self.random = random.Random(seed)
        self.opened = time.monotonic()
        self.visitors = self.sales = 0

    def way(self) -> str:
        """How a visitor comes."""
        if "partner" in self.clients and self.random.random() < 0.1:
            return "partner"
        return self.random.choice(("web", "app"))

    async def decide(self, experiment: str, way: str, **body: str) -> dict[str, str]:
        """Which arm to show."""
        answer = await self.clients[way].post(f"/v1/experiments/{experiment}/decisions", json=body)
        return answer.raise_for_status().json()

    async def report(self, decision: dict[str, str], way: str, reward: float) -> None:
        """What came of it, or what a partner says."""
        path = f"/v1/decisions/{decision['id']}/outcome"
        reward = 1.0 if way == "partner" else reward
        (await self.clients[way].put(path, json={"reward": reward})).raise_for_status()
        self.sales += reward > 0

    async def visit(self) -> None:
        """One visitor."""
        self.visitors += 1
        await self.random.choice((self.click, self.click, self.buy, self.read))(self.way())

    async def click(self, way: str) -> None:
        """See the button; one color in turn is clicked by 60 % of those who see it, the others by 15 %."""
        decision = await self.decide("button", way)
        colors = EXPERIMENTS[0]["arms"]
        liked = colors[int((time.monotonic() - self.opened) / TURN) % len(colors)]
        await asyncio.sleep(self.random.expovariate(4.0))
        clicks = self.random.random() < (0.6 if decision["arm"] == liked else 0.15)
        await self.report(decision, way, float(clicks))

    async def buy(self, way: str) -> None:
        """See a price, and pay it if it is below one's own."""
        country = self.random.choice(list(COUNTRIES))
        decision = await self.decide("price", way, segment=country)
        price = float(decision["arm"])
        await asyncio.sleep(self.random.expovariate(2.0))
        pays = self.random.random() < 1.0 / (1.0 + math.exp(price - COUNTRIES[country]))
        await self.report(decision, way, price / 15.0 if pays else 0.0)

    async def read(self, way: str) -> None:
        """Get a letter; answer soon, late or never."""
        decision = await self.decide("letter", way)
        if self.random.random() < LETTERS[decision["arm"]]:
            await asyncio.sleep(self.random.expovariate(0.5))
            await self.report(decision, way, 1.0)

    async def open(self, seconds: float, rate: float) -> None:
        """Let visitors in, one after the other, at random times."""
        inside: set[asyncio.Task[None]] = set()
        while time.monotonic() - self.opened < seconds:
            visit = asyncio.create_task(self.visit())
            inside.add(visit)
            visit.add_done_callback(inside.discard)
            visit.add_done_callback(lambda task: task.cancelled() or task.exception())
            await asyncio.sleep(self.random.expovariate(rate))
        await asyncio.gather(*inside, return_exceptions=True)


@contextlib.contextmanager
def service(folder: Path, port: int):
    """``bothworlds serve``: its address, its admin key, and the link to its board."""
    # plain Python is fast enough for a shop, and nobody waits for a compiler
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "BOTHWORLDS_LOG_LEVEL": "warning"}
    command = [sys.executable, "-m", "bothworlds", "serve", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--database", f"sqlite:///{folder / 'shop.db'}"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        said = ""
        while "Board:" not in said:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(process.wait())
            said += line
        key = re.search(r"once: (\S+)", said)[1]
        address = re.search(r" at (http://\S+)", said)[1]
        yield address, key, re.search(r"Board: (\S+)", said)[1]
    finally:
        process.terminate()
        process.wait()


def client_of(address: str, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=30)


async def run(address: str, key: str, options: argparse.Namespace) -> Shop:
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_of(address, key))
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get("/readyz")).status_code == 200:
                    break
            await asyncio.sleep(0.1)
        for settings in EXPERIMENTS:
            (await client.post("/v1/experiments", json=settings)).raise_for_status()
        clients = {}
        for way in ("web", "app", "partner")[: 2 + options.liar]:
            made = await client.post("/v1/keys", json={"role": "decider", "label": way})
            clients[way] = await stack.enter_async_context(client_of(address, made.json()["key"]))
        shop = Shop(clients)
        await shop.open(options.seconds, options.rate)
        return shop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=8787, help="of the service; 0: any that is free")
    parser.add_argument("--seconds", type=float, default=math.inf, help="until it ends by itself")
    parser.add_argument("--rate", type=float, default=30.0, help="visitors per second")
    parser.add_argument("--liar", action="store_true", help="let a partner lie about what visitors did")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the service ends, too
    with (
        tempfile.TemporaryDirectory(prefix="shop-") as folder,
        service(Path(folder), options.port) as (address, key, board),
    ):
        print(
            f"\n  The shop is open. Watch it here (the link opens once):\n\n  {board}\n\n  Ctrl-C ends it.\n",
            flush=True,
        )
        with contextlib.suppress(KeyboardInterrupt):
            shop = asyncio.run(run(address, key, options))
            print(f"{shop.visitors} visitors, {shop.sales} of whom did what they were shown for.")


if __name__ == "__main__":
    main()
