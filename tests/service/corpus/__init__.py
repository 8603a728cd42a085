"""Small logs of earlier schemas, written by the code of their time: REVISION.jsonl.

A line is a statement that made the tables, a row of one of them (bytes as hexadecimal digits), or what
bandits would have drawn from at the end. Before a migration is added, write that of the schema that was
current until then:

    python tests/service/corpus/__init__.py build/log.db > tests/service/corpus/REVISION.jsonl
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
SEGMENTS = (("plain", ""), ("plain", "nl"), ("waits", ""))


def play(path):
    """A log with all that the first schema knew: segments, changes of arms, deadlines, late reports."""
    from bothworlds.service.hub import Hub, HubLimits
    from bothworlds.service.settings import checked_settings
    from bothworlds.service.store import open_store

    now = 1_790_000_000.0
    limits = HubLimits(snapshot_every=5, sweep_every=1e9)
    hub = Hub(open_store(path), limits=limits, clock=lambda: now)
    hub.create("plain", checked_settings(["a", "b", "c"], "tsallis-inf"))
    hub.create("waits", checked_settings(2, "light-barrier", wait=30.0, missing=0.25))
    for i in range(8):
        one = hub.decide("plain", id=f"{i:08x}-0000-4000-8000-000000000001", segment="nl" * (i % 2))
        two = hub.decide("waits", id=f"{i:08x}-0000-4000-8000-000000000002", unit=f"u{i}", context=b'{"x":1}')
        if i != 5:
            hub.report(one.id, reward=i / 8)
        if i % 2:
            hub.report(two.id, reward=1.0)
        if i == 3:
            hub.change("plain", "disable", "b")
    hub.withdraw("00000005-0000-4000-8000-000000000001")
    hub._sweeper._steady -= 31.0  # a clock that goes fast, and does not jump
    now += 31.0
    hub.sweep()
    hub.report("00000000-0000-4000-8000-000000000002", reward=0.5)  # late
    hub.change("plain", "add", "d")
    hub.decide("plain", id="000000ff-0000-4000-8000-000000000001")
    found = [
        {
            "experiment": name,
            "segment": segment,
            "p": list(hub.learner(name, segment).probabilities().values()),
        }
        for name, segment in SEGMENTS
    ]
    hub.close()
    return found


def dump(path):
    """Everything in an SQLite file, as lines."""
    db = sqlite3.connect(path)
    statements = db.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
    )
    for (sql,) in statements.fetchall():
        yield {"sql": " ".join(sql.split())}
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for (table,) in tables.fetchall():
        cursor = db.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        for row in cursor:
            values = ({"hex": value.hex()} if isinstance(value, bytes) else value for value in row)
            yield {"table": table, "row": dict(zip(names, values, strict=True))}
    db.close()


def read(revision):
    """Lines of a log."""
    return [json.loads(line) for line in (FOLDER / f"{revision}.jsonl").read_text("utf-8").splitlines()]


def value_of(value):
    """A value as databases have it."""
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


if __name__ == "__main__":
    played = play(sys.argv[1])
    for line in [*dump(sys.argv[1]), *played]:
        print(json.dumps(line, ensure_ascii=False))
