"""What people get wrong when they open a database or serve it, and what they are told to do about it."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys

import pytest

import bothworlds as bw
from bothworlds.errors import BothworldsError, InvalidArgumentError, StateError
from bothworlds.service import cli as service_cli
from bothworlds.service import problems
from bothworlds.service.config import Server, read_config
from bothworlds.service.http.app import listen
from bothworlds.service.registry import Registry
from bothworlds.service.store import open_store
from bothworlds.service.store.sqlite import SQLiteStore, storage_error_of


@pytest.fixture
def here(fast_folder, monkeypatch):
    monkeypatch.chdir(fast_folder)
    (fast_folder / "folder").mkdir()
    (fast_folder / "text").write_text("this is no database, and long enough to be none " * 30)
    with sqlite3.connect(fast_folder / "other.db") as other:
        other.execute("CREATE TABLE shopping (list)")
    other.close()
    return fast_folder


PATHS = {
    "": (InvalidArgumentError, "got ''; name a file"),
    "sqlite:///": (InvalidArgumentError, "got ''; name a file"),
    ":memory:": (InvalidArgumentError, "a bandit that need not last is bothworlds.Bandit"),
    "sqlite:prices.db": (InvalidArgumentError, "write sqlite:///prices.db"),
    "postgresql:host": (InvalidArgumentError, "write postgresql://HOST/DATABASE"),
    "mysql://user:hunter2@host/db": (InvalidArgumentError, "or the path of a file, got 'mysql://…'"),
    "http://127.0.0.1:8787": (InvalidArgumentError, "bothworlds.client asks a service that runs"),
    "missing/prices.db": (problems.StorageUnavailableError, "mkdir -p"),
    "text/prices.db": (problems.StorageUnavailableError, "text is a file, and no folder; give another path"),
    "folder": (problems.StorageUnavailableError, "it is a folder; give the path of a file"),
    "text": (problems.StorageFailedError, "it is another kind of file; give the path of another one"),
    "other.db": (StateError, "it holds shopping; give the path of another file"),
    "postgresql://bw:hunter2@127.0.0.1:1/db": (
        problems.StorageUnavailableError,
        "start the server, or correct",
    ),
    "postgresql://bw:hunter2@127.0.0.1:1/db?no=1": (InvalidArgumentError, "as libpq has it"),
}


@pytest.mark.parametrize("path", PATHS)
def test_paths(here, path):
    kind, words = PATHS[path]
    with pytest.raises(kind) as caught:
        bw.open(path, "button", arms=2)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("path", [None, 5, b"prices.db"])
def test_paths_that_are_none(here, path):
    with pytest.raises(InvalidArgumentError, match="path must be sqlite:///FILE"):
        bw.open(path, "button", arms=2)
    assert {one.name for one in here.iterdir()} == {"folder", "text", "other.db"}  # no file called None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SQLITE_READONLY", "look at the rights of the file"),
        ("SQLITE_CORRUPT", "bothworlds service restore"),
        ("SQLITE_FULL", "make room"),
    ],
)
def test_what_a_database_says_comes_with_advice(name, words):
    error = sqlite3.OperationalError("something")
    error.sqlite_errorcode, error.sqlite_errorname = getattr(sqlite3, name), name
    assert words in str(storage_error_of(error, "prices.db"))


@pytest.mark.parametrize(
    ("missing", "call", "words"),
    [
        (
            "psycopg",
            "bw.open('postgresql://host/db', 'button', arms=2)",
            "pip install 'bothworlds[postgres]'",
        ),
        ("msgspec", "bw.open('prices.db', 'button', arms=2)", "pip install 'bothworlds[service]'"),
    ],
)
def test_extras_that_are_missing(here, missing, call, words):
    code = f"import sys; sys.modules['{missing}'] = None; import bothworlds as bw; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]


def test_serving_without_the_extra(here):
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv[1:] = ['serve', '--port', '0']; "
        "from bothworlds import cli; cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'bothworlds[service]'" in done.stderr
    assert "Traceback" not in done.stderr


# --- serving --------------------------------------------------------------------------------------------


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidArgumentError, match=rf"--port must be free, got 127.0.0.1:{port}, .*or 0"):
            listen(Server(port=port))


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_an_address_of_another_machine(host):
    with pytest.raises(InvalidArgumentError, match=f"--host must be an address of this machine, got {host}"):
        listen(Server(host=host, port=0))


def test_a_configuration_that_is_not_there(here):
    with pytest.raises(InvalidArgumentError, match="no such file or directory; every value has a default"):
        read_config(here / "service.toml")


# --- the commands of a database -------------------------------------------------------------------------


@pytest.fixture
def url(here):
    found = f"sqlite:///{here / 'prices.db'}"
    with bw.open(found, "button", arms=2, policy="exp3") as bandit:
        bandit.pull()
    return found


def told(function, *arguments, **options):
    with pytest.raises(BothworldsError) as caught:
        function(*arguments, **options)
    return str(caught.value)


def test_commands_say_what_to_do(here, url):
    absent = f"sqlite:///{here / 'absent.db'}"
    assert "bothworlds serve makes one" in told(service_cli.verify, absent)
    said = told(service_cli.backup, here / "missing" / "copy.db", url)
    assert f"{here / 'missing' / 'copy.db'}: unable to open" in said
    assert "mkdir -p" in said
    assert "overwrites nothing" in told(service_cli.backup, here / "text", url)
    assert "name another with --database" in told(service_cli.restore_backup, here / "text", url)
    assert "another kind of file" in told(service_cli.restore_backup, here / "text", absent)
    assert not (here / "absent.db").exists()
    assert "bothworlds service key list" in told(service_cli.revoke_key, "nobody", url)
    said = told(service_cli.export, here / "text" / "out", database=url)
    assert "FOLDER must be a folder that can be written to" in said
    assert "pg_dump" in told(service_cli.backup, here / "copy.db", "postgresql://host/db")


def test_a_store_that_is_closed_says_so(here, url):
    store = open_store(url)
    store.close()
    with pytest.raises(problems.ClosedError, match="is closed"):
        store.project("default")
    registry = Registry(url)
    registry.close()
    assert SQLiteStore(here / "prices.db").close() is None  # and can be opened again
