"""Lower bounds against integrals in 30 digits, a search over laws, and what is known in closed form."""

from __future__ import annotations

import json
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import optimize

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.theory.bounds.lower import minimax_regret

E = bw.environments
mp.mp.dps = 30


def divergence(p, q):
    """KL of two densities on [0, 1]."""
    return mp.quad(lambda x: p(x) * mp.log(p(x) / q(x)), [0, 0.25, 0.5, 0.75, 1])


def beta_density(a, b):
    constant = mp.beta(a, b)
    return lambda x: x ** (mp.mpf(a) - 1) * (1 - x) ** (mp.mpf(b) - 1) / constant


def normal_density(location, scale):
    mass = mp.ncdf((1 - mp.mpf(location)) / scale) - mp.ncdf(-mp.mpf(location) / scale)
    return lambda x: mp.npdf(x, location, scale) / mass


@pytest.mark.parametrize("means", [[0.3, 0.5], [0.5, 0.500001], [0.01, 0.99], [1e-9, 0.5], [0.25, 1.0]])
def test_bernoulli_is_kl(means):
    best, mean = map(mp.mpf, means)
    exact = mean * mp.log(mean / best) + ((1 - mean) * mp.log((1 - mean) / (1 - best)) if mean < 1 else 0)
    found = bw.theory.lower_bound(E.Bernoulli(means=means), horizon=1000)
    assert found.information == (0.0, pytest.approx(float(exact), rel=1e-8))
    assert found.constant == pytest.approx(float((mean - best) / exact), rel=1e-8)
    assert found.asymptotic == pytest.approx(found.constant * math.log(1000))


def test_an_arm_that_never_loses_is_found_at_once():
    found = bw.theory.lower_bound(E.Bernoulli(means=[0.0, 0.5]), horizon=100)
    assert (found.information, found.constant) == ((0.0, math.inf), 0.0)
    assert math.isnan(found.within(3.0))


@pytest.mark.parametrize(("means", "c"), [([0.3, 0.5], 10.0), ([0.2, 0.21, 0.7], 30.0)])
def test_beta_losses(means, c):
    laws = [beta_density(c * m, c * (1 - m)) for m in means]
    exact = [float(divergence(law, laws[0])) for law in laws]
    found = bw.theory.lower_bound(E.Beta(means=means, concentration=c), horizon=10)
    np.testing.assert_allclose(found.information, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("locations", "scale"), [([0.2, 0.5], 0.2), ([0.0, 1.0, 0.4], 1.0)])
def test_truncated_normal_losses(locations, scale):
    laws = [normal_density(at, scale) for at in locations]
    exact = [float(divergence(law, laws[0])) for law in laws]
    found = bw.theory.lower_bound(E.TruncatedNormal(locations=locations, scale=scale), horizon=10)
    np.testing.assert_allclose(found.information, exact, rtol=1e-10, atol=1e-14)


def closest(values, p, best):
    """inf KL(p, q) over laws q on the values with mean at most ``best``, by a general optimizer."""
    values, p = np.array(values), np.array(p)

    def distance(q):
        return float(
            np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / np.maximum(q, 1e-300)), 0.0))
        )

    mass = {"type": "eq", "fun": lambda q: q.sum() - 1.0}
    mean = {"type": "ineq", "fun": lambda q: best - q @ values}
    start = np.full(values.size, 1.0 / values.size)
    bounds = [(1e-9, 1.0)] * values.size
    options = {"ftol": 1e-14, "maxiter": 1000}
    return optimize.minimize(distance, start, bounds=bounds, constraints=[mass, mean], options=options).fun


@pytest.mark.parametrize(
    "rows",
    [
        [[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]],
        [[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]],  # the second never shows the smallest value
        [[0.3, 0.6, 0.1], [0.3, 0.5, 0.2]],
    ],
)
def test_discrete_losses(rows):
    values = [0.0, 0.4, 1.0]
    world = E.Discrete(values=values, probabilities=rows)
    found = bw.theory.lower_bound(world, horizon=10).information
    assert found[0] == 0.0
    assert found[1] == pytest.approx(closest(values, rows[1], world.mean_losses()[0]), rel=1e-5)


def test_discrete_losses_0_and_1_are_bernoulli():
    world = E.Discrete(values=[0.0, 1.0], probabilities=[[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    same = E.Bernoulli(means=[0.1, 0.5, 0.8])
    np.testing.assert_allclose(bw.theory.information(world), bw.theory.information(same), rtol=1e-12)
    never = E.Discrete(values=[0.2, 1.0], probabilities=[[1.0, 0.0], [0.5, 0.5]])
    assert bw.theory.information(never)[1] == math.inf  # nothing has a smaller mean than the smallest value


@pytest.mark.parametrize("n_arms", [2, 10, 1000])
@pytest.mark.parametrize("horizon", [1, 7, 100, 10**6, 10**12])
def test_the_minimax_bound(n_arms, horizon):
    found = minimax_regret(n_arms, horizon)
    product = math.sqrt(n_arms * horizon)
    assert min(product, horizon) / 20 <= found <= (1 - 1 / n_arms) ** 2 / 4 * product

    def regret(epsilon):  # Theorem A.2 of Auer et al., in 30 digits
        told = -mp.mpf(horizon) / n_arms * mp.log(1 - 4 * epsilon**2)
        return epsilon * (horizon - mp.mpf(horizon) / n_arms - mp.mpf(horizon) / 2 * mp.sqrt(told))

    grid = [mp.mpf(k) / 300 * min(0.5, 2 * math.sqrt(n_arms / horizon)) for k in range(300)]
    best = float(max(map(regret, grid)))
    assert found == pytest.approx(best, rel=3e-4)
    assert found >= best * (1 - 1e-12)


def test_one_arm_and_worlds_without_a_law():
    assert minimax_regret(1, 1000) == 0.0
    for world in (E.Switching(n_arms=3, gap=0.2), E.Minimax(n_arms=3)):
        found = bw.theory.lower_bound(world, horizon=100)
        assert found.information is None
        assert math.isnan(found.asymptotic)
        assert "long run" not in found.table()
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["constant"] is None
        with pytest.raises(InvalidArgumentError, match="environment must be one whose losses are iid"):
            bw.theory.lower_bound_curve(world, rounds=[10])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bw.theory.lower_bound([0.1, 0.2], horizon=10),
            r"environment must be an environment such as",
        ),
        (lambda: bw.theory.lower_bound(E.Minimax(n_arms=2), horizon=0), "horizon must be at least 1, got 0"),
        (
            lambda: bw.theory.lower_bound_curve(E.Bernoulli(n_arms=2, gap=0.1), rounds=[]),
            "at least one round",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidArgumentError, match=message):
        call()


def test_kl_ucb_by_hand():
    """Theorem 10.6 of Lattimore and Szepesvári in plain loops; no margins are better than those it takes."""
    means, horizon = [0.3, 0.5, 0.7], 10_000
    found = bw.theory.bound(bw.KLUCB(c=3), n_arms=3, horizon=horizon, means=means).self_bounding
    level = mp.log(horizon) + 3 * mp.log(mp.log(horizon))
    total = mp.mpf(0)
    for mean in means[1:]:
        sums = []
        for i in range(1, 40):
            for j in range(1, 40 - i):
                e, d = i * (mean - 0.3) / 40, j * (mean - 0.3) / 40
                p, q = mp.mpf(mean - e), mp.mpf(0.3 + d)
                kl = p * mp.log(p / q) + (1 - p) * mp.log((1 - p) / (1 - q))
                sums.append(level / kl + 1 / (2 * mp.mpf(e) ** 2) + 2 / mp.mpf(d) ** 2 + 3)
        total += (mean - 0.3) * min(sums)
    assert found.explicit
    assert found.value == pytest.approx(float(total), rel=1e-9)
    low = bw.theory.lower_bound(E.Bernoulli(means=means), horizon=horizon)
    assert found["gaps"].value > low.asymptotic


def test_thompson_has_the_slope_of_the_lower_bound():
    means = [0.3, 0.5, 0.7]
    found = bw.theory.bound(bw.Thompson(), n_arms=3, horizon=10_000, means=means).self_bounding
    low = bw.theory.lower_bound(E.Bernoulli(means=means), horizon=10_000)
    assert not found.explicit
    assert found["gaps"].value == pytest.approx(low.asymptotic, rel=1e-12)


def test_means_in_place_of_gaps():
    by_means = bw.theory.bound(bw.UCB1(), n_arms=2, horizon=100, means=[0.5, 0.25])
    assert by_means.all == bw.theory.bound(bw.UCB1(), n_arms=2, horizon=100, gaps=[0.25, 0.0]).all
    with pytest.raises(InvalidArgumentError, match="means must be given without gaps"):
        bw.theory.bound(bw.UCB1(), n_arms=2, horizon=100, means=[0.5, 0.25], gaps=[0.25, 0.0])
    with pytest.raises(InvalidArgumentError, match=r"means\[1\] must be finite and at least 0 and at most 1"):
        bw.theory.bound(bw.UCB1(), n_arms=2, horizon=100, means=[0.5, 1.25])
    with pytest.raises(InvalidArgumentError, match="KLUCB has one with c=3"):
        bw.theory.bound(bw.KLUCB(), n_arms=2, horizon=100, means=[0.5, 0.25])
    with pytest.raises(InvalidArgumentError, match="for KLUCB and Thompson means"):
        bw.theory.bound(bw.Thompson(), n_arms=2, horizon=100, gaps=[0.25, 0.0])
