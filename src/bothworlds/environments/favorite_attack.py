"""An adversary that punishes the arm the policy likes best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bothworlds._jit import FloatArray
from bothworlds.environments.adaptive import Adversary, reads_the_distribution
from bothworlds.environments.base import Totals, prepare


class FavoriteParameters(NamedTuple):
    """The number of arms."""

    n_arms: int


@dataclass(frozen=True, repr=False, kw_only=True)
class FavoriteAttack(Adversary, name="favorite-attack"):
    """Loss 1 for the arm with the largest probability (the first of them), 0 for all others.

    Examples
    --------
    >>> import bothworlds as bw
    >>> run = bw.simulate(bw.UCB1(), bw.environments.FavoriteAttack(n_arms=2), horizon=100)
    >>> run.losses[0, 0, -1]  # a deterministic policy has nothing to hide
    np.float64(100.0)
    """

    def parameters(self, horizon: int) -> FavoriteParameters:
        """The number of arms; the horizon plays no part."""
        return FavoriteParameters(self.n_arms)


@prepare.register(FavoriteParameters)
def _(env: FavoriteParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    favorite = 0
    for i in range(1, env.n_arms):
        if p[i] > p[favorite]:
            favorite = i
    for i in range(env.n_arms):
        world.losses[i] = 1.0 if i == favorite else 0.0


reads_the_distribution(FavoriteParameters)
