"""The table of all endpoints: what is not here is not served, and nobody may what is not said here."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bothworlds.service.http import (
    administration,
    board,
    decisions,
    experiments,
    exporting,
    health,
    ofrep,
    schemas,
    watching,
)
from bothworlds.service.http.endpoints import Answer, Call, Endpoint, Query
from bothworlds.service.problems import (
    DecisionGoneError,
    ExperimentArchivedError,
    ExperimentExistsError,
    IdReusedError,
    LastAdminKeyError,
    LimitReachedError,
    NotOfferedError,
    OutcomeExistsError,
    PreconditionFailedError,
    PreconditionRequiredError,
    UnauthorizedError,
    UnknownDecisionError,
    UnknownExperimentError,
    UnknownExportError,
    UnknownKeyError,
    UnknownPathError,
    kinds,
)

LIMIT = Query("limit", Annotated[int, Meta(ge=1, le=500)], 100, "How many at most.")
AFTER_NAME = Query("after", Annotated[str, Meta(max_length=200)], None, "The last name that was seen.")
AFTER_NUMBER = Query("after", Annotated[int, Meta(ge=0, le=1 << 62)], 0, "The last number that was seen.")

SEGMENT = Query("segment", Annotated[str, Meta(max_length=200)], None, "One segment alone; it may be empty.")
POINTS = Query("points", Annotated[int, Meta(ge=2, le=1024)], 512, "How many at most.")


async def problem(call: Call) -> Answer:
    """What a kind of problem is: where the ``type`` of a refusal leads."""
    kind = kinds().get(call.path["name"])
    if kind is None:
        raise UnknownPathError(f"there is no problem of this name; there are {', '.join(sorted(kinds()))}")
    said = (kind.__doc__ or "").partition("\n")[0]
    title = kind.slug.replace("-", " ")
    found = schemas.ProblemKind(type=f"/problems/{kind.slug}", title=title, status=kind.status, detail=said)
    return Answer(found)


async def openapi(call: Call) -> Answer:
    """This description."""
    from bothworlds.service.http.openapi import document  # noqa: PLC0415 - made when it is first asked for

    return Answer(document(), headers=[(b"cache-control", b"max-age=60")])


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/experiments/{experiment}/decisions",
        right="decide",
        handler=decisions.decide,
        body=schemas.NewDecision,
        answers={201: schemas.Decision, 200: schemas.Decision},
        refusals=(
            UnknownExperimentError,
            IdReusedError,
            ExperimentArchivedError,
            DecisionGoneError,
            LimitReachedError,
        ),
    ),
    Endpoint(
        method="PUT",
        path="/v1/decisions/{id}/outcome",
        right="decide",
        handler=decisions.report,
        body=schemas.NewOutcome,
        answers={200: schemas.Outcome},
        refusals=(UnknownDecisionError, DecisionGoneError, OutcomeExistsError),
    ),
    Endpoint(
        method="POST",
        path="/v1/experiments/{experiment}/decisions:batch",
        right="decide",
        handler=decisions.decide_many,
        body=schemas.NewDecisions,
        decoded=schemas.RawDecisions,
        answers={200: schemas.DecisionResults},
        big=True,
        cost=lambda body: len(body.decisions),
    ),
    Endpoint(
        method="POST",
        path="/v1/outcomes:batch",
        right="decide",
        handler=decisions.report_many,
        body=schemas.NewOutcomes,
        decoded=schemas.RawOutcomes,
        answers={200: schemas.OutcomeResults},
        big=True,
        cost=lambda body: len(body.outcomes),
    ),
    Endpoint(
        method="GET",
        path="/v1/decisions/{id}",
        right="decide",
        handler=decisions.find,
        answers={200: schemas.FoundDecision},
        refusals=(UnknownDecisionError, DecisionGoneError),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/decisions/{id}",
        right="decide",
        handler=decisions.withdraw,
        answers={200: schemas.Outcome},
        refusals=(UnknownDecisionError, DecisionGoneError, OutcomeExistsError),
    ),
    Endpoint(
        method="POST",
        path="/ofrep/v1/evaluate/flags/{experiment}",
        right="decide",
        handler=ofrep.evaluate,
        body=schemas.OfrepRequest,
        answers={200: schemas.OfrepAnswer, 400: schemas.OfrepFailure, 404: schemas.OfrepFailure},
    ),
    Endpoint(
        method="POST",
        path="/ofrep/v1/evaluate/flags",
        right="decide",
        handler=ofrep.evaluate_all,
        body=schemas.OfrepRequest,
        answers={},
        refusals=(NotOfferedError,),
    ),
    Endpoint(
        method="POST",
        path="/v1/experiments",
        right="edit",
        handler=experiments.create,
        body=schemas.NewExperiment,
        answers={201: schemas.Experiment, 200: schemas.Experiment},
        refusals=(ExperimentExistsError, LimitReachedError),
        big=True,
    ),
    Endpoint(
        method="GET",
        path="/v1/experiments",
        right="read",
        handler=experiments.listed,
        answers={200: schemas.Experiments},
        query=(LIMIT, AFTER_NAME),
    ),
    Endpoint(
        method="GET",
        path="/v1/experiments/{experiment}",
        right="read",
        handler=experiments.one,
        answers={200: schemas.Experiment},
        refusals=(UnknownExperimentError,),
    ),
    Endpoint(
        method="PATCH",
        path="/v1/experiments/{experiment}",
        right="edit",
        handler=experiments.change,
        body=schemas.ExperimentChanges,
        answers={200: schemas.Experiment},
        refusals=(UnknownExperimentError, PreconditionFailedError, PreconditionRequiredError),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/experiments/{experiment}",
        right="edit",
        handler=experiments.archive,
        answers={200: schemas.Experiment},
        refusals=(UnknownExperimentError, PreconditionFailedError, PreconditionRequiredError),
    ),
    Endpoint(
        method="POST",
        path="/v1/experiments/{experiment}/arms",
        right="edit",
        handler=experiments.change_arms,
        body=schemas.ArmChange,
        answers={200: schemas.Arms},
        refusals=(UnknownExperimentError, LimitReachedError),
    ),
    Endpoint(
        method="GET",
        path="/v1/experiments/{experiment}/bandits",
        right="read",
        handler=watching.bandits,
        answers={200: schemas.Bandits},
        refusals=(UnknownExperimentError,),
        query=(LIMIT, AFTER_NAME, SEGMENT),
    ),
    Endpoint(
        method="GET",
        path="/v1/experiments/{experiment}/curves",
        right="read",
        handler=watching.curve,
        answers={200: schemas.Curve},
        refusals=(UnknownExperimentError,),
        query=(SEGMENT, POINTS),
    ),
    Endpoint(
        method="GET",
        path="/v1/reporters",
        right="read",
        handler=watching.reporters,
        answers={200: schemas.Reporters},
    ),
    Endpoint(
        method="GET",
        path="/v1/stream",
        right="read",
        handler=watching.stream,
        answers={200: str},
        refusals=(LimitReachedError,),
        media_type="text/event-stream",
    ),
    Endpoint(
        method="POST",
        path="/v1/exports",
        right="edit",
        handler=exporting.start,
        body=schemas.NewExport,
        answers={202: schemas.Export},
        refusals=(UnknownExperimentError, LimitReachedError),
    ),
    Endpoint(
        method="GET",
        path="/v1/exports/{id}",
        right="edit",
        handler=exporting.find,
        answers={200: schemas.Export},
        refusals=(UnknownExportError,),
    ),
    Endpoint(
        method="GET",
        path="/v1/exports/{id}/{name}",
        right="edit",
        handler=exporting.fetch,
        answers={200: bytes},
        refusals=(UnknownExportError,),
        media_type="application/vnd.apache.parquet",
    ),
    Endpoint(
        method="POST",
        path="/v1/keys",
        right="administer",
        handler=administration.new_key,
        body=schemas.NewKey,
        answers={201: schemas.MadeKey},
        refusals=(LimitReachedError,),
    ),
    Endpoint(
        method="GET",
        path="/v1/keys",
        right="administer",
        handler=administration.keys,
        answers={200: schemas.Keys},
    ),
    Endpoint(
        method="DELETE",
        path="/v1/keys/{id}",
        right="administer",
        handler=administration.revoke,
        answers={204: None},
        refusals=(UnknownKeyError, LastAdminKeyError),
    ),
    Endpoint(
        method="GET",
        path="/v1/audit",
        right="administer",
        handler=administration.audit,
        answers={200: schemas.AuditEntries},
        query=(LIMIT, AFTER_NUMBER),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/units/{unit:anything}",
        right="administer",
        handler=administration.erase,
        answers={200: schemas.Erased},
    ),
    Endpoint(
        method="POST",
        path="/v1/links",
        right="read",
        handler=administration.new_link,
        answers={201: schemas.Link},
    ),
    Endpoint(
        method="POST",
        path="/v1/sessions",
        right=None,
        handler=administration.new_session,
        body=schemas.NewSession,
        answers={204: None},
        refusals=(UnauthorizedError,),
    ),
    Endpoint(method="GET", path="/livez", right=None, handler=health.live, answers={200: schemas.Health}),
    Endpoint(
        method="GET",
        path="/readyz",
        right=None,
        handler=health.ready,
        answers={200: schemas.Health, 503: schemas.Health},
    ),
    Endpoint(
        method="GET",
        path="/metrics",
        right="read",
        handler=health.metrics,
        answers={200: str},
        media_type="text/plain",
    ),
    Endpoint(
        method="GET",
        path="/problems/{name}",
        right=None,
        handler=problem,
        answers={200: schemas.ProblemKind},
        refusals=(UnknownPathError,),
    ),
    Endpoint(method="GET", path="/openapi.json", right=None, handler=openapi, answers={200: dict}),
    *board.ENDPOINTS,
)
