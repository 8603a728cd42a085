"""Batches are single pulls and updates, faster."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, PullError, SolverError
from cases import CASES, Case

SEED = 7
ARMS = ("blue", "green", "red", "gray")


def rewards_of(n: int) -> np.ndarray:
    return np.random.default_rng(SEED).random(n).round(3)


def known(bandit: bw.Bandit) -> dict:
    """All that a bandit knows, without the ids of its instances."""
    told = json.loads(json.dumps(bandit.to_dict()))
    del told["bandit"]
    for pull in told["outstanding"]:
        pull["id"] = pull["id"].rpartition("-")[2]
    return told


def play(bandit: bw.Bandit, sizes: tuple[int, ...], *, by_batch: bool) -> list[list[float]]:
    """Batches of these sizes, each answered in its own order but for the last two pulls."""
    decisions = []
    rewards = iter(rewards_of(sum(sizes)))
    for size in sizes:
        order = list(reversed(range(size)))[: max(0, size - 2)]
        given = [next(rewards) for _ in order]
        if by_batch:
            pulls = bandit.pull(size)
            bandit.update(pulls[np.array(order, dtype=int)], rewards=given)
        else:
            pulls = [bandit.pull() for _ in range(size)]
            for i, reward in zip(order, given, strict=True):
                bandit.update(pulls[i], reward=reward)
        decisions += [[pull.round, pull.arm, pull.observe, pull.probability] for pull in pulls]
    return decisions


def same(*args, sizes=(1, 5, 60, 0, 20), **options) -> None:
    one, many = (bw.Bandit(*args, seed=SEED, **options) for _ in range(2))
    assert play(one, sizes, by_batch=False) == play(many, sizes, by_batch=True)
    assert known(one) == known(many)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.policy))
def test_a_batch_is_the_loop_to_the_bit(case: Case):
    same(case.arms or 4, case.policy, horizon=1000 if case.needs_horizon else None)


@pytest.mark.compiled
@pytest.mark.parametrize("policy", [None, bw.Thompson(), bw.UCB1(), bw.DecoupledTsallisINF()], ids=repr)
@pytest.mark.slow
def test_a_compiled_batch_is_the_compiled_loop_to_the_bit(policy):
    same(10, policy, sizes=(1, 5, 1000, 0, 300, 1000))


@pytest.mark.parametrize(
    "options",
    [
        {"wait": 7},
        {"wait": 7, "missing": 0.0},
        {"wait": 30, "learn_at": "deadline"},
        {"floor": 0.05},
        {"fixed": {"green": 0.2}},
    ],
    ids=str,
)
def test_options_of_single_pulls_hold_in_batches(options):
    same(ARMS, bw.LightBarrier(), **options)


def test_a_wait_of_time_in_batches():
    bandit = bw.Bandit(ARMS, seed=SEED, wait=timedelta(hours=1))
    other = bw.Bandit(ARMS, seed=SEED)
    assert play(bandit, (5, 9), by_batch=True) == play(other, (5, 9), by_batch=False)


def test_among_and_disabled_arms_in_batches():
    one, many = (bw.Bandit(ARMS, bw.LightBarrier(), seed=SEED) for _ in range(2))
    rewards = rewards_of(60)
    for bandit in (one, many):
        bandit.disable("gray")
    single = [one.pull(among=["blue", "red", "gray"]) for _ in range(30)] + [one.pull() for _ in range(30)]
    batches = [*many.pull(30, among=["blue", "red", "gray"]), *many.pull(30)]
    assert [pull[:4] for pull in single] == [pull[:4] for pull in batches]
    for pull, reward in zip(single, rewards, strict=True):
        one.update(pull, reward=reward)
    many.update(batches, rewards=rewards)
    assert known(one) == known(many)


def test_a_batch_after_arms_have_changed():
    bandit = bw.Bandit(["a", "b"], bw.LightBarrier(), seed=SEED)
    bandit.pull(3)
    bandit.add("later")
    assert set(bandit.pull(200).arms) == {"a", "b", "later"}


def test_pulls_are_a_sequence_of_columns():
    pulls = bw.Bandit(ARMS, seed=SEED).pull(10)
    assert len(pulls) == 10
    assert [pull.round for pull in pulls] == pulls.rounds.tolist() == list(range(1, 11))
    assert list(pulls[2:4]) == [pulls[2], pulls[3]]
    assert list(pulls[pulls.arms == "red"]) == [pull for pull in pulls if pull.arm == "red"]
    assert pulls.ids == [pull.id for pull in pulls]
    assert type(pulls[-1].arm) is str
    assert type(pulls[0].probability) is float
    table = json.loads(json.dumps(pulls.to_dict()))
    assert [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)] == [
        pull.to_dict() for pull in pulls
    ]
    assert repr(pulls) == "Pulls(10 from round 1 to 10)"
    assert repr(pulls[:0]) == "Pulls(none)"


@pytest.mark.parametrize("labels", [(1, "one", 2.5), ((1, 2), (3, 4)), (0.99, 1.99), (2**80, 3)], ids=str)
def test_labels_of_all_kinds(labels):
    bandit = bw.Bandit(labels, seed=SEED)
    arms = [pull.arm for pull in bandit.pull(40)]
    assert set(arms) == set(labels)
    assert {type(arm) for arm in arms} == {type(label) for label in labels}


def test_ids_and_losses_will_do():
    one, many = (bw.Bandit(ARMS, seed=SEED) for _ in range(2))
    one.update(one.pull(20), losses=rewards_of(20))
    many.update(many.pull(20).ids, losses=rewards_of(20))
    assert known(one) == known(many)


def test_a_batch_survives_saving(tmp_path):
    bandit = bw.Bandit(ARMS, seed=SEED)
    pulls = bandit.pull(600)
    bandit.save(tmp_path / "state.json")
    again = bw.Bandit.load(tmp_path / "state.json")
    bandit.update(pulls, rewards=rewards_of(600))
    again.update(pulls, rewards=rewards_of(600))
    assert known(bandit) == known(again)


def test_late_answers_in_a_batch_are_counted():
    bandit = bw.Bandit(ARMS, seed=SEED, wait=5)
    pulls = bandit.pull(8)
    bandit.update(pulls, rewards=np.ones(8))
    assert bandit.late == 3
    assert bandit.outstanding == ()


def test_answers_from_before_a_restart_are_not_learned():
    bandit = bw.Bandit(ARMS, seed=SEED)
    pulls = bandit.pull(8)
    bandit.restart()
    bandit.update(pulls, rewards=np.ones(8))
    assert set(bandit.probabilities.values()) == {0.25}
    assert sum(bandit._seen) == 8


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda b, p: b.update(p, rewards=[0.5, 2.0, 0.5]), InvalidArgumentError, r"rewards\[1\].*2"),
        (lambda b, p: b.update(p, losses=[0.5, np.nan, 0.5]), InvalidArgumentError, r"losses\[1\]"),
        (lambda b, p: b.update(p, rewards=[0.5, 0.5]), InvalidArgumentError, "one for each pull"),
        (lambda b, p: b.update(p, rewards=["0.5"] * 3), InvalidArgumentError, "rewards"),
        (lambda b, p: b.update(p, rewards=[1] * 3, losses=[0] * 3), InvalidArgumentError, "without losses"),
        (lambda b, p: b.update(p, rewards=[1] * 3, reward=1.0), InvalidArgumentError, "without"),
        (lambda b, p: b.update(p[0], rewards=[1.0]), InvalidArgumentError, "reward="),
        (lambda b, p: b.update(p[0].id, rewards=[1.0]), InvalidArgumentError, "reward="),
        (lambda b, p: b.update(p, reward=1.0), InvalidArgumentError, "rewards="),
        (lambda b, p: b.update(p[[0, 1, 0]], rewards=[1.0] * 3), PullError, "once"),
        (lambda b, p: b.update(p.ids[:2] + p.ids[:1], rewards=[1.0] * 3), PullError, "once"),
        (lambda b, p: b.update(bw.Bandit(4).pull(3), rewards=[1.0] * 3), PullError, "another bandit"),
        (lambda b, p: b.pull(-1), InvalidArgumentError, "n must be at least 0"),
        (lambda b, p: b.pull(2.5), InvalidArgumentError, "an integer"),
        (lambda b, p: b.pull("ann"), InvalidArgumentError, "an integer"),
        (lambda b, p: b.pull(3, key="ann"), InvalidArgumentError, "key"),
        (lambda b, p: b.pull(3, among=["blau"]), InvalidArgumentError, "blue"),
    ],
)
def test_what_is_refused_changes_nothing(spoil, error, message):
    bandit = bw.Bandit(ARMS, seed=SEED)
    pulls = bandit.pull(3)
    before = known(bandit)
    with pytest.raises(error, match=message):
        spoil(bandit, pulls)
    assert known(bandit) == before


@pytest.mark.parametrize("wait", [None, 10])
def test_a_pull_that_has_had_its_feedback_stops_the_batch(wait):
    learn_at = "arrival" if wait is None else "deadline"
    bandit = bw.Bandit(ARMS, seed=SEED, wait=wait, learn_at=learn_at)
    pulls = bandit.pull(5)
    bandit.update(pulls[3], reward=1.0)
    before = known(bandit)
    with pytest.raises(PullError, match="round=4"):
        bandit.update(pulls, rewards=np.ones(5))
    assert known(bandit) == before


def test_a_failing_solver_is_reported_and_later_pulls_stay_open():
    bandit = bw.Bandit(ARMS, bw.TsallisINF(), seed=SEED)
    pulls = bandit.pull(6)
    learn = bandit._batch().learn
    bandit._batch().learn = lambda params, state, *columns: learn(params, state, *(c[:2] for c in columns))
    with pytest.raises(SolverError, match="round=3"):
        bandit.update(pulls, rewards=np.ones(6))
    assert [pull.round for pull in bandit.outstanding] == [3, 4, 5, 6]
