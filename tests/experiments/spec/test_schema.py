"""The JSON schema for editors, and the starter file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema  # comes with altair
import pytest

from bothworlds import environments, policies
from bothworlds.experiments.spec import json_schema, parse, read, starter_text
from cases import CASES
from toml import study
from worlds import WORLDS

SCHEMA = json_schema()
VALID = jsonschema.Draft202012Validator(SCHEMA)


def test_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")


def test_knows_every_kind():
    kinds = {table["properties"].get("kind", {}).get("const") for table in SCHEMA["$defs"].values()}
    theirs = {
        name for name in policies.names() if not policies.get(name).__module__.startswith("bothworlds.")
    }
    assert kinds >= set(policies.names()) - theirs | set(environments.names())


def test_allows_every_policy_and_environment():
    for case in CASES:
        VALID.validate(tomllib.loads(study(policy=policies.to_dict(case.policy))))
    for world in WORLDS:
        VALID.validate(tomllib.loads(study(environment=environments.to_dict(world.environment))))


def test_shipped_examples():
    paths = sorted((Path(__file__).parents[3] / "examples").glob("*.toml"))
    assert paths
    for path in paths:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        if "modules" not in found:  # the schema does not know their kinds
            VALID.validate(found)


def test_starter():
    text = starter_text(name="mine.toml", folder="out")
    VALID.validate(tomllib.loads(text))
    assert "bothworlds run mine.toml --out out" in text
    found = parse(text)
    assert sum(cell.horizon for cell in found.cells()) * found.replications < 5e6  # rounds: a few seconds
    assert text.count("#") > 20
    options = [
        line[2:]
        for line in text.splitlines()
        if line.startswith(("# checkpoints", "# record", "# tell", "# mod"))
    ]
    rest = text[text.index("# [[environment]]") :].replace("# ", "", 1).replace("\n# ", "\n")
    assert len(parse(text + "\n" + rest).environments) == 5  # what it shows in comments works too
    given = "\n".join(options) + "\n" + text
    assert parse(given).fingerprint() == found.fingerprint()  # the defaults that it names are the defaults


FTRL = {"kind": "ftrl", "constants": "light"}
GOOD = [
    FTRL | {"regularizer": "tsallis", "beta": [0.3, 0.5]},
    FTRL
    | {
        "regularizer": ["shannon", {"kind": "tsallis", "beta": 0.5}],
        "estimator": "capped-baseline",
        "kappa": 1,
    },
    {
        "kind": "ftrl",
        "regularizer": {"kind": "hybrid", "first": "shannon", "second": "tsallis", "beta": 0.5},
        "log_barrier": 0,
        "theta": 1,
        "alpha": 0.5,
    },
]
BAD = [
    FTRL | {"regularizer": "tsalis"},
    FTRL | {"regularizer": "tsallis", "beta": "high"},
    FTRL | {"regularizer": "tsallis", "bet": 0.3},
    FTRL | {"regularizer": "shannon", "constants": "lite"},
    FTRL,
    {"kind": "ftlr"},
    {},
]


def test_agrees_with_the_reader():
    for policy in GOOD:
        text = study(policy=policy)
        VALID.validate(tomllib.loads(text))
        assert parse(text).policies
    for policy in BAD:
        text = study(policy=policy)
        with pytest.raises(ValueError, match="mistake"):
            parse(text)
        assert not VALID.is_valid(tomllib.loads(text))


def test_hover_texts_come_from_the_docstrings():
    told = SCHEMA["$defs"]["EnvironmentDelayed"]["properties"]
    assert told["mean"]["description"].startswith("The mean delay in rounds")
    assert (
        SCHEMA["$defs"]["PolicyLightBarrier"]["description"]
        == policies.get("light-barrier").__doc__.split("\n")[0]
    )
    assert told["longest"]["default"] == 100_000
    assert "default" not in SCHEMA["$defs"]["PolicyFtrl"]["properties"]["theta"]


def test_a_file_may_name_its_schema(tmp_path):
    (tmp_path / "study.toml").write_text("#:schema ./bothworlds.schema.json\n" + study())
    assert read(tmp_path / "study.toml").replications == 2
