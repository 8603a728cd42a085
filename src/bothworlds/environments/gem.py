"""An adversary that hides a good arm from policies that have given it up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from bothworlds._jit import FloatArray
from bothworlds.environments.adaptive import Adversary, reads_the_distribution
from bothworlds.environments.base import Totals, prepare
from bothworlds.settings import Within


class GemParameters(NamedTuple):
    """The number of arms, and the probability at which the first shows itself as bad."""

    n_arms: int
    threshold: float


@dataclass(frozen=True, repr=False, kw_only=True)
class Gem(Adversary, name="gem"):
    """The first arm has loss 0 while its probability is below a threshold θ, else 1; all others have ½.

    A policy that tries an arm seldom, once it looks bad, suffers from it whenever it leans to it, and does
    not see how good it is in all other rounds. Made against samplers whose probabilities become very small.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Gem(n_arms=2)
    >>> run = bw.simulate([bw.UCB1(), bw.LightBarrier()], world, horizon=10_000, replications=4, seed=1)
    >>> fooled, warned = run.regret[:, :, -1].mean(axis=1)
    >>> bool(warned < fooled)
    True
    """

    threshold: Annotated[float, Within(above=0.0, at_most=1.0)] = 0.01

    def parameters(self, horizon: int) -> GemParameters:
        """K and θ."""
        return GemParameters(self.n_arms, self.threshold)


@prepare.register(GemParameters)
def _(env: GemParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(env.n_arms):
        world.losses[i] = 0.5
    world.losses[0] = 0.0 if p[0] < env.threshold else 1.0


reads_the_distribution(GemParameters)
