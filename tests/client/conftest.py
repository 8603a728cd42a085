"""A service for the tests of its client, in a process of its own."""

from __future__ import annotations

import itertools

import pytest

from serving import Served

_numbers = itertools.count()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    service = Served(tmp_path_factory.mktemp("service"))
    yield service
    service.kill()


@pytest.fixture
def http(served):
    """What the service itself says."""
    with served.client() as client:
        yield client


@pytest.fixture
def button(http):
    """An experiment of its own for each test."""

    def make(**settings):
        body = {"name": f"button-{next(_numbers)}", "arms": ["blue", "green"], "policy": "tsallis-inf"}
        http.post("/v1/experiments", json=body | settings).raise_for_status()
        return body["name"]

    return make
