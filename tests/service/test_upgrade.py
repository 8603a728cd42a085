"""Logs of earlier schemas open, are migrated, agree with themselves, and serve: on both databases."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import psycopg
import pytest

from bothworlds.errors import StateError
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.store import open_store, schema
from bothworlds.service.verify import verify
from service import corpus

QUIET = HubLimits(refresh=0.02, sweep_every=1e9, snapshot_every=5)


def made_at(revision, url, folder, monkeypatch):
    """An empty database of an earlier schema."""
    shutil.copytree(schema.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.glob("[0-9]*.py"):
        if path.name[:4] > revision:
            path.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "FOLDER", folder)
        patch.setattr(schema, "REVISIONS", schema.REVISIONS[: schema.REVISIONS.index(revision) + 1])
        open_store(url).close()


def fill(url, lines):
    """The rows of a log."""
    lite = url.startswith("sqlite")
    rows = [line for line in lines if line.get("table", "alembic_version") != "alembic_version"]
    with closing(sqlite3.connect(url.removeprefix("sqlite:///")) if lite else psycopg.connect(url)) as db:
        for line in sorted(rows, key=lambda line: line["table"] != "project"):  # which others refer to
            names, values = zip(*line["row"].items(), strict=True)
            marks = ", ".join(["?" if lite else "%s"] * len(values))
            statement = f"INSERT INTO {line['table']} ({', '.join(names)}) VALUES ({marks})"
            db.execute(statement, [corpus.value_of(value) for value in values])
        if not lite:
            for table in ("project", "engine", "experiment", "bandit"):
                db.execute(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT MAX(id) FROM {table}))"
                )
        db.commit()


def test_there_is_a_log_of_every_earlier_schema():
    assert sorted(path.stem for path in corpus.FOLDER.glob("*.jsonl")) == list(schema.REVISIONS[:-1])


@pytest.mark.parametrize("revision", schema.REVISIONS[:-1])
def test_migrations_make_what_they_made(revision, fast_folder, monkeypatch):
    """Whoever edits an old migration has databases of two kinds."""
    path = fast_folder / "old.db"
    made_at(revision, f"sqlite:///{path}", fast_folder / "migrations", monkeypatch)
    assert {line["sql"] for line in corpus.dump(path) if "sql" in line} == {
        line["sql"] for line in corpus.read(revision) if "sql" in line
    }


@pytest.mark.parametrize("revision", schema.REVISIONS[:-1])
def test_an_earlier_log_opens_agrees_and_serves(revision, store_url, fast_folder, monkeypatch):
    lines = corpus.read(revision)
    made_at(revision, store_url, fast_folder / "migrations", monkeypatch)
    fill(store_url, lines)
    if not store_url.startswith("sqlite"):
        with pytest.raises(StateError, match="make a backup"):
            open_store(store_url)
    store = open_store(store_url, migrate=True)
    assert store._revision() == schema.REVISIONS[-1]
    verdict = verify(store)
    assert verdict.ok, verdict.differences
    assert (verdict.decisions, verdict.start) == (17, 0)
    before = verdict.entries
    store.close()
    hub = Hub(open_store(store_url), limits=QUIET)
    for line in lines:
        if "p" in line:
            learner = hub.learner(line["experiment"], line["segment"])
            assert list(learner.probabilities().values()) == pytest.approx(line["p"], abs=1e-9)
    for line in lines:
        if line.get("table") == "decision":
            row = line["row"]
            name, segment = {1: ("plain", ""), 2: ("waits", ""), 3: ("plain", "nl")}[row["bandit"]]
            text = row["id"]["hex"]
            text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
            again = hub.decide(name, id=text, segment=segment)
            assert again.repeated
            assert again.probability == row["probability"]
    assert hub.report(hub.decide("plain", segment="new").id, reward=1.0).learned
    assert hub.report("000000ff-0000-4000-8000-000000000001", reward=1.0).learned
    hub.close()
    store = open_store(store_url)
    verdict = verify(store)
    store.close()
    assert verdict.ok, verdict.differences
    assert verdict.entries == before + 2
