"""Accounts in interpreted Python: the same kernels, for short histories of many types without compiling each."""

from __future__ import annotations

import pytest

from bothworlds.simplex import divergence
from bothworlds.theory import ledger


@pytest.fixture
def interpreted(monkeypatch):
    """Run the kernels of accounts as plain Python."""
    for kernel in (ledger.keep_book, divergence._divergences, divergence._profile):
        monkeypatch.setitem(kernel.__dict__, "compiled", kernel.py_func)
