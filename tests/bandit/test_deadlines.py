"""Answers that come late or never: what is learned, when, and how much is remembered."""

from __future__ import annotations

import json
import math
import time
from datetime import timedelta

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, OutOfRangeError, RepeatedPullError

DAY = timedelta(days=1)


def learned_by(pulls, losses):
    """The distribution of Tsallis-INF after these losses: its estimates are Σ loss/p, in any order."""
    expected = np.zeros(3)
    for pull, loss in zip(pulls, losses, strict=True):
        expected[pull.observe] += loss / pull.probability
    return bw.solve(expected, math.sqrt(1 + len(pulls)), bw.Tsallis(0.5)).p


def test_after_so_many_pulls_what_is_missing_is_learned():
    bandit = bw.Bandit(3, bw.TsallisINF(), seed=4, wait=5, missing=0.25)
    pulls = [bandit.pull() for _ in range(5)]
    assert bandit.outstanding == tuple(pulls)
    pulls.append(bandit.pull())  # the fifth after the first
    assert bandit.outstanding == tuple(pulls[1:])
    np.testing.assert_allclose(list(bandit.probabilities.values()), learned_by(pulls[:1], [0.75]), rtol=1e-9)
    bandit.update(pulls[2], reward=1.0)
    for _ in range(3):
        pulls.append(bandit.pull())
    assert bandit.outstanding == tuple(pulls[4:])
    expected = learned_by([pulls[0], pulls[2], pulls[1], pulls[3]], [0.75, 0.0, 0.75, 0.75])
    np.testing.assert_allclose(list(bandit.probabilities.values()), expected, rtol=1e-9)
    assert bandit.to_dict()["seen"] == np.bincount([p.arm for p in pulls[:4]], minlength=3).tolist()


def test_missing_as_a_loss_and_in_the_users_range():
    by_reward = bw.Bandit(3, seed=1, wait=2, missing=-10.0, low=-10.0, high=30.0)
    by_loss = bw.Bandit(3, seed=1, wait=2, missing={"loss": 30.0}, low=-10.0, high=30.0)
    for each in (by_reward, by_loss):
        for _ in range(20):
            each.pull()
    assert by_reward.probabilities == by_loss.probabilities
    assert by_reward.to_dict()["loss_sums"] == [float(n) for n in by_reward.to_dict()["seen"]]


def test_without_a_missing_value_pulls_are_dropped():
    bandit = bw.Bandit(3, seed=4, wait=5)
    for _ in range(50):
        bandit.pull()
    assert len(bandit.outstanding) == 5
    assert set(bandit.probabilities.values()) == {1 / 3}
    assert bandit.to_dict()["seen"] == [0, 0, 0]


@pytest.mark.parametrize("learn_at", ["arrival", "deadline"])
def test_a_late_answer_is_counted_and_not_learned(learn_at):
    bandit = bw.Bandit(3, seed=4, wait=5, missing=0, learn_at=learn_at)
    first = bandit.pull()
    for _ in range(5):
        bandit.pull()
    assert bandit.late == 0
    before = bandit.probabilities
    for late in (first, first.id):
        bandit.update(late, reward=1.0)
    assert bandit.late == 2
    assert bandit.probabilities == before
    assert ", 2 late;" in repr(bandit)
    bandit.forget(first)  # neither here nor there
    with pytest.raises(OutOfRangeError):
        bandit.update(first, reward=7.0)
    twin = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    twin.update(first, reward=1.0)
    assert twin.late == 3


def test_at_the_deadline_feedback_is_learned_in_the_order_of_decision():
    bandit = bw.Bandit(3, bw.TsallisINF(), seed=4, wait=5, missing=0.0, learn_at="deadline")
    pulls = [bandit.pull() for _ in range(5)]
    for i in (3, 0, 2):
        bandit.update(pulls[i], reward=0.25 * i)
        assert set(bandit.probabilities.values()) == {1 / 3}
    assert bandit.outstanding == (pulls[1], pulls[4])
    assert "2 outstanding" in repr(bandit)
    with pytest.raises(RepeatedPullError, match="has had its feedback"):
        bandit.update(pulls[3], reward=1.0)
    twin = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    for each in (bandit, twin):
        for k, losses in enumerate(([1.0], [1.0, 1.0], [1.0, 1.0, 0.5], [1.0, 1.0, 0.5, 0.25])):
            each.pull()
            p = learned_by(pulls[: k + 1], losses)
            np.testing.assert_allclose(list(each.probabilities.values()), p, rtol=1e-9)


def test_prompt_answers_learned_at_the_deadline_are_learned_as_with_a_delay():
    wait = 7
    bandit = bw.Bandit(3, bw.TsallisINF(), seed=4, wait=wait, learn_at="deadline")
    waiting, plain = [], bw.Bandit(3, bw.TsallisINF(), seed=4)
    for i in range(100):
        pull, same = bandit.pull(), plain.pull()
        assert pull[:4] == same[:4]
        bandit.update(pull, loss=(i % 5) / 4)
        waiting.append((same, (i % 5) / 4))
        if len(waiting) > wait:
            late, loss = waiting.pop(0)
            plain.update(late, loss=loss)


def test_forgotten_pulls_teach_nothing():
    bandit = bw.Bandit(3, seed=4)
    pull = bandit.pull()
    bandit.forget(pull.id)
    assert bandit.outstanding == ()
    assert set(bandit.probabilities.values()) == {1 / 3}
    for act in (bandit.forget, lambda pull: bandit.update(pull, loss=1.0)):
        with pytest.raises(RepeatedPullError, match="or was forgotten"):
            act(pull)


def age(bandit, by):
    """The same bandit, all of whose open pulls were made earlier."""
    data = json.loads(json.dumps(bandit.to_dict()))
    for item in data["outstanding"]:
        item["made"] -= by.total_seconds()
    return bw.Bandit.from_dict(data)


def test_a_wait_of_time():
    bandit = bw.Bandit(3, bw.TsallisINF(), seed=4, wait=DAY, missing=0)
    old = [bandit.pull() for _ in range(4)]
    bandit.update(old[1], reward=0.5)
    bandit = age(bandit, DAY - timedelta(minutes=1))
    assert bandit.outstanding == (old[0], *old[2:])
    new = [bandit.pull() for _ in range(3)]
    bandit = age(bandit, timedelta(minutes=2))
    assert bandit.outstanding == tuple(new)
    expected = learned_by([old[1], old[0], *old[2:]], [0.5, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(list(bandit.probabilities.values()), expected, rtol=1e-9)
    bandit.update(old[0], reward=1.0)
    bandit.update(old[1], reward=1.0)  # answered in time, and again now: nobody remembers
    assert bandit.late == 2
    bandit.update(new[0], reward=1.0)
    assert bandit.late == 2
    assert bw.Bandit.from_dict(bandit.to_dict())._wait == bandit._wait


def test_real_time_passes():
    bandit = bw.Bandit(2, seed=4, wait=timedelta(milliseconds=50), missing=0)
    pull = bandit.pull()
    time.sleep(0.06)
    assert bandit.outstanding == ()
    assert bandit.probabilities[pull.arm] < 0.5


def test_a_restart_between():
    bandit = bw.Bandit(3, seed=4, wait=5, missing=0)
    for _ in range(3):
        bandit.pull()
    bandit.restart()
    for _ in range(5):
        bandit.pull()
    assert set(bandit.probabilities.values()) == {
        1 / 3
    }  # those from before the restart are closed, not learned
    bandit.pull()
    assert set(bandit.probabilities.values()) != {1 / 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wait": 0}, r"wait must be at least 1, got 0"),
        (
            {"wait": 1.5},
            r"wait must be a number of rounds or a timedelta, got 1.5; for seconds write datetime",
        ),
        ({"wait": "1h"}, r"wait must be a number of rounds or a timedelta, got '1h'"),
        ({"wait": True}, r"wait must be a number of rounds or a timedelta, got True"),
        ({"wait": timedelta(0)}, r"wait must be longer than no time, got datetime.timedelta\(0\)"),
        ({"wait": 5, "missing": 2.0}, r"missing must be a finite number at least 0 and at most 1, got 2.0"),
        ({"wait": 5, "missing": "none"}, r"missing must be a finite number .*, got 'none'"),
        ({"wait": 5, "missing": {"cost": 1}}, r"missing must be a reward, or \{'loss': ...\}, got"),
        ({"wait": 5, "missing": {"loss": 1, "reward": 0}}, r"missing must be a reward, or"),
        ({"missing": 0}, r"missing must be given with a wait, got 0; write Bandit\(..., wait=...\)"),
        ({"learn_at": "deadline"}, r"learn_at must be given with a wait, got 'deadline'"),
        ({"wait": 5, "learn_at": "end"}, r"learn_at must be one of 'arrival', 'deadline', got 'end'"),
    ],
)
def test_bad_deadlines_are_named(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.Bandit(3, **options)


def test_memory_is_bounded():
    bandit = bw.Bandit(3, bw.Uniform(), seed=4, wait=500)
    for _ in range(5000):
        bandit.pull()
        assert len(bandit._open) <= 501
    assert len(bandit._open._rounds) <= 2 * 501 + 65


def test_good_news_that_travels_faster_does_not_mislead_at_the_deadline():
    """Clicks come at once, silence never: at any time, what was learned at the deadline has the true mean."""
    wait, rounds, mean = 200, 1200, 0.2
    random = np.random.default_rng(3)
    means = {}
    for learn_at in ("arrival", "deadline"):
        bandit = bw.Bandit(2, bw.Uniform(), seed=4, wait=wait, missing=0, learn_at=learn_at)
        for _ in range(rounds):
            pull = bandit.pull()
            if random.random() < mean:
                bandit.update(pull, reward=1)
        data = bandit.to_dict()
        means[learn_at] = 1 - sum(data["loss_sums"]) / sum(data["seen"])
    assert abs(means["deadline"] - 0.2) < 4 * math.sqrt(0.16 / (rounds - wait))
    assert means["arrival"] > means["deadline"]
