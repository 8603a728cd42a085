"""Databases for the tests of the service, one after the other; kernels as plain Python."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from serving import Served


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")


@pytest.fixture
def fast_folder():
    """A folder in memory where the system has one: for tests that are not about disks."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


@pytest.fixture(params=["sqlite"])
def store_url(request, fast_folder):
    return f"sqlite:///{fast_folder / 'log.db'}"


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """A service for all tests that do not stop it; each has experiments of its own."""
    one = Served(tmp_path_factory.mktemp("served"))
    yield one
    assert one.stop() == 0
    log = one.log.read_text()
    assert '"stopped"' in log
    assert "defect" not in log
