"""An adversary that punishes certainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bothworlds._jit import FloatArray
from bothworlds.environments.adaptive import Adversary, reads_the_distribution
from bothworlds.environments.base import Totals, prepare


class KillerParameters(NamedTuple):
    """The number of arms."""

    n_arms: int


@dataclass(frozen=True, repr=False, kw_only=True)
class DeterministicKiller(Adversary, name="deterministic-killer"):
    """Loss 1 for an arm that is played for certain, 0 for all others.

    Against a deterministic policy this is an oblivious sequence, found by simulating the policy, on which it
    loses every round while some arm loses at most T/K: regret ≥ T(1−1/K). A policy that randomizes is
    never touched by it.

    Examples
    --------
    >>> import bothworlds as bw
    >>> run = bw.simulate(bw.UCB1(), bw.environments.DeterministicKiller(n_arms=2), horizon=100)
    >>> bool(run.regret[0, 0, -1] >= 50)
    True
    """

    def parameters(self, horizon: int) -> KillerParameters:
        """The number of arms; the horizon plays no part."""
        return KillerParameters(self.n_arms)


@prepare.register(KillerParameters)
def _(env: KillerParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(env.n_arms):
        world.losses[i] = 1.0 if p[i] >= 1.0 - 1e-9 else 0.0


reads_the_distribution(KillerParameters)
