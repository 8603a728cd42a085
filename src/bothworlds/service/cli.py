"""``bothworlds serve`` and ``bothworlds service``: parse, call, print. Each command loads what it needs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from bothworlds._progress import Progress
from bothworlds._words import counted
from bothworlds.errors import InvalidArgumentError

if TYPE_CHECKING:
    from bothworlds.service.config import Config

out = Console()
err = Console(stderr=True)

app = typer.Typer(help="Look after a decision service and its database.", no_args_is_help=True)
key_app = typer.Typer(help="Keys: who may do what, in which project.", no_args_is_help=True)
app.add_typer(key_app, name="key")

Database = Annotated[
    str | None,
    typer.Option(help="sqlite:///FILE or postgresql://…; by default what the configuration says."),
]
ConfigFile = Annotated[Path | None, typer.Option(help="service.toml; every value has a default.")]
Project = Annotated[str, typer.Option(help="The name of the project.")]


def _config(path: Path | None, database: str | None, **tables: Any) -> Config:
    from bothworlds.service.config import read_config

    return read_config(path, storage={"url": database}, **tables)


def _url(path: Path | None, database: str | None) -> str:
    """The database of a command that makes none."""
    from bothworlds.service.registry import is_postgresql, sqlite_path

    url = _config(path, database).storage.url
    if not is_postgresql(url) and not Path(sqlite_path(url)).exists():
        raise InvalidArgumentError("--database", url, "one that exists", fix="bothworlds serve makes one")
    return url


def _say(text: str) -> None:
    out.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _showing(text: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done; give a function that replaces it."""
    with Progress(text, 1.0) as progress:
        progress.step(text)
        yield progress.step


@contextmanager
def _written_to(argument: str) -> Iterator[None]:
    """Say which argument names a place that cannot be written to."""
    try:
        yield
    except OSError as error:
        got = f"{error.filename}, {(error.strerror or str(error)).lower()}"
        raise InvalidArgumentError(
            argument, error.filename, "a folder that can be written to", got=got, fix="name another"
        ) from error


def _when(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


# --- serving --------------------------------------------------------------------------------------------


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen at; 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port; 8787. 0: any that is free.")
    ] = None,
    database: Database = None,
    config: ConfigFile = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; 1.")] = None,
) -> None:
    """Serve decisions over HTTP, durably.

    The first time it makes an admin key, and shows it. Without options: SQLite in ./bothworlds.db, and this
    machine alone can reach it.
    """
    try:
        from bothworlds.service.http.app import listen, run_server
        from bothworlds.service.http.auth import RIGHTS, Doorkeeper, signing_secret
        from bothworlds.service.registry import Registry
    except ModuleNotFoundError as error:
        raise InvalidArgumentError(
            "serve", error.name, "installed", got=f"no {error.name}", fix="pip install 'bothworlds[service]'"
        ) from error

    options = {"host": host, "port": port, "workers": workers}
    settings = _config(config, database, server=options)
    registry = Registry(settings.storage.url)
    keys = registry.known_keys()
    socket = listen(settings.server)
    address = f"http://{_address(socket)}"
    if not keys:
        made, text = registry.new_key("admin", label="first")
        keys = [made]
        _say(f"Admin key, shown this once: {text}")
    _say(f"Serving {_without_password(settings.storage.url)} at {address}")
    now, default = time.time(), [key for key in keys if key.project_name == "default"]
    readers = [key for key in default if key.is_good(now) and "read" in RIGHTS[key.role]]
    if readers:
        reader = next((key for key in readers if key.role == "admin"), readers[0])
        doorkeeper = Doorkeeper(rate=1.0, secret=signing_secret(registry))
        _say(f"Board: {address}/board#{doorkeeper.link(reader.id)} (opens once, within an hour)")
    else:
        _say("Board: no good key of the project default may read; bothworlds service key new --role admin")
    if settings.is_public:
        warning = "Others can reach this address: put a proxy with TLS in front of it."
        err.print(f"[bold yellow]warning:[/bold yellow] {warning}", highlight=False, soft_wrap=True)
    registry.close()
    sys.stdout.flush()
    run_server(settings, socket)


def _address(socket: Any) -> str:
    host, port = socket.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if "@" not in rest:
        return url
    user, _, host = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}@{host}"


# --- keys -----------------------------------------------------------------------------------------------


@key_app.command("new")
def new_key(
    role: Annotated[str, typer.Option(help="decider, viewer, editor or admin.")],
    project: Project = "default",
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    days: Annotated[float | None, typer.Option(help="How long it is good; for ever.")] = None,
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Make a key, and a project if there is none of this name; the key is shown this once."""
    from bothworlds.service.registry import Registry

    registry = Registry(_config(config, database).storage.url)
    key, text = registry.new_key(role, project=project, label=label, days=days)
    registry.note(key.project, key="command line", action="new key", target=key.id, body=role)
    registry.close()
    _say(text)


@key_app.command("list")
def list_keys(database: Database = None, config: ConfigFile = None) -> None:
    """All keys, without their secrets."""
    from bothworlds.service.registry import Registry

    registry = Registry(_url(config, database))
    heads = ("project", "role", "label", "made", "until", "revoked")
    table = Table(Column("id", no_wrap=True), *heads, box=None, header_style="bold")
    for key in registry.known_keys():
        times = (_when(key.created), _when(key.expires), _when(key.revoked))
        table.add_row(key.id, *map(Text, (key.project_name, key.role, key.label)), *times)
    registry.close()
    if not out.is_terminal:  # a program reads it: each key in a line, whole
        table.width = out.measure(table, options=out.options.update(max_width=10_000)).maximum
    out.print(table, crop=False)


@key_app.command("revoke")
def revoke_key(
    identity: Annotated[str, typer.Argument(metavar="ID", help="Its id, which is in the list.")],
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Take a key back; a service that runs knows within a second."""
    from bothworlds.service.registry import Registry

    registry = Registry(_url(config, database))
    key = next((key for key in registry.known_keys() if key.id == identity), None)
    if key is None:
        fix = "bothworlds service key list shows them"
        raise InvalidArgumentError("ID", identity, "that of a key", fix=fix)
    registry.note(key.project, key="command line", action="revoke key", target=key.id)
    registry.revoke(identity)
    registry.close()
    _say(f"Revoked {identity}.")


# --- the database ---------------------------------------------------------------------------------------


@app.command()
def verify(database: Database = None, config: ConfigFile = None) -> None:
    """Compute every decision again, from the log alone, and compare to the bit; check the audit chain."""
    if not _verified(_url(config, database)):
        raise typer.Exit(1)


def _verified(url: str) -> bool:
    from bothworlds.service.registry import Registry
    from bothworlds.service.store import open_store
    from bothworlds.service.verify import verify as check

    registry, good = Registry(url), True
    for number, project in registry.projects().items():
        store = open_store(url)
        with _showing(f"verifying {project} …"):
            verdict, broken = check(store, project), registry.broken_audit(number)
        store.close()
        found = f"{counted(verdict.decisions, 'decision')}, {counted(verdict.entries, 'log entry')}"
        since = f", from position {verdict.start} on" if verdict.start else ""
        _say(f"{project}: {found}, {counted(verdict.snapshots, 'snapshot')} recomputed{since}")
        for difference in verdict.differences:
            _say(f"  differs: {difference}")
        if broken is not None:
            _say(f"  the audit chain is broken at row {broken}")
        good = good and verdict.ok and broken is None
    registry.close()
    _say("All is as it was." if good else "Something is not as it was.")
    return good


@app.command()
def move(
    to: Annotated[str, typer.Option(help="An empty database: sqlite:///FILE or postgresql://…")],
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Copy everything into an empty database, compare to the bit, verify the copy. Stop the service first."""
    from bothworlds.service.moving import move as copy

    url = _url(config, database)
    with _showing("copying …") as tell:
        moved = copy(url, to, tell=tell)
    rows = ", ".join(f"{n} of {name}" for name, n in moved.rows.items() if n)
    _say(f"{_without_password(to)} has what {_without_password(url)} has: {rows}")
    _say(f"SHA-256 of both: {moved.sha256}")
    if not _verified(to):
        raise typer.Exit(1)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Where to; nothing is overwritten.")],
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Copy an SQLite database, while it is served or not."""
    store = _sqlite(_url(config, database))
    with _showing(f"copying to {file} …"):
        store.backup(file)
    store.close()
    _say(f"Wrote {file}.")


@app.command("restore")
def restore_backup(
    file: Annotated[Path, typer.Argument(help="What `backup` wrote.", exists=True)],
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Make an SQLite database of a backup, where there is none."""
    from bothworlds.service.registry import is_postgresql, sqlite_path

    url = _config(config, database).storage.url
    if not is_postgresql(url) and Path(sqlite_path(url)).exists():
        fix = "move it away, or name another with --database"
        raise InvalidArgumentError("--database", url, "one that does not exist", got=url, fix=fix)
    source = _sqlite(f"sqlite:///{file}")
    with _showing(f"copying from {file} …"):
        source.backup(sqlite_path(url))
    source.close()
    _say(f"Made {url} of {file}. Next: bothworlds service verify")


def _sqlite(url: str) -> Any:
    from bothworlds.service.registry import is_postgresql, sqlite_path
    from bothworlds.service.store.sqlite import SQLiteStore

    if is_postgresql(url):
        fix = "use pg_dump and pg_restore"
        raise InvalidArgumentError("--database", url, "an SQLite file", got="PostgreSQL", fix=fix)
    return SQLiteStore(sqlite_path(url))


@app.command()
def migrate(database: Database = None, config: ConfigFile = None) -> None:
    """Bring a database up to date; an SQLite file is copied first."""
    from bothworlds.service.store import open_store
    from bothworlds.service.store.schema import REVISIONS

    url = _url(config, database)
    with _showing("migrating …"):
        open_store(url, migrate=True).close()
    _say(f"{_without_password(url)} has the schema {REVISIONS[-1]}.")


@app.command()
def export(
    folder: Annotated[
        Path, typer.Argument(help="Where to: a folder for each experiment, a file for each day.")
    ],
    experiment: Annotated[str | None, typer.Option(help="One of them alone.")] = None,
    project: Project = "default",
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Write decisions and outcomes as Parquet, for `bothworlds evaluate`."""
    from bothworlds.service import exports
    from bothworlds.service.registry import Registry
    from bothworlds.service.replica import Replica
    from bothworlds.service.store import open_store

    url = _url(config, database)
    registry, store = Registry(url), open_store(url)
    replica = Replica(store, project, remembered=1)
    names = list(replica.settings()) if experiment is None else [replica.named(experiment).name]
    for name in names:
        found = replica.named(name)
        subject = exports.Subject.of(name, found.settings, found.blank.labels)
        where = folder / exports.folder_name(name)
        with _showing(f"exporting {name} …"), _written_to("FOLDER"):
            rows, files = exports.export(registry, replica.id, subject, where)
        _say(f"{name}: {counted(rows, 'decision')} in {counted(len(files), 'file')} of {where}")
    store.close()
    registry.close()


@app.command()
def retain(
    days: Annotated[float, typer.Option(help="How many days decisions are kept; at least 1.")],
    folder: Annotated[Path, typer.Option("--export", help="Where decisions go before they are deleted.")],
    project: Project = "default",
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Export old decisions as Parquet, then delete them; a service does it by itself (storage.retention)."""
    from bothworlds.service.retention import export_and_retain

    url = _url(config, database)
    with _showing("looking for old decisions …") as tell, _written_to("--export"):
        gone = export_and_retain(url, project, days=days, folder=folder, tell=tell)
    if gone is None:
        raise InvalidArgumentError(
            "--database", url, "one that nobody else shortens", got="one that is being shortened", fix="wait"
        )
    if not gone.before:
        _say(f"{project}: nothing that could go is older than {days:g} days; everything is kept")
        return
    _say(
        f"{project}: {counted(gone.decisions, 'decision')} and {counted(gone.entries, 'log entry')} deleted; "
        f"kept from {_when(gone.before)} on, the log from position {gone.start + 1} on"
    )


@app.command()
def doctor(database: Database = None, config: ConfigFile = None) -> None:
    """Look whether a database and its machine are fit to serve."""
    from bothworlds.service.doctor import examine

    settings = _config(config, database)
    _url(config, database)
    findings = examine(settings)
    table = Table("what", "found", "", box=None, header_style="bold")
    for finding in findings:
        said = Text("ok") if finding.good else Text(finding.advice, style="bold red")
        table.add_row(finding.what, Text(finding.found), said)
    out.print(table)
    if not all(finding.good for finding in findings):
        raise typer.Exit(1)
