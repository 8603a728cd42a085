"""What durability costs: replay of a log, an outcome against a bare sync of the disk, a log against a row.

``python benchmarks/service.py [--folder DIR] [--database postgresql://…] [--start]`` prints ratios measured
in one run, and what was asked of them: of SQLite on the disk of DIR, or of an empty database against it.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from bothworlds.bandit.learner import Learner
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.messages import Decide, Read, Report
from bothworlds.service.replica import Replica
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import ServiceStore, open_store
from bothworlds.service.store.base import EntryRow
from bothworlds.service.store.sqlite import SQLiteStore
from figures import Figure, print_figures

ARMS, POLICY = 5, "light-barrier"
REPLAYED = 300_000
OUTCOMES = 400
CLIENTS = 64
BANDITS, TAIL = 10_000, 1_000_000
MEMORY = "/dev/shm"


def store_at(url: str) -> ServiceStore:
    """As a service opens it."""
    return (
        SQLiteStore(url.removeprefix("sqlite:///"), fill=True)
        if url.startswith("sqlite")
        else open_store(url)
    )


def replay(url: str) -> float:
    """Outcomes per CPU second, from the database to the learner."""
    hub = Hub(store_at(url), "replay")
    hub.create("hot", checked_settings(ARMS, POLICY))
    hub.decide("hot")
    hub.close()
    learner = Learner(ARMS, POLICY)
    random = np.random.default_rng(1)
    tickets = [learner.decide(random.random(learner.draws)).ticket for _ in range(1000)]
    store = store_at(url)
    project = store.project("replay").id
    (bandit,) = store.bandits(project, 0)
    for begin in range(0, REPLAYED, 10_000):
        rows = [
            EntryRow(
                begin + i + 1,
                "report",
                bandit.experiment,
                bandit.id,
                os.urandom(16),
                random.random(),
                tickets[i % 1000],
                0.0,
                None,
            )
            for i in range(10_000)
        ]
        with store.write(project, log=True):
            store.insert_entries(project, rows)
    seconds = []
    for _ in range(3):
        began = time.process_time()
        replica = Replica(store, "replay", remembered=10)
        seconds.append(time.process_time() - began)
        assert replica.position == REPLAYED
    store.close()
    return REPLAYED / min(seconds)


def syncs(folder: Path, n: int) -> list[float]:
    """Seconds of a write of one page and fdatasync, over a file that is there."""
    page, seconds = os.urandom(4096), []
    descriptor = os.open(folder / "sync", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, page * 64)
    os.fsync(descriptor)
    for i in range(n):
        began = time.perf_counter()
        os.pwrite(descriptor, page, 4096 * (i % 64))
        os.fdatasync(descriptor)
        seconds.append(time.perf_counter() - began)
    os.close(descriptor)
    return seconds


def outcomes(url: str, folder: Path) -> tuple[list[float], list[float]]:
    """Seconds of an outcome, one after the other, and of a bare sync, measured in turns."""
    hub = Hub(store_at(url), "outcomes")
    hub.create("one", checked_settings(ARMS, POLICY))
    made = [answer.id for answer in hub.submit([Decide("one")] * OUTCOMES).result()]
    reports, bare = [], []
    for begin in range(0, OUTCOMES, 20):
        for text in made[begin : begin + 20]:
            began = time.perf_counter()
            hub.report(text, reward=1.0)
            reports.append(time.perf_counter() - began)
        bare += syncs(folder, 20)
    hub.close()
    return reports, bare


def log(url: str, seconds: float) -> float:
    """Outcomes per second on one bandit, from many clients, by the hub."""
    hub = Hub(store_at(url), "log")
    hub.create("hot", checked_settings(ARMS, POLICY))
    texts = [answer.id for _ in range(40) for answer in hub.submit([Decide("hot")] * 1000).result()]
    waiting, finished = iter(texts), threading.Semaphore(0)
    end, done = time.perf_counter() + seconds, 0

    def next_one(answered: Future[list[Any]] | None = None) -> None:
        """A client that reports again as soon as it is answered, as those of a service do."""
        nonlocal done
        done += answered is not None
        text = next(waiting, None) if time.perf_counter() < end else None
        if text is None:
            finished.release()
        else:
            hub.submit([Report(text, reward=1.0)]).add_done_callback(next_one)

    began = time.perf_counter()
    for _ in range(CLIENTS):
        next_one()
    for _ in range(CLIENTS):
        finished.acquire()
    rate = done / (time.perf_counter() - began)
    hub.close()
    return rate


def connect(url: str) -> Any:
    """A connection without a store."""
    if url.startswith("sqlite"):
        db = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)
        db.execute("PRAGMA synchronous = FULL")
        return db
    import psycopg  # noqa: PLC0415 - an extra

    return psycopg.connect(url, autocommit=True)


def row(url: str, seconds: float) -> float:
    """The same by a state in a row: each outcome reads it, learns, and writes it, in a transaction."""
    lite = url.startswith("sqlite")
    begin, read = "BEGIN IMMEDIATE" if lite else "BEGIN", "SELECT state FROM hot" + " FOR UPDATE" * (not lite)
    mark, blob = ("?", "BLOB") if lite else ("%s", "BYTEA")
    db = connect(url)
    db.execute(f"CREATE TABLE hot (state {blob})")
    learner = Learner(ARMS, POLICY)
    ticket = learner.decide(np.array([0.5])).ticket
    db.execute(f"INSERT INTO hot VALUES ({mark})", (learner.dump(),))
    end = time.perf_counter() + seconds

    def client(number: int) -> int:
        own = connect(url)
        done = 0
        while time.perf_counter() < end:
            own.execute(begin)
            ((state,),) = own.execute(read).fetchall()
            learner = Learner.load(state)
            learner.learn([ticket], [0.5])
            own.execute(f"UPDATE hot SET state = {mark}", (learner.dump(),))
            own.execute("COMMIT")
            done += 1
        own.close()
        return done

    began = time.perf_counter()
    with ThreadPoolExecutor(16) as pool:
        done = sum(pool.map(client, range(16)))
    rate = done / (time.perf_counter() - began)
    db.execute("DROP TABLE hot")
    db.close()
    return rate


def visible(url: str) -> float:
    """Seconds until another process, which is idle, has learned an outcome: the slowest of twenty."""
    one, other = Hub(store_at(url), "visible"), Hub(store_at(url), "visible")
    one.create("one", checked_settings(ARMS, POLICY))
    seconds = []
    for _ in range(20):
        text = one.decide("one").id
        position = one.report(text, reward=1.0).position
        began = time.perf_counter()
        while other.position < (position or 0):
            time.sleep(0.001)
        seconds.append(time.perf_counter() - began)
    one.close()
    other.close()
    return max(seconds)


def start(url: str) -> float:
    """Seconds to open a log of 10,000 bandits with snapshots, and a million outcomes behind those."""
    limits = HubLimits(snapshot_every=10**9)
    hub = Hub(store_at(url), "start", limits=limits)
    hub.create("many", checked_settings(ARMS, POLICY, max_segments=BANDITS))
    hub.ask(
        Read(
            lambda: hub.replica.store.insert_bandits(
                hub.replica.id, [(hub.replica.named("many").id, f"s{i}") for i in range(BANDITS)], 0.0
            )
        )
    )
    for begin in range(0, BANDITS, 500):
        made = hub.submit([Decide("many", segment=f"s{i}") for i in range(begin, begin + 500)]).result()
        hub.submit([Report(one.id, reward=1.0) for one in made]).result()
    hub.close()  # which keeps a snapshot of each
    learner = Learner(ARMS, POLICY)
    ticket = learner.decide(np.array([0.5] * learner.draws)).ticket
    store = store_at(url)
    project = store.project("start").id
    bandits = store.bandits(project, 0)
    for begin in range(BANDITS, BANDITS + TAIL, 10_000):
        rows = []
        for i in range(begin, begin + 10_000):  # ids grow, as UUIDs of version 7 do
            one, identity = bandits[i % BANDITS], i.to_bytes(16, "big")
            rows.append(EntryRow(i + 1, "report", one.experiment, one.id, identity, 0.5, ticket, 0.0, None))
        with store.write(project, log=True):
            store.insert_entries(project, rows)
    store.close()
    began, used = time.perf_counter(), time.process_time()
    hub = Hub(store_at(url), "start", limits=limits)
    took, used = time.perf_counter() - began, time.process_time() - used
    print(f"a start with {BANDITS:,} bandits and {TAIL:,} outcomes: {took:.1f} s, {used:.1f} of them CPU")
    assert hub.position == BANDITS + TAIL
    hub.failure = AssertionError("no snapshot of this")
    hub.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=".", help="on the disk to be measured")
    parser.add_argument("--database", help="the URL of an empty PostgreSQL database; without it, SQLite")
    parser.add_argument("--start", action="store_true", help="a start with a million outcomes, too (minutes)")
    options = parser.parse_args()
    os.environ["BOTHWORLDS_COMPILE"] = "wait"
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        url = options.database or f"sqlite:///{folder / 'log.db'}"
        lite = url.startswith("sqlite")
        print(url.partition("://")[0])
        replayed = replay(url)
        reports, bare = outcomes(url, folder)
        one, other = statistics.median(reports), statistics.median(bare)
        print(f"an outcome, p50: {1e3 * one:.2f} ms; fdatasync, p50: {1e3 * other:.2f} ms", end="")
        if lite and os.path.isdir(MEMORY):
            with tempfile.TemporaryDirectory(dir=MEMORY) as nowhere:
                work, _ = outcomes(f"sqlite:///{nowhere}/log.db", Path(nowhere))
            print(
                f"; an outcome in memory, where a sync costs nothing: {1e3 * statistics.median(work):.2f} ms",
                end="",
            )
        print()
        fast, slow = log(url, 5.0), row(url, 5.0)
        print(f"one hot bandit: {fast:,.0f} outcomes/s by the log, {slow:,.0f} by a row")
        figures = [
            Figure("replay, outcomes per CPU second", replayed, at_least=500_000.0),
            Figure("an outcome / fdatasync, p50, one after the other", one / other, at_most=1.5),
            Figure("outcomes of one hot bandit, log / row", fast / slow, at_least=20.0),
            Figure("learned by another process, s", visible(url), at_most=0.15),
        ]
        if options.start:
            figures.append(Figure("start, 10,000 bandits and 1 M outcomes, s", start(url), at_most=5.0))
        print_figures(figures)


if __name__ == "__main__":
    main()
