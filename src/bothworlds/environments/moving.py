"""Bernoulli losses whose means move: a best arm that switches, means that drift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, Totals, keep_totals, loss_of, prepare
from bothworlds.environments.stationary import check_design

REGRET = "regret to the best fixed arm, both by their mean losses"


class SwitchingParameters(NamedTuple):
    """Number of arms, mean of the best arm and of the others, length of a phase."""

    n_arms: int
    best: float
    other: float
    period: int


@dataclass(frozen=True, repr=False, kw_only=True)
class Switching(Environment):
    """Bernoulli losses with a best arm that moves on to the next arm every ``period`` rounds.

    The best arm has mean (1−gap)/2, the others (1+gap)/2. ``period=None`` means one single switch, in the
    middle of the horizon, the classic trap for policies that have made up their mind.
    """

    n_arms: int
    gap: float
    period: int | None = None

    regret_kind = REGRET

    def __post_init__(self) -> None:
        check_design(self.n_arms, self.gap, 1)
        if self.period is not None:
            _check.integer("period", self.period, at_least=1)

    def parameters(self, horizon: int) -> SwitchingParameters:
        """Means and period."""
        period = max(1, (horizon + 1) // 2) if self.period is None else self.period
        return SwitchingParameters(self.n_arms, (1.0 - self.gap) / 2, (1.0 + self.gap) / 2, period)


@prepare.register(SwitchingParameters)
def _(env: SwitchingParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    best = ((t - 1) // env.period) % env.n_arms
    for i in range(env.n_arms):
        world.losses[i] = env.best if i == best else env.other
        world.totals[i] += world.losses[i]


class DriftingParameters(NamedTuple):
    """Number of arms, middle and amplitude of the means, rounds per turn."""

    n_arms: int
    level: float
    amplitude: float
    period: float


@dataclass(frozen=True, repr=False, kw_only=True)
class Drifting(Environment):
    """Bernoulli losses whose means swing: arm i has mean level + amplitude·sin(2π(t/period + i/K)).

    Every arm is the best one for the K-th part of each period.
    """

    n_arms: int
    period: float
    level: float = 0.5
    amplitude: float = 0.4

    regret_kind = REGRET

    def __post_init__(self) -> None:
        _check.integer("n_arms", self.n_arms, at_least=1)
        _check.number("period", self.period, above=0.0)
        level = _check.number("level", self.level, at_least=0.0, at_most=1.0)
        room = min(level, 1.0 - level) * (1 + 1e-12)  # 1 − 0.9 falls short of 0.1 by rounding
        _check.number(
            "amplitude", self.amplitude, at_least=0.0, at_most=room, fix="means must stay in [0, 1]"
        )

    def parameters(self, horizon: int) -> DriftingParameters:
        """The four numbers."""
        return DriftingParameters(self.n_arms, float(self.level), float(self.amplitude), float(self.period))


@prepare.register(DriftingParameters)
def _(env: DriftingParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(env.n_arms):
        phase = t / env.period + i / env.n_arms
        world.losses[i] = env.level + env.amplitude * math.sin(2.0 * math.pi * phase)
        world.totals[i] += world.losses[i]


def _bernoulli(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> float:
    return 1.0 if uniforms[0] < world.losses[arm] else 0.0


for _kind in (SwitchingParameters, DriftingParameters):
    loss_of.register(_kind)(_bernoulli)
    keep_totals(_kind, lambda env: env.n_arms)
