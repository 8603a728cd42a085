"""What every environment must do: one table of environments, one table of checks."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds._progress import Progress
from bothworlds.environments.problems import OtherProblem
from bothworlds.errors import UnknownNameError
from bothworlds.simulation.batch import play_batch
from bothworlds.simulation.engine import play_block
from bothworlds.simulation.job import make_jobs
from bothworlds.testing import ENVIRONMENT_CHECKS, EnvironmentCase
from bothworlds.testing.environments import (
    environment_agrees_with_its_gaps,
    environment_has_honest_regret,
    environment_keeps_its_bits,
)
from oracle import worlds as oracle
from playing import interpret
from worlds import WORLDS

HORIZON = 120
POLICY = bw.TsallisINF()


def each_world(condition=lambda world: True):
    chosen = [world for world in WORLDS if condition(world)]
    return pytest.mark.parametrize("world", chosen, ids=[repr(world.environment) for world in chosen])


def play(world, policies=POLICY, replications=2, **options):
    options = {"horizon": HORIZON, "seed": 5, "jobs": 1} | options
    return bw.simulate(policies, world.environment, replications=replications, **options)


def same(run, other):
    return np.array_equal(run.measured, other.measured)


# Checks with a policy that no test below has, as Python: test_testing.py has them compiled for some worlds.
BESIDE = (environment_keeps_its_bits, environment_has_honest_regret, environment_agrees_with_its_gaps)


@pytest.mark.parametrize("check", ENVIRONMENT_CHECKS, ids=lambda check: check.__name__)
@each_world()
def test_keeps_the_contract(world, check, monkeypatch):
    if check in BESIDE:
        interpret(monkeypatch, play_block)
    check(EnvironmentCase(world.environment, HORIZON))


@each_world()
def test_same_seed_same_bits_whatever_the_threads_and_blocks(world):
    run = play(world)
    assert same(run, play(world))
    toothless = isinstance(world.environment, en.DeterministicKiller)
    assert same(run, play(world, seed=6)) == toothless  # these two never touch a policy that stays uniform
    for block in (1, 7):
        assert same(run, play(world, block=block))
    for jobs in (2, 4):
        assert same(run, play(world, jobs=jobs, block=11))


@each_world()
def test_neither_other_policies_nor_more_replications_change_a_run(world):
    run = play(world, trace=True)
    both = play(world, {"x": POLICY, "y": bw.INF(), "z": POLICY}, replications=3)
    assert np.array_equal(both.measured[0, :2], run.measured[0])
    assert np.array_equal(both.measured[0], both.measured[2])
    traces = run.traces[0]
    assert not np.array_equal(traces[0].played, traces[1].played)  # replications differ from each other


@each_world()
@pytest.mark.parametrize("kept", [{}, {"trace": True}, {"distributions": 5}], ids=str)
def test_every_block_has_the_types_that_were_compiled(world, kept, monkeypatch):
    """Machine code is called without a look at them, and would read anything."""
    interpret(monkeypatch, play_block, play_batch)
    how = {"horizon": 50, "tell_horizon": True, "seed": 1, "replications": range(5), "block": 7, **kept}
    for job in make_jobs(bw.TsallisINF(), world.environment, marks=np.array([1, 50]), **how):
        entry, arguments = job.kernel
        compiled, played = entry.signature(*arguments), []

        def play(*values, entry=entry, played=played):
            played.append(entry.signature(*values))
            return entry.python(*values)

        replace(job, code=play).run(threading.Event(), Progress("", 0.0, enabled=False))
        assert len(played) == 8
        assert set(played) == {compiled}


@each_world()
def test_checkpoints_only_select_and_the_last_is_the_end(world):
    dense = play(world, checkpoints=range(1, HORIZON + 1))
    sparse = play(world, checkpoints=[1, 50, HORIZON])
    assert np.array_equal(sparse.measured, dense.measured[:, :, [0, 49, HORIZON - 1]])
    default = play(world)
    assert default.checkpoints[0] == 1
    assert default.checkpoints[-1] == HORIZON
    assert np.array_equal(default.measured, dense.measured[:, :, default.checkpoints - 1])


@each_world(lambda world: world.rows is not None)
def test_losses_and_regret_from_the_same_uniforms_by_hand(world):
    run = play(world, trace=True, checkpoints=range(1, HORIZON + 1))
    t = np.arange(HORIZON)
    for replication, trace in enumerate(run.traces[0]):
        width = max(1, world.environment.draws)
        uniforms = bw.rng.stream(5, 1, replication).random((HORIZON, width))
        rows = world.rows(HORIZON, uniforms, trace.p)
        np.testing.assert_allclose(trace.losses, rows.losses[t, trace.arms], rtol=1e-11, atol=1e-14)
        regret = oracle.regret(rows.cost, trace.played)
        np.testing.assert_allclose(run.regret[0, replication], regret, rtol=0, atol=1e-11)
        clean = oracle.regret(rows.clean, trace.played)
        np.testing.assert_allclose(run.clean_regret[0, replication], clean, rtol=0, atol=1e-11)


@each_world()
def test_is_a_value(world):
    environment = world.environment
    twin = copy.deepcopy(environment)
    if world.prints:
        assert eval(repr(environment), vars(en)) == environment
        assert twin == environment
        assert hash(twin) == hash(environment)
        assert all(other.environment != environment for other in WORLDS if other is not world)
    assert {environment: 1}[environment] == 1
    assert repr(pickle.loads(pickle.dumps(environment))) == repr(environment) == repr(twin)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(environment, dataclasses.fields(environment)[0].name, None)


@each_world()
def test_a_pickled_environment_is_the_same_world(world):
    twin = pickle.loads(pickle.dumps(world.environment))
    for mine, theirs in zip(world.environment.parameters(50), twin.parameters(50), strict=True):
        assert np.array_equal(mine, theirs)


@each_world()
def test_teaches(world):
    assert type(world.environment).__doc__
    assert world.environment.regret_kind


@each_world()
def test_gaps_optimal_arms_corruption_and_spread_agree(world):
    environment = world.environment
    assert environment.n_arms >= 1
    if environment.gaps is None:
        assert environment.optimal_arms is None
        assert environment.corruption(100) is None
        assert environment.spread(100) is None
        return
    gaps = environment.gaps
    assert gaps.shape == (environment.n_arms,)
    assert gaps.min() == 0.0
    assert environment.optimal_arms == tuple(i for i in range(environment.n_arms) if gaps[i] == 0)
    if world.rows is not None:
        rows = world.rows(1, np.array([[0.5]]), np.full((1, environment.n_arms), 1 / environment.n_arms))
        np.testing.assert_allclose(gaps, rows.clean[0] - rows.clean[0].min(), rtol=1e-12, atol=1e-15)
    budget = getattr(environment, "budget", 0.0)
    assert environment.corruption(1000) == environment.spread(1000) == 2 * budget
    assert environment.corruption(3) == 2 * min(budget, 3)


def test_spread_is_zero_with_a_single_optimal_arm():
    world = en.Corrupted(en.Bernoulli(n_arms=3, gap=0.5), 5.0)
    assert (world.corruption(100), world.spread(100)) == (10.0, 0.0)


def test_every_registered_environment_is_in_the_table():
    others = OtherProblem, en.Sleeping  # which have tests of their own: test_problems.py, test_sleeping.py
    usual = {kind for kind in en.REGISTRY.values() if not issubclass(kind, others)}
    assert {type(world.environment) for world in WORLDS} == usual


def test_environments_by_name():
    assert en.names() == sorted(en.REGISTRY)
    assert en.get("loss-table") is en.LossTable
    with pytest.raises(
        UnknownNameError, match=r"no environment is called 'bernouli'; did you mean 'bernoulli'\?"
    ):
        en.get("bernouli")
    with pytest.raises(
        UnknownNameError,
        match=r"no environment is called 7.*Known: alternating, bernoulli, beta, change-points",
    ):
        en.get(7)
    assert all(getattr(en, kind.__name__) is kind for kind in en.REGISTRY.values())
