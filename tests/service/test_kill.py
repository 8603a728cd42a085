"""kill -9 at any moment: nothing acknowledged is lost, nothing is done twice, everything can be recomputed.

``BOTHWORLDS_KILLS=200`` is the long version (``make torture``): in parts, which run side by side.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bothworlds.service import ids
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify

WORKER = Path(__file__).parent / "worker.py"
KILLS = int(os.environ.get("BOTHWORLDS_KILLS", "3"))
PARTS = -(-KILLS // 25)  # each on a database of its own
MINUTES = 20.0  # that a part may take


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request, tmp_path):
    """On a disk, where SQLite is."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'kill.db'}"
    return request.getfixturevalue("postgres_url")


def start(database, history, seed):
    return subprocess.Popen(
        [sys.executable, str(WORKER), str(database), str(history), str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def records_of(path):
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue  # the last line of a life


def check(database, histories):
    """Every acknowledged answer is in the log as it was given; the log agrees with itself."""
    store = open_store(database)
    verdict = verify(store)
    assert verdict.ok, verdict.differences
    project = store.project("default").id
    decisions = {ids.text_of(row.id): row for row in store.scan_decisions(project)}
    entries = store.entries(project, 0, 10**9)
    store.close()
    assert [entry.pos for entry in entries] == list(range(1, len(entries) + 1))
    learned = {ids.text_of(entry.decision): entry.kept for entry in entries}
    assert len(learned) == len(entries)  # none twice
    asked, acknowledged = set(), 0
    for path in histories:
        for record in records_of(path):
            if record["state"] == "no":
                continue
            if record["state"] == "ask":
                asked.add((record["what"], record["id"]))
                continue
            acknowledged += 1
            if record["what"] == "decide":
                row = decisions[record["id"]]
                assert (row.arm, row.probability) == (record["arm"], record["p"])
            else:
                assert learned[record["id"]] == 1.0 - record["reward"]
    assert {("decide", text) for text in decisions} <= asked
    assert {("report", text) for text in learned} <= asked
    return acknowledged


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_lost_doubled_or_altered_by_kills(tmp_path, database, part):
    """Two processes on one database, one of which is killed again and again."""
    kills = KILLS * (part + 1) // PARTS - KILLS * part // PARTS
    histories = [tmp_path / "one.txt", tmp_path / "other.txt"]
    chance = random.Random(5 + part)
    began = time.monotonic()
    steady = start(database, histories[1], 99)
    assert steady.stdout.readline() == b"ready\n"
    try:
        for kill in range(kills):
            victim = start(database, histories[0], kill)
            assert victim.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.05, 0.4))
            victim.send_signal(signal.SIGKILL)
            victim.communicate()
            assert steady.poll() is None
            took = time.monotonic() - began
            tell(
                f"{database.partition(':')[0]} {part + 1}/{PARTS}: {kill + 1} of {kills} kills, {took:.0f} s"
            )
            late = took > 60.0 * MINUTES and kill + 1 < kills
            assert not late, f"{kill + 1} of {kills} kills in {MINUTES:.0f} minutes: the machine is too busy"
    finally:
        steady.send_signal(signal.SIGKILL)
        steady.communicate()
    acknowledged = check(database, histories)
    assert acknowledged > 20 * kills
    tell(f"{database.partition(':')[0]} {part + 1}/{PARTS}: {kills} kills, {acknowledged} acknowledged")


def tell(text):
    """Say how far a long run is."""
    if KILLS > 25:
        print(text, file=sys.stderr, flush=True)


def test_two_processes_learn_from_each_other(database):
    """Decisions of one, reported to the other, each outcome to both at once: one learns, both know."""
    program = """if True:
        import sys
        import bothworlds as bw
        with bw.open(sys.argv[1], "pair", arms=2, policy="tsallis-inf") as bandit:
            print(*(bandit.pull().id for _ in range(20)), flush=True)
            texts = sys.stdin.readline().split()
            print(*(int(bandit.update(text, reward=1.0).repeated) for text in texts), flush=True)
            sys.stdin.readline()
            print(bandit._learner().dump().hex(), flush=True)
        """
    command = [sys.executable, "-c", program, database]
    pair = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    made = [process.stdout.readline().split() for process in pair]
    for process in pair:
        process.stdin.write(" ".join(made[0] + made[1]) + "\n")
        process.stdin.flush()
    repeated = [process.stdout.readline().split() for process in pair]
    assert [int(a) + int(b) for a, b in zip(*repeated, strict=True)] == [1] * 40
    for process in pair:
        process.stdin.write("\n")
        process.stdin.flush()
    one, other = (process.communicate()[0] for process in pair)
    assert one == other
    assert one.strip()
    store = open_store(database)
    verdict = verify(store)
    store.close()
    assert verdict.ok
    assert (verdict.decisions, verdict.entries) == (40, 40)
