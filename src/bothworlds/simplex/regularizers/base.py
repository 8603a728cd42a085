"""What a regularizer is: frozen parameters, three small kernels, and the paper's constants for it.

The step minimizes ``<p, L> + Σ_i [ γ_i ψ(p_i) − C log p_i ]``. Everything the solver needs to know about ψ
is its negative slope, seen from the *depth* ``v = −log p`` of an arm:

    h(v) = −ψ'(e^{−v}),        e.g.  e^v (log-barrier),  β/(1−β)·e^{(1−β)v} (Tsallis),  v (Shannon).

h is increasing and convex in v for every ψ that is usable here, and sums of such functions are so too,
which is why the extra barrier (C·e^v) and hybrids come for free. (ComplementBarrier and ComplementTsallis
are increasing but not convex: they bring responses of their own and stay out of hybrids.) At the optimum
each arm satisfies

    y_i := L_i − λ = γ_i h(v_i) + C e^{v_i},

so that p_i is a decreasing, log-convex function of y_i: the fact on which the solver's bracket stands.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from bothworlds._jit import generic, require_kernels
from bothworlds._jit import kernel as kernel  # noqa: PLC0414 - for what kernels of others call
from bothworlds._simd import lane, make_block
from bothworlds._value import Value
from bothworlds.errors import InvalidArgumentError

DEEPEST = 700.0  # p = 1e-304: beyond it e^v overflows, and p is no longer a normal float64
NEWTON_LIMIT = 100  # the longest run seen in tests is 21; beyond this the residual tells


class Constants(NamedTuple):
    """Constants of the paper's algorithm for one regularizer and number of arms.

    ``theta`` is to be divided by √(log T) where ``over_log`` is set.
    """

    log_barrier: float
    theta: float
    over_log: bool
    alpha: float


@dataclass(frozen=True, init=False)
class Regularizer(Value, ABC):
    """Base class of regularizers: immutable, comparable, hashable, printable."""

    registry: ClassVar[dict[str, type[Any]]] = {}

    allowed: ClassVar[str] = "LogBarrier(), Tsallis(beta), Shannon() or another regularizer"

    below_one: ClassVar[bool] = False
    """Is its slope infinite at p = 1, so that no arm gets there?"""

    @abstractmethod
    def parameters(self) -> Any:
        """The ``NamedTuple`` whose type selects the kernels."""

    def constants(self, preset: str, n_arms: int) -> Constants:
        """The constants that the paper's theorem gives this regularizer."""
        raise InvalidArgumentError(
            "constants",
            preset,
            f"left out for {self!r}, which no theorem of the paper covers",
            fix="give log_barrier, theta and alpha as numbers instead",
        )


@generic
def slope(regularizer: Any, depth: float) -> tuple[float, float, float]:
    """h(v) and its first and second derivative in v, where h(v) = −ψ'(e^{−v})."""
    raise NotImplementedError("a regularizer must register its slope")


@generic
def reach(regularizer: Any, height: float) -> float:
    """A depth v ≥ 0 at which h(v) ≥ ``height``, for ``height`` ≥ h(0): as tight as is cheap.

    Those that stay out of hybrids and register ``respond`` can do without.
    """
    raise NotImplementedError("a regularizer must register its reach")


def require_regularizer(regularizer: Any) -> Any:
    """The parameters of a regularizer whose kernels are all there; else an error that says more."""
    params = Regularizer.require(regularizer, name="regularizer").parameters()
    answers = type(params) in respond.implementations
    require_kernels(regularizer, params, {slope: ""} if answers else {slope: "", reach: ""})
    return params


@kernel
def newton_response(
    regularizer: Any, y: float, rate: float, log_barrier: float, start: float
) -> tuple[float, float, float]:
    """Solve γ h(v) + C e^v = y for the depth v; return p = e^{−v} and dy/dv, d²y/dv².

    The left side is increasing and convex in v. Newton from any point at or beyond the root therefore
    descends to it without overshooting, and from below the root its first step lands beyond it.
    ``start`` is a guess of p (0: none).
    """
    depth = -math.log(start) if start > 0.0 else _beyond(regularizer, y, rate, log_barrier)
    cold = start <= 0.0
    first, second = 1.0, 0.0
    for _ in range(NEWTON_LIMIT):
        height, first, second = slope(regularizer, depth)
        barrier = log_barrier * math.exp(depth)
        first = rate * first + barrier
        second = rate * second + barrier
        step = (y - rate * height - barrier) / first
        if abs(step) > 0.75 and not cold:
            # a poor guess: from far below the root a tangent may shoot anywhere, and from far beyond it
            # Newton descends by only one per step; begin again at a proven upper end near the root
            depth = _beyond(regularizer, y, rate, log_barrier)
            cold = True
            continue
        depth = min(depth + step, DEEPEST)
        if abs(step) <= 1e-9 or (step > 0.0 and depth == DEEPEST):
            break  # quadratic: what is left is of order step² < 1e-17
    return math.exp(-depth), first, second


@kernel
def _beyond(regularizer: Any, y: float, rate: float, log_barrier: float) -> float:
    """A depth at or beyond the root of γ h(v) + C e^v = y."""
    height = slope(regularizer, 0.0)[0]
    if y <= rate * height + log_barrier:
        return 0.0  # the root is at v ≤ 0: only for arms with p ≥ 1, when the total mass exceeds one
    # beyond depth 0 both terms only grow, so neither may exceed what the other leaves of y at depth 0
    depth = reach(regularizer, (y - log_barrier) / rate)
    if log_barrier > 0.0:
        depth = min(depth, math.log(y - rate * height) - math.log(log_barrier))
    return min(depth, DEEPEST)


@generic
def respond(
    regularizer: Any, y: float, rate: float, log_barrier: float, start: float
) -> tuple[float, float, float]:
    """The p at which an arm's slope is ``y``, with dy/dv and d²y/dv²; a closed form may be registered."""
    return newton_response(regularizer, y, rate, log_barrier, start)


@generic
def against(regularizer: Any, odds: float, p: float) -> tuple[float, float]:
    """h and its slope as functions of the odds (1−p)/p against the arm, for regularizers ``below_one``.

    Must be increasing and concave in the odds. ``p`` = 1/(1 + odds) saves a division.
    """
    raise NotImplementedError("a regularizer for sets must register against")


# --- what divergences need, registered by the regularizers whose regret can be accounted for ---------------


@generic
def height(regularizer: Any, p: float) -> float:
    """h = −ψ'(p); where it is cheaper from p than from the depth, a closed form may be registered."""
    return slope(regularizer, -math.log(p))[0]


@generic
def potential(regularizer: Any, p: float, height: float) -> float:
    """ψ(p), given h at p."""
    raise NotImplementedError("a regularizer must register its potential")


@generic
def rise(regularizer: Any, p: float, height: float, u: float) -> tuple[float, float]:
    """h(v+u) − h(v) without cancellation, and h'(v+u), given p = e^{−v} and h at p."""
    raise NotImplementedError("a regularizer must register its rise")


@generic
def spread(regularizer: Any, p: float, height: float, w: float) -> float:
    """ψ(x) − ψ(p) − ψ'(p)(x − p) at x = p·e^w without cancellation, given h at p; w may be −∞."""
    raise NotImplementedError("a regularizer must register its spread")


# --- the same for blocks of four arms: for a regularizer that registers the above only, one arm after another


@generic
def heights(regularizer: Any, p: Any) -> Any:
    """``height`` of a block."""
    a, b = height(regularizer, lane(p, 0)), height(regularizer, lane(p, 1))
    return make_block(a, b, height(regularizer, lane(p, 2)), height(regularizer, lane(p, 3)))


@generic
def potentials(regularizer: Any, p: Any, height: Any) -> Any:
    """``potential`` of a block."""
    return make_block(
        potential(regularizer, lane(p, 0), lane(height, 0)),
        potential(regularizer, lane(p, 1), lane(height, 1)),
        potential(regularizer, lane(p, 2), lane(height, 2)),
        potential(regularizer, lane(p, 3), lane(height, 3)),
    )


@generic
def rises(regularizer: Any, p: Any, height: Any, u: Any) -> tuple[Any, Any]:
    """``rise`` of a block."""
    a = rise(regularizer, lane(p, 0), lane(height, 0), lane(u, 0))
    b = rise(regularizer, lane(p, 1), lane(height, 1), lane(u, 1))
    c = rise(regularizer, lane(p, 2), lane(height, 2), lane(u, 2))
    d = rise(regularizer, lane(p, 3), lane(height, 3), lane(u, 3))
    return make_block(a[0], b[0], c[0], d[0]), make_block(a[1], b[1], c[1], d[1])


@generic
def spreads(regularizer: Any, p: Any, height: Any, w: Any) -> Any:
    """``spread`` of a block."""
    return make_block(
        spread(regularizer, lane(p, 0), lane(height, 0), lane(w, 0)),
        spread(regularizer, lane(p, 1), lane(height, 1), lane(w, 1)),
        spread(regularizer, lane(p, 2), lane(height, 2), lane(w, 2)),
        spread(regularizer, lane(p, 3), lane(height, 3), lane(w, 3)),
    )
