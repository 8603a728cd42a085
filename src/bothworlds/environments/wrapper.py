"""Environments around another one: what they have in common, and kernels that pass on to the one inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.environments.base import (
    Environment,
    add_to_totals,
    benchmark,
    cost_of,
    loss_of,
    prepare,
    reads_p,
    take_over,
    total_of,
)
from bothworlds.errors import InvalidArgumentError


@dataclass(frozen=True, repr=False)
class Wrapper(Environment):
    """Base class of environments around another, ``base``, which is so called in the parameters too."""

    base: Environment

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base.delay(1000).longest > 0:
            turned = self.problem.plain and not self.sleeps
            fix = f"write Delayed({type(self).__name__}(...), ...)" if turned else "leave out Delayed"
            raise InvalidArgumentError("base", self.base, "an environment that is not Delayed", fix=fix)
        take_over(self, self.base)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.base.n_arms

    def block(self, random: np.random.Generator, before: int, last: int) -> Any:
        """The parameters, with those of the base for these rounds."""
        return self.parameters(last)._replace(base=self.base.block(random, before, last))


def passes_on(kind: type) -> None:
    """Register all kernels but ``open_world`` for parameters and worlds that have the inner ones as ``base``.

    They do what the inner ones do. What the environment changes, it registers itself, after this.
    """
    reads_p.register(kind)(_reads_p)
    prepare.register(kind)(_prepare)
    add_to_totals.register(kind)(_add_to_totals)
    loss_of.register(kind)(_loss_of)
    cost_of.register(kind)(_cost_of)
    benchmark.register(kind)(_benchmark)
    total_of.register(kind)(_total_of)


def _reads_p(env: Any) -> bool:
    return reads_p(env.base)


def _prepare(env: Any, world: Any, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    prepare(env.base, world.base, t, p, uniforms)


def _add_to_totals(env: Any, world: Any) -> None:
    add_to_totals(env.base, world.base)


def _loss_of(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    return loss_of(env.base, world.base, t, arm, uniforms)


def _cost_of(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return cost_of(env.base, world.base, t, arm, uniforms)


def _benchmark(env: Any, world: Any, t: int) -> tuple[float, float]:
    return benchmark(env.base, world.base, t)


def _total_of(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return total_of(env.base, world.base, t, arm, uniforms)
