"""A world in which every change of the arm played costs something."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.environments.base import cost_of, open_world
from bothworlds.environments.wrapper import Wrapper, passes_on
from bothworlds.errors import InvalidArgumentError
from bothworlds.settings import NonNegative


class SwitchingCostParameters(NamedTuple):
    """The base environment, and the cost."""

    base: Any
    cost: float


class SwitchingCostWorld(NamedTuple):
    """The base world, and the arm that was played last; −1 before the first round."""

    base: Any
    last: FloatArray


@dataclass(frozen=True, repr=False)
class SwitchingCost(Wrapper, name="switching-cost"):
    """Another environment in which every change of the arm played costs something on top.

    Losses are those of the base. Regret is that of the base plus λ·#{t ≥ 2: the arm of round t is another
    than that of round t−1}. A fixed arm never switches, so what the regret is compared with stays.

    Parameters
    ----------
    base:
        Any environment but a Delayed one (delay what has a switching cost, not the other way round) or
        another SwitchingCost.
    cost:
        λ ≥ 0, in units of the loss.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.SwitchingCost(bw.environments.Bernoulli(n_arms=4, gap=0.2), cost=0.5)
    >>> world.regret_kind
    'pseudo-regret: sum of the gaps of the arms played; and the cost of every switch'
    """

    _: KW_ONLY
    cost: NonNegative

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.base, SwitchingCost):
            wanted = "an environment that is not a SwitchingCost itself"
            raise InvalidArgumentError("base", self.base, wanted)
        kind = f"{self.base.regret_kind}; and the cost of every switch"
        self._set(regret_kind=kind, sets_add_up=False)

    @property
    def gaps(self) -> FloatArray | None:
        """Those of the base."""
        return self.base.gaps

    def corruption(self, horizon: int) -> float | None:
        """That of the base."""
        return self.base.corruption(horizon)

    def spread(self, horizon: int) -> float | None:
        """That of the base."""
        return self.base.spread(horizon)

    def parameters(self, horizon: int) -> SwitchingCostParameters:
        """Those of the base, and the cost."""
        return SwitchingCostParameters(self.base.parameters(horizon), self.cost)


passes_on(SwitchingCostParameters)


@open_world.register(SwitchingCostParameters)
def _(env: SwitchingCostParameters) -> SwitchingCostWorld:
    return SwitchingCostWorld(open_world(env.base), np.full(1, -1.0))


@cost_of.register(SwitchingCostParameters)
def _(
    env: SwitchingCostParameters, world: SwitchingCostWorld, t: int, arm: int, uniforms: FloatArray
) -> tuple[float, float]:
    # called once in every round, for the arm that is played
    cost, clean = cost_of(env.base, world.base, t, arm, uniforms)
    extra = env.cost if t > 1 and world.last[0] != arm else 0.0
    world.last[0] = arm
    return cost + extra, clean + extra
