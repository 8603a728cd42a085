"""The drift alarm, and the audit of propensities: to 40 digits, seldom false, soon right."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.inference import state as evidence_state
from bothworlds.inference.alarm import LOG_E, N_NUMBERS, STAKE, TOTAL, alarm_of
from oracle import inference as oracle


def fed(arms, rewards, n_arms):
    kept = evidence_state.init_evidence(n_arms, False)
    evidence_state.take_in(kept, arms, rewards, np.ones(arms.size))
    return kept.drift


def log_es(drift):
    return drift.arms.reshape(-1, N_NUMBERS)[:, LOG_E]


@pytest.mark.parametrize("kind", ["binary", "normal", "few", "all alike", "shifted"])
def test_evidence_to_forty_digits(kind):
    rng = np.random.default_rng(1)
    rewards = {
        "binary": (rng.random(300) < 0.3).astype(float),
        "normal": np.clip(rng.normal(0.5, 0.1, 300), 0, 1),
        "few": (rng.random(25) < 0.5).astype(float),
        "all alike": np.ones(200),
        "shifted": (rng.random(400) < np.repeat([0.2, 0.8], 200)).astype(float),
    }[kind]
    drift = fed(np.zeros(rewards.size, dtype=np.int64), rewards, 1)
    wanted = float(oracle.drift(rewards.tolist()))
    assert log_es(drift)[0] == pytest.approx(wanted, abs=1e-10)
    alarm = alarm_of(drift, ["a"])
    assert alarm.log_e == pytest.approx(wanted, abs=1e-10)
    assert bool(alarm) == (kind == "shifted")


def test_the_mean_over_arms_decides_and_the_alarm_stays():
    rng = np.random.default_rng(2)
    n = 3000
    arms = rng.integers(0, 3, n)
    means = np.where((arms == 1) & (np.arange(n) > 1500), 0.9, 0.3)
    rewards = (rng.random(n) < means).astype(float)
    alarm = bw.inference.drift({"action": arms, "reward": rewards})
    assert alarm
    assert alarm.arm == 1
    values = []
    for t in (alarm.since - 1, alarm.since):
        each = log_es(fed(arms[:t], rewards[:t], 3))
        values.append(math.log(np.mean(np.exp(each))))
    assert values[0] < alarm.threshold <= values[1]
    again = bw.inference.drift({"action": np.append(arms, [0] * 5), "reward": np.append(rewards, [0] * 5)})
    assert again.since == alarm.since


def test_order_matters_within_an_arm_only():
    rng = np.random.default_rng(3)
    arms, rewards = rng.integers(0, 2, 400), (rng.random(400) < 0.5).astype(float)
    by_arm = np.argsort(arms, kind="stable")
    assert log_es(fed(arms, rewards, 2)) == pytest.approx(log_es(fed(arms[by_arm], rewards[by_arm], 2)))
    mixed = rewards.copy()
    mixed[arms == 0] = np.sort(rewards[arms == 0])
    assert abs(log_es(fed(arms, mixed, 2))[0] - log_es(fed(arms, rewards, 2))[0]) > 1.0


@pytest.mark.compiled
def test_false_alarms_are_as_rare_as_promised():
    rng = np.random.default_rng(4)
    false = 0
    for _ in range(1000):
        arms = rng.choice(3, 1500, p=[0.8, 0.15, 0.05])
        false += bool(bw.inference.drift({"action": arms, "reward": rng.random(1500) < 0.4}))
    assert false <= 50


def test_audit_to_forty_digits():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([2.0, 1.0, 0.5], 80)
    actions = np.array([rng.choice(3, p=row) for row in p])
    columns = {"action": actions, "propensity": p[np.arange(80), actions]}
    columns |= {f"propensity_{arm}": p[:, arm] for arm in range(3)}
    values = [float(oracle.audit(actions[:t].tolist(), p[:t].tolist())) for t in range(1, 81)]
    found = bw.inference.audit(columns)
    assert found.log_e == pytest.approx(max(0.0, *values), abs=1e-11)
    assert found.distributions
    assert not found


@pytest.mark.compiled
@pytest.mark.parametrize("all_known", [True, False])
def test_audit_is_right_about_honest_and_dishonest_logs(all_known):
    """Honest in 300 logs; wrong when the true shares are others, or when they were rounded too far."""
    rng = np.random.default_rng(6)

    def log(true, claimed, n=4000):
        actions = rng.choice(3, n, p=true)
        columns = {"action": actions, "propensity": np.array(claimed)[actions]}
        if all_known:
            columns |= {f"propensity_{arm}": np.full(n, claimed[arm]) for arm in range(3)}
        return columns

    assert not any(bw.inference.audit(log([0.9, 0.08, 0.02], [0.9, 0.08, 0.02])) for _ in range(300))
    caught = bw.inference.audit(log([0.8, 0.15, 0.05], [0.9, 0.08, 0.02]))
    assert caught
    assert caught.arm in (1, 2)
    assert "FAILS" in str(caught)
    assert bw.inference.audit(log([0.9, 0.06, 0.04], [0.9, 0.09, 0.01]))


def test_audit_needs_no_rewards_and_names_what_is_missing():
    with pytest.raises(
        bw.errors.InvalidArgumentError, match="missing: propensity, did you mean 'propensities'"
    ):
        bw.inference.audit({"action": [0, 1], "propensities": [0.5, 0.5]})
    assert bw.inference.audit({"action": ["a", "b"], "propensity": [0.5, 0.5]}).decisions == 2


@pytest.mark.compiled
def test_an_arm_that_arrives_gets_its_share_of_what_there_is():
    """By hand: nothing is won or lost by an arrival, and every stake grows as the e-value of its arm."""
    rng = np.random.default_rng(7)
    kept, stakes, total = evidence_state.init_evidence(2, False), [0.5, 0.5], 1.0
    for arrival in range(4):
        n, n_arms = 400, len(stakes)
        arms = rng.integers(0, n_arms, n)
        rewards = (rng.random(n) < 0.4).astype(float)
        evidence_state.take_in(kept, arms, rewards, np.ones(n))
        total = sum(stake * math.exp(value) for stake, value in zip(stakes, log_es(kept.drift), strict=True))
        assert alarm_of(kept.drift, range(n_arms)).log_e == pytest.approx(math.log(total))
        assert total < 0.9  # e-values of arms that stand still fall: each newcomer used to bring 1 of its own
        kept = evidence_state.with_another_arm(kept)
        stakes = [stake * n_arms / (n_arms + 1) for stake in stakes] + [total / (n_arms + 1)]
        assert kept.drift.arms.reshape(-1, N_NUMBERS)[:, STAKE] == pytest.approx(stakes)
        assert alarm_of(kept.drift, range(n_arms + 1)).log_e == pytest.approx(math.log(total)), arrival
        assert kept.drift.scalars[TOTAL] == pytest.approx(total)
    moved = np.r_[np.zeros(300), np.ones(300)]
    evidence_state.take_in(kept, np.full(600, 5), moved, np.ones(600))
    assert alarm_of(kept.drift, range(6)).arm == 5
    assert alarm_of(kept.drift, range(6)).since > 1600 + 300
