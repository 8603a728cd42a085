"""What every policy must do: one table of policies, one table of checks."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bothworlds as bw
from bothworlds import policies
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import ALL_AWAKE, init, pull_once, update_once
from cases import CASES

HORIZON = 500


def each_policy(condition=lambda case: True):
    chosen = [case for case in CASES if condition(case)]
    return pytest.mark.parametrize("case", chosen, ids=[repr(case.policy) for case in chosen])


def arms_for(case, wished):
    return case.arms or wished


def losses_like(rng, n_arms, binary):
    means = np.linspace(0.2, 0.8, n_arms)
    return (rng.random(n_arms) < means).astype(float) if binary else rng.beta(2 * means, 2 * (1 - means))


def play(bandit, rounds, seed=1, binary=True):
    """Play, and return (arms observed, losses, probabilities before every round and after the last)."""
    rng = np.random.default_rng(seed)
    arms, losses, p = [], [], []
    for _ in range(rounds):
        p.append(list(bandit.probabilities.values()))
        pull = bandit.pull()
        loss = float(losses_like(rng, len(bandit.arms), binary)[pull.observe])
        bandit.update(pull, loss=loss)
        arms.append(pull.observe)
        losses.append(loss)
    p.append(list(bandit.probabilities.values()))
    return arms, losses, np.array(p)


@each_policy()
@pytest.mark.parametrize("n_arms", [1, 2, 5])
def test_stays_on_the_simplex(case, n_arms):
    _, _, p = play(bw.Bandit(arms_for(case, n_arms), case.policy, horizon=HORIZON, seed=3), 200, binary=False)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@each_policy(lambda case: case.starts_uniform)
def test_starts_uniform(case):
    p = list(bw.Bandit(arms_for(case, 7), case.policy, horizon=HORIZON).probabilities.values())
    np.testing.assert_allclose(p, 1 / len(p), rtol=1e-14)


@each_policy()
def test_same_seed_same_run(case):
    runs = [play(bw.Bandit(4, case.policy, horizon=HORIZON, seed=9), 150) for _ in range(2)]
    assert runs[0][0] == runs[1][0]
    assert np.array_equal(runs[0][2], runs[1][2])


@each_policy()
def test_replay_gives_the_bandits_own_probabilities_exactly(case):
    for horizon in (HORIZON, None):
        if horizon is None and case.needs_horizon:
            continue
        arms, losses, p = play(bw.Bandit(4, case.policy, horizon=horizon, seed=5), 300, binary=False)
        trace = bw.replay(case.policy, n_arms=4, horizon=horizon, arms=arms, losses=losses, seed=5)
        assert np.array_equal(trace.p, p)


@each_policy()
def test_json_pickle_and_copy_continue_the_same_run(case):
    bandit = bw.Bandit(["a", "b", "c", "d"][: arms_for(case, 3)], case.policy, horizon=HORIZON, seed=2)
    for i in range(40):
        pull = bandit.pull()
        if i % 3:
            bandit.update(pull, loss=(i % 7) / 7)
    twins = [
        bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))),
        pickle.loads(pickle.dumps(bandit)),
        copy.deepcopy(bandit),
    ]
    assert all(twin.to_dict() == bandit.to_dict() for twin in twins)
    for each in (bandit, *twins):
        for pull in each.outstanding:
            each.update(pull, loss=0.25)
        for i in range(30):
            each.update(each.pull(), loss=(i % 5) / 5)
    assert all(twin.to_dict() == bandit.to_dict() for twin in twins)


@each_policy()
def test_compiled_kernels_equal_their_python_source(case):
    params = case.policy.resolve(arms_for(case, 3), HORIZON)
    states = [init(params), init(params)]
    rng = np.random.default_rng(4)
    for _ in range(60):
        uniforms, loss = rng.random(case.policy.draws), rng.random()
        drawn = [
            f(params, s, uniforms, 0, ALL_AWAKE)
            for f, s in zip((pull_once, pull_once.py_func), states, strict=True)
        ]
        assert drawn[0][:2] == drawn[1][:2]
        np.testing.assert_allclose(drawn[0][2:], drawn[1][2:], rtol=1e-11)
        for f, s, (_, shown, weight, memo) in zip(
            (update_once, update_once.py_func), states, drawn, strict=True
        ):
            assert f(params, s, shown, loss, weight, memo) == 0


@pytest.mark.compiled
@each_policy()
def test_other_numbers_do_not_compile_again(case):
    bw.Bandit(arms_for(case, 3), case.policy, horizon=HORIZON)
    before = len(pull_once.compiled.overloads), len(update_once.compiled.overloads)
    bandit = bw.Bandit(arms_for(case, 6), case.policy, horizon=2 * HORIZON, seed=1)
    bandit.update(bandit.pull(), reward=1)
    assert (len(pull_once.compiled.overloads), len(update_once.compiled.overloads)) == before


@each_policy()
def test_is_a_value(case):
    policy = case.policy
    assert eval(repr(policy), {**vars(bw.estimators), **vars(bw.rates), **vars(bw)}) == policy
    assert policies.from_dict(json.loads(json.dumps(policies.to_dict(policy)))) == policy
    assert hash(copy.deepcopy(policy)) == hash(policy)
    if dataclasses.fields(policy):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(policy, dataclasses.fields(policy)[0].name, None)
    assert policies.REGISTRY[policies.to_dict(policy)["kind"]] is type(policy)


@each_policy()
def test_teaches(case):
    text = type(case.policy).__doc__
    assert text
    assert len(text.splitlines()) >= 5


@each_policy(lambda case: case.learns)
def test_learns(case):
    bandit = bw.Bandit(4, case.policy, horizon=3000, seed=11)
    rng = np.random.default_rng(12)
    suffered = 0.0
    for _ in range(3000):
        losses = rng.random(4) < [0.1, 0.9, 0.9, 0.9]
        pull = bandit.pull()
        suffered += losses[pull.arm]
        bandit.update(pull, loss=float(losses[pull.observe]))
    assert suffered / 3000 < 0.35  # uniform play: 0.7; the best arm: 0.1


@each_policy(lambda case: case.needs_horizon)
def test_says_that_it_needs_a_horizon(case):
    with pytest.raises(InvalidArgumentError, match=r"horizon must be given for .*, got None; give horizon=T"):
        bw.Bandit(3, case.policy)


@each_policy()
def test_horizon_below_the_number_of_arms(case):
    with pytest.raises(InvalidArgumentError, match=r"horizon must be at least 5, got 4; there are 5 arms"):
        bw.Bandit(5, case.policy, horizon=4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), max_size=60), st.sampled_from(CASES))
def test_any_forced_history_leaves_a_distribution(history, case):
    arms, losses = [a for a, _ in history], [x for _, x in history]
    try:
        trace = bw.replay(case.policy, n_arms=arms_for(case, 3), horizon=60, arms=arms, losses=losses)
    except InvalidArgumentError as error:
        # an arm forced again and again at vanishing probability squares its estimate each time
        if error.allowed != "possible":
            raise
        (at,) = error.index
        trace = bw.replay(
            case.policy, n_arms=arms_for(case, 3), horizon=60, arms=arms[:at], losses=losses[:at]
        )
        assert trace.p[-1, arms[at]] < 1e-300
    assert np.isfinite(trace.p).all()
    np.testing.assert_allclose(trace.p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_every_registered_policy_is_in_the_table():
    assert {type(case.policy) for case in CASES} == set(policies.REGISTRY.values())
