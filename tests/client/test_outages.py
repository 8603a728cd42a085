"""Reports outlive outages: the service is killed under its clients, clients are killed with their spool."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import uuid

import pytest

from bothworlds.client import Client, Outcome, RefusedError, SpoolError, UnreachableError
from bothworlds.client.calls import Calls, DiskCall, Failure, Patience, Pause, RawReply, Send
from bothworlds.client.spool import Spool, SpooledReport
from serving import SOURCE

IDENTITY = str(uuid.uuid4())


def closings(http, ids):
    found = [http.get(f"/v1/decisions/{identity}").json() for identity in ids]
    return [one["closed"] and one["closed"]["reward"] for one in found]


class Shop(threading.Thread):
    """Decides and reports until it is told to stop, as an application does; whatever is raised is kept."""

    def __init__(self, client, name, number):
        super().__init__(daemon=True)
        self.client, self.name_of_experiment, self.random = client, name, random.Random(number)
        self.rewards, self.fallbacks = {}, 0
        self.ended, self.wrong = threading.Event(), None

    def run(self):
        try:
            while not self.ended.is_set():
                decision = self.client.decide(self.name_of_experiment, fallback="blue")
                reward = self.random.randrange(65) / 64  # exact as a loss, too
                outcome = self.client.report(decision, reward=reward)
                if decision.id is None:
                    assert outcome.reason == "fallback"
                    self.fallbacks += 1
                    self.ended.wait(0.02)
                else:
                    assert outcome.learned
                    self.rewards[decision.id] = reward
        except Exception as error:
            self.wrong = error


def test_the_service_is_killed_under_its_clients(served, button, tmp_path):
    name = button()
    spool = tmp_path / "spool.db"
    with (
        Client(served.base, key=served.key, decide_deadline=5.0, report_deadline=120.0) as client,
        Client(served.base, key=served.key, decide_deadline=60.0, report_deadline=2.0, spool=spool) as other,
    ):
        shops = [Shop(client, name, number) for number in range(3)]
        for shop in shops:
            shop.start()
        waiting = other.decide_many(name, [None] * 5, fallback="blue")
        while min(len(shop.rewards) for shop in shops) < 5:
            shops[0].ended.wait(0.02)
        served.kill()
        assert other.decide(name, fallback="green").reason == "fallback"
        assert other.report(waiting[0], reward=0.5) == Outcome(waiting[0].id, False, "spooled")
        outcomes = other.report_many(waiting[1:3], losses=[0.25, 0.75])
        assert [outcome.reason for outcome in outcomes] == ["spooled", "spooled"]
        assert other.drain()[::2] == (0, 3)
        before = [len(shop.rewards) for shop in shops]
        served.start()
        while any(len(shop.rewards) < n + 5 for shop, n in zip(shops, before, strict=True)):
            assert [shop.wrong for shop in shops] == [None] * 3
            shops[0].ended.wait(0.02)
        for shop in shops:
            shop.ended.set()
        for shop in shops:
            shop.join(60)
            assert shop.wrong is None

        assert other.report(waiting[3], reward=1.0).learned  # takes along what had waited
        assert len(Spool(spool, max_bytes=1 << 20)) == 0
        assert other.drain() == (0, [], 0)
    with served.client() as http:
        for shop in shops:
            assert closings(http, shop.rewards) == list(shop.rewards.values())
        assert closings(http, [one.id for one in waiting]) == [0.5, 0.75, 0.25, 1.0, None]


REPORTING = """
import sys
from bothworlds.client import Client
path, *ids = sys.argv[1:]
with Client("http://127.0.0.1:9", key="bw_k", report_deadline=0.05, spool=path) as client:
    for i, identity in enumerate(ids):
        assert client.report(identity, reward=i / 64).reason == "spooled"
        print(identity, flush=True)
    input()
"""


def test_a_client_is_killed_and_its_spool_is_not(served, http, button, tmp_path):
    name, path = button(), tmp_path / "spool.db"
    with Client(
        served.base, key=served.key, decide_deadline=60.0, report_deadline=60.0, spool=path
    ) as client:
        ids = [decision.id for decision in client.decide_many(name, [None] * 40, fallback="blue")]
        process = subprocess.Popen(
            [sys.executable, "-c", REPORTING, path, *ids],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            env={"PYTHONPATH": SOURCE},
            text=True,
        )
        with process:
            acknowledged = [process.stdout.readline().strip() for _ in range(7)]
            process.send_signal(signal.SIGKILL)
            acknowledged += process.stdout.read().split()
        assert ids[: len(acknowledged)] == acknowledged
        drained = client.drain()
    assert (drained.refused, drained.left) == ([], 0)
    assert len(acknowledged) <= drained.sent <= len(acknowledged) + 1  # the one that was on its way
    rewards = closings(http, ids)
    assert rewards[: drained.sent] == [i / 64 for i in range(drained.sent)]
    assert rewards[drained.sent :] == [None] * (40 - drained.sent)


# --- the spool ------------------------------------------------------------------------------------------


def test_a_spool_is_bounded_and_keeps_what_it_has(tmp_path):
    spool = Spool(tmp_path / "spool.db", max_bytes=1 << 16)
    kept = []

    def fill():
        while True:
            batch = [SpooledReport(str(uuid.uuid4()), "reward", random.random()) for _ in range(50)]
            spool.add(batch)
            kept.extend(batch)

    with pytest.raises(SpoolError, match=r"spool\.db cannot be used: database or disk is full"):
        fill()
    assert (tmp_path / "spool.db").stat().st_size <= 1 << 16
    assert Spool(tmp_path / "spool.db", max_bytes=1 << 16).first(10_000) == kept
    spool.remove([report.id for report in kept[:100]])
    spool.add([SpooledReport(kept[100].id, "loss", 0.5)])  # the first one counts
    assert spool.first(10_000) == kept[100:]


def test_a_file_that_is_no_spool(tmp_path):
    strange = tmp_path / "notes.txt"
    strange.write_text("this is no database" * 100)
    for path in (strange, tmp_path / "missing" / "spool.db"):
        with pytest.raises(SpoolError, match="cannot be used"):
            Client("http://127.0.0.1:9", key="bw_k", spool=path)
    assert strange.read_text() == "this is no database" * 100


def test_what_the_service_refuses_leaves_the_spool_and_what_a_key_may_not_stays(served, button, tmp_path):
    path = tmp_path / "spool.db"
    options = {"decide_deadline": 60.0, "report_deadline": 60.0, "spool": path}
    Spool(path, max_bytes=1 << 20).add([SpooledReport(IDENTITY, "reward", 1.0)])
    with (
        Client(served.base, key=served.key[:-2] + "xx", **options) as client,
        pytest.raises(RefusedError, match="401"),
    ):
        client.drain()
    with Client(served.base, key=served.key, **options) as client:
        decision = client.decide(button(), fallback="blue")
        Spool(path, max_bytes=1 << 20).add([SpooledReport(decision.id, "reward", 1.0)])
        drained = client.drain()
    assert (drained.sent, [error.problem for error in drained.refused]) == (1, ["unknown-decision"])
    assert drained.left == 0


def test_a_full_spool_is_an_error_that_says_so(tmp_path):
    path = tmp_path / "spool.db"
    with Client("http://127.0.0.1:9", key="bw_k", report_deadline=0.05, spool=path, spool_bytes=1) as client:
        with pytest.raises(SpoolError, match="full"):
            client.report_many([str(uuid.uuid4()) for _ in range(1000)], rewards=[1.0] * 1000)
        with sqlite3.connect(path) as database:
            assert database.execute("select count(*) from report").fetchone() == (0,)
        database.close()


# --- tries, without a network ---------------------------------------------------------------------------


def calls(**options):
    defaults = {"decide_deadline": 0.25, "report_deadline": 10.0, "spool": None, "spool_bytes": 1 << 20}
    return Calls(**defaults | options)


def play(call, *answers):
    """The steps of a call that gets these answers, the last one again and again; and its result."""
    steps, answers = [], list(answers)
    try:
        step = next(call)
        while True:
            steps.append(step)
            answer = None
            if isinstance(step, Send):
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
            elif isinstance(step, DiskCall):
                answer = step.function()
            step = call.send(answer)
    except StopIteration as end:
        return steps, end.value


DOWN = Failure("ConnectError: refused", sent=False)


def test_decide_tries_three_times_and_report_as_long_as_there_is_time(tmp_path):
    arguments = {"fallback": 1, "segment": "", "unit": None, "context": None, "among": None, "id": None}
    steps, decision = play(calls(decide_deadline=60.0).decide("e", **arguments), DOWN)
    sent = [step for step in steps if isinstance(step, Send)]
    assert (len(sent), decision.reason) == (3, "fallback")
    assert len({step.content for step in sent}) == 1  # the same id
    pauses = [step.seconds for step in steps if isinstance(step, Pause)]
    assert len(pauses) == 2
    assert pauses[0] <= 0.02
    assert pauses[1] <= 0.04
    assert sent[0].seconds == pytest.approx(60.0, abs=5.0)  # all that there is

    answers = [DOWN] * 40 + [RawReply(200, {}, b'{"id": "x", "learned": true}')]
    report = calls(report_deadline=600.0).report(IDENTITY, reward=1.0, loss=None)
    steps, outcome = play(report, *answers)
    assert outcome.learned
    sent = [step for step in steps if isinstance(step, Send)]
    assert len(sent) == 41
    assert all(step.seconds <= 200.0 for step in sent)  # one that hangs is given up for another
    assert max(step.seconds for step in steps if isinstance(step, Pause)) <= 1.0

    steps, outcome = play(calls(spool=tmp_path / "s").report(IDENTITY, reward=1.0, loss=None), DOWN)
    assert outcome.reason == "spooled"
    assert sum(isinstance(step, Send) for step in steps) == 3


def test_a_service_that_asks_for_time_gets_it():
    arguments = {"fallback": 1, "segment": "", "unit": None, "context": None, "among": None, "id": None}
    for status in (429, 500, 502, 503):
        busy = RawReply(status, {"retry-after": "3"}, b'{"type": "/problems/overloaded", "detail": "busy"}')
        steps, decision = play(calls().decide("e", **arguments), busy)
        assert (len(steps), decision.reason, decision.error) == (1, "fallback", "busy")  # 3 s are too long
        good = RawReply(200, {}, b'{"id": "x", "learned": false, "reason": "late"}')
        steps, outcome = play(calls().report(IDENTITY, reward=None, loss=0.5), busy, good)
        assert outcome == Outcome("x", False, "late")
        assert steps[1].seconds >= 3.0
        with pytest.raises(UnreachableError, match="busy"):
            play(calls(report_deadline=1.0).report(IDENTITY, reward=1.0, loss=None), busy)
    with pytest.raises(RefusedError, match=r"status 404, without a reason \(404\)"):
        play(calls().report(IDENTITY, reward=1.0, loss=None), RawReply(404, {}, b"<html>"))


def test_of_many_only_those_that_may_succeed_are_sent_again():
    made = b'{"status": 200, "outcome": {"id": "a", "learned": true}}'
    busy = b'{"status": 503, "problem": {"type": "/problems/overloaded", "detail": "busy"}}'
    wrong = b'{"status": 404, "problem": {"type": "/problems/unknown-decision", "detail": "none"}}'
    ids = [str(uuid.UUID(int=i)) for i in range(3)]
    call = calls(report_deadline=60.0).report_many(ids, rewards=[0.0, 0.1, 0.2], losses=None)
    first = RawReply(200, {}, b'{"results": [%b, %b, %b]}' % (busy, wrong, made))
    assert isinstance(next(call), Send)
    assert isinstance(call.send(first), Pause)
    again = call.send(None)
    assert ids[0].encode() in again.content
    assert ids[1].encode() not in again.content
    with pytest.raises(RefusedError, match="number 1: none") as caught:
        call.send(RawReply(200, {}, b'{"results": [%b]}' % made))
    assert [type(result) for result in caught.value.results] == [Outcome, RefusedError, Outcome]


def test_pauses_have_full_jitter():
    """Uniform on [0, 0.02 · 2^n]: mean and variance of 4,000, each within five standard errors."""
    for tried in (1, 3):
        pauses = []
        for _ in range(4000):
            patience = Patience(100.0, tries=None)
            for _ in range(tried):
                patience.seconds()
            pauses.append(patience.pause(0.0))
        bound = 0.02 * 2.0 ** (tried - 1)
        mean = sum(pauses) / 4000
        variance = sum((pause - mean) ** 2 for pause in pauses) / 4000
        assert abs(mean - bound / 2) < 5 * bound / (12 * 4000) ** 0.5
        assert abs(variance - bound**2 / 12) < 5 * bound**2 / (180 * 4000) ** 0.5
        assert 0.0 <= min(pauses) <= max(pauses) <= bound
