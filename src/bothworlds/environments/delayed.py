"""Feedback that arrives late."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, take_over
from bothworlds.environments.delay import LAWS, DelayParameters
from bothworlds.errors import InvalidArgumentError
from bothworlds.settings import Within


@dataclass(frozen=True, repr=False)
class Delayed(Environment, name="delayed"):
    """Another environment whose feedback arrives after a random number of rounds.

    The loss of a pull made in round t becomes known at the end of round t + d. Laws of the delay:

    * ``"fixed"``: d = mean;
    * ``"geometric"``: P(d = n) = (1−q)q^n with that mean;
    * ``"heavy"``: d = ⌊X⌋ with P(X > x) = (1 + x/mean)^{−2}: a Pareto tail with infinite variance.

    Delays beyond ``longest`` are cut there. Feedback that has not arrived at the end is lost, and so is, by
    chance, a share of it that never comes.

    Parameters
    ----------
    base:
        Any environment but another Delayed.
    mean:
        The mean delay in rounds; a whole number for ``"fixed"``, and the mean of X for ``"heavy"``.
    law:
        One of the above.
    longest:
        Bounds the memory of a run: so many pulls are kept at most.
    lost:
        The probability with which feedback never comes, in [0, 1).

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Bernoulli(n_arms=4, gap=0.2)
    >>> bw.environments.Delayed(world, mean=20.0, law="geometric").gaps
    array([0. , 0.2, 0.2, 0.2])
    """

    base: Environment
    mean: float
    _: KW_ONLY
    law: Literal["fixed", "geometric", "heavy"] = "fixed"
    longest: Annotated[int, Within(at_least=0)] = 100_000
    lost: Annotated[float, Within(at_least=0.0, below=1.0)] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.base, Delayed):
            raise InvalidArgumentError("base", self.base, "an environment that is not Delayed itself")
        _check.number("mean", self.mean, at_least=0.0, at_most=self.longest)
        if self.law == "fixed" and self.mean != int(self.mean):
            raise InvalidArgumentError("mean", self.mean, "a whole number for law='fixed'")
        self._set(regret_kind=self.base.regret_kind, stationary=self.base.stationary)
        take_over(self, self.base)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.base.n_arms

    @property
    def gaps(self) -> FloatArray | None:
        """Those of the base."""
        return self.base.gaps

    def mean_losses_so_far(self, world: Any, t: int) -> FloatArray | None:
        """Those of the base."""
        return self.base.mean_losses_so_far(world, t)

    def corruption(self, horizon: int) -> float | None:
        """That of the base."""
        return self.base.corruption(horizon)

    def spread(self, horizon: int) -> float | None:
        """That of the base."""
        return self.base.spread(horizon)

    def parameters(self, horizon: int) -> Any:
        """Those of the base; the engine takes the delay from :meth:`delay`."""
        return self.base.parameters(horizon)

    def block(self, random: np.random.Generator, before: int, last: int) -> Any:
        """That of the base."""
        return self.base.block(random, before, last)

    def delay(self, horizon: int) -> DelayParameters:
        """The delay in numbers."""
        longest = int(self.mean) if self.law == "fixed" else min(self.longest, horizon)
        if self.lost > 0.0:
            longest = max(longest, 1)  # there is a queue, if only for what never comes
        return DelayParameters(LAWS.index(self.law), self.mean, longest, self.lost)
