"""Saved states: a versioned JSON file, written whole or not at all, and arrays as exact lists of numbers."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError, StateError

FORMAT = "bothworlds-bandit"
VERSION = 4
# 1: 0.1, without what travels from ``learn`` to ``step``
# 2: all arms are awake, always
# 3: what trials of ``Watched`` have cost is not counted


def pack(state: Any, name: str = "state") -> Any:
    """A (nested) ``NamedTuple`` of arrays as JSON types. Floats read back exactly."""
    if isinstance(state, np.ndarray):
        return state.tolist()
    if not hasattr(state, "_fields"):
        fix = "keep a number in an array of one, np.zeros(1): kernels change a state in place"
        raise InvalidArgumentError(name, state, "an array, or a NamedTuple of arrays", fix=fix)
    return {key: pack(value, f"{name}.{key}") for key, value in state._asdict().items()}


def unpack(like: Any, data: Any, name: str = "state", *, version: int = VERSION) -> Any:
    """The state that :func:`pack` packed, in the shape of the fresh state ``like``.

    Earlier states had fewer scalars, and those of version 1 others where a policy kept its own randomness;
    what they lack is as in ``like``, until the next ``step``.
    """
    if isinstance(like, np.ndarray):
        if version < VERSION and name.endswith(".scalars") and isinstance(data, list):
            data = [*data, *like[len(data) :].tolist()]
        return _check.vector(name, data, size=like.size)
    if version == 1 and isinstance(data, dict):
        data = {key: data.get(key, pack(value)) for key, value in like._asdict().items()}
    if not isinstance(data, dict) or set(data) != set(like._fields):
        found = ", ".join(sorted(data)) if isinstance(data, dict) else repr(data)
        raise StateError(
            f"{name} does not belong to the saved policy: expected {', '.join(like._fields)}, found {found}"
        )
    return type(like)(
        *(unpack(getattr(like, key), data[key], f"{name}.{key}", version=version) for key in like._fields)
    )


def clone_state(state: Any) -> Any:
    """An independent copy of a state; ``_jit.copy_state`` copies one into another that is there."""
    parts = [part.copy() if type(part) is np.ndarray else clone_state(part) for part in state]
    return type(state)(*parts)


def check_header(data: Any) -> None:
    """Refuse what is not a saved bandit, or comes from a newer version."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = repr(data.get("format")) if isinstance(data, dict) else type(data).__name__
        raise StateError(f"this is not a saved bandit: expected format {FORMAT!r}, found {found}")
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise StateError(
            f"the saved state has version {version!r}; this release reads versions 1 to {VERSION}"
        )
    if version > VERSION:
        raise StateError(
            f"the saved state has version {version}, written by bothworlds {data.get('bothworlds')}; "
            f"this release reads up to version {VERSION}: upgrade bothworlds to load it"
        )


def text(data: dict[str, Any], key: str) -> str:
    """The string at ``key``."""
    value = data[key]
    if not isinstance(value, str):
        raise StateError(f"{key} must be a string, got {value!r}")
    return value


def counts(data: dict[str, Any], key: str, size: int) -> list[int]:
    """The list of ``size`` non-negative integers at ``key``."""
    return [_check.integer(key, item, at_least=0) for item in sequence(data, key, size)]


def arms(data: dict[str, Any], key: str, n_arms: int) -> list[int]:
    """The numbers of arms at ``key``; older files have none."""
    return [int(number) for number in _check.indices(key, data.get(key, []), below=n_arms)]


def sequence(data: dict[str, Any], key: str, size: int) -> list[Any]:
    """The list of this size at ``key``."""
    value = data[key]
    if not isinstance(value, list) or len(value) != size:
        raise StateError(f"{key} must be a list of length {size}, got {value!r}")
    return value


def write(path: str | PathLike[str], data: dict[str, Any]) -> None:
    """Write ``data`` as JSON; a reader sees the old file or the new one."""
    try:
        content = json.dumps(data, allow_nan=False).encode()
    except ValueError as error:  # which does not say where
        name, value = next((name, value) for name, value in _numbers(data) if not math.isfinite(value))
        fix = "where the policy is your own, bothworlds.testing.check_policy says which promise is broken"
        raise StateError(f"{name} is {value}, so this bandit cannot be saved; {fix}") from error
    write_bytes(path, content)


def _numbers(data: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """All floats in JSON types, with where they are."""
    if isinstance(data, float):
        yield name, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _numbers(value, f"{name}.{key}" if name else str(key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from _numbers(value, f"{name}[{i}]")


def write_bytes(path: str | PathLike[str], content: bytes) -> None:
    """Write beside ``path``, under a name that ends in ``.tmp``, and rename it into place, durably."""
    target = Path(os.path.realpath(path))  # what a link points to, not the link
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:  # it names a temporary file that nobody has asked for
        problem = f"cannot write {target.name}, because its folder is missing or refuses: {error.strerror}"
        raise type(error)(error.errno, problem, str(target.parent)) from None
    try:
        os.chmod(temporary, _mode(target))
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if hasattr(os, "O_DIRECTORY"):  # make the rename itself durable where the system can
        directory = os.open(target.parent, os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def read(path: str | PathLike[str]) -> Any:
    """The content of a file that :func:`write` wrote."""
    content = Path(path).read_bytes()
    try:
        return json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StateError(f"it is truncated or not JSON: {error}") from error
