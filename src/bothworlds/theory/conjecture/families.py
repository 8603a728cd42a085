"""Sequences with a structure: where a search for bad ones begins."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray

TINY = 1e-12


def phases_of(horizon: float, phases: int, *, geometric: bool = False) -> FloatArray:
    """Whole numbers of rounds that add up to T: all (nearly) equal, or growing by a constant factor."""
    phases = int(min(phases, horizon))
    if geometric:
        ends = np.unique(np.round(horizon ** (np.arange(1, phases + 1) / phases)))
    else:
        ends = np.round(horizon * (np.arange(1, phases + 1) / phases))
    return np.diff(np.concatenate(([0.0], ends)))


def _only(n_arms: int, arms: IntArray) -> FloatArray:
    p = np.zeros((arms.size, n_arms))
    p[np.arange(arms.size), arms] = 1.0
    return p


def constant(n_arms: int, time: FloatArray) -> FloatArray:
    """Uniform throughout; the value is about 2√(KT) for every β."""
    return np.full((time.size, n_arms), 1.0 / n_arms)


def one_at_a_time(n_arms: int, time: FloatArray) -> FloatArray:
    """Each arm has a K-th of the time to itself."""
    return _only(n_arms, np.minimum((time * n_arms).astype(np.int64), n_arms - 1))


def alternating(n_arms: int, time: FloatArray) -> FloatArray:
    """One arm per phase, in turn."""
    return _only(n_arms, np.arange(time.size) % n_arms)


def bursts(n_arms: int, time: FloatArray) -> FloatArray:
    """Uniform, but in every fourth phase one arm, in turn, has it all."""
    p = constant(n_arms, time)
    at = np.arange(0, time.size, 4)
    p[at] = _only(n_arms, (at // 4) % n_arms)
    return p


def doubling(n_arms: int, time: FloatArray) -> FloatArray:
    """Half the mass on one arm, which changes whenever time has doubled."""
    p = np.full((time.size, n_arms), 0.5 / n_arms)
    p[np.arange(time.size), np.floor(-np.log2(time)).astype(int) % n_arms] += 0.5
    return p


def fading(n_arms: int, time: FloatArray) -> FloatArray:
    """All arms but the first fade like 1/t together; the first takes the rest."""
    p = np.empty((time.size, n_arms))
    p[:, 1:] = (np.minimum(1.0, 0.05 / time) / n_arms)[:, None]
    p[:, 0] = 1.0 - p[:, 1:].sum(axis=1)
    return p


def staggered(n_arms: int, time: FloatArray, width: float = 0.5) -> FloatArray:
    """Arm i starts at i·T/K, from a large share that fades like 1/(time since its start).

    For one arm, x_t = A/t is where the Cauchy–Schwarz inequality in the learning-rate lemma is tight; the
    starts are staggered because all arms cannot be large at once. Its limit is :func:`staggered_limit`.
    """
    since = time[:, None] * n_arms - np.arange(n_arms)
    x = np.where(since > 0.0, width / (width + np.maximum(since, 0.0)), TINY)
    p: FloatArray = x / x.sum(axis=1, keepdims=True)
    return p


def narrow(n_arms: int, time: FloatArray) -> FloatArray:
    """``staggered`` with a faster fade."""
    return staggered(n_arms, time, width=0.1)


def rising(n_arms: int, time: FloatArray) -> FloatArray:
    """``staggered`` with time reversed: shares grow until an arm ends."""
    return staggered(n_arms, time)[::-1].copy()


FAMILIES: dict[str, Callable[[int, FloatArray], FloatArray]] = {
    "constant": constant,
    "one at a time": one_at_a_time,
    "alternating": alternating,
    "bursts": bursts,
    "doubling": doubling,
    "fading": fading,
    "staggered": staggered,
    "narrow": narrow,
    "rising": rising,
}
"""Name → function of the number of arms and of the phases' middles in (0, 1)."""


def shuffled(n_arms: int, time: FloatArray, random: np.random.Generator, order: str) -> FloatArray:
    """Random distributions; ``order`` "sorted": those with a large first half of the arms come first."""
    p = random.dirichlet(np.full(n_arms, 0.3), time.size)
    p = np.maximum(p, TINY)
    p /= p.sum(axis=1, keepdims=True)
    if order == "sorted":
        p = p[np.argsort(-p[:, : (n_arms + 1) // 2].sum(axis=1), kind="stable")]
    return p


def staggered_limit(beta: float, n_arms: float, width: float | None = None) -> float:
    """What a staggered sequence has at least, over √(KT), as T grows with K fixed, for β in (0, ½).

    With x = ρ/(1 + s/(a·T/K)), s the rounds since the start of an arm, an arm with time u·T left adds

        √(2ρaT/(Kβ)) · arcosh((1 + uK/a)^β),

    and all shares add up to at most 1 if ρ·Σ_{j<K} a/(a + j) = 1. The ratio is the mean over
    u = 1/K, 2/K, …, 1; that is at least the integral, since arcosh increases:

        √(2/(β·Σ_{j<K} 1/(a + j))) · ∫_0^1 arcosh((1 + uK/a)^β) du  ~  √(2β·log K)   (K → ∞),

    which exceeds every constant: with a constant that does not depend on K, the conjecture fails for β < ½.

    Parameters
    ----------
    beta, n_arms:
        β in (0, ½) and K, which may be astronomically large.
    width:
        a; None: the best of a grid.

    Examples
    --------
    >>> import bothworlds as bw
    >>> limit = bw.theory.conjecture.staggered_limit
    >>> [round(limit(0.4, 2.0**k), 2) for k in (5, 10, 20, 40, 80)]
    [1.89, 2.51, 3.44, 4.79, 6.72]
    """
    beta = _check.number("beta", beta, above=0.0, below=0.5)
    n_arms = _check.number("n_arms", n_arms, at_least=1.0)
    if width is None:
        return max(staggered_limit(beta, n_arms, 2.0 ** (k / 4.0)) for k in range(-48, 25))
    width = _check.number("width", width, above=0.0)
    u, weights = _quadrature()
    height = np.arccosh(np.exp(beta * np.log1p(u * n_arms / width)))
    integral = float((weights * height).sum())
    return math.sqrt(2.0 / (beta * _harmonic(n_arms, width))) * integral


@cache
def _quadrature() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on (0, 1), dense at 0, where the integrand is steep: Gauss in v, u = v⁴."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    v = 0.5 * (nodes + 1.0)
    return v**4, 2.0 * weights * v**3


def _harmonic(n: float, a: float) -> float:
    """Σ_{j<n} 1/(a + j): a few terms, then Euler and Maclaurin."""
    few = int(min(n, 32.0))
    head = sum(1.0 / (a + j) for j in range(few))
    if n <= few:
        return head
    low, high = a + few, a + n
    tail = (
        math.log(high / low) + 0.5 * (1.0 / low - 1.0 / high) + ((1.0 / low) ** 2 - (1.0 / high) ** 2) / 12.0
    )
    return head + tail
