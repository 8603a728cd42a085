"""Learners that are made as twins, and told at once, are those that were made and told one by one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bothworlds.bandit.learner import Learner, learn_all

POLICIES = ("light-barrier", "tsallis-inf", "exp3", "thompson")


def played(policy, *, n=40, seed=0, changes=()):
    """A learner that has learned something, with its tickets and what was kept."""
    learner, draw = Learner(["a", "b", "c"], policy), np.random.default_rng(seed)
    tickets, kept = [], []
    for i in range(n):
        for at, what, arm in changes:
            if at == i:
                learner.change(what, arm)
        tickets.append(learner.decide(draw.random(learner.draws)).ticket)
        kept.append(learner.take("reward", float(draw.random())))
        learner.learn(tickets[-1:], kept[-1:])
    return learner, tickets, kept


@pytest.mark.parametrize("policy", POLICIES)
def test_a_twin_goes_its_own_way(policy):
    learner, tickets, kept = played(policy)
    twin, before = learner.twin(), learner.dump()
    assert twin.dump() == before
    twin.learn(tickets[:5], kept[:5])
    twin.change("add", "d")
    assert learner.dump() == before
    assert twin.labels == ("a", "b", "c", "d")
    uniforms = np.full(twin.draws, 0.9)
    twin.learn([twin.decide(uniforms).ticket], [0.5])  # the kernels of four arms
    learner.learn(tickets[:5], kept[:5])
    learner.change("add", "d")
    learner.learn([learner.decide(uniforms).ticket], [0.5])
    assert twin.dump() == learner.dump()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "changes", [(), ((10, "add", "d"),), ((10, "disable", "b"),), ((10, "restart", None),)]
)
def test_what_was_kept_is_loaded_the_same_with_and_without_a_fresh_one(policy, changes):
    learner, tickets, kept = played(policy, changes=changes)
    fresh = Learner(["a", "b", "c"], policy)
    untouched = fresh.dump()
    loaded = Learner.load(learner.dump(), fresh=fresh)
    assert loaded.dump() == learner.dump() == Learner.load(learner.dump()).dump()
    loaded.learn(tickets[-3:], kept[-3:])
    learner.learn(tickets[-3:], kept[-3:])
    assert loaded.dump() == learner.dump()
    assert fresh.dump() == untouched


def test_one_that_was_made_of_something_else_is_not_taken():
    learner, *_ = played("tsallis-inf")
    for other in (Learner(["a", "b"], "tsallis-inf"), Learner(["a", "b", "c"], "exp3")):
        assert Learner.load(learner.dump(), fresh=other).dump() == learner.dump()
    wide = Learner(["a", "b", "c"], "tsallis-inf", low=-1.0)
    assert json.loads(Learner.load(learner.dump(), fresh=wide).dump())["low"] == 0.0


CHANGES = {
    "alike": ((), (), ()),
    "other arms": ((), ((5, "add", "d"),), ()),
    "asleep": ((), ((5, "disable", "b"),), ((7, "disable", "a"), (9, "enable", "a"))),
    "restarted": (((20, "restart", None),), (), ((0, "restart", None),)),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_told_at_once_or_one_by_one(policy, changes):
    sources = [played(policy, seed=i, changes=one) for i, one in enumerate(changes)]
    order = np.random.default_rng(9).permutation(np.repeat(np.arange(len(sources)), 40)).tolist()
    rows = [iter(zip(tickets, kept, strict=True)) for _, tickets, kept in sources]
    tickets, kept = zip(*(next(rows[i]) for i in order), strict=True)
    together = [Learner.load(one.dump()) for one, *_ in sources]
    apart = [Learner.load(one.dump()) for one, *_ in sources]
    learn_all(together, order, tickets, kept)
    for i, ticket, one in zip(order, tickets, kept, strict=True):
        apart[i].learn([ticket], [one])
    assert [one.dump() for one in together] == [one.dump() for one in apart]
    assert together[0].dump() != sources[0][0].dump()
    together[0].frozen = apart[0].frozen = True
    learn_all(together, order, tickets, kept)
    assert together[0].dump() == apart[0].dump()
