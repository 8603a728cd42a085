"""Bandits as plain Python: for all the policies and options that have tests here, compiling takes longer."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _as_python(request, monkeypatch):
    """Unless a test is marked ``compiled``."""
    if "compiled" not in request.keywords:
        monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
