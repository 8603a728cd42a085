"""What is kept: the same whichever way it came in, and safe while answers are out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bothworlds import statefile
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference import state as evidence_state
from bothworlds.inference.engine import FACTORS
from bothworlds.inference.intervals import arm_ends, value_ends
from bothworlds.inference.regret import any_regret
from bothworlds.inference.statements import Evidence
from bothworlds.inference.sums import FULL, logs_by_arm, note_decision
from oracle import inference as oracle


def decisions(n=200, n_arms=3, seed=0, *, binary=False):
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, n_arms, n)
    rewards = rng.random(n)
    if binary:
        rewards = np.round(rewards)
    return arms, rewards, rng.random(n) ** 3


def fed(arms, rewards, probabilities, n_arms=3, *, full=True):
    kept = evidence_state.init_evidence(n_arms, full)
    evidence_state.take_in(kept, arms, rewards, probabilities)
    return kept


def test_six_sums_of_logarithms():
    arms, rewards, probabilities = decisions(80)
    logs = logs_by_arm(fed(arms, rewards, probabilities).sums)
    for arm in range(3):
        rows = [(r, 1.0 / p) for a, r, p in zip(arms, rewards, probabilities, strict=True) if a == arm]
        numbers = [
            [r for r, _ in rows],
            [1.0 - r for r, _ in rows],
            [w * r for r, w in rows],
            [w * (1.0 - r) for r, w in rows],
            [w * r + 1.0 - r for r, w in rows],
            [w * (1.0 - r) + r for r, w in rows],
        ]
        for kind in range(FULL):
            exact = [float(value) for value in oracle.sums(numbers[kind])]
            assert logs[arm, kind] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("binary", [False, True])
def test_one_by_one_and_as_python_give_the_same_bits(full, binary):
    rows = decisions(100, binary=binary)
    together, single, python = (
        fed(*rows, full=full),
        evidence_state.init_evidence(3, full),
        evidence_state.init_evidence(3, full),
    )
    for arm, reward, p in zip(*(column.tolist() for column in rows), strict=True):
        note_decision(single.sums, arm)
        evidence_state.answered(single, arm, reward, p)
        note_decision(python.sums, arm)
        evidence_state.answered.py_func(python, arm, reward, p)
    for kept in (single, python):
        for one, other in zip((*together.sums, *together.drift), (*kept.sums, *kept.drift), strict=True):
            assert one.tobytes() == other.tobytes()


def test_shards_and_order_do_not_matter():
    arms, rewards, probabilities = decisions(700)
    order = np.random.default_rng(4).permutation(700)
    whole = fed(arms, rewards, probabilities).sums
    parts = [
        fed(arms[at], rewards[at], probabilities[at]).sums
        for at in (slice(0, 100), slice(100, 103), slice(103, 700))
    ]
    for other in (
        parts[0] + parts[1] + parts[2],
        fed(arms[order], rewards[order], probabilities[order]).sums,
    ):
        assert other.pulls.tolist() == whole.pulls.tolist()
        assert logs_by_arm(other) == pytest.approx(logs_by_arm(whole), rel=1e-12)
        for world in ("stationary", "any"):
            for mine, theirs in zip(arm_ends(whole, world, 0.05), arm_ends(other, world, 0.05), strict=True):
                assert mine == pytest.approx(theirs, abs=1e-12)
        assert any_regret(whole, 0.05) == pytest.approx(any_regret(other, 0.05), abs=1e-11)
    with pytest.raises(InvalidArgumentError, match="3 arms and 6 kinds"):
        _ = whole + evidence_state.init_evidence(3, False).sums


def test_huge_weights_neither_overflow_nor_hurt():
    n = 5 * FACTORS
    kept = fed(np.zeros(n, dtype=np.int64), np.linspace(0.0, 1.0, n), np.full(n, 1e-300), 2)
    assert np.isfinite(logs_by_arm(kept.sums)).all()
    low, _, high = arm_ends(kept.sums, "any", 0.05)
    assert 0.0 <= low[0] <= 1.0
    assert 0.0 <= high[0] <= 1.0


def test_an_answer_never_widens_what_was_known():
    arms, rewards, probabilities = decisions(120)
    kept = evidence_state.init_evidence(3, True)
    for arm in arms:
        note_decision(kept.sums, int(arm))
    before = [*arm_ends(kept.sums, "stationary", 0.05), *arm_ends(kept.sums, "any", 0.05)]
    value = value_ends(kept.sums, 0.05)
    for arm, reward, p in zip(arms.tolist(), rewards.tolist(), probabilities.tolist(), strict=True):
        evidence_state.answered(kept, arm, reward, p)
        now = [*arm_ends(kept.sums, "stationary", 0.05), *arm_ends(kept.sums, "any", 0.05)]
        for k in (0, 3):
            assert np.all(now[k] >= before[k] - 1e-12)
            assert np.all(now[k + 2] <= before[k + 2] + 1e-12)
        then = value_ends(kept.sums, 0.05)
        assert then[0] >= value[0] - 1e-12
        assert then[2] <= value[2] + 1e-12
        before, value = now, then


def test_mirror():
    arms, rewards, probabilities = decisions(300)
    up, down = fed(arms, rewards, probabilities).sums, fed(arms, 1.0 - rewards, probabilities).sums
    for world in ("stationary", "any"):
        one, two = arm_ends(up, world, 0.05), arm_ends(down, world, 0.05)
        assert one.low == pytest.approx(1.0 - two.high, abs=1e-12)
        assert one.high == pytest.approx(1.0 - two.low, abs=1e-12)


def test_saved_and_read_back_it_goes_on_with_the_same_bits():
    arms, rewards, probabilities = decisions(333)
    kept = fed(arms[:150], rewards[:150], probabilities[:150])
    read = statefile.unpack(
        evidence_state.init_evidence(3, True), json.loads(json.dumps(statefile.pack(kept)))
    )
    for each in (kept, read):
        evidence_state.take_in(each, arms[150:], rewards[150:], probabilities[150:])
    assert statefile.pack(kept) == statefile.pack(read)


def test_an_arm_more():
    arms, rewards, probabilities = decisions(100)
    kept = fed(arms, rewards, probabilities)
    grown = evidence_state.with_another_arm(kept)
    one, two = Evidence(kept, (0, 1, 2)), Evidence(grown, (0, 1, 2, 3))
    assert [one[arm] for arm in range(3)] == [two[arm] for arm in range(3)]
    assert (two[3].low, two[3].high) == (0.0, 1.0)
    assert 3 in two.standing
