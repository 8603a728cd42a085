"""What policies for linear losses share: arms in good coordinates, the matrix S(p), estimates of all losses.

The mean loss of arm i is θ_0 + <θ, x_i>, with features x_i that are known and (θ_0, θ) that may change from
round to round. The constant is there because rewards become losses by a shift, and so that losses
ℓ ∈ [0, 1] can be turned into the o = 2ℓ − 1 ∈ [−1, 1] of the theorems: o is linear in the features φ of an
arm, too, if these span the constant. Only the span of the constant and the features, as functions on the
arms, matters; nothing changes if every φ_i is replaced by A·φ_i. So coordinates are chosen in which the
G-optimal design p_0 has S(p_0) = 1.

With I drawn from p, w its probability at the draw, and S(p) = Σ_j p_j·φ_j·φ_jᵀ,

    ℓ̂_i − ½ = (ℓ_I − ½)·(p_I/w)·φ_Iᵀ·S(p)^{-1}·φ_i

has mean ℓ_i − ½ for every arm: Σ_j w_j·(p_j/w_j)·<θ', φ_j>·φ_jᵀS^{-1}φ_i = <θ', S·S^{-1}·φ_i>. Without
delay w = p_I. With late feedback p is the distribution in force when the loss arrives, which has not seen
it, and the factor p_I/w makes up for the difference: so weight and arm are all that a pull must remember.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds._simd import LANES, add_up, fill, load
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy, draws_from_its_p, learn
from bothworlds.policies.linear.design import Design, check_features, g_optimal_design
from bothworlds.policies.shared.estimated_losses import (
    OFFSET,
    RECENTER,
    add_latest_to,
    recenter_at,
    shows_its_losses,
)
from bothworlds.simplex.kernel import CONVERGED, FAILED

DEPENDENT = 1e-10  # a feature is taken to follow from the others if it does so to ten digits
LEAST_MIXING = 1e-8  # γ, so that S(p) ⪰ γ·1 can be inverted: one unit of regret in 10⁸ rounds
LONGEST = 64  # numbers of features that a repr has


class Space(NamedTuple):
    """Arms in coordinates in which S(p_0) = 1, and p_0."""

    columns: FloatArray
    """φ_{i,a} at a·K + i: the first feature of all arms, then the second, …"""
    design: FloatArray
    """p_0, the G-optimal design."""


class LinearState(NamedTuple):
    """What a policy for linear losses knows. Between rounds q belongs to ``losses``, ``factor`` to p."""

    losses: FloatArray
    """Cumulative estimated losses, minus ½ for every round, minus a whole number."""
    latest: FloatArray
    """Estimated losses minus ½ of the round, from ``learn`` to ``step``."""
    q: FloatArray
    """Of the regularized leader."""
    p: FloatArray
    """(1 − γ)·q + γ·p_0, from which arms are drawn."""
    factor: FloatArray
    """The Cholesky factor of S(p), its lower triangle row by row."""
    direction: FloatArray
    """Room for S(p)^{-1}·φ."""
    weighted: FloatArray
    """Room for a number for each arm."""
    rates: FloatArray
    carried: FloatArray
    """What the solver starts from."""
    scalars: FloatArray
    """The single numbers below."""


# of the single numbers, beside TUNING and OFFSET
LEARNED = 2  # number of observations, from ``learn`` to ``step``; zero between rounds
N_SCALARS = 3


# --- features, in Python ------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class LinearPolicy(Policy):
    """Base class: features, their design, and errors about them."""

    fixed_arms: ClassVar[str | None] = "its features are those of the arms it was made for"

    features: Sequence[Sequence[float]]
    design: Design = field(init=False, compare=False)
    dimension: int = field(init=False, compare=False)
    _space: Space = field(init=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        table = check_features("features", self.features)
        basis = span(table)
        design = g_optimal_design(basis)
        root = np.linalg.cholesky(basis.T @ (design.p[:, None] * basis))
        columns = np.linalg.solve(root, basis.T).ravel()
        design.p.flags.writeable = False
        self._set(
            features=tuple(tuple(row) for row in table.tolist()),
            design=design,
            dimension=basis.shape[1],
            _space=Space(columns, design.p.copy()),
        )

    def space(self, n_arms: int) -> Space:
        """The arms, if there are as many."""
        if len(self.features) != n_arms:
            raise InvalidArgumentError(
                "features",
                self.features,
                f"a row for each of the {n_arms} arms",
                got=f"{len(self.features)} rows",
                fix="rows are in the order of the arms",
            )
        return self._space

    def __repr__(self) -> str:
        rows, columns = len(self.features), len(self.features[0])
        if rows * columns <= LONGEST:
            return super().__repr__()
        return super().__repr__().replace(repr(self.features), f"<{rows} × {columns}>")


def span(features: FloatArray) -> FloatArray:
    """An orthonormal basis of the functions on the arms that a constant and the features span, as columns."""
    columns = [np.ones(len(features))]
    for column in features.T:
        centered = column / max(1.0, np.abs(column).max())  # squares of it must not overflow
        centered = centered - centered.mean()
        size = np.abs(centered).max()
        if size > 1e-14 * np.abs(column).max() / max(1.0, np.abs(column).max()):
            columns.append(centered / size)
    left, sizes, _ = np.linalg.svd(np.column_stack(columns), full_matrices=False)
    return np.ascontiguousarray(left[:, sizes > DEPENDENT * sizes[0]])


def new_linear_state(space: Space, n_carried: int) -> LinearState:
    """Before the first round: q is uniform; p and its matrix are for :func:`mix_in_design`."""
    n = space.design.size
    d = space.columns.size // n
    return LinearState(
        np.zeros(n),
        np.zeros(n),
        np.full(n, 1.0 / n),
        np.full(n, 1.0 / n),
        np.zeros(d * (d + 1) // 2),
        np.zeros(d),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n_carried),
        np.zeros(N_SCALARS),
    )


# --- kernels ------------------------------------------------------------------------------------------------


@kernel
def product(values: FloatArray, columns: FloatArray, first: int) -> float:
    """<values, the column that begins at ``first``>, in lanes."""
    n = values.size
    one = fill(0.0)
    other = fill(0.0)
    end = n - n % (2 * LANES)
    for i in range(0, end, 2 * LANES):
        one = one + load(values, i) * load(columns, first + i)
        other = other + load(values, i + LANES) * load(columns, first + i + LANES)
    total = add_up(one + other)
    for i in range(end, n):
        total += values[i] * columns[first + i]
    return total


@kernel
def add_up_outer_products(columns: FloatArray, p: FloatArray, weighted: FloatArray, out: FloatArray) -> None:
    """S(p), its lower triangle row by row: O(K·d²)."""
    n = p.size
    row = 0
    for a in range(columns.size // n):
        for i in range(n):
            weighted[i] = p[i] * columns[a * n + i]
        for b in range(a + 1):
            out[row + b] = product(weighted, columns, b * n)
        row += a + 1


@kernel
def factorize(matrix: FloatArray, d: int) -> bool:
    """The Cholesky factor in place of a matrix, in the form above: O(d³); False if it is not positive.

    S(p) ⪰ γ·S(p_0) = γ·1 and |S(p)| ≤ c·d, so that rounding leaves every pivot positive while
    γ > d·(d + 1)·c·d·2^{−53} (Higham, Accuracy and Stability, Theorem 10.7): with γ ≥ 10^{−8} up to d = 400.
    """
    row = 0
    for a in range(d):
        other = 0
        for b in range(a + 1):
            total = matrix[row + b]
            for k in range(b):
                total -= matrix[row + k] * matrix[other + k]
            if b < a:
                matrix[row + b] = total / matrix[other + b]
            elif total > 0.0:
                matrix[row + a] = math.sqrt(total)
            else:
                return False
            other += b + 1
        row += a + 1
    return True


@kernel
def solve_factorized(factor: FloatArray, values: FloatArray) -> None:
    """``values`` ← S^{-1}·``values``: O(d²)."""
    d = values.size
    row = 0
    for a in range(d):
        total = values[a]
        for b in range(a):
            total -= factor[row + b] * values[b]
        values[a] = total / factor[row + a]
        row += a + 1
    for a in range(d - 1, -1, -1):
        row -= a + 1
        values[a] /= factor[row + a]
        for b in range(a):
            values[b] -= factor[row + b] * values[a]


@kernel
def mix_in_design(space: Space, state: LinearState, mixing: float) -> int:
    """p = (1 − γ)·q + γ·p_0, and the factor of S(p); return a status."""
    share = max(mixing, LEAST_MIXING)
    for i in range(state.p.size):
        state.p[i] = (1.0 - share) * state.q[i] + share * space.design[i]
    add_up_outer_products(space.columns, state.p, state.weighted, state.factor)
    return CONVERGED if factorize(state.factor, state.direction.size) else FAILED


@kernel
def add_estimates(space: Space, state: LinearState, arm: int, loss: float, weight: float) -> None:
    """Add the estimates of all arms, minus ½, to ``latest``: O(d² + K·d)."""
    columns, direction = space.columns, state.direction
    n, d = state.latest.size, direction.size
    for a in range(d):
        direction[a] = columns[a * n + arm]
    solve_factorized(state.factor, direction)
    scale = (loss - 0.5) * (state.p[arm] / weight)
    for a in range(d):
        share = scale * direction[a]
        for i in range(n):
            state.latest[i] += share * columns[a * n + i]
    state.scalars[LEARNED] += 1.0


@kernel
def end_learning(state: LinearState) -> bool:
    """Has the round had an observation?"""
    learned = state.scalars[LEARNED] > 0.0
    state.scalars[LEARNED] = 0.0
    return bool(learned)


@kernel
def add_latest_minus_half(state: LinearState) -> float:
    """Add the estimates of the round, minus ½, to the sums; return the whole number subtracted from these."""
    smallest = add_latest_to(state.losses, state.latest)
    state.scalars[OFFSET] += 0.5
    return 0.0 if abs(smallest) <= RECENTER else recenter_at(state.losses, smallest, state.scalars)


def learns_linear_losses(kind: type) -> None:
    """Register all kernels but init and step of a policy with a ``space`` and a :class:`LinearState`."""
    draws_from_its_p(kind)
    learn.register(kind)(_learn)
    shows_its_losses(kind)


def _learn(params: Any, state: LinearState, arm: int, loss: float, weight: float, memo: float) -> None:
    add_estimates(params.space, state, arm, loss, weight)
