"""What every test of studies needs."""

from __future__ import annotations

import pytest

from studies import registries_restored, run_here, small_chunks, study


@pytest.fixture(autouse=True)
def _registries():
    with registries_restored():
        yield


@pytest.fixture(name="folder")
def _folder(tmp_path, monkeypatch):
    """A study of four cells in four chunks."""
    small_chunks(monkeypatch, 1e-9)
    run_here(study(replications=2), tmp_path / "out")
    return tmp_path / "out"
