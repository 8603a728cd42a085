"""How msgspec words what it refuses: ``mistakes`` reads its messages, which are no promise of msgspec's.

If one of these fails after an upgrade, correct the pattern in ``bothworlds.service.http.mistakes``.
"""

from __future__ import annotations

import pickle
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from bothworlds.service.http import mistakes


class Inner(Struct, forbid_unknown_fields=True):
    """A field of many kinds each."""

    kind: Literal["a", "b"]
    name: Annotated[str, Meta(pattern="^[a-z]*$", max_length=3)] = ""
    share: float = 0.0


class Outer(Struct):
    """Something inside something."""

    items: list[Inner] = []
    by_name: dict[str, float] = {}


def refused(raw: bytes) -> str:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(raw, type=Outer)
    return str(caught.value)


def test_where_it_is():
    text = refused(b'{"items": [{"kind": "a"}, {"kind": 1}]}')
    assert mistakes.WHERE.search(text)[1] == ".items[1].kind"
    assert mistakes.WHERE.search(refused(b'{"by_name": {"a": "b"}}'))[1] == ".by_name[...]"
    assert mistakes.WHERE.search(refused(b"[]")) is None


@pytest.mark.parametrize(
    ("item", "pattern", "found"),
    [
        (b'{"kind": "a", "nam": ""}', mistakes.UNKNOWN, "nam"),
        (b"{}", mistakes.MISSING, "kind"),
        (b'{"kind": "c"}', mistakes.CHOICE, "'c'"),
    ],
)
def test_what_is_wrong_with_a_field(item, pattern, found):
    text = mistakes.WHERE.sub("", refused(b'{"items": [%b]}' % item))
    assert pattern.match(text)[1] == found


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (b'{"kind": "a", "name": "B"}', "Expected `str` matching regex '^[a-z]*$'"),
        (b'{"kind": "a", "name": "abcd"}', "Expected `str` of length <= 3"),
        (b'{"kind": "a", "share": "1"}', "Expected `float`, got `str`"),
        (b'{"kind": "a", "share": 1e999}', "Number out of range"),
    ],
)
def test_what_is_expected(item, said):
    assert mistakes.WHERE.sub("", refused(b'{"items": [%b]}' % item)) == said


@pytest.mark.parametrize(
    ("raw", "byte", "why"),
    [
        (b'{"share": NaN}', 10, "JSON is malformed: invalid character"),
        (b'{"share": -Infinity}', 11, "JSON is malformed: invalid character"),
        (b'{"share": 1, }', 13, "JSON is malformed: trailing comma in object"),
    ],
)
def test_where_it_stops_being_json(raw, byte, why):
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(raw)
    found = mistakes.BYTE.search(str(caught.value))
    assert int(found[1]) == byte
    assert mistakes.BYTE.sub("", str(caught.value)).strip() == why


def test_what_a_parameter_must_be():
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert("x", Annotated[int, Meta(ge=1)], strict=False)
    problem = mistakes.of_query("limit", "x", caught.value)
    assert problem.detail == str(problem) == "limit must be `int`, got 'x'"
    assert problem.fields == {"errors": [{"parameter": "limit", "detail": "must be `int`, got 'x'"}]}
    twin = pickle.loads(pickle.dumps(problem))
    assert (twin.detail, twin.fields) == (problem.detail, problem.fields)
