"""KL-UCB: its bound against bisection in 40 digits, its arms against the published algorithm."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import bothworlds as bw
from bothworlds._jit import entry
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.shared import kl
from oracle import stochastic as oracle
from playing import drawn, drive, histories, regret_of_arms


@entry
def lower(p, level):
    return kl.kl_lower(p, level)


LEVELS = [1e-14, 1e-9, 1e-4, 0.01, 0.3, 1.0, 5.0, 30.0, 500.0]


@pytest.mark.parametrize(
    "p",
    [
        1e-12,
        0.2,
        1.0,
        *(pytest.param(p, marks=pytest.mark.slow) for p in [1e-5, 0.003, 0.5, 0.77, 0.999, 1 - 1e-12]),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_the_bound_agrees_with_bisection(p, level):
    with mp.workdps(60):
        low, high = mp.mpf(0), mp.mpf(p)
        for _ in range(4000):  # by the exponent: the bound may be tiny
            middle = (low + high) / 2 if low > high / 2 else mp.sqrt(max(low, mp.mpf(10) ** -330) * high)
            if oracle.kl(mp.mpf(p), middle) > level:
                low = middle
            else:
                high = middle
            if high - low <= mp.mpf(10) ** -40 * high:
                break
        got = lower(p, level)
        if high < 1e-303:
            assert got <= 1e-303
        else:
            # kl has slope (p−q)/(q(1−q)); a double p − q is only known to an ulp of p
            assert abs(got - high) <= 2e-13 * high + 2e-16 * p


@pytest.mark.parametrize("level", LEVELS)
def test_certain_means(level):
    assert lower(0.0, level) == 0.0
    assert lower(1.0, level) == pytest.approx(np.exp(-level), rel=1e-14)
    assert lower(0.4, 0.0) == 0.4


@pytest.mark.parametrize("reward", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("level", [1e-4, 0.3, 1.0])
def test_the_bound_on_losses_is_the_published_bound_on_rewards(reward, level):
    with mp.workdps(40):
        upper = oracle.kl_upper(reward, level)
        assert float(1 - upper) == pytest.approx(lower(1 - reward, level), rel=1e-13)


@pytest.mark.parametrize("c", [0.0, 3.0])
def test_arms_are_those_of_the_published_algorithm(c):
    for uniforms, losses in histories(300, seed=1):
        result = drive(bw.KLUCB(c), uniforms, losses)
        assert result.arms.tolist() == oracle.kl_ucb(losses, c)
        assert (result.p[np.arange(300), result.arms] == 1.0).all()
        assert (result.p.sum(axis=1) == 1.0).all()


def test_it_beats_uniform_play_and_ucb1():
    means = [0.1, 0.2, 0.3, 0.3]
    data = drawn(means, 5000, seed=3)
    mine = regret_of_arms(drive(bw.KLUCB(), *data, read=False), means)
    assert mine < 0.1 * 5000 * (np.mean(means) - 0.1)
    assert mine < 0.5 * regret_of_arms(drive(bw.UCB1(), *data, read=False), means)


def test_one_arm():
    result = drive(bw.KLUCB(), np.full(5, 0.5), np.ones((5, 1)))
    assert result.arms.tolist() == [0] * 5


@pytest.mark.parametrize("c", [-1.0, float("nan"), "three", True])
def test_bad_c(c):
    with pytest.raises(InvalidArgumentError, match="c must be a finite number at least 0, got"):
        bw.KLUCB(c)
