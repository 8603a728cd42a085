"""Settings that change are entries of the log: everybody meets them at the same place."""

from __future__ import annotations

import pytest

from bothworlds.service import problems
from bothworlds.service.hub import Hub
from bothworlds.service.messages import Alter
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify


def test_altered_settings_reach_other_processes_and_survive(store_url):
    one, other = Hub(open_store(store_url)), Hub(open_store(store_url))
    one.create("e", checked_settings(["a", "b"]))
    one.report(one.decide("e").id, reward=1.0)
    version = one.ask(Alter("e", 0, {"wait": 60.0, "archived": False}))
    assert version == 2
    assert other.decide("e").deadline is not None
    with pytest.raises(problems.PreconditionFailedError) as refused:
        other.ask(Alter("e", 0, {"wait": 5.0}))
    assert refused.value.fields == {"version": version}
    with pytest.raises(problems.InvalidRequestError):
        other.ask(Alter("e", version, {"arms": ["c"]}))
    with pytest.raises(problems.InvalidRequestError):
        other.ask(Alter("e", version, {"wait": None, "missing": 0.5}))
    one.ask(Alter("e", version, {"archived": True}))
    with pytest.raises(problems.ExperimentArchivedError):
        other.decide("e")
    assert other.experiments()["e"].wait == 60.0
    one.close()
    other.close()
    again = Hub(open_store(store_url))
    assert again.experiments()["e"].wait == 60.0
    with pytest.raises(problems.ExperimentArchivedError):
        again.decide("e")
    again.close()
    store = open_store(store_url)
    verdict = verify(store)
    store.close()
    assert verdict.ok, verdict.differences
    assert (verdict.decisions, verdict.entries) == (2, 4)  # the change that came too late is an entry, too


def test_a_decision_without_a_deadline_does_not_wait_for_one_that_came_later(store_url):
    hub = Hub(open_store(store_url))
    hub.create("e", checked_settings(2, "tsallis-inf"))
    decision = hub.decide("e")
    hub.ask(Alter("e", 0, {"wait": 60.0, "missing": 0.0, "learn_at": "deadline"}))
    assert hub.report(decision.id, reward=1.0).learned
    assert hub.report(hub.decide("e").id, reward=1.0).reason == "waiting"
    hub.close()
