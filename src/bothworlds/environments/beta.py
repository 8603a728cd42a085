"""Independent, identically distributed Beta losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import loss_of
from bothworlds.environments.stationary import Stationary, check_means, costs_its_gap
from bothworlds.errors import InvalidArgumentError
from bothworlds.variates import sample_beta


class BetaParameters(NamedTuple):
    """Shape parameters and gaps of all arms."""

    a: FloatArray
    b: FloatArray
    gaps: FloatArray


@dataclass(frozen=True, repr=False, kw_only=True)
class Beta(Stationary, name="beta"):
    """Independent Beta losses: arm i has Beta(c·m_i, c·(1−m_i)) with mean m_i and concentration c.

    Parameters
    ----------
    means:
        Mean losses in (0, 1).
    concentration:
        c; the variance is m(1−m)/(1+c). Both shape parameters must be at least 1.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.environments.Beta(means=[0.3, 0.5], concentration=8.0).gaps
    array([0. , 0.2])
    """

    means: Sequence[float]
    concentration: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(means=check_means("means", self.means))
        room = min(min(m, 1.0 - m) for m in self.means)
        if room == 0.0:
            raise InvalidArgumentError("means", self.means, "inside (0, 1)", fix="for 0 and 1 use Bernoulli")
        needed = 1.0 / room
        fix = "both shape parameters c·m and c·(1−m) must be at least 1 for every mean m"
        _check.number("concentration", self.concentration, at_least=needed * (1 - 1e-12), fix=fix)

    def mean_losses(self) -> FloatArray:
        """The means."""
        return np.array(self.means)

    def parameters(self, horizon: int) -> BetaParameters:
        """Shape parameters and gaps."""
        means = self.mean_losses()
        a, b = self.concentration * means, self.concentration * (1.0 - means)
        return BetaParameters(np.maximum(a, 1.0), np.maximum(b, 1.0), self.gaps)


@loss_of.register(BetaParameters)
def _(env: BetaParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    return sample_beta(env.a[arm], env.b[arm], uniforms[0], 0)


costs_its_gap(BetaParameters)
