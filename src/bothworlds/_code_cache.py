"""The cache of compiled code: a file for each kernel and combination of types, named by all that decides it.

numba's own cache only looks at the file of the function itself, and would go on using the old code of a
helper that was edited in another one. Here a folder is named by a hash of all sources of the package that
decide numbers, and a file by the kernel, the types of its arguments, the compiler, the processor, and
whatever of other people's code takes part. So what is there is never out of date, and processes that compile
at once write the same.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import secrets
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from bothworlds._jit import is_kernel, outsider

_PACKAGE = Path(__file__).parent
# what only calls the kernels, or shows how far they are: edits change no number
WITHOUT_KERNELS = ("experiments", "report", "service", "client", "cli.py", "_changeover.py", "_progress.py")
CONSTANTS = (int, float, complex, str, np.generic, type(None))  # whose repr is all there is to know
VALUES = (*CONSTANTS, tuple, np.ndarray, type)  # that kernels may read from a module


# --- folders --------------------------------------------------------------------------------------------


@functools.cache
def source_hash() -> str:
    """A hash over the Python files of the package that decide numbers; the same on every machine."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        place = path.relative_to(_PACKAGE)
        if place.parts[0] not in WITHOUT_KERNELS:
            digest.update(str(place).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _roots() -> tuple[Path, Path]:
    """``$BOTHWORLDS_CACHE_DIR`` or the user's cache, and a place for those who cannot write there."""
    root = os.environ.get("BOTHWORLDS_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if not root:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(base, "bothworlds")
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return Path(root), Path(tempfile.gettempdir()) / f"bothworlds-{user}"


def cache_directories() -> list[Path]:
    """Where compiled kernels are looked for."""
    first, second = _roots()
    return [place / source_hash() for place in ([first, second] if _is_ours(second) else [first])]


def cache_directory() -> Path:
    """Where compiled kernels are saved: the first of these that can be written to."""
    first, second = _roots()
    if _can_write(first / source_hash()):
        return first / source_hash()
    with contextlib.suppress(OSError):
        second.mkdir(mode=0o700)
    if _is_ours(second) and _can_write(second / source_hash()):
        return second / source_hash()
    raise OSError(f"no writable folder for compiled kernels; set BOTHWORLDS_CACHE_DIR (tried {first})")


def _can_write(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    return True


def _is_ours(folder: Path) -> bool:
    """Is this folder there, and can nobody else put code into it? The second root is where all may write."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


# --- names ----------------------------------------------------------------------------------------------


class UnnamedError(Exception):
    """What decides this code cannot be written down, so it cannot be saved."""


def file_name_of(function: Callable[..., Any], *others: Callable[..., Any], types: str) -> str:
    """The name of the file with ``function`` compiled for these types.

    ``others`` are the kernels from outside the package that are chosen by them. One that was typed at a
    prompt has no name: there is nothing to compare it with next time.
    """
    seen: set[Callable[..., Any]] = set()
    said = [types, *(part for one in (function, *others) for part in _parts(one, seen))]
    digest = hashlib.sha256("\n".join(said).encode()).hexdigest()[:32]
    plain = "".join(letter if letter.isalnum() else "-" for letter in function.__name__)
    return f"{function.__module__.rpartition('.')[2]}.{plain}.{digest}"


def _parts(function: Callable[..., Any], seen: set[Callable[..., Any]]) -> Iterator[str]:
    """What makes a function this one: its place, what it closes over, outside the package all it reads."""
    if function in seen:
        return
    seen.add(function)
    code = function.__code__
    yield f"{function.__module__} {function.__qualname__} {code.co_firstlineno} {code.co_names}"
    yield f"{code.co_code.hex()} {code.co_linetable.hex()}"  # with columns: two lambdas may share a line
    for cell in function.__closure__ or ():
        yield from _part(cell.cell_contents, seen)
    if outsider(function):
        try:
            yield hashlib.sha256(Path(code.co_filename).read_bytes()).hexdigest()
        except OSError as error:
            raise UnnamedError(code.co_filename) from error
        for value in _globals(function):
            if is_kernel(value) or _compiled_by_numba(value) or isinstance(value, VALUES):
                yield from _part(value, seen)


def _globals(function: Callable[..., Any]) -> Iterator[Any]:
    """The globals that a function may read, those of modules too: helpers and numbers of other files."""
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        yield value
        if isinstance(value, ModuleType):
            yield from (getattr(value, other) for other in names if hasattr(value, other))


def _compiled_by_numba(value: Any) -> bool:
    return "py_func" in getattr(value, "__dict__", ())


def _part(value: Any, seen: set[Callable[..., Any]]) -> Iterator[str]:
    """A value that becomes part of a kernel."""
    if _compiled_by_numba(value):
        value = value.py_func
    if isinstance(value, FunctionType):  # of a generic its default: what else is chosen, types say
        yield from _parts(inspect.unwrap(value) if hasattr(value, "implementations") else value, seen)
    elif isinstance(value, type):
        yield f"{value.__module__} {value.__qualname__} {getattr(value, '_fields', '')}"
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, tuple):
        for one in value:
            yield from _part(one, seen)
    elif isinstance(value, CONSTANTS):
        yield repr(value)
    else:
        raise UnnamedError(f"{value!r}")


# --- files ----------------------------------------------------------------------------------------------


def has_code(name: str) -> bool:
    """Is there code of this name?"""
    return any((place / name).is_file() for place in cache_directories())


def load_code(name: str) -> bytes | None:
    """The code of this name; None if there is none, or the file is not what was written."""
    for place in cache_directories():
        try:
            content = (place / name).read_bytes()
        except OSError:
            continue
        seal, packed = content[:32], content[32:]
        if seal == _seal(name, packed):
            return zlib.decompress(packed)
    return None


def save_code(name: str, code: bytes) -> None:
    """Write it, whole or not at all. A disk that is full only costs the time to compile it again."""
    packed = zlib.compress(code, 1)
    try:
        path = cache_directory() / name
        temporary = path.with_name(f".{name}.{secrets.token_hex(6)}")
        try:
            temporary.write_bytes(_seal(name, packed) + packed)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        _warn(f"compiled code cannot be saved, and will be compiled again: {error}")


def _seal(name: str, packed: bytes) -> bytes:
    """Of the name too: the machine code of another would read memory that is not there."""
    return hashlib.sha256(name.encode() + packed).digest()


@functools.cache
def _warn(what: str) -> None:
    warnings.warn(what, RuntimeWarning, stacklevel=2)
