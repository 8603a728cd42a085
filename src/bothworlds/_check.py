"""Checks of arguments, in one wording: each names the argument, its value, what is allowed and the fix."""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError, OutOfRangeError, UnknownNameError


def extra(module: str, name: str, what: str) -> Any:
    """A module that an extra of this package brings; an error that says what to install, and for what."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} need the extra '{name}': pip install 'bothworlds[{name}]'") from error


def _range(above: float | None, at_least: float | None, below: float | None, at_most: float | None) -> str:
    parts = []
    if above is not None:
        parts.append(f"above {above:g}")
    if at_least is not None:
        parts.append(f"at least {at_least:g}")
    if below is not None:
        parts.append(f"below {below:g}")
    if at_most is not None:
        parts.append(f"at most {at_most:g}")
    return " and ".join(parts)


def _inside(
    value: float, above: float | None, at_least: float | None, below: float | None, at_most: float | None
) -> bool:
    return (
        (above is None or value > above)
        and (at_least is None or value >= at_least)
        and (below is None or value < below)
        and (at_most is None or value <= at_most)
    )


def number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    finite: bool = True,
    fix: str = "",
) -> float:
    """``value`` as a finite float inside the range, or :class:`InvalidArgumentError`."""
    wanted = f"a{' finite' * finite} number {_range(above, at_least, below, at_most)}".rstrip()
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(name, value, wanted, fix=fix) from None
    if (finite and not math.isfinite(result)) or not _inside(result, above, at_least, below, at_most):
        raise OutOfRangeError(name, result, wanted, fix=fix)
    return result


def integer(name: str, value: Any, *, at_least: float | None = None, fix: str = "") -> int:
    """``value`` as an int that is at least ``at_least``, or :class:`InvalidArgumentError`."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        result = operator.index(value)
    except TypeError:
        raise InvalidArgumentError(name, value, "an integer", fix=fix) from None
    if at_least is not None and result < at_least:
        raise OutOfRangeError(name, result, f"at least {at_least:g}", fix=fix)
    return result


def vector(
    name: str,
    values: Any,
    *,
    size: int | None = None,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    fix: str = "",
    index: tuple[int, ...] = (),
) -> NDArray[np.float64]:
    """``values`` as a new one-dimensional float64 array, every entry finite and inside the range.

    ``index`` says which row of the argument they are, if it is a table.
    """
    try:
        if np.asarray(values).dtype.kind in "USMmc":
            raise TypeError
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        wanted = "a one-dimensional sequence of numbers"
        raise InvalidArgumentError(name, values, wanted, fix=fix, index=index) from None
    if array.ndim != 1 or (size is not None and array.size != size):
        wanted = "a one-dimensional sequence" + ("" if size is None else f" of length {size}")
        raise InvalidArgumentError(name, values, wanted, got=f"shape {array.shape}", fix=fix, index=index)
    bad = ~np.isfinite(array)
    if above is not None:
        bad |= ~(array > above)
    if at_least is not None:
        bad |= ~(array >= at_least)
    if at_most is not None:
        bad |= ~(array <= at_most)
    if bad.any():
        at = int(np.argmax(bad))
        wanted = f"finite and {_range(above, at_least, None, at_most)}".removesuffix(" and ")
        raise OutOfRangeError(name, float(array[at]), wanted, fix=fix, index=(*index, at))
    return array


def indices(name: str, values: Any, *, below: int) -> NDArray[np.int64]:
    """``values`` as an int64 array of indices in ``0 .. below-1``."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        wanted = f"a one-dimensional sequence of integers in 0..{below - 1}"
        raise InvalidArgumentError(name, values, wanted)
    bad = (array < 0) | (array >= below)
    if bad.any():
        at = int(np.argmax(bad))
        raise InvalidArgumentError(name, int(array[at]), f"in 0..{below - 1}", index=(at,))
    return array.astype(np.int64)


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Refuse a ``value`` that is not among ``allowed``."""
    choices = list(allowed)
    if not any(value is choice or value == choice for choice in choices):
        listing = ", ".join(repr(choice) for choice in choices)
        fix = did_you_mean(str(value), [str(choice) for choice in choices])
        raise InvalidArgumentError(name, value, f"one of {listing}", fix=fix)


def known(kind: str, name: Any, names: Iterable[str]) -> str:
    """Refuse a registry ``name`` that is not among ``names``, suggesting the closest one."""
    choices = list(names)
    if isinstance(name, str) and name in choices:
        return name
    raise UnknownNameError(kind, name, choices)
