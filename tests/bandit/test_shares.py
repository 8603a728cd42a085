"""Floors and fixed shares: kept, logged, and learned with."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
from scipy import stats

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from cases import CASES

ARMS = ["control", "a", "b", "c"]


def play(bandit, rounds, seed=1):
    """Learn that "a" is best."""
    random, pulls = np.random.default_rng(seed), []
    for _ in range(rounds):
        pull = bandit.pull()
        loss = float(random.random() < (0.2 if pull.arm == "a" else 0.8))
        pulls.append((pull, loss))
        bandit.update(pull, loss=loss)
    return pulls


@pytest.mark.parametrize("policy", [None, pytest.param("thompson", marks=pytest.mark.slow), "ucb1", "exp3"])
@pytest.mark.parametrize("key", [False, True])
def test_arms_are_drawn_as_the_logged_probabilities_say(policy, key):
    bandit = bw.Bandit(ARMS, policy, seed=3, floor=0.05, fixed={"control": 0.1})
    play(bandit, 300)
    p = bandit.probabilities
    assert p["control"] == 0.1
    assert min(p.values()) >= 0.05
    assert sum(p.values()) == pytest.approx(1.0, abs=1e-12)
    count = 1000 if policy == "thompson" else 5000
    pulls = [bandit.pull(key=i if key else None) for i in range(count)]
    assert all(pull.probability == pytest.approx(p[pull.arm], rel=1e-12) for pull in pulls)
    counts = [sum(pull.arm == arm for pull in pulls) for arm in ARMS]
    assert stats.chisquare(counts, count * np.array(list(p.values()))).pvalue > 1e-4


def test_the_policy_learns_with_the_probabilities_in_force():
    # Tsallis-INF (α = ½): its distribution follows from Σ loss/q, q of the mixture, over the arms it plays
    bandit = bw.Bandit(ARMS, bw.TsallisINF(), seed=3, floor=0.05, fixed={"control": 0.1})
    pulls = play(bandit, 300)
    sums, seen = np.zeros(3), 0
    for pull, loss in pulls:
        if pull.arm != "control":
            sums[ARMS.index(pull.arm) - 1] += loss / pull.probability
            seen += 1
    p = bw.solve(sums, math.sqrt(1 + seen), bw.Tsallis(0.5)).p
    expected = [0.1, *(0.05 + 0.75 * p)]
    np.testing.assert_allclose(list(bandit.probabilities.values()), expected, rtol=1e-9)
    assert 0 < seen < 300


def test_estimates_are_unbiased():
    """Over many draws of one state the mean of 1[arm = i]/q_i is 1 for every arm, floors included."""
    bandit = bw.Bandit(ARMS, "ucb1", seed=3, floor=0.05)
    play(bandit, 100)
    count = 20_000
    weights = dict.fromkeys(ARMS, 0.0)
    for _ in range(count):
        pull = bandit.pull()
        weights[pull.arm] += 1 / pull.probability
    for arm, p in bandit.probabilities.items():
        assert abs(weights[arm] / count - 1) < 4 * math.sqrt((1 / p - 1) / count) + 1e-12


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not (case.policy.decoupled or case.policy.in_blocks)],
    ids=lambda c: repr(c.policy),
)
def test_every_policy_can_be_mixed(case):
    n = case.arms or 3
    arms = list(range(n + 1))
    bandit = bw.Bandit(arms, case.policy, horizon=400, seed=2, floor=0.04, fixed={0: 0.2})
    for i in range(60):
        p = bandit.probabilities
        assert p[0] == 0.2
        assert min(p.values()) >= 0.04
        assert sum(p.values()) == pytest.approx(1.0, abs=1e-9)
        pull = bandit.pull()
        assert pull.probability == pytest.approx(p[pull.arm], rel=1e-9)
        bandit.update(pull, loss=((i * 7) % 10) / 10)


def test_decoupled_policies_are_refused():
    for policy in (bw.DecoupledTsallisINF(), bw.Restarting(bw.DecoupledTsallisINF(), every=150)):
        with pytest.raises(
            InvalidArgumentError, match=r"one that shows the arm it plays, .*; leave out floor"
        ):
            bw.Bandit(3, policy, floor=0.1)


def test_the_whole_floor_is_uniform_play():
    bandit = bw.Bandit(10, "ucb1", seed=1, floor=0.1)
    for _ in range(50):
        pull = bandit.pull()
        assert pull.probability == pytest.approx(0.1)
        bandit.update(pull, loss=float(pull.arm > 0))
    assert list(bandit.probabilities.values()) == pytest.approx([0.1] * 10)


def test_without_shares_nothing_changes():
    plain, zero = bw.Bandit(4, seed=1), bw.Bandit(4, seed=1, floor=0, fixed={})
    assert [plain.pull()[:4] for _ in range(30)] == [zero.pull()[:4] for _ in range(30)]


def test_shares_are_saved():
    bandit = bw.Bandit(ARMS, seed=3, floor=0.05, fixed={"control": 0.1})
    play(bandit, 50)
    kept = [bandit.pull() for _ in range(20)]
    for twin in (bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))), copy.deepcopy(bandit)):
        assert twin.to_dict() == bandit.to_dict()
        for pull in kept:
            twin.update(pull, loss=1.0)
        assert play(twin, 20)[-1][0].probability > 0
    for pull in kept:
        bandit.update(pull, loss=1.0)
    play(bandit, 20)
    assert bandit.probabilities == twin.probabilities


def test_the_answers_of_fixed_arms_are_counted_and_not_learned():
    bandit = bw.Bandit(["control", "a", "b"], seed=3, fixed={"control": 0.5})
    while (pull := bandit.pull()).arm != "control":
        bandit.forget(pull)
    before = bandit.probabilities
    assert pull.probability == 0.5
    bandit.update(pull, reward=1.0)
    assert bandit.probabilities == before
    assert bandit.to_dict()["seen"] == [1, 0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"floor": -0.1}, r"floor must be a finite number at least 0 and at most 1, got -0.1"),
        (
            {"floor": 0.3},
            r"floor must be such that .* sum to at most 1, got 0.3, and a sum of 1.2; at most 0.25",
        ),
        ({"floor": 0.2, "fixed": {"a": 0.5}}, r"got 0.2, and a sum of 1.1; at most 0.1667"),
        ({"fixed": {"contrl": 0.1}}, r"given for arms of the bandit, got 'contrl'; did you mean 'control'\?"),
        ({"fixed": {"x": 0.1}}, r"given for arms of the bandit, got 'x'; the arms are \['control', 'a'"),
        ({"fixed": {"a": 0.0}}, r"fixed\['a'\] must be a finite number above 0 and below 1, got 0.0"),
        ({"fixed": {"a": 0.6, "b": 0.6}}, r"fixed must be shares that sum to at most 1, got"),
        (
            {"fixed": dict.fromkeys(ARMS, 0.25)},
            r"fixed must be given for some arms, .*; leave one to the policy",
        ),
        ({"fixed": [0.1]}, r"fixed must be a dict of arms and their shares, got \[0.1\]"),
    ],
)
def test_bad_shares_are_named(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.Bandit(ARMS, **options)
