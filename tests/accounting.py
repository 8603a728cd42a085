"""Accounts in interpreted Python: the same kernels on short histories, without compiling every type."""

from __future__ import annotations

import pytest

from bothworlds.simplex import divergence
from bothworlds.theory.accounting import ledger
from playing import interpret


@pytest.fixture
def interpreted(monkeypatch):
    """Run the kernels of accounts as plain Python."""
    interpret(monkeypatch, ledger.keep_ledger, divergence._divergences, divergence._profile)
