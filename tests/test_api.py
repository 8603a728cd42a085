"""The public face is what it is meant to be, and nothing slips in or out of it unnoticed."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import bothworlds as bw
from bothworlds import policies
from bothworlds._value import Value
from bothworlds.errors import BothworldsError, UnknownNameError


def imports_of_type_checkers():
    """Module and name of everything that the face shows to type checkers."""
    tree = ast.parse(Path(bw.__file__).read_text(encoding="utf-8"))
    hidden = [node for node in tree.body if isinstance(node, ast.If)]
    nodes = [each for node in (tree, *hidden) for each in node.body if isinstance(each, ast.ImportFrom)]
    return [(node.module, alias.name) for node in nodes for alias in node.names]


def test_exported_names():
    """What is there when it is asked for is what type checkers see, and no more."""
    for module, name in imports_of_type_checkers():
        if module == "bothworlds":
            assert getattr(bw, name) is importlib.import_module(f"bothworlds.{name}")
        else:
            assert getattr(bw, name) is getattr(importlib.import_module(module), name)
    assert sorted(name for _, name in imports_of_type_checkers()) == sorted(bw.__all__) == sorted(dir(bw))
    for name in bw.__all__:
        getattr(bw, name)
    public = {name for name, value in vars(bw).items() if not name.startswith("_")}
    left_behind = {name for name in public if isinstance(getattr(bw, name), ModuleType)} - set(bw.__all__)
    assert left_behind <= {
        "adapters",
        "bandit",
        "cli",
        "client",
        "experiments",
        "problem",
        "report",
        "rng",
        "service",
        "settings",
        "simplex",
        "simulation",
        "statefile",
        "variates",
        "warmup",
    }
    assert public - left_behind | {"Study", "open"} == set(bw.__all__) - {"__version__"}
    with pytest.raises(AttributeError, match="no attribute 'Studies'"):
        _ = bw.Studies


WITHOUT_NUMPY = """
import sys
for name in "numpy numba scipy msgspec starlette sqlalchemy".split():
    sys.modules[name] = None
import bothworlds
from bothworlds import client
from bothworlds.client import Client
print(*sorted(name for name in sys.modules if name.partition(".")[0] == "bothworlds"))
assert bothworlds.errors.BothworldsError is bothworlds.BothworldsError
assert client.Client is Client
try:
    bothworlds.Bandit
except ModuleNotFoundError as error:
    assert error.name == "numpy"
else:
    raise AssertionError("there is no NumPy")
with Client("http://127.0.0.1:9", key="bw_a_b") as away:  # nobody listens there
    decision = away.decide("button", fallback="blue")
assert (decision.arm, decision.reason) == ("blue", "fallback")
"""


def test_the_client_needs_no_numpy():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_NUMPY], check=True, capture_output=True, text=True
    )
    rooms = {name.split(".")[1] for name in done.stdout.split() if "." in name}
    assert rooms == {"_uuid7", "_version", "_words", "client", "errors"}


@pytest.mark.parametrize("name", ["solve", "environments", "rng", "testing"])
def test_each_name_can_be_the_first(name):
    """Whatever is asked for first is found, without cycles."""
    code = f"import bothworlds as bw; bw.{name}; from bothworlds import {name}; assert bw.{name} is {name}"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)


def test_policies_by_name():
    assert policies.names() == sorted(policies.REGISTRY)
    assert policies.get("tsallis-inf") is bw.TsallisINF
    with pytest.raises(
        UnknownNameError, match=r"no policy is called 'tsalis-inf'; did you mean 'tsallis-inf'\?"
    ):
        policies.get("tsalis-inf")
    with pytest.raises(UnknownNameError, match=r"no policy is called 7"):
        policies.get(7)


def test_all_errors_share_a_base():
    types = [value for value in vars(bw.errors).values() if isinstance(value, type)]
    errors = [value for value in types if issubclass(value, BaseException)]
    assert len(errors) >= 9
    assert all(issubclass(error, BothworldsError) for error in errors)


def test_help_teaches_the_algorithm():
    text = bw.FTRL.__doc__
    for needed in (
        "argmin",
        "√(1 + Σ_{τ<t} max(p_i^τ, 1/T)^{1−2α})",
        "paper",
        "light",
        ">>>",
        "NeurIPS 2023",
    ):
        assert needed in text


def public_callables():
    """Every public class and function, by the name people write."""
    parts = {"policies", "environments", "regularizers", "rates", "estimators", "predictions"}
    families = [vars(getattr(bw, part)).values() for part in parts]
    values = {name: getattr(bw, name) for name in bw.__all__} | {
        value.__name__: value for family in families for value in family if isinstance(value, type)
    }
    for room in (bw.inference, bw.testing, bw.theory):
        values |= {f"{room.__name__}.{name}": getattr(room, name) for name in room.__all__}
    return {
        name: value
        for name, value in values.items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and not issubclass_of(value, (tuple, BaseException))
    }


def issubclass_of(value, kinds):
    return isinstance(value, type) and issubclass(value, kinds)


@pytest.mark.parametrize("name", sorted(public_callables()))
def test_options_are_given_by_name(name):
    """What is required may be given in order; an option past the first argument may not."""
    value = public_callables()[name]
    if dataclasses.is_dataclass(value) and not issubclass(value, Value):
        return  # results, which people read but do not make
    assert options_in_order(value) == (["policy"] if value in (bw.Bandit, bw.Bandits) else [])


def options_in_order(function):
    """The options past the first argument that may be given without their names."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return [
        each.name
        for each in parameters
        if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is not each.empty
    ]


RESULTS = {"Bandit.history": bw.bandit.history.History, "Bandit.explain": bw.bandit.explanation.Explanation}


@pytest.mark.parametrize(
    "name", sorted(name for name, value in (public_callables() | RESULTS).items() if inspect.isclass(value))
)
def test_options_of_methods_are_given_by_name(name):
    """The same for methods, of which ``Policy.resolve`` is an exception: policies of others override it."""
    kind = (public_callables() | RESULTS)[name]
    for method, value in inspect.getmembers(kind, inspect.isroutine):
        ours = inspect.isfunction(value) or inspect.ismethod(value)
        if (
            ours
            and value.__module__.startswith("bothworlds")
            and not method.startswith("_")
            and method != "resolve"
        ):
            bound = inspect.ismethod(value) or isinstance(inspect.getattr_static(kind, method), staticmethod)
            called = value if bound else functools.partial(value, None)  # without self
            assert options_in_order(called) == [], method


def test_counts_and_coordinates_are_given_by_name():
    """Two numbers that nobody would notice to be swapped."""
    with pytest.raises(TypeError, match="positional"):
        bw.inference.ConfidenceSequence.of_counts(150, 250)
    with pytest.raises(TypeError, match="positional"):
        bw.PolicyOptimization.act(None, 0, 1)


def test_type_checkers_do_not_see_the_attribute_hook():
    """A module-level __getattr__ would make every name valid."""
    tree = ast.parse(Path(bw.__file__).read_text(encoding="utf-8"))
    assert not [node for node in tree.body if getattr(node, "name", "") == "__getattr__"]
    assert {"inference", "theory", "Study", "open"} <= set(dir(bw))


def test_packages_are_not_hidden_by_functions():
    engine = importlib.import_module("bothworlds.simulation.engine")
    import bothworlds.simulation.engine as same

    assert engine is same
    assert callable(bw.simulate)


KINDS = [
    bw.Bandit,
    *bw.Policy.registry.values(),
    *bw.Environment.registry.values(),
    *bw.Regularizer.registry.values(),
]


PARTS = [bw.policies, bw.environments, bw.regularizers, bw.rates, bw.estimators, bw.predictions]


@pytest.mark.parametrize("room", PARTS, ids=lambda room: room.__name__)
def test_what_can_be_made_can_be_saved(room):
    """Saved bandits and experiment files know it by name; base classes alone have none."""
    kinds = [value for value in vars(room).values() if issubclass_of(value, Value) and value is not Value]
    concrete = [kind for kind in kinds if not inspect.isabstract(kind)]
    assert concrete
    assert [kind for kind in concrete if kind not in kind.registry.values()] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_documentation_shows_the_arguments(kind):
    """Sphinx takes the signature of ``__new__``, where a class has one, before that of ``__init__``."""
    assert kind.__new__ is object.__new__
