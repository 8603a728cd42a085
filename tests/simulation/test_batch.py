"""Replications in lanes: the bits that each has alone, and the errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from bothworlds._jit import entry
from bothworlds._simd import LANES, fill, gather, indexable, item_of, load, scatter, store
from bothworlds.environments.base import cost_of, loss_of
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import find
from bothworlds.simplex.steps import TOTAL
from bothworlds.simulation import batch
from bothworlds.simulation.engine import play_block
from bothworlds.simulation.job import BatchJob, Job, group
from playing import interpret

THIRDS = bw.FTRL(bw.Tsallis(2 / 3), log_barrier=0.0, theta=1.0, alpha=0.5)


def runs(policy, world, horizon, replications, **options):
    """All at once, and each replication on its own."""
    together = bw.simulate(
        policy, world, horizon=horizon, replications=replications, probabilities=True, **options
    )
    alone = [
        bw.simulate(
            policy, world, horizon=horizon, replications=range(i, i + 1), probabilities=True, **options
        )
        for i in range(replications)
    ]
    return together, alone


def assert_same(together, alone):
    for i, one in enumerate(alone):
        np.testing.assert_array_equal(together.regret[:, i], one.regret[:, 0])
        np.testing.assert_array_equal(together.losses[:, i], one.losses[:, 0])
        np.testing.assert_array_equal(together.probabilities[:, i], one.probabilities[:, 0])


@pytest.mark.compiled
@pytest.mark.parametrize(
    "policy", [bw.TsallisINF(), bw.INF(), pytest.param(THIRDS, marks=pytest.mark.slow)], ids=repr
)
@pytest.mark.parametrize("n_arms", [2, 3, 10, 33])
def test_lanes_have_the_bits_of_single_replications(policy, n_arms):
    world = bw.environments.Bernoulli(n_arms=n_arms, gap=0.2)
    assert batch.fit(policy.resolve(n_arms, 3000), world.parameters(3000))
    # as many as fit, and some more with lanes left over
    assert_same(*runs(policy, world, 3000, batch.MOST + 6, seed=3, block=1000, jobs=1))


@pytest.mark.compiled
@pytest.mark.parametrize("replications", [4, 5, 8, 11])
@pytest.mark.parametrize("jobs", [1, 3])
def test_any_number_of_lanes_in_any_number_of_threads(replications, jobs):
    world = bw.environments.Bernoulli(n_arms=6, gap=0.3)
    assert_same(*runs(bw.TsallisINF(), world, 5000, replications, seed=8, jobs=jobs))


@pytest.mark.compiled
@pytest.mark.slow
def test_worlds_with_a_memory_are_not_mixed_up():
    world = bw.environments.StochasticallyConstrained(n_arms=4, gap=0.2)
    assert_same(*runs(bw.TsallisINF(), world, 2000, 7, seed=9, jobs=1))


def test_lanes_in_python_too():
    world = bw.environments.Bernoulli(n_arms=5, gap=0.3)
    assert_same(*runs(bw.TsallisINF(), world, 30, 6, seed=4))


@pytest.mark.parametrize(
    ("replications", "threads", "sizes"),
    [
        (3, 1, [1, 1, 1]),
        (4, 8, [4]),
        (5, 1, [4, 1]),
        (6, 1, [6]),
        (16, 1, [16]),
        (16, 2, [8, 8]),
        (16, 4, [4, 4, 4, 4]),
        (64, 2, [16, 16, 16, 16]),
        (37, 1, [16, 16, 4, 1]),
    ],
)
def test_replications_are_grouped_for_lanes_and_threads(replications, threads, sizes):
    world = bw.environments.Bernoulli(n_arms=4, gap=0.2)
    marks = np.array([10])
    jobs = [
        Job(
            policy=bw.TsallisINF(),
            environment=world,
            horizon=10,
            known_horizon=10,
            seed=0,
            replication=number,
            marks=marks,
            trace=False,
            probabilities=False,
            block=10,
        )
        for number in range(replications)
    ]
    groups = [list(one.singles) if isinstance(one, BatchJob) else [one] for one in group(jobs, threads)]
    assert [len(some) for some in groups] == sizes
    assert [job for some in groups for job in some] == jobs


@entry
def exchange(values, arms, added, pairs, chosen):
    """Add to the number of one arm in each lane; the sum of one pair."""
    block = load(arms, 0)
    before = gather(values, block)
    scatter(values, block, before + load(added, 0))
    store(arms, 0, before)
    cards = indexable(pairs)
    total = 0.0
    for i in chosen:
        one = item_of(cards, i)
        total += one[0][0] + one[1]
    return total


@pytest.mark.parametrize("call", [exchange, exchange.py_func], ids=["compiled", "python"])
def test_gather_scatter_deal(call):
    values = np.arange(3.0 * LANES)
    arms = np.array([2.0, 0.0, 1.0, 2.0])
    pairs = tuple((np.array([10.0 * i]), float(i)) for i in range(3))
    total = call(values, arms, np.array([100.0, 200.0, 300.0, 400.0]), pairs, np.array([2, 0, 2]))
    assert total == 44.0
    np.testing.assert_array_equal(arms, [8.0, 1.0, 6.0, 11.0])
    np.testing.assert_array_equal(values, [0, 201, 2, 3, 4, 5, 306, 7, 108, 9, 10, 411])


def test_an_arm_without_probability_is_never_drawn():
    params = bw.TsallisINF().resolve(4, 100)
    state = batch.batch_state(params, 2)
    rows = np.array([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.2, 0.2, 0.2, 0.4], [0.0, 0.0, 1.0, 0.0]])
    state.p[1] = rows.T.ravel()
    store(state.carried[1], LANES * TOTAL, fill(1.0))
    for uniform in (0.0, 0.3, 0.999, 1.0):  # 1 is beyond: what rounding can do
        batch.draw_batch(params, state, np.full((8, 1), uniform), 0, 1)
        arms = [find(row, uniform) for row in rows]
        np.testing.assert_array_equal(state.met[1, LANES * batch.ARM :][:LANES], arms)
        chances = [row[arm] for row, arm in zip(rows, arms, strict=True)]
        np.testing.assert_array_equal(state.met[1, LANES * batch.CHANCE :][:LANES], chances)


def test_rows_begin_at_cache_lines():
    for array in batch.batch_state(bw.TsallisINF().resolve(6, 100), 3)[:-2]:  # without room
        assert array.shape[0] == 3
        assert array.ctypes.data % 64 == 0


@pytest.mark.compiled
def test_lanes_recenter_each_for_itself():
    # all losses 1: λ passes the threshold of 4096, in every lane in another round
    assert_same(*runs(bw.TsallisINF(), bw.environments.Bernoulli(means=[1.0, 1.0, 1.0]), 10_000, 9, seed=5))


@pytest.mark.compiled
def test_lanes_leave_to_the_others_what_they_cannot_confirm(monkeypatch):
    # arms that are hopeless from the start: the first rounds are long steps
    assert_same(*runs(bw.TsallisINF(), bw.environments.Bernoulli(means=[0.0, 1.0]), 500, 8, seed=6))


class BrokenParameters(NamedTuple):
    broken: int


@dataclass(frozen=True, repr=False)
class Broken(bw.environments.Environment):
    """Losses of 2 from some round on, in the world of one replication in three or so."""

    n_arms: int = 3

    def parameters(self, horizon: int) -> Any:
        return BrokenParameters(12)


@loss_of.register(BrokenParameters)
def _(env, world, t, arm, uniforms):
    return 2.0 if t >= env.broken and uniforms[0] < 0.3 else 0.5


@cost_of.register(BrokenParameters)
def _(env, world, t, arm, uniforms):
    return 0.0, 0.0


def test_lanes_report_what_a_single_replication_would(monkeypatch):
    interpret(monkeypatch, play_block, batch.play_batch)
    messages = []
    for replications in (4, 1):
        with pytest.raises(
            InvalidArgumentError, match=r"losses must be in \[0, 1\], got 2.0 .* in round"
        ) as error:
            bw.simulate(bw.TsallisINF(), Broken(), horizon=40, replications=replications, seed=1, jobs=1)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_what_does_not_fit():
    world = bw.environments.Bernoulli(n_arms=10, gap=0.2).parameters(100)
    for policy in (bw.LightBarrier(), bw.TsallisINF("rv"), bw.UCB1(), bw.DecoupledTsallisINF()):
        assert not batch.fit(policy.resolve(10, 100), world)
    assert not batch.fit(bw.TsallisINF().resolve(65, 100), world)
