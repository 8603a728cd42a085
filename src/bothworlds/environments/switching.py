"""A best arm that switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bothworlds._jit import FloatArray
from bothworlds.environments.base import Totals, prepare
from bothworlds.environments.moving import Moving, draws_from_its_means
from bothworlds.environments.stationary import Gap
from bothworlds.settings import Count


class SwitchingParameters(NamedTuple):
    """Number of arms, mean of the best arm and of the others, length of a phase, kind of regret."""

    n_arms: int
    best: float
    other: float
    period: int
    dynamic: bool


@dataclass(frozen=True, repr=False, kw_only=True)
class Switching(Moving, name="switching"):
    """Bernoulli losses with a best arm that moves on to the next arm every ``period`` rounds.

    The best arm has mean (1−gap)/2, the others (1+gap)/2. ``period=None`` means one single switch, in the
    middle of the horizon, the classic trap for policies that have made up their mind.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Switching(n_arms=2, gap=0.4)
    >>> run = bw.simulate([bw.UCB1(), bw.TsallisINF()], world, horizon=1000, replications=8)
    >>> run.regret.shape[:2]
    (2, 8)
    """

    n_arms: Count
    gap: Gap
    period: Count | None = None

    def parameters(self, horizon: int) -> SwitchingParameters:
        """Means and period."""
        period = max(1, (horizon + 1) // 2) if self.period is None else self.period
        best, other = (1.0 - self.gap) / 2, (1.0 + self.gap) / 2
        return SwitchingParameters(self.n_arms, best, other, period, self.dynamic)


@prepare.register(SwitchingParameters)
def _(env: SwitchingParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    best = ((t - 1) // env.period) % env.n_arms
    for i in range(env.n_arms):
        world.losses[i] = env.best if i == best else env.other


draws_from_its_means(SwitchingParameters)
