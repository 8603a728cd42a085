"""Pulls that travel: ids that are never given twice, through copies, files, JSON and forks."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import ForeignPullError, InvalidArgumentError, RepeatedPullError, UnknownPullError


def test_an_id_is_as_good_as_its_pull():
    one, other = bw.Bandit(3, seed=1), bw.Bandit(3, seed=1)
    for i in range(30):
        one.update(one.pull(), loss=(i % 4) / 4)
        other.update(other.pull().id, loss=(i % 4) / 4)
    assert one.probabilities == other.probabilities
    pull = one.pull()
    assert isinstance(pull.id, str)
    assert len(pull.id) < 30
    one.update(pull.id, reward=1)
    with pytest.raises(RepeatedPullError, match="has had its feedback"):
        one.update(pull, reward=1)
    with pytest.raises(RepeatedPullError, match="has had its feedback"):
        one.update(pull.id, reward=1)
    with pytest.raises(ForeignPullError, match="was made by another bandit"):
        one.update(other.pull().id, reward=1)


def test_a_pull_travels_through_json_and_its_probability_may_be_rounded():
    bandit = bw.Bandit(["a", "b", "c"], seed=1)
    pull = bandit.pull()
    record = json.loads(json.dumps(pull.to_dict()))
    assert bw.Pull.from_dict(record) == pull
    rounded = bw.Pull.from_dict(record | {"probability": "0.33"})
    assert rounded != pull
    bandit.update(rounded, reward=1.0)
    assert bandit.outstanding == ()


@pytest.mark.parametrize(
    "data",
    [{}, {"id": "x"}, {"id": 7}, None, [], {"id": "a-b-1", "arm": 0, "observe": 0, "probability": "?"}],
)
def test_what_is_no_pull_is_refused(data):
    with pytest.raises(
        InvalidArgumentError, match=r"data must be what Pull.to_dict\(\) gave: a dict with id"
    ):
        bw.Pull.from_dict(data)


def twins_of(bandit):
    saved = json.loads(json.dumps(bandit.to_dict()))
    return [
        bw.Bandit.from_dict(saved),
        bw.Bandit.from_dict(saved),  # a program that was started twice from one file
        pickle.loads(pickle.dumps(bandit)),
        copy.copy(bandit),
        copy.deepcopy(bandit),
    ]


def test_twins_draw_the_same_arms_and_give_no_id_twice():
    bandit = bw.Bandit(4, seed=1)
    early = [bandit.pull() for _ in range(3)]
    everyone = [bandit, *twins_of(bandit)]
    everyone += twins_of(everyone[1])
    pulls = [[each.pull() for _ in range(20)] for each in everyone]
    for row in pulls:
        assert [pull[:4] for pull in row] == [pull[:4] for pull in pulls[0]]
    ids = [pull.id for row in [early, *pulls] for pull in row]
    assert len(set(ids)) == len(ids)
    for each, mine in zip(everyone, pulls, strict=True):
        assert [pull.id for pull in each.outstanding] == [pull.id for pull in early + mine]
        for pull in early:
            each.update(pull, loss=0.5)  # from an earlier instance, and still good
        before = each.to_dict()
        with pytest.raises(UnknownPullError, match="made by a copy, or by one that was loaded"):
            (everyone[1] if each is bandit else bandit).update(mine[0], loss=0.5)
        assert each.to_dict() == before


def test_instances_do_not_pile_up():
    bandit = bw.Bandit(2, seed=1)
    kept = bandit.pull()
    for _ in range(50):
        bandit = bw.Bandit.from_dict(bandit.to_dict())
        bandit.update(bandit.pull(), loss=1.0)
    assert len(bandit.to_dict()["outstanding"]) == 1
    assert len(bandit._instances) == 2
    bandit.update(kept, loss=1.0)


FORK = """
import json, os, sys, threading
import bothworlds as bw

seed = json.loads(sys.argv[1])
bandit = bw.Bandit(4, seed=seed)
early = bandit.pull()
stop = threading.Event()

def play():  # another thread holds the lock now and then, also while the process forks
    while not stop.is_set():
        other.update(other.pull(), loss=0.5)

other = bw.Bandit(2)
thread = threading.Thread(target=play)
thread.start()

def report():
    pulls = [bandit.pull() for _ in range(40)]
    bandit.update(early.id, loss=1.0)
    bandit.update(pulls[-1], loss=1.0)
    other.update(other.pull(), loss=0.5)
    return [[pull.arm for pull in pulls], [pull.id for pull in pulls]]

results = []
for _ in range(3):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        found = [report()]
        inner = os.fork()
        if inner == 0:
            os.write(writer, json.dumps([[bandit.pull().arm for _ in range(40)], []]).encode() + b"\\n")
            os._exit(0)
        os.waitpid(inner, 0)
        os.write(writer, json.dumps(found[0]).encode() + b"\\n")
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        results += [json.loads(line) for line in lines]
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
results.append(report())
print(json.dumps(results))
"""


def fork(seed):
    done = subprocess.run(
        [sys.executable, "-c", FORK, json.dumps(seed)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs os.fork")
def test_forked_workers_draw_for_themselves():
    results = fork(3)
    assert len(results) == 7
    arms = [tuple(row) for row, _ in results]
    assert len(set(arms)) == 7  # three children, a child of each, and the parent
    ids = [pull_id for _, row in results for pull_id in row]
    assert len(ids) == len(set(ids)) == 160
    alone = bw.Bandit(4, seed=3)
    alone.pull()
    assert [alone.pull().arm for _ in range(40)] == results[-1][0]  # the parent goes on as if nothing was
    assert [row for row, _ in fork(3)] == [row for row, _ in results]
    assert not set(arms) & {tuple(row) for row, _ in fork(None)}


MAKING = """
import os, threading
import bothworlds as bw
from bothworlds.bandit import forks
bandits = bw.Bandits(2, seed=1)
one, locked, made = bandits["one"], threading.Event(), threading.Event()

def make():
    with bandits._lock:
        locked.set()
        for _ in range(50):  # until the fork has taken what it can, if it takes anything while it waits
            if not forks._guard.acquire(blocking=False):
                break
            forks._guard.release()
            made.wait(0.01)
        bandits["another"].update(bandits["another"].pull(), loss=one.pull().probability)
    made.set()

thread = threading.Thread(target=make, daemon=True)
thread.start()
locked.wait()
child = os.fork()
if child == 0:
    bandits["third"].pull()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
print(len(bandits))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs os.fork")
def test_a_fork_while_another_thread_makes_a_segment():
    """Whoever holds the lock of all segments needs that of a new one, and of those that survive forks."""
    done = subprocess.run(
        [sys.executable, "-c", MAKING], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "2\n"


def test_a_branch_is_another_stream_and_leaves_the_first_alone():
    stream = bw.rng.stream(1)
    stream.random(7)
    before = bw.rng.to_dict(stream)
    rows = [bw.rng.branch(stream, number).random(1000) for number in range(3)]
    assert bw.rng.to_dict(stream) == before
    rows.append(stream.random(1000))
    assert np.abs(np.corrcoef(rows) - np.eye(4)).max() < 0.15  # 4.7 standard deviations
    assert (bw.rng.branch(bw.rng.from_dict(before), 1).random(5) == rows[1][:5]).all()
    stream.random()
    assert (bw.rng.branch(stream, 1).random(5) != rows[1][:5]).all()
