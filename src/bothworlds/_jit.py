"""Kernels: plain functions that numba compiles, and functions chosen by type.

Three decorators; ``_numba.py`` is what touches numba, ``_code_cache.py`` is where compiled code is
saved, and docs/kernels.md explains all three:

``@kernel``
    a plain function that compiled code may call.
``@generic``
    ``functools.singledispatch`` for kernels: the implementation is chosen by the type of the first
    argument, a ``NamedTuple`` of parameters, at compile time. The decorated body is the default.
``@entry``
    a kernel called from Python: compiled on its first call for each combination of argument types, then
    read from disk by later processes. ``entry.py_func`` is the plain Python function.

All three leave ordinary Python functions behind, so importing the package does not import numba. Without it,
and with ``NUMBA_DISABLE_JIT=1``, everything runs as Python (that is how coverage is measured).

No ``fastmath`` anywhere: it reorders sums, and a reordered sum is another trajectory. The numpy error
model is needed for loops with a division to vectorize.

Kernels own no memory: those of the package are compiled without numba's reference counts, which cost more
than a round of a fast policy. One that allocates (``np.empty``, or ``a[:] = b`` for arrays, which copies)
says so with ``allocates=True``; code outside the package may always allocate. Every array of an argument is
seven machine words, so that a call costs as much as a pass over ten arms: ``inline=True`` makes it none.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from bothworlds._value import require_dataclass
from bothworlds._words import short
from bothworlds.errors import InvalidArgumentError, KernelError

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

_PACKAGE = Path(__file__).parent

# Functions that numba has not been told about yet, each with the rule that picks its implementation, and
# the flags for that, by the types of arguments.
_pending: list[tuple[Callable[..., Any], Callable[..., tuple[Callable[..., Any], dict[str, bool]]]]] = []
# What else numba must be told before the first kernel is compiled.
_introductions: list[Callable[[], None]] = []
# Implementations that live outside the package, for each type they are chosen by.
outside: dict[type, list[Callable[..., Any]]] = {}
# The name of every kernel: that of the function, and for a generic one the type it is chosen by.
_kernels: dict[Callable[..., Any], str] = {}
# Files that are copies, as those that studies run, and what they are copies of.
originals: dict[str, str] = {}
_lock = threading.RLock()


# --- the compiler, if there is one ----------------------------------------------------------------------


class _Compiler(NamedTuple):
    """``_numba``, or None where kernels run as Python, and why, unless that was asked for."""

    module: Any
    why_not: str


@functools.cache
def can_compile() -> bool:
    """Is numba there, and not told to do nothing? Looks, and imports nothing."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0") and bool(importlib.util.find_spec("numba"))


@functools.cache
def _find_compiler() -> _Compiler:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return _Compiler(None, "")
    if not can_compile():
        return _Compiler(None, "numba is not installed")
    try:
        from bothworlds import _numba  # noqa: PLC0415 - 0.4 s, and only needed to compile
    except ImportError as error:  # a version that we do not know, or one that does not fit NumPy
        return _Compiler(None, f"numba cannot be used ({error})")
    return _Compiler(None if _numba.interpreted() else _numba, "")


def compiler() -> Any:
    """``_numba``, which imports numba; None where kernels run as Python."""
    return _find_compiler().module


def why_no_compiler() -> str:
    """Why kernels run as Python; empty where that was asked for."""
    return _find_compiler().why_not


@functools.cache
def advise_numba() -> None:
    """Where speed matters: say once that kernels run as Python for want of numba, and what to install."""
    reason = why_no_compiler()
    if reason:
        warnings.warn(
            f"{reason}, so this runs as plain Python, some hundred times slower: "
            "pip install 'bothworlds[fast]'",
            RuntimeWarning,
            stacklevel=3,
        )


# --- the decorators -------------------------------------------------------------------------------------


def outsider(function: Callable[..., Any]) -> bool:
    return not function.__code__.co_filename.startswith(f"{_PACKAGE}{os.sep}")


def is_kernel(value: Any) -> bool:
    """Is this a function that compiled code may call?"""
    return isinstance(value, FunctionType) and (value in _kernels or hasattr(value, "implementations"))


def known_as(file: str) -> str:
    """The name by which its author knows a file: that of the original where a copy is run."""
    return originals.get(file, file)


def comes_from_outside(params: Any) -> bool:
    """Has a part of these parameters kernels that are not the package's own?"""
    return type(params) in outside or (isinstance(params, tuple) and any(map(comes_from_outside, params)))


def what_to_do(params: Any, this: str) -> str:
    """About kernels that found no solution: their author should check them, who is us or somebody else."""
    if comes_from_outside(params):
        return "bothworlds.testing.check_policy and check_regularizer say which promise is broken"
    return f"please report this {this}"


def _flags(memory: bool, inline: bool) -> dict[str, bool]:
    """As numba calls them; what counts references is not inlined."""
    return {"_nrt": memory, "forceinline": inline and not memory}


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, allocates: bool = False, inline: bool = False) -> Callable[[F], F]: ...
def kernel(function: Any = None, *, allocates: bool = False, inline: bool = False) -> Any:
    """Let compiled code call ``function``."""
    if function is None:
        return functools.partial(kernel, allocates=allocates, inline=inline)
    chosen = function, _flags(allocates or outsider(function), inline)
    _pending.append((function, lambda *_: chosen))
    _kernels[function] = function.__name__
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
def generic(
    *, allocates: bool = False, inline: bool = False
) -> Callable[[Callable[P, R]], _GenericFunction[P, R]]: ...
def generic(default: Any = None, *, allocates: bool = False, inline: bool = False) -> Any:
    """A kernel whose implementation is chosen by the type of its first argument.

    ``allocates`` holds for all implementations; one alone can say so in ``register``. ``inline`` is for the
    default: one that does nothing should cost nothing.

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
        return functools.partial(generic, allocates=allocates, inline=inline)
    implementations: dict[type, Callable[..., Any]] = {}
    flags = {default: _flags(allocates or outsider(default), inline)}
    _kernels[default] = default.__name__

    # A plain function, not an object with __call__: numba can only look up functions.
    @functools.wraps(default)
    def dispatch(first: Any, *rest: Any) -> Any:
        return implementations.get(type(first), default)(first, *rest)

    every = allocates

    def register(kind: type, *, allocates: bool = False, inline: bool = False) -> Callable[[F], F]:
        if hasattr(kind, "parameters"):
            problem = f"it is chosen by a NamedTuple of numbers, got {short(kind)}"
            fix = f"register it for what {kind.__name__}.parameters returns"
            raise KernelError(default.__name__, problem, fix, fault="cannot be registered")

        def decorate(implementation: F) -> F:
            require_arguments(default, kind, implementation)
            require_first(default, kind, implementation, implementations.get(kind))
            implementations[kind] = implementation
            _kernels[implementation] = f"{default.__name__} of {kind.__name__}"
            if outsider(implementation):
                outside.setdefault(kind, []).append(implementation)
            flags[implementation] = _flags(every or allocates or outsider(implementation), inline)
            return implementation

        return decorate

    def choose(first: Any, *_: Any) -> tuple[Callable[..., Any], dict[str, bool]]:
        # numba's type of a NamedTuple knows its class; any other type gets the default
        found = implementations.get(getattr(first, "instance_class", object), default)
        return found, flags[found]

    dispatch.register = register  # type: ignore[attr-defined]
    dispatch.implementations = implementations  # type: ignore[attr-defined]
    _pending.append((dispatch, choose))
    return dispatch


def arguments_of(function: Callable[..., Any]) -> str:
    """The names of its arguments, in parentheses."""
    return f"({', '.join(function.__code__.co_varnames[: function.__code__.co_argcount])})"


def require_arguments(default: Callable[..., Any], kind: type, implementation: Callable[..., Any]) -> None:
    """An implementation takes as many arguments as the default, which compiled code gives it by position."""
    wanted, code = arguments_of(default), implementation.__code__
    if code.co_argcount != default.__code__.co_argcount:
        problem = f"it must take {wanted}, got {arguments_of(implementation)}"
        place = code.co_filename, code.co_firstlineno
        name = f"{default.__name__} of {kind.__name__}"
        raise KernelError(name, problem, f"write def _{wanted}", place, "cannot be registered")


def require_first(
    default: Callable[..., Any], kind: type, implementation: Any, there: Callable[..., Any] | None
) -> None:
    """What others have registered is not replaced: machine code may be made of it. What a helper has, is."""
    if there is None or not outsider(there) or there.__code__ == implementation.__code__:
        return
    name, code = f"{default.__name__} of {kind.__name__}", there.__code__
    problem = f"it is there already, from {known_as(code.co_filename)}, line {code.co_firstlineno}"
    fix = f"leave one out, helpers first; to replace it, define {kind.__name__} again, then all its kernels"
    place = implementation.__code__.co_filename, implementation.__code__.co_firstlineno
    raise KernelError(name, problem, fix, place, "cannot be registered")


def require_kernels(owner: Any, params: Any, kernels: dict[Any, str]) -> None:
    """What ``owner.parameters`` returns is a ``NamedTuple``, for which these kernels are registered.

    Each stands with a helper that registers it too, as in ``"draws_from_its_p({})"``, or with nothing.
    """
    require_dataclass(type(owner))
    kind, name = type(params), type(owner).__name__
    if not hasattr(kind, "_fields"):
        allowed = "a NamedTuple of numbers, whose type selects the kernels"
        fix = f"does {name}.parameters return one?"
        raise InvalidArgumentError(f"parameters of {name}", params, allowed, fix=fix)
    for kernel, helper in kernels.items():
        if kind not in kernel.implementations:
            arguments = arguments_of(kernel.__wrapped__)
            fix = f"write @{kernel.__name__}.register({kind.__name__}) above def _{arguments}"
            fix += f", or {helper.format(kind.__name__)}" if helper else ""
            problem = f"{name} cannot do without"
            raise KernelError(f"{kernel.__name__} of {kind.__name__}", problem, fix, fault="is missing")


def copy_state(values: Any, out: Any) -> None:
    """``out[:] = values`` for (nested) ``NamedTuple``s of arrays: any state, in place; compiled code too."""
    if isinstance(values, np.ndarray):
        out[:] = values
        return
    for one, other in zip(values, out, strict=True):
        copy_state(one, other)


def _copy_array(values: Any, out: Any) -> None:
    for i in range(values.size):
        out[i] = values[i]


def _copy_first_and_rest(values: Any, out: Any) -> None:  # compiled code has no loop over types
    copy_state(values[0], out[0])
    copy_state(values[1:], out[1:])


def _copy_nothing(values: Any, out: Any) -> None:
    pass


def _choose_copy(values: Any, out: Any) -> tuple[Callable[..., None], dict[str, bool]]:
    types = getattr(values, "types", None)  # numba's types of tuples know their parts
    tuples = _copy_first_and_rest if types else _copy_nothing
    return _copy_array if types is None else tuples, _flags(memory=False, inline=False)


_pending.append((copy_state, _choose_copy))


def _introduce(numba: Any) -> None:
    """Tell numba of the kernels that were written since the last time."""
    with _lock:
        while _introductions:
            _introductions.pop()()
        while _pending:
            numba.offer(*_pending.pop())


class entry(Generic[P, R]):
    """A kernel called from Python, compiled at its first call and cached on disk."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.py_func = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        numba = compiler()
        if numba is None:
            return self.python(*args, **kwargs)
        if _pending:
            _introduce(numba)
        with _explained(numba, self.py_func):
            return self.compiled(*args, **kwargs)

    @functools.cached_property
    def python(self) -> Callable[P, R]:
        """The kernel as Python, which like machine code goes through infinities without a word."""
        return np.errstate(all="ignore")(self.py_func)

    @functools.cached_property
    def compiled(self) -> Callable[P, R]:
        """The dispatcher, which compiles itself for new types of arguments; Python where nothing compiles."""
        numba = compiler()
        if numba is None:
            return self.python
        with _lock:  # threads that come at once share one
            if "compiled" not in self.__dict__:
                self.__dict__["compiled"] = numba.dispatcher(self.py_func, allocates=outsider(self.py_func))
            made: Callable[P, R] = self.__dict__["compiled"]
            return made

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> Callable[P, R]:
        """The machine code for arguments of exactly these types; Python where nothing compiles.

        A call through the dispatcher spends 5 to 13 µs on finding out the types of nested tuples; a caller
        whose types never change can do without. Compiles, but does not run, the kernel.
        """
        numba = compiler()
        if numba is None:
            return self.python
        signature = self.signature(*args)
        with _explained(numba, self.py_func):
            code: Callable[P, R] = numba.machine_code(self.compiled, signature)
            return code

    def signature(self, *args: Any) -> tuple[Any, ...]:
        """What decides which machine code is used; empty where nothing is compiled."""
        numba = compiler()
        if numba is None:
            return ()
        _introduce(numba)
        return tuple(numba.type_of(value) for value in args)

    def is_ready(self, signature: tuple[Any, ...]) -> bool:
        """Is there machine code for this signature, in memory or on disk?"""
        dispatcher: Any = self.compiled
        if not signature or signature in dispatcher.overloads:
            return True
        return bool(dispatcher._cache.has(signature, dispatcher.targetctx))

    @property
    def versions(self) -> int:
        """For how many combinations of types there is machine code in memory."""
        return len(getattr(self.compiled, "overloads", ()))


def arrays_alive() -> int:
    """How many arrays compiled code has allocated and not freed."""
    numba = compiler()
    return 0 if numba is None else numba.arrays_alive()


# --- errors of the compiler, in words -------------------------------------------------------------------


@contextlib.contextmanager
def _explained(numba: Any, function: Callable[..., Any]) -> Iterator[None]:
    """Name the kernel that cannot be compiled, and the fix where it is known, in place of numba's pages."""
    try:
        yield
    except numba.CompilerError as error:
        known = [(name, place) for place in numba.places_of(error) for name in [_kernel_at(place)] if name]
        if numba.failed:  # numba does not always say where in it, only where it was called
            innermost = next(iter(numba.failed))
            code, name = innermost.__code__, _kernels.get(innermost, innermost.__name__)
            inside = [one for one in known if one[0] == name]
            known = inside or [(name, (code.co_filename, code.co_firstlineno))]
            numba.failed.clear()
        kernel, place = known[0] if known else (function.__name__, ("", 0))
        problem, fix = numba.diagnose(error)
        raise KernelError(kernel, problem, fix, (known_as(place[0]), place[1])) from error


def _kernel_at(place: tuple[str, int]) -> str | None:
    """The kernel whose source is at this file and line, by the name people know it by."""
    file, line = place
    for implementation, name in _kernels.items():
        code = implementation.__code__
        lines = [at for *_, at in code.co_lines() if at is not None]
        if code.co_filename == file and lines and min(lines) - 1 <= line <= max(lines):
            return name
    return None
