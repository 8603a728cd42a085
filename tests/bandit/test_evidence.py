"""What a bandit can say of its own decisions: the sums of the log of the same decisions."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, StateError

ARMS = ["blue", "green", "red"]
MEANS = dict(zip(ARMS, (0.3, 0.6, 0.4), strict=True))


def play(bandit: bw.Bandit, n: int, log: dict | None = None, seed: int = 1) -> None:
    random = np.random.default_rng(seed)
    for _ in range(n):
        pull = bandit.pull()
        reward = float(random.random() < MEANS[pull.arm])
        bandit.update(pull, reward=reward)
        if log is not None:
            for name, value in zip(log, (pull.arm, reward, pull.probability), strict=True):
                log[name].append(value)


def told(evidence: bw.inference.Evidence) -> dict:
    return {name: value for name, value in evidence.to_dict().items() if name != "since"}


@pytest.mark.parametrize("policy", [None, bw.LightBarrier(), bw.EpsilonGreedy()], ids=repr)
def test_it_is_what_the_log_says(policy):
    bandit = bw.Bandit(ARMS, policy, seed=7, evidence="full")
    log = {"action": [], "reward": [], "propensity": []}
    play(bandit, 400, log)
    for world in (None, "stationary", "any"):
        evidence = bandit.evidence(error=0.1, world=world)
        assert told(evidence) == told(bw.inference.evidence(log, error=0.1, world=world, arms=ARMS))


def test_probabilities_that_are_integrals_are_taken_a_little_larger():
    bandit = bw.Bandit(ARMS, bw.Thompson(), seed=7, evidence="full")
    log = {"action": [], "reward": [], "propensity": []}
    play(bandit, 60, log)
    log["propensity"] = [min(1.0, p + 1e-6) for p in log["propensity"]]
    assert told(bandit.evidence()) == told(bw.inference.evidence(log, arms=ARMS))


@pytest.mark.compiled
def test_batches_and_single_updates_say_the_same():
    one, many = (bw.Bandit(ARMS, bw.LightBarrier(), seed=7, evidence="full") for _ in range(2))
    rewards = np.random.default_rng(3).random(500)
    for pull, reward in zip([one.pull() for _ in range(500)], rewards, strict=True):
        one.update(pull, reward=reward)
    many.update(many.pull(500), rewards=rewards)
    assert one.to_dict()["evidence"] == many.to_dict()["evidence"]
    assert told(one.evidence()) == told(many.evidence())


def test_decisions_count_when_they_are_made():
    bandit = bw.Bandit(ARMS, seed=7, evidence="arms")
    play(bandit, 50)
    before = bandit.evidence()
    bandit.pull(30)
    after = bandit.evidence()
    assert (before.rounds, after.rounds) == (50, 80)
    for arm in ARMS:
        assert after[arm].low <= before[arm].low
        assert after[arm].high >= before[arm].high


def test_losses_and_ranges_are_the_users():
    bandit = bw.Bandit(ARMS, seed=7, evidence="full", low=-10.0, high=30.0)
    for _ in range(100):
        bandit.update(bandit.pull(), loss=10.0)
    evidence = bandit.evidence()
    best = max(ARMS, key=lambda arm: bandit.probabilities[arm])
    assert evidence.feedback_kind == "loss"
    assert evidence[best].low < 10.0 < evidence[best].high
    assert evidence[best].estimate == pytest.approx(10.0)
    assert evidence.value.low < 10.0 < evidence.value.high


def test_it_survives_saving_copies_rest_and_new_arms():
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=7, evidence="full")
    play(bandit, 120)
    bandit.pull(5)
    packed = copy.deepcopy(bandit)
    packed._pack()
    twins = [bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))), copy.deepcopy(bandit), packed]
    for twin in (bandit, *twins):
        twin.add("gray")
        for pull in twin.outstanding:
            twin.update(pull, reward=1.0)
        twin.pull(2)
    expected = bandit.to_dict()["evidence"]
    assert all(twin.to_dict()["evidence"] == expected for twin in twins)
    assert bandit.evidence().labels == (*ARMS, "gray")
    assert bandit.evidence().rounds == 127


def test_segments_keep_their_own_and_answer_after_packing():
    bandits = bw.Bandits(ARMS, bw.LightBarrier(), seed=7, evidence="full")
    for name in ("a", "b"):
        bandits[name]._pack()
        play(bandits[name], 20)
        bandits[name]._pack()
        bandits[name].update(bandits[name].pull(5), rewards=np.ones(5))
    assert [int(bandit.evidence().state.sums.answers.sum()) for bandit in bandits.values()] == [25, 25]


def test_an_older_file_begins_now_and_says_so():
    bandit = bw.Bandit(ARMS, seed=7)
    play(bandit, 40)
    pull = bandit.pull()
    data = bandit.to_dict()
    del data["evidence"]
    again = bw.Bandit.from_dict(data, evidence="full")
    again.update(pull, reward=1.0)  # decided before, so that it does not count
    assert again.evidence().rounds == 0
    assert "since pull 41" in str(again.evidence())
    play(again, 10)
    assert int(again.evidence().state.sums.answers.sum()) == again.evidence().rounds == 10
    with pytest.raises(StateError, match="keeps evidence='full', not 'arms'"):
        bw.Bandit.from_dict(again.to_dict(), evidence="arms")
    assert bw.Bandit.from_dict(data).to_dict()["evidence"] is None


def test_a_restart_begins_anew():
    bandit = bw.Bandit(ARMS, seed=7, evidence="full")
    play(bandit, 40)
    late = bandit.pull()
    bandit.restart()
    bandit.update(late, reward=1.0)
    assert bandit.evidence().since == 41
    assert int(bandit.evidence().state.sums.answers.sum()) == 0


@pytest.mark.parametrize("learn_at", ["arrival", "deadline"])
def test_answers_that_never_came_are_zeros_but_no_drift(learn_at):
    bandit = bw.Bandit(ARMS, seed=7, evidence="full", wait=1, missing=0.0, learn_at=learn_at)
    bandit.pull(31)
    evidence = bandit.evidence()
    assert int(evidence.state.sums.answers.sum()) == 30
    drift_has_seen = evidence.state.drift.scalars[1]
    assert drift_has_seen == (0 if learn_at == "arrival" else 30)


def test_index_policies_keep_arms():
    bandit = bw.Bandit(ARMS, bw.UCB1(), seed=7, evidence="arms")
    play(bandit, 60)
    assert bandit.evidence().rounds == 60
    with pytest.raises(InvalidArgumentError, match="world"):
        bandit.evidence(world="any")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evidence": "all"}, "one of None, 'arms', 'full'"),
        ({"evidence": "full", "policy": bw.UCB1()}, r"'full' with UCB1\(\); evidence='arms'"),
        ({"evidence": "arms", "policy": bw.DecoupledTsallisINF()}, "another arm"),
        ({"evidence": "arms", "high": None}, "None where high is None"),
    ],
)
def test_what_cannot_be_kept_is_refused(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.Bandit(ARMS, **options)


def test_without_it_there_is_none():
    with pytest.raises(InvalidArgumentError, match='make the bandit with evidence="full"'):
        bw.Bandit(ARMS).evidence()
