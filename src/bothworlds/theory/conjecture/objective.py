"""The sum of the conjecture, its gradient, and what can be proved about it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies import FTRL, DecoupledTsallisINF, TsallisINF
from bothworlds.simplex.regularizers import Tsallis
from bothworlds.simulation.trace import Trace

LONGEST = 2.0**53  # beyond it float64 does not count rounds


def _inputs(
    p: ArrayLike, beta: Any, repeats: ArrayLike | None, horizon: Any
) -> tuple[FloatArray, FloatArray, float, float]:
    beta = _check.number("beta", beta, above=0.0, below=1.0)
    try:
        x = np.array(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            "p", p, "a table of numbers, phases × arms", got=type(p).__name__
        ) from None
    if x.ndim != 2 or 0 in x.shape:
        raise InvalidArgumentError(
            "p", p, "a table, phases × arms, with at least one of each", got=f"shape {x.shape}"
        )
    bad = ~((x >= 0.0) & (x <= 1.0 + 1e-9)).all(axis=1) | ~(np.abs(x.sum(axis=1) - 1.0) <= 1e-6)
    if bad.any():
        at = int(np.argmax(bad))
        raise InvalidArgumentError("p", x[at].tolist(), "a distribution over the arms", index=(at,))
    if repeats is None:
        n = np.ones(len(x))
    else:
        n = _check.vector("repeats", repeats, size=len(x), at_least=1.0)
        if (n != np.floor(n)).any():
            raise InvalidArgumentError("repeats", n.tolist(), "whole numbers of rounds")
    rounds = float(n.sum())
    total = rounds if horizon is None else _check.number("horizon", horizon, at_least=rounds, at_most=LONGEST)
    if rounds > LONGEST:
        raise InvalidArgumentError("repeats", repeats, "at most 2^53 rounds in sum", got=f"{rounds:g}")
    return x, n[:, None], beta, total


def value_and_gradient(
    x: FloatArray, n: FloatArray, beta: float, horizon: float, *, gradient: bool = True
) -> tuple[float, FloatArray]:
    """The sum over phases of n rounds each, and x·∂/∂x of it, in O(phases × arms); no checks.

    With w = max(x, 1/T)^{1−2β} and S the sum before a phase, the phase adds x^{1−β}·Σ_{j≤n} f(j),
    f(j) = 1/√(S + j·w). f is convex, so the trapezoid rule, ½f(1) + ½f(n) + ∫_1^n f, is at most the sum:
    what is returned is never above the true value, and is equal to it where n = 1. The integral is
    2(n − 1)/(√(S + w) + √(S + n·w)), which loses no digits where w is small against S.
    """
    power = 1.0 - 2.0 * beta
    w = np.maximum(x, 1.0 / horizon) ** power
    mass = n * w
    before = 1.0 + np.cumsum(mass, axis=0) - mass
    first, last = before + w, before + mass
    root_first, root_last = np.sqrt(first), np.sqrt(last)
    both = root_first + root_last
    factor = 0.5 / root_first + 0.5 / root_last + 2.0 * (n - 1.0) / both
    gain = x ** (1.0 - beta)
    total = float((gain * factor).sum())
    if not gradient:
        return total, np.empty(0)
    by_first = gain * (-0.25 / first / root_first - (n - 1.0) / (both**2 * root_first))
    by_last = gain * (-0.25 / last / root_last - (n - 1.0) / (both**2 * root_last))
    by_before = by_first + by_last
    later = np.cumsum(by_before[::-1], axis=0)[::-1] - by_before  # S of all later phases holds n·w
    by_w = by_first + n * (by_last + later)
    return total, (1.0 - beta) * gain * factor + np.where(x > 1.0 / horizon, power * w, 0.0) * by_w


def value(
    p: ArrayLike, beta: float, *, repeats: ArrayLike | None = None, horizon: float | None = None
) -> float:
    """The sum of the paper's conjecture for a sequence of distributions.

        Σ_i Σ_{t≤T} (p_i^t)^{1−β} / √(1 + Σ_{s≤t} max(p_i^s, 1/T)^{1−2β}).

    The conjecture (the remark after the learning-rate lemma) is that it is O(√(KT)) for every β in (0, 1)
    and every sequence of distributions; the lemma itself gives O(√(KT log T)).

    Parameters
    ----------
    p:
        Rounds × arms, every row a distribution; ``trace.p[:-1]`` of a run, for instance.
    beta:
        β in (0, 1).
    repeats:
        How many rounds each row lasts; None: one. Then the value is a lower bound on the sum, exact where a
        row lasts one round, and within a few tenths of a percent where it lasts several.
    horizon:
        T of the clip 1/T; None: the number of rounds.

    Examples
    --------
    >>> import bothworlds as bw
    >>> uniform = [[0.25] * 4] * 1000
    >>> round(bw.theory.conjecture.value(uniform, beta=0.5) / (4 * 1000) ** 0.5, 2)
    1.92
    """
    x, n, beta, total = _inputs(p, beta, repeats, horizon)
    return value_and_gradient(x, n, beta, total, gradient=False)[0]


def ratio(
    p: ArrayLike, beta: float, *, repeats: ArrayLike | None = None, horizon: float | None = None
) -> float:
    """:func:`value` over √(K·rounds): what the conjecture says is bounded."""
    x, n, beta, total = _inputs(p, beta, repeats, horizon)
    return value_and_gradient(x, n, beta, total, gradient=False)[0] / math.sqrt(x.shape[1] * n.sum())


def log_gradient(
    p: ArrayLike, beta: float, *, repeats: ArrayLike | None = None, horizon: float | None = None
) -> FloatArray:
    """p·∂/∂p of :func:`value` (finite at p = 0, where ∂/∂p is not); 0 is taken for the slope of the clip."""
    x, n, beta, total = _inputs(p, beta, repeats, horizon)
    return value_and_gradient(x, n, beta, total)[1]


def of_trace(trace: Trace, beta: float | None = None) -> float:
    """:func:`ratio` along a run: for distributions that a policy really played.

    β is that of the policy's Tsallis entropy, if it has one and none is given.

    Examples
    --------
    >>> import bothworlds as bw
    >>> trace = bw.replay(bw.TsallisINF(), n_arms=2, arms=[0, 1] * 5, losses=[0.2, 0.1] * 5)
    >>> bw.theory.conjecture.of_trace(trace) < 2.0
    True
    """
    if not isinstance(trace, Trace):
        raise InvalidArgumentError("trace", trace, "a Trace, of bw.replay or bw.simulate(..., trace=True)")
    if beta is None:
        beta = _beta_of(trace)
    return ratio(trace.p[:-1], beta, horizon=None if trace.horizon is None else float(trace.horizon))


def _beta_of(trace: Trace) -> float:
    policy = trace.policy
    if isinstance(policy, FTRL) and isinstance(policy.regularizer, Tsallis):
        return policy.regularizer.beta
    if isinstance(policy, TsallisINF):
        return 0.5
    if isinstance(policy, DecoupledTsallisINF):
        return 2.0 / 3.0
    raise InvalidArgumentError("beta", None, f"given for {policy!r}, which has no Tsallis entropy")


def proved(beta: float, n_arms: int, horizon: float) -> float:
    """An upper bound on :func:`ratio`, for every sequence, by the arguments in the docs.

    For β ≥ ½: 2·(1 + K/T)^{β−½}, so the conjecture holds there. For β < ½: 2 + √(1 + log(K + K/T)), so
    √(log T) can be replaced by √(log K), and by a constant for fixed K.
    """
    beta = _check.number("beta", beta, above=0.0, below=1.0)
    n_arms = _check.integer("n_arms", n_arms, at_least=1)
    horizon = _check.number("horizon", horizon, at_least=n_arms)
    if beta >= 0.5:
        return float(2.0 * (1.0 + n_arms / horizon) ** (beta - 0.5))
    stretched = n_arms * (1.0 + 1.0 / horizon)
    return min(2.0 + math.sqrt(1.0 + math.log(stretched)), 2.0 * math.sqrt(stretched))
