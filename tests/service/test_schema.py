"""The schema: made once, known when it is current, refused when it is newer, migrated after a copy."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys

import pytest

import bothworlds as bw
from bothworlds.errors import StateError
from bothworlds.service.store import open_store, schema
from bothworlds.service.store.sqlite import SQLiteStore


@pytest.fixture
def database(fast_folder):
    path = fast_folder / "log.db"
    with bw.open(path, "one", arms=2) as bandit:
        bandit.update(bandit.pull(), reward=1.0)
    return path


def test_a_current_file_needs_no_migration_tools(database):
    program = (
        "import sys, json, bothworlds as bw\n"
        "with bw.open(sys.argv[1], 'one', arms=2) as bandit: bandit.pull()\n"
        "print(json.dumps([name for name in ('alembic', 'sqlalchemy', 'numba') if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(database)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_known_revisions_are_those_in_the_folder():
    assert tuple(sorted(path.name[:4] for path in schema.FOLDER.glob("[0-9]*.py"))) == schema.REVISIONS


def test_a_newer_schema_is_refused(database):
    with sqlite3.connect(database) as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    db.close()
    with pytest.raises(StateError, match=r"has the schema '9999'.*upgrade bothworlds"):
        open_store(database)


def test_a_database_of_something_else_is_refused(fast_folder):
    with sqlite3.connect(fast_folder / "other.db") as db:
        db.execute("CREATE TABLE customers (name)")
    db.close()
    with pytest.raises(StateError, match="something else: it holds customers"):
        open_store(fast_folder / "other.db")


def test_an_older_schema_is_copied_and_migrated(database, fast_folder, monkeypatch):
    folder = fast_folder / "migrations"
    shutil.copytree(schema.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "9998_more.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\n"
        f"revision, down_revision = '9998', {schema.REVISIONS[-1]!r}\n\n"
        "def upgrade():\n    op.create_table('more', sa.Column('id', sa.Integer, primary_key=True))\n"
    )
    monkeypatch.setattr(schema, "FOLDER", folder)
    monkeypatch.setattr(schema, "REVISIONS", (*schema.REVISIONS, "9998"))
    with bw.open(database, "one", arms=2) as bandit:
        assert bandit.position == 1
    store = SQLiteStore(database)
    assert store._revision() == "9998"
    assert store._all("SELECT * FROM more") == []
    store.close()
    with sqlite3.connect(f"{database}.{schema.REVISIONS[-2]}.backup") as backup:
        assert backup.execute("SELECT version_num FROM alembic_version").fetchall() == [
            (schema.REVISIONS[-2],)
        ]
        assert backup.execute("SELECT count(*) FROM entry").fetchone() == (1,)
    backup.close()


def test_urls():
    with pytest.raises(bw.errors.InvalidArgumentError, match="sqlite:///FILE"):
        open_store("oracle://here")
