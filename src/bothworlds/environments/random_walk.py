"""Bernoulli losses whose means follow random walks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Totals, prepare
from bothworlds.environments.moving import Moving, draws_from_its_means
from bothworlds.environments.stationary import check_means
from bothworlds.errors import InvalidArgumentError
from bothworlds.rng import expand
from bothworlds.settings import UnitInterval

ROOT_12 = math.sqrt(12.0)


class RandomWalkParameters(NamedTuple):
    """Number of arms, first means, width of a step, limits, kind of regret."""

    n_arms: int
    start: FloatArray
    width: float
    low: float
    high: float
    dynamic: bool


@dataclass(frozen=True, repr=False, kw_only=True)
class RandomWalk(Moving, name="random-walk"):
    """Bernoulli losses whose means follow independent random walks, reflected at both ends of a range.

    Before every round but the first, each mean moves by a step that is uniform on [−√3·σ, √3·σ], whose
    standard deviation is σ; what would leave the range is reflected into it. In n rounds a mean moves by
    about σ·√n. The walk belongs to the world: it is the same for all policies of a replication.

    Parameters
    ----------
    start:
        The mean losses in the first round, one per arm.
    step:
        σ ≥ 0; a step must not be longer than the range.
    low, high:
        The range of the means, within [0, 1].
    benchmark:
        ``"fixed"``: regret to the best fixed arm; ``"dynamic"``: to the best arm of each round.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.RandomWalk(start=[0.5, 0.5], step=0.01, benchmark="dynamic")
    >>> run = bw.simulate([bw.Thompson(), bw.DiscountedThompson(0.99)], world, horizon=5000, replications=8)
    >>> old, new = run.regret[:, :, -1].mean(axis=1)
    >>> bool(new < old)
    True
    """

    draws: ClassVar[int] = 2

    start: Sequence[float]
    step: float
    low: UnitInterval = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.low, _check.number("high", self.high, above=self.low, at_most=1.0)
        start = check_means("start", self.start)
        if min(start) < low or max(start) > high:
            raise InvalidArgumentError("start", self.start, f"within [low, high] = [{low:g}, {high:g}]")
        most = (high - low) / math.sqrt(3.0)
        fix = "a step must not be longer than the range, high − low"
        _check.number("step", self.step, at_least=0.0, at_most=most, fix=fix)
        self._set(start=start)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.start)

    def parameters(self, horizon: int) -> RandomWalkParameters:
        """The settings in numbers, which select the kernels."""
        start, width = np.array(self.start), ROOT_12 * self.step
        return RandomWalkParameters(self.n_arms, start, width, self.low, self.high, self.dynamic)


@prepare.register(RandomWalkParameters)
def _(env: RandomWalkParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(env.n_arms):
        if t == 1:
            world.losses[i] = env.start[i]
            continue
        mean = world.losses[i] + env.width * (expand(uniforms[1], i) - 0.5)
        if mean < env.low:
            mean = 2.0 * env.low - mean
        elif mean > env.high:
            mean = 2.0 * env.high - mean
        world.losses[i] = min(env.high, max(env.low, mean))  # the range may be left by rounding


draws_from_its_means(RandomWalkParameters)
