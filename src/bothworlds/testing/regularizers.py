"""The contract of regularizers."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from bothworlds.policies import FTRL
from bothworlds.simplex.regularizers import Hybrid, Regularizer, Shannon
from bothworlds.simplex.regularizers.base import (
    DEEPEST,
    potential,
    reach,
    require_regularizer,
    rise,
    slope,
    spread,
)
from bothworlds.simplex.solve import solve
from bothworlds.testing.promise import require, require_hashable
from bothworlds.theory import account


def check_regularizer(regularizer: Regularizer) -> None:
    """Hold a regularizer to its contract: slope, reach, the step, hybrids, and accounting if it has it.

    Raises
    ------
    AssertionError
        Which promise is broken, and how.
    KernelError
        A kernel that is missing, or cannot be compiled.
    """
    for check in REGULARIZER_CHECKS:
        check(regularizer)


DEPTHS = (0.0, 1e-3, 0.1, 1.0, 3.0, 10.0, 30.0)


def regularizer_is_a_value(regularizer: Regularizer) -> None:
    """Equal to its copies, hashable; pickle gives it back."""
    require_regularizer(regularizer)
    require_hashable(regularizer)
    fix = "leave __eq__ and __hash__ to dataclass, and let fields be numbers, words, tuples and parts"
    for again in (copy.deepcopy(regularizer), pickle.loads(pickle.dumps(regularizer))):
        same = again == regularizer and hash(again) == hash(regularizer)
        require(same, regularizer, f"a copy must be equal: {fix}")


def _slope(regularizer: Regularizer, depth: float) -> tuple[float, float, float]:
    """h and its derivatives, which must be finite: at depth 0 too, where p = 1."""
    try:
        found: tuple[float, ...] = tuple(map(float, slope(regularizer.parameters(), depth)))
    except ArithmeticError as error:
        found, said = (math.nan,) * 3, f"{type(error).__name__}: {error}"
    else:
        said = str(found)
    where = f"at depth {depth:g}, where p = {math.exp(-depth):.3g},"
    message = f"slope must be finite {where} got {said}: arms get there, so ψ must have a slope at p = 1"
    require(len(found) == 3, regularizer, f"slope must return three numbers, h, h' and h'', got {said}")
    require(all(map(math.isfinite, found)), regularizer, message)
    height, first, second = found
    return height, first, second


def regularizer_has_a_rising_slope(regularizer: Regularizer) -> None:
    """h is finite, increasing and convex in the depth v ≥ 0, and its derivatives are derivatives.

    One that is infinite at p = 1 says ``below_one`` and is held to ``respond`` and ``against`` alone.
    """
    params = regularizer.parameters()
    for depth in DEPTHS[2:] if regularizer.below_one else DEPTHS:
        height, first, second = _slope(regularizer, depth)
        require(first > 0.0, regularizer, f"h must increase, but h'({depth}) = {first}")
        convex = second >= 0.0 or regularizer.below_one
        message = f"h must be convex in the depth, but h''({depth}) = {second}"
        require(convex, regularizer, f"{message}: the solver's bracket stands on it; add a barrier to ψ")
        d = 1e-4
        up, down = slope(params, depth + d), slope(params, max(0.0, depth - d))
        width = depth + d - max(0.0, depth - d)
        for name, value, a, b in (("h'", first, up[0], down[0]), ("h''", second, up[1], down[1])):
            found = (a - b) / width
            close = abs(found - value) <= 1e-2 * max(abs(found), abs(value)) + 1e-6 * abs(height)
            require(close, regularizer, f"slope gives {name}({depth}) = {value}, differences give {found}")


def regularizer_reaches(regularizer: Regularizer) -> None:
    """``reach`` gives a depth at which h is at least the height."""
    params = regularizer.parameters()
    if regularizer.below_one:
        return  # those have a ``respond`` of their own
    lowest = slope(params, 0.0)[0]
    for depth in DEPTHS:
        height = max(lowest, slope(params, depth)[0])
        found = math.nan
        try:
            found = float(reach(params, height))
            said = f"{found:g}"
        except (ArithmeticError, ValueError) as error:
            said = f"{type(error).__name__}: {error}"
        message = f"reach({height:g}) must be a depth v ≥ 0 where h is at least that, got {said}"
        require(found >= 0.0, regularizer, f"{message}: {depth:g} would do")
        try:
            there = slope(params, min(found, DEEPEST))[0]  # the solver goes no deeper
        except OverflowError:
            there = math.inf
        enough = there >= height - 1e-9 * abs(height)
        require(enough, regularizer, f"{message}, where it is only {there:g}: go deeper, to {depth:g}")


def regularizer_can_be_solved(regularizer: Regularizer) -> None:
    """The step is solved, alone, with a barrier and in a hybrid: KKT conditions and sum to 1e-12."""
    random = np.random.default_rng(7)
    hybrids = [] if regularizer.below_one else [Hybrid(regularizer, Shannon())]
    for n_arms in (1, 2, 3, 10):
        for barrier in (0.0, 0.1, 162.0):
            losses, rates = random.exponential(5.0, n_arms), 10.0 ** random.uniform(-1, 2, n_arms)
            for each in (regularizer, *hybrids):
                found = solve(losses, rates=rates, regularizer=each, log_barrier=barrier)
                message = f"losses {losses}, rates {rates}, log_barrier {barrier}: {found}"
                good = found.residual <= 1e-10 and abs(found.sum_error) <= 1e-10
                require(good, each, f"the step is not solved for {message}")


def regularizer_can_be_accounted(regularizer: Regularizer) -> None:
    """Where ``potential``, ``rise`` and ``spread`` are registered, they agree with h, and accounts close."""
    params = regularizer.parameters()
    kernels: dict[str, Any] = {"potential": potential, "rise": rise, "spread": spread}
    missing = [name for name, kernel in kernels.items() if type(params) not in kernel.implementations]
    if missing:
        require(len(missing) == 3, regularizer, f"accounts also need {missing}")
        return
    for depth in (0.05, 0.5, 2.0, 6.0):
        p = math.exp(-depth)
        height = slope(params, depth)[0]
        d = 1e-5 * p
        up, down = (potential(params, x, slope(params, -math.log(x))[0]) for x in (p + d, p - d))
        found = (down - up) / (2.0 * d)
        message = f"potential must have the slope −h: at p = {p:.4g} it has {-found:.8g}, h is {height:.8g}"
        require(abs(found - height) <= 1e-5 * max(1.0, abs(height)), regularizer, message)
        for u in (-0.5 * depth, 0.3):
            climbed, first = rise(params, p, height, u)
            there = slope(params, depth + u)
            message = f"rise at p = {p:.4g} by u = {u} is {climbed, first}, slope gives {there} from {height}"
            close = math.isclose(climbed, there[0] - height, rel_tol=1e-7, abs_tol=1e-9)
            require(close and math.isclose(first, there[1], rel_tol=1e-7), regularizer, message)
            w = 0.7 * u
            x = p * math.exp(w)
            there_h = slope(params, -math.log(x))[0]
            wanted = potential(params, x, there_h) - potential(params, p, height) + height * (x - p)
            got = spread(params, p, height, w)
            message = f"spread at p = {p:.4g}, w = {w:.3g} is {got}, ψ gives {wanted}"
            require(math.isclose(got, wanted, rel_tol=1e-5, abs_tol=1e-9), regularizer, message)
        _require_spread_to_zero(regularizer, p, height)
    policy = FTRL(regularizer, log_barrier=1.0, theta=1.0, alpha=0.5)
    for inside, outside in ((1, 1), (2, 2), (1, 4), (4, 4), (3, 2)):
        n = inside + outside
        arms = np.random.default_rng(8).integers(n, size=30)
        losses = np.random.default_rng(9).random(30)
        a = account(policy, n_arms=n, horizon=100, arms=arms, losses=losses, optimal=range(inside))
        parts = a.terms["suboptimal"] + a.terms["optimal"] + a.terms["residual"]
        gap = float(np.abs(a.terms["total"] - a.terms["benchmark"] - parts).max())
        message = f"with {inside} optimal of {n} arms the parts of the regret miss the whole by {gap:.3g}"
        require(gap <= 1e-9, regularizer, message)


def _require_spread_to_zero(regularizer: Regularizer, p: float, height: float) -> None:
    """``spread`` at w = −∞, an arm that ends at p = 0, is the limit: finite where ψ(0) is, else infinite."""
    params = regularizer.parameters()
    near, nearer = (_spread(params, p, height, w) for w in (-150.0, -300.0))
    try:
        found = float(spread(params, p, height, -math.inf))
        said = str(found)
    except (ArithmeticError, ValueError) as error:
        found, said = math.nan, f"{type(error).__name__}: {error}"
    there = found >= nearer * (1.0 - 1e-9)
    if math.isclose(near, nearer, rel_tol=1e-9):
        there = math.isclose(found, nearer, rel_tol=1e-6)
    message = f"spread at p = {p:.4g}, w = -inf is {said}, at w = -300 it is {nearer:g}"
    fix = "arms get to p = 0, so give the limit there (0 times infinity is NaN)"
    require(there, regularizer, f"{message}: {fix}")


def _spread(params: Any, p: float, height: float, w: float) -> float:
    """Infinite where Python has an error, and machine code has none."""
    try:
        return float(spread(params, p, height, w))
    except OverflowError:
        return math.inf


REGULARIZER_CHECKS: tuple[Callable[[Regularizer], None], ...] = (
    regularizer_is_a_value,
    regularizer_has_a_rising_slope,
    regularizer_reaches,
    regularizer_can_be_solved,
    regularizer_can_be_accounted,
)
