"""The stochastically constrained adversary: means that shift together, gaps that stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, cost_of, loss_of, open_world, prepare
from bothworlds.environments.stationary import Gap, check_optimal
from bothworlds.settings import Count, Within


class ConstrainedParameters(NamedTuple):
    """Gaps of all arms, Δ, the growth of phases."""

    gaps: FloatArray
    gap: float
    growth: float


class ConstrainedWorld(NamedTuple):
    """Last round of the phase, its unrounded length, and the loss of an optimal arm in it."""

    scalars: FloatArray


END, LENGTH, LEVEL = 0, 1, 2


@dataclass(frozen=True, repr=False, kw_only=True)
class StochasticallyConstrained(Environment, name="stochastically-constrained"):
    """Bernoulli losses whose means jump between (0, Δ) and (1−Δ, 1), in phases that grow exponentially.

    The first ``optimal`` arms are better by Δ in every single round, but all means move together: in phases
    0, 2, 4, … they are 0 and Δ, in phases 1, 3, 5, … they are 1−Δ and 1. Phase n lasts ⌈growth^n⌉ rounds. An
    average over the past is dominated by the last phases, which misleads UCB1 and Thompson sampling.

    Construction: Zimmert and Seldin (2021), Section 7; growth 1.6 as in their JMLR version.

    Parameters
    ----------
    n_arms, gap, optimal:
        The number of arms, Δ, and how many arms are optimal.
    growth:
        The factor by which phases grow, above 1.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.environments.StochasticallyConstrained(n_arms=4, gap=0.125).gaps
    array([0.   , 0.125, 0.125, 0.125])
    """

    n_arms: Count
    gap: Gap
    optimal: Count = 1
    growth: Annotated[float, Within(above=1.0)] = 1.6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optimal(self.optimal, self.n_arms)

    @property
    def gaps(self) -> FloatArray:
        """Δ for all but the optimal arms."""
        gaps = np.full(self.n_arms, self.gap)
        gaps[: self.optimal] = 0.0
        return gaps

    def parameters(self, horizon: int) -> ConstrainedParameters:
        """Gaps and growth."""
        return ConstrainedParameters(self.gaps, self.gap, self.growth)


@open_world.register(ConstrainedParameters)
def _(env: ConstrainedParameters) -> ConstrainedWorld:
    return ConstrainedWorld(np.array([1.0, 1.0, 0.0]))


@prepare.register(ConstrainedParameters)
def _(
    env: ConstrainedParameters, world: ConstrainedWorld, t: int, p: FloatArray, uniforms: FloatArray
) -> None:
    s = world.scalars
    if t > s[END]:
        s[LENGTH] *= env.growth
        s[END] += np.ceil(s[LENGTH])  # a float: a phase may be longer than any integer
        s[LEVEL] = 1.0 - env.gap if s[LEVEL] == 0.0 else 0.0


@loss_of.register(ConstrainedParameters)
def _(env: ConstrainedParameters, world: ConstrainedWorld, t: int, arm: int, uniforms: FloatArray) -> float:
    return 1.0 if uniforms[0] < world.scalars[LEVEL] + env.gaps[arm] else 0.0


@cost_of.register(ConstrainedParameters)
def _(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return env.gaps[arm], env.gaps[arm]
