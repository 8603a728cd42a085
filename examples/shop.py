"""A shop whose customers change their minds, on a real service: open the board and watch it learn.

    python examples/shop.py [--port 8787] [--seconds 600] [--rate 30]

It starts ``bothworlds serve`` on a database of its own, in a folder that is gone at the end, and sends
visitors over HTTP: some thirty a second, who look, think and buy or leave. Three experiments run:

- ``button``: four colors; which of them sells best changes every minute, and the drift light comes on.
- ``price``: three prices, in four countries, each a segment with a taste of its own; a sale earns its price.
- ``letter``: which letter to send. Readers answer after seconds or never, so that silence counts as nothing
  after 5 s, and some answers come too late.
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
    {"name": "button", "arms": ["blue", "green", "orange", "violet"]},
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
    client:
        Speaks to the service.
    seed:
        Of the visitors; times are real, so that no two runs are alike.
    """

    def __init__(self, client: httpx.AsyncClient, seed: int = 1) -> None:
        self.client = client
        self.random = random.Random(seed)
        self.opened = time.monotonic()
        self.visitors = self.sales = 0

    async def decide(self, experiment: str, **body: str) -> dict[str, str]:
        """Which arm to show."""
        answer = await self.client.post(f"/v1/experiments/{experiment}/decisions", json=body)
        return answer.raise_for_status().json()

    async def report(self, decision: dict[str, str], reward: float) -> None:
        """What came of it."""
        path = f"/v1/decisions/{decision['id']}/outcome"
        (await self.client.put(path, json={"reward": reward})).raise_for_status()
        self.sales += reward > 0

    async def visit(self) -> None:
        """One visitor."""
        self.visitors += 1
        await self.random.choice((self.click, self.click, self.buy, self.read))()

    async def click(self) -> None:
        """See the button; one color in turn is clicked by 60 % of those who see it, the others by 15 %."""
        decision = await self.decide("button")
        colors = EXPERIMENTS[0]["arms"]
        liked = colors[int((time.monotonic() - self.opened) / TURN) % len(colors)]
        await asyncio.sleep(self.random.expovariate(4.0))
        await self.report(decision, float(self.random.random() < (0.6 if decision["arm"] == liked else 0.15)))

    async def buy(self) -> None:
        """See a price, and pay it if it is below one's own."""
        country = self.random.choice(list(COUNTRIES))
        decision = await self.decide("price", segment=country)
        price = float(decision["arm"])
        await asyncio.sleep(self.random.expovariate(2.0))
        pays = self.random.random() < 1.0 / (1.0 + math.exp(price - COUNTRIES[country]))
        await self.report(decision, price / 15.0 if pays else 0.0)

    async def read(self) -> None:
        """Get a letter; answer soon, late or never."""
        decision = await self.decide("letter")
        if self.random.random() < LETTERS[decision["arm"]]:
            await asyncio.sleep(self.random.expovariate(0.5))
            await self.report(decision, 1.0)

    async def open(self, seconds: float, rate: float) -> None:
        """Let visitors in, one after the other, at random times."""
        for settings in EXPERIMENTS:
            (await self.client.post("/v1/experiments", json=settings)).raise_for_status()
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


async def run(address: str, key: str, seconds: float, rate: float) -> Shop:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=30) as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get("/readyz")).status_code == 200:
                    break
            await asyncio.sleep(0.1)
        shop = Shop(client)
        await shop.open(seconds, rate)
        return shop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=8787, help="of the service; 0: any that is free")
    parser.add_argument("--seconds", type=float, default=math.inf, help="until it ends by itself")
    parser.add_argument("--rate", type=float, default=30.0, help="visitors per second")
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
            shop = asyncio.run(run(address, key, options.seconds, options.rate))
            print(f"{shop.visitors} visitors, {shop.sales} of whom did what they were shown for.")


if __name__ == "__main__":
    main()
