"""EXP3.P and SAO, which switches to it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import init, update_once
from oracle import switching as oracle
from playing import drawn, drive, histories, regret_of_arms


def floats(rows):
    return np.array([[float(value) for value in row] for row in rows])


@pytest.mark.parametrize(("horizon", "delta"), [(300, None), (300, 0.05), (10**6, 1.0), (5, 0.5)])
def test_exp3p_is_the_published_algorithm(horizon, delta):
    rounds = min(horizon, 300)
    for uniforms, losses in histories(rounds, n_arms=(2, 3, 4, 5), seed=5):
        result = drive(bw.EXP3P(delta), uniforms, losses, horizon=horizon)
        p, arms, gains = oracle.exp3p(uniforms, losses, horizon, delta or 1 / horizon)
        assert result.arms.tolist() == arms
        np.testing.assert_allclose(result.p[:-1], floats(p), rtol=1e-9)
        trace = bw.replay(
            bw.EXP3P(delta),
            n_arms=losses.shape[1],
            horizon=horizon,
            arms=arms,
            losses=losses[np.arange(rounds), arms],
        )
        np.testing.assert_array_equal(trace.p, result.p)
        expected = np.arange(rounds)[:, None] - floats(gains)
        np.testing.assert_allclose(trace.estimates[:-1], expected, rtol=1e-9, atol=1e-9)


def test_every_arm_keeps_its_share_of_exploration():
    losses = np.tile([0.0, 1.0, 1.0], (500, 1))
    result = drive(bw.EXP3P(), np.random.default_rng(0).random(500), losses, horizon=500)
    gamma = 1.05 * math.sqrt(3 * math.log(3) / 500)
    assert result.p.min() >= gamma / 3 - 1e-15
    np.testing.assert_allclose(result.p.sum(axis=1), 1.0, rtol=1e-14)


def test_exp3p_beats_uniform_play():
    means = [0.1, 0.8, 0.8, 0.8]
    result = drive(bw.EXP3P(), *drawn(means, 8000, seed=2), horizon=8000, read=False)
    assert regret_of_arms(result, means) < 0.35 * 8000 * (np.mean(means) - 0.1)
    assert regret_of_arms(result, means) < 5.15 * math.sqrt(8000 * 4 * math.log(4 * 8000))


# --- SAO ------------------------------------------------------------------------------------------------


def flipping(rounds, n_arms, at, seed):
    """The first arm is best until round ``at``, then the worst."""
    rng = np.random.default_rng(seed)
    means = np.full((rounds, n_arms), 0.95)
    means[:, 0] = 0.02
    means[at:] = 1 - means[at:]
    return rng.random(rounds), (rng.random((rounds, n_arms)) < means).astype(float)


def compare(uniforms, losses, log_beta):
    """Run SAO and its oracle side by side; what the oracle saw. log β is far below the theory's."""
    rounds = len(losses)
    result = drive(bw.SAO(), uniforms, losses, horizon=rounds, log_beta=log_beta)
    p, arms, stopped, switch = oracle.sao(uniforms, losses, log_beta, rounds, 1 / rounds)
    assert result.arms.tolist() == arms
    np.testing.assert_allclose(result.p[:-1], floats(p), rtol=1e-9)
    first = rounds if switch is None else switch[0]
    assert result.memos.tolist() == [0] * first + [1] * (rounds - first)
    return stopped, switch


def test_sao_deactivates_arms_as_published():
    for n_arms, log_beta in [(2, 0.6), (3, 0.5), (4, 0.4)]:
        uniforms, losses = flipping(500, n_arms, 500, seed=n_arms)
        stopped, switch = compare(uniforms, losses, log_beta)
        assert sorted(stopped) == list(range(1, n_arms))
        assert switch is None


def widening(rounds, at, seed):
    """Two arms with constant losses, whose gap grows from 0.4 to 1 in round ``at``."""
    losses = np.tile([0.0, 0.4], (rounds, 1))
    losses[at:, 1] = 1.0
    return np.random.default_rng(seed).random(rounds), losses


@pytest.mark.parametrize(
    ("data", "log_beta", "reason"),
    [
        (widening(500, 200, seed=1), 0.1, "gap grew"),
        (widening(500, 200, seed=6), 0.1, "gap grew"),
        (widening(500, 200, seed=0), 0.1, "means differ"),
        (flipping(400, 2, 200, seed=4), 0.15, "means differ"),
        (flipping(400, 2, 200, seed=1), 0.15, "gap shrank"),
        (flipping(500, 3, 330, seed=0), 0.4, "gap shrank"),
    ],
)
def test_sao_switches_for_each_of_the_published_reasons(data, log_beta, reason):
    _, switch = compare(*data, log_beta)
    assert switch[1] == reason
    assert switch[0] < len(data[0])


def test_sao_on_random_losses_is_the_published_algorithm():
    for uniforms, losses in histories(200, n_arms=(2, 3, 5), seed=6):
        for log_beta in (0.02, 0.3):
            compare(uniforms, losses, log_beta)


def test_sao_with_its_own_constants_is_uniform_at_first_as_published():
    for uniforms, losses in histories(200, seed=7):
        result = drive(bw.SAO(), uniforms, losses, horizon=200)
        np.testing.assert_allclose(result.p, 1 / losses.shape[1], rtol=1e-14)


@pytest.mark.compiled
def test_sao_finds_the_best_arm_when_its_radius_allows_and_beats_uniform_play():
    rounds = 60_000
    losses = np.zeros((rounds, 2))
    losses[:, 1] = 1.0
    result = drive(bw.SAO(), np.random.default_rng(3).random(rounds), losses, horizon=rounds, read=False)
    x = 2 * 4 * math.log(rounds)  # K·log β
    earliest = next(t for t in range(1, rounds) if 6 * math.sqrt(4 * x / t + 5 * (x / t) ** 2) < 1.1)
    assert earliest < result.state.stopped[1] < 2 * earliest
    assert result.memos.max() == 0
    assert regret_of_arms(result, [0.0, 1.0]) < 0.75 * rounds / 2


def test_log_beta():
    assert bw.SAO().resolve(3, 1000).log_beta == pytest.approx(math.log(1000**4))
    assert bw.SAO(0.1).resolve(3, 1000).log_beta == pytest.approx(math.log(10 * 3 * 1000**3 / 0.1))


def test_feedback_from_before_the_switch_is_not_used_after_it():
    uniforms, losses = next(histories(200, n_arms=(3,), seed=6))
    result = drive(bw.SAO(), uniforms, losses, horizon=200, log_beta=0.02)
    assert result.memos[-1] == 1
    before = result.state.exp3p.gains.copy()
    update_once(result.params, result.state, 0, 1.0, 0.3, 0)
    assert result.state.exp3p.gains.tolist() == before.tolist()
    update_once(result.params, result.state, 0, 1.0, 0.3, 1)
    assert result.state.exp3p.gains.tolist() != before.tolist()


def test_saos_estimates_can_be_read_in_both_phases():
    losses = np.random.default_rng(6).random((3, 1))
    trace = bw.replay(bw.SAO(), n_arms=3, horizon=200, arms=[0, 1, 2], losses=losses[:, 0])
    assert np.isnan(trace.rates).all()
    np.testing.assert_allclose(trace.estimates[1], [1 - 3 * (1 - losses[0, 0]), 1, 1])


# --- both -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bw.EXP3P, bw.SAO])
def test_one_arm(kind):
    result = drive(kind(), np.full(6, 0.5), np.full((6, 1), 0.4), horizon=6)
    assert result.arms.tolist() == [0] * 6
    np.testing.assert_allclose(result.p, 1.0, rtol=1e-15)


@pytest.mark.parametrize("kind", [bw.EXP3P, bw.SAO])
def test_bad_input(kind):
    with pytest.raises(
        InvalidArgumentError, match=rf"horizon must be given for {kind.__name__}, .*TsallisINF\(\)"
    ):
        bw.Bandit(3, kind())
    for delta in (0.0, 1.5, "small"):
        with pytest.raises(
            InvalidArgumentError, match="delta must be a finite number above 0 and at most 1, got"
        ):
            kind(delta)


def test_states_are_plain_arrays():
    state = init(bw.SAO().resolve(3, 100))
    assert all(isinstance(part, np.ndarray) for part in (*state[:-1], *state.exp3p))
