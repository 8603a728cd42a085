"""Linear bandits: against a transcription with matrices on the same uniforms, 50 digits, and brute force."""

from __future__ import annotations

import json
import math
import pickle

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, OutOfRangeError
from bothworlds.experiments.spec import parse
from bothworlds.policies.base import init, learn, pull_once, read_distribution, step, update_once
from bothworlds.policies.linear.design import PRECISION, g_optimal_design
from bothworlds.policies.linear.model import factorize, solve_factorized
from oracle import linear as oracle
from playing import compare, interpret


@pytest.fixture(autouse=True)
def _as_python(monkeypatch):
    interpret(monkeypatch, pull_once, update_once, read_distribution)


def directions(n_arms, d, seed=0):
    """Features on a sphere."""
    features = np.random.default_rng(seed).normal(size=(n_arms, d))
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def linear_losses(features, rounds, seed=1):
    """Losses 0 or 1, whose means are linear in the features, in a direction that turns."""
    rng = np.random.default_rng(seed)
    thetas = rng.normal(size=features.shape[1]) + np.linspace(0.0, 1.0, rounds)[:, None]
    thetas /= np.linalg.norm(thetas, axis=1, keepdims=True)
    means = 0.5 + 0.4 * thetas @ features.T
    return (rng.random(means.shape) < means).astype(float)


# --- the design -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_arms", "d"), [(4, 4), (6, 2), (30, 5), (300, 3), (5, 1)])
def test_the_certificate_is_what_it_says(n_arms, d):
    features = np.random.default_rng(n_arms).normal(size=(n_arms, d))
    design = g_optimal_design(features)
    assert design.p.min() >= 0.0
    assert design.p.sum() == pytest.approx(1.0, abs=1e-12)
    assert design.certificate == pytest.approx(max(oracle.variances(features, design.p)) / d, rel=1e-9)
    assert 1.0 - 1e-9 <= design.certificate <= PRECISION
    assert design.steps <= math.log(n_arms / d) / math.log(PRECISION) + 1


def test_the_design_is_within_its_certificate_of_the_best():
    """That of another algorithm, on log det by its gradient; no design has less than d."""
    features = np.random.default_rng(3).normal(size=(7, 3))

    def cost(logits):
        p = np.exp(logits - logits.max())
        p /= p.sum()
        return -np.linalg.slogdet(oracle.information(features, p))[1]

    best = minimize(cost, np.zeros(7), tol=1e-12)
    p = np.exp(best.x - best.x.max())
    assert max(oracle.variances(features, p / p.sum())) == pytest.approx(3.0, rel=1e-3)
    design = g_optimal_design(features)
    assert -np.linalg.slogdet(oracle.information(features, design.p))[1] <= best.fun + 3 * math.log(PRECISION)


def test_the_average_is_a_design_where_no_step_was(monkeypatch):
    """As proved: after the last step, whatever it is."""
    features = directions(40, 3, seed=8)
    module = g_optimal_design.__globals__
    for precision in (1.5, 1.2, 1.02):
        monkeypatch.setitem(module, "PRECISION", precision)
        most = math.ceil(math.log(40 / 3) / math.log(precision))
        p, total = np.full(40, 1 / 40), np.zeros(40)
        for _ in range(most):
            total += p
            p = p * oracle.variances(features, p) / 3
        assert max(oracle.variances(features, total / most)) <= 3 * precision
        assert g_optimal_design(features).certificate <= precision


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1.0, 2.0], [2.0, 4.0]], "features must be of full rank, 2, got a table of rank 1; leave out 1"),
        ([1.0, 2.0], r"got shape \(2,\); write one feature as \[\[x\], \[y\], …\]"),
        ([[1.0], [2.0, 3.0]], "a row of features for each arm, .*; all rows must have the same length"),
        ([[1.0], [math.nan]], r"features\[1\]\[0\] must be finite, got nan"),
        ([], r"got shape \(0,\)"),
    ],
)
def test_features_that_are_none(features, message):
    with pytest.raises((InvalidArgumentError, OutOfRangeError), match=message):
        g_optimal_design(features)


# --- the policies -----------------------------------------------------------------------------------------


CASES = {
    "light": lambda x: (bw.LinearSPM(x), lambda p: oracle.LinearSPM(x, p.p, p.certificate, light=True)),
    "paper": lambda x: (
        bw.LinearSPM(x, constants="paper"),
        lambda p: oracle.LinearSPM(x, p.p, p.certificate, light=False),
    ),
    "exp2": lambda x: (bw.EXP2(x, rate=0.7), lambda p: oracle.EXP2(x, p.p, p.certificate, 0.7)),
}


@pytest.mark.parametrize("kind", CASES)
def test_round_by_round(kind):
    features = directions(7, 3)
    policy, transcription = CASES[kind](features)
    losses = linear_losses(features, 60)
    compare(policy, transcription(policy.design), losses, rtol=1e-7)


@pytest.mark.parametrize("kind", CASES)
def test_estimates_are_unbiased(kind):
    """Over the arm that is drawn, exactly, for every arm; with the weight of an earlier draw, too."""
    features = directions(6, 2, seed=4)
    policy, _ = CASES[kind](features)
    params = policy.resolve(6, None)
    state = init(params)
    for arm, loss in zip([0, 3, 3, 5, 1], [1.0, 0.0, 0.2, 1.0, 0.6], strict=True):
        learn(params, state, arm, loss, state.p[arm], 0.0)
        step(params, state)
    losses = 0.4 + features @ [0.3, -0.1]
    for weights in (state.p.copy(), np.array([0.1, 0.3, 0.05, 0.25, 0.2, 0.1])):
        mean = np.zeros(6)
        for arm in range(6):
            state.latest[:] = 0.0
            learn(params, state, arm, losses[arm], weights[arm], 0.0)
            mean += weights[arm] * (state.latest + 0.5)
        np.testing.assert_allclose(mean, losses, rtol=1e-12)


def test_estimates_in_a_trace_are_those_of_the_losses():
    """A half for every round is added again: the mean of what a trace tells is the sum of the losses."""
    features = directions(4, 2)
    trace = bw.replay(bw.EXP2(features), n_arms=4, arms=[2], losses=[1.0])
    design, p = bw.EXP2(features).design, trace.p[0]
    inverse = np.linalg.inv(oracle.information(np.column_stack([np.ones(4), features]), p))
    phi = np.column_stack([np.ones(4), features])
    np.testing.assert_allclose(trace.estimates[1], 0.5 + 0.5 * phi @ inverse @ phi[2], rtol=1e-12)
    assert design.certificate >= 1.0


def test_only_the_span_matters():
    """Other units, a constant, a feature twice: the same draws."""
    features = directions(6, 2, seed=2)
    losses = linear_losses(features, 50)
    same = [
        np.column_stack([1e6 * features[:, 0] - 7.0, 1e-6 * features[:, 1], features.sum(axis=1)]),
        np.column_stack([np.ones(6), features, np.full(6, 3.0)]),
    ]
    for changed in same:
        assert bw.LinearSPM(changed).dimension == 3
        reference = bw.LinearSPM(features)
        uniforms = np.random.default_rng(0).random(50)
        played = []
        for policy in (reference, bw.LinearSPM(changed)):
            params = policy.resolve(6, None)
            state = init(params)
            for t in range(50):
                _, shown, _, weight, memo = pull_once(params, state, uniforms[t : t + 1], 0)
                assert update_once(params, state, shown, losses[t, shown], weight, memo) == 0
            played.append(state.p.copy())
        np.testing.assert_allclose(played[1], played[0], rtol=1e-5)


def test_features_of_single_arms_are_the_usual_bandit():
    """With a feature for each arm, estimates are (ℓ − ½)/p for the arm that was played, and 0 for others."""
    params = bw.LinearSPM(np.eye(5)).resolve(5, None)
    state = init(params)
    np.testing.assert_allclose(state.p, 0.2, rtol=1e-12)
    learn(params, state, 3, 1.0, 0.2, 0.0)
    np.testing.assert_allclose(state.latest, [0.0, 0.0, 0.0, 2.5, 0.0], atol=1e-12)
    assert bw.LinearSPM(np.eye(5)).dimension == 5


def test_one_step_in_fifty_digits():
    """Design, matrix, estimate, rate, minimizer and mixture of the second round."""
    features, arm, loss = [[0.1], [0.4], [0.5], [0.9]], 2, 0.8
    policy = bw.LinearSPM(features, constants="paper")
    params = policy.resolve(4, None)
    state = init(params)
    learn(params, state, arm, loss, state.p[arm], 0.0)
    assert step(params, state) == 0
    with mpmath.workdps(50):
        mp = mpmath.mpf
        p0, c = [mp(float(x)) for x in policy.design.p], mp(policy.design.certificate)
        phi = [mpmath.matrix([1, mp(x[0])]) for x in features]
        alpha = 1 - 1 / (4 * mpmath.log(4))
        beta = 8 * c * 2 / (1 - alpha)
        fixed = 32 * 2 / ((1 - alpha) ** 2 * beta)

        def star(q):
            return min(max(q), 1 - max(q))

        def z(q):
            return 2 * star(q) ** (1 - alpha) / (1 - alpha)

        def mixed(q, beta):
            gamma = 4 * c * z(q) / beta
            return [(1 - gamma) * x + gamma * y for x, y in zip(q, p0, strict=True)]

        q = [mp(1) / 4] * 4
        p = mixed(q, beta)
        matrix = sum((p[i] * phi[i] * phi[i].T for i in range(4)), mpmath.zeros(2))
        direction = mpmath.inverse(matrix) * phi[arm]
        sums = [(2 * mp(loss) - 1) * (phi[i].T * direction)[0] for i in range(4)]
        h = sum(x**alpha - x for x in q) / alpha
        beta += z(q) / (beta * h)

        def share(loss, multiplier):
            y, x = loss - multiplier, mp(1) / 4
            for _ in range(12):
                x -= (beta * x ** (alpha - 1) + fixed * x**-alpha - y) / (
                    beta * (alpha - 1) * x ** (alpha - 2) - fixed * alpha * x ** (-alpha - 1)
                )
            return x

        start = -(beta * mp(4) ** (1 - alpha) + fixed * mp(4) ** alpha)
        root = mpmath.findroot(lambda m: sum(share(x, m) for x in sums) - 1, (start, start + 1e-3))
        expected = mixed([share(x, root) for x in sums], beta)
    np.testing.assert_allclose(state.p, [float(x) for x in expected], rtol=1e-13)


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_cholesky(d):
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d))
    matrix = root @ root.T + 1e-3 * np.eye(d)
    packed = matrix[np.tril_indices(d)]
    values = rng.normal(size=d)
    expected = np.linalg.solve(matrix, values)
    assert factorize(packed, d)
    np.testing.assert_allclose(packed, np.linalg.cholesky(matrix)[np.tril_indices(d)], rtol=1e-10)
    solve_factorized(packed, values)
    np.testing.assert_allclose(values, expected, rtol=1e-8)
    assert not factorize(-matrix[np.tril_indices(d)], d)


def test_all_but_one_arm_vanish_and_the_matrix_stays_positive():
    """Thousands of rounds of certain losses: γ keeps S(p) invertible."""
    params = bw.LinearSPM(np.eye(3)).resolve(3, None)
    state = init(params)
    uniforms = np.random.default_rng(0).random((1500, 1))
    for uniform in uniforms:
        arm, shown, _, weight, memo = pull_once(params, state, uniform, 0)
        assert update_once(params, state, shown, float(arm != 1), weight, memo) == 0
    assert state.p[1] > 0.95
    assert np.isfinite(state.factor).all()


# --- at the public face -----------------------------------------------------------------------------------


def test_late_feedback_saving_and_files(tmp_path, monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    features = directions(5, 2)
    bandit = bw.Bandit(list("abcde"), bw.LinearSPM(features), seed=3)
    late = [bandit.pull() for _ in range(4)]
    for pull in reversed(late):
        bandit.update(pull, reward=0.7)
    bandit.save(tmp_path / "bandit.json")
    again = bw.Bandit.load(tmp_path / "bandit.json")
    assert again.policy == bandit.policy
    assert again.probabilities == bandit.probabilities
    assert again.pull().arm == bandit.pull().arm
    assert pickle.loads(pickle.dumps(bandit.policy)) == bandit.policy
    table = json.loads(json.dumps(bw.policies.to_dict(bandit.policy)))
    assert bw.policies.from_dict(table) == bandit.policy


def test_in_experiment_files():
    """A table of features is one value, a list of constants a sweep."""
    spec = parse(
        """
        horizon = 10
        replications = 2
        [[policy]]
        kind = "linear-spm"
        features = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
        constants = ["light", "paper"]
        [[environment]]
        kind = "bernoulli"
        means = [0.2, 0.4, 0.6]
        """
    )
    assert [entry.build().constants for entry in spec.policies] == ["light", "paper"]


def test_printing():
    assert repr(bw.EXP2([[0.0], [1.0]])) == "EXP2(((0.0,), (1.0,)))"
    assert (
        repr(bw.LinearSPM(directions(50, 2), constants="paper")) == "LinearSPM(<50 × 2>, constants='paper')"
    )


def test_what_is_refused():
    policy = bw.LinearSPM([[0.0], [1.0]])
    with pytest.raises(
        InvalidArgumentError, match="a row for each of the 3 arms, got 2 rows; rows are in the"
    ):
        bw.Bandit(3, policy)
    with pytest.raises(InvalidArgumentError, match="constants must be one of 'light', 'paper'"):
        bw.LinearSPM([[0.0], [1.0]], constants="heavy")
    with pytest.raises(InvalidArgumentError, match="rate must be a finite number above 0"):
        bw.EXP2([[0.0], [1.0]], rate=0.0)
    with pytest.raises(InvalidArgumentError, match="not for graphs"):
        bw.Bandit(2, policy, shows="all")
