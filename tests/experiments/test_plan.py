"""The cut into chunks, and how long it will take."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bothworlds.experiments.chunk import About
from bothworlds.experiments.plan import CHUNK_SECONDS, MOST_CHUNKS, NANOSECONDS, Job, nominal_seconds, plan
from bothworlds.experiments.progress import Pace
from bothworlds.policies import names
from studies import parse, study

costs = st.lists(st.floats(1e-4, 5.0), min_size=1, max_size=30)


@given(costs, st.integers(1, 200))
def test_every_replication_is_in_one_chunk(costs, replications):
    chunks = plan(costs, replications)
    seen = [(job.cell, number) for jobs in chunks for job in jobs for number in range(job.first, job.stop)]
    assert seen == [(cell, number) for cell in range(len(costs)) for number in range(replications)]
    assert all(jobs for jobs in chunks)


@given(costs, st.integers(1, 200))
def test_chunks_are_neither_long_nor_needlessly_many(costs, replications):
    chunks = plan(costs, replications)
    lengths = [sum(costs[job.cell] * (job.stop - job.first) for job in jobs) for jobs in chunks]
    for jobs, length in zip(chunks, lengths, strict=True):
        single = len(jobs) == 1 and jobs[0].stop - jobs[0].first == 1
        assert single or length <= CHUNK_SECONDS * (1 + 1e-9) + max(costs[job.cell] for job in jobs)
    for before, after in itertools.pairwise(lengths):
        assert before + after > CHUNK_SECONDS * (1 - 1e-9)


def test_a_huge_study_has_long_chunks():
    chunks = plan([100.0] * 1000, 1000)  # three years of work
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


def test_pace_knows_policies_that_are_slower_than_thought():
    pace = Pace([1.0, 1.0, 1.0], policies=[0, 1, 2])
    jobs = [Job(cell, 0, 2) for cell in range(3)]
    assert pace.left(jobs, elapsed=0.0, workers=2) == pytest.approx(3.0)  # nothing known: nominal
    pace.learn(About(0, "", ((Job(0, 2, 4), 2.0), (Job(1, 2, 4), 6.0)), "host"), now=True)
    # policy 0 as thought, policy 1 three times slower, policy 2 like the average, two times
    assert pace.seconds(jobs) == pytest.approx(2.0 + 6.0 + 4.0)
    assert pace.left(jobs, elapsed=4.0, workers=99) == pytest.approx(6.0)  # two seconds of work a second


def test_pace_learns_factors_but_not_speed_from_an_earlier_run():
    pace = Pace([1.0], policies=[0])
    pace.learn(About(0, "", ((Job(0, 0, 1), 3.0),), "host"), now=False)
    assert pace.left([Job(0, 1, 3)], elapsed=0.1, workers=2) == pytest.approx(3.0)


def test_a_small_study_is_one_chunk():
    experiment = study()
    assert len(plan([1e-4] * len(experiment.cells()), experiment.replications)) == 1
    assert math.isfinite(sum(nominal_seconds(entry, 3, 60) for entry in experiment.policies))
