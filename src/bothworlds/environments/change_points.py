"""Means that change at given times."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Totals, prepare
from bothworlds.environments.moving import Moving, draws_from_its_means
from bothworlds.environments.stationary import check_means
from bothworlds.errors import InvalidArgumentError


class ChangePointsParameters(NamedTuple):
    """Number of arms, means by stretch and arm, last rounds of stretches, kind of regret."""

    n_arms: int
    means: FloatArray
    changes: FloatArray
    dynamic: bool


@dataclass(frozen=True, repr=False, kw_only=True)
class ChangePoints(Moving, name="change-points"):
    """Bernoulli losses with means that are constant between change points.

    Parameters
    ----------
    means:
        A row of mean losses in [0, 1], one per arm, for each stretch. A change may be one of some arms only:
        repeat the means of the others.
    changes:
        How many rounds have been played before each change, in increasing order: rounds 1 … changes[0] have
        the means of the first row, the following ones those of the second, and so on.
    benchmark:
        ``"fixed"``: regret to the best fixed arm; ``"dynamic"``: to the best arm of each round.

    Examples
    --------
    >>> import bothworlds as bw
    >>> E = bw.environments
    >>> world = E.ChangePoints(means=[[0.4, 0.6], [0.8, 0.6]], changes=[500], benchmark="dynamic")
    >>> run = bw.simulate([bw.Thompson(), bw.DiscountedThompson(0.99)], world, horizon=1000, replications=16)
    >>> old, new = run.regret[:, :, -1].mean(axis=1)
    >>> bool(new < old)
    True
    """

    means: Sequence[Sequence[float]]
    changes: Sequence[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.means, Sequence | np.ndarray) or len(self.means) == 0:
            raise InvalidArgumentError("means", self.means, "at least one row of means")
        rows = [check_means(f"means[{i}]", row) for i, row in enumerate(self.means)]
        for i, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise InvalidArgumentError(
                    "means", row, f"of the same length in all rows, {len(rows[0])}", index=(i,)
                )
        if not isinstance(self.changes, Sequence | np.ndarray) or len(self.changes) != len(rows) - 1:
            raise InvalidArgumentError(
                "changes", self.changes, f"one fewer than the rows of means: {len(rows) - 1}"
            )
        changes = [_check.integer(f"changes[{i}]", t, at_least=1) for i, t in enumerate(self.changes)]
        if any(later <= earlier for earlier, later in itertools.pairwise(changes)):
            raise InvalidArgumentError("changes", self.changes, "in increasing order")
        self._set(means=tuple(rows), changes=tuple(changes))

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.means[0])

    def parameters(self, horizon: int) -> ChangePointsParameters:
        """The settings in arrays, which select the kernels."""
        changes = np.array(self.changes, dtype=float)
        return ChangePointsParameters(self.n_arms, np.array(self.means), changes, self.dynamic)


@prepare.register(ChangePointsParameters)
def _(env: ChangePointsParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    low = 0  # the number of changes before round t is in low … high
    high = env.changes.size
    while low < high:
        middle = (low + high) // 2
        if env.changes[middle] < t:
            low = middle + 1
        else:
            high = middle
    for i in range(env.n_arms):
        world.losses[i] = env.means[low, i]


draws_from_its_means(ChangePointsParameters)
