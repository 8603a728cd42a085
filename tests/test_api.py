"""The public face is what it is meant to be, and nothing slips in or out of it unnoticed."""

from __future__ import annotations

from types import ModuleType

import pytest

import bothworlds as bw
from bothworlds import policies
from bothworlds.errors import BothworldsError, UnknownNameError


def test_exported_names():
    public = {name for name, value in vars(bw).items() if not name.startswith("_")}
    left_behind = {name for name in public if isinstance(getattr(bw, name), ModuleType)} - set(bw.__all__)
    assert left_behind <= {
        "bandit",
        "cli",
        "experiments",
        "report",
        "rng",
        "simplex",
        "simulation",
        "statefile",
        "testing",
        "variates",
        "warmup",
    }
    assert public - left_behind | {"Study", "theory"} == set(bw.__all__) - {"__version__"}
    assert bw.Study.__name__ == "Study"  # imported when asked for, as is bw.theory
    with pytest.raises(AttributeError, match="no attribute 'Studies'"):
        _ = bw.Studies


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
