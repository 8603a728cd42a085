"""What is PostgreSQL's alone: connections that end, processes that stand still, schemas, one sweeper."""

from __future__ import annotations

import shutil
import uuid

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.service import ids, problems
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store, postgres, schema
from bothworlds.service.store.base import DecisionRow
from bothworlds.service.verify import verify
from service.servers import ask
from studies import wait_for

OURS = "FROM pg_stat_activity WHERE application_name = 'bothworlds'"
TERMINATE = f"SELECT pg_terminate_backend(pid, 5000) {OURS}"

QUIET = HubLimits(refresh=10.0, sweep_every=1e9)


@pytest.fixture
def hub(postgres_url):
    made = Hub(open_store(postgres_url), limits=QUIET)
    made.create("x", checked_settings(2, "tsallis-inf", wait=1000.0))
    yield made
    made.close()
    store = open_store(postgres_url)
    verdict = verify(store)
    store.close()
    assert verdict.ok, verdict.differences


def decision(number):
    return DecisionRow(bytes([number] * 16), 1, 0, 0.5, b"", 0, 1, 0.0, None, None, None)


def test_a_connection_that_ended_between_requests_is_made_again(hub, postgres_url):
    made = hub.decide("x")
    for _ in range(3):
        assert ask(postgres_url, TERMINATE) == [(True,)]
        assert hub.report(made.id, reward=1.0).position == 1


def test_a_connection_that_ends_in_a_transaction_leaves_nothing_behind(hub, postgres_url):
    hub.decide("x")
    store = open_store(postgres_url)
    writing = store.write(1, log=True)
    writing.__enter__()
    store.insert_decisions(1, [decision(1)])
    ask(postgres_url, TERMINATE)
    with pytest.raises(problems.StorageUnavailableError):
        store.insert_decisions(1, [decision(2)])  # and not on another connection, out of the transaction
    with pytest.raises(problems.StorageUnavailableError):
        writing.__exit__(None, None, None)
    assert not store.decisions(1, [decision(1).id, decision(2).id])
    with store.write(1, log=True) as head:
        assert head == 0
    store.close()


def test_a_process_that_stands_still_in_a_transaction_loses_it(hub, postgres_url, monkeypatch):
    monkeypatch.setattr(postgres, "IDLE", 200)
    made = hub.decide("x")
    store = open_store(postgres_url)
    writing = store.write(1, log=True)
    writing.__enter__()
    store.insert_decisions(1, [decision(1)])
    assert hub.report(made.id, reward=1.0).position == 1  # waits until the other is thrown out
    with pytest.raises(problems.StorageUnavailableError):
        writing.__exit__(None, None, None)
    assert not store.decisions(1, [decision(1).id])
    store.close()


def test_those_who_wait_too_long_are_told(hub, postgres_url, monkeypatch):
    monkeypatch.setattr(postgres, "BUSY", 100)
    hub.decide("x")
    holding, waiting = open_store(postgres_url), open_store(postgres_url)
    with (
        holding.write(1, log=True),
        pytest.raises(problems.StorageUnavailableError, match="lock timeout"),
        waiting.write(1, log=True),
    ):
        pass
    with waiting.write(1, log=True) as head:
        assert head == 0
    holding.close()
    waiting.close()


def test_a_full_disk(hub, postgres_url):
    """The server's own code, by way of a trigger."""
    made = hub.decide("x")
    full = "BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END"
    ask(postgres_url, f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ {full} $$")
    ask(postgres_url, "CREATE TRIGGER full_disk BEFORE INSERT ON entry EXECUTE FUNCTION full_disk()")
    before = hub.learner("x").dump()
    with pytest.raises(problems.StorageFullError, match="no space left"):
        hub.report(made.id, reward=1.0)
    assert hub.learner("x").dump() == before
    ask(postgres_url, "DROP TRIGGER full_disk ON entry")
    assert hub.report(made.id, reward=1.0).learned


def test_one_process_looks_after_deadlines_until_its_connection_ends(hub, postgres_url):
    clock = hub._clock() + 2000.0
    other = Hub(open_store(postgres_url), limits=QUIET, clock=lambda: clock)
    made = [hub.decide("x"), other.decide("x")]
    hub.sweep()
    assert other.sweep() == 0
    ask(postgres_url, TERMINATE)
    assert other.sweep() == 1  # what was due at its time
    assert hub.report(made[0].id, reward=1.0).reason == "late"
    assert not hub._replica.store.may_sweep(1)
    other.close()  # the server takes note of it in its own time
    wait_for(lambda: hub._replica.store.may_sweep(1))


def test_commits_are_durable_and_transactions_plain_whatever_the_database_says(postgres_url):
    name = conninfo_to_dict(postgres_url)["dbname"]
    ask(postgres_url, f"ALTER DATABASE {name} SET synchronous_commit = off")
    ask(postgres_url, f"ALTER DATABASE {name} SET default_transaction_isolation = serializable")
    store = open_store(postgres_url)
    assert store._all("SHOW synchronous_commit") == [("on",)]
    project = store.project("default").id
    with store.write(project, log=True):
        assert store._all("SHOW transaction_isolation") == [("read committed",)]
    store.close()


def test_all_columns_come_back_as_they_went(postgres_url):
    store = open_store(postgres_url)
    rows = [
        DecisionRow(
            ids.new_id(), 1, 2, 1 / 3, bytes(range(256)), 2**40, 1, 1.7e9 + 1e-6, None, ids.new_id(), None
        ),
        DecisionRow(ids.new_id(), 1, 2, 5e-324, b"", 2**40, 1, 0.1, 0.2, None, b"\0\\x"),
    ]
    with store.write(1, log=False):
        assert store.insert_decisions(1, rows) == {row.id for row in rows}
        assert store.insert_decisions(1, rows) == set()
    assert store.decisions(1, [row.id for row in rows]) == {row.id: row for row in rows}
    assert list(store.scan_decisions(1)) == sorted(rows, key=lambda row: row.id)
    store.close()


def test_schemas_that_are_not_ours_or_not_of_today(postgres_url, tmp_path, monkeypatch):
    ask(postgres_url, "CREATE TABLE customers (name text)")
    with pytest.raises(StateError, match="something else: it holds customers"):
        open_store(postgres_url)
    ask(postgres_url, "DROP TABLE customers")
    with bw.open(postgres_url, "x", arms=2, policy="tsallis-inf") as bandit:
        bandit.update(bandit.pull(), reward=1.0)
    folder = tmp_path / "migrations"
    shutil.copytree(schema.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "9998_more.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\n"
        f"revision, down_revision = '9998', {schema.REVISIONS[-1]!r}\n\n"
        "def upgrade():\n    op.create_table('more', sa.Column('id', sa.Integer, primary_key=True))\n"
    )
    with monkeypatch.context() as later:
        later.setattr(schema, "FOLDER", folder)
        later.setattr(schema, "REVISIONS", (*schema.REVISIONS, "9998"))
        with pytest.raises(StateError, match="this release needs '9998': make a backup"):
            open_store(postgres_url)
        store = postgres.PostgresStore(postgres_url, migrate=True)
        assert store._revision() == "9998"
        assert store._all("SELECT * FROM more") == []
        assert len(store.entries(1, 0, 10)) == 1
        store.close()
    with pytest.raises(StateError, match=r"has the schema '9998'.*upgrade bothworlds"):
        open_store(postgres_url)


def test_an_encoding_that_cannot_write_every_name(postgres_url):
    name = f"ascii_{uuid.uuid4().hex}"
    ask(postgres_url, f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(StateError, match=r"has the encoding SQL_ASCII, and UTF8 is needed: make another"):
            postgres.PostgresStore(make_conninfo(postgres_url, dbname=name))
    finally:
        ask(postgres_url, f"DROP DATABASE {name}")


def test_passwords_are_not_told(postgres_url):
    for url in ("postgresql://ann:s3cret@/x?host=/nowhere", "postgres://ann:s3cret@localhost:1/x"):
        with pytest.raises(problems.StorageUnavailableError) as told:
            open_store(url)
        assert "s3cret" not in str(told.value)
    with pytest.raises(InvalidArgumentError, match="as libpq has it") as told:
        open_store("postgresql://ann:s3cret@localhost/x?no_such_word=1")
    assert "s3cret" not in str(told.value)
    assert told.value.__cause__ is None
