"""Clients that take their time: on real sockets, each must lose its connection, and nobody else notice."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import time
import uuid
from http.client import HTTPResponse

import pytest

from serving import Served

PATIENCE = 60.0  # seconds, on a busy machine
CONNECTIONS = 12


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A service that is less patient than usual."""
    environment = {
        "BOTHWORLDS_SERVER_REQUEST_TIMEOUT": "1",
        "BOTHWORLDS_SERVER_ANSWER_TIMEOUT": "2",
        "BOTHWORLDS_SERVER_MAX_HEAD": "20000",
        "BOTHWORLDS_LIMITS_MAX_CONNECTIONS": str(CONNECTIONS),
    }
    one = Served(tmp_path_factory.mktemp("strict"), environment=environment)
    yield one
    assert one.stop() == 0
    assert "defect" not in one.log.read_text()


@contextlib.contextmanager
def connected(served, *, room=None):
    with socket.socket() as made:
        if room is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        made.settimeout(PATIENCE)
        made.connect(("127.0.0.1", served.port))
        yield made


def trickle(connection, content):
    """Send a byte every tenth of a second, until the other side has said something; what it said."""
    for byte in content:
        with contextlib.suppress(ConnectionError):
            connection.send(bytes([byte]))
        if select.select([connection], [], [], 0.1)[0]:
            break
    else:
        raise AssertionError("all of it was taken")
    return rest_of(connection)


def rest_of(connection):
    """All that is sent until the connection is closed."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            said += part
    return said


def answer_of(connection):
    """One answer on a connection that stays: its head and its body, which may come in several parts."""
    answer = HTTPResponse(connection)
    answer.begin()
    return answer.status, answer.read()


def problem_of(said):
    head, _, body = said.partition(b"\r\n\r\n")
    found = json.loads(body)
    assert head.startswith(b"HTTP/1.1 %d " % found["status"])
    assert b"application/problem+json" in head
    return found["status"], found["type"]


def head_of(served, method, path, *more):
    lines = [f"{method} {path} HTTP/1.1", "Host: here", f"Authorization: Bearer {served.key}", *more, "", ""]
    return "\r\n".join(lines).encode()


def experiment(served):
    name = f"slow-{uuid.uuid4().hex[:8]}"
    with served.client() as client:
        made = client.post("/v1/experiments", json={"name": name, "arms": ["a", "b"], "policy": "exp3"})
        assert made.status_code == 201
    return name


def test_a_body_that_comes_a_byte_at_a_time(strict):
    name = experiment(strict)
    body = b'{"segment": "' + b"s" * 1000 + b'"}'
    head = head_of(
        strict,
        "POST",
        f"/v1/experiments/{name}/decisions",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    with connected(strict) as slow:
        slow.sendall(head)
        assert problem_of(trickle(slow, body)) == (408, "/problems/too-slow")
        with strict.client() as client:  # nothing was decided, and others are
            assert client.post(f"/v1/experiments/{name}/decisions", json={}).json()["seen"] == 0


@pytest.mark.parametrize("sent", [b"GET /livez HTTP/1.1\r\nX-Slow: " + b"s" * 1000, b"\r\n" * 1000])
def test_a_head_that_comes_a_byte_at_a_time(strict, sent):
    with connected(strict) as slow:
        assert problem_of(trickle(slow, sent)) == (408, "/problems/too-slow")


def test_a_connection_that_says_nothing(strict):
    with connected(strict) as silent:
        assert problem_of(rest_of(silent)) == (408, "/problems/too-slow")


def test_a_head_that_never_ends(strict):
    with connected(strict) as endless:
        endless.sendall(b"GET /livez HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            for i in range(1000):
                endless.sendall(b"X-More-%d: %s\r\n" % (i, b"m" * 100))
                if select.select([endless], [], [], 0.0)[0]:
                    break
        assert problem_of(rest_of(endless)) == (431, "/problems/head-too-large")


def test_a_connection_lives_on_between_requests(strict):
    with connected(strict) as patient:
        for _ in range(2):
            patient.sendall(head_of(strict, "GET", "/livez"))
            assert answer_of(patient)[0] == 200
            time.sleep(1.5)  # longer than a request may take


def test_head_and_body_come_together(strict):
    with connected(strict) as one:
        one.sendall(head_of(strict, "GET", "/livez"))
        head, _, body = one.recv(1 << 16).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert json.loads(body)["status"] == "ok"


def export_of(served, size):
    """The path of a file of an export, as large as this."""
    name = experiment(served)
    with served.client() as client:
        client.post(f"/v1/experiments/{name}/decisions", json={})
        made = client.post("/v1/exports", json={"experiment": name}).json()
        end = time.monotonic() + PATIENCE
        while (found := client.get(f"/v1/exports/{made['id']}").json())["state"] != "done":
            assert time.monotonic() < end, found
            time.sleep(0.05)
    (file,) = found["files"]
    (path,) = served.folder.glob(f"exports/**/{made['id']}/**/{file}")
    path.write_bytes(bytes(size))
    return f"/v1/exports/{made['id']}/{file}"


def test_an_answer_that_nobody_reads(strict):
    path = export_of(strict, 64 << 20)
    with connected(strict, room=4096) as lazy:
        lazy.sendall(head_of(strict, "GET", path))
        time.sleep(4.0)
        end, read = time.monotonic() + PATIENCE, 0
        while True:  # what the system holds is still there; the rest never comes
            assert time.monotonic() < end
            try:
                part = lazy.recv(1 << 16)
            except ConnectionError:
                break
            if not part:
                break
            read += len(part)
        assert read < 64 << 20


def test_an_answer_that_is_read_slowly_arrives(strict):
    size = 6 << 20
    path = export_of(strict, size)
    began, read = time.monotonic(), 0
    with connected(strict, room=1 << 18) as slow:
        slow.sendall(head_of(strict, "GET", path, "Connection: close"))
        while part := slow.recv(1 << 16):
            read += len(part)
            time.sleep(0.05)
    assert read > size
    assert time.monotonic() - began > 4.0  # twice what one wait may take


def test_there_are_so_many_connections_and_no_more(strict):
    head = head_of(strict, "GET", "/livez")
    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(connected(strict)) for _ in range(CONNECTIONS)]
        for one in kept:
            one.sendall(head)
            assert answer_of(one)[0] == 200
        refused = stack.enter_context(connected(strict))
        assert problem_of(rest_of(refused)) == (503, "/problems/overloaded")
        kept[0].sendall(head)  # those that are there are served
        assert answer_of(kept[0])[0] == 200
    end = time.monotonic() + PATIENCE
    while True:  # the service hears of the closed ones in its own time
        status = 503
        with connected(strict) as again, contextlib.suppress(ConnectionError):
            again.sendall(head)
            status, _ = answer_of(again)
        if status == 200:
            break
        assert status == 503
        assert time.monotonic() < end
        time.sleep(0.05)
