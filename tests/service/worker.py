"""A process that decides and reports until it is killed, and writes down what it asked for and what it got.

Arguments: the database, its own history file, a seed: processes of the same seed ask for the same. What a
history calls ``ask`` may have happened, what it calls ``ok`` has. It begins by repeating what its
predecessor had asked for and not heard of, and repeats everything that the database was not there for. A
first line of input ends this; after a second one it prints its position and its state. $SQLITE has settings
of SQLite that are not those of the service.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
import uuid
from pathlib import Path

import bothworlds as bw
from bothworlds.service import problems
from bothworlds.service.store import sqlite

THREADS = 3


def pending(path):
    """Requests of earlier lives without an answer."""
    asked = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue  # cut off by the kill
        key = record["what"], record["id"]
        if record["state"] == "ask":
            asked[key] = record
        else:
            asked.pop(key, None)
    return list(asked.values())


def main():
    database, path, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    unanswered = pending(path)
    sqlite.SETTINGS = (*sqlite.SETTINGS, *filter(None, os.environ.get("SQLITE", "").split(";")))
    guard, ended = threading.Lock(), threading.Event()
    with path.open("a") as history, bw.open(database, "kill", arms=3, policy="tsallis-inf") as bandit:

        def note(**record):
            with guard:
                history.write("\n" + json.dumps(record))
                history.flush()

        def insist(function, *args, **options):
            while True:
                try:
                    return function(*args, **options)
                except (problems.StorageUnavailableError, problems.OverloadedError) as problem:
                    note(what="problem", state="no", id=None, problem=str(problem))
                    time.sleep(0.05)

        def decide(text):
            note(what="decide", state="ask", id=text)
            made = insist(bandit.pull, id=text)
            note(what="decide", state="ok", id=text, arm=made.arm, p=made.probability)

        def report(text, reward):
            note(what="report", state="ask", id=text, reward=reward)
            insist(bandit.update, text, reward=reward)
            note(what="report", state="ok", id=text, reward=reward)

        def client(number):
            chance = random.Random(1000 * seed + number)
            for record in unanswered[number::THREADS]:
                decide(record["id"])
                report(record["id"], record.get("reward", chance.random()))
            while not ended.is_set():
                time.sleep(chance.expovariate(50.0))  # few enough to be verified in a test
                text = str(uuid.UUID(int=chance.getrandbits(128)))
                decide(text)
                if chance.random() < 0.9:
                    report(text, chance.random())

        threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        print("ready", flush=True)
        sys.stdin.readline()
        ended.set()
        for thread in threads:
            thread.join()
        print("ended", flush=True)
        sys.stdin.readline()
        state = insist(bandit._learner).dump()
        print(bandit.position, state.hex(), flush=True)


if __name__ == "__main__":
    main()
