"""Databases for the tests of the service, one after the other; kernels as plain Python."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from service.servers import MEMORY, fresh_database
from serving import Served


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")


@pytest.fixture
def fast_folder():
    """A folder in memory where the system has one: for tests that are not about disks."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def postgres_url():
    """An empty database of a real server."""
    with fresh_database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request, fast_folder):
    if request.param == "sqlite":
        return f"sqlite:///{fast_folder / 'log.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """A service for all tests that do not stop it; each has experiments of its own."""
    one = Served(tmp_path_factory.mktemp("served"))
    yield one
    assert one.stop() == 0
    log = one.log.read_text()
    assert '"stopped"' in log
    assert "defect" not in log
