"""A uniform of its own for every arm.

In the plain problem one uniform of a round serves all arms: only one of them is seen, so their joint law does
not matter. Where several are seen it does, and losses of different arms are to be independent. The same world
serves: what it takes for its uniforms is, for arm i, number i of those that grow from them. Policies of all
problems meet the same randomness of the world.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, generic
from bothworlds.environments.base import (
    add_to_totals,
    benchmark,
    cost_of,
    loss_of,
    open_world,
    prepare,
    total_of,
    watches,
)
from bothworlds.environments.corrupted import CorruptedParameters
from bothworlds.environments.faked import FakedParameters
from bothworlds.rng import expand


class ApartParameters(NamedTuple):
    """A world, and how many uniforms it takes in a round."""

    base: Any
    draws: int


class ApartWorld(NamedTuple):
    """That world, and room for the uniforms of an arm."""

    base: Any
    own: FloatArray


@generic
def apart(env: Any, draws: int) -> Any:
    """The parameters of the same world with a uniform of its own for every arm (called from Python only)."""
    return ApartParameters(env, draws)


def _inside(env: Any, draws: int) -> Any:
    return env._replace(
        base=apart(env.base, draws)
    )  # an adversary around a world sees the losses of all arms


apart.register(CorruptedParameters)(_inside)
apart.register(FakedParameters)(_inside)


@open_world.register(ApartParameters)
def _(env: ApartParameters) -> ApartWorld:
    return ApartWorld(open_world(env.base), np.empty(max(1, env.draws)))


@watches.register(ApartParameters)
def _(env: ApartParameters) -> bool:
    return watches(env.base)


@prepare.register(ApartParameters)
def _(env: ApartParameters, world: ApartWorld, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    prepare(env.base, world.base, t, p, uniforms)


@add_to_totals.register(ApartParameters)
def _(env: ApartParameters, world: ApartWorld) -> None:
    add_to_totals(env.base, world.base)


@loss_of.register(ApartParameters)
def _(env: ApartParameters, world: ApartWorld, t: int, arm: int, uniforms: FloatArray) -> float:
    for k in range(env.draws):
        world.own[k] = expand(uniforms[k], arm)
    return loss_of(env.base, world.base, t, arm, world.own)


@cost_of.register(ApartParameters)
def _(env: ApartParameters, world: ApartWorld, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return cost_of(env.base, world.base, t, arm, uniforms)


@benchmark.register(ApartParameters)
def _(env: ApartParameters, world: ApartWorld, t: int) -> tuple[float, float]:
    return benchmark(env.base, world.base, t)


@total_of.register(ApartParameters)
def _(env: ApartParameters, world: ApartWorld, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return total_of(env.base, world.base, t, arm, uniforms)
