"""From Python to machine code while a bandit plays.

A bandit starts at once, its kernels as plain Python. If it goes on, a thread looks for their machine code on
disk; where there is none, another process, of the lowest priority, compiles it and keeps it there. Then the
thread hands it to every bandit of these types. The numbers are the same to the bit before and after. The
caller never waits, but for Python's lock, which it shares with the thread.

``BOTHWORLDS_COMPILE`` says otherwise: ``wait`` for compiled code in ``Bandit(...)``, or ``never`` compile for
a bandit. It waits, too, where Python would be too slow, for thousands of arms; and for policies and kernels
outside the package, which another process could have only by running the program that they are part of. What
ends before it could be compiled, a replay of a few rounds, stays Python.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from bothworlds import _jit
from bothworlds._code_cache import cache_directory
from bothworlds.errors import InvalidArgumentError

P = ParamSpec("P")
R = TypeVar("R")
Code: TypeAlias = dict[str, Callable[..., Any]]
# attributes of a bandit, each with the kernel that it is, and with arguments of the right types
Kernels: TypeAlias = Mapping[str, tuple[_jit.entry[..., Any], tuple[Any, ...]]]

WAYS = ("background", "wait", "never")
CALLS = 100  # who makes fewer does not need machine code, which takes a second to be loaded
TURN = 1e-4  # seconds that a caller leaves Python's lock to the thread which loads: who plays without a pause
# gives it away so briefly, and so often, that another thread would wait for minutes
WAITS_FROM = 1000  # with so many arms a bandit waits for machine code: a call as Python would take longer

COMPILE = """
import json, os, sys
if hasattr(os, "nice"):
    os.nice(19)
job = json.load(sys.stdin)
sys.path[:] = job.pop("path")
from bothworlds.warmup import compile_bandit
compile_bandit(**job)
"""


def give_kernels(
    owner: Any, kernels: Kernels, *, n_arms: int, recipe: Callable[[], dict[str, Any] | None]
) -> None:
    """Give ``owner`` its kernels: machine code if it is in memory, else Python and machine code later.

    ``recipe`` are the arguments of :func:`bothworlds.warmup.compile_bandit`, in JSON types; None if no other
    process can make such a bandit.
    """
    way = _way()
    many = n_arms >= WAITS_FROM
    if many:
        _jit.advise_numba()
    if way == "never" or not _jit.can_compile():
        _give(owner, {name: entry.python for name, (entry, _) in kernels.items()})
        return
    form = _form_of(kernels)
    waits = way == "wait" or many or any(kind in _jit.outside for kind in _classes(form))
    described = None
    if not waits and form not in _started:
        described = recipe()
        waits = described is None
    if waits:
        if form not in _bound:
            if many and way != "wait":
                _announce(kernels, n_arms)
            _bound[form] = {name: entry.bind(*arguments) for name, (entry, arguments) in kernels.items()}
        _give(owner, _bound[form])
        return
    with _lock:
        changeover = _started.get(form)
        if changeover is None:
            assert described is not None
            changeover = _started[form] = _Changeover(kernels, described)
        _give(owner, changeover.code)
        if not changeover.done:
            changeover.owners.add(owner)


def run_short(kernel: _jit.entry[P, R], *arguments: P.args, **none: P.kwargs) -> R:
    """Run a kernel that is done before it could be compiled: as Python, unless machine code is asked for."""
    if _way() == "wait" or any(kind in _jit.outside for kind in _classes(_form(arguments))):
        return kernel(*arguments, **none)
    return kernel.python(*arguments, **none)


def _way() -> str:
    way = os.environ.get("BOTHWORLDS_COMPILE") or WAYS[0]
    if way not in WAYS:
        raise InvalidArgumentError("BOTHWORLDS_COMPILE", way, f"one of {', '.join(WAYS)}")
    return way


def follow(owner: Any, leader: Any, names: Iterable[str]) -> None:
    """Give ``owner`` the kernels of ``leader``, which has the same types, now and later."""
    with _lock:
        _give(owner, {name: getattr(leader, name) for name in names})
        for changeover in _started.values():
            if leader in changeover.owners:
                _give(owner, changeover.code)
                changeover.owners.add(owner)


def _give(owner: Any, code: Code) -> None:
    for name, function in code.items():
        setattr(owner, name, function)  # not by __dict__, which would make every attribute slower


def _form_of(kernels: Kernels) -> tuple[Any, ...]:
    """What decides which machine code is needed, as far as Python can tell."""
    forms: dict[int, Any] = {}  # most arguments are the same for all kernels
    for _, arguments in kernels.values():
        for value in arguments:
            if id(value) not in forms:
                forms[id(value)] = _form(value)
    return tuple((entry, *(forms[id(value)] for value in args)) for entry, args in kernels.values())


def _form(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.c_contiguous
    if isinstance(value, tuple):
        return type(value), *map(_form, value)
    return type(value)


def _classes(form: Any) -> Iterator[type]:
    if isinstance(form, tuple):
        for part in form:
            yield from _classes(part)
    elif isinstance(form, type):
        yield form


def _announce(kernels: Kernels, n_arms: int) -> None:
    """Somebody waits: say for what, if it is not on disk."""
    if not _are_ready(kernels):
        print(
            f"bothworlds: compiling for {n_arms} arms, some seconds, once; `bothworlds warmup` does it ahead",
            file=sys.stderr,
        )


class _Changeover:
    """The kernels of all bandits of the same types."""

    def __init__(self, kernels: Kernels, recipe: dict[str, Any]) -> None:
        self.owners: weakref.WeakSet[Any] = weakref.WeakSet()
        self.code: Code = {name: self._counting(entry.python) for name, (entry, _) in kernels.items()}
        self.done = False
        self._kernels = kernels
        self._recipe = recipe
        self.forget()

    def forget(self) -> None:
        """Whatever was under way is not: a fork has only one thread."""
        self._calls = 0
        self._loading = False
        self._thread: threading.Thread | None = None

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            self._calls += 1
            if self._calls >= CALLS and self._thread is None:
                self._begin()
            if self._loading:
                time.sleep(TURN)
            return function(*args)

        return call

    def _begin(self) -> None:
        with _lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._change_over, name="bothworlds", daemon=True)
                self._thread.start()

    def _change_over(self) -> None:
        try:
            code = self._load()
            if code is None:
                _compile_elsewhere(self._recipe)
                code = self._load()
            if code is None:
                raise OSError(f"{cache_directory()} does not keep what is compiled")
        except Exception as error:  # the compiler, the disk, memory: the bandit goes on in any case
            warnings.warn(
                f"a Bandit with the policy {self._recipe['policy']['kind']!r} goes on as plain Python: "
                f"its kernels could not be compiled in the background: {error}",
                RuntimeWarning,
                stacklevel=1,
            )
            return
        with _lock:
            self.code = code
            self.done = True
            owners = list(self.owners)
        for owner in owners:
            _give(owner, code)

    def _load(self) -> Code | None:
        """The machine code, from disk; None if it is not there."""
        self._loading = True
        try:
            return self._loaded()
        finally:
            self._loading = False

    def _loaded(self) -> Code | None:
        with _at_rest():
            if _jit.compiler() is None:
                raise ImportError(_jit.why_no_compiler())
            if not _are_ready(self._kernels):
                return None
            return {name: entry.bind(*arguments) for name, (entry, arguments) in self._kernels.items()}


def _are_ready(kernels: Kernels) -> bool:
    return all(entry.is_ready(entry.signature(*arguments)) for entry, arguments in kernels.values())


def _compile_elsewhere(recipe: dict[str, Any]) -> None:
    """Have another process compile; it finishes, and fills the cache, even if this one ends before."""
    apart: dict[str, Any] = {"start_new_session": True}  # Ctrl-C is not for it
    if sys.platform == "win32":  # pragma: no cover
        apart = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.IDLE_PRIORITY_CLASS}
    process = subprocess.Popen(
        [_interpreter(), "-c", COMPILE],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"BOTHWORLDS_COMPILE": "never"},
        **apart,
    )
    _, said = process.communicate(json.dumps(recipe | {"path": [str(place) for place in sys.path]}))
    if process.returncode:
        lines = said.strip().splitlines() or [f"the process that compiles ended with {process.returncode}"]
        raise RuntimeError(lines[-1])


def _interpreter() -> str:
    """A program that runs Python; where Python is part of another program, that is not sys.executable."""
    for path in (sys.executable, getattr(sys, "_base_executable", "")):
        if path and "python" in os.path.basename(path).lower() and not getattr(sys, "frozen", False):
            return path
    raise OSError(f"no Python interpreter to compile with ({sys.executable!r} is another program)")


_lock = threading.Lock()
_started: dict[Any, _Changeover] = {}
_bound: dict[Any, Code] = {}  # that of bandits which waited for it

# --- forks ----------------------------------------------------------------------------------------------


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - a new one: a thread that is not in the child may have held it
    _lock = threading.Lock()
    for changeover in _started.values():
        changeover.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@functools.cache
def _at_rest() -> Any:
    """Hold this lock to load: a fork waits for it, because in the child nobody would ever finish.

    What is told last of a fork is first to wait: before those that numba's import may wait for.
    """
    import logging  # noqa: F401, PLC0415 - registers a lock of its own, which ours must come after

    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
