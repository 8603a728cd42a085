"""Mistakes in what was sent, in words: where they are, what is allowed, what may have been meant."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, NoReturn

import msgspec
from msgspec import inspect

from bothworlds._words import did_you_mean, short
from bothworlds.errors import InvalidArgumentError
from bothworlds.service import problems

# How msgspec words what it refuses; tests/service/test_msgspec.py fails if it says otherwise.
WHERE = re.compile(r" - at `(?:key in )?\$(.*)`\Z")
UNKNOWN = re.compile(r"Object contains unknown field `(.*)`\Z")
MISSING = re.compile(r"Object missing required field `(.*)`\Z")
NO_FIELD = "there is no such field"
CHOICE = re.compile(r"Invalid enum value (.*)\Z")
BYTE = re.compile(r"\(byte (\d+)\)\Z")
NO_NUMBER = re.compile(rb"[+-]?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
FIELD = re.compile(rb'"([^"\\]{1,200})"\s*:\s*\Z')


def at(pointer: str, detail: str) -> problems.InvalidRequestError:
    """A mistake at a place of the body; an empty pointer is the whole of it."""
    place = {"pointer": pointer, "detail": detail}
    return _mistake(pointer.strip("/") or "body", f"{pointer or 'the body'}: {detail}", place)


def of_parameter(name: str, detail: str) -> problems.InvalidRequestError:
    """A mistake in what is after the question mark."""
    return _mistake(name, f"{name} {detail}", {"parameter": name, "detail": detail})


def _mistake(argument: str, detail: str, place: dict[str, str]) -> problems.InvalidRequestError:
    """What decoders refuse is known in words alone: they give neither the value nor what is allowed."""
    error = InvalidArgumentError(argument, None, "as the service describes it", got=place["detail"])
    return problems.InvalidRequestError(error, detail, place)


def of_query(name: str, value: str, error: msgspec.ValidationError) -> problems.InvalidRequestError:
    """A parameter with a value that it cannot have."""
    wanted = str(error).removeprefix("Expected ").partition(", got ")[0]
    return of_parameter(name, f"must be {wanted}, got {value!r}")


def of_malformed(error: msgspec.DecodeError, raw: bytes) -> problems.MalformedRequestError:
    """A body that is no JSON: where it stops being some.

    Examples
    --------
    >>> import msgspec
    >>> from bothworlds.service.http import mistakes
    >>> for raw in (b'{"reward": NaN}', b'{"reward": 1, }', b'{"reward"'):
    ...     try:
    ...         msgspec.json.decode(raw)
    ...     except msgspec.DecodeError as error:
    ...         print(mistakes.of_malformed(error, raw).detail)
    the body is no JSON: 'reward' is NaN at byte 11, and JSON has no NaN and no Infinity; send a number
    the body is no JSON: trailing comma in object at byte 14, after '{"reward": 1, '
    the body is no JSON: Input data was truncated
    """
    found = BYTE.search(text := str(error))
    if found is None:
        return problems.MalformedRequestError(f"the body is no JSON: {text}")
    at = int(found[1])
    begin = at - 1 if raw[at - 1 : at] in (b"-", b"+") else at
    before = raw[:begin]
    if constant := NO_NUMBER.match(raw, begin):
        field = FIELD.search(before)
        who = repr(field[1].decode("utf-8", "replace")) if field else "a value"
        said = f"{who} is {constant[0].decode()} at byte {begin}"
        rule = "JSON has no NaN and no Infinity; send a number"
        return problems.MalformedRequestError(f"the body is no JSON: {said}, and {rule}")
    why = BYTE.sub("", text).removeprefix("JSON is malformed: ").strip()
    after = f", after {before[-40:].decode('utf-8', 'replace')!r}" if before else ""
    return problems.MalformedRequestError(f"the body is no JSON: {why} at byte {at}{after}")


def of_body(error: msgspec.ValidationError, kind: Any, raw: bytes) -> problems.InvalidRequestError:
    """What a decoder of this type refused in this body.

    Examples
    --------
    >>> import msgspec
    >>> from bothworlds.service.http import mistakes, schemas
    >>> sent = [b'{"rol": "viewer"}', b'{"role": "boss"}', b"{}"]
    >>> sent += [b'{"role": "viewer", "days": %b}' % days for days in (b'"7"', b"0", b"1e999")]
    >>> for raw in sent:
    ...     try:
    ...         msgspec.json.decode(raw, type=schemas.NewKey)
    ...     except msgspec.ValidationError as error:
    ...         print(mistakes.of_body(error, schemas.NewKey, raw).detail)
    /rol: there is no such field; did you mean 'role'? Known: role, label, days
    /role: must be one of 'admin', 'decider', 'editor', 'viewer', got 'boss'
    the body: the field 'role' is missing
    /days: must be `float | null`, got `str` '7'
    /days: must be `float` > 0.0, got 0
    /days: must be a number that a float can hold, got 1e999
    """
    try:
        sent = json.loads(raw, parse_float=_Number, parse_constant=_no_number)
    except (ValueError, RecursionError):
        sent = None
    return at(*explain_mistake(error, kind, sent))


class _Number(str):
    """A number as it was written."""

    __slots__ = ()
    __repr__ = str.__str__


def _no_number(constant: str) -> NoReturn:
    raise ValueError(constant)


def explain_mistake(error: msgspec.ValidationError, kind: Any, sent: Any) -> tuple[str, str]:
    """Where a value is not what its type takes, and in which way: a JSON pointer, and words.

    Parameters
    ----------
    error:
        What a decoder said.
    kind:
        The type that it wanted.
    sent:
        What it had, in plain types.
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
        return f"{pointer}/{match[1]}", f"{NO_FIELD}{hint} Known: {', '.join(known)}"
    if match := MISSING.match(text):
        return pointer, f"the field {match[1]!r} is missing"
    if match := CHOICE.match(text):
        choices = (
            ", ".join(map(repr, place.values)) if isinstance(place, inspect.LiteralType) else "its values"
        )
        return pointer, f"must be one of {choices}, got {match[1]}"
    if "matching regex" in text and (described := _description(kind, pointer)):
        text = f"Expected: {described.rstrip('.')}"
    elif text == "Number out of range":
        text = "Expected a number that a float can hold"
    return pointer, re.sub(r"\AExpected\b", "must be", text) + _got(text, pointer, sent)


def _got(text: str, pointer: str, sent: Any) -> str:
    """The value at a place, as it reads after what is allowed there; empty where it cannot be told."""
    parts = [part for part in pointer.split("/") if part]
    value = sent
    for part in parts:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ""
    if not parts or not text.startswith("Expected"):
        return ""
    length = f" of length {len(value)}" if " of length " in text else ""
    return f"{'' if ', got ' in text else ', got'} {short(value)}{length}"


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
