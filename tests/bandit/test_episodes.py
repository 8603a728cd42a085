"""Policy optimization in episodic MDPs: against the enumeration of all trajectories and all policies."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.bandit import episodes
from bothworlds.bandit.episodes import MIXING, Step, add_bonuses, learn_episode
from bothworlds.errors import InvalidArgumentError, OutOfRangeError, SolverError, StateError
from oracle import episodes as oracle


@pytest.fixture(autouse=True)
def _as_python(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")


def random_mdp(sizes, n_actions, seed):
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.ones(after), size=(before, n_actions)) for before, after in pairwise(sizes)]


def learned(sizes=(1, 2, 3), n_actions=2, episodes=30, seed=0, **options):
    """A learner that has played for a while, and its transitions."""
    transitions = random_mdp(sizes, n_actions, seed)
    learner = bw.PolicyOptimization(transitions, n_actions=n_actions, seed=seed, **options)
    rng = np.random.default_rng(seed + 1)
    means = [rng.random((size, n_actions)) for size in sizes]
    for _ in range(episodes):
        path = learner.play()
        learner.update(path, losses=[float(rng.random() < means[s.layer][s.state, s.action]) for s in path])
    return learner, transitions, means


def layers(learner, values):
    """Numbers of states, layer by layer."""
    first = learner._params.first.tolist()
    return [values[a:b] for a, b in pairwise(first)]


# --- the process ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1, 2, 3), (2, 3), (3,), (1, 1, 1, 2)])
def test_visits_and_values(sizes):
    start = np.arange(1, sizes[0] + 1) / np.arange(1, sizes[0] + 1).sum()
    learner, transitions, means = learned(sizes, start=start, n_actions=2)
    paths = oracle.trajectories(transitions, start, learner.probabilities)
    assert sum(chance for _, chance in paths) == pytest.approx(1.0, rel=1e-12)
    for h, size in enumerate(sizes):
        assert learner.visits[h] == pytest.approx(
            [oracle.visits(paths, h, s) for s in range(size)], rel=1e-12
        )
    assert learner.value(means) == pytest.approx(oracle.value(paths, means), rel=1e-12)
    assert learner.best_value(means) == pytest.approx(oracle.best_value(transitions, start, means), rel=1e-12)
    uniform = [np.full((size, 2), 0.5) for size in sizes]
    expected = oracle.value(oracle.trajectories(transitions, start, uniform), means)
    assert learner.value(means, policy=uniform) == pytest.approx(expected, rel=1e-12)


def test_paths_are_drawn_with_their_probabilities():
    learner, transitions, _ = learned()
    chances = dict(oracle.trajectories(transitions, [1.0], learner.probabilities))
    runs = 2000
    counts = dict.fromkeys(chances, 0)
    for _ in range(runs):
        path = learner.play()
        counts[tuple((step.state, step.action) for step in path)] += 1
        for step in path:
            expected = learner.visits[step.layer][step.state] * learner.probabilities[step.layer][step.state]
            assert step.probability == pytest.approx(expected[step.action], rel=1e-12)
    for path, chance in chances.items():
        assert counts[path] == pytest.approx(runs * chance, abs=5 * np.sqrt(runs * chance) + 2)


# --- what it learns ---------------------------------------------------------------------------------------


def mean_estimates(learner, transitions, losses):
    """E Q̂ over all trajectories, by the kernel that learns, with bonuses and solver left out."""
    params, sums = learner._params._replace(bonuses=False), np.zeros(learner._state.losses.size)
    for path, chance in oracle.trajectories(transitions, learner._start, learner.probabilities):
        state = episodes.statefile.clone_state(learner._state)
        state.losses[:] = 0.0
        numbers = np.array([learner._number(h, s) for h, (s, _) in enumerate(path)])
        actions = np.array([a for _, a in path])
        weights = state.seen[numbers] * state.p[numbers * learner._n_actions + actions]
        suffered = np.array([losses[h][s][a] for h, (s, a) in enumerate(path)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(learn_episode.py_func.__globals__, "look_ahead", lambda *_: 0)
            learn_episode.py_func(params, state, learner._workspace(), numbers, actions, suffered, weights)
        sums += chance * state.losses
    return learner._layers(sums)


def true_q(learner, transitions, losses):
    paths = oracle.trajectories(transitions, learner._start, learner.probabilities)
    return [
        [
            [
                oracle.conditional(
                    paths, h, s, a, lambda p, h=h: sum(losses[k][p[k][0]][p[k][1]] for k in range(h, len(p)))
                )
                for a in range(learner._n_actions)
            ]
            for s in range(size)
        ]
        for h, size in enumerate(learner._sizes)
    ]


def test_estimates_of_q_are_unbiased_without_mixing():
    learner, transitions, means = learned()
    for one, other in zip(
        mean_estimates(learner, transitions, means), true_q(learner, transitions, means), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.01, 0.3, 1.0])
def test_with_mixing_their_bias_is_at_most_c(gamma):
    """E Q̂ = Q·μ^π/(μ^π + γ), so that 0 ≤ Q − E Q̂ ≤ H·γ/μ."""
    learner, transitions, means = learned()
    learner._state.seen[:] = learner._state.visits + gamma
    estimated = mean_estimates(learner, transitions, means)
    for h, q in enumerate(true_q(learner, transitions, means)):
        seen = layers(learner, learner._state.seen)[h][:, None]
        np.testing.assert_allclose(estimated[h], np.array(q) * (seen - gamma) / seen, rtol=1e-11)
        bias = np.array(q) - estimated[h]
        assert (bias >= 0.0).all()
        assert (bias <= 3 * gamma / seen).all()


@pytest.mark.parametrize("gamma", [None, 0.05])
def test_bonuses_are_expectations_over_trajectories(gamma):
    learner, transitions, _ = learned(constants="paper", episodes=10)
    state = learner._state
    assert state.scalars[MIXING] == 1.0  # of the paper, until t = 10⁶·H⁴A²
    if gamma is not None:  # as much later, with rates that make all terms matter
        state.scalars[MIXING] = gamma
        state.seen[:] = state.visits + gamma
        state.rates[:] = np.linspace(3.0, 9.0, state.rates.size)
        state.before[:] = state.rates - 0.7
        state.p[:] = np.random.default_rng(3).dirichlet(np.ones(2), size=6).ravel()
    workspace = learner._workspace()
    add_bonuses(learner._params, state, workspace)
    policy = learner.probabilities
    paths = oracle.trajectories(transitions, [1.0], policy)
    B, C = oracle.bonuses(
        paths,
        [1, 2, 3],
        2,
        policy,
        layers(learner, state.seen),
        layers(learner, state.rates),
        layers(learner, state.before),
        state.scalars[MIXING],
    )
    for h in range(3):
        np.testing.assert_allclose(learner._layers(workspace.bonus)[h], B[h], rtol=1e-10)
        np.testing.assert_allclose(learner._layers(workspace.excess)[h], C[h], rtol=1e-10, atol=1e-15)


def test_rates_and_minimizers():
    """1/η = 1600·H⁴√A + 4H·√(Σ 1/μ) and H·√(Σ 1/μ); losses − (1/η)/√π are equal in a state."""
    for constants, first, factor in (("light", 0.0, 3.0), ("paper", 1600 * 81 * np.sqrt(2), 12.0)):
        learner, _, _ = learned(constants=constants)
        state = learner._state
        np.testing.assert_allclose(state.rates, first + factor * np.sqrt(state.sums), rtol=1e-14)
        p, losses = state.p.reshape(-1, 2), state.losses.reshape(-1, 2)
        assert np.abs(p.sum(axis=1) - 1.0).max() < 1e-12
        slopes = losses - state.rates[:, None] / np.sqrt(p)
        np.testing.assert_allclose(slopes[:, 0], slopes[:, 1], rtol=1e-12)
        assert np.ptp(losses, axis=1).max() > 1.0


def test_one_layer_and_one_state_is_tsallis_inf():
    learner = bw.PolicyOptimization([], n_actions=3, seed=4)
    losses = np.random.default_rng(5).random(60)
    p, actions = [learner.probabilities[0][0]], []
    for loss in losses:
        (step,) = learner.play()
        learner.update([step], losses=[loss])
        p.append(learner.probabilities[0][0])
        actions.append(step.action)
    trace = bw.replay(bw.TsallisINF(), n_arms=3, arms=actions, losses=losses)
    np.testing.assert_allclose(p, trace.p, rtol=1e-9)


def test_it_learns():
    learner, _, _ = learned((1, 2, 2), episodes=1)
    means = [np.array([[0.5, 0.5]]), np.array([[0.1, 0.9], [0.9, 0.1]]), np.array([[0.9, 0.1], [0.1, 0.9]])]
    began = learner.value(means)
    for _ in range(300):
        path = learner.play()
        learner.update(path, losses=[means[s.layer][s.state, s.action] for s in path])
    best = learner.best_value(means)
    assert learner.value(means) - best < 0.5 * (began - best)


def test_a_state_out_of_reach_stays_as_it_is():
    transitions = [np.array([[[1.0, 0.0], [1.0, 0.0]]])]
    learner = bw.PolicyOptimization(transitions, seed=1)
    for _ in range(20):
        learner.update(learner.play(), losses=[0.3, 1.0])
    assert learner.visits[1] == pytest.approx([1.0, 0.0], abs=1e-15)
    assert learner.probabilities[1][1].tolist() == [0.5, 0.5]
    assert bw.PolicyOptimization.from_dict(json.loads(json.dumps(learner.to_dict()))).episodes == 20


@pytest.mark.compiled
@pytest.mark.slow
def test_compiled_is_the_same(monkeypatch):
    one, _, _ = learned(constants="paper", episodes=120)
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "wait")
    other, _, _ = learned(constants="paper", episodes=120)
    for a, b in zip(one._state, other._state, strict=True):
        np.testing.assert_array_equal(a, b)


# --- saving, and what is refused --------------------------------------------------------------------------


def test_saving(tmp_path):
    learner, _, _ = learned(low=-1.0, high=2.0)
    learner.save(tmp_path / "learner.json")
    for again in (bw.PolicyOptimization.load(tmp_path / "learner.json"), pickle.loads(pickle.dumps(learner))):
        assert again.episodes == 30
        assert again.play() == bw.PolicyOptimization.load(tmp_path / "learner.json").play()
        np.testing.assert_array_equal(again._state.losses, learner._state.losses)
    with pytest.raises(StateError, match="expected format"):
        bw.PolicyOptimization.from_dict({"format": "other"})
    with pytest.raises(StateError, match="lacks 'start'"):
        bw.PolicyOptimization.from_dict({k: v for k, v in learner.to_dict().items() if k != "start"})
    assert (
        repr(learner) == "PolicyOptimization(<states 1 → 2 → 3, 2 actions>, constants='light', episodes=30)"
    )


def test_rewards():
    one, other = (bw.PolicyOptimization([], n_actions=2, seed=1, low=0.0, high=10.0) for _ in range(2))
    one.update(one.play(), rewards=[4.0])
    other.update(other.play(), losses=[6.0])
    np.testing.assert_array_equal(one._state.losses, other._state.losses)


GOOD = [[[0.5, 0.5], [1.0, 0.0]]]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            [[[[0.5, 0.4], [1.0, 0.0]]]],
            {},
            r"transitions\[0\] must be distributions .* \[0.5, 0.4\] in state 0 with",
        ),
        (
            [[[0.5, 0.5]]],
            {},
            r"transitions\[0\] must be an array, states × actions × states .*, got shape \(1, 2\)",
        ),
        (
            [GOOD, GOOD],
            {},
            r"transitions\[1\] must be from the 2 states that layer 0 leads to, by 2 actions, got 1",
        ),
        ([], {}, "n_actions must be given where there are no transitions, got None; with one layer"),
        ([GOOD], {"n_actions": 3}, "n_actions must be that of the transitions, 2, got 3; leave it out"),
        ([GOOD], {"start": [0.5]}, "start must be a distribution over the first layer, got .* sum to 0.5"),
        ([GOOD], {"constants": "heavy"}, "constants must be one of 'light', 'paper'"),
    ],
)
def test_processes_that_are_none(arguments, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.PolicyOptimization(arguments, **options)


def test_updates_that_are_refused_change_nothing(monkeypatch):
    learner = bw.PolicyOptimization([[[[0.5, 0.5], [1.0, 0.0]]]], seed=1)
    path = [Step(0, 0, 1, 0.5), Step(1, 0, 0, 0.3)]
    before = json.dumps(learner.to_dict())
    for bad, kwargs, message in [
        (path[:1], {"losses": [0.0]}, "a decision in each of the 2 layers"),
        (path[::-1], {"losses": [0.0, 0.0]}, "in their order"),
        (path, {"losses": [0.0]}, "losses must be a one-dimensional sequence of length 2"),
        (path, {"losses": [0.0, 1.5]}, "1.5"),
        (path, {}, "losses must be given, or rewards, and not both, got neither"),
        ([path[0], Step(1, 1, 0, 0.3)], {"losses": [0.0, 0.0]}, "no transition leads from"),
        ([path[0], Step(1, 0, 2, 0.3)], {"losses": [0.0, 0.0]}, "action must be 0 to 1"),
        (
            [path[0], Step(1, 0, 0, 0.0)],
            {"losses": [0.0, 0.0]},
            "probability must be a finite number above 0",
        ),
    ]:
        with pytest.raises((InvalidArgumentError, OutOfRangeError), match=message):
            learner.update(bad, **kwargs)
    with pytest.raises(InvalidArgumentError, match="state must be 0 to 1"):
        learner.act(1, state=2)
    with pytest.raises(InvalidArgumentError, match="layer must be 0 to 1"):
        learner.act(2, state=0)
    with pytest.raises(
        InvalidArgumentError, match=r"for each layer, states × actions: \[\(1, 2\), \(2, 2\)\]"
    ):
        learner.best_value([[[0.0, 1.0]]])
    monkeypatch.setitem(learn_episode.__dict__, "python", lambda *_: 2)
    with pytest.raises(SolverError, match="was not learned"):
        learner.update(path, losses=[0.0, 0.0])
    assert json.dumps(learner.to_dict()) == before
