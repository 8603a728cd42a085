"""What every test of studies needs."""

from __future__ import annotations

import pytest

from bothworlds import environments, policies
from bothworlds.experiments import modules


@pytest.fixture(autouse=True)
def _registries():
    """Leave the registries as they were."""
    kept = [(registry, dict(registry)) for registry in (policies.REGISTRY, environments.REGISTRY)]
    yield
    for registry, content in kept:
        registry.clear()
        registry.update(content)
    modules.load_plugins.cache_clear()
