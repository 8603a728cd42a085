"""A conjecture of the paper: is the sum that decides the adversarial bound O(√(KT)) for every sequence?

The paper's remark after its learning-rate lemma conjectures, for every β in (0, 1) and every sequence of
distributions,

    Σ_i Σ_{t≤T} (p_i^t)^{1−β} / √(1 + Σ_{s≤t} max(p_i^s, 1/T)^{1−2β}) = O(√(KT)),

which would remove √(log T) from the adversarial bound of β-Tsallis entropy. Here it is evaluated on runs
(:func:`of_trace`), on structured families, and on sequences found by gradient ascent (:func:`search`);
:func:`proved` is what a short argument gives. ``examples/conjecture.py`` makes tables of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check, rng
from bothworlds._jit import FloatArray, IntArray
from bothworlds.errors import InvalidArgumentError
from bothworlds.simplex.regularizers.tsallis import TsallisParameters
from bothworlds.simulation.trace import Trace
from bothworlds.theory.accounting.ledger import ftrl_of

LONGEST = 2.0**53  # beyond it float64 does not count rounds
TINY = 1e-12  # the least probability that an ascent begins from
RATE, MEMORY, SCALE_MEMORY = 0.1, 0.9, 0.999  # Adam's usual constants, with a cosine from RATE to 0


# --- the sum, its gradient, and what is proved --------------------------------------------------------


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
    params = trace.policy.parameters(trace.n_arms, trace.horizon)
    if type(params) in ftrl_of.implementations:
        regularizer = ftrl_of(params).regularizer
        if isinstance(regularizer, TsallisParameters):
            return regularizer.beta
    raise InvalidArgumentError("beta", None, f"given for {trace.policy!r}, which has no Tsallis entropy")


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


# --- sequences with a structure, where a search begins ------------------------------------------------


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


# --- gradient ascent on sequences ---------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """The worst sequence a search found.

    Attributes
    ----------
    ratio:
        Value over √(KT): a certified lower bound on the supremum, for ``p`` and ``repeats`` attain it.
    beta, n_arms, horizon, seed:
        What was searched, and the seed that reproduces it.
    start, start_ratio:
        The family it began from, and what that had before the ascent.
    p, repeats:
        The sequence: distributions, and how many rounds each lasts.
    """

    ratio: float
    beta: float
    n_arms: int
    horizon: float
    seed: int
    start: str
    start_ratio: float
    p: FloatArray
    repeats: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """The numbers without the sequence, in plain JSON types."""
        names = ("beta", "n_arms", "horizon", "seed", "ratio", "start", "start_ratio")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return (
            f"Found(ratio={self.ratio:.4f}, beta={self.beta:g}, n_arms={self.n_arms}, "
            f"horizon={self.horizon:g}, start={self.start!r})"
        )

    def stretched(self, horizon: float) -> tuple[FloatArray, FloatArray]:
        """The same distributions over another number of rounds: (p, repeats)."""
        ends = np.maximum(np.round(np.cumsum(self.repeats) * (horizon / self.horizon)), 1.0)
        repeats = np.diff(np.concatenate(([0.0], ends)))
        played = repeats > 0.0
        return self.p[played], repeats[played]


def ascend(p: FloatArray, repeats: FloatArray, beta: float, steps: int) -> tuple[FloatArray, float]:
    """The best sequence and ratio seen along ``steps`` of ascent on logits (p = softmax of each row)."""
    n, horizon = repeats[:, None], float(repeats.sum())
    scale = math.sqrt(p.shape[1] * horizon)
    logits = np.log(np.maximum(p, TINY))
    drift, size = np.zeros_like(logits), np.zeros_like(logits)
    best, best_p = -1.0, p
    for step in range(steps + 1):
        x = np.exp(logits - logits.max(axis=1, keepdims=True))
        x /= x.sum(axis=1, keepdims=True)
        total, slope = value_and_gradient(x, n, beta, horizon)
        if total > best:
            best, best_p = total, x
        slope = (slope - x * slope.sum(axis=1, keepdims=True)) / scale  # the chain rule of softmax
        drift = MEMORY * drift + (1.0 - MEMORY) * slope
        size = SCALE_MEMORY * size + (1.0 - SCALE_MEMORY) * slope**2
        k = step + 1
        rate = RATE * 0.5 * (1.0 + math.cos(math.pi * step / max(1, steps)))
        logits = logits + rate * (drift / (1.0 - MEMORY**k)) / (
            np.sqrt(size / (1.0 - SCALE_MEMORY**k)) + 1e-12
        )
    return best_p, best / scale


def starts(n_arms: int, horizon: float, phases: int, seed: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """All families, on equal and on growing phases, and random sequences: name → (p, repeats)."""
    found = {}
    random = rng.stream(seed, 0, 0)
    for suffix, geometric in (("", False), (", growing phases", True)):
        repeats = phases_of(horizon, phases, geometric=geometric)
        middle = (np.cumsum(repeats) - 0.5 * repeats) / horizon
        for name, family in FAMILIES.items():
            found[name + suffix] = (family(n_arms, middle), repeats)
        for order in ("random", "sorted"):
            found[order + suffix] = (shuffled(n_arms, middle, random, order), repeats)
    return found


def search(
    beta: float,
    n_arms: int,
    horizon: float,
    *,
    seed: int = 0,
    phases: int | None = None,
    steps: int = 300,
    ascents: int = 3,
    before: Found | None = None,
) -> Found:
    """Look for a sequence of distributions with a large sum: families first, then gradient ascent.

    Every structured family is evaluated on phases of equal and of growing length; the best ``ascents`` of
    them (never two of the same family) and one random sequence are improved by gradient ascent on logits.
    What is found is a lower bound on the supremum, and attained; that nothing larger was found proves
    nothing.

    Parameters
    ----------
    beta, n_arms, horizon:
        β in (0, 1), K ≥ 2 and T ≥ K, at most 2^53.
    seed:
        Of the random sequences. The same seed finds the same sequence.
    phases:
        How many different distributions; None: max(48, 4K), at most T.
    steps, ascents:
        Effort.
    before:
        What an earlier search found, for the same number of arms: one more sequence to begin from.

    Examples
    --------
    >>> import bothworlds as bw
    >>> found = bw.theory.conjecture.search(0.25, n_arms=4, horizon=10**12, steps=100)
    >>> found.ratio > 2.0                       # more than uniform play
    True
    >>> found.ratio < bw.theory.conjecture.proved(0.25, 4, 10**12)
    True
    """
    beta = _check.number("beta", beta, above=0.0, below=1.0)
    n_arms = _check.integer("n_arms", n_arms, at_least=2)
    horizon = _check.number("horizon", horizon, at_least=n_arms, at_most=LONGEST)
    horizon = float(math.floor(horizon))
    phases = max(48, 4 * n_arms) if phases is None else _check.integer("phases", phases, at_least=1)
    steps = _check.integer("steps", steps, at_least=0)
    ascents = _check.integer("ascents", ascents, at_least=1)
    begin = starts(n_arms, horizon, phases, _check.integer("seed", seed, at_least=0))
    if before is not None:
        if before.n_arms != n_arms:
            raise InvalidArgumentError("before", before, f"one with {n_arms} arms")
        begin["before"] = before.stretched(horizon)
    scale = math.sqrt(n_arms * horizon)
    values = {
        name: value_and_gradient(p, n[:, None], beta, horizon, gradient=False)[0] / scale
        for name, (p, n) in begin.items()
    }
    chosen: dict[str, str] = {}  # family → its better form
    for name in sorted(values, key=lambda name: (-values[name], name)):
        chosen.setdefault(name.split(",")[0], name)
    always = [chosen[name] for name in ("staggered", "random", "before") if name in chosen]
    names = list(dict.fromkeys([*list(chosen.values())[:ascents], *always]))
    best: Found | None = None
    for name in names:
        p, n = begin[name]
        sequence, reached = ascend(p, n, beta, steps)
        if best is None or reached > best.ratio:
            best = Found(reached, beta, n_arms, horizon, seed, name, values[name], sequence, n)
    assert best is not None
    return best
