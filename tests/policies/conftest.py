"""Short replays as plain Python: for all the policies that have tests here, compiling takes longer."""

from __future__ import annotations

import importlib

import pytest

import bothworlds as bw

replay = importlib.import_module("bothworlds.simulation.replay")._replay
SHORT = 500
# their distribution is an integral, which takes milliseconds as Python
SAMPLERS = tuple(
    type(policy.resolve(2, None))
    for policy in (bw.Thompson(), bw.DiscountedThompson(), bw.SlidingWindowThompson(window=2))
)


@pytest.fixture(autouse=True)
def _short_replays_as_python(request, monkeypatch):
    """Unless a test is marked ``compiled``."""
    if "compiled" in request.keywords:
        return
    compiled, python = replay.compiled, replay.python

    def play(params, state, arms, *rest):
        slow = arms.size > SHORT or isinstance(getattr(params, "policy", params), SAMPLERS)
        return (compiled if slow else python)(params, state, arms, *rest)

    monkeypatch.setitem(replay.__dict__, "compiled", play)
