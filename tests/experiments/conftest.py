"""What every test of studies needs."""

from __future__ import annotations

import pytest

from bothworlds import environments, policies
from bothworlds.experiments import modules
from studies import run_here, small_chunks, study


@pytest.fixture(autouse=True)
def _registries():
    """Leave the registries as they were."""
    kept = [(registry, dict(registry)) for registry in (policies.REGISTRY, environments.REGISTRY)]
    yield
    for registry, content in kept:
        registry.clear()
        registry.update(content)
    modules.load_plugins.cache_clear()


@pytest.fixture(name="folder")
def _folder(tmp_path, monkeypatch):
    """A study of four cells in four chunks."""
    small_chunks(monkeypatch, 1e-9)
    run_here(study(replications=2), tmp_path / "out")
    return tmp_path / "out"
