"""Forced histories: shapes and bad input. That replay equals live play is in the contract tests."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError


def test_shapes_and_contents():
    trace = bw.replay(bw.LightBarrier(), n_arms=3, horizon=10, arms=[0, 2], losses=[1, 0])
    assert trace.p.shape == trace.rates.shape == trace.estimates.shape == (3, 3)
    assert len(trace) == 2
    assert trace.arms.tolist() == [0, 2]
    assert repr(trace) == "Trace(LightBarrier(), n_arms=3, horizon=10, rounds=2)"


@pytest.mark.compiled
@pytest.mark.parametrize("way", ["background", "never"])
def test_a_short_history_is_not_compiled_for_unless_one_waits(way, monkeypatch):
    kernel = importlib.import_module("bothworlds.simulation.replay")._replay
    history = {"n_arms": 2, "arms": [0, 1] * 100, "losses": [0.25, 0.2] * 100}
    compiled = bw.replay(bw.LightBarrier(), **history)
    monkeypatch.setenv("BOTHWORLDS_COMPILE", way)
    monkeypatch.setitem(kernel.__dict__, "compiled", None)  # whoever calls it fails
    np.testing.assert_array_equal(bw.replay(bw.LightBarrier(), **history).p, compiled.p)
    with pytest.raises(TypeError):  # 500 is the limit
        bw.replay(bw.LightBarrier(), n_arms=2, arms=[0] * 251, losses=[0.25] * 251)


def test_an_empty_history_is_the_start():
    trace = bw.replay(bw.TsallisINF(), n_arms=4, arms=[], losses=[])
    assert trace.p.tolist() == [[0.25] * 4]
    assert trace.rates.tolist() == [[1.0] * 4]
    assert trace.estimates.tolist() == [[0.0] * 4]


def test_policies_without_rates_have_none():
    trace = bw.replay(bw.UCB1(), n_arms=2, arms=[0, 1], losses=[1.0, 0.0])
    assert trace.p.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert np.isnan(trace.rates).all()
    assert np.isnan(trace.estimates).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": [0, 3]}, r"arms\[1\] must be in 0..2, got 3"),
        ({"arms": [0, -1]}, r"arms\[1\] must be in 0..2, got -1"),
        (
            {"arms": [0.0, 1.0]},
            r"arms must be a one-dimensional sequence of integers in 0..2, got \[0.0, 1.0\]",
        ),
        ({"arms": [0]}, r"losses must be a one-dimensional sequence of length 1, got shape \(2,\)"),
        ({"losses": [0.5, 1.5]}, r"losses\[1\] must be finite and .* at most 1, got 1.5; rescale losses"),
        ({"losses": [math.nan, 0.5]}, r"losses\[0\] must be finite and at least 0 and at most 1, got nan"),
        ({"n_arms": 0}, r"n_arms must be at least 1, got 0"),
        ({"horizon": 0}, r"horizon must be at least 1, got 0"),
        ({"policy": "light"}, r"no policy is called 'light'"),
    ],
)
def test_bad_input_is_named(arguments, message):
    good = {"policy": bw.LightBarrier(), "n_arms": 3, "horizon": 10, "arms": [0, 1], "losses": [0.5, 0.5]}
    arguments = good | arguments
    with pytest.raises(InvalidArgumentError, match=message):
        bw.replay(arguments.pop("policy"), **arguments)


def test_a_history_longer_than_the_horizon():
    with pytest.raises(
        InvalidArgumentError, match="horizon must be at least the 5 rounds of the history, got 4"
    ):
        bw.replay(bw.LightBarrier(), n_arms=2, horizon=4, arms=[0] * 5, losses=[0.5] * 5)


def test_an_impossible_arm():
    policy = bw.FTRL(bw.Shannon(), log_barrier=0.0, theta=1e-4, alpha=1.0)
    with pytest.raises(InvalidArgumentError, match=r"arms\[1\] must be possible, got 0, .* below 1e-300"):
        bw.replay(policy, n_arms=2, horizon=5, arms=[0, 0], losses=[1.0, 1.0])
