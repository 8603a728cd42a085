"""How soon the board shows something, on a database with many decisions, and how much of the disk they take.

``python benchmarks/board.py [--decisions N] [--segments S] [--folder DIR]`` writes N decisions with their
outcomes straight into a database, serves it, and opens the board in chromium (with playwright): seconds from
the start of the navigation to the first charts, after the service has started, and when it has read its
log; and its memory.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import psutil
from playwright.sync_api import Page, sync_playwright

from bothworlds.bandit.learner import Learner
from bothworlds.service import ids
from bothworlds.service.hub import Hub
from bothworlds.service.messages import Decide
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store
from bothworlds.service.store.base import DecisionRow, EntryRow

ARMS = ["blue", "orange", "green", "violet"]
DAYS = 30.0
ROWS = 10_000  # in a transaction


def fill(url: str, decisions: int, segments: int) -> None:
    """Decisions and outcomes of some weeks, as a service would have written them."""
    hub = Hub(open_store(url))
    hub.create("button", checked_settings(ARMS, "light-barrier", max_segments=max(1000, segments)))
    names = [""] if segments == 1 else [f"segment {i:05}" for i in range(segments)]
    for begin in range(0, segments, 500):
        hub.submit([Decide("button", segment=name) for name in names[begin : begin + 500]]).result()
    hub.close()
    store = open_store(url)
    project = store.project("default").id
    bandits = [bandit.id for bandit in store.bandits(project, 0)]
    engine, learner, draw = (
        next(iter(store.engines())),
        Learner(ARMS, "light-barrier"),
        np.random.default_rng(1),
    )
    drawn = [learner.decide(draw.random(learner.draws)) for _ in range(1000)]
    now = time.time() - 60.0
    for begin in range(0, decisions, ROWS):
        made, told = [], []
        for i in range(begin, min(begin + ROWS, decisions)):
            one, bandit = drawn[i % 1000], bandits[i % len(bandits)]
            at = now - DAYS * 86400.0 * (1.0 - i / decisions)
            identity = ids.new_id()
            key = 1 + i % 3
            made.append(
                DecisionRow(
                    identity,
                    bandit,
                    one.arm,
                    one.probability,
                    one.ticket,
                    i,
                    engine,
                    at,
                    None,
                    None,
                    None,
                    key,
                )
            )
            loss = float(draw.random() > 0.2 + 0.1 * one.arm)
            told.append(EntryRow(i + 1, "report", 1, bandit, identity, loss, one.ticket, at + 1.0, None, key))
        with store.write(project, log=True):
            store.insert_decisions(project, made)
            store.insert_entries(project, told)
        if begin % (10 * ROWS) == 0:
            print(f"\r{begin:,} of {decisions:,} decisions are written", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    store.close()


@contextlib.contextmanager
def served(url: str) -> Iterator[tuple[psutil.Process, str, str, str]]:
    """The process, its address, its admin key and the link to its board, when it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bothworlds", "serve", "--port", "0", "--database", url],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"BOTHWORLDS_LOG_LEVEL": "warning"},
    )
    try:
        said = ""
        while "Board:" not in said:
            line = process.stdout.readline()
            if not line:
                sys.exit(f"the service ended with {process.wait()} before it listened; it said:\n{said}")
            said += line
        address = re.search(r" at (http://\S+)", said)[1]
        while True:
            if process.poll() is not None:
                sys.exit(f"the service ended with {process.returncode} before it was ready")
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{address}/readyz").status_code == 200:
                    break
            time.sleep(0.1)
        key, link = re.search(r"bw_\S+", said)[0], re.search(r"Board: (\S+)", said)[1]
        yield psutil.Process(process.pid), address, key, link
    finally:
        process.terminate()
        process.wait()


def first_paint(page: Page, address: str) -> float:
    """Seconds until charts are drawn."""
    began = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("#experiment:not([hidden]) #probabilities svg", timeout=600_000)
    return time.perf_counter() - began


def measure(url: str, segments: int, screenshot: Path | None) -> None:
    """Serve it, look at it, and print."""
    with served(url) as (process, address, key, link), sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = chromium.new_page()
        print(f"first charts right after the start: {first_paint(page, link):.2f} s", flush=True)
        began = time.perf_counter()
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=address, headers=headers, timeout=600) as client:
            while client.get("/v1/experiments/button/bandits?limit=1").json()["behind"]:
                time.sleep(0.2)
        print(f"the log was read {time.perf_counter() - began:.0f} s later")
        seconds = min(first_paint(page, f"{address}/board") for _ in range(3))
        print(f"first charts from then on: {seconds:.2f} s, the best of three")
        print(f"{process.memory_info().rss / 2**20:.0f} MB of memory, with {segments:,} bandits")
        if screenshot is not None:
            page.wait_for_timeout(6000)
            page.screenshot(path=screenshot, full_page=True)
        chromium.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--segments", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="on the disk that is meant")
    parser.add_argument("--screenshot", type=Path, default=None, help="where to keep what is shown at last")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        url = f"sqlite:///{Path(folder) / 'board.db'}"
        fill(url, options.decisions, options.segments)
        size = sum(file.stat().st_size for file in Path(folder).glob("board.db*"))
        print(f"{size / options.decisions:.0f} bytes of disk for a decision and its outcome", flush=True)
        measure(url, options.segments, options.screenshot)


if __name__ == "__main__":
    main()
