"""Everything into another database, and back: the same to the bit, or nothing."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from bothworlds.errors import StateError
from bothworlds.service import cli, moving
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.registry import Registry
from bothworlds.service.retention import retain
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store

QUIET = HubLimits(refresh=0.02, sweep_every=1e9, snapshot_every=20)


@pytest.fixture
def source(fast_folder):
    """Two projects with everything that there can be."""
    url = f"sqlite:///{fast_folder / 'source.db'}"
    for project in ("default", "other"):
        hub = Hub(open_store(url), project, limits=QUIET)
        hub.create("one", checked_settings(["a", "b"], "tsallis-inf"))
        hub.create("two", checked_settings(3, "light-barrier", wait=100.0, missing=0.1))
        for i in range(30):
            made = hub.decide("one", unit=f"u{i}", context=b"\0\xff", segment="nl" * (i % 2))
            hub.report(made.id, reward=i / 30)
            hub.report(hub.decide("two").id, reward=0.1)
        hub.change("one", "add", "ключ")
        hub.decide("one")
        hub.close()
    registry = Registry(url)
    registry.new_key("admin", project="other")
    registry.note(1, key="k", action="a", target="t", body={"x": 1.5})
    registry.close()
    store = open_store(url)
    row = store.project("other")
    retain(store, "other", before=max(made.made for made in store.scan_decisions(row.id)))
    assert store.project("other").start > 0
    store.close()
    return url


def test_there_and_back(source, postgres_url, fast_folder, monkeypatch):
    monkeypatch.setattr(moving, "ROWS", 7)
    told = []
    there = moving.move(source, postgres_url, tell=told.append)
    assert there.rows["decision"] > 60
    assert there.rows["base"] > 0
    assert min(there.rows[name] for name in ("snapshot", "report", "api_key", "audit", "project")) > 0
    assert told[-1] == "comparing"
    back = f"sqlite:///{fast_folder / 'back.db'}"
    assert moving.move(postgres_url, back) == there
    answers = []
    for url in (source, postgres_url, back):
        assert cli._verified(url)
        hub = Hub(open_store(url), "other", limits=QUIET)
        hub.create("three", checked_settings(2, "tsallis-inf"))  # ids that are new
        made = hub.decide("three", id="0190f8a3-7b5e-4c31-8e1a-5a3f1f6f3c2d")
        hub.report(made.id, reward=1.0)
        answers.append((hub.decide("one", id=made.id[::-1].replace("-", "")).arm, hub.learner("one").dump()))
        hub.close()
    assert answers[0] == answers[1] == answers[2]


def test_a_target_that_is_not_empty_is_refused(source, fast_folder):
    target = f"sqlite:///{fast_folder / 'target.db'}"
    moving.move(source, target)
    with pytest.raises(
        StateError, match=r"target\.db is not empty: it has rows of project; move into an empty"
    ):
        moving.move(source, target)


def test_a_source_that_is_served_is_refused(source, postgres_url, fast_folder):
    """Idle or not: what is written after the copy would stay behind."""
    moving.move(source, postgres_url)
    for number, url in enumerate((source, postgres_url)):
        hub = Hub(open_store(url), limits=QUIET)
        target = f"sqlite:///{fast_folder / f'target{number}.db'}"
        with pytest.raises(StateError, match=r"is in use: .* stop the service"):
            moving.move(url, target)
        hub.report(hub.decide("one").id, reward=1.0)  # it goes on
        hub.close()
        assert moving.move(url, target).rows["decision"] > 60


def test_an_interrupted_move_leaves_nothing_and_can_be_repeated(source, postgres_url):
    def stop(text):
        if text.startswith("entry"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        moving.move(source, postgres_url, tell=stop)
    assert moving.move(source, postgres_url).rows["entry"] > 0


def test_a_copy_that_differs_is_not_kept(source, fast_folder, monkeypatch):
    target = f"sqlite:///{fast_folder / 'target.db'}"
    with monkeypatch.context() as patch:
        patch.setattr(moving, "_copy", lambda reading, writing, table, tell: 0)
        with pytest.raises(StateError, match="not the same"):
            moving.move(source, target)
    assert moving.move(source, target).rows["decision"] > 0


def test_the_command(source, fast_folder):
    target = f"sqlite:///{fast_folder / 'target.db'}"
    done = CliRunner().invoke(cli.app, ["move", "--database", source, "--to", target])
    assert done.exit_code == 0, done.output
    assert "All is as it was." in done.output
    assert "SHA-256 of both" in done.output
