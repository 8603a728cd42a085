"""Independent, identically distributed losses with finitely many values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import loss_of
from bothworlds.environments.stationary import Stationary, check_means, costs_its_gap
from bothworlds.errors import InvalidArgumentError


class DiscreteParameters(NamedTuple):
    """Values, cumulative probabilities of every arm, and gaps."""

    values: FloatArray
    cumulative: FloatArray
    gaps: FloatArray


@dataclass(frozen=True, repr=False, kw_only=True)
class Discrete(Stationary, name="discrete"):
    """Independent losses that take finitely many values.

    Parameters
    ----------
    values:
        The possible losses, in [0, 1].
    probabilities:
        One row per arm: the probability of each value.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.environments.Discrete(values=[0.0, 1.0], probabilities=[[0.9, 0.1], [0.5, 0.5]]).mean_losses()
    array([0.1, 0.5])
    """

    values: Sequence[float]
    probabilities: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(values=check_means("values", self.values))
        if not isinstance(self.probabilities, Sequence | np.ndarray):
            raise InvalidArgumentError("probabilities", self.probabilities, "a sequence with one row per arm")
        rows = []
        for i, row in enumerate(self.probabilities):
            p = _check.vector("probabilities", row, size=len(self.values), at_least=0.0, index=(i,))
            if abs(p.sum() - 1.0) > 1e-9:
                raise InvalidArgumentError(
                    "probabilities", row, "numbers that sum to 1", got=f"a sum of {p.sum():g}", index=(i,)
                )
            rows.append(tuple(p.tolist()))
        if not rows:
            raise InvalidArgumentError(
                "probabilities", self.probabilities, "at least one row", got="an empty sequence"
            )
        self._set(probabilities=tuple(rows))

    def mean_losses(self) -> FloatArray:
        """Σ value·probability."""
        # correctly rounded: arms that are alike get the very same mean, so none of them seems suboptimal
        products = np.array(self.probabilities) * np.array(self.values)
        return np.array([math.fsum(row) for row in products])

    def parameters(self, horizon: int) -> DiscreteParameters:
        """Values, cumulative probabilities and gaps."""
        return DiscreteParameters(np.array(self.values), np.cumsum(self.probabilities, axis=1), self.gaps)


@loss_of.register(DiscreteParameters)
def _(env: DiscreteParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    for j in range(env.values.size - 1):
        if uniforms[0] < env.cumulative[arm, j]:
            return float(env.values[j])
    return float(env.values[-1])


costs_its_gap(DiscreteParameters)
