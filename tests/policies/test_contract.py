"""What every policy must do: one table of policies, the checks of bothworlds.testing, and some of our own."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bothworlds as bw
from bothworlds import policies
from bothworlds.errors import InvalidArgumentError
from bothworlds.testing import POLICY_CHECKS, PolicyCase
from bothworlds.testing.policies import (
    policy_plays_a_distribution,
    policy_plays_arms_that_change,
    policy_prefers_small_losses,
    policy_replays_what_it_played,
)
from cases import CASES

HORIZON = 500


def each_policy(condition=lambda case: True):
    chosen = [case for case in CASES if condition(case)]
    return pytest.mark.parametrize("case", chosen, ids=[repr(case.policy) for case in chosen])


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__.removeprefix("policy_"))
@each_policy()
def test_keeps_the_contract(case, check, monkeypatch):
    if check is policy_plays_arms_that_change:  # as Python; test_arms.py has the same bits compiled
        monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    check(PolicyCase(case.policy, case.arms or 4, HORIZON))


@pytest.mark.compiled
@pytest.mark.parametrize(
    "policy",
    [bw.policies.DEFAULT, bw.DecoupledTsallisINF(), bw.UCB1()],
    ids=repr,
)
def test_compiled_replays_are_what_was_played(policy):
    policy_replays_what_it_played(PolicyCase(policy, 4, HORIZON))


@each_policy(lambda case: case.arms is None)
@pytest.mark.parametrize("n_arms", [1, 2, 5])
def test_stays_on_the_simplex(case, n_arms, monkeypatch):
    if n_arms == 1 and case.policy != bw.LightBarrier():  # a step of its own, which all FTRL has in common
        monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    policy_plays_a_distribution(PolicyCase(case.policy, n_arms, HORIZON))


@each_policy(lambda case: case.starts_uniform)
def test_starts_uniform(case):
    p = list(bw.Bandit(case.arms or 7, case.policy, horizon=HORIZON).probabilities.values())
    np.testing.assert_allclose(p, 1 / len(p), rtol=1e-14)


@each_policy()
def test_prints_as_it_is_written(case):
    names = {**vars(bw.estimators), **vars(bw.rates), **vars(bw)}
    assert eval(repr(case.policy), names) == case.policy
    if dataclasses.fields(case.policy):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(case.policy, dataclasses.fields(case.policy)[0].name, None)


@each_policy()
def test_teaches(case):
    text = type(case.policy).__doc__
    assert text
    assert len(text.splitlines()) >= 5
    assert ">>> " in text


@each_policy(lambda case: case.learns)
def test_learns(case):
    policy_prefers_small_losses(PolicyCase(case.policy, 4, 3000, learns=True))


@each_policy(lambda case: case.needs_horizon)
def test_says_that_it_needs_a_horizon(case):
    with pytest.raises(InvalidArgumentError, match=r"horizon must be given for .*, got None; give horizon=T"):
        bw.Bandit(3, case.policy)


@each_policy()
def test_horizon_below_the_number_of_arms(case):
    n = case.arms or 3
    assert repr(case.policy.resolve(n, 2)) == repr(case.policy.resolve(n, n))  # as for a round for every arm
    with pytest.raises(InvalidArgumentError, match=r"horizon must be at least 1, got 0"):
        case.policy.resolve(n, 0)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), max_size=60), st.sampled_from(CASES))
def test_any_forced_history_leaves_a_distribution(history, case):
    arms, losses = [a for a, _ in history], [x for _, x in history]
    try:
        trace = bw.replay(case.policy, n_arms=case.arms or 3, horizon=60, arms=arms, losses=losses)
    except InvalidArgumentError as error:
        # an arm forced again and again at vanishing probability squares its estimate each time
        if error.allowed != "possible":
            raise
        (at,) = error.index
        trace = bw.replay(case.policy, n_arms=case.arms or 3, horizon=60, arms=arms[:at], losses=losses[:at])
        assert trace.p[-1, arms[at]] < 1e-300
    assert np.isfinite(trace.p).all()
    np.testing.assert_allclose(trace.p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_every_registered_policy_is_in_the_table():
    ours = {kind for kind in policies.REGISTRY.values() if kind.__module__.startswith("bothworlds.")}
    assert {type(case.policy) for case in CASES} == ours
