"""How a service is run: ``service.toml``, the environment, the command line."""

from __future__ import annotations

import ipaddress
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from bothworlds.errors import InvalidArgumentError
from bothworlds.service import hub
from bothworlds.service.http import mistakes

PREFIX = "BOTHWORLDS"
USUAL = hub.HubLimits()  # what a hub has where nobody says otherwise


Text = Annotated[str, msgspec.Meta(min_length=1)]
Some = Annotated[int, msgspec.Meta(ge=1)]


class ConfigTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of ``service.toml``."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, (int, float)) and not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a finite number at least 0, got {value}")


class Server(ConfigTable, frozen=True):
    """Where it listens."""

    host: Text = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8787
    workers: Some = 1
    """Processes; more than one pay on several cores."""
    max_body: Some = 64 << 10
    """Bytes of a request."""
    max_batch_body: Some = 1 << 20
    """Bytes of a request of many."""
    max_head: int = 64 << 10
    """Bytes of the address and the headers of a request."""
    keep_alive: int = 75
    """Seconds that an idle connection stays open."""
    request_timeout: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """Seconds in which a request must be whole, from its first byte on."""
    answer_timeout: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """Seconds that an answer, or a board, may wait for its client to read on."""
    grace: float = 8.0
    """Seconds that requests under way have when the service is stopped."""


class Storage(ConfigTable, frozen=True):
    """Where it keeps everything."""

    url: Text = "sqlite:///bothworlds.db"
    min_free: int = 256 << 20
    """Bytes that the disk must have left; below, nothing is written."""
    snapshot_every: Some = USUAL.snapshot_every
    refresh: Annotated[float, msgspec.Meta(gt=0)] = USUAL.refresh
    """Seconds after which the outcomes of other processes, and revoked keys, are seen."""
    exports: Text = "exports"
    """The folder of exports."""
    retention: Annotated[float, msgspec.Meta(ge=0)] = 400.0
    """Days that decisions are kept, at least 1; then they are exported, and deleted. 0: for ever."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0.0 < self.retention < 1.0:
            raise ValueError(f"retention must be 0 or at least 1 day, got {self.retention}")


class Limits(ConfigTable, frozen=True):
    """How much there may be of everything that grows."""

    max_queue: Some = USUAL.max_queue
    rate_per_key: Annotated[float, msgspec.Meta(gt=0)] = 2000.0
    """Requests per second, of one key, in one process; twice as many at once."""
    max_projects: Some = 100
    """Projects that are served at a time."""
    max_experiments: Some = 1000
    """In a project."""
    max_segments: Some = 10_000
    """That an experiment may ask for."""
    max_arms: Some = 1000
    max_keys: Some = 1000
    """In a project, those that were revoked included."""
    max_open: Some = 10_000_000
    """Decisions of a project whose outcome is out; then no more are made until some are closed."""
    max_batch: Some = 500
    """Decisions or outcomes in one request."""
    max_connections: int = 900
    """Of one process; most systems let it have 1,024 files."""
    max_streams: int = 100
    """Boards that listen."""
    max_exports: int = 4
    """At a time."""
    max_export: Some = 10_000_000
    """Rows of one."""
    kept_exports: Some = 20
    """Of a project; when another one begins, the oldest go."""


class Log(ConfigTable, frozen=True):
    """What it says about itself, on stderr."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "text"] = "json"


class Config(ConfigTable, frozen=True):
    """All of it; every value has a default."""

    server: Server = Server()
    storage: Storage = Storage()
    limits: Limits = Limits()
    log: Log = Log()

    @property
    def is_public(self) -> bool:
        """Can others than this machine reach it?"""
        try:
            return not ipaddress.ip_address(self.server.host).is_loopback
        except ValueError:
            return self.server.host != "localhost"


def read_config(
    path: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    **overrides: Mapping[str, Any],
) -> Config:
    """The configuration in a file, then ``BOTHWORLDS_<TABLE>_<NAME>`` of the environment, then overrides.

    Parameters
    ----------
    path:
        ``service.toml``; None: all values have defaults.
    environment:
        None: that of the process.
    overrides:
        Tables with values that win; None is none.

    Examples
    --------
    >>> from bothworlds.service.config import read_config
    >>> config = read_config(environment={"BOTHWORLDS_SERVER_PORT": "9000"}, storage={"url": None})
    >>> config.server.port, config.storage.url
    (9000, 'sqlite:///bothworlds.db')
    """
    tables: dict[str, Any] = {}
    if path is not None:
        try:
            tables = msgspec.toml.decode(path.read_bytes())
        except OSError as error:
            got, fix = (
                f"{path}: {(error.strerror or str(error)).lower()}",
                "every value has a default: leave it out",
            )
            raise InvalidArgumentError(
                "config", str(path), "a file that can be read", got=got, fix=fix
            ) from None
        except msgspec.DecodeError as error:
            raise InvalidArgumentError("config", str(path), "TOML", got=f"{path}: {error}") from None
    environment = os.environ if environment is None else environment
    for table, kind in get_type_hints(Config).items():
        found = {
            name: environment[variable]
            for name in kind.__struct_fields__
            if (variable := f"{PREFIX}_{table}_{name}".upper()) in environment
        }
        given = {name: value for name, value in overrides.get(table, {}).items() if value is not None}
        if found or given:
            tables[table] = {**tables.get(table, {}), **found, **given}
    try:
        return msgspec.convert(tables, Config, strict=False)
    except msgspec.ValidationError as error:
        raise _refused(error, tables, "" if path is None else f" of {path}") from None


def _refused(error: msgspec.ValidationError, tables: dict[str, Any], where: str) -> InvalidArgumentError:
    """What is wrong with which value; a URL may hold a password, and is not shown."""
    pointer, said = mistakes.explain_mistake(error, Config, tables)
    name = pointer.strip("/").replace("/", ".")
    if not said.startswith("must be"):  # a check of several values, whose words begin with their name
        key, separator, rest = said.partition(" must be ")
        if separator:
            name, said = f"{name}.{key}", f"must be {rest}"
    if said.startswith(mistakes.NO_FIELD):
        fix = said.removeprefix(mistakes.NO_FIELD).lstrip(";. ")
        return InvalidArgumentError(f"{name}{where}", None, "a setting", got="an unknown name", fix=fix)
    allowed, _, got = said.removeprefix("must be ").partition(", got ")
    if name == "storage.url":
        got = "something else"
    variable = f"{PREFIX}_{name.replace('.', '_')}".upper()
    fix = f"change it there, or with {variable}" if where else f"change {variable}, or the option"
    got = got or "something else"
    return InvalidArgumentError(f"{name or 'config'}{where}", None, allowed, got=got, fix=fix)
