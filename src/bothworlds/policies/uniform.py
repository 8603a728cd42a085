"""Uniform play: the yardstick that learns nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.policies.base import Policy, draws_from_its_p, grow, init, learn
from bothworlds.policies.shared.systematic import draws_sets_from_its_p
from bothworlds.problem import GRAPHS, PLAIN, SETS, Groups, Problem


class UniformParameters(NamedTuple):
    """The number of arms, and the sets."""

    n_arms: int
    groups: Groups


class UniformState(NamedTuple):
    """The uniform distribution."""

    p: FloatArray


@dataclass(frozen=True, repr=False)
class Uniform(Policy, name="uniform"):
    """Every arm with probability 1/K (m/K in sets of m), for ever: what any learning policy must beat.

    Where sets have different sizes, with probability ½, or what of it the sizes allow.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.Bandit(4, bw.Uniform()).probabilities
    {0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25}
    """

    fixed_arms: ClassVar[str | None] = None
    fits: ClassVar[frozenset[str]] = frozenset({SETS, GRAPHS})

    def parameters(self, n_arms: int, horizon: int | None) -> UniformParameters:
        """K; the horizon plays no part."""
        return UniformParameters(n_arms, PLAIN.groups(n_arms))

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> UniformParameters:
        """K and the sets."""
        return UniformParameters(n_arms, problem.groups(n_arms))


draws_from_its_p(UniformParameters, weighs_losses=False)
draws_sets_from_its_p(UniformParameters)


@init.register(UniformParameters)
def _(params: UniformParameters) -> UniformState:
    p = np.empty(params.n_arms)
    for first, last, fewest, most in zip(*params.groups[:4], strict=True):
        size = last - first
        p[first:last] = min(max(0.5, fewest / size), most / size)
    return UniformState(p)


@grow.register(UniformParameters)
def _(params: UniformParameters, state: UniformState) -> UniformState:
    grown: UniformState = init(params)
    return grown


@learn.register(UniformParameters)
def _(
    params: UniformParameters, state: UniformState, arm: int, loss: float, weight: float, memo: float
) -> None:
    pass
