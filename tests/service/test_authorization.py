"""Who may what: every endpoint, every role, and the ids of another project."""

from __future__ import annotations

import uuid

import httpx
import pytest

from bothworlds.service.http.routes import ENDPOINTS

NOBODY, DECIDER, VIEWER, EDITOR, ADMIN = "nobody", "decider", "viewer", "editor", "admin"
DECIDES, READS, EDITS, RULES = {DECIDER, EDITOR, ADMIN}, {VIEWER, EDITOR, ADMIN}, {EDITOR, ADMIN}, {ADMIN}
EVERYBODY = {NOBODY, DECIDER, VIEWER, EDITOR, ADMIN}
# written by hand: a new endpoint without a row fails
MATRIX = {
    ("POST", "/v1/experiments/{experiment}/decisions"): (DECIDES, {}),
    ("PUT", "/v1/decisions/{id}/outcome"): (DECIDES, {"reward": 1.0}),
    ("POST", "/v1/experiments/{experiment}/decisions:batch"): (DECIDES, {"decisions": [{}]}),
    ("POST", "/v1/outcomes:batch"): (DECIDES, {"outcomes": [{"id": str(uuid.UUID(int=7)), "reward": 1.0}]}),
    ("GET", "/v1/decisions/{id}"): (DECIDES, None),
    ("DELETE", "/v1/decisions/{id}"): (DECIDES, None),
    ("POST", "/ofrep/v1/evaluate/flags/{experiment}"): (DECIDES, {"context": {}}),
    ("POST", "/ofrep/v1/evaluate/flags"): (DECIDES, {"context": {}}),
    ("POST", "/v1/experiments"): (EDITS, {"name": "mine", "arms": ["blue", "green"]}),
    ("GET", "/v1/experiments"): (READS, None),
    ("GET", "/v1/experiments/{experiment}"): (READS, None),
    ("PATCH", "/v1/experiments/{experiment}"): (EDITS, {"sticky": False}),
    ("DELETE", "/v1/experiments/{experiment}"): (EDITS, None),
    ("POST", "/v1/experiments/{experiment}/arms"): (EDITS, {"add": "red"}),
    ("GET", "/v1/experiments/{experiment}/bandits"): (READS, None),
    ("GET", "/v1/experiments/{experiment}/curves"): (READS, None),
    ("GET", "/v1/reporters"): (READS, None),
    ("GET", "/v1/stream"): (READS, None),
    ("POST", "/v1/exports"): (EDITS, {"experiment": "mine"}),
    ("GET", "/v1/exports/{id}"): (EDITS, None),
    ("GET", "/v1/exports/{id}/{name}"): (EDITS, None),
    ("POST", "/v1/keys"): (RULES, {"role": "decider"}),
    ("GET", "/v1/keys"): (RULES, None),
    ("DELETE", "/v1/keys/{id}"): (RULES, None),
    ("GET", "/v1/audit"): (RULES, None),
    ("DELETE", "/v1/units/{unit:anything}"): (RULES, None),
    ("POST", "/v1/links"): (READS, None),
    ("POST", "/v1/sessions"): (EVERYBODY, {"link": "none"}),
    ("GET", "/livez"): (EVERYBODY, None),
    ("GET", "/readyz"): (EVERYBODY, None),
    ("GET", "/metrics"): (READS, None),
    ("GET", "/openapi.json"): (EVERYBODY, None),
    ("GET", "/problems/{name}"): (EVERYBODY, None),
    ("GET", "/"): (EVERYBODY, None),
    ("GET", "/board"): (EVERYBODY, None),
    ("GET", "/board/board.js"): (EVERYBODY, None),
    ("GET", "/board/charts.js"): (EVERYBODY, None),
    ("GET", "/board/board.css"): (EVERYBODY, None),
    ("GET", "/board/icon.svg"): (EVERYBODY, None),
}


@pytest.fixture(scope="module")
def browser(served):
    """A client without a key."""
    with httpx.Client(base_url=served.base, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def keys(served):
    with served.client() as client:
        made = {
            role: client.post("/v1/keys", json={"role": role}).json()["key"]
            for role in (DECIDER, VIEWER, EDITOR, ADMIN)
        }
    return made | {NOBODY: None}


@pytest.fixture(scope="module")
def ids(served):
    """An experiment, a decision, an export and a key of the first project."""
    with served.client() as client:
        client.post("/v1/experiments", json={"name": "mine", "arms": ["blue", "green"]}).raise_for_status()
        decision = client.post("/v1/experiments/mine/decisions", json={"unit": "u"}).json()["id"]
        export = client.post("/v1/exports", json={"experiment": "mine"}).json()["id"]
        key = client.post("/v1/keys", json={"role": "viewer"}).json()["id"]
    return {"decisions": decision, "exports": export, "keys": key}


def asked(browser, key, method, path, body, ids):
    """The status of a request, and the body of its answer, unless that is a stream."""
    room = path.split("/")[2] if path.startswith("/v1/") else ""
    for name, value in (
        ("{experiment}", "mine"),
        ("{id}", ids.get(room, "")),
        ("{name}", "x.parquet"),
        ("{unit:anything}", "u"),
    ):
        path = path.replace(name, value)
    headers = {"If-Match": '"12345"'} | ({"Authorization": f"Bearer {key}"} if key else {})
    with browser.stream(method, path, json=body, headers=headers) as answer:
        if answer.headers.get("content-type") == "text/event-stream":
            return answer.status_code, None
        answer.read()
        return answer.status_code, answer


def test_every_endpoint_has_a_row():
    assert {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS} == MATRIX.keys()
    assert len(ENDPOINTS) == len(MATRIX)


@pytest.mark.parametrize("role", [NOBODY, DECIDER, VIEWER, EDITOR, ADMIN])
def test_roles(browser, keys, ids, role):
    for (method, path), (allowed, body) in MATRIX.items():
        status, _ = asked(browser, keys[role], method, path, body, {**ids, "keys": "nobody"})
        wanted = 401 if role == NOBODY else 403
        if path == "/v1/sessions":
            assert status == 401  # for the link, which is none
        elif role in allowed:
            assert status not in (401, 403), (method, path)
        else:
            assert status == wanted, (method, path)


def test_nothing_crosses_projects(served, browser, ids):
    other = served.new_key("admin", project="other")
    for (method, path), (allowed, body) in MATRIX.items():
        if allowed == EVERYBODY or (
            method == "POST" and path in ("/v1/keys", "/v1/experiments", "/v1/links")
        ):
            continue
        status, answer = asked(browser, other, method, path, body, ids)
        if "{experiment}" in path or "{id}" in path or path == "/v1/exports":
            if path.endswith(":batch"):
                statuses = [result["status"] for result in answer.json()["results"]]
                assert statuses == [404], path
            else:
                assert status == 404, (method, path, answer.text)
        elif path == "/v1/outcomes:batch":
            assert [result["status"] for result in answer.json()["results"]] == [404]
        elif path.startswith("/v1/units"):
            assert answer.json() == {"decisions": 0}
        elif answer:
            assert "mine" not in answer.text, path
    with served.client(other) as client:
        assert [key["project"] for key in client.get("/v1/keys").json()["keys"]] == ["other"]
    with served.client() as client:  # and all is still there
        assert client.get(f"/v1/decisions/{ids['decisions']}").status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Basic abc",
        "Bearer bw_",
        "Bearer bw__",
        "Bearer bw_x_y",
        "Bearer {id}",
        "bearer {cut}",
    ],
)
def test_bad_keys(served, browser, header):
    identity = served.key.rsplit("_", 1)[0]
    said = header.format(id=identity, cut=served.key[:-1])
    answer = browser.get("/v1/keys", headers={"Authorization": said})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_that_is_over(served, browser):
    with served.client() as client:
        made = client.post("/v1/keys", json={"role": "viewer", "days": 1e-9}).json()
    answer = browser.get("/v1/experiments", headers={"Authorization": f"Bearer {made['key']}"})
    assert answer.status_code == 401
