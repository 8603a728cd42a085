"""The client against a service in another process: decisions, outcomes, mistakes, outages."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

import pytest

from bothworlds.client import AsyncClient, Client, Decision, Outcome, RefusedError, UnreachableError
from bothworlds.errors import InvalidArgumentError
from serving import SOURCE

SLOW = 60.0  # a machine that tests is slow; whoever wants a fallback says so
PATIENT = {"decide_deadline": SLOW, "report_deadline": SLOW}


@pytest.fixture
def client(served):
    with Client(served.base, key=served.key, **PATIENT) as made:
        yield made


def nowhere():
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


def found(http, decision):
    answer = http.get(f"/v1/decisions/{getattr(decision, 'id', decision)}")
    answer.raise_for_status()
    return answer.json()


def test_what_is_decided_and_reported_is_what_the_service_has(client, http, button):
    name = button(wait=3600)
    before = time.time()
    decision = client.decide(name, fallback="blue", segment="nl", unit="u-42", context={"page": [1, 2.5]})
    stored = found(http, decision)
    assert (decision.arm, decision.observe, decision.probability, decision.segment, decision.experiment) == (
        stored["arm"],
        stored["observe"],
        stored["probability"],
        "nl",
        name,
    )
    assert decision.reason == "draw"
    assert before + 3599 < decision.deadline.timestamp() < time.time() + 3601
    identity = uuid.UUID(decision.id)  # RFC 9562: version 7 begins with milliseconds since 1970
    assert (identity.version, identity.variant) == (7, uuid.RFC_4122)
    assert before - 1 < (identity.int >> 80) / 1000 < time.time() + 1

    assert client.report(decision, reward=0.25) == Outcome(decision.id, True)
    assert found(http, decision)["closed"]["reward"] == 0.25
    assert client.report(decision.id, reward=0.25).learned  # the same again is one report
    with pytest.raises(RefusedError, match="409 outcome-exists") as caught:
        client.report(decision, loss=0.1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.status, again.problem, str(again)) == (409, "outcome-exists", str(caught.value))

    unseen = client.decide(name, fallback="blue", among=["green"])
    assert (unseen.arm, unseen.probability) == ("green", 1.0)
    client.withdraw(unseen)
    assert found(http, unseen)["closed"]["source"] == "withdrawn"


def test_the_same_id_is_the_same_decision_and_sticky_units_keep_theirs(client, button):
    mine = str(uuid.uuid4())
    name = button()
    made = [client.decide(name, fallback="blue", id=mine) for _ in range(3)]
    assert {decision.id for decision in made} == {mine}
    assert made[0] == made[1] == made[2]
    name = button(sticky=True)
    ids = {client.decide(name, fallback="blue", unit="u").id for _ in range(3)}
    assert len(ids) == 1
    assert client.decide(name, fallback="blue", unit="v").id not in ids
    assert client.report(ids.pop(), reward=1.0).learned


def test_both_clients_are_one(served, http, button):
    name = button()

    async def play():
        async with AsyncClient(served.base, key=served.key, **PATIENT) as client:
            decision = await client.decide(name, fallback="blue")
            assert (await client.report(decision, reward=1.0)).learned
            many = await client.decide_many(name, ["a", "b"], fallback="blue")
            assert all(outcome.learned for outcome in await client.report_many(many, losses=[0.0, 1.0]))
            unseen = await client.decide(name, fallback="blue")
            await client.withdraw(unseen)
            with pytest.raises(RefusedError, match="unknown-experiment"):
                await client.decide("none", fallback="blue")
            return [decision, *many, unseen]

    closed = [found(http, decision)["closed"] for decision in asyncio.run(play())]
    assert [closing["source"] for closing in closed] == ["report", "report", "report", "withdrawn"]
    assert [closing["reward"] for closing in closed[:3]] == [1.0, 1.0, 0.0]
    methods = {name for name in vars(Client) if not name.startswith("_")} - {"close"}
    for method in methods:
        one, other = getattr(Client, method), getattr(AsyncClient, method)
        assert inspect.signature(one) == inspect.signature(other)
    assert inspect.signature(Client) == inspect.signature(AsyncClient)


def test_many(client, http, button):
    name = button()
    decisions = client.decide_many(name, [f"u{i}" for i in range(620)], fallback="blue", segment="s")
    assert len({decision.id for decision in decisions}) == 620
    rewards = [i / 619 for i in range(620)]
    assert all(outcome.learned for outcome in client.report_many(decisions, rewards=rewards))
    assert found(http, decisions[617])["closed"]["reward"] == rewards[617]
    assert client.decide_many(name, [], fallback="blue") == client.report_many([], rewards=[]) == []

    good, fallback = client.decide(name, fallback="blue"), _fallback(name)
    strange = str(uuid.uuid4())
    with pytest.raises(RefusedError, match=r"number 1: .*404 unknown-decision") as caught:
        client.report_many([good, strange, fallback], rewards=[1.0, 1.0, 1.0])
    assert caught.value.results == [Outcome(good.id, True), caught.value, Outcome(None, False, "fallback")]
    with pytest.raises(RefusedError, match=r"number 1: .*422 invalid-request") as caught:
        client.decide_many(name, ["a", "b" * 300], fallback="blue")
    assert found(http, caught.value.results[0])["closed"] is None
    with pytest.raises(RefusedError, match="unknown-experiment"):
        client.decide_many("none", [None], fallback="blue")


def test_requests_that_are_too_large_are_sent_in_parts(client, http, button, monkeypatch):
    name = button()
    monkeypatch.setattr("bothworlds.client.calls.BATCH", 1200)  # of 500 that the service takes
    decisions = client.decide_many(name, [None] * 1100, fallback="blue")
    assert len({decision.id for decision in decisions}) == 1100
    assert found(http, decisions[1099])["arm"] == decisions[1099].arm


def _fallback(name):
    return Decision(
        id=None,
        experiment=name,
        segment="",
        arm="blue",
        observe="blue",
        probability=None,
        reason="fallback",
    )


# --- mistakes -------------------------------------------------------------------------------------------


def test_keys_that_are_not_good(served, button):
    name, key = button(), served.key
    with Client(served.base, key=key[:-1] + ("a" if key[-1] != "a" else "b"), **PATIENT) as client:
        with pytest.raises(RefusedError, match="401 unauthorized"):
            client.decide(name, fallback="blue")
        with pytest.raises(RefusedError, match="401 unauthorized"):
            client.decide_many(name, [None], fallback="blue")
        with pytest.raises(RefusedError, match="401 unauthorized") as caught:
            client.report(str(uuid.uuid4()), reward=1.0)
    assert key[:-1] not in repr(client) + str(caught.value)
    with (
        Client(served.base, key=served.new_key("viewer"), **PATIENT) as client,
        pytest.raises(RefusedError, match="403 forbidden"),
    ):
        client.decide(name, fallback="blue")


@pytest.mark.parametrize(
    ("method", "arguments", "options", "message"),
    [
        ("decide", [""], {"fallback": 1}, "experiment must be the name"),
        ("decide", [7], {"fallback": 1}, "experiment must be the name"),
        ("decide", ["e"], {"fallback": 1, "unit": 7}, r"unit must be a string, got 7; write unit=str\(...\)"),
        ("decide", ["e"], {"fallback": 1, "segment": None}, "segment must be a string"),
        ("decide", ["e"], {"fallback": 1, "id": "x"}, "id must be a decision, or a UUID, got 'x'"),
        ("decide", ["e"], {"fallback": 1, "context": {"a": {1}}}, "context must be .* not JSON serializable"),
        ("decide", ["e"], {"fallback": 1, "among": [float("nan")]}, "among must be"),
        ("decide_many", ["e", [1]], {"fallback": 1}, "unit must be a string"),
        ("report", ["x"], {"reward": 1.0}, "decision must be a decision, or a UUID, got 'x'"),
        ("report", [str(uuid.uuid4())], {}, "reward must be given.*, got neither"),
        ("report", [str(uuid.uuid4())], {"reward": 1.0, "loss": 0.0}, "got both"),
        ("report", [str(uuid.uuid4())], {"loss": float("inf")}, "loss must be a finite number, got inf"),
        ("report", [str(uuid.uuid4())], {"reward": "1"}, "reward must be a finite number, got '1'"),
        (
            "report_many",
            [[str(uuid.uuid4())]],
            {"rewards": [1, 2]},
            "rewards must be of length 1, got length 2",
        ),
        ("report_many", [[None]], {"losses": [1]}, r"decisions\[0\] must be"),
        ("withdraw", [None], {}, "decision must be"),
    ],
)
def test_bad_input_is_refused_before_anything_is_sent(method, arguments, options, message):
    with (
        Client(nowhere(), key="bw_k", report_deadline=0.1) as client,
        pytest.raises(InvalidArgumentError, match=message),
    ):
        getattr(client, method)(*arguments, **options)


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("127.0.0.1:8787", {}, "url must be an address"),
        (None, {}, "url must be an address"),
        ("http://h", {"key": "secret"}, "key must be a key such as bw_…, got something else"),
        ("http://h", {"key": "bw_\r\nx"}, "key must be"),
        ("http://h", {"decide_deadline": 0}, "decide_deadline must be a number of seconds above 0, got 0"),
        ("http://h", {"report_deadline": float("nan")}, "report_deadline must be"),
    ],
)
def test_bad_options(url, options, message):
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        Client(url, **{"key": "bw_k"} | options)
    assert "secret" not in str(caught.value)


# --- outages --------------------------------------------------------------------------------------------


def test_nobody_listens(caplog):
    with Client(nowhere(), key="bw_k", report_deadline=0.2) as client:
        decision = client.decide("button", fallback="blue", segment="nl")
        assert decision == client.decide("button", fallback="blue", segment="nl")
        assert decision.error.startswith("ConnectError")
        assert (decision.id, decision.arm, decision.observe, decision.segment) == (None, "blue", "blue", "nl")
        assert (decision.reason, decision.probability) == ("fallback", None)
        assert client.decide_many("button", [None] * 3, fallback=7)[2].arm == 7
        assert client.report(decision, reward=1.0) == Outcome(None, False, "fallback")
        assert client.report_many([decision], rewards=[1.0]) == [Outcome(None, False, "fallback")]
        assert client.withdraw(decision) == Outcome(None, False, "fallback")
        for call in (client.report, lambda one, reward: client.report_many([one], rewards=[reward])):
            with pytest.raises(UnreachableError, match="ConnectError"):
                call(str(uuid.uuid4()), reward=1.0)
    assert [record.message.partition(":")[0] for record in caplog.records] == ["decisions fall back"]


def test_somebody_else_answers():
    """A portal that says yes to everything, in HTML; and one that never stops to talk."""

    def serve(answer):
        listening = socket.create_server(("127.0.0.1", 0))

        def talk():
            while True:
                try:
                    with listening.accept()[0] as connection:
                        connection.recv(65536)
                        answer(connection)
                except OSError:
                    if listening.fileno() < 0:
                        return

        threading.Thread(target=talk, daemon=True).start()
        return listening

    def html(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>")

    def trickle(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:  # each byte comes in time, all of them never
            connection.sendall(b"x-header: 1\r\n")
            time.sleep(0.02)

    # an answer is waited for, however busy the machine is; what never ends, for the usual quarter of a second
    cases = ((html, PATIENT, "none of this service"), (trickle, {}, "no answer within"))
    for answer, options, error in cases:
        listening = serve(answer)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"

        async def decide(url=url, options=options):
            async with AsyncClient(url, key="bw_k", **options) as client:
                return await client.decide("button", fallback="blue")

        with Client(url, key="bw_k", **options) as client:
            assert error in client.decide("button", fallback="blue").error
        assert error in asyncio.run(decide()).error
        listening.close()


def test_a_service_that_is_stopped_and_goes_on(served, button):
    name = button()
    with (
        Client(served.base, key=served.key) as hurried,
        Client(served.base, key=served.key, **PATIENT) as client,
    ):
        client.decide(name, fallback="blue")
        served.process.send_signal(signal.SIGSTOP)
        try:
            decision = hurried.decide(name, fallback="blue")  # returns, though nothing answers
            many = hurried.decide_many(name, [None] * 2, fallback="blue")
        finally:
            served.process.send_signal(signal.SIGCONT)
        assert [one.reason for one in (decision, *many)] == ["fallback"] * 3
        assert "no answer within" in decision.error
        assert client.decide(name, fallback="blue").reason == "draw"


def test_what_fell_back_and_was_made_nevertheless_is_withdrawn(served, http, button):
    """Else its missing reward would be learned, of an arm that nobody has seen."""
    name = button(wait=3600, missing=0.0)
    proxy = Cutting(served.port, cuts=99)
    with Client(proxy.url, key=served.key, **PATIENT) as client:
        assert client.decide(name, fallback="blue").reason == "fallback"
        assert client.decide_many(name, [None] * 4, fallback="blue")[3].reason == "fallback"
        mine = str(uuid.uuid4())  # may be played elsewhere
        assert client.decide(name, fallback="blue", id=mine).reason == "fallback"
        made = list(client._calls._in_doubt)
        assert [found(http, identity)["closed"] for identity in [*made, mine]] == [None] * 6
        proxy.cuts = 0
        played = client.decide(name, fallback="blue")
        client.report(played, reward=1.0)  # takes three of them along
        assert client.drain() == (0, [], 0)
    sources = [(found(http, one)["closed"] or {}).get("source") for one in [*made, mine]]
    assert sources == ["withdrawn"] * 5 + [None]


class Cutting(threading.Thread):
    """Hands requests on to a service, and cuts the first answers off."""

    def __init__(self, port, cuts):
        super().__init__(daemon=True)
        self.port, self.cuts = port, cuts
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            connection = self.listening.accept()[0]
            threading.Thread(target=self.hand_on, args=[connection], daemon=True).start()

    def hand_on(self, connection):
        with connection, socket.create_connection(("127.0.0.1", self.port)) as service:
            threading.Thread(target=self.pour, args=[connection, service], daemon=True).start()
            while answer := service.recv(1 << 20):
                if self.cuts > 0:
                    self.cuts -= 1
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                connection.sendall(answer)

    def pour(self, connection, service):
        with contextlib.suppress(OSError):
            while request := connection.recv(1 << 20):
                service.sendall(request)
            service.shutdown(socket.SHUT_WR)


def test_lost_answers_are_asked_for_again_and_nothing_is_done_twice(served, http, button):
    name = button()
    proxy = Cutting(served.port, cuts=2)
    with Client(proxy.url, key=served.key, **PATIENT) as client:
        decision = client.decide(name, fallback="blue")
        proxy.cuts = 2
        assert client.report(decision, reward=1.0).learned
        proxy.cuts = 1
        many = client.decide_many(name, [None] * 3, fallback="blue")
        proxy.cuts = 1
        assert all(outcome.learned for outcome in client.report_many(many, rewards=[0.0] * 3))
        proxy.cuts = 99
        assert client.decide(name, fallback="blue").reason == "fallback"  # after three tries
        assert proxy.cuts == 96
    shown = http.get(f"/v1/experiments/{name}/bandits").json()["bandits"]
    while not shown or shown[0]["decisions"] < 5:  # the board follows within a second
        time.sleep(0.05)
        shown = http.get(f"/v1/experiments/{name}/bandits").json()["bandits"]
    assert (shown[0]["decisions"], shown[0]["reported"]) == (5, 4)  # the fifth is the one that fell back


FORKING = """
import os, sys
for name in "alembic msgspec numba openfeature prometheus_client sqlalchemy starlette uvicorn".split():
    sys.modules[name] = None  # none of them is needed
from bothworlds.client import Client
url, key, name = sys.argv[1:]
with Client(url, key=key, decide_deadline=60.0) as client:
    ids = [client.decide(name, fallback="blue").id]
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, client.decide(name, fallback="blue").id.encode())
        os._exit(0)
    ids += [client.decide(name, fallback="blue").id, os.read(read, 36).decode()]
    os.wait()
print(*ids)
"""


def test_a_client_is_forked_and_needs_nothing_of_the_service(served, http, button):
    command = [sys.executable, "-c", FORKING, served.base, served.key, button()]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": SOURCE}, check=True)
    ids = done.stdout.split()
    assert len(set(ids)) == 3
    assert all(found(http, identity)["id"] == identity for identity in ids)
