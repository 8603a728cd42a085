"""Independent, identically distributed Bernoulli losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import loss_of
from bothworlds.environments.stationary import Gap, Stationary, check_means, check_optimal, costs_its_gap
from bothworlds.errors import InvalidArgumentError
from bothworlds.settings import Count, UnitInterval


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
        Mean losses in [0, 1], one per arm; afterwards they are here in either case.
    n_arms, gap, optimal, level:
        The two-level design.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Bernoulli(n_arms=4, gap=0.2, optimal=2)
    >>> world.means
    (0.4, 0.4, 0.6, 0.6)
    >>> world.gaps.round(3)
    array([0. , 0. , 0.2, 0.2])
    """

    means: Sequence[float] | None = None
    n_arms: int = 0
    gap: Gap | None = None
    optimal: Count = 1
    level: UnitInterval = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = "given, or n_arms and gap, and not both"
        if self.means is None and self.gap is None:
            raise InvalidArgumentError("means", self.means, allowed, got=repr(self))
        if self.means is not None and self.gap is not None:
            both = f"Bernoulli(means={self.means!r}, gap={self.gap!r})"
            fix = "leave out one (in replace(world, gap=…): means=None)"
            raise InvalidArgumentError("means", self.means, allowed, got=both, fix=fix)
        if self.gap is not None:
            _check.integer("n_arms", self.n_arms, at_least=1)
            check_optimal(self.optimal, self.n_arms)
            good, bad = (self.level + side * self.gap / 2 for side in (-1, 1))
            if good < 0.0 or bad > 1.0:
                raise InvalidArgumentError(
                    "level",
                    self.level,
                    "such that level ± gap/2 is within [0, 1]",
                    got=f"level={self.level}, gap={self.gap}",
                )
            self._set(means=(good,) * self.optimal + (bad,) * (self.n_arms - self.optimal))
            return
        means = check_means("means", self.means)
        if self.n_arms not in (0, len(means)):
            raise InvalidArgumentError("n_arms", self.n_arms, f"the number of means, {len(means)}")
        self._set(means=means, n_arms=len(means))

    def mean_losses(self) -> FloatArray:
        """The means."""
        return np.array(self.means)

    def given(self) -> dict[str, Any]:
        """The means, or the design from which they follow."""
        return super().given() | ({} if self.gap is None else {"means": None})

    def parameters(self, horizon: int) -> BernoulliParameters:
        """Means and gaps."""
        return BernoulliParameters(self.mean_losses(), self.gaps)


@loss_of.register(BernoulliParameters)
def _(env: BernoulliParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    # one uniform serves all arms of a round: only one of them is seen, so their joint law does not matter
    return 1.0 if uniforms[0] < env.means[arm] else 0.0


costs_its_gap(BernoulliParameters)
