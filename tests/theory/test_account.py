"""Accounts against 60-digit arithmetic, their identities, and bad input."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

import bothworlds as bw
from accounting import interpreted  # noqa: F401
from bothworlds.errors import InvalidArgumentError
from bothworlds.theory import account, divergence
from oracle import theory as oracle
from playing import interpret

LOG, SHANNON = [(1, "log", None)], [(1, "shannon", None)]


def tsallis(beta):
    return [(1, "tsallis", beta)]


def light(regularizer, theta, alpha, barrier):
    return bw.FTRL(regularizer, log_barrier=barrier, theta=theta, alpha=alpha)


# policy, and what the oracle is told: regularizer, C, θ, α, and more
RUNS = {
    "log-barrier": (light(bw.LogBarrier(), 0.4, 0.0, 162.0), LOG, 162.0, 0.4, 0.0, {}),
    "log-barrier, C=0": (light(bw.LogBarrier(), 0.4, 0.0, 0.0), LOG, 0.0, 0.4, 0.0, {}),
    "tsallis 0.3": (light(bw.Tsallis(0.3), 1.5, 0.3, 162.0), tsallis(0.3), 162.0, 1.5, 0.3, {}),
    "tsallis 0.9": (light(bw.Tsallis(0.9), 0.5, 0.9, 1.0), tsallis(0.9), 1.0, 0.5, 0.9, {}),
    "tsallis-inf": (bw.TsallisINF(), tsallis(0.5), 0.0, 1.0, 0.5, {}),
    "shannon": (light(bw.Shannon(), 0.5, 1.0, 162.0), SHANNON, 162.0, 0.5, 1.0, {}),
    "shannon, C=0": (light(bw.Shannon(), 2.0, 1.0, 0.0), SHANNON, 0.0, 2.0, 1.0, {}),
    "hybrid": (
        light(bw.Hybrid(bw.Tsallis(0.5), bw.Shannon(), weight=0.3), 1.0, 0.5, 0.1),
        [(1, "tsallis", 0.5), (0.3, "shannon", None)],
        *(0.1, 1.0, 0.5, {}),
    ),
    "inf": (bw.INF(), tsallis(0.5), 0.0, math.sqrt(25.0), 0.5, {"fixed": True}),
    "decoupled": (
        bw.DecoupledTsallisINF(),
        tsallis(2.0 / 3.0),
        *(0.0, 4.0 ** (1.0 / 6.0), 0.5, {"explore": 2.0 / 3.0}),
    ),
}
HORIZON, OPTIMAL, N_ARMS = 50, [2, 0], 4


def history(rounds, seed=3):
    rng = np.random.default_rng(seed)
    return rng.integers(N_ARMS, size=rounds).tolist(), rng.random(rounds).tolist()


def exact(name, arms, losses, epsilon):
    _, parts, barrier, theta, alpha, more = RUNS[name]
    return oracle.account(
        parts, N_ARMS, HORIZON, barrier, theta, alpha, arms, losses, OPTIMAL, epsilon, **more
    )


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.usefixtures("interpreted")
def test_every_term_agrees_with_60_digits(name):
    arms, losses = history(6)
    losses[2] = 0.0
    mine = account(RUNS[name][0], n_arms=N_ARMS, horizon=HORIZON, arms=arms, losses=losses, optimal=OPTIMAL)
    theirs = exact(name, arms, losses, mine.epsilon)
    for term, values in mine.terms.items():
        # "optimal" and "preprocessing" are differences: exact relative to what they are differences of
        scale = np.abs(np.array(theirs["total"], float)) + np.abs(np.array(theirs["benchmark"], float))
        free = scale if term in ("optimal", "preprocessing") else 0.0
        wanted = np.array(theirs[term], float)
        assert (np.abs(values - wanted) <= 1e-11 * (np.abs(wanted) + free) + 1e-40).all(), term
    for side, values in mine.multipliers.items():
        np.testing.assert_allclose(values, np.array(theirs[side], float), rtol=1e-11, atol=1e-13)
    for points in ("q", "p", "p_bar") + (("p_tilde",) if mine.decoupled else ()):
        got = getattr(mine, points)[: len(arms)]
        np.testing.assert_allclose(got, np.array(theirs[points], float), rtol=1e-11)
    assert mine.decoupled == (name == "decoupled")
    assert (mine.p_tilde is None) != mine.decoupled


@pytest.mark.parametrize("name", ["log-barrier", "tsallis 0.3", "tsallis-inf", "shannon", "decoupled"])
@pytest.mark.usefixtures("interpreted")
def test_steps_of_1e_minus_9_are_exact(name):
    """With losses of 1e-9 in a late round nothing moves by more than 1e-8, and no digit is lost."""
    arms, losses = history(8)
    losses[4:] = [1e-9, 3e-10, 0.0, 2e-9]
    mine = account(RUNS[name][0], n_arms=N_ARMS, horizon=HORIZON, arms=arms, losses=losses, optimal=OPTIMAL)
    theirs = exact(name, arms, losses, mine.epsilon)
    for term in ("total", "benchmark", "suboptimal", "stability", "penalty", "residual", "gap"):
        np.testing.assert_allclose(
            mine.terms[term], np.array(theirs[term], float), rtol=1e-8, atol=1e-40, err_msg=term
        )


@pytest.mark.usefixtures("interpreted")
def test_fixed_rates_and_tiny_losses_move_by_1e_minus_9():
    """INF's rates do not grow, so the whole step is the loss: here p^{t+1}/p^t − 1 is of order 1e-9."""
    arms, losses = history(6)
    losses[3:] = [1e-8, 2e-9, 5e-9]
    mine = account(bw.INF(), n_arms=N_ARMS, horizon=HORIZON, arms=arms, losses=losses, optimal=OPTIMAL)
    moved = np.abs(mine.p[5] / mine.p[4] - 1.0)
    assert 1e-11 < moved.max() < 2e-8
    theirs = exact("inf", arms, losses, mine.epsilon)
    for term in ("total", "benchmark", "suboptimal", "stability", "residual"):
        np.testing.assert_allclose(
            mine.terms[term], np.array(theirs[term], float), rtol=1e-8, atol=1e-40, err_msg=term
        )


@pytest.mark.parametrize("distance", [1e-15, 1e-9, 1e-3, 0.3, 5.0])
@pytest.mark.parametrize(
    ("regularizer", "parts"),
    [
        (bw.LogBarrier(), LOG),
        (bw.Shannon(), SHANNON),
        (bw.Tsallis(0.01), tsallis(0.01)),
        (bw.Tsallis(0.5), tsallis(0.5)),
        (bw.Tsallis(0.99), tsallis(0.99)),
        (bw.regularizers.CenteredTsallis(0.3), [(1, "centered", 0.3)]),
        (bw.Hybrid(bw.LogBarrier(), bw.Tsallis(0.7), weight=2.0), [(1, "log", None), (2, "tsallis", 0.7)]),
    ],
    ids=str,
)
@pytest.mark.usefixtures("interpreted")
def test_divergences_of_nearby_points(regularizer, parts, distance):
    rng = np.random.default_rng(1)
    with oracle.mp.workdps(60):
        for _ in range(5):
            y = rng.uniform(0.01, 0.5, 3)
            x = y * (1.0 + distance * rng.uniform(-1, 1, 3)) if distance < 1 else y * distance
            early, late = rng.uniform(1, 3, (2, 3))
            numbers = [[oracle.mp.mpf(float(v)) for v in part] for part in (early, late, x, y)]
            for barrier in (0.0, 10.0):
                plain = oracle.divergence(parts, barrier, numbers[1], *numbers[1:], range(3))
                got = divergence(x, y, regularizer, rates=late, log_barrier=barrier)
                assert abs(got - plain) <= 1e-11 * plain
                skewed = oracle.divergence(parts, barrier, *numbers, range(3))
                got = divergence(x, y, regularizer, rates=late, earlier=early, log_barrier=barrier)
                assert got == pytest.approx(float(skewed), rel=1e-10)


@pytest.mark.usefixtures("interpreted")
def test_divergences_at_the_edge():
    assert divergence([0.0, 1.0], [0.5, 0.5], bw.Tsallis(0.5)) == pytest.approx(2 * math.sqrt(2) - 2)
    assert divergence([0.0, 1.0], [0.5, 0.5], bw.Shannon()) == pytest.approx(math.log(2.0))
    assert divergence([0.0, 1.0], [0.5, 0.5], bw.LogBarrier()) == math.inf
    assert divergence([0.0, 1.0], [0.5, 0.5], bw.Shannon(), log_barrier=1.0) == math.inf
    assert divergence([0.5, 0.5], [0.0, 1.0], bw.Shannon()) == math.inf
    assert divergence([0.0, 1.0], [0.0, 1.0], bw.Shannon()) == 0.0
    assert divergence(0.3, 0.3, bw.Shannon()) == 0.0
    assert divergence([[0.2, 0.8], [0.5, 0.5]], [0.5, 0.5], bw.Shannon()).shape == (2,)
    for bad in ({"x": [math.nan, 1.0]}, {"rates": -1.0}, {"y": [0.1, 0.2, 0.3]}):
        with pytest.raises(InvalidArgumentError, match=r"must"):
            divergence(**{"x": [0.2, 0.8], "y": [0.5, 0.5], "regularizer": bw.Shannon(), **bad})
    with pytest.raises(InvalidArgumentError, match="regularizer must be"):
        divergence([0.5], [0.5], "shannon")


class Game:
    """A short history that any policy can play."""

    arms = (0, 2, 1, 2, 0)
    losses = (1.0, 0.5, 0.0, 1.0, 1.0)

    def __call__(self, policy=None, **changed):
        given = {"n_arms": 3, "horizon": 20, "arms": self.arms, "losses": self.losses, "optimal": [0]}
        return account(policy or bw.TsallisINF(), **{**given, **changed})


play = Game()


@pytest.mark.usefixtures("interpreted")
def test_what_an_account_holds():
    a = play(optimal=[2, 0])
    assert a.optimal.tolist() == [0, 2]
    assert a.suboptimal.tolist() == [1]
    assert len(a) == 5
    assert repr(a) == "Account(TsallisINF(), n_arms=3, horizon=20, rounds=5, optimal=[0, 2])"
    assert a.p.shape == a.q.shape == a.rates.shape == (6, 3)
    assert a.p_bar.shape == a.estimates.shape == a.growths.shape == (5, 3)
    np.testing.assert_array_equal(a.q[:, 1], 0.0)
    np.testing.assert_allclose(a.q.sum(axis=1), 1.0, rtol=1e-12)
    assert a.epsilon == 1 / 20
    np.testing.assert_allclose(a.q_tilde.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(a.q_tilde[:, 1], a.epsilon)
    np.testing.assert_allclose(a.s1[-1], math.sqrt(a.p[:-1, 1].sum()))
    np.testing.assert_allclose(a.s2[-1], math.sqrt(a.p[:-1, 1].sum()))
    assert a.total("gap") == 0.0
    with pytest.raises(InvalidArgumentError, match="no term is called 'totl'"):
        a.total("totl")
    assert not a.p.flags.writeable
    assert not a.terms["total"].flags.writeable


@pytest.mark.usefixtures("interpreted")
def test_a_trace_is_accounted_for_as_its_history_is(monkeypatch):
    interpret(monkeypatch, importlib.import_module("bothworlds.simulation.replay")._replay)
    trace = bw.replay(bw.TsallisINF(), n_arms=3, horizon=20, arms=play.arms, losses=play.losses)
    a, b = account(trace, optimal=[0]), play()
    for term in a.terms:
        np.testing.assert_array_equal(a.terms[term], b.terms[term])
    np.testing.assert_array_equal(a.p, trace.p)
    with pytest.raises(InvalidArgumentError, match="leave out horizon"):
        account(trace, optimal=[0], horizon=20)
    shuffled = bw.Trace(
        trace.policy, 3, 20, np.roll(trace.arms, 1), trace.losses, trace.p, trace.rates, trace.estimates
    )
    with pytest.raises(InvalidArgumentError, match="was the feedback delayed"):
        account(shuffled, optimal=[0])


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"optimal": []}, "optimal must be at least one arm, got none"),
        ({"optimal": [0, 1, 2]}, "optimal must be fewer than all 3 arms, got all"),
        ({"optimal": [3]}, r"optimal\[0\] must be in 0..2, got 3"),
        ({"optimal": [-1]}, r"optimal\[0\] must be in 0..2, got -1"),
        ({"optimal": [1, 1]}, r"optimal must be distinct arms, got \[1, 1\]"),
        ({"optimal": [0.5]}, "optimal must be a one-dimensional sequence of integers"),
        ({"horizon": 4}, "horizon must be at least the 5 rounds of the history, got 4"),
        ({"arms": [], "losses": []}, "arms must be those of at least one round"),
        ({"losses": [0.0] * 4}, "losses must be a one-dimensional sequence of length 5"),
        ({"losses": [2.0] * 5}, r"losses\[0\] must be finite and at least 0 and at most 1"),
        ({"arms": None}, "arms must be given, as n_arms, arms and losses all are, or a Trace"),
        ({"epsilon": 1.0}, "epsilon must be a finite number at least 0 and below 1"),
        (
            {"policy": bw.UCB1()},
            "policy must be one that plays an FTRL minimizer.*got UCB1.*decoupled-tsallis-inf.*tsallis-inf",
        ),
        ({"policy": bw.LBINFV()}, "policy must be one that plays an FTRL minimizer"),
        ({"policy": 3}, "policy must be a policy"),
        (
            {"policy": bw.FTRL(bw.LogBarrier(), constants="light"), "horizon": None},
            "forgets everything in round 4: no decomposition holds across a restart",
        ),
        (
            {"policy": light(bw.Shannon(), 0.001, 0.5, 0.0), "arms": [0, 1, 0, 0, 1]},
            r"arms\[2\] must be possible, got 0",
        ),
    ],
)
def test_bad_input(changed, message):
    with pytest.raises(InvalidArgumentError, match=message):
        play(**changed)


@pytest.mark.usefixtures("interpreted")
def test_arms_without_probability_take_no_part():
    """Shannon entropy without a barrier would underflow: the identities hold, with finite terms."""
    policy = light(bw.Shannon(), 0.002, 0.5, 0.0)
    a = play(policy, arms=[0, 1, 1, 1], losses=[1.0, 0.0, 1.0, 0.5], optimal=[1])
    assert (a.p[1:-1, 0] < 1e-300).all()
    assert 0.0 < a.p[-1, 0] < 1e-200  # and back again
    t = a.terms
    assert all(np.isfinite(values).all() for values in t.values())
    right = t["suboptimal"] + t["optimal"] + t["residual"]
    np.testing.assert_allclose(t["total"] - t["benchmark"], right, atol=1e-11 * np.abs(t["total"]).max())


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_accounts_are_the_interpreted_ones(monkeypatch):
    from bothworlds.theory.accounting import ledger

    policy = bw.FTRL(bw.Tsallis(0.7), constants="light")
    compiled = play(policy)
    interpret(monkeypatch, ledger.keep_ledger)
    plain = play(policy)
    for term, values in compiled.terms.items():
        np.testing.assert_allclose(values, plain.terms[term], rtol=1e-12, atol=1e-13)
