"""What another policy would have earned: intervals, and estimates held to their formulas."""

from __future__ import annotations

import json
import math
from statistics import NormalDist

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference import log as room
from oracle import inference as oracle
from oracle.inference import mpf

TARGET = np.array([0.2, 0.5, 0.3])


def logged(n=300, seed=0, *, binary=False):
    """A logger whose probabilities move."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([4.0, 2.0, 1.0], n)
    actions = np.array([rng.choice(3, p=row) for row in p])
    rewards = rng.random(n) ** (1.0 + actions)
    if binary:
        rewards = np.round(rewards)
    return actions, rewards, p


def table_of(actions, rewards, p, *, distributions=True):
    table = {"action": actions, "reward": rewards, "propensity": p[np.arange(len(p)), actions]}
    return table | ({f"propensity_{a}": p[:, a] for a in range(p.shape[1])} if distributions else {})


def by_formula(actions, rewards, p, targets, error=0.05):
    """The estimates, line by line as they are defined."""
    counts, sums = [0] * p.shape[1], [0.0] * p.shape[1]
    gammas, hs, weights = [], [], []
    for action, reward, row, target in zip(actions, rewards, p, targets, strict=True):
        means = [s / c if c else 0.5 for s, c in zip(sums, counts, strict=True)]
        weight = target[action] / row[action]
        gammas.append(
            sum(q * m for q, m in zip(target, means, strict=True)) + weight * (reward - means[action])
        )
        hs.append(1.0 / math.sqrt(sum(q * q / one for q, one in zip(target, row, strict=True) if q)))
        weights.append(weight)
        counts[action] += 1
        sums[action] += reward
    gammas, hs, weights = map(np.array, (gammas, hs, weights))
    theta = (hs * gammas).sum() / hs.sum()
    reach = NormalDist().inv_cdf(1 - error / 2) * math.sqrt((hs**2 * (gammas - theta) ** 2).sum()) / hs.sum()
    return {
        "ipw": (weights * rewards).mean(),
        "snipw": (weights * rewards).sum() / weights.sum(),
        "aipw": gammas.mean(),
        "adaptive": (theta, theta - reach, theta + reach),
        "effective_size": weights.sum() ** 2 / (weights**2).sum(),
        "largest_weight": weights.max(),
    }


def agree(found, wanted):
    for name in ("ipw", "snipw", "aipw", "effective_size", "largest_weight"):
        assert getattr(found, name) == pytest.approx(wanted[name], rel=1e-11), name
    about = found.adaptive
    assert (about.value, about.low, about.high) == pytest.approx(wanted["adaptive"], rel=1e-9)


@pytest.mark.parametrize("binary", [False, True])
def test_estimates_are_their_formulas(binary, monkeypatch):
    monkeypatch.setattr(room, "ROWS", 77)
    rows = logged(binary=binary)
    agree(bw.inference.evaluate(table_of(*rows), TARGET), by_formula(*rows, np.tile(TARGET, (300, 1))))
    always = np.tile([0.0, 1.0, 0.0], (300, 1))
    agree(bw.inference.evaluate(table_of(*rows), 1), by_formula(*rows, always))


def test_policies_that_move(monkeypatch):
    monkeypatch.setattr(room, "ROWS", 77)
    rows = logged()
    targets = np.random.default_rng(5).dirichlet([1.0, 1.0, 1.0], 300)
    agree(bw.inference.evaluate(table_of(*rows), targets), by_formula(*rows, targets))

    def leader(history):
        assert history.actions.size == history.rewards.size == history.propensities.size
        out = np.full(3, 0.1)
        sums = np.bincount(history.actions, history.rewards, 3)
        out[int(np.argmax(sums))] += 0.7
        return out

    sums, played = np.zeros(3), []
    for action, reward in zip(rows[0], rows[1], strict=True):
        played.append(np.full(3, 0.1) + 0.7 * (np.arange(3) == np.argmax(sums)))
        sums[action] += reward
    found = bw.inference.evaluate(table_of(*rows), leader)
    agree(found, by_formula(*rows, np.array(played)))
    same = bw.inference.evaluate(table_of(*rows), np.array(played))
    assert found.interval == same.interval


def test_interval_to_forty_digits():
    actions, rewards, p = logged(60)
    found = bw.inference.evaluate(table_of(actions, rewards, p), TARGET).interval
    weights = [mpf(TARGET[a]) / mpf(row[a]) for a, row in zip(actions, p, strict=True)]
    up = oracle.sums([w * mpf(r) for w, r in zip(weights, rewards, strict=True)])
    down = oracle.sums([w * (1 - mpf(r)) for w, r in zip(weights, rewards, strict=True)])
    assert found.low == pytest.approx(float(oracle.lower(up, 60, 0.025)), abs=1e-11)
    assert found.high == pytest.approx(float(1 - oracle.lower(down, 60, 0.025)), abs=1e-11)


def test_ways_to_name_a_policy():
    rows = logged()
    table = table_of(*rows, distributions=False)
    vector = bw.inference.evaluate(table, TARGET)
    assert bw.inference.evaluate(table, dict(enumerate(TARGET.tolist()))) == vector
    assert bw.inference.evaluate(table, TARGET.tolist()) == vector
    assert vector.adaptive is None
    one = bw.inference.evaluate(table, 2)
    assert one == bw.inference.evaluate(table, {2: 1.0}) == bw.inference.evaluate(table, [0, 0, 1])
    own = bw.inference.evaluate(table, "logged")
    assert own.ipw == own.snipw == own.aipw == pytest.approx(rows[1].mean())
    assert own.effective_size == 300
    value = bw.inference.evidence(table).value
    assert (own.interval.low, own.interval.high) == pytest.approx((value.low, value.high), abs=1e-12)
    never = bw.inference.evaluate(table, [0.0, 0.0, 0.0, 1.0])  # an arm that was never played
    assert (never.interval.low, never.interval.high, never.effective_size) == (0.0, 1.0, 0.0)
    means = bw.inference.evidence(table, world="any")
    assert (one.interval.low, one.interval.high) == pytest.approx((means[2].low, means[2].high), abs=1e-12)


def test_several_policies_at_once():
    from bothworlds.inference.evaluation import evaluate_several

    table = table_of(*logged())
    found = evaluate_several(table, {"mix": TARGET, "first": 0, "own": "logged"})
    for name, policy in (("mix", TARGET), ("first", 0), ("own", "logged")):
        assert found[name] == bw.inference.evaluate(table, policy)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0.5, 0.6, 0.0], "probabilities that sum to 1"),
        ([1.5, -0.5, 0.0], "probabilities that sum to 1"),
        ([0.5, 0.5], "of length 3, the number of arms"),
        ({0: 0.5, 1: 0.6}, "probabilities that sum to 1"),
        ({0: 0.5, 7: 0.5}, "over arms of the log: 0, 1, 2"),
        ({}, "probabilities of arms"),
        ("green", "over arms of the log"),
        (np.full((299, 3), 1 / 3), "a row for each of"),
        (np.full((301, 3), 1 / 3), "a row for each of the 300 decisions"),
        (np.full((300, 3), 0.3), r"policy\[0\] must be probabilities that sum to 1 in every row"),
        (lambda history: [0.5, 0.5, 0.5], "probabilities that sum to 1"),
        (lambda history: "all", "policy"),
    ],
)
def test_refusals(policy, message):
    table = table_of(*logged(), distributions=False)
    with pytest.raises(InvalidArgumentError, match=message):
        bw.inference.evaluate(table, policy)


def test_in_words():
    found = bw.inference.evaluate(table_of(*logged()), TARGET)
    assert str(found).splitlines()[0].startswith("value")
    assert "approximate, for one look only" in str(found)
    assert "<td>" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["interval"]["low"] == found.interval.low
    assert plain["audit"]["decisions"] == 300
    bare = bw.inference.evaluate(table_of(*logged(), distributions=False), TARGET)
    assert "without columns propensity_<arm>" in str(bare)
    assert json.loads(json.dumps(bare.to_dict()))["adaptive"] is None
    assert repr(found).startswith("<Evaluation: ")


@pytest.mark.compiled
def test_intervals_hold_for_a_logger_that_learns():
    """Uniform play, from a hundred runs of Tsallis-INF: inside at the end, approximately so for one look."""
    world = bw.environments.Bernoulli(means=[0.3, 0.5])
    run = bw.simulate(bw.TsallisINF(), world, horizon=2000, replications=100, seed=5, trace=True)
    found = [bw.inference.evaluate(trace, [0.5, 0.5]) for trace in run.traces[0]]
    assert sum(0.6 in one.interval for one in found) >= 95
    assert sum(one.adaptive.low <= 0.6 <= one.adaptive.high for one in found) >= 85
    assert not any(one.audit for one in found)
