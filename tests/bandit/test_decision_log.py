"""A log of decisions: what was decided and learned can be read again."""

from __future__ import annotations

import copy
import json
import os
import pickle

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.bandit import decision_log
from bothworlds.errors import InvalidArgumentError
from interpreting import plain_python  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract

ARMS = ["blue", "green", "red"]


def play(bandit: bw.Bandit, n: int = 100) -> dict[str, list]:
    told = {"action": [], "reward": [], "propensity": []}
    for i in range(n):
        pull = bandit.pull()
        bandit.update(pull, reward=(i * 7 % 11) / 10)
        for name, value in zip(told, (pull.observe, (i * 7 % 11) / 10, pull.probability), strict=True):
            told[name].append(value)
    return told


def rows_of(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("labels", [ARMS, 3], ids=["labels", "numbers"])
@pytest.mark.parametrize("probabilities", [False, True])
def test_what_is_written_is_read(tmp_path, suffix, labels, probabilities):
    path = tmp_path / f"decisions.{suffix}"
    bandit = bw.Bandit(labels, bw.LightBarrier(), seed=7)
    with bw.DecisionLog(path, probabilities=probabilities) as bandit.log:
        told = play(bandit)
    assert bandit.log.closed
    bandit.log = None
    arms = list(bandit.arms)
    policy = dict(zip(arms, (0.2, 0.5, 0.3), strict=True))
    read = bw.inference.evaluate(path, policy, arms=arms)
    expected = bw.inference.evaluate(told, policy, arms=arms)
    assert (read.interval, read.snipw, read.decisions) == (expected.interval, expected.snipw, 100)
    assert (read.adaptive is not None) == probabilities
    assert read.audit.distributions == probabilities
    other = bw.Bandit(labels, bw.LightBarrier(), seed=7)
    assert other.learn(path) == 100
    assert other.probabilities == bandit.probabilities


def test_rows_are_in_the_order_of_decisions_whenever_answers_come(tmp_path):
    path = tmp_path / "decisions.jsonl"
    bandit = bw.Bandit(ARMS, seed=7, low=0.0, high=20.0)
    before = bandit.pull()
    bandit.log = bw.DecisionLog(path)
    pulls = [bandit.pull() for _ in range(6)]
    bandit.update(before, reward=1.0)  # from before the log
    for i in (2, 0, 5, 1):
        bandit.update(pulls[i], loss=float(i))
    bandit.forget(pulls[4])
    bandit.log.flush()
    assert [row["round"] for row in rows_of(path)] == [2, 3, 4]
    bandit.log.close()
    rows = rows_of(path)
    assert [row["id"] for row in rows] == [pull.id for pull in pulls]
    assert [row["reward"] for row in rows] == [20.0, 19.0, 18.0, None, None, 15.0]
    assert [row["answered"] is None for row in rows] == [False, False, False, True, True, False]
    assert all(row["time"] > 1.7e9 for row in rows)
    assert bw.inference.evaluate(path, ARMS[0], high=20.0, missing="outstanding").answers == 4


def test_batches_and_deadlines_are_logged(tmp_path):
    path = tmp_path / "decisions.jsonl"
    bandit = bw.Bandit(ARMS, seed=7, wait=3, missing=0.25)
    bandit.log = bw.DecisionLog(path)
    pulls = bandit.pull(10)
    bandit.update(pulls[7:], rewards=np.ones(3))
    bandit.log.close()
    assert [row["reward"] for row in rows_of(path)] == [0.25] * 7 + [1.0] * 3
    assert [row["propensity"] for row in rows_of(path)] == pulls.probabilities.tolist()
    plain = bw.Bandit(ARMS, seed=7)
    plain.log = bw.DecisionLog(path)  # appended
    plain.update(plain.pull(4), rewards=np.ones(4))
    plain.log.close()
    assert len(rows_of(path)) == 14


def test_arms_that_could_not_be_drawn_have_no_propensity(tmp_path):
    path = tmp_path / "decisions.jsonl"
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=7)
    bandit.log = bw.DecisionLog(path, probabilities=True)
    bandit.pull(among=["blue", "red"])
    bandit.log.close()
    (row,) = rows_of(path)
    assert (row["propensity_blue"], row["propensity_green"], row["propensity_red"]) == (0.5, 0.0, 0.5)


def test_a_lost_answer_holds_back_a_bounded_number_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(decision_log, "HELD", 5)
    path = tmp_path / "decisions.jsonl"
    bandit = bw.Bandit(ARMS, seed=7)
    bandit.log = bw.DecisionLog(path)
    lost = bandit.pull()
    play(bandit, 20)
    bandit.update(lost, reward=1.0)  # learned, but its row was written
    bandit.log.close()
    rows = rows_of(path)
    assert [row["round"] for row in rows] == list(range(1, 22))
    assert [row["round"] for row in rows if row["reward"] is None] == [1]


def test_labels_of_all_kinds_and_decoupled_policies(tmp_path):
    path = tmp_path / "prices.jsonl"
    bandit = bw.Bandit([0.99, ("a", 1), 3], seed=7)
    with bw.DecisionLog(path) as bandit.log:
        play(bandit, 30)
    assert {row["action"] for row in rows_of(path)} == {"0.99", "('a', 1)", 3}
    path = tmp_path / "decoupled.jsonl"
    bandit = bw.Bandit(ARMS, bw.DecoupledTsallisINF(), seed=7)
    log = bw.DecisionLog(tmp_path / "other.jsonl", probabilities=True)
    with log, pytest.raises(InvalidArgumentError, match="leave out probabilities"):
        bandit.log = log
    with bw.DecisionLog(path) as bandit.log:
        told = play(bandit, 40)
    assert [row["action"] for row in rows_of(path)] == told["action"]


def test_copies_and_children_have_none(tmp_path):
    bandit = bw.Bandit(ARMS, seed=7)
    bandit.log = bw.DecisionLog(tmp_path / "decisions.jsonl")
    assert copy.deepcopy(bandit).log is None
    assert pickle.loads(pickle.dumps(bandit)).log is None
    assert bw.Bandit.from_dict(bandit.to_dict()).log is None
    if hasattr(os, "fork"):
        child = os.fork()
        if child == 0:
            os._exit(0 if bandit.log is None else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    bandit._pack()
    bandit.add("gray")
    play(bandit, 3)
    bandit.log.close()
    assert len(rows_of(bandit.log.path)) == 3


def test_what_is_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"ends in \.jsonl"):
        bw.DecisionLog(tmp_path / "decisions.txt")
    with pytest.raises(InvalidArgumentError, match=r"write bandit\.log = bw"):
        bw.Bandit(ARMS).log = "decisions.jsonl"
    (tmp_path / "there.parquet").write_bytes(b"")
    with pytest.raises(FileExistsError):
        bw.DecisionLog(tmp_path / "there.parquet")
    with pytest.raises(FileNotFoundError):
        bw.DecisionLog(tmp_path / "missing" / "decisions.jsonl")
    with bw.DecisionLog(tmp_path / "a.jsonl", probabilities=True) as log:
        assert "probabilities=True" in repr(log)
