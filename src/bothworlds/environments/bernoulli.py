"""Independent, identically distributed Bernoulli losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import loss_of
from bothworlds.environments.stationary import Stationary, check_design, check_means, costs_its_gap
from bothworlds.errors import InvalidArgumentError


class BernoulliParameters(NamedTuple):
    """Means and gaps of all arms."""

    means: FloatArray
    gaps: FloatArray


@dataclass(frozen=True, repr=False, kw_only=True)
class Bernoulli(Stationary, name="bernoulli"):
    """Bernoulli losses, independent from round to round. (Within a round one uniform decides for all arms.)

    Give the mean loss of every arm, or a two-level design: the first ``optimal`` arms have mean
    level − gap/2, the others level + gap/2. Level ½ is the stochastic world of Zimmert and Seldin (2021),
    with means (1−Δ)/2 and (1+Δ)/2.

    Parameters
    ----------
    means:
        Mean losses in [0, 1], one per arm.
    n_arms, gap, optimal, level:
        The two-level design.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.environments.Bernoulli(n_arms=4, gap=0.2, optimal=2).gaps.round(3)
    array([0. , 0. , 0.2, 0.2])
    """

    means: Sequence[float] | None = None
    n_arms: int = 0
    gap: float | None = None
    optimal: int = 1
    level: float = 0.5

    def __post_init__(self) -> None:
        if (self.means is None) == (self.gap is None):
            raise InvalidArgumentError(
                "means", self.means, "given, or n_arms and gap, and not both", got=repr(self)
            )
        if self.gap is not None:
            check_design(self.n_arms, self.gap, self.optimal)
            _check.number("level", self.level, at_least=0.0, at_most=1.0)
            if self.level - self.gap / 2 < 0.0 or self.level + self.gap / 2 > 1.0:
                raise InvalidArgumentError(
                    "level",
                    self.level,
                    "such that level ± gap/2 is within [0, 1]",
                    got=f"level={self.level}, gap={self.gap}",
                )
            return
        means = check_means("means", self.means)
        if self.n_arms not in (0, len(means)):
            raise InvalidArgumentError("n_arms", self.n_arms, f"the number of means, {len(means)}")
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "n_arms", len(means))

    def mean_losses(self) -> FloatArray:
        """The mean loss of every arm."""
        if self.means is not None:
            return np.array(self.means)
        assert self.gap is not None
        means = np.full(self.n_arms, self.level + self.gap / 2)
        means[: self.optimal] = self.level - self.gap / 2
        return means

    def parameters(self, horizon: int) -> BernoulliParameters:
        """Means and gaps."""
        return BernoulliParameters(self.mean_losses(), self.gaps)


@loss_of.register(BernoulliParameters)
def _(env: BernoulliParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    # one uniform serves all arms of a round: only one of them is seen, so their joint law does not matter
    return 1.0 if uniforms[0] < env.means[arm] else 0.0


costs_its_gap(BernoulliParameters)
