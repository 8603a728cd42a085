"""The cache is filled with what is needed, and then nothing is left to compile."""

from __future__ import annotations

import pytest

import bothworlds as bw
from bothworlds import policies
from bothworlds.errors import StateError
from bothworlds.inference import comparisons, engine
from bothworlds.inference import state as evidence_state
from bothworlds.policies.base import pull_once, update_once
from bothworlds.policies.ftrl.many.state import MANY_ARMS
from bothworlds.simulation.engine import play_block
from bothworlds.warmup import _conclude, _sizes, compile_bandit, every_policy, fill_cache

WORLD = bw.environments.Bernoulli(n_arms=3, gap=0.2)


def test_says_what_it_does_and_counts_the_seconds():
    lines = []
    seconds = fill_cache([bw.UCB1(), bw.Uniform()], [WORLD], say=lines.append)
    assert len(seconds) == len(lines) == 4
    assert list(seconds)[1] == f"UCB1() in {WORLD!r}"
    assert all(value > 0 for value in seconds.values())


def test_knows_every_policy_and_the_kernels_for_many_arms():
    kinds = {type(policy) for policy in every_policy()}
    told_more = {
        bw.TsallisINFOracle,
        bw.LinearSPM,
        bw.EXP2,
        bw.Restarting,
        bw.Watched,
    }  # gaps, features, a policy
    assert kinds == set(bw.policies.REGISTRY.values()) - told_more
    assert _sizes(bw.TsallisINF()) == [3, MANY_ARMS]
    assert _sizes(bw.UCB1()) == [3]


def test_without_environments_bernoulli_is_prepared():
    assert list(fill_cache([bw.UCB1()])) == ["Bandit with UCB1()", "UCB1() in Bernoulli"]


FTRL = policies.to_dict(bw.FTRL(bw.Shannon(), log_barrier=0.1, theta=1.0, alpha=0.5))


@pytest.mark.parametrize(
    ("policy", "family", "file"),
    [
        ({"kind": "forgotten"}, "policy", "policies/__init__.py"),
        (FTRL | {"regularizer": {"kind": "forgotten"}}, "regularizer", "the __init__.py of its folder"),
    ],
)
def test_what_a_process_that_compiles_does_not_know_is_not_imported(policy, family, file):
    """A warning of the bandit shows this: it has no room for the names of all policies."""
    with pytest.raises(StateError) as caught:
        compile_bandit(policy, 3, None, "single", {})
    assert str(caught.value) == (
        f"no {family} is called 'forgotten' after import bothworlds: add its import to {file}, "
        "or, for one outside the package, set BOTHWORLDS_COMPILE=wait"
    )


@pytest.mark.compiled
def test_afterwards_nothing_compiles():
    fill_cache([bw.UCB1()], [WORLD])
    before = [len(entry.compiled.overloads) for entry in (pull_once, update_once, play_block)]
    bw.simulate(bw.UCB1(), bw.environments.Bernoulli(n_arms=5, gap=0.1), horizon=50)
    bw.Bandit(4, bw.UCB1()).pull()
    assert [len(entry.compiled.overloads) for entry in (pull_once, update_once, play_block)] == before


@pytest.mark.compiled
def test_evidence_is_prepared_too(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")  # nothing but evidence
    _conclude()
    entries = [
        value
        for module in (evidence_state, engine, comparisons)
        for value in vars(module).values()
        if hasattr(value, "compiled") and value.__module__ == module.__name__
    ]
    before = [len(entry.compiled.overloads) for entry in entries]
    assert sum(before) >= 10
    bandit = bw.Bandit(5, bw.LightBarrier(), evidence="full", seed=1)
    vars(bandit._record).update({name: entry for name, (entry, _) in bandit._record.kernels().items()})
    for _ in range(40):
        bandit.update(bandit.pull(), reward=0.5)
    for world in ("stationary", "any"):
        evidence = bandit.evidence(world=world, joint=True)
        str(evidence)
        evidence.compare(1, 2)
        evidence.more(3)
    assert [len(entry.compiled.overloads) for entry in entries] == before
