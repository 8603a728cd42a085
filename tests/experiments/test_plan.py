"""The cut into chunks, and how long it will take."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bothworlds.experiments.plan import (
    CHUNK_SECONDS,
    MOST_CHUNKS,
    NANOSECONDS,
    Batch,
    Forecast,
    cut_into_chunks,
    nominal_costs,
    nominal_seconds,
)
from bothworlds.experiments.store.chunk import ChunkInfo
from bothworlds.policies import names
from studies import parse, study

costs = st.lists(st.floats(1e-4, 5.0), min_size=1, max_size=30)


@given(costs, st.integers(1, 200))
def test_every_replication_is_in_one_chunk(costs, replications):
    chunks = cut_into_chunks(costs, replications)
    seen = [
        (batch.cell, number)
        for batches in chunks
        for batch in batches
        for number in range(batch.first, batch.stop)
    ]
    assert seen == [(cell, number) for cell in range(len(costs)) for number in range(replications)]
    assert all(batches for batches in chunks)


@given(costs, st.integers(1, 200))
def test_chunks_are_neither_long_nor_needlessly_many(costs, replications):
    chunks = cut_into_chunks(costs, replications)
    lengths = [sum(costs[batch.cell] * (batch.stop - batch.first) for batch in batches) for batches in chunks]
    for batches, length in zip(chunks, lengths, strict=True):
        single = len(batches) == 1 and batches[0].stop - batches[0].first == 1
        assert single or length <= CHUNK_SECONDS * (1 + 1e-9) + max(costs[batch.cell] for batch in batches)
    for before, after in itertools.pairwise(lengths):
        assert before + after > CHUNK_SECONDS * (1 - 1e-9)


def test_a_huge_study_has_long_chunks():
    chunks = cut_into_chunks([100.0] * 1000, 1000)  # three years of work
    assert MOST_CHUNKS <= len(chunks) <= 1.1 * MOST_CHUNKS


def test_costs_name_policies_that_exist():
    assert set(NANOSECONDS) <= set(names())


def test_a_regularizer_that_is_searched_costs_more():
    experiment = parse(
        """
        horizon = 1000
        replications = 1
        [[policy]]
        kind = "ftrl"
        regularizer = "shannon"
        constants = "light"
        [[policy]]
        kind = "ftrl"
        regularizer = "log-barrier"
        constants = "light"
        [[environment]]
        kind = "bernoulli"
        n_arms = 10
        gap = 0.1
        """
    )
    searched, closed = (nominal_seconds(entry, 10, 10**6) for entry in experiment.policies)
    assert searched == pytest.approx(0.56, rel=0.3)
    assert closed == pytest.approx(0.115, rel=0.3)


def test_a_distribution_that_must_be_integrated_costs_more_in_worlds_that_read_it():
    experiment = parse(
        """
        horizon = 1000
        replications = 1
        [[policy]]
        kind = "thompson"
        [[policy]]
        kind = "restarting"
        every = 100
        policy = "thompson"
        [[policy]]
        kind = "ucb1"
        [[environment]]
        kind = "bernoulli"
        n_arms = 10
        gap = 0.1
        [[environment]]
        kind = "favorite-attack"
        n_arms = 10
        """
    )
    iid, reading = np.array(nominal_costs(experiment, [e.build() for e in experiment.environments])).reshape(
        2, 3
    )
    assert (reading[:2] > 20 * iid[:2]).all()  # measured: 4 µs against 0.2 µs per round and arm
    assert reading[2] == iid[2]


def test_pace_knows_policies_that_are_slower_than_thought():
    forecast = Forecast([1.0, 1.0, 1.0], policies=[0, 1, 2])
    batches = [Batch(cell, 0, 2) for cell in range(3)]
    assert forecast.time_left(batches, elapsed=0.0, workers=2) == pytest.approx(3.0)  # nothing known: nominal
    forecast.learn(ChunkInfo(0, "", ((Batch(0, 2, 4), 2.0), (Batch(1, 2, 4), 6.0)), "host"), now=True)
    # policy 0 as thought, policy 1 three times slower, policy 2 like the average, two times
    assert forecast.seconds(batches) == pytest.approx(2.0 + 6.0 + 4.0)
    # the first chunk may have waited a minute for its kernels: that says nothing of the speed
    assert forecast.time_left(batches, elapsed=60.0, workers=3) == pytest.approx(4.0)
    forecast.learn(ChunkInfo(1, "", ((Batch(0, 4, 6), 2.0), (Batch(1, 4, 6), 6.0)), "host"), now=True)
    assert forecast.time_left(batches, elapsed=64.0, workers=99) == pytest.approx(6.0)  # two seconds a second


def test_pace_learns_factors_but_not_speed_from_an_earlier_run():
    forecast = Forecast([1.0], policies=[0])
    forecast.learn(ChunkInfo(0, "", ((Batch(0, 0, 1), 3.0),), "host"), now=False)
    assert forecast.time_left([Batch(0, 1, 3)], elapsed=0.1, workers=2) == pytest.approx(3.0)


def test_a_small_study_is_one_chunk():
    experiment = study()
    assert len(cut_into_chunks([1e-4] * len(experiment.cells()), experiment.replications)) == 1
    assert math.isfinite(sum(nominal_seconds(entry, 3, 60) for entry in experiment.policies))
