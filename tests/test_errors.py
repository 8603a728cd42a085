"""Errors carry their data, make their message in one place, and survive a pickle."""

from __future__ import annotations

import pickle

import pytest

import bothworlds as bw
from bothworlds import errors
from bothworlds.errors import InvalidArgumentError, Mistake, PartError, SpecError, UnknownNameError
from bothworlds.service import problems

CLASSES = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, Exception)]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_one_tree_drawn_in_the_docstring(cls):
    assert cls.__name__.endswith("Error")
    assert issubclass(cls, errors.BothworldsError)
    assert f" {cls.__name__}" in errors.__doc__


@pytest.mark.parametrize("cls", [problems.ServiceError, *problems.kinds().values()], ids=lambda c: c.__name__)
def test_the_branch_of_the_service_is_drawn_likewise(cls):
    assert cls.__name__.endswith("Error")
    assert f" {cls.__name__}" in problems.__doc__


def test_the_message_is_made_of_the_data():
    error = InvalidArgumentError("means", 1.5, "at most 1", fix="rescale", index=(3, 0))
    assert str(error) == "means[3][0] must be at most 1, got 1.5; rescale"
    assert str(InvalidArgumentError("p", [0.0] * 99, "short")).endswith("0.0, 0.0, 0...")
    assert str(InvalidArgumentError("p", [0.0] * 99, "short", got="99 numbers")).endswith(", got 99 numbers")
    with pytest.raises(InvalidArgumentError) as caught:
        bw.environments.Bernoulli(means=[0.5, 1.5])
    found = caught.value
    assert (found.argument, found.index, found.value) == ("means", (1,), 1.5)


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgumentError("means", 1.5, "at most 1", fix="rescale", index=(3,)),
        InvalidArgumentError("policy", lambda: None, "a policy"),  # which cannot be pickled
        UnknownNameError("policy", "ucb", ["ucb1", "exp3"]),
        PartError(("base",), "bernoulli", InvalidArgumentError("gap", 2, "at most 1", got="two")),
        SpecError("study.toml", [Mistake(3, "policy[0]", "is wrong")]),
        errors.DifferentStudyError("another study"),
        errors.SolverError("no convergence"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_pickled(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    for name in {"argument", "allowed", "fix", "index", "known", "place", "kind"} & vars(error).keys():
        assert getattr(copy, name) == getattr(error, name)
