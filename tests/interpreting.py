"""Simulations and accounts as plain Python: a few dozen rounds are not worth compiling."""

from __future__ import annotations

import pytest

from bothworlds import _changeover, _jit
from bothworlds.simplex import divergence
from bothworlds.simulation import job
from bothworlds.theory.accounting import ledger

KERNELS = (job.play_block, job.play_batch, ledger.keep_ledger, divergence._divergences, divergence._profile)


@pytest.fixture(scope="module")
def plain_python():
    """Nothing is compiled while the tests of a module run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_jit, "compiler", lambda: None)
        patch.setattr(_changeover, "_bound", {})  # kernels that bandits share: others want machine code
        for kernel in KERNELS:
            patch.setitem(kernel.__dict__, "compiled", kernel.python)
        yield
