"""Adversaries that read the distribution, by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.environments.base import keep_totals, loss_of, open_world, prepare, reads_p
from bothworlds.simulation.batch import play_batch
from bothworlds.simulation.engine import play_block
from bothworlds.simulation.several import play_rounds
from bothworlds.simulation.sleeping import play_awake
from bothworlds.testing import EnvironmentCase
from bothworlds.testing.environments import environment_sees_what_it_watches
from interpreting import plain_python  # noqa: F401 - a fixture
from playing import interpret

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract


def losses(environment, p):
    params = environment.parameters(10)
    world = open_world(params)
    assert reads_p(params)
    prepare(params, world, 1, np.array(p), np.array([0.5]))
    return [loss_of(params, world, 1, i, np.array([0.5])) for i in range(environment.n_arms)]


@pytest.mark.parametrize(
    ("kind", "p", "expected"),
    [
        (en.ThresholdAdversary, [0.25, 0.25, 0.25, 0.25], [1, 1, 1, 1]),
        (en.ThresholdAdversary, [0.26, 0.24, 0.25, 0.25], [1, 0, 1, 1]),
        (en.ThresholdAdversary, [0.4, 0.0, 0.2, 0.4], [1, 0, 0, 1]),
        (en.ThresholdAdversary, [0.3 - 0.1 + 0.05, 0.25, 0.25, 0.25], [1, 1, 1, 1]),  # below ¼ by rounding
        (en.FavoriteAttack, [0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0]),
        (en.FavoriteAttack, [0.2, 0.3, 0.3, 0.2], [0, 1, 0, 0]),
        (en.FavoriteAttack, [0.0, 0.0, 0.0, 1.0], [0, 0, 0, 1]),
        (en.DeterministicKiller, [0.0, 0.0, 1.0, 0.0], [0, 0, 1, 0]),
        (en.DeterministicKiller, [0.001, 0.0, 0.999, 0.0], [0, 0, 0, 0]),
        (en.DeterministicKiller, [0.25, 0.25, 0.25, 0.25], [0, 0, 0, 0]),
        (en.Gem, [0.25, 0.25, 0.25, 0.25], [1, 0.5, 0.5, 0.5]),
        (en.Gem, [0.01, 0.49, 0.25, 0.25], [1, 0.5, 0.5, 0.5]),
        (en.Gem, [0.009, 0.491, 0.25, 0.25], [0, 0.5, 0.5, 0.5]),
    ],
)
def test_the_rule(kind, p, expected):
    assert losses(kind(n_arms=4), p) == expected


@pytest.mark.parametrize("kind", [en.DeterministicKiller, en.FavoriteAttack, en.ThresholdAdversary])
def test_a_deterministic_policy_loses_every_round(kind, monkeypatch):
    interpret(monkeypatch, play_block)
    horizon, n_arms = 1000, 4
    run = bw.simulate(bw.UCB1(), kind(n_arms=n_arms), horizon=horizon, seed=1, trace=True)
    trace = run.traces[0][0]
    assert (trace.losses == 1.0).all()
    regret = run.regret[0, 0, -1]
    assert regret >= horizon * (1 - 1 / n_arms)
    assert regret == horizon - np.bincount(trace.played, minlength=n_arms).min()


def test_the_killer_never_touches_a_policy_that_randomizes():
    run = bw.simulate(bw.TsallisINF(), en.DeterministicKiller(n_arms=4), horizon=1000, replications=3)
    assert not run.losses.any()
    assert not run.regret.any()


def test_attacking_the_favorite_keeps_tsallis_inf_within_its_bound():
    run = bw.simulate(bw.TsallisINF(), en.FavoriteAttack(n_arms=4), horizon=1000, replications=4)
    assert run.losses[..., -1].min() > 200
    assert run.regret[..., -1].mean() <= 4 * np.sqrt(4 * 1000) + 1


class BlindParameters(NamedTuple):
    n_arms: int
    first: int


@dataclass(frozen=True, repr=False, kw_only=True)
class Blind(en.Environment):
    """An adversary that reads the distribution from a round on, and forgot to register ``reads_p``."""

    n_arms: int = 3
    first: int = 1
    regret_kind = "regret to the best fixed arm"

    def parameters(self, horizon):
        return BlindParameters(self.n_arms, self.first)


@prepare.register(BlindParameters)
def _(env, world, t, p, uniforms):
    for i in range(env.n_arms):
        world.losses[i] = p[i] if t >= env.first else 0.5


@loss_of.register(BlindParameters)
def _(env, world, t, arm, uniforms):
    return world.losses[arm]


keep_totals(BlindParameters, lambda env: env.n_arms)


@pytest.mark.parametrize("first", [1, 20])
@pytest.mark.parametrize(
    ("make", "replications"),
    [
        (lambda world: world, 2),
        (lambda world: world, 4),  # played as a batch
        (lambda world: en.Sleeping(world, awake=0.6), 2),
        (lambda world: en.SemiBandit(world, choose=2), 2),
    ],
    ids=["alone", "batch", "sleeping", "sets"],
)
def test_a_world_that_reads_p_and_does_not_watch_is_refused(make, replications, first, monkeypatch):
    interpret(monkeypatch, play_block, play_batch, play_rounds, play_awake)
    world = make(Blind(first=first))
    where = f"{type(world).__name__}.* in round {first}"
    said = rf"losses must be in \[0, 1\], got nan from {where}; .*register reads_p"
    policy = bw.Uniform() if world.problem.several else bw.TsallisINF()
    with pytest.raises(bw.errors.InvalidArgumentError, match=said):
        bw.simulate(policy, world, horizon=50, replications=replications, checkpoints=[5, 50], jobs=1)


def test_the_contract_notices_it_too_where_no_loss_is_nan():
    said = r"Blind\(first=7\): prepare reads p, .* round 7 .* register reads_p"
    with pytest.raises(AssertionError, match=said):
        environment_sees_what_it_watches(EnvironmentCase(Blind(first=7), 20))
