"""Every exception that bothworlds raises on purpose.

::

    BothworldsError
    ├── InvalidArgumentError (ValueError)    a value that is not allowed: says what is, and the fix
    │   ├── OutOfRangeError                  a number outside its range
    │   └── UnknownNameError (LookupError)   nothing of that name is registered: suggests the closest one
    ├── PartError (ValueError)               a table that its class refuses: where it is, and why
    ├── NotCoveredError (ValueError)         no theorem covers these parameters: says which it would
    ├── PullError (ValueError)               a pull that cannot be updated
    │   ├── ForeignPullError                 it belongs to another bandit
    │   ├── RepeatedPullError                its feedback has been given already
    │   └── UnknownPullError                 this bandit never made it
    ├── StateError (ValueError)              a saved state that cannot be restored
    ├── SpecError (ValueError)               an experiment file with mistakes: lists them all, with lines
    ├── StoreError (OSError)                 a folder that cannot take, or give, a study
    │   ├── DifferentStudyError              it holds another experiment, version or seed: says what differs
    │   └── StoreInUseError                  another run is writing to it: says which
    ├── WorkerError (RuntimeError)           workers that do not answer, that differ, or that die on a chunk
    ├── KernelError (TypeError)              a kernel that is missing or cannot be used: which, and the fix
    ├── SolverError (ArithmeticError)        a step that did not converge; never hidden, never repaired
    ├── ServiceError                         a request to the decision service, one class for each kind that
    │                                        HTTP knows: their tree is in service/problems.py
    ├── RefusedError                         what a client raises: the service has refused a request
    ├── UnreachableError (OSError)           it could not be reached in time
    └── SpoolError (OSError)                 a spool that cannot be read or written, or is full

Errors carry their data as attributes and can be pickled: workers send them to other processes.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bothworlds._words import did_you_mean, short


class BothworldsError(Exception):
    """Base of all errors raised on purpose by bothworlds."""


class InvalidArgumentError(BothworldsError, ValueError):
    """An argument has a value that is not allowed.

    Parameters
    ----------
    argument:
        Its name.
    value:
        What was given.
    allowed:
        What would be allowed, as it reads after "must be".
    fix:
        What to do about it.
    index:
        Which entry of the argument it is, for a sequence or a table.
    got:
        The value in words, where they say more than its repr.

    Examples
    --------
    >>> print(InvalidArgumentError("means", 1.5, "at most 1", index=(3,), fix="rescale losses to [0, 1]"))
    means[3] must be at most 1, got 1.5; rescale losses to [0, 1]
    """

    def __init__(
        self,
        argument: str,
        value: Any,
        allowed: str,
        *,
        fix: str = "",
        index: tuple[int, ...] = (),
        got: str = "",
    ) -> None:
        super().__init__(argument, value, allowed)
        self.argument = argument
        self.value = value
        self.allowed = allowed
        self.fix = fix
        self.index = index
        self.got = got or short(value)

    def __str__(self) -> str:
        entry = "".join(f"[{i}]" for i in self.index)
        fix = f"; {self.fix}" if self.fix else ""
        return f"{self.argument}{entry} must be {self.allowed}, got {self.got}{fix}"

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            pickle.dumps(self.value)
            value = self.value
        except Exception:  # an object may refuse in any way: its words are sent instead
            value = self.got
        return type(self), (self.argument, value, self.allowed), self.__dict__ | {"value": value}


class OutOfRangeError(InvalidArgumentError):
    """A number is outside its range."""


class UnknownNameError(InvalidArgumentError, LookupError):
    """A registry holds nothing of this name."""

    def __init__(self, kind: str, name: Any, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        super().__init__(
            "name", name, f"one of {', '.join(self.known)}", fix=did_you_mean(str(name).lower(), self.known)
        )

    def __str__(self) -> str:
        hint = f"; {self.fix}" if self.fix else "."
        return f"no {self.kind} is called {self.got}{hint} Known: {', '.join(self.known)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, self.name, self.known)


class PartError(BothworldsError, ValueError):
    """A table that its class refuses; ``location`` leads to it, from the outermost table."""

    def __init__(self, location: tuple[str, ...], kind: str, error: Exception) -> None:
        super().__init__(location, kind, error)
        self.location = location
        self.kind = kind
        self.error = error

    def __str__(self) -> str:
        return in_words(self.error)


class NotCoveredError(BothworldsError, ValueError):
    """No theorem covers these parameters; the message says which it would. Never leaves ``bound``."""


class PullError(BothworldsError, ValueError):
    """A pull cannot be updated."""


class ForeignPullError(PullError):
    """The pull was made by another bandit."""


class RepeatedPullError(PullError):
    """The pull has had its feedback already."""


class UnknownPullError(PullError):
    """This bandit never made that pull."""


class StateError(BothworldsError, ValueError):
    """A saved state is truncated, too new, or belongs to something else."""


class Mistake(NamedTuple):
    """One mistake of an experiment file."""

    line: int | None
    """Where it is, or the table that lacks something; None where there is no such line."""
    location: str
    """For instance ``policy[2].beta``: the third [[policy]] table. Empty for the file as a whole."""
    text: str
    """What is wrong, the value, what is allowed, and the fix."""

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line is not None else ""
        where = ", ".join(part for part in (line, self.location) if part)
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


class DifferentStudyError(StoreError):
    """The folder belongs to another experiment, another version or another seed."""


class StoreInUseError(StoreError):
    """Another run holds the lock of the folder."""


class WorkerError(BothworldsError, RuntimeError):
    """Workers do not answer, differ from this program, or die again and again on the same chunk."""


class KernelError(BothworldsError, TypeError):
    """A kernel is missing or cannot be used. Where numba refuses it, its own error is the cause."""

    def __init__(
        self,
        kernel: str,
        problem: str,
        fix: str,
        place: tuple[str, int] = ("", 0),
        fault: str = "cannot be compiled",
    ) -> None:
        super().__init__(kernel, problem, fix, place, fault)
        self.kernel = kernel
        self.problem = problem
        self.fix = fix
        self.file, self.line = place
        self.fault = fault

    def __str__(self) -> str:
        where = f" ({self.file}, line {self.line})" if self.file else ""
        return f"{self.kernel} {self.fault}{where}: {self.problem}; {self.fix}"


class SolverError(BothworldsError, ArithmeticError):
    """A solver stopped before it reached its tolerance."""


def in_words(error: Exception) -> str:
    """What an error says; one that is not ours is named too."""
    return str(error) if isinstance(error, BothworldsError) else f"{type(error).__name__}: {error}"


class RefusedError(BothworldsError):
    """The service has refused a request: a key that is not good, an experiment that there is not, …

    Parameters
    ----------
    status:
        The status code of HTTP.
    problem:
        Names the kind, for programs: ``"unknown-experiment"``, say. Empty if another server has answered.
    detail:
        What is wrong, for people.
    fields:
        All that was answered (RFC 9457).
    """

    index: int | None = None
    """Which of many it was, the first; None for one alone."""
    results: Sequence[Any] = ()
    """Of many: what became of each; those that were refused are errors like this one."""

    def __init__(
        self, status: int, problem: str, detail: str, *, fields: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(status, problem, detail)
        self.status = status
        self.problem = problem
        self.detail = detail
        self.fields = dict(fields or {})

    def __str__(self) -> str:
        which = "" if self.index is None else f"number {self.index}: "
        return f"{which}{self.detail} ({f'{self.status} {self.problem}'.rstrip()})"


class UnreachableError(BothworldsError, OSError):
    """The service could not be reached in time, or could not do its part."""

    def __init__(self, detail: str, *, in_doubt: bool = False) -> None:
        super().__init__(detail)
        self.in_doubt = in_doubt
        """May it have done what was asked nevertheless?"""


class SpoolError(BothworldsError, OSError):
    """A spool cannot be read or written, or it is full."""
