"""Every endpoint, as a user would: a real process, real requests."""

from __future__ import annotations

import uuid

import pytest

from serving import Served


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    one = Served(tmp_path_factory.mktemp("served"))
    yield one
    assert one.stop() == 0


@pytest.fixture(scope="module")
def client(served):
    with served.client() as client:
        yield client


@pytest.fixture
def name(client):
    made = f"e-{uuid.uuid4().hex[:8]}"
    answer = client.post("/v1/experiments", json={"name": made, "arms": ["blue", "green"]})
    assert answer.status_code == 201
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


def test_a_decision_and_its_outcome(client, name):
    made = decided(client, name, unit="u-1", context={"page": "home"})
    assert made["arm"] in ("blue", "green")
    assert made["probability"] == 0.5
    told = client.put(f"/v1/decisions/{made['id']}/outcome", json={"reward": 1.0})
    assert told.json() == {
        "id": made["id"],
        "learned": True,
        "reason": None,
        "position": told.json()["position"],
    }
    found = client.get(f"/v1/decisions/{made['id']}").json()
    assert found["closed"]["reward"] == 1.0
    assert found["closed"]["source"] == "report"
    after = decided(client, name)
    assert after["seen"] >= told.json()["position"]


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
