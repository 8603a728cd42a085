"""OpenAPI 3.1, made of the table of endpoints and of the types of their bodies."""

from __future__ import annotations

import functools
import re
from typing import Any

import msgspec

from bothworlds import _version
from bothworlds.service import problems
from bothworlds.service.http import schemas
from bothworlds.service.http.auth import COOKIE
from bothworlds.service.http.endpoints import Endpoint
from bothworlds.service.http.routes import ENDPOINTS

REF = "#/components/schemas/{name}"
IN_PATH = re.compile(r"\{(\w+)(?::\w+)?\}")
TYPES: dict[str, Any] = {
    "experiment": schemas.Text,
    "id": schemas.Text,
    "unit": schemas.Text,
    "name": schemas.Text,
}
OF_BODIES = (problems.MalformedRequestError, problems.TooLargeError, problems.WrongMediaTypeError)
OF_KEYS = (problems.UnauthorizedError, problems.ForbiddenError, problems.RateLimitedError)
OF_ALL = (problems.InvalidRequestError, problems.OverloadedError)


@functools.cache
def document() -> dict[str, Any]:
    """The whole description."""
    bodies = [endpoint.body for endpoint in ENDPOINTS if endpoint.body is not None]
    replies = [kind for endpoint in ENDPOINTS for kind in endpoint.answers.values() if kind is not None]
    kinds = list(dict.fromkeys([*bodies, *replies, schemas.Problem]))
    found, components = msgspec.json.schema_components(kinds, ref_template=REF)
    by_type = dict(zip(kinds, found, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        path = IN_PATH.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = operation(endpoint, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bothworlds",
            "version": _version.__version__,
            "description": "Decisions and outcomes of multi-armed bandits, durably.",
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "bw_<id>_<secret>"},
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
    }


def operation(endpoint: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    """One method of one path."""
    described: dict[str, Any] = {
        "operationId": f"{endpoint.handler.__module__.rpartition('.')[2]}.{endpoint.handler.__name__}",
        "summary": endpoint.summary,
        "security": [],
        "responses": responses(endpoint, by_type),
    }
    if endpoint.right is not None:
        described["security"] = [{"key": []}]
        described["description"] = f"Needs the right to {endpoint.right}."
        if endpoint.right == "read":
            described["security"].append({"session": []})
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": schema_of(TYPES[name], required=True)}
        for name in IN_PATH.findall(endpoint.path)
    ]
    parameters += [
        {"name": one.name, "in": "query", "description": one.description, "schema": schema_of(one.type)}
        for one in endpoint.query
    ]
    if problems.PreconditionRequiredError in endpoint.refusals:
        text = {"type": "string", "pattern": r'^(\*|"[0-9]+")$'}
        parameters.append({"name": "If-Match", "in": "header", "required": True, "schema": text})
    if parameters:
        described["parameters"] = parameters
    if endpoint.body is not None:
        content = {"application/json": {"schema": by_type[endpoint.body]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def schema_of(kind: Any, *, required: bool = False) -> dict[str, Any]:
    """The schema of a parameter."""
    schema = msgspec.json.schema(kind)
    return schema | {"minLength": 1} if required else schema


def responses(endpoint: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    """All answers, and all refusals."""
    found: dict[str, Any] = {}
    for status, kind in endpoint.answers.items():
        found[str(status)] = {"description": "OK" if status < 300 else "Refused"}
        if kind is not None:
            content = {endpoint.media_type: {"schema": by_type[kind]}}
            found[str(status)]["content"] = content
    refusals: list[type[problems.ServiceError]] = [*endpoint.refusals, *OF_ALL]
    if endpoint.body is not None:
        refusals += OF_BODIES
    if endpoint.right is not None:
        refusals += OF_KEYS
    for refusal in refusals:
        names = [one.slug for one in refusals if one.status == refusal.status]
        answer = found.setdefault(str(refusal.status), {"description": ", ".join(dict.fromkeys(names))})
        content = answer.setdefault("content", {})
        content["application/problem+json"] = {"schema": by_type[schemas.Problem]}
    return found
