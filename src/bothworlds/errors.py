"""Every exception that bothworlds raises on purpose.

::

    BothworldsError
    ├── InvalidArgument (ValueError)      a value that is not allowed: names argument, value, range and fix
    │   └── UnknownName (LookupError)     no policy or environment of that name: suggests the closest one
    ├── PullError (ValueError)            a pull that cannot be updated
    │   ├── ForeignPull                   it belongs to another bandit
    │   ├── RepeatedPull                  its feedback has been given already
    │   └── UnknownPull                   this bandit never made it
    ├── StateError (ValueError)           a saved state that cannot be restored
    ├── SpecError (ValueError)            an experiment file with mistakes: lists them all with their places
    ├── StoreError (OSError)              a folder that cannot take, or give, a study
    │   ├── DifferentStudy                it holds another experiment, version or seed: says what differs
    │   └── StoreInUse                    another run is writing to it: says which
    ├── WorkerError (RuntimeError)        workers that do not answer, that differ, or that die on a chunk
    └── SolverError (ArithmeticError)     a step that did not converge; never hidden, never repaired
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class BothworldsError(Exception):
    """Base of all errors raised on purpose by bothworlds."""


class InvalidArgument(BothworldsError, ValueError):
    """An argument has a value that is not allowed."""


class UnknownName(InvalidArgument, LookupError):
    """A registry holds nothing of this name."""


class PullError(BothworldsError, ValueError):
    """A pull cannot be updated."""


class ForeignPull(PullError):
    """The pull was made by another bandit."""


class RepeatedPull(PullError):
    """The pull has had its feedback already."""


class UnknownPull(PullError):
    """This bandit never made that pull."""


class StateError(BothworldsError, ValueError):
    """A saved state is truncated, too new, or belongs to something else."""


class Mistake(NamedTuple):
    """One mistake of an experiment file."""

    line: int | None
    """Where it is, or the table that lacks something; None where there is no such line."""
    place: str
    """For instance ``policy[2].beta``: the third [[policy]] table. Empty for the file as a whole."""
    text: str
    """What is wrong, the value, what is allowed, and the fix."""

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line is not None else ""
        where = ", ".join(part for part in (line, self.place) if part)
        return f"{where}: {self.text}" if where else self.text


class SpecError(BothworldsError, ValueError):
    """An experiment file has mistakes. All of them are in ``mistakes``, in the order of the file."""

    def __init__(self, source: str, mistakes: Sequence[Mistake]) -> None:
        self.source = source
        self.mistakes = tuple(mistakes)
        count = "a mistake" if len(self.mistakes) == 1 else f"{len(self.mistakes)} mistakes"
        listing = "\n".join(f"  {mistake}" for mistake in self.mistakes)
        super().__init__(f"{source} has {count}:\n{listing}")

    def __reduce__(self) -> tuple[type[SpecError], tuple[str, tuple[Mistake, ...]]]:
        return type(self), (self.source, self.mistakes)


class StoreError(BothworldsError, OSError):
    """A folder cannot take, or give, a study."""


class DifferentStudy(StoreError):
    """The folder belongs to another experiment, another version or another seed."""


class StoreInUse(StoreError):
    """Another run holds the lock of the folder."""


class WorkerError(BothworldsError, RuntimeError):
    """Workers do not answer, differ from this program, or die again and again on the same chunk."""


class SolverError(BothworldsError, ArithmeticError):
    """A solver stopped before it reached its tolerance."""
