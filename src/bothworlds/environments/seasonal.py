"""Seasons: all arms move together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, Totals, prepare
from bothworlds.environments.moving import draws_from_its_means
from bothworlds.environments.stationary import check_means
from bothworlds.settings import Positive


class SeasonalParameters(NamedTuple):
    """Number of arms, their means, rounds and amplitude of a season, scale; gaps are by round."""

    n_arms: int
    means: FloatArray
    period: float
    amplitude: float
    logit: bool
    dynamic: bool


@dataclass(frozen=True, repr=False, kw_only=True)
class Seasonal(Environment, name="seasonal"):
    """Bernoulli losses whose means move together, as by the time of the day: their order stays.

    With s = amplitude·sin(2π·t/period), arm i has in round t the mean

    * μ_i + s for ``scale="linear"``: gaps are fixed;
    * μ_i·e^s/(1 − μ_i + μ_i·e^s) for ``scale="logit"``: its log-odds are those of μ_i plus s. Small rates
      grow and shrink in proportion, and so do gaps.

    The best arm stays the best, so that regret to it is at the same time regret to the best arm of each
    round. What a policy needs here is not to take a season for a change of the ranking.

    Parameters
    ----------
    means:
        μ_i, one per arm, in [0, 1].
    period:
        Rounds of a season, above 0.
    amplitude:
        At least 0; for ``"linear"`` such that means stay in [0, 1].
    scale:
        ``"linear"`` or ``"logit"``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Seasonal(means=[0.4, 0.6], period=500, amplitude=0.4)
    >>> world.gaps.round(3)
    array([0. , 0.2])
    >>> run = bw.simulate([bw.LightBarrier(), bw.GLRKLUCB()], world, horizon=5000, replications=8, seed=1)
    >>> calm, restless = run.regret[:, :, -1].mean(axis=1)
    >>> bool(calm < restless)
    True
    """

    means: Sequence[float]
    period: Positive
    amplitude: float
    scale: Literal["linear", "logit"] = "linear"

    regret_kind = "pseudo-regret: sum of the gaps that the arms played had in their rounds"

    def __post_init__(self) -> None:
        super().__post_init__()
        means = check_means("means", self.means)
        room = min(*means, 1.0 - max(means)) * (1 + 1e-12)  # 1 − 0.9 falls short of 0.1 by rounding
        most = room if self.scale == "linear" else None
        fix = "means must stay in [0, 1]; or use scale='logit'" if self.scale == "linear" else ""
        _check.number("amplitude", self.amplitude, at_least=0.0, at_most=most, fix=fix)
        self._set(means=means)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.means)

    @property
    def gaps(self) -> FloatArray | None:
        """Those of the means, where they are fixed: on the linear scale."""
        if self.scale == "logit":
            return None
        gaps = np.array(self.means) - min(self.means)
        return np.where(gaps < 1e-12, 0.0, gaps)  # means that differ by rounding are equal

    def parameters(self, horizon: int) -> SeasonalParameters:
        """The settings in numbers, which select the kernels."""
        means, logit = np.array(self.means), self.scale == "logit"
        return SeasonalParameters(self.n_arms, means, self.period, self.amplitude, logit, True)


@prepare.register(SeasonalParameters)
def _(env: SeasonalParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    season = env.amplitude * math.sin(2.0 * math.pi * t / env.period)
    factor = math.exp(season)
    for i in range(env.n_arms):
        mean = env.means[i]
        if env.logit:
            world.losses[i] = mean * factor / (1.0 - mean + mean * factor)
        else:
            world.losses[i] = mean + season


draws_from_its_means(SeasonalParameters)
