"""OpenFeature's Remote Evaluation Protocol: a flag is an experiment, its value an arm.

https://github.com/open-feature/protocol
"""

from __future__ import annotations

from typing import Any

from bothworlds.service import messages, problems
from bothworlds.service.http import schemas
from bothworlds.service.http.endpoints import Answer, Call


async def evaluate(call: Call) -> Answer:
    """Decide for a flag: targetingKey is the unit, the attribute segment the segment."""
    key, context = call.path["experiment"], call.body.context
    unit, segment = context.get("targetingKey"), context.get("segment", "")
    if unit is not None and not isinstance(unit, str):
        return failure(key, 400, "INVALID_CONTEXT", "targetingKey must be a string")
    if not isinstance(segment, str):
        return failure(key, 400, "INVALID_CONTEXT", "segment must be a string")
    try:
        made = await call.service.ask(
            call.hub, messages.Decide(key, segment=segment, unit=unit, key=call.caller.key_number)
        )
    except problems.UnknownExperimentError as problem:
        return failure(key, 404, "FLAG_NOT_FOUND", problem.detail)
    except problems.InvalidRequestError as problem:
        return failure(key, 400, "INVALID_CONTEXT", problem.detail)
    except problems.ExperimentArchivedError as problem:
        return failure(key, 400, "GENERAL", problem.detail)
    if not made.repeated:
        call.metrics.decisions.labels(made.experiment).inc()
    metadata: dict[str, Any] = {"decisionId": made.id, "probability": made.probability}
    answer = schemas.OfrepAnswer(
        key=key, value=made.arm, variant=str(made.arm), reason="SPLIT", metadata=metadata
    )
    return Answer(answer)


async def evaluate_all(call: Call) -> Answer:
    """Refuse to decide for all flags at once: what is decided and never shown would be learned from."""
    raise problems.NotOfferedError(
        "a decision is made for whom it is shown to: deciding in all experiments at once would leave most "
        "decisions open, and learn `missing` for arms that nobody saw; ask for one flag, when it is needed: "
        "POST /ofrep/v1/evaluate/flags/{name}"
    )


def failure(key: str, status: int, code: str, details: str) -> Answer:
    """As the protocol says it."""
    return Answer(schemas.OfrepFailure(key=key, error_code=code, error_details=details), status)
