"""Disks that are full, read-only, or fail to sync: what was acknowledged stays, what was not is said."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import bothworlds as bw
from bothworlds.service import ids, problems
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.messages import Decide, Read
from bothworlds.service.settings import checked_settings
from bothworlds.service.store.sqlite import SQLiteStore
from bothworlds.service.verify import verify

QUIET = HubLimits(refresh=0.02)


def entries_of(path):
    store = SQLiteStore(path)
    verdict = verify(store)
    assert verdict.ok, verdict.differences
    entries = store.entries(1, 0, 10**6)
    decisions = {ids.text_of(row.id) for row in store.scan_decisions(1)}
    store.close()
    return decisions, entries


def test_a_full_disk_refuses_whole_batches_and_goes_on_by_itself(fast_folder):
    path = fast_folder / "full.db"
    hub = Hub(SQLiteStore(path), limits=QUIET)
    hub.create("full", checked_settings(3, "tsallis-inf"))
    kept = hub.decide("full")
    db = hub._replica.store._db
    ((pages,),) = hub.ask(Read(lambda: db.execute("PRAGMA page_count").fetchall()))
    hub.ask(Read(lambda: db.execute(f"PRAGMA max_page_count = {pages + 4}").fetchall()))
    acknowledged, refused = {kept.id}, 0
    while refused < 3:
        answers = hub.submit([Decide("full", context=b"x" * 500)] * 4).result()
        full = [isinstance(answer, problems.StorageFullError) for answer in answers]
        assert all(full) or not any(full)
        refused += all(full)
        acknowledged |= {answer.id for answer in answers if not all(full)}
        assert len(acknowledged) < 1000
    assert hub.learner("full").probabilities()[0] == pytest.approx(1 / 3)  # reading goes on
    hub.ask(Read(lambda: db.execute("PRAGMA max_page_count = 1000000").fetchall()))
    assert hub.report(kept.id, reward=1.0).learned
    hub.close()
    decisions, entries = entries_of(path)
    assert decisions == acknowledged
    assert len(entries) == 1


def test_a_database_that_becomes_read_only(fast_folder):
    path = fast_folder / "readonly.db"
    hub = Hub(SQLiteStore(path), limits=QUIET)
    hub.create("one", checked_settings(2, "tsallis-inf"))
    db = hub._replica.store._db
    hub.ask(Read(lambda: db.execute("PRAGMA query_only = ON").fetchall()))
    with pytest.raises(problems.StorageUnavailableError, match="SQLITE_READONLY"):
        hub.decide("one")
    hub.ask(Read(lambda: db.execute("PRAGMA query_only = OFF").fetchall()))
    assert hub.report(hub.decide("one").id, reward=1.0).learned
    hub.close()


def test_files_that_cannot_be_opened(fast_folder):
    folder = fast_folder / "missing"
    with pytest.raises(
        problems.StorageUnavailableError, match=rf"no folder {folder}; make it \(mkdir -p '{folder}'"
    ):
        bw.open(folder / "a.db", "one", arms=2)
    with pytest.raises(problems.StorageUnavailableError, match="it is a folder; give the path of a file"):
        SQLiteStore(fast_folder)
    (fast_folder / "text.db").write_text("this is no database, and long enough to be none " * 30)
    with pytest.raises(problems.StorageFailedError, match="not a database"):
        SQLiteStore(fast_folder / "text.db")


def test_another_process_that_holds_the_file_is_waited_for(fast_folder, monkeypatch):
    monkeypatch.setattr("bothworlds.service.store.sqlite.BUSY", 50)
    path = fast_folder / "busy.db"
    with bw.open(path, "one", arms=2) as bandit:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(problems.StorageUnavailableError, match="locked"):
            bandit.pull()
        other.execute("ROLLBACK")
        other.close()
        assert bandit.update(bandit.pull(), reward=1.0).learned


PROGRAM = """
import json, os, sys
from pathlib import Path
import bothworlds as bw
from bothworlds.service import problems
bandit = bw.open(sys.argv[1], "sync", arms=2, policy="tsallis-inf")
acknowledged, problem = [], None
for i in range(40):
    if i == 20:
        Path(os.environ["FSYNC_FAILS"]).touch()
    try:
        pull = bandit.pull()
        bandit.update(pull, reward=1.0)
        acknowledged.append(pull.id)
    except problems.StorageError as error:
        problem = error
Path(os.environ["FSYNC_FAILS"]).unlink()  # the disk is well again, and must not be believed
try:
    bandit.pull()
    again = True
except problems.StorageFailedError:
    again = False
print(json.dumps({"acknowledged": acknowledged, "slug": problem.slug, "again": again}))
os._exit(0)
"""


@pytest.mark.skipif(
    shutil.which("cc") is None or not sys.platform.startswith("linux"), reason="needs a C compiler and Linux"
)
def test_after_a_failed_fsync_nothing_is_done_any_more(tmp_path):
    shim = tmp_path / "no_fsync.so"
    source = Path(__file__).parent / "no_fsync.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
    environment = os.environ | {"LD_PRELOAD": str(shim), "FSYNC_FAILS": str(tmp_path / "fails")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "sync.db")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert len(told["acknowledged"]) == 20
    assert (told["slug"], told["again"]) == ("storage-failed", False)
    decisions, entries = entries_of(tmp_path / "sync.db")
    learned = {ids.text_of(entry.decision) for entry in entries}
    assert set(told["acknowledged"]) <= learned <= decisions
