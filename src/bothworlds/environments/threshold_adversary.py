"""An adversary that punishes every arm the policy leans to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bothworlds._jit import FloatArray
from bothworlds.environments.adaptive import Adversary, reads_the_distribution
from bothworlds.environments.base import Totals, prepare


class ThresholdParameters(NamedTuple):
    """The number of arms."""

    n_arms: int


@dataclass(frozen=True, repr=False, kw_only=True)
class ThresholdAdversary(Adversary, name="threshold-adversary"):
    """Loss 1 for every arm with probability of at least 1/K, else 0: what the policy leans to is punished.

    "At least", so that a policy that starts uniform does not stay so for ever, untouched.

    Examples
    --------
    >>> import bothworlds as bw
    >>> run = bw.simulate(bw.TsallisINF(), bw.environments.ThresholdAdversary(n_arms=2), horizon=100)
    >>> bool(run.regret[0, 0, -1] < 50)
    True
    """

    def parameters(self, horizon: int) -> ThresholdParameters:
        """The number of arms; the horizon plays no part."""
        return ThresholdParameters(self.n_arms)


@prepare.register(ThresholdParameters)
def _(env: ThresholdParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(env.n_arms):
        # what falls short of 1/K only by rounding does not
        world.losses[i] = 1.0 if p[i] * env.n_arms >= 1.0 - 1e-9 else 0.0


reads_the_distribution(ThresholdParameters)
