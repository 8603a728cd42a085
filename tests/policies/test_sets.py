"""Policies for sets of arms: against transcriptions of the papers, on the same uniforms."""

from __future__ import annotations

import json
import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import init, pull_once, read_distribution, update_once
from bothworlds.policies.several import new_round, pull_several, shown_by, update_several
from bothworlds.policies.shared.beta import probability_of_best
from bothworlds.policies.shared.systematic import draw_set
from bothworlds.problem import PLAIN
from bothworlds.simplex.steps import TAKEN_OVER
from oracle import sets as oracle
from playing import loss_table

SETS = [bw.HybridINF(), bw.LBINFV(), bw.LBINFV(eta=0.25), bw.CombUCB1(), bw.Thompson(), bw.Uniform()]


# what is chosen of so many arms, as a problem and as the oracle has it
CHOICES = {
    "2 of 4": (4, {"choose": 2}, [([0, 1, 2, 3], 2, 2)]),
    "4 of 5": (5, {"choose": 4}, [([0, 1, 2, 3, 4], 4, 4)]),
    "any of 3": (3, {"choose": "any"}, [([0, 1, 2], 0, 3)]),
    "any, dear": (3, {"choose": "any", "outside": 0.3}, [([0, 1, 2], 0, 3)]),
    "at most 2 of 5": (5, {"choose": (0, 2), "outside": 0.6}, [([0, 1, 2, 3, 4], 0, 2)]),
    "2 to 3 of 4": (4, {"choose": (2, 3), "outside": 0.4}, [([0, 1, 2, 3], 2, 3)]),
    "slots of 2 and 3": (5, {"slots": [2, 3]}, [([0, 1], 1, 1), ([2, 3, 4], 1, 1)]),
}


class Player:
    """A policy that plays sets, as Python."""

    def __init__(self, policy, n_arms, choice, horizon=1000):
        problem = bw.Problem(**(choice if isinstance(choice, dict) else {"choose": choice}))
        self.params = policy.resolve(n_arms, horizon, problem)
        self.state = init(self.params)
        self.shown, self.drawn = shown_by(problem, n_arms), new_round(problem, n_arms)

    @property
    def p(self):
        out = np.empty(self.params.n_arms if hasattr(self.params, "n_arms") else self.state[1].size)
        read_distribution.py_func(self.params, self.state, out)
        return out

    def act(self, uniform):
        uniforms = np.array([uniform])
        n, _ = pull_several.py_func(self.params, self.state, uniforms, 0, self.shown, self.drawn)
        return self.drawn.played[:n].tolist(), self.drawn.weights[:n].tolist()

    def update(self, losses):
        self.drawn.losses[: len(losses)] = losses
        assert update_several.py_func(self.params, self.state, self.drawn, len(losses)) == 0


# --- systematic sampling ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(2, 1), (5, 2), (8, 3), (8, 7), (30, 11)])
def test_every_arm_is_drawn_with_exactly_its_probability(n, m):
    """By integration over u: the set changes only where a point meets the end of an arm."""
    rng = np.random.default_rng(n + m)
    for _ in range(20):
        p = rng.dirichlet(np.full(n, 0.5)) * m
        while p.max() > 1.0:  # put what is above 1 on the others
            over = np.maximum(p - 1.0, 0.0).sum()
            p = np.minimum(p, 1.0)
            p[p < 1.0] += over / (p < 1.0).sum()
        corners = np.unique(np.concatenate([[0.0, 1.0], np.cumsum(p) % 1.0]))
        inclusion, out = np.zeros(n), np.empty(m, dtype=np.int64)
        for left, right in pairwise(corners):
            assert draw_set(p, 0.5 * (left + right), m, out) == m
            assert (np.diff(out) > 0).all()
            if right - left > 1e-12:
                assert out.tolist() == oracle.madow(p, 0.5 * (left + right))
            inclusion[out] += right - left
        np.testing.assert_allclose(inclusion, p, rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_where_sizes_differ_too(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        p = rng.random(n) ** rng.integers(1, 8)
        corners = np.unique(np.concatenate([[0.0, 1.0], np.cumsum(p) % 1.0]))
        inclusion, out = np.zeros(n), np.empty(n, dtype=np.int64)
        for left, right in pairwise(corners):
            count = draw_set(p, 0.5 * (left + right), 0, out)
            assert count in (math.floor(p.sum()), math.ceil(p.sum()))
            if right - left > 1e-12:
                assert out[:count].tolist() == oracle.madow(p, 0.5 * (left + right))
            inclusion[out[:count]] += right - left
        np.testing.assert_allclose(inclusion, p, rtol=0, atol=1e-13)


def test_at_a_limit_rounding_leads_to_no_set_beyond_it():
    out = np.empty(3, dtype=np.int64)
    for p, fewest, most in (
        ([1.0 - 1e-13, 1.0], 2, 3),
        ([0.5 + 1e-13, 0.5, 1.0], 0, 2),
        ([1e-14, 1.0], 0, 1),
    ):
        for uniform in (0.0, 1e-14, 0.5, 1.0 - 2.0**-53):
            assert fewest <= draw_set(np.array(p), uniform, fewest, out[:most]) <= most


@pytest.mark.parametrize("uniform", [0.0, 1e-300, 1.0 - 2.0**-53])
def test_at_the_ends_a_set_is_whole_and_possible(uniform):
    out = np.empty(3, dtype=np.int64)
    for p in ([1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0], [0.75] * 4, [0.3, 0.3, 0.3, 0.3, 0.9, 0.9, 0.0]):
        assert draw_set(np.array(p), uniform, 3, out) == 3
        assert len(set(out.tolist())) == 3
        assert (np.array(p)[out] > 0.0).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=4, max_size=12), st.integers(1, 3), st.floats(0, 1, exclude_max=True)
)
def test_rounding_leaves_a_set_of_distinct_arms(weights, m, uniform):
    p = np.clip(np.array(weights) + 1e-3, 0, 1)
    p = np.minimum(1.0, p * (m / p.sum()))
    out = np.empty(m, dtype=np.int64)
    assert draw_set(p, uniform, m, out) == m
    assert len(set(out.tolist())) == m


# --- FTRL ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("kind", ["hybrid", "least squares", "gradient descent"])
def test_round_by_round(kind, choice):
    n, problem, sets = CHOICES[choice]
    outside = problem.get("outside", 0.5)
    policy, reference = {
        "hybrid": (bw.HybridINF(), oracle.Hybrid(n, sets, outside)),
        "least squares": (bw.LBINFV(), oracle.LBINFV(n, sets, 1000, outside=outside)),
        "gradient descent": (
            bw.LBINFV(0.4, eta=0.25),
            oracle.LBINFV(n, sets, 1000, 0.4, 0.25, outside=outside),
        ),
    }[kind]
    losses = loss_table("fractional" if n == 3 else "binary", n, 25, seed=n)
    if choice == "any of 3":
        losses = np.minimum(1.0, 0.55 + losses)  # soon nothing is worth choosing
    player, sizes = Player(policy, n, problem), set()
    for t, uniform in enumerate(np.random.default_rng(n).random(len(losses))):
        np.testing.assert_allclose(player.p, reference.p, rtol=1e-8, err_msg=f"round {t + 1}")
        arms, weights = player.act(uniform)
        assert arms == oracle.draw(reference.p, uniform, sets)
        sizes.add(len(arms))
        player.update(losses[t, arms])
        reference.update(arms, losses[t, arms], weights)
    assert 0 in sizes or choice != "any of 3"
    assert taken_over(player.state) == 0.0


class _OneOf:
    """A policy over sets of one arm."""

    def __init__(self, policy):
        self.policy = policy

    def resolve(self, n_arms, horizon, problem):
        return self.policy.parameters_for(problem, n_arms, horizon)


@pytest.mark.parametrize("policy", [bw.LBINFV(), bw.HybridINF()], ids=repr)
def test_sets_of_one_arm_are_the_usual_bandit(policy):
    losses = loss_table("binary", 5, 60)
    params = policy.resolve(5, 1000)
    state, out = init(params), np.empty(5)
    player = Player(_OneOf(policy), 5, 1)
    for t, uniform in enumerate(np.random.default_rng(2).random(60)):
        read_distribution.py_func(params, state, out)
        np.testing.assert_allclose(player.p, out, rtol=1e-11)
        arm, _, _, _, memo = pull_once.py_func(params, state, np.array([uniform]), 0)
        arms, (weight,) = player.act(uniform)
        assert arms == [arm]
        update_once.py_func(params, state, arm, losses[t, arm], weight, memo)
        player.update(losses[t, [arm]])


def test_marginals_are_within_the_box_and_sum_to_m_after_long_runs():
    for policy in (bw.HybridINF(), bw.LBINFV()):
        player = Player(policy, 6, 4, horizon=10**6)
        for uniform in np.random.default_rng(1).random(400):
            arms, _ = player.act(uniform)
            player.update([0.0 if arm < 4 else 1.0 for arm in arms])
        assert (player.p > 0.0).all()
        assert (player.p < 1.0).all()
        assert player.p.sum() == pytest.approx(4.0, abs=1e-11)
        assert player.p[:4].min() > 0.9
        assert taken_over(player.state) == 0.0


def taken_over(state):
    """How often the general solver had to help."""
    return (state if hasattr(state, "carried") else state.ftrl).carried[TAKEN_OVER]


# --- baselines ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", CHOICES)
def test_comb_ucb1(choice):
    n, problem, sets = CHOICES[choice]
    losses = loss_table("fractional", n, 150, seed=n)
    player = Player(bw.CombUCB1(), n, problem)
    for t, expected in enumerate(oracle.comb_ucb1(losses, sets, problem.get("outside", 0.5))):
        arms, weights = player.act(0.3)
        assert arms == expected
        assert weights == [1.0] * len(arms)
        player.update(losses[t, arms])


@pytest.mark.parametrize("choice", CHOICES)
def test_multiple_play_thompson(choice):
    n, problem, sets = CHOICES[choice]
    losses = loss_table("binary", n, 80, seed=n)
    uniforms = np.random.default_rng(n).random(80)
    expected, ones, zeros = oracle.mp_ts(losses, uniforms, sets, problem.get("outside", 0.5))
    player = Player(bw.Thompson(), n, problem)
    for t in range(80):
        arms, _ = player.act(uniforms[t])
        assert arms == expected[t]
        player.update(losses[t, arms])
    assert player.state.ones.tolist() == ones
    assert player.state.zeros.tolist() == zeros


def among_best(a, b, fewest, most, outside, i):
    """P(X_i is in the best set), by adaptive quadrature and a sum over who is below."""
    others = [j for j in range(len(a)) if j != i]

    def integrand(x, m):
        below = [stats.beta.cdf(x, a[j], b[j]) for j in others]
        fewer = sum(
            np.prod([q if k in chosen else 1 - q for k, q in enumerate(below)])
            for size in range(m)
            for chosen in combinations(range(len(others)), size)
        )
        return stats.beta.pdf(x, a[i], b[i]) * fewer

    how = {"epsabs": 1e-10, "limit": 200}
    return quad(integrand, 0, outside, (most,), **how)[0] + quad(integrand, outside, 1, (fewest,), **how)[0]


@pytest.mark.parametrize(
    ("fewest", "most", "outside"),
    [(2, 2, 0.5), (3, 3, 0.5), (0, 2, 0.4), (1, 3, 0.6), (0, 4, 0.5), (2, 3, 0.02), (1, 4, 0.98)],
)
def test_the_probabilities_of_thompson_s_sets(fewest, most, outside):
    a, b = np.array([1.0, 3.0, 2.0, 9.0]), np.array([1.0, 2.0, 4.0, 5.0])
    out = np.empty(4)
    probability_of_best(a, b, fewest, most, outside, out)
    expected = [among_best(a, b, fewest, most, outside, i) for i in range(4)]
    np.testing.assert_allclose(out, expected, atol=1e-7)
    if fewest == most:
        assert out.sum() == pytest.approx(most, abs=1e-12)


def test_fractional_losses_are_rounded_for_each_arm_alone():
    player = Player(bw.Thompson(), 4, 3)
    player.act(0.37)
    assert len(set(player.drawn.memos.tolist())) == 3


# --- all of them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [name for name in CHOICES if name not in ("2 of 4", "4 of 5")])
@pytest.mark.parametrize("policy", [bw.HybridINF(), bw.LBINFV()], ids=repr)
def test_the_best_set_is_found(policy, choice):
    n, problem, sets = CHOICES[choice]
    player = Player(policy, n, problem)
    losses = 0.05 + 0.9 * np.arange(n)[::-1] / n
    for uniform in np.random.default_rng(5).random(500):
        arms, _ = player.act(uniform)
        player.update(losses[arms])
    best = oracle.best(losses, sets, problem.get("outside", 0.5))
    assert np.flatnonzero(player.p > 0.5).tolist() == sorted(best)


@pytest.mark.parametrize("policy", SETS, ids=repr)
def test_contract(policy, monkeypatch):
    """Sums, seeds, saving and learning, in a bandit."""
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")

    def play(bandit, rounds):
        for _ in range(rounds):
            pull = bandit.pull()
            bandit.update(pull, losses=[0.9 if arm < 4 else 0.1 for arm in pull.arms])
        return bandit

    rounds = 15 if isinstance(policy, bw.Thompson) else 60  # whose probabilities are integrals
    bandit, twin = (play(bw.Bandit(6, policy, choose=2, horizon=200, seed=5), rounds) for _ in range(2))
    assert sum(bandit.probabilities.values()) == pytest.approx(2.0, abs=1e-9)
    assert bandit.probabilities == twin.probabilities
    loaded = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    assert play(loaded, 5).probabilities == play(bandit, 5).probabilities
    if not isinstance(policy, (bw.Uniform, bw.Thompson)):
        assert bandit._pulls[4] + bandit._pulls[5] > 2 * sum(bandit._pulls[:4])


@pytest.mark.compiled
@pytest.mark.slow
def test_compiled_and_python_have_the_same_bits():
    choice = {"choose": (0, 3), "outside": 0.45}
    world = bw.environments.SemiBandit(bw.environments.Bernoulli(n_arms=5, gap=0.3, optimal=2), **choice)
    run = bw.simulate(bw.LBINFV(), world, horizon=200, seed=3, probabilities=True, checkpoints=[200])
    player = Player(bw.LBINFV(), 5, choice, horizon=200)
    policy_draws, world_draws = (bw.rng.Uniforms(3, (stream, 0)).draw(200, 1)[0] for stream in (0, 1))
    means = world.base.mean_losses()
    for t in range(200):
        arms, _ = player.act(policy_draws[t, 0])
        player.update([float(oracle.draws.expand(world_draws[t, 0], arm) < means[arm]) for arm in arms])
    assert run.probabilities[0, 0, -1].tolist() == player.p.tolist()


def test_a_policy_for_single_arms_names_those_for_sets():
    with pytest.raises(InvalidArgumentError) as refused:
        bw.TsallisINF().resolve(5, 100, bw.Problem(choose=2))
    assert refused.value.fix == "these are: CombUCB1, HybridINF, LBINFV, Thompson, Uniform"
    assert bw.TsallisINF().resolve(5, 100, PLAIN) == bw.TsallisINF().resolve(5, 100)


@pytest.mark.parametrize("eta", [0.0, 0.5, -1.0])
def test_bad_eta(eta):
    with pytest.raises(InvalidArgumentError, match=r"eta must be a finite number above 0 and below 0\.5"):
        bw.LBINFV(eta=eta)


def test_replay_gives_what_the_bandit_had(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    bandit = bw.Bandit(6, bw.LBINFV(), choose=2, horizon=200, seed=5)
    arms, losses, p = [], [], []
    for t in range(20):
        p.append(list(bandit.probabilities.values()))
        pull = bandit.pull()
        arms.append(pull.arms)
        losses.append([t % 3 / 2, t % 2])
        bandit.update(pull, losses=losses[-1])
    how = {"n_arms": 6, "horizon": 200, "choose": 2}
    trace = bw.replay(bw.LBINFV(), arms=arms, losses=losses, **how)
    assert trace.p[:-1].tolist() == p
    assert len(trace) == 20
    for bad, message in (
        ({"arms": arms[0]}, r"arms\[0\] must be a row of 2 for each round, got \d, which is no row"),
        ({"losses": [[0.0, 0.0]]}, "losses must be a row of 2 for each round, got 1 rows for 20 rounds"),
        ({"losses": [[0.0]] * 20}, r"losses\[0\] must be one for each of .*, got 1 number"),
        ({"arms": [[0]] * 20}, r"arms\[0\] must be a set that choose=2 allows"),
        ({"arms": [[0, 0]] * 20}, r"arms\[0\] must be distinct in each round"),
        ({"arms": [[0, 6]] * 20}, "arms"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            bw.replay(bw.LBINFV(), **({"arms": arms, "losses": losses} | bad), **how)


def test_replay_of_sets_of_any_size(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    bandit = bw.Bandit(2, bw.HybridINF(), choose="any", low=-1.0, high=3.0, seed=5)
    arms, losses, p = [], [], []
    for t in range(60):
        p.append(list(bandit.probabilities.values()))
        pull = bandit.pull()
        arms.append(pull.arms)
        rewards = [(t + arm) % 3 / 5 - 1.0 for arm in pull.arms]
        losses.append([(3.0 - reward) / 4.0 for reward in rewards])
        bandit.update(pull, rewards=rewards)
    assert () in arms
    how = {"n_arms": 2, "choose": "any", "outside": 0.75}
    trace = bw.replay(bw.HybridINF(), arms=arms, losses=losses, **how)
    assert trace.p[:-1].tolist() == p
    assert [tuple(row[row >= 0]) for row in trace.arms] == arms
