"""numba in one place: compiler flags, functions chosen by type, and a disk cache keyed by the sources.

Three decorators, and nothing else in the package touches numba:

``@kernel``
    a plain function that compiled code may call.
``@generic``
    ``functools.singledispatch`` for kernels: the implementation is chosen by the type of the first
    argument, a ``NamedTuple`` of parameters, at compile time. The decorated body is the default.
``@entry``
    a kernel called from Python: compiled on its first call for each combination of argument types, then
    read from disk by later processes. ``entry.py_func`` is the plain Python function.

All three leave ordinary Python functions behind, so importing the package does not import numba, and
with ``NUMBA_DISABLE_JIT=1`` everything runs as Python (that is how coverage is measured).

No ``fastmath`` anywhere: it reorders sums, and a reordered sum is another trajectory. The numpy error
model is needed for loops with a division to vectorise.

Kernels own no memory: those of the package are compiled without numba's reference counts, which cost more
than a round of a fast policy. One that allocates (``np.empty``, or ``a[:] = b`` for arrays, which copies)
says so with ``allocates=True``; code outside the package may always allocate. Every array of an argument is
seven machine words, so that a call costs as much as a pass over ten arms: ``inline=True`` makes it none.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from bothworlds._lock import exclusive

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

# Always with "_nrt", the reference counts: a callee that does not say would inherit its caller's.
_FLAGS: dict[str, Any] = {"error_model": "numpy"}
_PACKAGE = Path(__file__).parent

# Functions that numba has not been told about yet, each with the rule that picks its implementation and
# with the flags for that.
_pending: list[tuple[Callable[..., Any], Callable[..., Any], dict[str, bool]]] = []
# What else numba must be told before the first kernel is compiled.
_introductions: list[Callable[[], None]] = []
# Implementations that live outside the package: the files they are in, for each type they are chosen by.
_outside: dict[type, set[Path]] = {}
_lock = threading.RLock()
_PROCESS = secrets.token_hex(6)  # in the names of the files that this process writes to the cache


def _outsider(function: Callable[..., Any]) -> bool:
    return _PACKAGE not in Path(function.__code__.co_filename).parents


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, allocates: bool = False, inline: bool = False) -> Callable[[F], F]: ...
def kernel(function: Any = None, *, allocates: bool = False, inline: bool = False) -> Any:
    """Let compiled code call ``function``."""
    if function is None:
        return functools.partial(kernel, allocates=allocates, inline=inline)
    flags = {"_nrt": allocates or _outsider(function), "forceinline": inline}
    _pending.append((function, lambda *_: function, flags))
    return function


def introduce(tell: Callable[[], None]) -> Callable[[], None]:
    """Call ``tell``, which imports numba and extends it, before the first kernel is compiled."""
    _introductions.append(tell)
    return tell


class _GenericFunction(Generic[P, R]):
    """The type of what :func:`generic` returns, for type checkers."""

    implementations: dict[type, Callable[..., R]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError

    def register(self, kind: type, *, allocates: bool = False, inline: bool = False) -> Callable[[F], F]:
        raise NotImplementedError


@overload
def generic(default: Callable[P, R]) -> _GenericFunction[P, R]: ...
@overload
def generic(*, allocates: bool) -> Callable[[Callable[P, R]], _GenericFunction[P, R]]: ...
def generic(default: Any = None, *, allocates: bool = False) -> Any:
    """A kernel whose implementation is chosen by the type of its first argument.

    ``allocates`` holds for all implementations; one alone can say so in ``register``.

    >>> @generic
    ... def area(shape, scale):
    ...     return 0.0
    >>> class Square(NamedTuple):
    ...     side: float
    >>> @area.register(Square)
    ... def _(shape, scale):
    ...     return scale * shape.side**2
    >>> area(Square(3.0), 2.0)
    18.0
    """
    if default is None:
        return functools.partial(generic, allocates=allocates)
    implementations: dict[type, Callable[..., Any]] = {}
    flags = {default: (allocates or _outsider(default), False)}

    # A plain function, not an object with __call__: numba can only look up functions.
    @functools.wraps(default)
    def dispatch(first: Any, *rest: Any) -> Any:
        return implementations.get(type(first), default)(first, *rest)

    every = allocates

    def register(kind: type, *, allocates: bool = False, inline: bool = False) -> Callable[[F], F]:
        def decorate(implementation: F) -> F:
            implementations[kind] = implementation
            if _outsider(implementation):
                _outside.setdefault(kind, set()).add(Path(implementation.__code__.co_filename))
            flags[implementation] = every or allocates or _outsider(implementation), inline
            return implementation

        return decorate

    def with_flags(wanted: tuple[bool, bool]) -> Callable[..., Any]:
        def choose(first: Any, *_: Any) -> Callable[..., Any] | None:
            # numba's type of a NamedTuple knows its class; any other type gets the default
            found = implementations.get(getattr(first, "instance_class", object), default)
            return found if flags[found] == wanted else None

        return choose

    dispatch.register = register  # type: ignore[attr-defined]
    dispatch.implementations = implementations  # type: ignore[attr-defined]
    for memory, inline in ((True, False), (False, False), (False, True)):
        _pending.append((dispatch, with_flags((memory, inline)), {"_nrt": memory, "forceinline": inline}))
    return dispatch


def _introduce() -> None:
    """Tell numba of the kernels that were written since the last time."""
    from numba import config  # noqa: PLC0415
    from numba.extending import overload  # noqa: PLC0415 - not that of typing

    with _lock:
        while _introductions and not config.DISABLE_JIT:
            _introductions.pop()()
        while _pending and not config.DISABLE_JIT:
            function, choose, flags = _pending.pop()
            overload(function, jit_options=_FLAGS | flags, strict=False)(choose)


class entry(Generic[P, R]):
    """A kernel called from Python, compiled at its first call and cached on disk."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.py_func = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        dispatcher = self.compiled
        if _pending:
            _introduce()
        return dispatcher(*args, **kwargs)

    @functools.cached_property
    def compiled(self) -> Callable[P, R]:
        """The dispatcher, which compiles itself for new types of arguments."""
        import numba  # noqa: PLC0415 - 0.4 s, and only needed now

        if numba.config.DISABLE_JIT:
            return self.py_func
        with _lock:
            dispatcher = numba.njit(nogil=True, _nrt=_outsider(self.py_func), **_FLAGS)(self.py_func)
            dispatcher._cache = _disk_cache(self.py_func)
        return dispatcher  # type: ignore[no-any-return]

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> Callable[P, R]:
        """The machine code for arguments of exactly these types.

        A call through the dispatcher spends about 5 µs on finding out the types of nested tuples; a caller
        whose types never change can do without. Compiles, but does not run, the kernel.
        """
        import numba  # noqa: PLC0415

        dispatcher: Any = self.compiled
        if numba.config.DISABLE_JIT:
            return self.py_func
        signature = self.signature(*args)
        dispatcher.compile(signature)
        return dispatcher.overloads[signature].entry_point  # type: ignore[no-any-return]

    def signature(self, *args: Any) -> tuple[Any, ...]:
        """What decides which machine code is used; empty where nothing is compiled."""
        import numba  # noqa: PLC0415

        if numba.config.DISABLE_JIT:
            return ()
        _introduce()
        return tuple(numba.typeof(value) for value in args)

    def is_ready(self, signature: tuple[Any, ...]) -> bool:
        """Is there machine code for this signature, in memory or on disk?"""
        dispatcher: Any = self.compiled
        if not signature or signature in dispatcher.overloads:
            return True
        return bool(dispatcher._cache.has(signature, dispatcher.targetctx))


# --- the disk cache -------------------------------------------------------------------------------------
# numba's own cache looks only at the file of the function it caches, so a cached caller keeps using the
# old code of a helper that was edited in another file. Here the folder is named by a hash of all sources.


# what only calls the kernels, or shows how far they are: edits change no number
WITHOUT_KERNELS = ("experiments", "report", "cli.py", "_progress.py")


def _hash(paths: list[Path], root: Path | None = None) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.relative_to(root) if root else path).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def source_hash() -> str:
    """A hash over the Python files of the package that decide numbers; the same on every machine."""
    files = [
        path for path in _PACKAGE.rglob("*.py") if path.relative_to(_PACKAGE).parts[0] not in WITHOUT_KERNELS
    ]
    return _hash(files, _PACKAGE)


def cache_directory() -> Path:
    """Where compiled kernels are kept: ``$BOTHWORLDS_CACHE_DIR`` or the user's cache, by source hash."""
    root = os.environ.get("BOTHWORLDS_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if not root:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(base, "bothworlds")
    for candidate in (Path(root), Path(tempfile.gettempdir()) / f"bothworlds-{_user()}"):
        path = candidate / source_hash()
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
        except OSError:
            continue  # a read-only home: the next place
        return path
    raise OSError(f"no writable folder for compiled kernels; set BOTHWORLDS_CACHE_DIR (tried {root})")


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _classes(kind: Any) -> Iterator[type]:
    """The ``NamedTuple`` classes in a numba type, however deep."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class
    for part in getattr(kind, "types", ()):
        yield from _classes(part)


def _disk_cache(function: Callable[..., Any]) -> Any:
    """A cache for numba: kernels of the package in one folder, those of each set of other files in their own.

    An index that names a class of the user's must never be read by a program that cannot import it, and
    a policy that was edited must never meet the code of its earlier self.
    """
    from numba.core import caching  # noqa: PLC0415

    def cache_in(folder: Path) -> Any:
        class Locator(caching._CacheLocator):  # type: ignore[misc]
            def get_cache_path(self) -> str:
                return str(folder)

            def get_source_stamp(self) -> str:
                return source_hash()

            def get_disambiguator(self) -> str:
                return function.__module__

            @classmethod
            def from_function(cls, py_func: Any, py_file: str) -> Locator:
                return cls()

        class Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
            _locator_classes = (Locator,)

        class Cache(caching.FunctionCache):  # type: ignore[misc]
            _impl_class = Implementation

        cache = Cache(function)
        # numba numbers its files: two processes that save at once would take the same number, and an index
        # would name the code of another signature
        files = cache._cache_file
        files._data_name_pattern = files._data_name_pattern.replace("{number", f"{_PROCESS}-{{number")
        return cache

    class Router(caching.NullCache):  # type: ignore[misc]
        def __init__(self) -> None:
            self.caches: dict[Path, Any] = {}

        def choose(self, signature: Any) -> Any:
            kinds = {kind for argument in signature for kind in _classes(argument)}
            files = {path for kind in kinds for path in _outside.get(kind, ())}
            if not all(path.is_file() for path in files):
                return None  # typed at a prompt: nothing to compare with next time
            folder = cache_directory() / _hash(sorted(files)) if files else cache_directory()
            if folder not in self.caches:
                self.caches[folder] = cache_in(folder)
            return self.caches[folder]

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            cache = self.choose(sig)
            try:
                found = None if cache is None else cache.load_overload(sig, target_context)
            except (ImportError, AttributeError):
                return None  # the same file under another module name
            # machine code for other types would read memory that is not there
            return found if found is None or tuple(found.signature.args) == tuple(sig) else None

        def has(self, sig: Any, target_context: Any) -> bool:
            cache = self.choose(sig)
            if cache is None:
                return False
            key = cache._index_key(sig, target_context.codegen())
            return key in cache._cache_file._load_index()

        def save_overload(self, sig: Any, data: Any) -> None:
            cache = self.choose(sig)
            if cache is not None:
                # numba numbers its files by an index that it reads, then writes: two processes that compile
                # different kernels at the same time could give both the same number
                folder = Path(cache.cache_path)
                folder.mkdir(parents=True, exist_ok=True)
                with exclusive(folder / "lock"):
                    cache.save_overload(sig, data)

    return Router()
