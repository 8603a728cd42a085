"""A bandit with experts: against transcriptions of the papers on the same uniforms, and what it refuses."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from itertools import product

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import rng
from bothworlds.bandit.trust import METHODS
from bothworlds.errors import (
    ForeignPullError,
    InvalidArgumentError,
    OutOfRangeError,
    RepeatedPullError,
    SolverError,
    StateError,
    UnknownPullError,
)
from oracle import advice as oracle

ARMS = ["wine", "beer", "tea"]


def popular(context):
    return [0.2, 0.5, 0.3]


EXPERTS = {"table": {0: "wine", 1: "tea"}, "popular": popular, "beer": lambda context: "beer"}


def transcription(method, n_experts, n_arms):
    if method == "exp4":
        return oracle.EXP4(n_experts, n_arms)
    return oracle.Matched(n_experts, n_arms, light=method == "spm")


def snapshot(bandit):
    return json.dumps(bandit.to_dict())


# --- what it learns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "delay"), list(product(METHODS, [0, 5])))
def test_against_the_transcription_on_the_same_uniforms(method, delay):
    n_experts, n_arms, rounds = 4, 3, 60
    world = np.random.default_rng(3)
    table = world.dirichlet(np.ones(n_arms), size=(rounds, n_experts))
    table[::3, 0] = np.eye(n_arms)[1]
    losses = world.random((rounds, n_arms)) * np.array([1.0, 0.3, 0.8])
    experts = [lambda t, i=i: table[t, i] for i in range(n_experts)]
    bandit = bw.Advised(experts, n_arms, method=method, seed=11)
    other, uniforms = transcription(method, n_experts, n_arms), rng.stream(11)
    waiting = []
    for t in range(rounds):
        pull = bandit.pull(t)
        arm, probability = other.draw(table[t] / table[t].sum(axis=1, keepdims=True), uniforms.random())
        assert pull.arm == arm
        assert pull.probability == pytest.approx(probability, rel=1e-11)
        waiting.append((t, pull, arm, probability))
        if len(waiting) > delay:
            s, pull, arm, probability = waiting.pop(0)
            bandit.update(pull, loss=losses[s, arm])
            other.update(table[s], arm, probability, losses[s, arm])
            assert list(bandit.trust.values()) == pytest.approx(other.q, rel=1e-9)
    assert max(other.q) > 1.001 / n_experts  # something was learned


def test_arms_are_drawn_with_the_probabilities_that_are_told():
    bandit = bw.Advised(EXPERTS, ARMS, seed=5)
    expected = bandit.probabilities(1)
    assert expected == pytest.approx({"wine": 0.2 / 3, "beer": 0.5, "tea": 1.3 / 3}, rel=1e-14)
    pulls = [bandit.pull(1) for _ in range(3000)]
    for arm, count in Counter(pull.arm for pull in pulls).items():
        p = expected[arm]
        assert abs(count / 3000 - p) < 4 * (p * (1 - p) / 3000) ** 0.5
    assert all(pull.probability == expected[pull.arm] for pull in pulls)


@pytest.mark.parametrize("method", METHODS)
def test_estimates_have_the_mean_they_should(method):
    """The sum over the arms, each with its probability, of what is learned: the loss of each advice."""
    losses, mean = [0.9, 0.2, 0.5], np.zeros(3)
    for number, arm in enumerate(ARMS):
        for seed in range(100):
            bandit = bw.Advised(EXPERTS, ARMS, method=method, seed=seed)
            pull = bandit.pull(0)
            if pull.arm == arm:
                break
        drawn = bandit._open[pull.id]
        mean += pull.probability * np.array(drawn.advice) * losses[number] / drawn.probability
    assert mean == pytest.approx([0.9, 0.2 * 0.9 + 0.5 * 0.2 + 0.3 * 0.5, 0.2], rel=1e-12)


@pytest.mark.parametrize("method", ["exp4", "spm"])
def test_the_best_expert_is_trusted(method):
    bandit = bw.Advised(EXPERTS, ARMS, method=method, seed=7)
    for t in range(300):
        pull = bandit.pull(t % 2)
        bandit.update(pull, reward=pull.arm == ["wine", "tea"][t % 2])
    assert bandit.trust["table"] > 0.8


@pytest.mark.parametrize("method", METHODS)
def test_one_expert_and_one_arm(method):
    bandit = bw.Advised([lambda context: [1.0]], 1, method=method, seed=7)
    for _ in range(3):
        bandit.update(bandit.pull(), loss=1.0)
    assert bandit.trust == {0: 1.0}


# --- whom it asks -----------------------------------------------------------------------------------------


class Classifier:
    """Knows two of the arms, in its own order."""

    classes_ = np.array(["tea", "wine"])

    def predict_proba(self, rows):
        return np.array([[row[0], 1.0 - row[0]] for row in rows])


class Regressor:
    def predict(self, rows):
        return np.array(["beer" if row[0] > 0.5 else "tea" for row in rows])


def test_models_mappings_bandits_and_bandits_with_experts(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    inner = bw.Advised([lambda context: {"beer": 0.25, "tea": 0.75}], ARMS)
    cases = {
        "probabilities": (Classifier(), [0.75, 0.0, 0.25]),
        "an arm": (Regressor(), [0.0, 0.0, 1.0]),
        "a mapping": ({(0.25,): "wine"}, [1.0, 0.0, 0.0]),
        "a bandit": (bw.Bandit(["tea", "beer", "wine"], "uniform", seed=1), [1 / 3] * 3),
        "advised": (inner.probabilities, [0.0, 0.25, 0.75]),
        "float32": (lambda context: np.array([0.1, 0.2, 0.7], dtype=np.float32), [0.1, 0.2, 0.7]),
    }
    for name, (expert, expected) in cases.items():
        p = bw.Advised({name: expert}, ARMS).probabilities((0.25,))
        assert list(p.values()) == pytest.approx(expected, rel=1e-6), name
        assert sum(p.values()) == pytest.approx(1.0, rel=1e-15)


def test_arms_that_are_tuples_or_numbers():
    assert bw.Advised([lambda c: (0, 1)], [(0, 1), (1, 0)]).probabilities() == {(0, 1): 1.0, (1, 0): 0.0}
    assert bw.Advised([lambda c: (0, 1)], 2).probabilities() == {0: 0.0, 1: 1.0}
    assert bw.Advised([lambda c: np.int64(1)], 2).probabilities() == {0: 0.0, 1: 1.0}


# --- what it refuses --------------------------------------------------------------------------------------

BAD = {
    "sum": (
        [0.5, 0.4, 0.0],
        r"experts\['bad'\] must be a distribution .*, got probabilities that sum to 0.9; ",
    ),
    "negative": ([-0.5, 0.5, 1.0], r"experts\['bad'\]\[0\] must be finite and at least 0, got -0.5"),
    "not finite": ([np.nan, 0.5, 0.5], r"experts\['bad'\]\[0\] must be finite"),
    "short": (
        [0.5, 0.5],
        r"experts\['bad'\] must be a one-dimensional sequence of length 3, got shape \(2,\)",
    ),
    "a table": ([[0.2, 0.5, 0.3]], r"experts\['bad'\] must be a one-dimensional sequence of length 3"),
    "no arm": ("been", r"experts\['bad'\] must be an arm or .*, got 'been'; did you mean 'beer'\?"),
    "no arm in it": ({"bear": 1.0}, r"got a probability of 'bear', which is no arm; did you mean 'beer'\?"),
    "nothing": (
        None,
        r"experts\['bad'\] must be an arm or a distribution over the arms, got None; an expert",
    ),
    "words": (["a", "b", "c"], r"experts\['bad'\] must be a one-dimensional sequence of numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_advice_that_is_no_distribution(case):
    advice, message = BAD[case]
    bandit = bw.Advised(EXPERTS | {"bad": lambda context: advice}, ARMS, seed=7)
    before = snapshot(bandit)
    for ask in (bandit.pull, bandit.probabilities):
        with pytest.raises(InvalidArgumentError, match=message):
            ask(0)
    assert snapshot(bandit) == before


def test_experts_that_fail_are_named():
    bandit = bw.Advised(EXPERTS | {"broken": lambda context: 1 / 0}, ARMS, seed=7)
    before = snapshot(bandit)
    with pytest.raises(ZeroDivisionError) as caught:
        bandit.pull(0)
    assert caught.value.__notes__ == ["raised by the expert 'broken', asked about 0"]
    assert snapshot(bandit) == before
    for context in (7, [0]):
        with pytest.raises(InvalidArgumentError, match=r"experts\['table'\] must be there for every context"):
            bandit.pull(context)


def test_arguments():
    for experts, message in (
        ({}, "at least one expert"),
        ("ab", "a dict of experts by their names"),
        (7, "a dict of experts by their names"),
        ({"a": 7}, r"experts\['a'\] must be a function of the context"),
        ({"a": Regressor}, r"got .*Regressor.*; write Regressor\(...\)"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            bw.Advised(experts, ARMS)
    with pytest.raises(InvalidArgumentError, match=r"method must be one of 'exp4', 'spm', .*, got 'exp3'"):
        bw.Advised(EXPERTS, ARMS, method="exp3")
    with pytest.raises(InvalidArgumentError, match="high"):
        bw.Advised(EXPERTS, ARMS, low=1.0, high=0.0)


def test_feedback_that_is_refused_changes_nothing():
    bandit, other = (bw.Advised(EXPERTS, ARMS, seed=7, high=2.0) for _ in range(2))
    pull, learned = bandit.pull(0), bandit.pull(0)
    bandit.update(learned.id, reward=1.5)
    before = snapshot(bandit)
    for wrong, words, error in (
        (pull, {"reward": 2.5}, OutOfRangeError),
        (pull, {"reward": 1.0, "loss": 1.0}, InvalidArgumentError),
        (pull, {}, InvalidArgumentError),
        (learned, {"reward": 1.0}, RepeatedPullError),
        (other.pull(0), {"reward": 1.0}, ForeignPullError),
        (pull._replace(round=9), {"reward": 1.0}, UnknownPullError),
        (3, {"reward": 1.0}, InvalidArgumentError),
    ):
        with pytest.raises(error):
            bandit.update(wrong, **words)
    assert snapshot(bandit) == before
    bandit.forget(pull)
    assert bandit.outstanding == ()
    with pytest.raises(RepeatedPullError):
        bandit.update(pull, reward=1.0)


def test_a_step_without_a_solution_is_not_hidden():
    bandit = bw.Advised(EXPERTS, ARMS, method="spm", seed=7)
    pull = bandit.pull(0)
    data = json.loads(snapshot(bandit))
    data["state"]["scalars"] = [1e-310]  # a rate that a file can have, and no play leads to
    bandit = bw.Advised.from_dict(data, EXPERTS)
    before = snapshot(bandit)
    with pytest.raises(SolverError, match="stays open"):
        bandit.update(pull, loss=1.0)
    assert snapshot(bandit) == before


# --- keeping ----------------------------------------------------------------------------------------------


def play(bandit, n=20):
    told = []
    for t in range(n):
        pull = bandit.pull(t % 2)
        bandit.update(pull, reward=(t % 5) / 4)
        told.append((pull.arm, pull.probability, bandit.trust))
    return told


@pytest.mark.parametrize("method", METHODS)
def test_saved_copied_and_loaded_it_goes_on_to_the_bit(method, tmp_path):
    named = {"a": popular, "b": {0: "wine", 1: "tea"}}
    bandit = bw.Advised(named, ARMS, method=method, seed=7, low=-1.0)
    play(bandit)
    late = bandit.pull(1)
    bandit.save(tmp_path / "bandit.json")
    loaded = bw.Advised.load(tmp_path / "bandit.json", named)
    twins = [loaded, copy.copy(bandit), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))]
    for one in [bandit, *twins]:
        assert one.outstanding == (late.id,)
        one.update(late, reward=0.25)
    expected = play(bandit)
    for twin in twins:
        assert play(twin) == expected
        pull = twin.pull(0)
        with pytest.raises(UnknownPullError):
            bandit.update(pull, reward=1.0)  # a twin's ids are its own


def test_states_that_cannot_be_restored(tmp_path):
    bandit = bw.Advised(EXPERTS, ARMS, seed=7)
    bandit.pull(0)
    data = json.loads(snapshot(bandit))
    assert bw.Advised.from_dict(data, EXPERTS).trust == bandit.trust
    opened = data["outstanding"][0]
    for wrong, message in (
        (7, "found 7"),
        (data | {"format": "bothworlds-bandit"}, "expected format 'bothworlds-advised'"),
        (data | {"version": 2}, "of version 1"),
        (data | {"experts": ["a", "b", "c"]}, "the saved experts are"),
        (data | {"state": data["state"] | {"q": [0.5, 0.6, 0.1]}}, "trust must sum to 1"),
        (data | {"rounds": -1}, "rounds must be at least 0"),
        (data | {"outstanding": [opened | {"arm": 3}]}, "outstanding"),
        (data | {"outstanding": [opened | {"probability": 0.0}]}, "probability"),
        (data | {"outstanding": [opened | {"advice": [1.0]}]}, "advice"),
        ({key: value for key, value in data.items() if key != "random"}, "lacks 'random'"),
    ):
        with pytest.raises(StateError, match=message):
            bw.Advised.from_dict(wrong, EXPERTS)
    (tmp_path / "cut.json").write_text(json.dumps(data)[:-9])
    with pytest.raises(StateError, match="cannot be loaded"):
        bw.Advised.load(tmp_path / "cut.json", EXPERTS)


FORK = """
import os, sys
import bothworlds as bw

bandit = bw.Advised([lambda context: [0.5, 0.5]], 2, seed=7)
early = bandit.pull()
sys.stdout.flush()
child = os.fork()
pulls = [bandit.pull() for _ in range(40)]
bandit.update(early, reward=1.0)
os.write(1, " ".join([f"{pulls[0].bandit}:"] + [str(pull.arm) for pull in pulls]).encode() + b"\\n")
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_workers_draw_for_themselves():
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=120
    )
    (one, arms), (other, other_arms) = (line.split(":") for line in done.stdout.splitlines())
    assert one != other
    assert arms != other_arms
