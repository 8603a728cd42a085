"""A uniform of its own for every arm.

In the plain problem one uniform of a round serves all arms: only one of them is observed, so their joint law
does not matter. Where several are observed it does, and losses of different arms are to be independent. So
the world is given, for arm i, number i of the uniforms that ``rng.expand`` makes of each of its own. Policies
of all problems meet the same randomness of the world.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, generic
from bothworlds.environments.base import loss_of, open_world
from bothworlds.environments.corrupted import CorruptedParameters
from bothworlds.environments.faked import FakedParameters
from bothworlds.environments.wrapper import passes_on
from bothworlds.rng import expand


class IndependentArmsParameters(NamedTuple):
    """A world, and how many uniforms it takes in a round."""

    base: Any
    draws: int


class IndependentArmsWorld(NamedTuple):
    """That world, and room for the uniforms of an arm."""

    base: Any
    own: FloatArray


@generic
def with_independent_arms(env: Any, draws: int) -> Any:
    """The parameters of the same world with a uniform of its own for every arm (called from Python only)."""
    return IndependentArmsParameters(env, draws)


def _inside(env: Any, draws: int) -> Any:
    # an adversary around a world sees the losses of all arms
    return env._replace(base=with_independent_arms(env.base, draws))


with_independent_arms.register(CorruptedParameters)(_inside)
with_independent_arms.register(FakedParameters)(_inside)


passes_on(IndependentArmsParameters)


@open_world.register(IndependentArmsParameters)
def _(env: IndependentArmsParameters) -> IndependentArmsWorld:
    return IndependentArmsWorld(open_world(env.base), np.empty(max(1, env.draws)))


@loss_of.register(IndependentArmsParameters)
def _(
    env: IndependentArmsParameters, world: IndependentArmsWorld, t: int, arm: int, uniforms: FloatArray
) -> float:
    for k in range(env.draws):
        world.own[k] = expand(uniforms[k], arm)
    return loss_of(env.base, world.base, t, arm, world.own)
