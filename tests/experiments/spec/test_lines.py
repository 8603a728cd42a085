"""Where values stand in a TOML file, against what tomllib finds in it."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toml
from bothworlds.experiments.spec.mistakes import line_numbers

TEXT = '''# a comment = 1
a = 1 # [not] a table
"quoted \\" key" = "x = ["
'literal.key' = \'\'\'
b = 2\'\'\'
c.d . "e" = """
three
\\""" "quotes""""
list = [ # with [brackets]
  1, "],", [2,
  3], { x = 1, y.z = [4] },
]
when = 1979-05-27 07:32:00
empty = []
none = {}

[table]  # here
key = true
[table.inner]
key = -0.5e-3
[[many]]
a = 1
  [[many.more]]
  b = 2
  [[many.more]]
  [many.more.deep]
  c = 3
[[many]]
[many.more]
d = 4
'''


def places(value, place=()):
    """All places of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*place, key)
        yield from places(item, (*place, key))


def test_every_kind_of_value():
    found = line_numbers(TEXT)
    assert set(found) == set(places(tomllib.loads(TEXT)))
    rows = TEXT.split("\n")
    assert found["a",] == 2
    assert found['quoted " key',] == 3
    assert found["c", "d", "e"] == 6
    assert found["list", 2] == 10
    assert found["list", 2, 1] == 11
    assert found["list", 3, "y", "z", 0] == 11
    for place, line in [
        (("when",), "when"),
        (("table",), "[table]"),
        (("table", "inner", "key"), "key = -0.5e-3"),
        (("many",), "[[many]]"),
        (("many", 0, "more", 1, "deep", "c"), "  c = 3"),
        (("many", 1, "more", "d"), "d = 4"),
    ]:
        assert rows[found[place] - 1].startswith(line)


keys = st.text("ab_-1", min_size=1, max_size=3)
leaves = (
    st.integers()
    | st.booleans()
    | st.text("a\"'[]{}#=,\\ \n", max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    leaves, lambda part: st.lists(part, max_size=3) | st.dictionaries(keys, part, max_size=3), max_leaves=8
)


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(keys, values, max_size=4), st.lists(st.dictionaries(keys, values, max_size=3), max_size=3)
)
def test_any_document(head, tables):
    text = toml.table(head) + "".join(f"[[zz.t]]\n{toml.table(table)}" for table in tables)
    document = tomllib.loads(text)
    found = line_numbers(text)
    assert set(found) == set(places(document))
    rows = text.split("\n")
    for key in head:  # toml.table writes a line per key
        assert rows[found[key,] - 1].startswith(f"{key} = ")
    for number, table in enumerate(tables):
        assert rows[found["zz", "t", number] - 1] == "[[zz.t]]"
        assert all(rows[found["zz", "t", number, key] - 1].startswith(f"{key} = ") for key in table)


@pytest.mark.parametrize("text", ["", "\n\n# nothing\n", "a=1", "[t]"])
def test_small_documents(text):
    assert set(line_numbers(text)) == set(places(tomllib.loads(text)))
