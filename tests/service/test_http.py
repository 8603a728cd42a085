"""Every endpoint, as a user would: a real process, real requests."""

from __future__ import annotations

import io
import json
import re
import time
import uuid
from urllib.parse import quote

import httpx
import pytest
import sqlalchemy as sa
from pyarrow import parquet

import bothworlds as bw
from bothworlds.service.registry import Registry


@pytest.fixture(scope="module")
def client(served):
    with served.client() as client:
        yield client


@pytest.fixture
def name(client):
    return new(client)


def new(client, **settings):
    made = f"e-{uuid.uuid4().hex[:8]}"
    answer = client.post("/v1/experiments", json={"name": made, "arms": ["blue", "green"], **settings})
    assert answer.status_code == 201, answer.text
    return made


def decided(client, name, **body):
    answer = client.post(f"/v1/experiments/{name}/decisions", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def problem(answer, status, slug):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["type"] == f"/problems/{slug}"
    assert said["status"] == status
    assert said["instance"] == answer.headers["x-request-id"]
    return said


def wait_for(look, seconds=30.0):
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


# --- decisions and outcomes -----------------------------------------------------------------------------


def test_ids_that_are_older_than_what_is_kept_are_gone(client, served, name):
    now = time.time()
    registry = Registry(served.url)
    with registry.write() as db:
        db.execute(sa.text("UPDATE project SET retained = :at"), {"at": now - 5400.0})
    registry.close()
    stamp = int(1000 * (now - 7200.0)).to_bytes(6, "big").hex()
    old = f"{stamp[:8]}-{stamp[8:]}-7000-8000-{uuid.uuid4().hex[:12]}"
    said = problem(client.put(f"/v1/decisions/{old}/outcome", json={"reward": 1.0}), 410, "decision-gone")
    assert "older than what is kept" in said["detail"]
    problem(client.get(f"/v1/decisions/{old}"), 410, "decision-gone")
    problem(client.post(f"/v1/experiments/{name}/decisions", json={"id": old}), 410, "decision-gone")
    young = f"{old[:14]}4{old[15:]}"  # says nothing of its age
    problem(client.put(f"/v1/decisions/{young}/outcome", json={"reward": 1.0}), 404, "unknown-decision")


def test_a_decision_and_its_outcome(client, name):
    made = decided(client, name, unit="u-1", context={"page": "home"})
    assert made["arm"] in ("blue", "green")
    assert made["probability"] == 0.5
    told = client.put(f"/v1/decisions/{made['id']}/outcome", json={"reward": 1.0}).json()
    assert told == {"id": made["id"], "learned": True, "reason": None, "position": told["position"]}
    found = client.get(f"/v1/decisions/{made['id']}").json()
    assert found["closed"]["reward"] == 1.0
    assert found["closed"]["source"] == "report"
    assert decided(client, name)["seen"] >= told["position"]


def test_the_same_again_is_answered_the_same(client, name):
    identity = str(uuid.uuid4())
    made = decided(client, name, id=identity)
    again = client.post(f"/v1/experiments/{name}/decisions", json={"id": identity})
    assert (again.status_code, again.json()) == (200, made)
    assert again.headers["idempotent-replayed"] == "true"
    other = client.post(f"/v1/experiments/{name}/decisions", json={"id": identity, "segment": "nl"})
    problem(other, 409, "id-reused")
    outcome = f"/v1/decisions/{identity}/outcome"
    first = client.put(outcome, json={"reward": 0.25})
    second = client.put(outcome, json={"loss": 0.75})
    assert first.json() == second.json()
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert problem(client.put(outcome, json={"reward": 1.0}), 409, "outcome-exists")["reward"] == 0.25
    problem(client.delete(f"/v1/decisions/{identity}"), 409, "outcome-exists")


def test_a_decision_that_was_never_shown(client, name):
    identity = decided(client, name)["id"]
    assert client.delete(f"/v1/decisions/{identity}").json()["reason"] == "withdrawn"
    problem(client.put(f"/v1/decisions/{identity}/outcome", json={"reward": 1.0}), 409, "outcome-exists")
    problem(client.get(f"/v1/decisions/{uuid.uuid4()}"), 404, "unknown-decision")


def test_many_at_once_fail_one_by_one(client, name):
    bodies = [{}, {"id": 3}, {"segment": "nl"}, {"surprise": 1}, {"among": ["red"]}]
    answer = client.post(f"/v1/experiments/{name}/decisions:batch", json={"decisions": bodies})
    results = answer.json()["results"]
    assert [result["status"] for result in results] == [201, 422, 201, 422, 422]
    good = [result["decision"]["id"] for result in results if result["decision"]]
    told = [
        {"id": good[0], "reward": 1.0},
        {"id": str(uuid.uuid4()), "reward": 1.0},
        {"id": good[1], "reward": 2},
    ]
    results = client.post("/v1/outcomes:batch", json={"outcomes": told}).json()["results"]
    assert [result["status"] for result in results] == [200, 404, 422]
    assert results[1]["problem"]["type"] == "/problems/unknown-decision"
    too_many = {"decisions": [{}] * 501}
    problem(client.post(f"/v1/experiments/{name}/decisions:batch", json=too_many), 413, "too-large")


def test_deadlines(client):
    name = new(client, wait=0.3, missing=0.0)
    early, late = decided(client, name), decided(client, name)
    assert early["deadline"] is not None
    said = client.put(f"/v1/decisions/{early['id']}/outcome", json={"reward": 1.0}).json()
    assert said["reason"] == "waiting"
    wait_for(lambda: client.get(f"/v1/decisions/{late['id']}").json()["closed"])
    closed = client.get(f"/v1/decisions/{early['id']}").json()["closed"]
    assert (closed["source"], closed["reward"]) == ("report", 1.0)
    said = client.put(f"/v1/decisions/{late['id']}/outcome", json={"reward": 1.0}).json()
    assert (said["learned"], said["reason"]) == (False, "late")


@pytest.mark.parametrize("unit", ["a\nb", "\n", "two\r\nlines\n", "a/b/", " ", "?#%25"])
def test_units_of_any_name_can_be_erased(client, unit):
    decided(client, new(client), unit=unit)
    assert client.delete(f"/v1/units/{quote(unit, safe='')}").json() == {"decisions": 1}


def test_sticky_units_and_their_erasure(served, client):
    name = new(client, sticky=True)
    first = decided(client, name, unit="Ada/Lovelace", context={"mail": "ada@example.org"})
    again = client.post(f"/v1/experiments/{name}/decisions", json={"unit": "Ada/Lovelace"})
    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    raw = (served.folder / "service.db-wal").read_bytes()
    assert b"Ada/Lovelace" not in raw
    assert b"ada@example.org" in raw
    assert client.delete("/v1/units/Ada%2FLovelace").json() == {"decisions": 1}
    assert client.delete("/v1/units/Ada%2FLovelace").json() == {"decisions": 0}
    kept = client.get(f"/v1/decisions/{first['id']}").json()
    assert kept["arm"] == first["arm"]
    again = client.post(f"/v1/experiments/{name}/decisions", json={"unit": "Ada/Lovelace"})
    assert again.json()["id"] == first["id"]  # the id is a keyed hash, of which nobody learns the unit
    assert "Ada" not in json.dumps(client.get("/v1/audit?limit=500").json())


# --- experiments ----------------------------------------------------------------------------------------


def test_an_experiment_and_its_versions(client, name):
    path = f"/v1/experiments/{name}"
    found = client.get(path)
    assert found.headers["etag"] == '"0"'
    body = {"name": name, "arms": ["blue", "green"]}
    assert client.post("/v1/experiments", json=body).status_code == 200
    exists = problem(client.post("/v1/experiments", json={**body, "high": 2}), 409, "experiment-exists")
    assert exists["differ"] == ["high"]
    problem(client.patch(path, json={"wait": 60}), 428, "precondition-required")
    changed = client.patch(path, json={"wait": 60, "missing": 0.5}, headers={"If-Match": '"0"'})
    assert (changed.json()["wait"], changed.json()["missing"]) == (60, 0.5)
    tag = changed.headers["etag"]
    problem(client.patch(path, json={"wait": 5}, headers={"If-Match": '"0"'}), 412, "precondition-failed")
    problem(client.patch(path, json={"arms": ["x"]}, headers={"If-Match": tag}), 422, "invalid-request")
    problem(client.patch(path, json={"wait": None}, headers={"If-Match": tag}), 422, "invalid-request")
    assert client.get(path).headers["etag"] == tag
    assert decided(client, name)["deadline"] is not None


def test_an_archived_experiment_learns_and_decides_no_more(client, name):
    path, made = f"/v1/experiments/{name}", decided(client, name)
    problem(client.delete(path), 428, "precondition-required")
    archived = client.delete(path, headers={"If-Match": "*"})
    assert archived.json()["archived"] is True
    problem(client.post(f"{path}/decisions", json={}), 409, "experiment-archived")
    assert client.put(f"/v1/decisions/{made['id']}/outcome", json={"reward": 1}).json()["learned"]
    client.patch(path, json={"archived": False}, headers={"If-Match": archived.headers["etag"]})
    decided(client, name)


def test_arms_come_and_go(client, name):
    path = f"/v1/experiments/{name}/arms"
    assert client.post(path, json={"add": "red"}).json()["arms"] == ["blue", "green", "red"]
    problem(client.post(path, json={"add": "red"}), 422, "invalid-request")
    problem(client.post(path, json={"add": "x", "retire": "blue"}), 422, "invalid-request")
    assert client.post(path, json={"disable": "red"}).json()["disabled"] == ["red"]
    assert all(decided(client, name)["arm"] != "red" for _ in range(20))
    assert client.post(path, json={"enable": "red"}).json()["disabled"] == []
    assert client.post(path, json={"retire": "blue"}).json()["arms"] == ["green", "red"]
    assert client.post(path, json={"restart": True}).json()["arms"] == ["green", "red"]
    assert client.get(f"/v1/experiments/{name}").headers["etag"] != '"0"'


def test_pages(client):
    names = sorted(new(client) for _ in range(5))
    seen, after = [], ""
    while after is not None:
        page = client.get("/v1/experiments", params={"limit": 2, "after": after}).json()
        seen += [one["name"] for one in page["experiments"]]
        after = page["after"]
    assert seen == sorted(seen)
    assert set(names) <= set(seen)
    problem(client.get("/v1/experiments?limit=501"), 422, "invalid-request")
    problem(client.get("/v1/experiments?order=up"), 422, "invalid-request")


# --- for those who look ---------------------------------------------------------------------------------


def played(client, name, n, reward):
    made = client.post(f"/v1/experiments/{name}/decisions:batch", json={"decisions": [{}] * n}).json()
    decisions = [result["decision"] for result in made["results"]]
    told = [{"id": one["id"], "reward": reward(one["arm"])} for one in decisions]
    client.post("/v1/outcomes:batch", json={"outcomes": told}).raise_for_status()
    return decisions


def test_the_board_and_exports_agree_with_the_library(client):
    name = new(client)
    decisions = [
        one for _ in range(3) for one in played(client, name, 100, lambda arm: float(arm == "green"))
    ]

    def whole():
        found = client.get(f"/v1/experiments/{name}/bandits").json()["bandits"]
        return found and found[0]["decisions"] == found[0]["reported"] == 300 and found[0]

    shown = wait_for(whole)
    log = {
        "action": [one["arm"] for one in decisions],
        "reward": [float(one["arm"] == "green") for one in decisions],
        "propensity": [one["probability"] for one in decisions],
    }
    evidence = bw.inference.evidence(log, arms=["blue", "green"])
    for arm in shown["arms"]:
        interval = evidence[arm["arm"]]
        assert arm["pulls"] == arm["answers"] == log["action"].count(arm["arm"])
        assert arm["low"] == pytest.approx(interval.low, abs=1e-12)
        assert arm["high"] == pytest.approx(interval.high, abs=1e-12)
    assert shown["regret"]["low"] == pytest.approx(evidence.regret.low)
    points = wait_for(lambda: client.get(f"/v1/experiments/{name}/curves").json()["points"])
    assert sum(points[-1]["probabilities"]) == pytest.approx(1.0)

    started = client.post("/v1/exports", json={"experiment": name})
    assert started.status_code == 202
    place = started.headers["location"]
    done = wait_for(lambda: (found := client.get(place).json())["state"] != "running" and found)
    assert (done["state"], done["rows"], len(done["files"])) == ("done", 300, 1)
    content = client.get(f"{place}/{done['files'][0]}").content
    problem(client.get(f"{place}/manifest.json"), 404, "unknown-export")
    problem(client.get(f"/v1/exports/{uuid.uuid4()}"), 404, "unknown-export")
    table = parquet.read_table(io.BytesIO(content))
    said = {row["id"]: (row["action"], row["reward"], row["propensity"]) for row in table.to_pylist()}
    rows = zip(*log.values(), strict=True)
    assert said == {one["id"]: row for one, row in zip(decisions, rows, strict=True)}
    assert bw.inference.evaluate(table, "green").decisions == 300


def test_the_stream_says_what_moves(served, client):
    name = new(client)
    with client.stream("GET", "/v1/stream") as stream:
        lines = stream.iter_lines()
        ticks = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
        next(ticks)
        played(client, name, 10, lambda arm: 1.0)
        moved = next(one for tick in ticks for one in tick["moved"] if one["experiment"] == name)
        assert moved["point"]["decisions"] in range(1, 11)
    again = client.stream("GET", "/v1/stream", headers={"Last-Event-ID": "0"})
    with again as stream:
        tick = next(json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
        assert name in [one["experiment"] for one in tick["moved"]]


def test_a_link_opens_the_board_once_and_for_reading_alone(served, client):
    link = re.search(r"/board#(\S+)", served.output.read_text())[1]
    with httpx.Client(base_url=served.base) as browser:
        session = browser.post("/v1/sessions", json={"link": link})
        assert session.status_code == 204
        assert "HttpOnly" in session.headers["set-cookie"]
        assert "SameSite=Strict" in session.headers["set-cookie"]
        assert browser.get("/v1/experiments").status_code == 200
        problem(browser.post("/v1/experiments", json={"name": "x", "arms": ["a"]}), 401, "unauthorized")
    with httpx.Client(base_url=served.base) as other:
        problem(other.post("/v1/sessions", json={"link": link}), 401, "unauthorized")
        forged = link.replace("link.", "session.", 1)
        other.cookies.set("bothworlds_session", forged)
        problem(other.get("/v1/experiments"), 401, "unauthorized")
    assert client.post("/v1/links").status_code == 201


def test_ofrep(client):
    name = new(client, sticky=True)
    body = {"context": {"targetingKey": "u-7", "segment": "nl", "plan": "pro"}}
    first = client.post(f"/ofrep/v1/evaluate/flags/{name}", json=body).json()
    assert first["value"] == first["variant"]
    assert first["reason"] == "SPLIT"
    assert client.post(f"/ofrep/v1/evaluate/flags/{name}", json=body).json() == first
    identity = first["metadata"]["decisionId"]
    assert client.put(f"/v1/decisions/{identity}/outcome", json={"reward": 1}).json()["learned"]
    missing = client.post("/ofrep/v1/evaluate/flags/nothing", json=body)
    assert (missing.status_code, missing.json()["errorCode"]) == (404, "FLAG_NOT_FOUND")
    odd = client.post(f"/ofrep/v1/evaluate/flags/{name}", json={"context": {"targetingKey": 7}})
    assert (odd.status_code, odd.json()["errorCode"]) == (400, "INVALID_CONTEXT")


def test_ofrep_of_all_flags_decides_nothing_and_says_why(client, name):
    said = problem(
        client.post("/ofrep/v1/evaluate/flags", json={"context": {"targetingKey": "u"}}), 404, "not-offered"
    )
    assert "learn `missing` for arms that nobody saw" in said["detail"]
    assert "/ofrep/v1/evaluate/flags/{name}" in said["detail"]
    assert client.get(f"/v1/experiments/{name}/bandits").json()["bandits"] == []


# --- keys and the audit chain ---------------------------------------------------------------------------


def test_keys_are_made_listed_and_taken_back(served, client):
    made = client.post("/v1/keys", json={"role": "viewer", "label": "wall", "days": 1}).json()
    with served.client(made["key"]) as viewer:
        assert viewer.get("/v1/experiments").status_code == 200
        listed = client.get("/v1/keys").json()["keys"]
        (row,) = (key for key in listed if key["id"] == made["id"])
        assert "key" not in row
        assert "hash" not in row
        assert client.delete(f"/v1/keys/{made['id']}").status_code == 204
        problem(viewer.get("/v1/experiments"), 401, "unauthorized")
    problem(client.delete("/v1/keys/nobody"), 404, "unknown-key")


def test_the_audit_chain_shows_what_was_altered(served, client, name):
    entries, after = [], 0
    while after is not None:
        page = client.get("/v1/audit", params={"limit": 500, "after": after}).json()
        entries, after = entries + page["entries"], page["after"]
    assert [entry["number"] for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[-1]["action"] == "create experiment"
    assert entries[-1]["target"] == name
    registry = Registry(served.url)
    project = registry.project("default")
    assert registry.broken_audit(project) is None
    update = sa.text("UPDATE audit SET target = :target WHERE number = :number AND project = :project")
    last = {"number": entries[-1]["number"], "project": project}
    with registry.write() as db:
        db.execute(update, last | {"target": "other"})
    assert registry.broken_audit(project) == last["number"]
    with registry.write() as db:
        db.execute(update, last | {"target": name})
    assert registry.broken_audit(project) is None
    registry.close()


# --- hostile input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "kind", "status", "slug"),
    [
        (b"{", "application/json", 400, "malformed-request"),
        (b"\xff\xfe", "application/json", 400, "malformed-request"),
        (b"{}", "text/plain", 415, "wrong-media-type"),
        (b"[]", "application/json", 422, "invalid-request"),
        (b'{"unit": 7}', "application/json", 422, "invalid-request"),
        (b'{"admin": true}', "application/json", 422, "invalid-request"),
        (b'{"id": "../../etc/passwd"}', "application/json", 422, "invalid-request"),
        (b'{"unit": "\\u0000"}', "application/json", 422, "invalid-request"),
        (b'{"segment": "' + b"x" * 201 + b'"}', "application/json", 422, "invalid-request"),
        (b'{"context": ' + b'{"a":' * 6 + b"1" + b"}" * 7, "application/json", 422, "invalid-request"),
        (b'{"context": {"a": "' + b"x" * 5000 + b'"}}', "application/json", 422, "invalid-request"),
        (b'{"context": ' + b"[" * 30_000, "application/json", 422, "invalid-request"),
        (b'{"context": {"a": ' + b"[" * 30_000, "application/json", 400, "malformed-request"),
        (b" " * 70_000, "application/json", 413, "too-large"),
    ],
)
def test_hostile_bodies(client, name, content, kind, status, slug):
    answer = client.post(f"/v1/experiments/{name}/decisions", content=content, headers={"Content-Type": kind})
    problem(answer, status, slug)
    assert client.get(f"/v1/experiments/{name}/bandits").json()["bandits"] == []


@pytest.mark.parametrize("reward", ["1e999", "-1", "1.5", "null", '"1"', "true", "[1]"])
def test_hostile_rewards(client, name, reward):
    identity = decided(client, name)["id"]
    answer = client.put(
        f"/v1/decisions/{identity}/outcome",
        content=b'{"reward": %s}' % reward.encode(),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code in (400, 422)
    assert client.get(f"/v1/decisions/{identity}").json()["closed"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"arms": []},
        {"arms": ["a", "a"]},
        {"arms": "ab"},
        {"arms": ["a"], "policy": "nobody"},
        {"arms": ["a"], "policy": {"kind": "nobody"}},
        {"arms": ["a"], "policy": {"kind": "exp3", "rate": "os.system"}},
        {"arms": ["a"], "low": 2, "high": 1},
        {"arms": ["a"], "wait": -1},
        {"arms": ["a"], "missing": 0.5},
        {"arms": list(map(str, range(1001)))},
        {"arms": ["a"], "max_segments": 1 << 40},
        {"arms": ["a"], "horizon": 0},
    ],
)
def test_hostile_experiments(client, body):
    problem(client.post("/v1/experiments", json={"name": "hostile", **body}), 422, "invalid-request")
    problem(client.get("/v1/experiments/hostile"), 404, "unknown-experiment")


def test_a_body_that_never_says_its_length(client, name):
    def endless():
        for _ in range(100):
            yield b" " * 1000

    kind = {"Content-Type": "application/json"}
    answer = client.post(f"/v1/experiments/{name}/decisions", content=endless(), headers=kind)
    problem(answer, 413, "too-large")


def test_answers_carry_headers_that_browsers_heed(client):
    for answer in (client.get("/livez"), client.get("/nowhere"), client.get("/v1/keys")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
    assert client.get("/livez", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert client.get("/livez", headers={"X-Request-Id": "a b;<c>"}).headers["x-request-id"] != "a b;<c>"
    problem(client.post("/livez"), 405, "wrong-method")
    assert client.post("/livez").headers["allow"] == "GET, HEAD"
    assert client.delete("/v1/stream").headers["allow"] == "GET"
    head = client.head("/readyz")
    assert (head.status_code, head.content) == (200, b"")
    assert client.head("/v1/stream").status_code == 405  # it would not end


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer", "words"),
    [
        ("POST", "/v1/experiments", {"name": "a b", "arms": ["x"]}, "/name", "Letters, digits"),
        (
            "POST",
            "/v1/experiments",
            {"name": "a", "arms": ["x", None]},
            "/arms/1",
            "must be `int | float | str`",
        ),
        ("POST", "/v1/experiments", {"name": "a", "arms": ["x", "x"]}, "/arms", "distinct"),
        ("POST", "/v1/experiments", {"name": "a", "arm": ["x"]}, "/arm", "did you mean 'arms'?"),
        ("POST", "/v1/experiments", {"name": "a"}, "", "the field 'arms' is missing"),
        (
            "POST",
            "/v1/experiments",
            {"name": "a", "arms": ["x", "y"], "policy": "ucb2"},
            "/policy",
            "'ucb1'?",
        ),
        (
            "POST",
            "/v1/experiments",
            {"name": "a", "arms": ["x"], "policy": {"name": "ucb1"}},
            "/policy",
            "kind",
        ),
        ("POST", "/v1/experiments/{name}/arms", {"add": "blue"}, "/add", "which is there"),
        ("POST", "/v1/experiments/{name}/arms", {"disable": "nobody"}, "/disable", "an arm of this bandit"),
        ("POST", "/v1/experiments/{name}/arms", {"add": "a", "retire": "b"}, "", "got add and retire"),
        ("POST", "/v1/experiments/{name}/decisions", {"id": "7"}, "/id", "A UUID"),
        ("POST", "/v1/experiments/{name}/decisions", [], "", "must be `object`, got `array`"),
        ("POST", "/v1/experiments/{name}/decisions", {"unit": 7}, "/unit", "got `int` 7"),
        ("POST", "/v1/experiments/{name}/decisions", {"segment": "x" * 201}, "/segment", "... of length 201"),
        ("POST", "/v1/keys", {"role": "viewer", "days": 0}, "/days", "must be `float` > 0.0, got 0"),
        ("POST", "/v1/experiments", {"name": "a b", "arms": ["x"]}, "/name", ", got 'a b'"),
        ("POST", "/v1/experiments", {"name": "a", "arms": 0}, "/arms", "got 0"),
        ("POST", "/v1/experiments", {"name": "a", "arms": 1001}, "/arms", "at most 1000, got 1001"),
        (
            "POST",
            "/v1/experiments",
            {"name": "a", "arms": ["x"], "wait": 9, "missing": 5},
            "/missing",
            "missing must be a finite number at least 0 and at most 1, got 5.0; it is a reward",
        ),
        (
            "POST",
            "/v1/experiments",
            {"name": "a", "arms": ["x"], "low": -1e308, "high": 1e308},
            "/high",
            "got 1e+308; give a narrower range",
        ),
        ("POST", "/v1/keys", {"role": "boss"}, "/role", "one of 'admin', 'decider', 'editor', 'viewer'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(client, name, method, path, body, pointer, words):
    said = problem(client.request(method, path.format(name=name), json=body), 422, "invalid-request")
    (error,) = said["errors"]
    assert error["pointer"] == pointer
    assert words in error["detail"]
    assert error["detail"] in said["detail"]


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        ('{"reward": NaN}', 400, "'reward' is NaN at byte 11, and JSON has no NaN and no Infinity"),
        ('{"reward": -Infinity}', 400, "'reward' is -Infinity at byte 11"),
        ('{"reward": 1', 400, "the body is no JSON: "),
        ('{"reward": 1,}', 400, """ at byte 13, after '{"reward": 1,'"""),
        ('{"reward": 1e999}', 422, "/reward: must be a number that a float can hold, got 1e999"),
        ('{"reward": "1"}', 422, "/reward: must be `float | null`, got `str` '1'"),
    ],
)
def test_numbers_that_are_none_are_said_with_their_place(client, name, content, status, words):
    answer = client.put(
        f"/v1/decisions/{decided(client, name)['id']}/outcome",
        content=content,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == status
    assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "of"),
    [
        ("PUT", "/v1/decisions/zzz/outcome", "a decision"),
        ("GET", "/v1/decisions/zzz", "a decision"),
        ("DELETE", "/v1/decisions/zzz", "a decision"),
        ("GET", "/v1/exports/zzz", "an export"),
        ("GET", "/v1/exports/zzz/x", "an export"),
    ],
)
def test_an_id_of_the_address_that_is_none(client, method, path, of):
    body = {"reward": 1.0} if method == "PUT" else None
    (error,) = problem(client.request(method, path, json=body), 422, "invalid-request")["errors"]
    assert error["parameter"] == "id"
    assert "pointer" not in error
    assert error["detail"].endswith(f"got 'zzz'; give the id that {of} came with")


def test_arms_may_be_counted(client):
    assert client.get(f"/v1/experiments/{new(client, arms=3)}").json()["arms"] == [0, 1, 2]


def test_the_root_leads_to_the_board_and_types_of_problems_to_what_they_are(served):
    with httpx.Client(base_url=served.base, timeout=60) as nobody:
        moved = nobody.get("/")
        assert (moved.status_code, moved.headers["location"]) == (307, "/board")
        assert "default-src 'none'" in moved.headers["content-security-policy"]
        assert moved.headers["x-content-type-options"] == "nosniff"
        for path in ("/nowhere", "/v1/keys", "/problems/nothing", "/v1/experiments?x=1"):
            refused = nobody.get(path).json()
            found = nobody.get(refused["type"])
            assert found.status_code == 200
            assert {name: found.json()[name] for name in ("type", "title", "status")} == {
                name: refused[name] for name in ("type", "title", "status")
            }
            assert found.json()["detail"].endswith(".")


def test_what_is_wrong_after_the_question_mark(client):
    said = problem(client.get("/v1/experiments?limit=0"), 422, "invalid-request")
    assert said["errors"] == [{"parameter": "limit", "detail": "must be `int` >= 1, got '0'"}]
    said = problem(client.get("/v1/experiments?page=2"), 422, "invalid-request")
    assert said["detail"] == "page is no parameter. Known: limit, after"


def test_a_reward_out_of_range_is_told_in_words_of_the_service(client, name):
    identity = decided(client, name)["id"]
    said = problem(
        client.put(f"/v1/decisions/{identity}/outcome", json={"reward": 2}), 422, "invalid-request"
    )
    assert said["detail"].endswith("got 2.0; low, high and clip of the experiment say what is taken")


def test_metrics_name_neither_segments_nor_units(client, name):
    decided(client, name, segment="secret-segment", unit="secret-unit")
    text = client.get("/metrics").text
    assert f'bothworlds_decisions_total{{experiment="{name}"}} 1.0' in text
    assert "bothworlds_commit_seconds_bucket" in text
    assert "secret" not in text


def test_secrets_are_never_written(served, client):
    """Last: it looks at what all tests before have left behind."""
    made = client.post("/v1/keys", json={"role": "decider"}).json()
    client.get("/v1/experiments", headers={"Authorization": f"Bearer {made['key']}x"})
    said = [served.log.read_text(), json.dumps(client.get("/v1/audit?limit=500").json())]
    said += [client.get("/metrics").text, client.get("/openapi.json").text]
    database = b"".join(path.read_bytes() for path in served.folder.glob("service.db*"))
    for key in (served.key, made["key"]):
        secret = key.split("_", 2)[2]
        assert not any(secret in text for text in said)
        assert secret.encode() not in database
