"""``bw.solve``: the FTRL step for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds._jit import FloatArray, entry, what_to_do
from bothworlds.errors import InvalidArgumentError, SolverError
from bothworlds.simplex.kernel import FAILED, LIMITED, kkt_residual, solve_step
from bothworlds.simplex.regularizers import Regularizer
from bothworlds.simplex.regularizers.base import require_regularizer

_STATUS: dict[int, Literal["converged", "limited"]] = {0: "converged", LIMITED: "limited"}


@dataclass(frozen=True)
class Solution:
    """The outcome of one FTRL step.

    Attributes
    ----------
    p:
        The minimizer, one entry per arm. It sums to the total up to ``sum_error``; it is never renormalized.
    multiplier:
        λ of the KKT conditions: L_i + γ_i ψ'(p_i) − C/p_i = λ for every arm.
    residual:
        The largest relative defect of those conditions.
    sum_error:
        Σp − total.
    iterations:
        Passes over the arms.
    status:
        ``"converged"``: the sum is exact to 1e-12 of the total. ``"limited"``: float64 cannot place λ
        finely enough for that (β within 3e-4 of 1, or a total above 1 with rates that differ by many
        orders); ``sum_error`` says how far off it is.

    Examples
    --------
    >>> import bothworlds as bw
    >>> step = bw.solve([0.0, 3.0], rates=1.0, regularizer=bw.LogBarrier())
    >>> step.p.round(4), step.status
    (array([0.7676, 0.2324]), 'converged')
    """

    p: FloatArray
    multiplier: float
    residual: float
    sum_error: float
    iterations: int
    status: Literal["converged", "limited"]


@entry
def _solve(
    regularizer: Any,
    losses: FloatArray,
    rates: FloatArray,
    log_barrier: float,
    total: float,
    multiplier: float,
    p: FloatArray,
) -> tuple[float, float, float, float, int, int]:
    base, shift, excess, iterations, status = solve_step(
        regularizer, losses, rates, log_barrier, total, multiplier, p
    )
    residual = kkt_residual(regularizer, losses, rates, log_barrier, base, shift, p)
    return base, shift, residual, excess, iterations, status


def solve(
    losses: ArrayLike,
    rates: ArrayLike,
    regularizer: Regularizer,
    *,
    log_barrier: float = 0.0,
    total: float = 1.0,
    start: Solution | None = None,
) -> Solution:
    """Solve one step of follow-the-regularized-leader.

    Finds the p ≥ 0 with Σp = ``total`` that minimizes

        Σ_i p_i L_i  +  Σ_i γ_i ψ(p_i)  −  C Σ_i log p_i

    for losses L, rates γ, a regularizer ψ and an extra log-barrier C.

    Parameters
    ----------
    losses:
        Cumulative (estimated) losses L, one per arm; any finite numbers.
    rates:
        γ, one positive number per arm, or one number for all arms.
    regularizer:
        ``LogBarrier()``, ``Tsallis(beta)``, ``Shannon()`` or a ``Hybrid`` of them; for sets of arms one of
        ``bw.regularizers.ComplementBarrier(weight)`` and ``ComplementTsallis(weight)``.
    log_barrier:
        C ≥ 0, the coefficient of the extra log-barrier.
    total:
        The mass to distribute: 1 for a probability distribution, m for the probabilities of being among m
        chosen arms. With ``ComplementBarrier`` and ``ComplementTsallis`` every p stays below 1, so that m is
        any number below that of the arms and p can be drawn as sets of m; with others p may exceed 1 then.
    start:
        An earlier solution for the same number of arms. It only saves iterations.

    Returns
    -------
    Solution
        ``p``, ``multiplier``, ``residual``, ``sum_error``, ``iterations``, ``status``.

    Raises
    ------
    InvalidArgumentError
        For an argument that is not allowed; the message names it.
    SolverError
        If the search fails, as it does for rates near the ends of float64 (1e308, 1e-310).

    Examples
    --------
    >>> import bothworlds as bw
    >>> s = bw.solve([0.0, 1.0, 5.0], rates=2.0, regularizer=bw.Tsallis(beta=0.5))
    >>> s.p.round(4)
    array([0.6132, 0.3167, 0.0701])
    >>> s.residual < 1e-12 and abs(s.sum_error) < 1e-12
    True
    """
    loss_array = _check.vector("losses", losses)
    n_arms = loss_array.size
    if n_arms == 0:
        raise InvalidArgumentError(
            "losses", losses, "at least one number, one per arm", got="an empty sequence"
        )
    if np.ndim(rates) == 0:
        rates = np.full(n_arms, _check.number("rates", rates, above=0.0))
    rate_array = _check.vector("rates", rates, size=n_arms, above=0.0)
    params = require_regularizer(regularizer)
    barrier = _check.number("log_barrier", log_barrier, at_least=0.0)
    mass = _check.number("total", total, above=0.0)
    if regularizer.below_one and mass >= n_arms > 1:
        allowed = f"below the number of arms, {n_arms}"
        raise InvalidArgumentError("total", mass, allowed, fix=f"{regularizer!r} keeps every p below 1")
    p = np.zeros(n_arms)
    multiplier = np.nan
    if start is not None:
        if not isinstance(start, Solution) or start.p.size != n_arms:
            raise InvalidArgumentError("start", start, f"a Solution for {n_arms} arms")
        p[:] = start.p
        multiplier = start.multiplier
    base, shift, residual, excess, iterations, status = _solve(
        params, loss_array, rate_array, barrier, mass, multiplier, p
    )
    if status == FAILED:
        fix = what_to_do(params, "input")
        raise SolverError(
            f"no convergence after {iterations} iterations: sum off by {excess:g} of {mass:g}, "
            f"KKT residual {residual:g}, {regularizer!r}, log_barrier={barrier:g}; {fix}"
        )
    p.flags.writeable = False
    return Solution(p, base - shift, residual, excess, iterations, _STATUS[status])
