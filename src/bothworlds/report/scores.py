r"""One number per policy and world, and one per policy.

Regrets of different worlds cannot be averaged: their scales differ by orders of magnitude. With the mean
final regret R of a policy, and R⁺ = max(R, 0):

* in a world with fixed gaps the **score** is (R⁺ + K)/(R⁺_best + K), where R_best is the smallest mean of any
  policy there. K pulls are what it takes to see every arm once; added to both, they keep the score from
  exploding where the best regret is tiny;
* in any other it is R/√(KT): regret in units of the minimax rate, good if it is of order 1 or below. Such are
  adversarial worlds, where it is negative if the policy beat the best fixed arm, and ``Minimax``, which is
  iid but has another gap for every horizon, of the size that makes √(KT) the regret to expect.

The **ratio** compares with the best of the same world everywhere in the same way: (R⁺ + unit)/(R⁺_best +
unit) with the unit K in worlds with fixed gaps, √(KT) in others. It is at least 1, and 1 for the best. A
policy's **ranking** is the geometric mean of its ratios over the worlds, beside the worst of them.

Regret below zero counts as zero in a ratio: it is luck, or a moving world in which no fixed arm is good, and
should not buy a policy more than the best place. (It stays visible in the score R/√(KT).)
"""

from __future__ import annotations

import numpy as np

from bothworlds._jit import FloatArray

GAPS = "(R+K)/(best+K)"
MINIMAX = "R/√(KT)"


def unit(n_arms: int, horizon: int, gaps: bool) -> float:
    """What regret is measured against in a world: K, or √(KT) where there are no fixed gaps."""
    return float(n_arms) if gaps else float(np.sqrt(n_arms * horizon))


def ratios(means: FloatArray, unit: float) -> FloatArray:
    """(R⁺ + unit)/(R⁺_best + unit) of all policies of a world; NaN stays NaN.

    Examples
    --------
    >>> import numpy as np
    >>> ratios(np.array([2.0, 14.0, np.nan, -5.0]), unit=4.0).tolist()
    [1.5, 4.5, nan, 1.0]
    """
    counted = np.maximum(means, 0.0) + unit
    known = counted[~np.isnan(counted)]
    return counted / known.min() if known.size else counted
