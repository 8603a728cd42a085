"""Independent, identically distributed losses from truncated normal distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.environments.base import loss_of
from bothworlds.environments.stationary import Stationary, check_means, costs_its_gap
from bothworlds.settings import Within
from bothworlds.variates import sample_truncated_normal


class TruncatedNormalParameters(NamedTuple):
    """Locations, scale and gaps."""

    locations: FloatArray
    scale: float
    gaps: FloatArray


@dataclass(frozen=True, repr=False, kw_only=True)
class TruncatedNormal(Stationary, name="truncated-normal"):
    """Independent losses from normal distributions restricted to [0, 1].

    Parameters
    ----------
    locations:
        Where the untruncated normals are centered, in [0, 1]. The means differ; ``mean_losses`` has them.
    scale:
        Standard deviation before truncation, in (0, 1].

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.environments.TruncatedNormal(locations=[0.2, 0.5], scale=0.2).mean_losses().round(3)
    array([0.257, 0.5  ])
    """

    locations: Sequence[float]
    scale: Annotated[float, Within(above=0.0, at_most=1.0)] = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(locations=check_means("locations", self.locations))

    def mean_losses(self) -> FloatArray:
        """μ + σ·(φ(α) − φ(β))/(Φ(β) − Φ(α)) with α = −μ/σ, β = (1−μ)/σ."""
        means = []
        for mu in self.locations:
            low, high = -mu / self.scale, (1.0 - mu) / self.scale
            density = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (low, high)]
            mass = 0.5 * (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2)))
            means.append(mu + self.scale * (density[0] - density[1]) / mass)
        return np.array(means)

    def parameters(self, horizon: int) -> TruncatedNormalParameters:
        """Locations, scale and gaps."""
        return TruncatedNormalParameters(np.array(self.locations), self.scale, self.gaps)


@loss_of.register(TruncatedNormalParameters)
def _(env: TruncatedNormalParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    return sample_truncated_normal(env.locations[arm], env.scale, uniforms[0], 0)


costs_its_gap(TruncatedNormalParameters)
