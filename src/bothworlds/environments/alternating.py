"""Two arms that lose in turn: the trap for policies whose feedback comes late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, Totals, prepare
from bothworlds.environments.moving import REGRET_BY_MEANS, draws_from_its_means
from bothworlds.settings import Count, UnitInterval, Within


class AlternatingParameters(NamedTuple):
    """Number of arms, rounds until the next turn, rounds that are over at the start, loss of the others."""

    n_arms: int
    period: int
    offset: int
    other: float


@dataclass(frozen=True, repr=False, kw_only=True)
class Alternating(Environment, name="alternating"):
    """The first two arms lose in turn, ``period`` rounds each; all others lose with probability ``other``.

    Each of the two has loss ½ in the mean, so that the best fixed arm has about T/2. A policy may do better,
    by following the arm that does not lose, and does if feedback comes at once. If it is late by d rounds,
    then at period = 2d what is seen lags behind by a quarter of the whole cycle, and who follows it loses
    more than they win: the worst phase.

    Parameters
    ----------
    n_arms:
        At least 2.
    period:
        After so many rounds it is the turn of the other arm.
    offset:
        How many rounds are over at the start; None: half a period.
    other:
        Mean loss of all other arms, in [0, 1].

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Alternating(n_arms=4, period=200)
    >>> late = bw.environments.Delayed(world, mean=100)
    >>> late.regret_kind
    'regret to the best fixed arm, both by their mean losses'
    """

    n_arms: Annotated[int, Within(at_least=2)]
    period: Count
    offset: Annotated[int, Within(at_least=0)] | None = None
    other: UnitInterval = 0.75

    regret_kind = REGRET_BY_MEANS

    def parameters(self, horizon: int) -> AlternatingParameters:
        """The settings in numbers, which select the kernels."""
        offset = self.period // 2 if self.offset is None else self.offset
        return AlternatingParameters(self.n_arms, self.period, offset, self.other)


@prepare.register(AlternatingParameters)
def _(env: AlternatingParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    loser = ((t - 1 + env.offset) // env.period) % 2
    for i in range(env.n_arms):
        world.losses[i] = env.other
    world.losses[loser] = 1.0
    world.losses[1 - loser] = 0.0


draws_from_its_means(AlternatingParameters)
