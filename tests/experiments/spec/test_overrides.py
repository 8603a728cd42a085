"""Settings replaced from outside: the file that results, and names that lead nowhere."""

from __future__ import annotations

import tomllib

import pytest

from bothworlds.errors import InvalidArgumentError, SpecError
from bothworlds.experiments.spec import override, parse, parse_setting
from studies import text


def test_comments_stay_and_the_text_says_what_is_run():
    file = "# mine\n" + text(after="optimal = [1, 2]  # two worlds\n")
    experiment = parse(file, overrides={"seed": 7, "policy.1.alpha": 0.5, "environment.0.optimal": 1})
    assert experiment.seed == 7
    assert repr(experiment.policies[1].build()) == "UCB1(alpha=0.5)"
    assert len(experiment.environments) == 2  # by the number of arms alone
    assert "# mine" in experiment.text
    assert "# two worlds" in experiment.text
    assert parse(experiment.text).fingerprint() == experiment.fingerprint()  # as a run that resumes reads it
    assert parse(file, overrides={}).text == file


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("seed=3", 3),
        ("a=0.4", 0.4),
        ("a = [1, 2]", [1, 2]),
        ("a=true", True),
        ('a="x=y"', "x=y"),
        ("a=light", "light"),
        ('a={ kind = "ucb1" }', {"kind": "ucb1"}),
    ],
)
def test_values_are_toml_or_text(given, value):
    assert parse_setting(given)[1] == value


def test_lists_and_inner_tables():
    file = text(n_arms="[3, 4]").replace("horizon = 60", "horizon = [10, 20]")
    file += 'label = "x"\n[[environment]]\nkind = "delayed"\nmean = 1\n'
    file += 'base = { kind = "bernoulli", n_arms = 3, gap = 0.1 }\n'
    found = tomllib.loads(override(file, {"horizon.1": 30, "environment.1.base.gap": 0.4}))
    assert found["horizon"] == [10, 30]
    assert found["environment"][1]["base"]["gap"] == 0.4


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("policy.2.alpha", r"--set must be a path with a number of policy in 0\.\.1, got 'policy.2.alpha'"),
        ("policy.first.alpha", "a number of policy in 0..1"),
        ("polices.0.alpha", r"the file has no table 'polices', got .*; it has policy, environment"),
        ("seed.0", "the file has no table 'seed'"),
    ],
)
def test_names_that_lead_nowhere(name, message):
    with pytest.raises(InvalidArgumentError, match=message):
        parse(text(), overrides={name: 1})


def test_a_value_that_the_file_may_not_have_is_a_mistake_of_the_file():
    with pytest.raises(SpecError, match="replications"):
        parse(text(), overrides={"replications": 0})
    with pytest.raises(InvalidArgumentError, match="--set must be NAME=VALUE"):
        parse_setting("seed")


def test_what_was_given_on_the_command_line_is_not_looked_for_in_the_file():
    file = text(after="bad = 1\n")
    with pytest.raises(SpecError) as caught:
        parse(file, overrides={"policy.0.alph": 3, "policy.1.kind": "ucb2", "seed": 2})
    where = [(mistake.line, mistake.location) for mistake in caught.value.mistakes]
    line = file.splitlines().index("bad = 1") + 1
    assert where == [
        (None, "--set policy.0.alph=3"),
        (None, "--set policy.1.kind=ucb2"),
        (line, "environment[0].bad"),
    ]
