"""What a client raises.

::

    BothworldsError
    ├── RefusedError         the service has refused a request, which will not be better the next time
    ├── UnreachableError     the service could not be reached in time (OSError)
    └── SpoolError           a spool that cannot be read or written, or is full (OSError)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bothworlds.errors import BothworldsError


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
