"""A bandit that begins with what others have tried."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError

ARMS = ["blue", "green", "red"]


def log_of(n: int = 200) -> dict[str, list]:
    random = np.random.default_rng(5)
    p = [0.5, 0.3, 0.2]
    actions = random.choice(3, n, p=p)
    rewards = random.random(n) < np.array([0.3, 0.6, 0.4])[actions]
    return {
        "action": [ARMS[i] for i in actions],
        "reward": rewards.astype(float).tolist(),
        "propensity": [p[i] for i in actions],
    }


def test_rows_are_rounds_weighed_with_the_loggers_probability():
    """Estimated losses are sums of loss/propensity, which Tsallis-INF keeps."""
    policy = bw.TsallisINF()
    bandit = bw.Bandit(ARMS, policy, seed=7)
    log = log_of()
    assert bandit.learn(log) == 200
    expected = [sum((1 - r) / p for a, r, p in zip(*log.values(), strict=True) if a == arm) for arm in ARMS]
    losses = np.array(bandit._state.losses[:3])
    np.testing.assert_allclose(losses - losses.min(), np.subtract(expected, min(expected)), rtol=1e-9)


def test_a_log_of_its_own_decisions_teaches_what_live_play_did():
    live = bw.Bandit(ARMS, bw.LightBarrier(), seed=7)
    log = {"action": [], "reward": [], "propensity": []}
    for i in range(150):
        pull = live.pull()
        live.update(pull, reward=(i % 5) / 4)
        for name, value in zip(log, (pull.arm, (i % 5) / 4, pull.probability), strict=True):
            log[name].append(value)
    taught = bw.Bandit(ARMS, bw.LightBarrier(), seed=1)
    taught.learn(log)
    assert taught.probabilities == live.probabilities
    assert taught._sums == live._sums
    assert (taught.rounds, live.rounds) == (0, 150)


def test_counts_are_rows_that_happened_often():
    rows = {"action": ["blue"] * 3 + ["green"] * 5, "reward": [1, 1, 0] + [0] * 5}
    counts = {"action": ["blue", "blue", "green"], "reward": [1, 0, 0], "count": [2, 1, 5]}
    one, other = (bw.Bandit(ARMS, bw.Thompson(), seed=7) for _ in range(2))
    assert one.learn(rows) == other.learn(counts) == 8
    assert one.to_dict()["state"] == other.to_dict()["state"]
    assert one._seen == [3, 5, 0]


def test_files(tmp_path):
    path = tmp_path / "log.csv"
    log = log_of(50)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(log)
        writer.writerows(zip(*log.values(), strict=True))
    one, other = (bw.Bandit(ARMS, bw.LightBarrier(), seed=7) for _ in range(2))
    assert one.learn(path) == other.learn(log) == 50
    assert one.probabilities == other.probabilities


def test_ranges_and_shares_hold():
    wide = bw.Bandit(ARMS, bw.LightBarrier(), seed=7, low=-5.0, high=15.0)
    plain = bw.Bandit(ARMS, bw.LightBarrier(), seed=7)
    log = log_of(60)
    wide.learn(log | {"reward": [20.0 * r - 5.0 for r in log["reward"]]})
    plain.learn(log)
    assert wide.probabilities == plain.probabilities
    shared = bw.Bandit(ARMS, bw.LightBarrier(), seed=7, fixed={"blue": 0.1})
    two = bw.Bandit(ARMS[1:], bw.LightBarrier(), seed=7)
    shared.learn(log)
    kept = [i for i, arm in enumerate(log["action"]) if arm != "blue"]
    two.learn({name: [values[i] for i in kept] for name, values in log.items()})
    assert shared.probabilities["green"] == pytest.approx(0.9 * two.probabilities["green"])


def test_rows_without_a_reward_can_be_left_out():
    log = log_of(20)
    log["reward"][3] = float("nan")
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=7)
    with pytest.raises(InvalidArgumentError, match="missing"):
        bandit.learn(log)
    assert bandit.learn(log, missing="ignorable") == 19


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"propensity": None}, "column propensity.*these policies can do without: .*Thompson"),
        ({"reward": None}, "missing: reward"),
        ({"action": ["gren"] * 20}, "green"),
        ({"reward": [2.0] * 20}, "reward"),
        ({"propensity": [0.0] * 20}, "propensity"),
        ({"count": [1.5] * 20}, "count"),
        ({"count": [-1] * 20}, "count"),
    ],
)
def test_bad_logs_are_refused_and_change_nothing(change, message):
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=7)
    before = bandit.to_dict()
    log = {name: values for name, values in (log_of(20) | change).items() if values is not None}
    with pytest.raises(InvalidArgumentError, match=message):
        bandit.learn(log)
    assert bandit.to_dict() == before


def test_who_cannot_learn_from_a_log():
    with pytest.raises(InvalidArgumentError, match="range is known"):
        bw.Bandit(ARMS, high=None).learn(log_of(5))
    with pytest.raises(InvalidArgumentError, match="shows the arm it plays"):
        bw.Bandit(ARMS, bw.DecoupledTsallisINF()).learn(log_of(5))
