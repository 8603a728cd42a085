"""iid worlds against scipy; Minimax; equal arms that stay equal."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from bothworlds import environments as en
from bothworlds.environments.base import loss_of, open_world
from bothworlds.errors import InvalidArgumentError
from bothworlds.report.numbers import known_means

N = 4000


def test_a_two_level_design_has_means_and_stays_a_design():
    world = en.Bernoulli(n_arms=4, gap=0.1, optimal=2)
    assert world.means == (0.45, 0.45, 0.55, 0.55)
    np.testing.assert_array_equal(world.mean_losses(), world.means)
    assert repr(world) == "Bernoulli(n_arms=4, gap=0.1, optimal=2)"
    assert en.to_dict(world)["means"] is None
    assert en.from_dict(en.to_dict(world)) == world
    assert dataclasses.replace(world, gap=0.2, means=None).means == (0.4, 0.4, 0.6, 0.6)
    with pytest.raises(InvalidArgumentError, match=r"not both, got .*, gap=0.2\); leave out one"):
        dataclasses.replace(world, gap=0.2)


def sample(environment, arm, n=N, seed=3):
    """Losses of one arm, straight from the kernel."""
    params = environment.parameters(n)
    world = open_world(params)
    uniforms = np.random.default_rng(seed).random((n, 1))
    return np.array([loss_of(params, world, t + 1, arm, uniforms[t]) for t in range(n)])


def truncated(mu, sigma):
    return stats.truncnorm(-mu / sigma, (1 - mu) / sigma, mu, sigma)


CONTINUOUS = [
    (en.Beta(means=[0.3], concentration=10.0), stats.beta(3, 7)),
    (en.Beta(means=[0.8], concentration=5.0), stats.beta(4, 1)),
    (en.Beta(means=[0.2], concentration=5.0), stats.beta(1, 4)),
    (en.Beta(means=[0.5], concentration=2.0), stats.uniform()),
    (en.TruncatedNormal(locations=[0.5]), truncated(0.5, 0.2)),
    (en.TruncatedNormal(locations=[0.0], scale=0.5), truncated(0.0, 0.5)),
    (en.TruncatedNormal(locations=[0.95], scale=1.0), truncated(0.95, 1.0)),
]


@pytest.mark.parametrize(("environment", "law"), CONTINUOUS, ids=[repr(e) for e, _ in CONTINUOUS])
def test_continuous_losses_follow_their_law(environment, law):
    losses = sample(environment, 0)
    assert stats.kstest(losses, law.cdf).pvalue > 1e-3
    assert losses.mean() == pytest.approx(law.mean(), abs=4 * law.std() / math.sqrt(N))
    kurtosis = float(law.stats(moments="k")) + 3
    error = law.var() * math.sqrt((kurtosis - 1) / N)
    assert losses.var() == pytest.approx(law.var(), abs=4 * error)
    assert environment.mean_losses() == pytest.approx([law.mean()], rel=1e-12)


def test_a_wrong_law_would_be_noticed():
    losses = sample(en.Beta(means=[0.3], concentration=10.0), 0)
    assert stats.kstest(losses, stats.beta(3, 8).cdf).pvalue < 1e-3


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.5, 1.0])
def test_bernoulli(mean):
    losses = sample(en.Bernoulli(means=[0.7, mean]), 1)
    assert set(losses) <= {0.0, 1.0}
    if mean in (0.0, 1.0):
        assert set(losses) == {mean}
    else:
        assert stats.binomtest(int(losses.sum()), N, mean).pvalue > 1e-3


def test_discrete():
    values, rows = (0.0, 0.25, 0.5, 1.0), ((0.1, 0.2, 0.3, 0.4), (0.0, 0.5, 0.5, 0.0))
    environment = en.Discrete(values=values, probabilities=rows)
    counts = [np.sum(sample(environment, 0) == value) for value in values]
    assert stats.chisquare(counts, N * np.array(rows[0])).pvalue > 1e-3
    assert set(sample(environment, 1)) == {0.25, 0.5}
    laws = [stats.rv_discrete(values=((0, 25, 50, 100), row)) for row in rows]
    assert environment.mean_losses() == pytest.approx([law.mean() / 100 for law in laws], rel=1e-14)


@pytest.mark.parametrize("n_values", [3, 13, 40])
def test_equal_arms_of_a_discrete_world_are_equally_good(n_values):
    rng = np.random.default_rng(0)
    row = rng.dirichlet(np.ones(n_values))
    world = en.Discrete(values=rng.random(n_values), probabilities=[row] * 11)
    assert world.optimal_arms == tuple(range(11))


def test_the_two_level_design():
    world = en.Bernoulli(n_arms=5, gap=0.5, optimal=2, level=0.25)
    assert world.mean_losses().tolist() == [0.0, 0.0, 0.5, 0.5, 0.5]
    assert world.gaps.tolist() == [0.0, 0.0, 0.5, 0.5, 0.5]
    assert world.optimal_arms == (0, 1)
    assert en.Bernoulli(means=[0.5, 0.25]).gaps.tolist() == [0.25, 0.0]


@pytest.mark.parametrize(("n_arms", "horizon", "gap"), [(4, 10_000, 0.02), (9, 10**6, 0.003), (4, 16, 0.25)])
def test_the_gap_of_the_minimax_world(n_arms, horizon, gap):
    means = en.Minimax(n_arms=n_arms).parameters(horizon).means
    np.testing.assert_allclose(means, [0.5 - gap / 2] + [0.5 + gap / 2] * (n_arms - 1), rtol=1e-14)


def test_means_that_stay_are_told_by_the_world_not_by_its_class():
    class Told(en.PythonEnvironment):
        n_arms = 2

        def losses(self, random, start, stop):
            return np.tile(self.mean_losses(), (stop - start, 1))

        def mean_losses(self):
            return np.array([0.25, 0.75])

    assert known_means(Told()) == [0.25, 0.75]
    assert known_means(en.Switching(n_arms=3, gap=0.5, period=40)) is None
    assert known_means(None) is None
