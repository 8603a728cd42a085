"""Is a database, and the machine that it is on, fit to serve?"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from bothworlds import _jit
from bothworlds._words import counted
from bothworlds.service.config import Config
from bothworlds.service.registry import Registry, is_postgresql, sqlite_path

SYNCS = 20


class Diagnosis(NamedTuple):
    """What was looked at, what was found, and what to do if that is not good."""

    what: str
    found: str
    good: bool
    advice: str = ""


def examine(config: Config) -> list[Diagnosis]:
    """Look at everything; changes nothing.

    Parameters
    ----------
    config:
        That of the service.
    """
    url = config.storage.url
    findings = _of_postgresql(url) if is_postgresql(url) else _of_sqlite(config)
    registry = Registry(url)
    now = time.time()
    good = [key for key in registry.known_keys() if key.is_good(now)]
    admins = sum(key.role == "admin" for key in good)
    advice = "bothworlds service key new --role admin"
    findings.append(Diagnosis("keys", f"{counted(len(good), 'key')}, {admins} of admins", admins > 0, advice))
    broken = [name for number, name in registry.projects().items() if registry.broken_audit(number)]
    text = "whole" if not broken else f"broken in {', '.join(broken)}"
    findings.append(Diagnosis("audit chain", text, not broken, "somebody has altered rows"))
    registry.close()
    where = "others can reach it" if config.is_public else "this machine alone can reach it"
    findings.append(Diagnosis("address", f"{config.server.host}: {where}", True))
    found = "numba" if _jit.can_compile() else "none"
    findings.append(Diagnosis("machine code", found, _jit.can_compile(), "pip install 'bothworlds[fast]'"))
    return findings


def _of_sqlite(config: Config) -> list[Diagnosis]:
    path = Path(sqlite_path(config.storage.url)).absolute()
    free = shutil.disk_usage(path.parent).free
    db = sqlite3.connect(path)
    (whole,) = db.execute("PRAGMA quick_check").fetchone()
    (mode,) = db.execute("PRAGMA journal_mode").fetchone()
    db.close()
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return [
        Diagnosis("integrity", whole, whole == "ok", "restore a backup"),
        Diagnosis("journal", mode, mode == "wal", "open it once with bothworlds serve"),
        Diagnosis("writable", "yes" if writable else "no", writable, f"let this user write {path.parent}"),
        Diagnosis("disk", f"{free >> 20:,} MB left", free >= config.storage.min_free, "make room"),
        Diagnosis("fdatasync", f"{1e3 * sync_seconds(path.parent):.2f} ms", True),
    ]


def _of_postgresql(url: str) -> list[Diagnosis]:
    registry = Registry(url)
    with registry.read() as db:
        commit = str(db.execute(sa.text("SHOW synchronous_commit")).scalar_one())
        standby = str(db.execute(sa.text("SHOW synchronous_standby_names")).scalar_one())
    registry.close()
    advice = "with off, what was acknowledged may be lost"
    text = standby or "none: with a failover, only a synchronous standby keeps all that was acknowledged"
    return [
        Diagnosis("synchronous_commit", commit, commit not in ("off", "local"), advice),
        Diagnosis("synchronous standby", text, True),
    ]


def sync_seconds(folder: Path) -> float:
    """The median time of writing a page and having it on disk."""
    times = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(SYNCS):
            began = time.perf_counter()
            os.pwrite(file.fileno(), bytes(4096), 0)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return sorted(times)[SYNCS // 2]
