"""Worlds in which several arms are chosen, or several losses shown: as Python, against recomputation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.environments.base import cost_of, loss_of, open_world, prepare, total_of
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import init
from bothworlds.simulation.job import Job
from bothworlds.simulation.several import least_sum, play_rounds
from oracle import draws
from oracle import sets as oracle

E = bw.environments
BASE = E.Bernoulli(means=[0.2, 0.5, 0.5, 0.9])
SET = E.SemiBandit(BASE, choose=2)
GRAPH = E.FeedbackGraph(BASE, shows=[[0, 1], [1], [2, 0], [3]])


def test_every_arm_has_a_uniform_of_its_own():
    env = SET.parameters(100)
    world = open_world(env)
    rng = np.random.default_rng(1)
    losses = np.empty((4000, 4))
    for t in range(4000):
        uniforms = rng.random(1)
        prepare(env, world, t + 1, np.empty(0), uniforms)
        losses[t] = [loss_of(env, world, t + 1, arm, uniforms) for arm in range(4)]
        if t < 50:
            expected = [float(draws.expand(uniforms[0], arm) < BASE.means[arm]) for arm in range(4)]
            assert losses[t].tolist() == expected
    np.testing.assert_allclose(losses.mean(axis=0), BASE.means, atol=0.04)
    assert abs(np.corrcoef(losses.T) - np.eye(4)).max() < 0.08


def test_an_adversary_around_the_world_sees_the_losses_of_all_arms():
    flipped = E.SemiBandit(E.Corrupted(BASE, budget=10.0, strategy="front"), choose=2)
    env = flipped.parameters(100)
    world = open_world(env)
    for t, uniform in enumerate(np.random.default_rng(2).random(40), 1):
        uniforms = np.array([uniform])
        prepare(env, world, t, np.empty(0), uniforms)
        clean = [float(draws.expand(uniform, arm) < BASE.means[arm]) for arm in range(4)]
        seen = [loss_of(env, world, t, arm, uniforms) for arm in range(4)]
        assert seen == ([1.0 - loss for loss in clean] if t <= 10 else clean)


def played(policy, environment, horizon):
    """The measurements of a run, as Python, and what the loop was given."""
    job = Job(
        policy=policy,
        environment=environment,
        horizon=horizon,
        known_horizon=horizon,
        seed=3,
        replication=0,
        marks=np.array([horizon]),
        trace=False,
        probabilities=False,
        block=horizon,
    )
    measured = np.empty((1, 3))
    arguments = job.arguments(measured, np.empty((0, 4)), None)
    job.fill(arguments, job.randoms(), 0, horizon)
    assert play_rounds.py_func(*arguments.values())[0] == 0
    return measured[0], arguments


def test_regret_is_to_the_best_set():
    (regret, clean, suffered), arguments = played(bw.Uniform(), SET, 200)
    pulls = np.zeros(4)
    state = init(bw.Uniform().resolve(4, 200, SET.problem))
    losses = 0.0
    for policy, world in zip(arguments["policy_uniforms"], arguments["world_uniforms"], strict=True):
        points = (policy[0] + np.arange(2)) % 2
        arms = np.flatnonzero(
            [((lo <= points) & (points < hi)).any() for lo, hi in zip(*ends(state.p), strict=True)]
        )
        pulls[arms] += 1
        losses += sum(float(draws.expand(world[0], int(arm)) < BASE.means[arm]) for arm in arms)
    assert regret == pytest.approx(float(pulls @ BASE.means) - 200 * (0.2 + 0.5))
    assert clean == regret
    assert suffered == losses


def ends(p):
    reached = np.cumsum(p)
    return reached - p, reached


@pytest.mark.parametrize(
    "base",
    [
        BASE,
        E.LossTable(np.random.default_rng(0).random((30, 4))),
        E.Corrupted(BASE, budget=5.0, strategy="targeted"),
        E.Faked(BASE, arm=2, first=1, last=9),
        E.Switching(n_arms=4, gap=0.2, period=7),
        E.Seasonal(means=[0.2, 0.4, 0.4, 0.6], period=9.0, amplitude=0.1),
    ],
    ids=repr,
)
def test_totals_are_sums_of_costs(base):
    world = E.SemiBandit(base, choose=2)
    env = world.parameters(30)
    state, sums = open_world(env), np.zeros((4, 2))
    for t, uniform in enumerate(np.random.default_rng(4).random(30), 1):
        uniforms = np.array([uniform])
        prepare(env, state, t, np.empty(0), uniforms)
        bw.environments.base.add_to_totals(env, state)
        for arm in range(4):
            sums[arm] += cost_of(env, state, t, arm, uniforms)
        totals = np.array([total_of(env, state, t, arm, uniforms) for arm in range(4)])
        # regret is a difference: costs may be those of another zero, the same for all arms
        np.testing.assert_allclose(totals - totals[0], sums - sums[0], atol=1e-12)
    np.testing.assert_allclose(totals, sums, atol=1e-12)


def test_a_graph_shows_what_it_says():
    assert GRAPH.problem == bw.Problem(shows=((0, 1), (1,), (0, 2), (3,)))
    assert E.from_dict(E.to_dict(GRAPH)) == GRAPH
    for world in (SET, E.SemiBandit(BASE, choose=(0, 2), outside=0.3), E.SemiBandit(BASE, slots=[2, 2])):
        assert E.from_dict(E.to_dict(world)) == world
    with pytest.raises(InvalidArgumentError, match="which is not for graphs"):
        bw.simulate(bw.KLUCB(), GRAPH, horizon=10)


@pytest.mark.parametrize("choice", [{"choose": 2}, {"choose": "any"}, {"choose": (1, 4)}, {"slots": [2, 4]}])
def test_the_best_set_costs_least_of_all(choice):
    problem = bw.Problem(**choice)
    groups = problem.groups(6)
    rng = np.random.default_rng(1)
    sets = [np.flatnonzero(bits) for bits in itertools.product([0, 1], repeat=6)]
    allowed = [
        chosen
        for chosen in sets
        if all(
            fewest <= ((first <= chosen) & (chosen < last)).sum() <= most
            for first, last, fewest, most in zip(*groups[:4], strict=True)
        )
    ]
    for _ in range(30):
        values = rng.integers(0, 9, 6).astype(float)
        nothing = float(rng.integers(0, 9)) if problem.sizes_differ else 0.0
        least = min((values[chosen] - nothing).sum() for chosen in allowed)
        assert least_sum(groups, nothing, values.copy()) == least


@pytest.mark.parametrize("choice", [{"choose": "any", "outside": 0.6}, {"slots": [2, 2]}])
def test_regret_of_other_sets(choice):
    world = E.SemiBandit(BASE, **choice)
    (regret, clean, _), arguments = played(bw.Uniform(), world, 200)
    p, means = init(bw.Uniform().resolve(4, 200, world.problem)).p, np.array(BASE.means)
    sets = [(list(range(4)), 0, 4)] if "choose" in choice else [([0, 1], 1, 1), ([2, 3], 1, 1)]
    outside = choice.get("outside", 0.0)
    drawn = [oracle.draw(p, uniforms[0], sets) for uniforms in arguments["policy_uniforms"]]
    best = oracle.best(means, sets, outside)
    expected = sum((means[arms] - outside).sum() for arms in drawn) - 200 * (means[best] - outside).sum()
    assert regret == pytest.approx(expected)
    assert clean == regret


def test_losses_of_a_table_are_its_own():
    table = np.random.default_rng(3).random((50, 4))
    world = E.SemiBandit(E.LossTable(table), choose=(0, 2), outside=0.4)
    (regret, _, suffered), arguments = played(bw.Uniform(), world, 50)
    p = init(bw.Uniform().resolve(4, 50, world.problem)).p
    drawn = [oracle.draw(p, u[0], [(list(range(4)), 0, 2)]) for u in arguments["policy_uniforms"]]
    costs = sum((table[t, arms] - 0.4).sum() for t, arms in enumerate(drawn))
    sums = table.sum(axis=0) - 50 * 0.4
    assert regret == pytest.approx(costs - np.minimum(np.sort(sums)[:2], 0.0).sum())
    assert suffered == pytest.approx(sum(table[t, arms].sum() for t, arms in enumerate(drawn)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: E.SemiBandit(BASE, choose=4), "choose must be below the number of arms, 4, got 4"),
        (lambda: E.SemiBandit("bernoulli", choose=2), "base must be an environment"),
        (lambda: E.SemiBandit(E.Delayed(BASE, mean=3), choose=2), "not Delayed, got .*leave out Delayed"),
        (lambda: E.SemiBandit(E.SwitchingCost(BASE, cost=1.0), choose=2), "without a cost of switching"),
        (lambda: E.SemiBandit(BASE, slots=[2, 3]), "slots must be a number of arms for each slot, 4 in all"),
        (
            lambda: E.SemiBandit(BASE, slots=[3, 1]),
            "slots must be at least 2, got 1; a slot with one arm leaves nothing",
        ),
        (lambda: E.SemiBandit(BASE, slots=[2, 2], choose=2), "choose must be 1 where there are slots"),
        (lambda: E.SemiBandit(BASE, choose=(0, 5)), "a pair of numbers up to that of the arms, 4"),
        (lambda: E.SemiBandit(BASE, choose="any", outside=1.0), "outside must be .* below 1"),
        (
            lambda: E.SemiBandit(E.StochasticallyConstrained(n_arms=4, gap=0.2), choose="any"),
            "gaps do not say whether an arm is worth choosing",
        ),
        (lambda: E.Delayed(SET, mean=3), r"base must be a world in which one arm is chosen"),
        (lambda: E.SemiBandit(SET, choose=3), "in which one arm is chosen"),
        (
            lambda: E.SemiBandit(E.Switching(n_arms=4, gap=0.2, period=9, benchmark="dynamic"), choose=2),
            "base must be an environment with a fixed benchmark",
        ),
        (lambda: E.FeedbackGraph(BASE, shows=None), "shows must be 'all'"),
        (lambda: E.FeedbackGraph(BASE, shows=[[0], [1], [2]]), "got 3 for 4 arms"),
        (lambda: E.FeedbackGraph(BASE, shows=[[0], [1], [2], [4]]), "arms 0 to 3"),
        (lambda: E.FeedbackGraph(BASE, shows=[[0], [1], [2], [2]]), "nothing that shows arm 3"),
        (lambda: bw.simulate(bw.Uniform(), SET, horizon=9, trace=True), "trace must be False for choose=2"),
        (lambda: bw.simulate(bw.TsallisINF(), SET, horizon=9), "which is not for sets"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()
