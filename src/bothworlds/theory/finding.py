"""What a check of a lemma finds, and how exact float64 lets it be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bothworlds._jit import FloatArray

# Every margin is relative to the size of what is compared. p is exact to about 1e-14 (more where the step is
# ill-conditioned: 100 times that at β = 0.99), divergences add a few roundings, and a round sums up K
# of them: what is equal, or has the sign zero, on paper may be off by this much and no more.
ROUNDING = 1e-12


class Finding(NamedTuple):
    """The worst margin of a check (negative: violated), the rounds looked at, and a number seen."""

    margin: float
    rounds: int
    seen: float = np.nan


def equal(left: FloatArray, right: FloatArray, scale: FloatArray) -> Finding:
    """How far two sides of an equation are apart: a margin of −1e-16 is as good as it gets."""
    defect = np.abs(left - right) / np.maximum(scale, np.finfo(float).tiny)
    return Finding(-float(defect.max(initial=0.0)), int(defect.size), float(defect.max(initial=0.0)))


def at_most(left: FloatArray, right: FloatArray, scale: FloatArray) -> Finding:
    """The smallest slack of left ≤ right."""
    slack = (right - left) / np.maximum(scale, np.finfo(float).tiny)
    return Finding(float(slack.min(initial=np.inf)), int(slack.size))


def within(ratio: FloatArray, limit: float) -> Finding:
    """The slack of ratio ≤ limit relative to the limit; the largest ratio is what was seen."""
    largest = float(np.max(ratio, initial=-np.inf))
    return Finding((limit - largest) / limit if np.isfinite(largest) else np.inf, int(ratio.size), largest)
