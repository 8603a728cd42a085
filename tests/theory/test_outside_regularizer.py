"""A regularizer written outside the package, with the three kernels that accounts need: ψ(p) = 1/p."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from accounting import interpreted  # noqa: F401
from bothworlds.simplex.regularizers.base import potential, reach, rise, slope, spread
from bothworlds.theory import account
from oracle import theory as oracle


class InverseParameters(NamedTuple):
    pass


@dataclasses.dataclass(frozen=True)
class Inverse(bw.Regularizer):
    """ψ(p) = 1/p."""

    def parameters(self):
        return InverseParameters()


@slope.register(InverseParameters)
def _(regularizer, depth):
    h = math.exp(2.0 * depth)
    return h, 2.0 * h, 4.0 * h


@reach.register(InverseParameters)
def _(regularizer, height):
    return 0.5 * math.log(height)


@potential.register(InverseParameters)
def _(regularizer, p, height):
    return 1.0 / p


@rise.register(InverseParameters)
def _(regularizer, p, height, u):
    change = height * math.expm1(2.0 * u)
    return change, 2.0 * (height + change)


@spread.register(InverseParameters)
def _(regularizer, p, height, w):
    return 4.0 / p * math.sinh(0.5 * w) ** 2


def account_of(m, n, log_barrier, rounds=6):
    """The account of a random history with m optimal arms, the last ones, and n others."""
    random = np.random.default_rng(m + 5 * n)
    policy = bw.FTRL(Inverse(), log_barrier=log_barrier, theta=0.3, alpha=0.0)
    arms, losses = random.integers(m + n, size=rounds).tolist(), random.random(rounds).tolist()
    history = {"n_arms": m + n, "horizon": 20, "arms": arms, "losses": losses}
    return account(policy, optimal=range(n, n + m), **history)


def check(account):
    """Every term and point against 60-digit arithmetic."""
    exact = oracle.account(
        *([(1, "inverse", None)], account.n_arms, account.horizon, account.log_barrier, 0.3, 0.0),
        *(account.arms.tolist(), account.losses.tolist(), account.optimal.tolist(), account.epsilon),
    )
    scale = np.abs(np.array(exact["total"], float)) + np.abs(np.array(exact["benchmark"], float))
    for name, values in (account.terms | account.multipliers).items():
        assert (np.abs(values - np.array(exact[name], float)) <= 1e-11 * scale).all(), name
    for name in ("p", "q", "p_bar"):
        got = getattr(account, name)[: len(account)]
        np.testing.assert_allclose(got, np.array(exact[name], float), rtol=1e-11)


@pytest.mark.parametrize("log_barrier", [0.0, 0.1])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 2), (1, 4), (4, 4), (5, 3)])
@pytest.mark.usefixtures("interpreted")
def test_its_account_agrees_with_60_digits(m, n, log_barrier):
    check(account_of(m, n, log_barrier))


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("log_barrier", [0.0, 0.1])
def test_numbers_of_arms_that_do_not_fill_a_block(log_barrier):
    """Blocks are of four arms, and what fills them up takes no part."""
    for m in range(1, 6):
        for n in range(1, 6):
            a = account_of(m, n, log_barrier, rounds=12)
            t = a.terms
            left, right = t["total"] - t["benchmark"], t["suboptimal"] + t["optimal"] + t["residual"]
            np.testing.assert_allclose(left, right, atol=1e-11 * np.abs(t["total"]).max())
            np.testing.assert_allclose(t["suboptimal"], t["stability"] + t["penalty"], rtol=1e-9)
            np.testing.assert_allclose(a.p_bar.sum(axis=1), 1.0, rtol=1e-12)
