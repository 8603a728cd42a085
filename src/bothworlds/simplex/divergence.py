"""Bregman divergences of regularizers, plain and skewed, exact for points that almost coincide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds._jit import FloatArray, entry, kernel
from bothworlds._words import short
from bothworlds.errors import InvalidArgumentError
from bothworlds.simplex.growth import bend, log_ratio
from bothworlds.simplex.regularizers import Regularizer
from bothworlds.simplex.regularizers.base import height, potential, rise, slope, spread
from bothworlds.simplex.regularizers.hybrid import HybridParameters


@kernel
def one_divergence(
    regularizer: Any, x: float, y: float, later: float, earlier: float, log_barrier: float
) -> float:
    """γ'·d_ψ(x, y) − (γ' − γ)·ψ(x) + C·d_log(x, y) of one arm, with γ' = ``later`` and γ = ``earlier``."""
    if x == 0.0 and y == 0.0:
        return math.inf if log_barrier > 0.0 else 0.0
    if y == 0.0:
        return math.inf
    w = log_ratio(x, y)
    result = later * spread(regularizer, y, height(regularizer, y), w)
    if log_barrier > 0.0:
        result += log_barrier * bend(w)
    if later != earlier and x > 0.0:
        result -= (later - earlier) * potential(regularizer, x, height(regularizer, x))
    return result


@entry
def _divergences(
    regularizer: Any,
    x: FloatArray,
    y: FloatArray,
    later: FloatArray,
    earlier: FloatArray,
    log_barrier: float,
    out: FloatArray,
) -> None:
    for k in range(out.size):
        out[k] = one_divergence(regularizer, x[k], y[k], later[k], earlier[k], log_barrier)


@entry
def _profile(regularizer: Any, p: FloatArray, out: FloatArray) -> None:
    for k in range(p.size):
        depth = -math.log(p[k])
        first, second, _ = slope(regularizer, depth)
        out[0, k] = potential(regularizer, p[k], height(regularizer, p[k]))
        out[1, k] = -first
        out[2, k] = second / p[k]  # d/dp of −h(−log p)


def has_divergence(parameters: Any) -> bool:
    """Whether the kernels of divergences are registered for a regularizer's parameters."""
    if isinstance(parameters, HybridParameters):
        return has_divergence(parameters.first) and has_divergence(parameters.second)
    return all(type(parameters) in needed.implementations for needed in (potential, rise, spread))


def require_divergence(regularizer: Any) -> Any:
    """The parameters of a regularizer whose divergence is known, or an error."""
    parameters = Regularizer.require(regularizer, name="regularizer").parameters()
    if not has_divergence(parameters):
        raise InvalidArgumentError(
            "regularizer",
            regularizer,
            "one with a divergence",
            fix="register potential, rise and spread for its parameters (see simplex/regularizers/base.py)",
        )
    return parameters


def profile_of(parameters: Any, p: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ψ(p), ψ'(p) and ψ''(p) of a regularizer's parameters, for positive numbers in an array of any shape."""
    out = np.empty((3, p.size))
    _profile(parameters, np.ascontiguousarray(p).ravel(), out)
    value, first, second = (row.reshape(p.shape) for row in out)
    return value, first, second


def divergences_of(
    parameters: Any, x: FloatArray, y: FloatArray, later: FloatArray, earlier: FloatArray, log_barrier: float
) -> FloatArray:
    """The skewed divergence, arm by arm, of a regularizer's parameters; all arrays of one shape."""
    out = np.empty(x.shape)
    a, b, c, d = (np.ascontiguousarray(array).ravel() for array in (x, y, later, earlier))
    _divergences(parameters, a, b, c, d, log_barrier, out.ravel())
    return out


def divergence(
    x: ArrayLike,
    y: ArrayLike,
    regularizer: Regularizer,
    *,
    rates: ArrayLike = 1.0,
    earlier: ArrayLike | None = None,
    log_barrier: float = 0.0,
) -> Any:
    """The Bregman divergence of a regularizer, plain or skewed, summed over the arms.

    With φ^t(p) = Σ_i γ_i^t ψ(p_i) − C Σ_i log p_i the skewed divergence of the paper is

        D^{t,t+1}(x, y) = φ^t(x) − φ^{t+1}(y) − <∇φ^{t+1}(y), x − y>
                        = D^{t+1}(x, y) − Σ_i (γ_i^{t+1} − γ_i^t) ψ(x_i) ,

    and with γ^t = γ^{t+1} the plain one. It is computed from w = log(x/y) by series, expm1 and log1p:
    relative error below 1e-12 however close x and y are, where the first line has no digit left at x/y
    − 1 = 1e-9. (The skewed one may be a difference, and even negative: for the log-barrier ψ ≥ 0.)

    Parameters
    ----------
    x, y:
        Points, arms along the last axis; entries of x may be 0 where φ is finite there.
    regularizer:
        ``LogBarrier()``, ``Tsallis(beta)``, ``CenteredTsallis(alpha)``, ``Shannon()`` or a ``Hybrid``.
    rates:
        γ^{t+1}, a number or one per arm.
    earlier:
        γ^t for the skewed divergence; None for the plain one.
    log_barrier:
        C ≥ 0.

    Returns
    -------
    float or array
        The sum over the last axis.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.theory.divergence([0.5, 0.5], [0.5 + 2**-30, 0.5 - 2**-30], bw.LogBarrier())
    3.469446951953614e-18
    >>> 2.0**-58
    3.469446951953614e-18
    >>> skewed = bw.theory.divergence([0.2, 0.8], [0.3, 0.7], bw.Shannon(), rates=2.0, earlier=1.0)
    >>> round(skewed, 4)
    1.5519
    """
    parameters = require_divergence(regularizer)
    barrier = _check.number("log_barrier", log_barrier, at_least=0.0)
    before = rates if earlier is None else earlier
    try:
        arrays = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (x, y, rates, before)))
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            "x",
            x,
            "numbers in a shape that fits those of y, rates and earlier",
            got=" and ".join(short(part) for part in (x, y, rates, before)),
        ) from None
    for name, array in zip(("x", "y", "rates", "earlier"), arrays, strict=True):
        if not (np.isfinite(array) & (array >= 0.0)).all():
            raise InvalidArgumentError(name, array, "finite numbers that are at least 0")
    a, b, late, early = arrays
    terms = divergences_of(parameters, a, b, late, early, barrier)
    total = terms.sum(axis=-1) if terms.ndim else terms
    return float(total) if total.ndim == 0 else total
