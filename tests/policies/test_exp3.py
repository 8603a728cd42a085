"""EXP3 and EXP3-IX: against plain transcriptions, and what they are for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import exponential as oracle
from playing import compare, loss_table, play, regret, uniform_regret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract


@pytest.mark.parametrize("kind", ["binary", "fractional"])
@pytest.mark.parametrize("n_arms", [2, 3, 5])
@pytest.mark.parametrize("name", ["EXP3", "EXP3IX"])
def test_round_by_round(name, n_arms, kind):
    policy, reference = getattr(bw, name)(), getattr(oracle, name)(n_arms)
    compare(policy, reference, loss_table(kind, n_arms, 300), seed=n_arms)


def test_trace_shows_rates_and_estimates():
    trace = bw.replay(bw.EXP3IX(), n_arms=2, arms=[0, 1], losses=[1.0, 0.5])
    np.testing.assert_allclose(trace.rates[:, 0], [math.sqrt(2 * t / math.log(2)) for t in (1, 2, 3)])
    etas = 1 / trace.rates[:, 0]
    assert trace.estimates[1, 0] == pytest.approx(1 / (0.5 + etas[0] / 2))
    assert trace.estimates[2, 1] == pytest.approx(0.5 / (trace.p[1, 1] + etas[1] / 2))


@pytest.mark.parametrize("policy", [bw.EXP3(), bw.EXP3IX()], ids=repr)
def test_better_than_uniform_play(policy):
    means = [0.3, 0.6, 0.6, 0.6]
    assert regret(policy, means, 3000) < 0.35 * uniform_regret(means, 3000)


@pytest.mark.slow
def test_within_its_bound_against_a_swap():
    # the best arm changes half-way: regret against the best fixed arm stays below 2√(TK log K)
    losses = np.zeros((4000, 3))
    losses[:2000, 1:] = 1.0
    losses[2000:, 0] = 1.0
    losses[2000:, 2] = 0.5
    runs = []
    for seed in range(5):
        p, _ = play(bw.EXP3(), losses, seed=seed)
        runs.append(float((p * losses).sum()))
    assert np.mean(runs) - losses.sum(axis=0).min() < 2 * math.sqrt(4000 * 3 * math.log(3))


@pytest.mark.parametrize("policy", [bw.EXP3(), bw.EXP3IX()], ids=repr)
def test_one_arm(policy):
    p, arms = play(policy, np.ones((20, 1)))
    assert (p == 1.0).all()
    assert (arms == 0).all()


def test_the_horizon_plays_no_part():
    assert bw.EXP3().resolve(3, 100) == bw.EXP3().resolve(3, None)


def test_bad_scale():
    with pytest.raises(InvalidArgumentError, match=r"scale must be a finite number above 0, got 0\.0"):
        bw.estimators.ImplicitExploration(scale=0)


def test_implicit_exploration_in_other_policies_and_in_saved_ones():
    policy = bw.FTRL(bw.Tsallis(0.5), constants="light", estimator=bw.estimators.ImplicitExploration(0.2))
    assert bw.policies.from_dict(bw.policies.to_dict(policy)) == policy
    trace = bw.replay(policy, n_arms=2, arms=[1], losses=[1.0])
    assert trace.estimates[1, 1] == pytest.approx(1 / (0.5 + 0.2 / trace.rates[0, 1]))
