"""The appendix's table: what each of the four parts of the regret costs, in self-bounding quantities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError, NotCoveredError
from bothworlds.policies import FTRL
from bothworlds.theory.bounds.paper import Shape, covered, shape
from bothworlds.theory.bounds.statement import BoundSetting, Term


@dataclass(frozen=True)
class TermRow:
    """One line of the table: S₁(x₁) + S₂(x₂) + additive terms + D, each with constant 1.

    Attributes
    ----------
    name:
        PreCost, RegSub, RegOpt, ResReg, or Reg, the whole.
    first, second:
        x₁ and x₂; 0 where the quantity does not occur.
    additive:
        The other terms.
    spread:
        Does D occur?
    formula:
        The line in symbols.
    """

    name: str
    first: float
    second: float
    additive: tuple[Term, ...]
    spread: bool
    formula: str

    def value(self, plays: ArrayLike, spread: float = 0.0) -> float:
        """The line in numbers, given Σ_t p_i^t for every arm i of V.

        S₁(x) = √(x·Σ_V Σ_t p_i^t) and S₂(x) = Σ_V √(x·Σ_t p_i^t).
        """
        mass = _check.vector("plays", plays, at_least=0.0)
        total = math.sqrt(self.first * mass.sum()) + float(np.sqrt(self.second * mass).sum())
        return total + sum(term.value for term in self.additive) + (spread if self.spread else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**vars(self), "additive": [vars(term) | {} for term in self.additive]}


@dataclass(frozen=True)
class TermTable:
    """PreCost, RegSub, RegOpt, ResReg and their sum for one regularizer; see :func:`term_table`."""

    source: str
    n_arms: int
    horizon: int
    n_optimal: int
    rows: tuple[TermRow, ...]

    def __getitem__(self, name: str) -> TermRow:
        """The row of that name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"{name!r}; the rows are {', '.join(row.name for row in self.rows)}")

    def worst(self, row: TermRow) -> float:
        """A row at its largest, with D = 0: all T plays on arms of V, in equal shares."""
        n = self.n_arms - self.n_optimal
        return row.value(np.full(n, self.horizon / n))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**vars(self), "rows": [row.to_dict() for row in self.rows]}

    def table(self) -> str:
        """All rows as text, with their largest values."""
        wide = max(len(row.formula) for row in self.rows)
        lines = [
            f"{self.source}: K = {self.n_arms}, T = {self.horizon:,}, #U = {self.n_optimal}; "
            "every constant 1",
            f"{'term':<8}{'bound':<{wide}}  {'at most':>12}",
        ]
        lines += [f"{row.name:<8}{row.formula:<{wide}}  {self.worst(row):>12,.1f}" for row in self.rows]
        return "\n".join(lines)


def term_table(policy: FTRL, *, n_arms: int, horizon: int, n_optimal: int = 1) -> TermTable:
    """The appendix's table of PreCost, RegSub, RegOpt and ResReg for the paper's algorithm.

    The regret is the sum of the four. Each is bounded by self-bounding quantities, with
    m_i = Σ_t p_i^t for the arms of V:

        S₁(x) = E √(x·Σ_V m_i),    S₂(x) = E Σ_V √(x·m_i),

    by D, and by terms that depend on K and T alone. Set U = {i*} for the adversarial bound; there
    Σ_V m_i ≤ T, which gives ``worst``. Condition (1) bounds the same quantities by
    z(Reg + C) + #U·x/(4zΔ_min) and z(Reg + C) + Σ_V x/(4zΔ_i), which gives the bound with gaps.

    Parameters
    ----------
    policy:
        ``FTRL`` with the theorems' constants.
    n_arms, horizon, n_optimal:
        K, T and #U, at least one and fewer than K.

    Notes
    -----
    PreCost is as in its lemmas, with C_log rather than with its printed order: 162 is too large to hide.
    The lemmas swap α for the log-barrier and for Shannon entropy; the theorems' values are meant.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.LogBarrier(), constants="paper")
    >>> print(bw.theory.term_table(policy, n_arms=4, horizon=10_000).table())
    Theorem 3.1 (log-barrier): K = 4, T = 10,000, #U = 1; every constant 1
    term    bound                                                             at most
    PreCost S₂(log T) + C_log·K·log T + D                                     6,494.0
    RegSub  S₂(log T)                                                           525.7
    RegOpt  0                                                                     0.0
    ResReg  S₁(#U·log T) + S₂(log T) + K²/√(log T)                              834.4
    Reg     S₁(#U·log T) + S₂(log T) + K²/√(log T) + C_log·K·log T + D        6,802.7
    """
    n_arms = _check.integer("n_arms", n_arms, at_least=2)
    horizon = _check.integer("horizon", horizon, at_least=n_arms, fix=f"there are {n_arms} arms")
    n_optimal = _check.integer("n_optimal", n_optimal, at_least=1)
    if n_optimal >= n_arms:
        raise InvalidArgumentError("n_optimal", n_optimal, f"below the number of arms, {n_arms}")
    setting = BoundSetting(n_arms, horizon, horizon)
    try:
        if not isinstance(policy, FTRL):
            raise NotCoveredError("the table is of FTRL with constants='paper' or 'printed'")
        regularizer, log_barrier, _ = covered(policy, setting)
    except NotCoveredError as refusal:
        raise InvalidArgumentError("policy", policy, "one that a theorem covers", fix=str(refusal)) from None
    form = shape(regularizer, log_barrier, setting)
    return TermTable(form.theorem, n_arms, horizon, n_optimal, _rows(form, n_optimal))


def _rows(form: Shape, n_optimal: int) -> tuple[TermRow, ...]:
    residual, barrier = form.additive
    first, x = n_optimal * form.factor, form.factor
    s1, s2 = f"S₁(#U·{form.factor_text})", f"S₂({form.factor_text})"
    start = () if form.start is None else (form.start,)
    early = x if form.theorem.startswith("Theorem 3.1") else 0.0  # the penalty of the log-barrier has no sign
    before = [*([s2] if early else []), *(term.formula for term in start), barrier.formula, "D"]
    return (
        TermRow("PreCost", 0.0, early, (*start, barrier), True, " + ".join(before)),
        TermRow("RegSub", 0.0, x, (), False, s2),
        TermRow("RegOpt", 0.0, 0.0, (), False, "0"),
        TermRow("ResReg", first, x, (residual,), False, f"{s1} + {s2} + {residual.formula}"),
        TermRow(
            "Reg",
            first,
            x,
            (residual, barrier),
            True,
            f"{s1} + {s2} + {residual.formula} + {barrier.formula} + D",
        ),
    )
