"""Faked feedback: for a while, one arm looks better than it is."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import loss_of, open_world
from bothworlds.environments.wrapper import Wrapper, passes_on
from bothworlds.errors import InvalidArgumentError
from bothworlds.settings import Count, UnitInterval, Within


class FakedParameters(NamedTuple):
    """The base environment, the arm, the first and the last round, the mean of the faked losses."""

    base: Any
    arm: int
    first: int
    last: int
    mean: float


class FakedWorld(NamedTuple):
    """The base world."""

    base: Any


@dataclass(frozen=True, repr=False)
class Faked(Wrapper, name="faked"):
    """Another environment in which the feedback of one arm is faked in some rounds: clicks by robots, say.

    In rounds first … last the loss *shown* for the arm is not its own: it is 1 with probability ``mean``,
    else 0, whatever the base has. What an arm *costs* stays as it is in the base: ``regret`` and
    ``clean_regret`` are those of the base, by its true means (or losses), and a policy that follows the fakes
    pays for it. (In :class:`Corrupted` changed losses count in ``regret``.) ``losses`` adds up what is shown.

    Parameters
    ----------
    base:
        Any environment that is not Delayed. (Delay what is faked, not the other way round.)
    arm:
        The arm that is made to look better.
    first, last:
        The rounds in which it is, from 1 on, both included.
    mean:
        The mean of the faked losses, in [0, 1].

    Examples
    --------
    >>> import bothworlds as bw
    >>> E = bw.environments
    >>> world = E.Faked(E.Bernoulli(means=[0.5, 0.7]), arm=1, first=200, last=400, mean=0.1)
    >>> run = bw.simulate([bw.Thompson()], world, horizon=1000, replications=8, seed=1)
    >>> honest = bw.simulate([bw.Thompson()], world.base, horizon=1000, replications=8, seed=1)
    >>> bool(run.regret[..., -1].mean() > honest.regret[..., -1].mean() + 20)
    True
    """

    _: KW_ONLY
    arm: Annotated[int, Within(at_least=0)]
    first: Count
    last: int
    mean: UnitInterval = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arm >= self.base.n_arms:
            raise InvalidArgumentError("arm", self.arm, f"below the number of arms, {self.base.n_arms}")
        _check.integer("last", self.last, at_least=self.first)
        self._set(regret_kind=f"on what the arms really cost, {self.base.regret_kind}")

    def mean_losses_so_far(self, world: Any, t: int) -> None:
        """Nobody adds up what is shown."""
        return

    def parameters(self, horizon: int) -> FakedParameters:
        """Those of the base, and the fakes."""
        return FakedParameters(self.base.parameters(horizon), self.arm, self.first, self.last, self.mean)


passes_on(FakedParameters)


@open_world.register(FakedParameters)
def _(env: FakedParameters) -> FakedWorld:
    return FakedWorld(open_world(env.base))


@loss_of.register(FakedParameters)
def _(env: FakedParameters, world: FakedWorld, t: int, arm: int, uniforms: FloatArray) -> float:
    if arm == env.arm and env.first <= t <= env.last:
        return 1.0 if uniforms[0] < env.mean else 0.0
    return loss_of(env.base, world.base, t, arm, uniforms)
