"""Policies on feedback graphs: against transcriptions of the papers, on the same uniforms."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.experiments.spec import parse
from bothworlds.policies.base import init, read_distribution
from bothworlds.policies.graphs.graph import clique_cover
from bothworlds.policies.several import new_round, pull_several, shown_by, update_several
from oracle import draws
from oracle import graphs as oracle
from playing import interpret, loss_table

GRAPHS = {
    "bandit": np.eye(4),
    "experts": np.ones((4, 4)),
    "pairs": np.kron(np.eye(2), np.ones((2, 2))),
    "ring": np.array([[j in ((i - 1) % 5, i, (i + 1) % 5) for j in range(5)] for i in range(5)], dtype=float),
    "directed": np.array([[1, 1, 1], [0, 1, 0], [0, 1, 1]], dtype=float),
    "loopless": 1.0 - np.eye(4),
    "one loopless": np.array([[0, 1, 0], [1, 1, 0], [1, 0, 1]], dtype=float),
}


def lists(matrix):
    return [np.flatnonzero(row).tolist() for row in matrix]


class Player:
    """A policy on a graph, as Python."""

    def __init__(self, policy, matrix):
        n = len(matrix)
        problem = bw.Problem(shows=lists(matrix))
        self.params = policy.resolve(n, None, problem)
        self.state = init(self.params)
        self.n, self.shown, self.drawn = n, shown_by(problem, n), new_round(problem, n)

    @property
    def p(self):
        out = np.empty(self.n)
        read_distribution.py_func(self.params, self.state, out)
        return out

    def play(self, uniform, losses):
        _, self.count = pull_several.py_func(
            self.params, self.state, np.array([uniform]), 0, self.shown, self.drawn
        )
        self.drawn.losses[: self.count] = losses[self.drawn.shown[: self.count]]
        assert update_several.py_func(self.params, self.state, self.drawn, self.count) == 0
        return int(self.drawn.played[0])


def reference_of(kind, matrix):
    problem = bw.Problem(shows=lists(matrix))
    n = len(matrix)
    if kind == "hedge":
        return bw.Hedge(1.5), oracle.Hedge(matrix, 1.5)
    if kind == "ada-hedge":
        return bw.AdaHedge(), oracle.AdaHedge(matrix)
    policy = bw.MatchedTsallis(kind)
    alpha = 1 - 1 / (2 * (1 + math.log(n / clique_cover(problem, n))))
    if kind == "light":
        return policy, oracle.SPM(matrix, alpha, 1.0, 0.0, 0.5)
    beta = 4 * n / (1 - alpha)
    fixed = 0.0 if alpha <= 0.5 else 32 * n / ((1 - alpha) ** 2 * beta)
    return policy, oracle.SPM(matrix, alpha, beta, fixed, 1.0)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("kind", ["light", "paper", "hedge", "ada-hedge"])
def test_round_by_round(kind, name):
    matrix = GRAPHS[name]
    policy, reference = reference_of(kind, matrix)
    player = Player(policy, matrix)
    losses = loss_table("fractional" if name == "ring" else "binary", len(matrix), 40, seed=3)
    for t, uniform in enumerate(np.random.default_rng(5).random(len(losses))):
        np.testing.assert_allclose(player.p, reference.p, rtol=1e-7, atol=1e-14, err_msg=f"round {t + 1}")
        arm = player.play(uniform, losses[t])
        assert arm == draws.quantile(reference.p.tolist(), uniform)
        weights = player.drawn.weights[: player.count]
        np.testing.assert_allclose(weights, reference.seen[player.drawn.shown[: player.count]], rtol=1e-7)
        reference.update(arm, losses[t])


def test_a_favorite_that_does_not_show_itself_is_estimated_without_bias():
    """E ℓ̂ = ℓ over the arm that is played, and the estimate of the favorite is at most 1."""
    matrix = GRAPHS["loopless"]
    player = Player(bw.MatchedTsallis(), matrix)
    for uniform in np.random.default_rng(1).random(100):
        player.play(uniform, np.array([0.0, 1.0, 1.0, 1.0]))
    assert player.p[0] > 0.6
    p, losses = player.p, np.array([0.3, 0.9, 0.5, 0.2])
    reference = oracle.SPM(matrix, 0.5, 1.0, 0.0, 0.5)
    reference.p = p
    estimates = [reference.estimates(arm, losses) for arm in range(4)]
    np.testing.assert_allclose(p @ np.array(estimates), losses, rtol=1e-12)
    assert max(row[p.argmax()] for row in estimates) <= 1.0


@pytest.mark.parametrize("name", ["bandit", "experts", "pairs", "ring"])
def test_baselines(name):
    matrix = GRAPHS[name]
    losses = loss_table("binary", len(matrix), 80, seed=4)
    uniforms = np.random.default_rng(6).random(80)
    for policy, expected in (
        (bw.UCB1(), oracle.ucb_n(losses, matrix)),
        (bw.Thompson(), oracle.ts_n(losses, matrix, uniforms)),
    ):
        player = Player(policy, matrix)
        assert [player.play(u, row) for u, row in zip(uniforms, losses, strict=True)] == expected


@pytest.mark.parametrize("policy", [bw.MatchedTsallis(), bw.Hedge(), bw.AdaHedge()], ids=repr)
def test_self_loops_are_the_usual_bandit(policy):
    """The same bits whether the problem is plain or a graph of loops."""
    graph, plain = policy.resolve(4, None, bw.Problem(shows=lists(np.eye(4)))), policy.resolve(4, None)
    for one, other in zip(graph.graph, plain.graph, strict=True):
        np.testing.assert_array_equal(one, other)
    assert graph._replace(graph=None) == plain._replace(graph=None)


def independence_number(matrix):
    n = len(matrix)
    edge = (np.asarray(matrix) + np.asarray(matrix).T) > 0
    sizes = [
        size
        for size in range(1, n + 1)
        for arms in combinations(range(n), size)
        if not any(edge[i, j] for i, j in combinations(arms, 2))
    ]
    return max(sizes)


def test_the_clique_cover_bounds_the_independence_number():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(2, 8))
        matrix = (rng.random((n, n)) < rng.random()).astype(float)
        np.fill_diagonal(matrix, 1.0)
        cover = clique_cover(bw.Problem(shows=lists(matrix)), n)
        assert independence_number(matrix) <= cover <= n
    covers = [clique_cover(bw.Problem(shows=lists(matrix)), len(matrix)) for matrix in GRAPHS.values()]
    assert covers == [4, 1, 2, 3, 3, 1, 2]
    assert clique_cover(bw.Problem(shows="all"), 5) == 1
    assert clique_cover(bw.Problem(), 5) == 5


def test_all_and_a_list_of_all_are_the_same():
    for policy in (bw.MatchedTsallis(), bw.Hedge(), bw.AdaHedge()):
        listed = policy.resolve(3, None, bw.Problem(shows=lists(np.ones((3, 3)))))
        assert listed.graph.complete
        assert policy.resolve(3, None, bw.Problem(shows="all")).graph.complete


def test_distributions_after_long_runs():
    """A clear winner for thousands of rounds: p stays a distribution, rates stay finite, sums stay small."""
    for policy in (bw.MatchedTsallis(), bw.MatchedTsallis("paper"), bw.Hedge(), bw.AdaHedge()):
        player = Player(policy, GRAPHS["experts"])
        player.state.losses[:] = 1e9  # as after as many rounds
        for uniform in np.random.default_rng(1).random(300):
            player.play(uniform, np.array([0.0, 1.0, 1.0, 1.0]))
        assert player.p.sum() == pytest.approx(1.0, abs=1e-12)
        assert player.p[0] == max(player.p)
        assert np.isfinite(player.state.scalars).all()
        assert player.state.losses.min() <= 5000
        assert player.state.scalars[1] + player.state.losses[0] == 1e9


# --- in bandits, simulations and replays --------------------------------------------------------------------

SHOWS = {"low": ["low", "mid"], "mid": ["low", "mid", "high"], "high": ["mid", "high"]}
LOSSES = {"low": 0.9, "mid": 0.8, "high": 0.1}
ON_GRAPHS = [
    bw.MatchedTsallis(),
    bw.MatchedTsallis("paper"),
    bw.Hedge(),
    bw.AdaHedge(),
    bw.UCB1(),
    bw.Thompson(),
    bw.Uniform(),
]


@pytest.fixture
def _python(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")


def play(bandit, rounds):
    for _ in range(rounds):
        pull = bandit.pull()
        bandit.update(pull, losses={arm: LOSSES[arm] for arm in pull.observe})
    return bandit


@pytest.mark.usefixtures("_python")
@pytest.mark.parametrize("shows", [SHOWS, "all"], ids=["graph", "all"])
@pytest.mark.parametrize("policy", ON_GRAPHS, ids=repr)
def test_contract(policy, shows):
    """Sums, seeds, what is shown, saving, replay and learning."""
    rounds = 15 if isinstance(policy, bw.Thompson) else 60
    bandit, twin = (play(bw.Bandit(list(SHOWS), policy, shows=shows, seed=5), rounds) for _ in range(2))
    assert sum(bandit.probabilities.values()) == pytest.approx(1.0, abs=1e-9)
    assert bandit.probabilities == twin.probabilities
    pull = bandit.pull()
    assert pull.observe == tuple(SHOWS if shows == "all" else SHOWS[pull.arm])
    loaded = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    assert play(loaded, 5).probabilities == play(bandit, 5).probabilities
    if policy not in (bw.Uniform(), bw.MatchedTsallis("paper")):
        assert bandit.probabilities["high"] == max(bandit.probabilities.values())


@pytest.mark.usefixtures("_python")
@pytest.mark.parametrize("shows", [SHOWS, "all"], ids=["graph", "all"])
def test_replay_gives_what_the_bandit_had(shows):
    labels = list(SHOWS)
    numbers = "all" if shows == "all" else [[labels.index(arm) for arm in SHOWS[label]] for label in labels]
    for policy in (bw.MatchedTsallis(), bw.AdaHedge(), bw.UCB1()):
        bandit = bw.Bandit(labels, policy, shows=shows, seed=5)
        p, arms, losses = [], [], []
        for _ in range(20):
            p.append(list(bandit.probabilities.values()))
            pull = bandit.pull()
            arms.append(labels.index(pull.arm))
            losses.append([LOSSES[arm] for arm in pull.observe])
            bandit.update(pull, losses=losses[-1])
        trace = bw.replay(policy, n_arms=3, arms=arms, losses=losses, shows=numbers)
        assert trace.p[:-1].tolist() == p
        assert len(trace) == 20


@pytest.mark.usefixtures("_python")
@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([[0.5]], "losses must be a row for each of 2 rounds, got 1"),
        ([[0.5, 0.5], [0.5]], r"losses\[1\] must be one for each arm that arm 1 shows: \[0, 1, 2\], got 1"),
        ([[0.5, 0.5], [0.5, 2.0, 0.5]], "losses"),
    ],
)
def test_replay_refuses_losses_that_do_not_fit(losses, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.replay(bw.Hedge(), n_arms=3, arms=[0, 1], losses=losses, shows=[[0, 1], [0, 1, 2], [1, 2]])


@pytest.mark.usefixtures("_python")
@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ({"low": 0.1, "mid": 0.2, "high": 0.3}, r"for what the pull has shown: .*, got one for 'high'"),
        ({"low": 0.1}, "given for all that was shown, got none for 'mid'"),
        ([0.1], r"one for each of .*, in that order, got 1 number"),
        ([0.1, 1.5], r"losses\['mid'\]"),
    ],
)
def test_feedback_that_does_not_fit_changes_nothing(losses, message):
    bandit = bw.Bandit(list(SHOWS), bw.UCB1(), shows=SHOWS, seed=1)
    pull = bandit.pull()
    assert pull.arm == "low"
    before = bandit.to_dict()
    with pytest.raises(InvalidArgumentError, match=message):
        bandit.update(pull, losses=losses)
    assert bandit.to_dict() == before


REVEALING = {"ask": ["ask", "a", "b"], "a": [], "b": []}


@pytest.mark.parametrize(
    ("shows", "policy", "message"),
    [
        (REVEALING, None, "each arm shows itself or is shown by all others, got neither for arm 1"),
        (
            REVEALING,
            bw.UCB1(),
            r"each arm shows itself, got not itself for arm 1; let it show itself, or take",
        ),
        (REVEALING, bw.Thompson(), "each arm shows itself"),
        ({"a": ["b"], "b": ["a", "b"], "ask": ["ask", "a"]}, bw.Thompson(), "not itself for arm 0"),
        ({"ask": ["a", "b"], "a": [], "b": ["a", "b", "ask"]}, bw.Hedge(), "arm 0|arm 1"),
    ],
)
def test_graphs_that_a_policy_cannot_learn_on(shows, policy, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.Bandit(list(shows), policy, shows=shows)


def test_usual_policies(monkeypatch):
    interpret(monkeypatch, pull_several, read_distribution, update_several)
    assert bw.Bandit(3, shows="all").policy == bw.AdaHedge()
    assert bw.Bandit(list(SHOWS), shows=SHOWS).policy == bw.MatchedTsallis()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bw.MatchedTsallis("heavy"), "constants"),
        (lambda: bw.MatchedTsallis(alpha=1.0), "alpha must be a finite number above 0 and below 1"),
        (lambda: bw.Hedge(0.0), "rate must be"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()


@pytest.mark.compiled
@pytest.mark.slow
def test_compiled_and_python_have_the_same_bits():
    matrix = GRAPHS["one loopless"]
    base = bw.environments.Bernoulli(n_arms=3, gap=0.3)
    world = bw.environments.FeedbackGraph(base, shows=lists(matrix))
    policy = bw.MatchedTsallis("paper", alpha=0.7)
    run = bw.simulate(policy, world, horizon=200, seed=3, probabilities=True, checkpoints=[200])
    player = Player(policy, matrix)
    policy_draws, world_draws = (bw.rng.Uniforms(3, (stream, 0)).draw(200, 1)[0] for stream in (0, 1))
    for t in range(200):
        losses = [
            float(draws.expand(world_draws[t, 0], i) < mean) for i, mean in enumerate(base.mean_losses())
        ]
        player.play(policy_draws[t, 0], np.array(losses))
    assert run.probabilities[0, 0, -1].tolist() == player.p.tolist()


def test_an_experiment_file():
    """Worlds of a study may be graphs."""
    experiment = parse(
        """
        horizon = 100
        replications = 2
        [[policy]]
        kind = "matched-tsallis"
        [[environment]]
        kind = "feedback-graph"
        shows = [[0, 1], [0, 1], [2]]
        base = { kind = "bernoulli", n_arms = 3, gap = 0.2 }
        """
    )
    (world,) = experiment.environments
    assert world.build().problem == bw.Problem(shows=[[0, 1], [0, 1], [2]])
