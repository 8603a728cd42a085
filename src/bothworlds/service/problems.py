"""Everything that can go wrong with a request to the service: one class each, which HTTP maps one to one.

::

    ServiceError (BothworldsError)
    ├── MalformedRequestError         400   no JSON
    ├── UnauthorizedError             401   no key, or none that is good
    ├── ForbiddenError                403   a key of another role
    ├── UnknownPathError              404
    ├── NotOfferedError               404   a protocol has it, and this service does not: says why
    ├── UnknownExperimentError        404
    ├── UnknownDecisionError          404   (an UnknownPullError, too)
    ├── UnknownKeyError               404
    ├── UnknownExportError            404
    ├── WrongMethodError              405
    ├── TooSlowError                  408   the request was not whole in time
    ├── ExperimentExistsError         409   with other settings: says which differ
    ├── IdReusedError                 409   the id belongs to another experiment, segment or unit
    ├── OutcomeExistsError            409   (a RepeatedPullError, too) another value was reported before
    ├── ExperimentArchivedError       409   no more decisions are made
    ├── LimitReachedError             409   there are as many as there may be
    ├── LastAdminKeyError             409   without it nobody could make another
    ├── DecisionGoneError             410   (an UnknownPullError, too) the id is older than what is kept
    ├── PreconditionFailedError       412   it has changed since it was read
    ├── TooLargeError                 413
    ├── WrongMediaTypeError           415
    ├── InvalidRequestError           422   wraps an InvalidArgumentError, and is one
    ├── PreconditionRequiredError     428   say which version is to be changed
    ├── RateLimitedError              429
    ├── HeadTooLargeError             431
    ├── DefectError                   500   a mistake of the service itself
    ├── OverloadedError               503   too many requests wait
    ├── ClosedError                   503   the service is stopping, or has stopped
    └── StorageError                  503
        ├── StorageUnavailableError         busy, unreachable, read-only: try again
        ├── StorageFullError                the disk is full: writes go on by themselves when there is room
        └── StorageFailedError              a write may be lost: the process must end, and read the log again
"""

from __future__ import annotations

from typing import Any, ClassVar

from bothworlds.errors import BothworldsError, InvalidArgumentError, RepeatedPullError, UnknownPullError


class ServiceError(BothworldsError):
    """A request that cannot be answered; ``fields`` is what else is known of it, in JSON types."""

    slug: ClassVar[str] = "problem"
    """Names the kind, for programs."""
    status: ClassVar[int] = 500
    """The status code of HTTP."""
    retry_after: ClassVar[float | None] = None
    """Seconds after which the same request may succeed; None if it will not."""

    def __init__(self, detail: str, **fields: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.fields = fields

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.detail,), {"fields": self.fields}


class MalformedRequestError(ServiceError):
    """The body is no JSON."""

    slug = "malformed-request"
    status = 400


class UnauthorizedError(ServiceError):
    """There is no key with the request, or none that is good; which of them is not said."""

    slug = "unauthorized"
    status = 401


class ForbiddenError(ServiceError):
    """The key has another role."""

    slug = "forbidden"
    status = 403


class UnknownPathError(ServiceError):
    """Nothing is served there."""

    slug = "unknown-path"
    status = 404


class NotOfferedError(ServiceError):
    """A protocol has it, and this service does not."""

    slug = "not-offered"
    status = 404


class UnknownKeyError(ServiceError):
    """No key has this id."""

    slug = "unknown-key"
    status = 404


class UnknownExportError(ServiceError):
    """No export has this id, or this file."""

    slug = "unknown-export"
    status = 404


class WrongMethodError(ServiceError):
    """Something is served there, for other methods."""

    slug = "wrong-method"
    status = 405


class ExperimentArchivedError(ServiceError):
    """No more decisions are made; outcomes of those that were are learned."""

    slug = "experiment-archived"
    status = 409


class LimitReachedError(ServiceError):
    """There are as many as there may be."""

    slug = "limit-reached"
    status = 409


class LastAdminKeyError(ServiceError):
    """The key is the last good one of an admin: without it nobody could make another over HTTP."""

    slug = "last-admin-key"
    status = 409


class PreconditionFailedError(ServiceError):
    """It has changed since it was read."""

    slug = "precondition-failed"
    status = 412


class TooSlowError(ServiceError):
    """The request was not whole in time."""

    slug = "too-slow"
    status = 408


class HeadTooLargeError(ServiceError):
    """The address and the headers have more bytes than are read."""

    slug = "head-too-large"
    status = 431


class DefectError(ServiceError):
    """A mistake of ours."""

    slug = "defect"


class TooLargeError(ServiceError):
    """The body has more bytes than are read."""

    slug = "too-large"
    status = 413


class WrongMediaTypeError(ServiceError):
    """The body is said to be something else than JSON."""

    slug = "wrong-media-type"
    status = 415


class PreconditionRequiredError(ServiceError):
    """Who changes something must say which version of it."""

    slug = "precondition-required"
    status = 428


class RateLimitedError(ServiceError):
    """Too many requests of one key."""

    slug = "rate-limited"
    status = 429
    retry_after = 1.0


class UnknownExperimentError(ServiceError):
    """There is no experiment of this name."""

    slug = "unknown-experiment"
    status = 404


class UnknownDecisionError(ServiceError, UnknownPullError):
    """No decision has this id. That is final: a decision is on disk before it is answered."""

    slug = "unknown-decision"
    status = 404


class DecisionGoneError(ServiceError, UnknownPullError):
    """The id is of a time of which decisions are no longer kept."""

    slug = "decision-gone"
    status = 410


class ExperimentExistsError(ServiceError):
    """An experiment of this name has other settings."""

    slug = "experiment-exists"
    status = 409


class IdReusedError(ServiceError):
    """The id belongs to a decision of another experiment, segment or unit."""

    slug = "id-reused"
    status = 409


class OutcomeExistsError(ServiceError, RepeatedPullError):
    """Another value was reported before, or the decision was withdrawn."""

    slug = "outcome-exists"
    status = 409


class InvalidRequestError(ServiceError, InvalidArgumentError):
    """A value that is not allowed.

    Parameters
    ----------
    error:
        What is wrong with it.
    detail, place:
        All of it in words, and where the value is in the request with what is wrong there, as an item of
        ``errors``; by default those of the error, whose argument is a field of the body.
    """

    slug = "invalid-request"
    status = 422

    def __init__(
        self, error: InvalidArgumentError, detail: str = "", place: dict[str, str] | None = None
    ) -> None:
        InvalidArgumentError.__init__(
            self, error.argument, error.value, error.allowed, fix=error.fix, index=error.index, got=error.got
        )
        pointer = "".join(f"/{part}" for part in (error.argument, *error.index))
        self.detail = detail or str(error)
        self.fields = {"errors": [place or {"pointer": pointer, "detail": str(error)}]}
        self._made_of = error, detail, place

    def __str__(self) -> str:
        return self.detail

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of


class OverloadedError(ServiceError):
    """Too many requests wait."""

    slug = "overloaded"
    status = 503
    retry_after = 1.0


class ClosedError(ServiceError):
    """The service is stopping, or has stopped."""

    slug = "closed"
    status = 503
    retry_after = 1.0


class StorageError(ServiceError):
    """The database does not do its part."""

    slug = "storage-unavailable"
    status = 503
    retry_after = 1.0


class StorageUnavailableError(StorageError):
    """Busy, unreachable or read-only."""


class StorageFullError(StorageError):
    """The disk is full."""

    slug = "storage-full"


class StorageFailedError(StorageError):
    """A write may be lost although nobody said so: never retried; read the log again."""

    slug = "storage-failed"


def kinds(of: type[ServiceError] = ServiceError) -> dict[str, type[ServiceError]]:
    """All kinds of problems by their slugs; the most special of those that share one."""
    found: dict[str, type[ServiceError]] = {}
    for kind in of.__subclasses__():
        found = {kind.slug: kind} | kinds(kind) | found
    return found
