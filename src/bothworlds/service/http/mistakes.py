"""Mistakes in what was sent, in words: where they are, what is allowed, what may have been meant."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
from bothworlds.service import problems

WHERE = re.compile(r" - at `(?:key in )?\$(.*)`\Z")
UNKNOWN = re.compile(r"Object contains unknown field `(.*)`\Z")
MISSING = re.compile(r"Object missing required field `(.*)`\Z")
CHOICE = re.compile(r"Invalid enum value (.*)\Z")


def at(pointer: str, detail: str) -> problems.InvalidRequest:
    """A mistake at a place of the body; an empty pointer is the whole of it."""
    error = InvalidArgumentError(pointer.strip("/") or "body", None, "otherwise", got=detail)
    problem = problems.InvalidRequest(error)
    problem.detail = f"{pointer or 'the body'}: {detail}"
    problem.fields = {"errors": [{"pointer": pointer, "detail": detail}]}
    return problem


def of_parameter(name: str, detail: str) -> problems.InvalidRequest:
    """A mistake in what is after the question mark."""
    problem = at(name, detail)
    problem.detail = f"{name} {detail}"
    problem.fields = {"errors": [{"parameter": name, "detail": detail}]}
    return problem


def of_query(name: str, value: str, error: msgspec.ValidationError) -> problems.InvalidRequest:
    """A parameter with a value that it cannot have."""
    wanted = str(error).removeprefix("Expected ").partition(", got ")[0]
    return of_parameter(name, f"must be {wanted}, got {value!r}")


def of_body(error: msgspec.ValidationError, kind: Any) -> problems.InvalidRequest:
    """What a decoder of this type refused.

    Examples
    --------
    >>> import msgspec
    >>> from bothworlds.service.http import mistakes, schemas
    >>> for sent in ({"rol": "viewer"}, {"role": "boss"}, {}, {"role": "viewer", "days": "7"}):
    ...     try:
    ...         msgspec.convert(sent, schemas.NewKey)
    ...     except msgspec.ValidationError as error:
    ...         print(mistakes.of_body(error, schemas.NewKey).detail)
    /rol: there is no such field; did you mean 'role'? Known: role, label, days
    /role: must be one of 'admin', 'decider', 'editor', 'viewer', got 'boss'
    the body: the field 'role' is missing
    /days: must be `float | null`, got `str`
    """
    text = str(error)
    found = WHERE.search(text)
    where = found[1] if found else ""
    text = WHERE.sub("", text)
    pointer = re.sub(r"\[(\d+|\.\.\.)\]|\.", lambda match: f"/{match[1] or ''}", where)
    place = _place(kind, [part for part in pointer.split("/") if part])
    if match := UNKNOWN.match(text):
        known = [field.encode_name for field in place.fields] if isinstance(place, inspect.StructType) else []
        guess = did_you_mean(match[1], known)
        hint = f"; {guess}" if guess else "."
        return at(f"{pointer}/{match[1]}", f"there is no such field{hint} Known: {', '.join(known)}")
    if match := MISSING.match(text):
        return at(pointer, f"the field {match[1]!r} is missing")
    if match := CHOICE.match(text):
        choices = (
            ", ".join(map(repr, place.values)) if isinstance(place, inspect.LiteralType) else "its values"
        )
        return at(pointer, f"must be one of {choices}, got {match[1]}")
    if "matching regex" in text and (described := _description(kind, pointer)):
        return at(pointer, f"must be: {described}")
    return at(pointer, re.sub(r"\AExpected ", "must be ", text))


@cache
def _type(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _place(kind: Any, parts: list[str], *, bare: bool = True) -> inspect.Type:
    """The type at a place; of several, the one that has parts or choices."""
    here = _type(kind)
    for part in parts:
        here = _bare(here)
        if isinstance(here, inspect.StructType):
            named = [field.type for field in here.fields if field.encode_name == part]
            here = named[0] if named else inspect.AnyType()
        elif isinstance(here, inspect.ListType):
            here = here.item_type
        else:
            return inspect.AnyType()
    return _bare(here) if bare else here


def _bare(here: inspect.Type) -> inspect.Type:
    while True:
        if isinstance(here, inspect.Metadata):
            here = here.type
        elif isinstance(here, inspect.UnionType):
            kinds = (inspect.StructType, inspect.LiteralType, inspect.ListType)
            here = next((one for one in map(_bare, here.types) if isinstance(one, kinds)), inspect.AnyType())
        else:
            return here


def _description(kind: Any, pointer: str) -> str:
    here = _place(kind, [part for part in pointer.split("/") if part], bare=False)
    options = here.types if isinstance(here, inspect.UnionType) else (here,)
    for one in options:
        if isinstance(one, inspect.Metadata) and one.extra_json_schema:
            said: str = one.extra_json_schema.get("description", "")
            return said
    return ""
