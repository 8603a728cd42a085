"""Gradient ascent on sequences of distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bothworlds import _check, rng
from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError
from bothworlds.theory.conjecture.families import FAMILIES, TINY, phases_of, shuffled
from bothworlds.theory.conjecture.objective import LONGEST, value_and_gradient

RATE, MEMORY, SCALE_MEMORY = 0.1, 0.9, 0.999  # Adam's usual constants, with a cosine from RATE to 0


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
        kept = repeats > 0.0
        return self.p[kept], repeats[kept]


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
