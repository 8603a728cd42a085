"""The process: killed, stopped, overloaded, out of room; and the commands around it."""

from __future__ import annotations

import io
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
import pytest
from rich.console import Console

from bothworlds import cli
from bothworlds.errors import BothworldsError
from bothworlds.service import cli as service_cli
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify
from serving import Served

KILLS = max(2, int(os.environ.get("BOTHWORLDS_KILLS", "0")) // 5)  # `make torture` has more


@pytest.fixture
def folder(tmp_path):
    return tmp_path


class Done(NamedTuple):
    returncode: int
    stdout: str


def command(*arguments):
    """A command of ours, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service_cli, "out", Console(file=(said := io.StringIO()), width=200))
        try:
            return Done(cli.app(arguments, standalone_mode=False) or 0, said.getvalue())
        except BothworldsError as error:
            return Done(2, str(error))


class Player(threading.Thread):
    """Decides and reports for ever, repeats what was not answered, and keeps what was."""

    def __init__(self, served, number):
        super().__init__(daemon=True)
        self.served, self.number = served, number
        self.random = random.Random(number)
        self.decisions, self.outcomes = {}, {}
        self.unknown = 0
        self.ended = threading.Event()
        self.wrong = None

    def run(self):
        try:
            with self.served.client() as client:
                while not self.ended.is_set():
                    self.play(client)
        except Exception as error:
            self.wrong = error

    def play(self, client):
        identity = str(uuid.UUID(int=self.random.getrandbits(128)))
        segment = f"s{self.random.randrange(3)}"
        made = self.ask(client, "POST", "/v1/experiments/e/decisions", {"id": identity, "segment": segment})
        if made is None:
            return
        self.decisions[identity] = made
        reward = float(self.random.random() < (0.7 if made["arm"] == "b" else 0.3))
        told = self.ask(client, "PUT", f"/v1/decisions/{identity}/outcome", {"reward": reward})
        if told is not None:
            assert told["learned"]
            self.outcomes[identity] = (reward, told["position"])

    def ask(self, client, method, path, body):
        for attempt in itertools.count():
            if attempt:
                self.unknown += 1
                time.sleep(0.05)
            if self.ended.is_set():
                return None
            try:
                answer = client.request(method, self.served.base + path, json=body)
            except httpx.TransportError:
                continue
            if answer.status_code == 503:
                continue
            assert answer.status_code in (200, 201), answer.text
            return answer.json()


@pytest.mark.slow  # test_kill.py has the same without HTTP
def test_killed_and_killed_again_nothing_is_lost_doubled_or_altered(folder):
    served = Served(folder)
    with served.client() as client:
        client.post("/v1/experiments", json={"name": "e", "arms": ["a", "b"]}).raise_for_status()
    players = [Player(served, number) for number in range(4)]
    for player in players:
        player.start()
    try:
        for _ in range(KILLS):
            enough = sum(len(player.outcomes) for player in players) + 20
            while sum(len(player.outcomes) for player in players) < enough:
                assert not any(player.wrong for player in players)
                time.sleep(0.02)
            served.kill()
            served.start()
    finally:
        for player in players:
            player.ended.set()
        for player in players:
            player.join(60)
    assert [player.wrong for player in players] == [None] * len(players)
    assert sum(player.unknown for player in players) > 0  # answers were lost, and asked for again
    with served.client() as client:
        states = {}
        for player in players:
            for identity, made in player.decisions.items():
                found = client.get(f"/v1/decisions/{identity}").json()
                closed = found.pop("closed")
                assert found == made
                if identity in player.outcomes:
                    assert (closed["reward"], closed["position"]) == player.outcomes[identity]
                states[identity] = closed
    positions = [closed["position"] for closed in states.values() if closed]
    assert len(set(positions)) == len(positions)
    assert served.stop() == 0
    store = open_store(served.url)
    verdict = verify(store)
    store.close()
    assert verdict.ok, verdict.differences
    assert verdict.decisions >= len(states)


def test_sigterm_answers_what_waits_and_ends_streams(folder):
    served = Served(folder)
    with served.client() as client:
        client.post("/v1/experiments", json={"name": "e", "arms": ["a", "b"]}).raise_for_status()
        made = client.post("/v1/experiments/e/decisions:batch", json={"decisions": [{}] * 50}).json()
        told = [{"id": one["decision"]["id"], "reward": 1.0} for one in made["results"]]
        client.post("/v1/outcomes:batch", json={"outcomes": told}).raise_for_status()
        with client.stream("GET", "/v1/stream") as stream:
            lines = stream.iter_lines()
            next(lines)
            served.process.send_signal(signal.SIGTERM)
            assert list(lines)[-1] == ""  # to its end: it does not hang
    assert served.process.wait(30) == 0
    store = open_store(served.url)
    (bandit,) = store.bandits(store.project("default").id, 0)
    assert store.snapshots(bandit.id)[0].pos == 50
    store.close()


@pytest.mark.compiled
def test_who_stops_does_not_leave_a_process_that_compiles(folder):
    compiles = {"NUMBA_DISABLE_JIT": "0", "BOTHWORLDS_CACHE_DIR": str(folder / "cache")}
    served = Served(folder, environment=compiles)
    end = time.monotonic() + 60
    while not (children := psutil.Process(served.process.pid).children()):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert served.stop() == 0
    gone, alive = psutil.wait_procs(children, timeout=2)
    assert (len(gone), alive) == (1, [])


def test_limits(folder):
    (folder / "service.toml").write_text(
        "[limits]\nrate_per_key = 20\nmax_experiments = 2\nmax_streams = 1\nmax_arms = 3\nmax_keys = 3\n"
        "max_projects = 1\nmax_exports = 0\n"
    )
    served = Served(folder, "--config", "service.toml")
    with served.client() as client:
        for name in "ab":
            client.post("/v1/experiments", json={"name": name, "arms": ["x", "y"]}).raise_for_status()
        third = client.post("/v1/experiments", json={"name": "c", "arms": ["x", "y"]})
        assert (third.status_code, third.json()["type"]) == (409, "/problems/limit-reached")
        four = client.post("/v1/experiments", json={"name": "a", "arms": list("wxyz")})
        assert four.status_code == 422
        client.post("/v1/experiments/a/arms", json={"add": "z"}).raise_for_status()
        assert client.post("/v1/experiments/a/arms", json={"add": "w"}).status_code == 409
        statuses = [client.post("/v1/keys", json={"role": "viewer"}).status_code for _ in range(3)]
        assert statuses == [201, 201, 409]
        with client.stream("GET", "/v1/stream") as stream:
            lines = stream.iter_lines()  # which closes the stream when nobody holds it
            next(lines)
            assert client.get("/v1/stream").status_code == 409
        assert client.post("/v1/exports", json={"experiment": "a"}).status_code == 409
        with served.client(served.new_key("admin", project="second")) as other:
            assert other.get("/v1/experiments").json()["type"] == "/problems/limit-reached"
        time.sleep(2.0)
        answers = [client.post("/v1/experiments/a/decisions", json={}) for _ in range(100)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert {answer.status_code for answer in answers} == {201, 429}
        assert refused[0].headers["retry-after"] == "1"
        assert refused[0].headers["ratelimit"] == '"key";r=0;t=1'
        assert refused[0].headers["ratelimit-policy"] == '"key";q=20;w=1'
        time.sleep(1.0)
        many = client.post("/v1/experiments/a/decisions:batch", json={"decisions": [{}] * 100})
        assert many.status_code == 429
    assert served.stop() == 0


def test_a_disk_without_room_refuses_and_recovers(folder):
    served = Served(folder, environment={"BOTHWORLDS_STORAGE_MIN_FREE": str(1 << 60)})
    with served.client() as client:
        for _ in range(100):
            refused = client.post("/v1/experiments", json={"name": "a", "arms": ["x", "y"]})
            if refused.status_code == 503:
                break
            time.sleep(0.1)
        assert refused.json()["type"] == "/problems/storage-full"
        assert str(served.folder) not in refused.text
        assert client.get("/readyz").json()["detail"] == "storage-full"
        assert client.get("/v1/experiments").status_code == 200
    assert served.stop() == 0


@pytest.mark.skipif(
    shutil.which("cc") is None or not sys.platform.startswith("linux"), reason="needs a C compiler and Linux"
)
def test_after_a_failed_fsync_the_process_ends(folder):
    shim, fails = folder / "no_fsync.so", folder / "fails"
    source = Path(__file__).parent / "no_fsync.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
    served = Served(folder, environment={"LD_PRELOAD": str(shim), "FSYNC_FAILS": str(fails)})
    with served.client() as client:
        client.post("/v1/experiments", json={"name": "e", "arms": ["a", "b"]}).raise_for_status()
        kept = client.post("/v1/experiments/e/decisions", json={}).json()
        fails.touch()
        refused = client.post("/v1/experiments/e/decisions", json={})
        assert (refused.status_code, refused.json()["type"]) == (503, "/problems/storage-failed")
    assert served.process.wait(30) == 70
    fails.unlink()
    served.start()
    with served.client() as client:
        assert client.get(f"/v1/decisions/{kept['id']}").json()["arm"] == kept["arm"]
    assert served.stop() == 0


def test_two_workers_share_a_file(folder):
    served = Served(folder, "--workers", "2")
    with served.client() as client:
        client.post("/v1/experiments", json={"name": "e", "arms": ["a", "b"]}).raise_for_status()
    players = [Player(served, number) for number in range(4)]
    for player in players:
        player.start()
    end = time.monotonic() + 60
    while sum(len(player.outcomes) for player in players) < 60 and time.monotonic() < end:
        time.sleep(0.05)
    for player in players:
        player.ended.set()
    for player in players:
        player.join(60)
    assert [player.wrong for player in players] == [None] * len(players)
    assert served.stop() == 0
    store = open_store(served.url)
    assert verify(store).ok
    store.close()


# --- commands -------------------------------------------------------------------------------------------


def test_the_commands_of_a_database(folder):
    url = f"sqlite:///{folder / 'service.db'}"
    missing = command("service", "verify", "--database", url)
    assert missing.returncode == 2
    assert "bothworlds serve makes one" in missing.stdout
    made = command("service", "key", "new", "--role", "admin", "--database", url)
    key = made.stdout.strip()
    assert key.startswith("bw_")
    served = Served(folder)
    assert served.key is None  # it has one
    with served.client(key) as client:
        client.post("/v1/experiments", json={"name": "e", "arms": ["a", "b"]}).raise_for_status()
        for _ in range(5):
            identity = client.post("/v1/experiments/e/decisions", json={}).json()["id"]
            client.put(f"/v1/decisions/{identity}/outcome", json={"reward": 1.0}).raise_for_status()
        copy = folder / "copy.db"
        assert command("service", "backup", str(copy), "--database", url).returncode == 0
        assert command("service", "backup", str(copy), "--database", url).returncode == 2
        identity = key.split("_")[1]
        assert identity in command("service", "key", "list", "--database", url).stdout
        assert command("service", "key", "revoke", identity, "--database", url).returncode == 0
        end = time.monotonic() + 30
        while client.get("/v1/experiments").status_code != 401:
            assert time.monotonic() < end
            time.sleep(0.1)
    served.stop()
    found = command("service", "verify", "--database", url)
    assert found.returncode == 0, found.stdout
    assert "5 decisions" in found.stdout
    again = f"sqlite:///{folder / 'again.db'}"
    assert command("service", "restore", str(copy), "--database", again).returncode == 0
    assert command("service", "restore", str(copy), "--database", again).returncode == 2
    exported = command("service", "export", str(folder / "out"), "--database", again)
    assert "e: 5 decisions in 1 file" in exported.stdout
    examined = command("service", "doctor", "--database", again)
    assert "integrity" in examined.stdout
    assert command("service", "migrate", "--database", again).returncode == 0


def test_mistakes_of_the_command_line(folder):
    bad = folder / "service.toml"
    bad.write_text("[server]\nprot = 1\n")
    refused = command("serve", "--config", str(bad))
    assert refused.returncode == 2
    assert "prot" in refused.stdout
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        url = f"sqlite:///{folder / 'service.db'}"
        refused = command("serve", "--port", port, "--database", url)
    assert refused.returncode == 2
    assert f"--port must be free, got 127.0.0.1:{port}, " in refused.stdout
    for host in ("999.1.1.1", "192.0.2.7"):  # no address; none of this machine
        refused = command("serve", "--host", host, "--port", "0", "--database", url)
        assert refused.returncode == 2
        assert f"--host must be an address of this machine, got {host}" in refused.stdout


def test_a_log_that_is_young_is_kept_and_said_to_be(folder):
    url = f"sqlite:///{folder / 'service.db'}"
    command("service", "key", "new", "--role", "admin", "--database", url)
    said = command("service", "retain", "--days", "3", "--export", str(folder / "out"), "--database", url)
    assert said.stdout.strip() == "default: nothing that could go is older than 3 days; everything is kept"


def test_two_processes_serve_one_postgresql(postgres_url, folder):
    first = Served(folder, url=postgres_url)
    second = Served(folder, url=postgres_url)
    with first.client() as here, second.client(first.key) as there:
        settings = {"name": "price", "arms": ["low", "high"]}
        assert here.post("/v1/experiments", json=settings).status_code == 201
        for number in range(20):
            one, other = (here, there) if number % 2 else (there, here)
            made = one.post("/v1/experiments/price/decisions", json={"unit": f"u{number}"})
            assert made.status_code == 201, made.text
            outcome = f"/v1/decisions/{made.json()['id']}/outcome"
            assert other.put(outcome, json={"reward": 0.5}).json()["learned"]
            assert one.put(outcome, json={"reward": 0.25}).status_code == 409
        assert here.delete("/v1/units/u3").status_code == 200
        known = {"If-Match": here.get("/v1/experiments/price").headers["ETag"]}
        assert there.patch("/v1/experiments/price", json={"archived": True}, headers=known).status_code == 200
        assert here.patch("/v1/experiments/price", json={"archived": False}, headers=known).status_code == 412
        assert "bothworlds_divergences 0.0" in there.get("/metrics").text
    for served in (first, second):
        assert served.stop() == 0
    assert command("service", "verify", "--database", postgres_url).returncode == 0
    assert command("service", "doctor", "--database", postgres_url).returncode == 0
    done = command("service", "export", str(folder / "out"), "--database", postgres_url)
    assert done.returncode == 0
    assert list((folder / "out").rglob("*.parquet"))
