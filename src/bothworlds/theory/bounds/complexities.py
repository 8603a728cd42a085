"""How hard an instance is: the sums over gaps that regret bounds are made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError


@dataclass(frozen=True)
class Complexity:
    """The complexities of one instance; see :func:`complexity`.

    Attributes
    ----------
    n_arms, n_optimal, smallest_gap:
        K, #U and Δ_min.
    paper:
        𝔾 = #U/Δ_min + Σ_V 1/Δ_i, times log T in Theorems 3.1 to 3.3.
    classic:
        Σ_V 1/Δ_i, times log T for UCB1, Tsallis-INF and, with one optimal arm, Ito (2021).
    crude:
        K/Δ_min, times log T for Wei and Luo (2018), times log² T for Ito, Tsuchiya and Honda (2022).
    squared, cubed, total:
        Σ_V 1/Δ_i², Σ_V 1/Δ_i³ and Σ_V Δ_i.
    decoupled:
        √(K·Σ_V 1/Δ_i²), the paper's regret in the decoupled problem, whatever T.
    decoupled_prior:
        √(K·Σ_V 1/(Δ_i·Δ_min)), that of Rouyer and Seldin (2020).
    """

    n_arms: int
    n_optimal: int
    smallest_gap: float
    paper: float
    classic: float
    crude: float
    squared: float
    cubed: float
    total: float
    decoupled: float
    decoupled_prior: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers by name."""
        return asdict(self)

    def table(self) -> str:
        """All of them as text."""
        rows = [
            ("paper", "#U/Δ_min + Σ_V 1/Δ_i", self.paper),
            ("classic", "Σ_V 1/Δ_i", self.classic),
            ("crude", "K/Δ_min", self.crude),
            ("squared", "Σ_V 1/Δ_i²", self.squared),
            ("decoupled", "√(K·Σ_V 1/Δ_i²)", self.decoupled),
            ("decoupled_prior", "√(K·Σ_V 1/(Δ_i·Δ_min))", self.decoupled_prior),
        ]
        head = f"{self.n_arms} arms, {self.n_optimal} optimal, smallest gap {self.smallest_gap:g}"
        return "\n".join([head, *(f"{name:<16} {formula:<24} {x:>12.4g}" for name, formula, x in rows)])


def complexity(gaps: ArrayLike) -> Complexity:
    """The complexities of an instance with these gaps.

    U are the arms of gap 0, V the others, Δ_min the smallest gap of an arm of V. For every instance
    classic ≤ paper ≤ crude and decoupled ≤ decoupled_prior, with equality of the last two exactly if all
    arms of V have the same gap.

    Parameters
    ----------
    gaps:
        Δ_i in [0, 1], one per arm: mean loss minus the smallest mean loss. At least one is 0, and at
        least one is not.

    Examples
    --------
    >>> import bothworlds as bw
    >>> g = bw.theory.complexity([0.0, 0.0, 0.1, 0.5])
    >>> g.paper, g.classic, g.crude
    (32.0, 12.0, 40.0)
    >>> print(g.table())
    4 arms, 2 optimal, smallest gap 0.1
    paper            #U/Δ_min + Σ_V 1/Δ_i               32
    classic          Σ_V 1/Δ_i                          12
    crude            K/Δ_min                            40
    squared          Σ_V 1/Δ_i²                        104
    decoupled        √(K·Σ_V 1/Δ_i²)                  20.4
    decoupled_prior  √(K·Σ_V 1/(Δ_i·Δ_min))          21.91

    References
    ----------
    T. Jin, J. Liu, H. Luo: Improved Best-of-Both-Worlds Guarantees for Multi-Armed Bandits. NeurIPS 2023:
    Tables 1 and 2.
    """
    values = _check.vector("gaps", gaps, at_least=0.0, at_most=1.0)
    suboptimal = values[values > 0.0]
    if suboptimal.size == values.size:
        raise InvalidArgumentError(
            "gaps",
            values.tolist(),
            "numbers of which one is 0, that of a best arm",
            fix="subtract the smallest mean loss from all mean losses",
        )
    if suboptimal.size == 0:
        raise InvalidArgumentError(
            "gaps",
            values.tolist(),
            "numbers of which one is positive",
            fix="where all arms are optimal there is nothing to learn: leave gaps out for the "
            "adversarial bound",
        )
    n, smallest = values.size, float(suboptimal.min())
    inverse = 1.0 / suboptimal
    classic, squared = float(inverse.sum()), float((inverse**2).sum())
    return Complexity(
        n_arms=n,
        n_optimal=n - suboptimal.size,
        smallest_gap=smallest,
        paper=(n - suboptimal.size) / smallest + classic,
        classic=classic,
        crude=n / smallest,
        squared=squared,
        cubed=float((inverse**3).sum()),
        total=float(suboptimal.sum()),
        decoupled=float(np.sqrt(n * squared)),
        decoupled_prior=float(np.sqrt(n * classic / smallest)),
    )
