"""Regret with a band: what was lost against the best fixed arm, and what may have been.

The high end stays far above the regret until the losers are ruled out: an arm that might be 0.03 better would
have cost 0.03 in every round. That is what is not known.
"""

from __future__ import annotations

import math

import numpy as np

from bothworlds.inference.comparisons import StationaryWorld
from bothworlds.inference.engine import bounds
from bothworlds.inference.intervals import arm_ends
from bothworlds.inference.sums import (
    PLAYED,
    PLAYED_LOSS,
    REGRET,
    REGRET_LOSS,
    Sums,
    logs_by_arm,
)


def stationary_regret(sums: Sums, error: float, *, tight: bool = False) -> tuple[float, float, float]:
    """Bounds, and an estimate between them, for Σ_a n_a·(μ* − μ_a), on rewards in [0, 1].

    One event, that all arms are inside their bounds, gives both ends. ``tight`` takes the low end from
    contrasts, which know that not all arms are at their worst at once; the high end needs all lower bounds
    and the upper one of the best arm, which leaves (K−1)/2K of the error for the K contrasts.
    """
    n, n_arms = sums.pulls, sums.pulls.size
    low, estimate, high = arm_ends(sums, "stationary", error / n_arms)
    best = low.max()
    least = float(np.sum(n * np.maximum(0.0, best - high)))
    if tight and n_arms > 1:
        world, level = StationaryWorld(sums), error * (n_arms - 1) / (2 * n_arms * n_arms)
        against = [-n + n.sum() * (np.arange(n_arms) == b) for b in range(n_arms)]
        least = max(0.0, *(world.contrast(weights, level) for weights in against))
    most = 0.0
    for b in np.flatnonzero(high >= best):
        above = n * np.maximum(0.0, high[b] - low)
        most = max(most, float(above.sum() - above[b]))
    seen = sums.answers > 0.0
    if not seen.any():
        return least, math.nan, most
    return least, float(np.sum(n[seen] * (estimate[seen].max() - estimate[seen]))), most


def any_regret(sums: Sums, error: float) -> tuple[float, float, float]:
    """The same per round and in any world: (1/t)·Σ_i (μ_i(b) − p_i·μ_i) for the best fixed arm b.

    w_b·r + 1 − r, where b was played, and 1 − r elsewhere have mean 1 + μ_i(b) − p_i·μ_i.
    """
    logs, t, n_arms = logs_by_arm(sums), float(sums.pulls.sum()), sums.pulls.size
    level = error / (2 * n_arms)
    others_losses = logs[:, PLAYED_LOSS].sum(axis=0) - logs[:, PLAYED_LOSS]
    others_gains = logs[:, PLAYED].sum(axis=0) - logs[:, PLAYED]
    low = bounds(others_losses + logs[:, REGRET], t, level, top=2.0) - 1.0
    high = 1.0 - bounds(others_gains + logs[:, REGRET_LOSS], t, level, top=2.0)
    if not t:
        return float(low.max()), math.nan, float(high.max())
    estimate = float(sums.weighted.max() - sums.rewards.sum()) / t
    return float(low.max()), min(max(estimate, float(low.max())), float(high.max())), float(high.max())
