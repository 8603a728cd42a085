"""Bernoulli losses whose means follow sine waves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Totals, prepare
from bothworlds.environments.moving import Moving, draws_from_its_means
from bothworlds.settings import Count, Positive, UnitInterval


class DriftingParameters(NamedTuple):
    """Number of arms, middle and amplitude of the means, rounds per turn, kind of regret."""

    n_arms: int
    level: float
    amplitude: float
    period: float
    dynamic: bool


@dataclass(frozen=True, repr=False, kw_only=True)
class Drifting(Moving, name="drifting"):
    """Bernoulli losses whose means swing: arm i has mean level + amplitude·sin(2π(t/period + i/K)).

    Every arm is the best one for the K-th part of each period.

    Examples
    --------
    >>> import bothworlds as bw
    >>> run = bw.simulate(bw.LightBarrier(), bw.environments.Drifting(n_arms=3, period=200.0), horizon=400)
    >>> run.regret.shape[:2]
    (1, 1)
    """

    n_arms: Count
    period: Positive
    level: UnitInterval = 0.5
    amplitude: float = 0.4

    def __post_init__(self) -> None:
        super().__post_init__()
        room = min(self.level, 1.0 - self.level) * (1 + 1e-12)  # 1 − 0.9 falls short of 0.1 by rounding
        _check.number(
            "amplitude", self.amplitude, at_least=0.0, at_most=room, fix="means must stay in [0, 1]"
        )

    def parameters(self, horizon: int) -> DriftingParameters:
        """The settings in numbers, which select the kernels."""
        return DriftingParameters(self.n_arms, self.level, self.amplitude, self.period, self.dynamic)


@prepare.register(DriftingParameters)
def _(env: DriftingParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(env.n_arms):
        phase = t / env.period + i / env.n_arms
        world.losses[i] = env.level + env.amplitude * math.sin(2.0 * math.pi * phase)


draws_from_its_means(DriftingParameters)
