"""Bounds of linear bandits, of advice and of episodic MDPs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError

T = 10_000
X = [[0.0], [0.2], [0.7], [1.0]]
GAPS = [0.0, 0.2, 0.3, 0.5]
MDP = [[[[0.5, 0.5], [1.0, 0.0]]]]


def experts(method, n=5):
    return bw.Advised([lambda context, i=i: i % 3 for i in range(n)], 3, method=method)


def test_of_linear_bandits():
    found = bw.theory.bound(
        bw.LinearSPM(X, constants="paper"), n_arms=4, horizon=T, gaps=GAPS, corruption=9.0
    )
    assert found.adversarial.value == pytest.approx(math.sqrt(2 * T * math.log(4)))
    omega = 2 * math.log(4) / 0.2
    assert found.self_bounding["gaps"].value == pytest.approx(omega * math.log(T))
    assert found.self_bounding["corruption"].value == pytest.approx(math.sqrt(9 * omega * math.log(T)))
    assert "linear in the features" in found.self_bounding.assumes
    policy = bw.EXP2(X, rate=0.5)
    c = policy.design.certificate
    expected = 0.5 * (2 + 2 * (1 + c)) * math.sqrt(2 * T * math.log(4)) + 2 * c * math.log(4)
    assert bw.theory.bound(policy, n_arms=4, horizon=T).value == pytest.approx(expected)


def test_the_bound_of_exp2_holds(monkeypatch):
    """Against losses that favor one end of a line, then the other: expected regret, by p and means."""
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    for rate in (0.35, 2.0):
        bandit, regret, totals = bw.Bandit(4, bw.EXP2(X, rate=rate), seed=1), 0.0, np.zeros(4)
        for t in range(300):
            slope = 1.0 if t % 100 < 60 else -1.0
            losses = 0.5 + slope * (np.array(X)[:, 0] - 0.5)
            regret += float(np.array(list(bandit.probabilities.values())) @ losses)
            totals += losses
            pull = bandit.pull()
            bandit.update(pull, loss=losses[pull.arm])
        bound = bw.theory.bound(bandit.policy, n_arms=4, horizon=300)
        assert bound.adversarial.explicit
        assert regret - totals.min() <= bound.value


def test_of_advice():
    exp4 = bw.theory.bound(experts("exp4"), horizon=T)
    assert exp4.value == exp4.adversarial.value == pytest.approx(2 * math.sqrt(3 * T * math.log(5)))
    assert exp4.at(4 * T).value == pytest.approx(2 * exp4.value)
    spm = bw.theory.bound(experts("spm-paper"), horizon=T, gaps=[0.0, 0.1, 0.2, 0.3, 0.4], corruption=4.0)
    alpha = 1 - 1 / (4 * math.log(5))
    omega = 3 * 5 ** (1 - alpha) / (alpha * (1 - alpha) * 0.1)
    assert spm.adversarial.value == pytest.approx(math.sqrt(3 * T * math.log(5)))
    assert spm.self_bounding["gaps"].value == pytest.approx(omega * math.log(T))
    assert spm.self_bounding["corruption"].value == pytest.approx(math.sqrt(4 * omega * math.log(T)))
    assert spm.self_bounding.assumes == "one best expert"
    assert "K = 5" in spm.table()


def test_the_bound_of_exp4_holds():
    """Experts who are right in turn, a hundred rounds each: expected regret, by probabilities."""
    for n in (2, 12):
        bandit = experts("exp4", n)
        regret, totals = 0.0, np.zeros(n)
        for t in range(600):
            losses = np.array([float((t // 100) % 3 != i) for i in range(3)])
            regret += sum(p * losses[arm] for arm, p in bandit.probabilities().items())
            totals += losses[[i % 3 for i in range(n)]]
            pull = bandit.pull()
            bandit.update(pull, loss=losses[pull.arm])
        assert regret - totals.min() <= bw.theory.bound(bandit, horizon=600).value


def test_of_episodes():
    learner = bw.PolicyOptimization(MDP, constants="paper")
    found = bw.theory.bound(learner, horizon=T)
    assert found.adversarial.value == pytest.approx(math.sqrt(8 * 6 * T * math.log(T)))
    assert not found.adversarial.explicit


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (bw.LinearSPM(X), {"n_arms": 4}, "LinearSPM has one with constants='paper'"),
        (bw.LinearSPM(X), {"n_arms": 5}, "a row for each of the 5 arms, got 4 rows"),
        (experts("spm"), {}, "method='exp4' or 'spm-paper'; the light one is measured"),
        (experts("exp4"), {"n_arms": 5}, "n_arms must be left out for Advised, which knows it"),
        (experts("exp4"), {"shows": "all"}, "shows must be left out for Advised"),
        (experts("spm-paper"), {"gaps": [0.0, 0.1]}, "one gap for each of the 5 arms"),
        (bw.PolicyOptimization(MDP), {}, "PolicyOptimization has one with constants='paper'"),
        (bw.PolicyOptimization(MDP), {"gaps": [0.0, 0.1]}, "needs gaps in every state"),
    ],
)
def test_what_no_theorem_covers(policy, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.theory.bound(policy, horizon=T, **options)
