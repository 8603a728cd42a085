"""How a broken promise is reported, and promises that policies, environments and regularizers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

R = TypeVar("R")

FAR_OUT = 5.0  # standard errors: one correct policy or environment in two million is accused
MOST_DRAWS = 16  # uniforms that are tried where those of a round were not enough


def require(holds: Any, subject: Any, promise: str) -> None:
    """Say of whom, and which promise is broken."""
    if not holds:
        raise AssertionError(f"{subject!r}: {promise}")


def require_hashable(value: Any) -> None:
    """Say which field cannot be hashed, if one cannot."""
    try:
        hash(value)
    except TypeError as error:
        wrong = [field.name for field in fields(value) if not _hashable(getattr(value, field.name))]
        where = f" ({', '.join(wrong)})" if wrong else ""
        fix = "use a tuple for a list or an array, and leave __eq__ and __hash__ to dataclass"
        raise AssertionError(f"{value!r}: it must be hashable, but {error}{where}: {fix}") from error


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def in_bounds(subject: Any, draws: int, play: Callable[[int], R]) -> R:
    """What ``play`` returns with so many uniforms a round: as Python, which notices a wrong index."""
    try:
        return play(draws)
    except IndexError as error:
        fix = "machine code would read on, for it checks no index"
        for more in range(draws + 1, MOST_DRAWS + 1):
            try:
                play(more)
            except IndexError:
                continue
            fix = f"with {more} uniforms a round there is no error: set draws = {more}"
            break
        raise AssertionError(f"{subject!r}: a kernel reads beyond an array, {error}; {fix}") from error
