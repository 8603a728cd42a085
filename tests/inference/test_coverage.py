"""The promise: ever wrong in at most 5 % of runs, whoever played, whatever was looked at."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.inference.coverage import ever_missed

RUNS, ROUNDS, EVERY = 400, 2000, 16
WORLDS = [
    bw.environments.Bernoulli(means=[0.5, 0.6]),
    bw.environments.Beta(means=[0.5, 0.6], concentration=10.0),
]


@pytest.mark.compiled
@pytest.mark.parametrize("policy", [bw.TsallisINF(), pytest.param(bw.LightBarrier(), marks=pytest.mark.slow)])
@pytest.mark.parametrize("world", [WORLDS[0], pytest.param(WORLDS[1], marks=pytest.mark.slow)])
def test_ever_wrong_in_few_runs(policy, world):
    run = bw.simulate(policy, world, horizon=ROUNDS, replications=RUNS, seed=3, trace=True)
    means = np.tile([0.5, 0.4], (ROUNDS, 1))
    missed = [
        ever_missed(trace.arms, 1.0 - trace.losses, trace.p[:-1], means, every=EVERY)
        for trace in run.traces[0]
    ]
    allowed = 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / RUNS)
    rates = {name: np.mean([getattr(one, name) for one in missed], axis=0) for name in missed[0]._fields}
    for name, rate in rates.items():
        assert np.all(rate <= allowed), (name, rate)
    assert sum(rate.max() for rate in rates.values()) > 0.0  # a test that sees no miss at all sees nothing


@pytest.mark.compiled
def test_intervals_that_count_answers_are_fooled_by_delay_and_those_that_count_decisions_are_not():
    """Yes is answered at once, no much later: 300 runs at rate 0.3."""
    rng = np.random.default_rng(8)
    fooled, held = 0, 0
    for _ in range(300):
        yes = rng.random(1000) < 0.3
        came = np.arange(1000) + np.where(yes, 10, 500) * rng.exponential(size=1000) < 1000
        counting_decisions, counting_answers = (bw.inference.ConfidenceSequence() for _ in range(2))
        counting_decisions.update(yes[came].astype(float))
        counting_decisions.miss(int((~came).sum()))
        counting_answers.update(yes[came].astype(float))
        held += 0.3 in counting_decisions.interval()
        fooled += 0.3 not in counting_answers.interval()
    assert fooled > 200
    assert held == 300


@pytest.mark.compiled
def test_bounds_do_not_cross_where_nothing_moves():
    rng = np.random.default_rng(9)
    for _ in range(400):
        sequence = bw.inference.ConfidenceSequence(1e-3)
        for part in np.split((rng.random(1000) < 0.4).astype(float), 10):
            sequence.update(part)
            assert not sequence.interval().refuted
