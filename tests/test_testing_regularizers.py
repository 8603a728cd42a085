"""The contract of regularizers: each promise, broken on purpose, is noticed and named; ours keep it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from accounting import interpreted  # noqa: F401
from bothworlds._jit import entry
from bothworlds._simd import LANES, load, store
from bothworlds.simplex.regularizers.base import (
    heights,
    potential,
    potentials,
    reach,
    rise,
    rises,
    slope,
    spread,
    spreads,
)
from bothworlds.simplex.solve import _solve
from bothworlds.testing import check_regularizer
from bothworlds.testing.regularizers import regularizer_can_be_accounted, regularizer_reaches
from playing import interpret

pytestmark = pytest.mark.compiled


class BentParameters(NamedTuple):
    pass


@dataclass(frozen=True)
class Bent(bw.Regularizer):
    """The log-barrier with a wrong spread."""

    def parameters(self):
        return BentParameters()


@slope.register(BentParameters)
def _(regularizer, depth):
    h = math.exp(depth)
    return h, h, h


@reach.register(BentParameters)
def _(regularizer, height):
    return math.log(height)


@potential.register(BentParameters)
def _(regularizer, p, height):
    return -math.log(p)


@rise.register(BentParameters)
def _(regularizer, p, height, u):
    return height * math.expm1(u), height * math.exp(u)


@spread.register(BentParameters)
def _(regularizer, p, height, w):
    return math.expm1(w) + w


def test_a_regularizer_with_a_wrong_spread_is_noticed(monkeypatch):
    interpret(monkeypatch, _solve)
    with pytest.raises(AssertionError, match=r"spread at p = .* is .*, ψ gives"):
        check_regularizer(Bent())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda regularizer, p, height, w: math.expm1(w) - w if w > -1e9 else math.nan, "nan"),
        (lambda regularizer, p, height, w: math.expm1(w) - w if w > -1e9 else 1.0, r"1\.0"),
        (lambda regularizer, p, height, w: math.expm1(w) - w + 0.0 / math.exp(w), "ZeroDivisionError.*"),
    ],
)
def test_a_spread_that_does_not_reach_zero_is_noticed(wrong, said, monkeypatch):
    interpret(monkeypatch, _solve)
    monkeypatch.setitem(spread.implementations, BentParameters, wrong)
    with pytest.raises(AssertionError, match=rf"w = -inf is {said}, at w = -300 it is 299: .*give the limit"):
        check_regularizer(Bent())


def test_a_spread_has_a_limit_where_the_potential_has(monkeypatch):
    right = spread.implementations[type(bw.Shannon().parameters())]
    monkeypatch.setitem(
        spread.implementations,
        type(bw.Shannon().parameters()),
        lambda regularizer, p, height, w: right(regularizer, p, height, w) if w > -1e9 else math.inf,
    )
    with pytest.raises(AssertionError, match=r"w = -inf is inf, at w = -300 it is 0\.95\d+: "):
        regularizer_can_be_accounted(bw.Shannon())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            lambda regularizer, height: math.exp(900.0 * height),
            r"reach\(1\) must be a depth .*, got OverflowError: math range error: 0 would do",
        ),
        (lambda regularizer, height: -1.0, r"reach\(1\) must be a depth v ≥ 0 .*, got -1: 0 would do"),
        (lambda regularizer, height: 0.5, r"got 0\.5, where it is only 1\.64872: go deeper, to 1"),
    ],
)
def test_a_reach_that_does_not_reach_is_noticed(wrong, said, monkeypatch):
    monkeypatch.setitem(reach.implementations, BentParameters, wrong)
    with pytest.raises(AssertionError, match=rf"Bent\(\): .*{said}"):
        check_regularizer(Bent())


@pytest.mark.parametrize("depth", [800.0, math.inf])
def test_a_reach_may_be_beyond_what_numbers_can_say(depth, monkeypatch):
    """The solver goes no deeper than ``DEEPEST``."""
    monkeypatch.setitem(reach.implementations, BentParameters, lambda regularizer, height: depth)
    regularizer_reaches(Bent())


@dataclass(frozen=True)
class Listed(Bent):
    ranks: object = ()


def test_a_regularizer_with_a_list_is_told_to_use_a_tuple():
    with pytest.raises(AssertionError, match=r"it must be hashable, .*'list' \(ranks\): use a tuple"):
        check_regularizer(Listed([1]))


OURS = [
    bw.LogBarrier(),
    bw.Tsallis(0.3),
    bw.Shannon(),
    bw.Hybrid(bw.Tsallis(0.5), bw.Shannon(), weight=0.3),
    bw.regularizers.CenteredTsallis(0.0),
    bw.regularizers.CenteredTsallis(0.5),
    bw.regularizers.CenteredTsallis(1.0),
    bw.regularizers.ComplementBarrier(2.0),
    bw.regularizers.ComplementTsallis(2.0),
]


def test_no_regularizer_is_left_out():
    ours = {kind for kind in bw.Regularizer.registry.values() if kind.__module__.startswith("bothworlds.")}
    assert {type(regularizer) for regularizer in OURS} == ours


@pytest.mark.parametrize("regularizer", OURS, ids=repr)
@pytest.mark.usefixtures("interpreted")
def test_our_regularizers_keep_the_contract(regularizer, monkeypatch):
    interpret(monkeypatch, _solve)
    check_regularizer(regularizer)


@pytest.mark.parametrize(
    "regularizer",
    [
        pytest.param(OURS[3], marks=pytest.mark.slow),
        pytest.param(OURS[5], marks=pytest.mark.slow),
        bw.regularizers.ComplementBarrier(2.0),
        bw.regularizers.ComplementTsallis(2.0),
    ],
    ids=repr,
)
def test_our_regularizers_keep_the_contract_compiled(regularizer):
    check_regularizer(regularizer)


@entry
def rows_of_blocks(regularizer, p, u, out):
    """What accounts ask of a regularizer, for a block of four arms: a row each."""
    x, by = load(p, 0), load(u, 0)
    h = heights(regularizer, x)
    change, first = rises(regularizer, x, h, by)
    store(out[0], 0, h)
    store(out[1], 0, potentials(regularizer, x, h))
    store(out[2], 0, change)
    store(out[3], 0, 0.0 * x + first)  # one number, where it is the same for all arms
    store(out[4], 0, spreads(regularizer, x, h, -by))


@pytest.mark.parametrize("regularizer", OURS[:7], ids=repr)
def test_blocks_of_our_regularizers_can_be_compiled(regularizer):
    p, u = np.array([0.9, 0.05, 1e-6, 0.4]), np.array([0.1, -0.3, 2.0, 0.0])
    as_python, compiled = np.empty((5, LANES)), np.empty((5, LANES))
    rows_of_blocks.py_func(regularizer.parameters(), p, u, as_python)
    rows_of_blocks(regularizer.parameters(), p, u, compiled)
    np.testing.assert_array_equal(compiled, as_python)


@pytest.mark.parametrize("kind", [bw.regularizers.ComplementBarrier, bw.regularizers.ComplementTsallis])
def test_what_is_infinite_at_one_stays_out_of_hybrids(kind):
    with pytest.raises(
        bw.errors.InvalidArgumentError, match="second must be a regularizer with a finite slope"
    ):
        bw.Hybrid(bw.Shannon(), kind(2.0))


class HillParameters(NamedTuple):
    power: float


@dataclass(frozen=True)
class Hill(bw.Regularizer):
    """ψ(p) = p^power, for a power above 1 with an h that is concave; −log(1 − p) for power 0."""

    power: float

    def parameters(self):
        return HillParameters(self.power)


@slope.register(HillParameters)
def _(regularizer, depth):
    if regularizer.power == 0.0:
        return -1.0 / (1.0 - math.exp(-depth)), 1.0, 1.0
    h = -regularizer.power * math.exp((1.0 - regularizer.power) * depth)
    k = 1.0 - regularizer.power
    return h, k * h, k * k * h


def test_a_regularizer_without_a_reach_is_named():
    said = r"reach of HillParameters is missing: Hill cannot do without"
    with pytest.raises(bw.errors.KernelError, match=said):
        bw.solve([0.0, 1.0], 1.0, Hill(2.0))
    with pytest.raises(bw.errors.KernelError, match=said):
        bw.FTRL(Hill(2.0), log_barrier=1.0, theta=1.0, alpha=0.5)
    with pytest.raises(bw.errors.KernelError, match=said):
        check_regularizer(Hill(2.0))


@pytest.mark.parametrize(
    ("power", "said"),
    [
        (2.0, r"Hill\(power=2\.0\): h must be convex in the depth, but h''\(0\.0\) = -2\.0"),
        (0.0, r"Hill\(power=0\.0\): slope must be finite at depth 0, where p = 1, got ZeroDivisionError"),
    ],
)
def test_a_regularizer_whose_slope_the_solver_cannot_use_is_noticed(power, said, monkeypatch):
    monkeypatch.setitem(reach.implementations, HillParameters, lambda regularizer, height: 1.0)
    with pytest.raises(AssertionError, match=said):
        check_regularizer(Hill(power))


@pytest.mark.parametrize("given", [Hill, "hill"])
def test_a_regularizer_is_given_as_a_value(given, monkeypatch):
    monkeypatch.setitem(bw.Regularizer.registry, "hill", Hill)
    with pytest.raises(bw.errors.InvalidArgumentError, match=r"; write Hill\(\.\.\.\)"):
        bw.FTRL(given)


def test_a_regularizer_without_a_theorem_is_not_sent_to_constants_that_refuse_it():
    said = r"without log_barrier, theta, alpha; give .* as numbers, or rates: no theorem .* covers Bent\(\)$"
    with pytest.raises(bw.errors.InvalidArgumentError, match=said):
        bw.FTRL(Bent())
