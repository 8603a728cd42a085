"""Where numbers come from: machine, versions, commit; and what differs between two of such descriptions."""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bothworlds._code_cache import source_hash
from bothworlds._version import __version__

WIDTH = 60
NOTHING = object()
PACKAGE = Path(__file__).parents[2]
PACKAGES = ("numpy", "numba", "llvmlite", "pyarrow", "distributed")


def now() -> str:
    """The time in UTC, as text."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def cpu() -> str:
    """The model of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return f"{line.partition(':')[2].strip()} ({platform.machine()})"
    except OSError:
        pass
    return platform.processor() or platform.machine()


@functools.cache
def packages() -> dict[str, str]:
    """Versions of what decides numbers and files."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def commit() -> str | None:
    """The commit of the sources, with "+" if they were edited since; None outside a repository."""
    return commit_of(PACKAGE)


def commit_of(package: Path) -> str | None:
    """The commit of a package that lies in ``src`` of its repository."""
    try:
        top, head = _git(package, "rev-parse", "--show-toplevel", "HEAD").split("\n")
        if package.resolve() != Path(top).resolve() / "src" / package.name:
            return None  # installed into some other project's folder
        edited = _git(package, "status", "--porcelain", "--", ".")
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return head + ("+" if edited else "")


def _git(folder: Path, *command: str) -> str:
    """What git prints, in a folder."""
    run = subprocess.run(
        ["git", "-C", str(folder), *command], capture_output=True, text=True, check=True, timeout=5
    )
    return run.stdout.strip()


def identity() -> dict[str, str]:
    """What must agree between the driver and its workers."""
    return {"bothworlds": __version__, "sources": source_hash()}


def run_record(
    command: Sequence[str] | None, jobs: int | None, executor: str, reused: int, aside: int
) -> dict[str, Any]:
    """What a manifest says of a run when it begins."""
    return {
        "started": now(),
        "finished": None,
        "command": list(sys.argv) if command is None else list(command),
        "host": host(),
        "cpu": cpu(),
        "cores": cores(),
        "python": platform.python_version(),
        "packages": packages(),
        "commit": commit(),
        "jobs": jobs,
        "executor": executor,
        "chunks_run": 0,
        "chunks_reused": reused,
        "chunks_set_aside": aside,
        "seconds": None,  # a run that is killed cannot say
        "kernel_seconds": 0.0,
    }


def differences(there: Any, here: Any, location: str = "") -> list[str]:
    """One line per setting that differs: where, what a folder has, what was asked for.

    >>> differences({"seed": 1, "policies": [{"beta": 0.3}]}, {"seed": 2, "policies": [{"beta": 0.3}, {}]})
    ['policies[1]: nothing there, {} here', 'seed: 1 there, 2 here']
    """
    if isinstance(there, dict) and isinstance(here, dict):
        found = []
        for key in sorted(there.keys() | here.keys(), key=str):
            name = f"{location}.{key}" if location else str(key)
            found += differences(there.get(key, NOTHING), here.get(key, NOTHING), name)
        return found
    if isinstance(there, list) and isinstance(here, list) and _tables(there + here):
        found = []
        for k in range(max(len(there), len(here))):
            ours, theirs = (side[k] if k < len(side) else NOTHING for side in (here, there))
            found += differences(theirs, ours, f"{location}[{k}]")
        return found
    if type(there) is type(here) and there == here:
        return []
    return [f"{location}: {_short(there)} there, {_short(here)} here"]


def _tables(values: list[Any]) -> bool:
    return any(isinstance(value, (dict, list)) for value in values)


def _short(value: Any) -> str:
    if value is NOTHING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
