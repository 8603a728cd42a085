"""Lemmas that are not about one run: monotonicity of divergences, learning rates, unbiased estimators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.policies.base import Policy, init, pull_once, update_once, weight_of
from bothworlds.policies.ftrl.state import OFFSET, RESTARTS
from bothworlds.theory.accounting.ledger import ftrl_state_of
from bothworlds.theory.verification.lemmas import Finding, rate_sum_ratio, within

BISECTIONS = 64  # of an interval of 400: to 2e-17


@dataclass(frozen=True)
class Slopes:
    """Many random pairs F^t = (f^t)', F^{t+1} = (f^{t+1})' on (0, 1], with their primitives.

    F(z) = a·log z − b·z^{−s} + c·z + e·exp(k z) and F^{t+1} = F^t − g with g(z) = u·z^{−r} + w,
    coefficients ≥ 0.
    """

    a: FloatArray
    b: FloatArray
    s: FloatArray
    c: FloatArray
    e: FloatArray
    k: FloatArray
    u: FloatArray
    r: FloatArray
    w: FloatArray

    def slope(self, z: FloatArray, *, later: bool) -> FloatArray:
        """F(z), the derivative of f; ``later``: of the function after the round."""
        value = self.a * np.log(z) - self.b * z**-self.s + self.c * z + self.e * np.exp(self.k * z)
        return value - self.u * z**-self.r - self.w if later else value

    def value(self, z: FloatArray, *, later: bool) -> FloatArray:
        """f(z), of which the divergences are made; ``later``: the function after the round."""
        value = self.a * (z * np.log(z) - z) - self.b * z ** (1.0 - self.s) / (1.0 - self.s)
        value = value + self.c * z**2 / 2.0 + self.e / self.k * np.exp(self.k * z)
        return value - self.u * z ** (1.0 - self.r) / (1.0 - self.r) - self.w * z if later else value

    def divergence(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """D^{t,t+1}(x, y), and the size of what it is a difference of."""
        parts = self.value(x, later=False), -self.value(y, later=True), -(x - y) * self.slope(y, later=True)
        return sum(parts), sum(np.abs(part) for part in parts)  # type: ignore[return-value]


def random_slopes(random: Any, size: int, *, concave: bool, ordered: bool) -> Slopes:
    """Random functions that satisfy the two conditions of the theorem, or are made to violate one of them.

    (i) F^t is concave: a·log z, −z^{−s} and a line are; the exponential is not. (ii) F^{t+1} ≤ F^t: g ≥ 0.
    """
    a, b, c, e, u, w = (random.random((6, size)) < 0.6) * random.exponential(1.0, (6, size))
    powers = random.uniform(0.05, 0.95, (2, size))
    zero = np.zeros(size)
    return Slopes(
        a=a + 0.1,  # so that F runs from −∞: every y exists
        b=b,
        s=powers[0],
        c=c,
        e=zero if concave else 3.0 * e + 1.0,
        k=random.uniform(2.0, 6.0, size),
        u=u if ordered else zero,
        r=powers[1],
        w=w if ordered else -w - 0.5,
    )


def monotonicity(size: int = 20_000, seed: int = 0, *, concave: bool = True, ordered: bool = True) -> Finding:
    """D^{t,t+1}(x, y) ≤ D^{t,t+1}(m, n) if x ≤ m and F^{t+1}(y) − F^t(x) = F^{t+1}(n) − F^t(m).

    Tried on random functions and points.
    ``concave=False`` or ``ordered=False`` drops one condition, and the inequality fails.
    """
    random = np.random.default_rng(seed)
    f = random_slopes(random, size, concave=concave, ordered=ordered)
    m, n = random.uniform(1e-3, 1.0, (2, size))
    x = m * random.uniform(1e-3, 1.0, size)
    target = f.slope(x, later=False) + f.slope(n, later=True) - f.slope(m, later=False)
    low, high = np.full(size, -400.0), np.log(n)  # of log y: y ≤ n because F^t(x) ≤ F^t(m)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        above = f.slope(np.exp(middle), later=True) > target
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    y = np.exp(0.5 * (low + high))
    found = low > -399.0
    (left, left_size), (right, right_size) = f.divergence(x, y), f.divergence(m, n)
    slack = ((right - left) / (left_size + right_size))[found]
    return Finding(float(slack.min()), int(slack.size), float(slack.min()))


def conditions_needed(size: int = 20_000, seed: int = 0) -> Finding:
    """Each condition of the monotonicity theorem is needed: without it there is a counterexample.

    The margin is the violation found without condition (i) or without (ii), whichever is smaller.
    """
    without = [
        monotonicity(size, seed, concave=False).margin,
        monotonicity(size, seed, ordered=False).margin,
    ]
    return Finding(-max(without), 2 * size, -max(without))


def hostile_sequences(random: Any, rounds: int, count: int) -> FloatArray:
    """Sequences in (0, 1], one per column: flat, rising, falling, bursts, noise over six decades."""
    t = np.arange(1, rounds + 1)[:, None] / rounds
    power = random.uniform(-3.0, 3.0, count)
    smooth = np.clip(t**power, 1e-6, 1.0)
    bursts = np.where(random.random((rounds, count)) < random.uniform(0.001, 0.5, count), 1.0, 1e-6)
    noise = 10.0 ** random.uniform(-6.0, 0.0, (rounds, count))
    flat = np.broadcast_to(10.0 ** random.uniform(-6.0, 0.0, count), (rounds, count))
    return np.concatenate([smooth, bursts, noise, flat], axis=1)


def learning_rate_sequences(rounds: int = 1000, seed: int = 0) -> Finding:
    """The learning-rate lemma, weights included, on sequences made to be hard; the constant is 2."""
    random = np.random.default_rng(seed)
    x = hostile_sequences(random, rounds, 20)
    weights = 10.0 ** random.uniform(-2.0, 2.0, x.shape)
    worst = []
    for alpha in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0):
        # equality in Cauchy–Schwarz: a_t ∝ x_t^{−α}/√(1 + Σ) makes the left side as large as it gets
        tight = x**-alpha / np.sqrt(1.0 + np.cumsum(x ** (1.0 - 2.0 * alpha), axis=0))
        worst += [rate_sum_ratio(x, alpha).max(), rate_sum_ratio(x, alpha, weights).max()]
        worst.append(rate_sum_ratio(x, alpha, tight).max())
    return within(np.array(worst), 2.0)._replace(rounds=rounds * x.shape[1] * 7)


def _copied(state: Any) -> Any:
    if isinstance(state, np.ndarray):
        return state.copy()
    return type(state)(*(_copied(part) for part in state))


def estimator_bias(policy: Policy, n_arms: int = 4, rounds: int = 12, seed: int = 0) -> Finding:
    """Σ_i w_i·ℓ̂(observing i) = ℓ, enumerating all arms that could be observed, in every round of a game."""
    random = np.random.default_rng(seed)
    params = policy.resolve(n_arms, rounds)
    state = init(params)
    worst = 0.0
    for _ in range(rounds):
        losses = random.random(n_arms)
        here = ftrl_state_of(params, state)
        before = here.losses + here.scalars[OFFSET]
        expected, size = np.zeros(n_arms), np.zeros(n_arms)
        for arm in range(n_arms):
            weight = weight_of(params, state, arm)
            other = _copied(state)
            update_once.py_func(params, other, arm, losses[arm], weight, here.scalars[RESTARTS])
            there = ftrl_state_of(params, other)
            estimate = there.losses + there.scalars[OFFSET] - before
            expected += weight * estimate
            size += weight * np.abs(estimate)
        scale = np.maximum(np.maximum(size, losses), 1.0)
        worst = max(worst, float((np.abs(expected - losses) / scale).max()))
        _, observed, _, weight, memo = pull_once.py_func(params, state, random.random(2), 0)
        update_once.py_func(params, state, observed, losses[observed], weight, memo)
    return Finding(-worst, rounds, math.nan)
