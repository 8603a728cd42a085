"""Replications in lanes: the bits that each has alone, and the errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.environments.base import cost_of, loss_of
from bothworlds.errors import InvalidArgument
from bothworlds.simulate import lanes

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
@pytest.mark.parametrize("policy", [bw.TsallisINF(), bw.INF(), THIRDS], ids=repr)
@pytest.mark.parametrize("n_arms", [2, 3, 10, 33])
def test_lanes_have_the_bits_of_single_replications(policy, n_arms):
    world = bw.environments.Bernoulli(n_arms=n_arms, gap=0.2)
    assert lanes.fit(policy.resolve(n_arms, 3000), world.parameters(3000))
    assert_same(*runs(policy, world, 3000, 6, seed=3, block=1000))


def test_lanes_in_python_too():
    world = bw.environments.Bernoulli(n_arms=5, gap=0.3)
    assert_same(*runs(bw.TsallisINF(), world, 30, 4, seed=4))


@pytest.mark.compiled
def test_lanes_recentre_each_for_itself():
    # all losses 1: λ passes the threshold of 4096, in every lane in another round
    assert_same(*runs(bw.TsallisINF(), bw.environments.Bernoulli(means=[1.0, 1.0, 1.0]), 10_000, 4, seed=5))


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


def test_lanes_report_what_a_single_replication_would():
    messages = []
    for replications in (4, 1):
        with pytest.raises(
            InvalidArgument, match=r"losses must be in \[0, 1\], got 2.0 .* in round"
        ) as error:
            bw.simulate(bw.TsallisINF(), Broken(), horizon=40, replications=replications, seed=1, jobs=1)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_what_does_not_fit():
    world = bw.environments.Bernoulli(n_arms=10, gap=0.2).parameters(100)
    for policy in (bw.LightBarrier(), bw.TsallisINF("rv"), bw.UCB1(), bw.DecoupledTsallisINF()):
        assert not lanes.fit(policy.resolve(10, 100), world)
    assert not lanes.fit(bw.TsallisINF().resolve(65, 100), world)
