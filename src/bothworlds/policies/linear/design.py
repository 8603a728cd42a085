"""G-optimal designs: how often to play each arm so that no arm's loss is known badly.

If arms with features φ_i ∈ R^d are played with frequencies p, the variance of the estimated loss of arm i is
proportional to φ_iᵀS(p)^{-1}φ_i, S(p) = Σ_i p_i·φ_i·φ_iᵀ. Its maximum over the arms is at least d, because
the p-weighted mean is d, and some p attains d (Kiefer and Wolfowitz 1960): the one that maximizes
log det S(p).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError, OutOfRangeError

PRECISION = 1.05  # the certificate that is good enough


class Design(NamedTuple):
    """A design and its certificate."""

    p: FloatArray
    """The frequency of each arm."""
    certificate: float
    """c = max_i φ_iᵀS(p)^{-1}φ_i/d, computed from p alone: at least 1, and 1 for a G-optimal design."""
    steps: int
    """How many steps it took."""


def check_features(name: str, values: object) -> FloatArray:
    """``values`` as an array, arms × features, of finite numbers."""
    wanted = "a table of numbers, a row of features for each arm"
    try:
        features = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidArgumentError(name, values, wanted, fix="all rows must have the same length") from None
    if features.ndim != 2 or features.size == 0:
        fix = "write one feature as [[x], [y], …]" if features.ndim == 1 else ""
        raise InvalidArgumentError(name, values, wanted, got=f"shape {features.shape}", fix=fix)
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        where = (int(row), int(column))
        raise OutOfRangeError(name, float(features[where]), "finite", index=where)
    return features


def g_optimal_design(features: ArrayLike) -> Design:
    """Frequencies of arms with which the loss that is known worst is known best, to five per cent.

    Multiplicative steps from the uniform p,

        p_i ← p_i·g_i/d,   g_i = φ_iᵀS(p)^{-1}φ_i,

    until max_i g_i ≤ 1.05·d. At the latest after n = log(K/d)/log(1.05) steps their average is such a design:
    log g_i is convex in p, so that of the average it is at most (1/n)·Σ log g_i, where g_i/d are the ratios
    of successive p_i; their product is p_i after n steps, at most 1/d because p_i·g_i ≤ 1, over 1/K.
    A step takes O(K·d²).

    Parameters
    ----------
    features:
        An array, arms × features, of full rank.

    Returns
    -------
    Design
        ``p``, the ``certificate`` max_i g_i/d, computed from p alone, and the number of ``steps``.

    Examples
    --------
    >>> from bothworlds.policies.linear.design import g_optimal_design
    >>> design = g_optimal_design([[1.0, 0.0], [1.0, 0.5], [1.0, 1.0]])     # a line is measured at its ends
    >>> design.p.round(2), round(design.certificate, 2)
    (array([0.46, 0.08, 0.46]), 1.05)

    References
    ----------
    J. Kiefer, J. Wolfowitz: The Equivalence of Two Extremum Problems. Canadian Journal of Mathematics 1960.
    S. Silvey, D. Titterington, B. Torsney: An Algorithm for Optimal Designs on a Design Space. Communications
    in Statistics 1978. M. Cohen, B. Cousins, Y. T. Lee, X. Yang: A Near-Optimal Algorithm for Approximating
    the John Ellipsoid. COLT 2019 (the bound on the number of steps).
    """
    table = check_features("features", features)
    n_arms, d = table.shape
    rank = int(np.linalg.matrix_rank(table))
    if rank < d:
        fix = f"leave out {d - rank} that follow from the others"
        raise InvalidArgumentError(
            "features", features, f"of full rank, {d}", got=f"a table of rank {rank}", fix=fix
        )
    p, total = np.full(n_arms, 1.0 / n_arms), np.zeros(n_arms)
    most = math.ceil(math.log(n_arms / d) / math.log(PRECISION))
    for steps in range(most):
        known = _variances(table, p)
        if known.max() <= PRECISION * d:
            return Design(p, float(known.max() / d), steps)
        total += p
        p = p * (known / d)
        p /= p.sum()  # which is 1 but for rounding
    average = total / most if most else p
    return Design(average, float(_variances(table, average).max() / d), most)


def _variances(features: FloatArray, p: FloatArray) -> FloatArray:
    """g_i of every arm: squares of the columns of R^{-1}Φᵀ, S(p) = RRᵀ."""
    root = np.linalg.cholesky(features.T @ (p[:, None] * features))
    return np.asarray((np.linalg.solve(root, features.T) ** 2).sum(axis=0))
