"""What worlds with moving means have in common: Bernoulli losses, and regret by means.

Regret is to the best *fixed* arm, or, with ``benchmark="dynamic"``, to the best arm of each round: then
playing an arm costs the gap that it has in that round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bothworlds._jit import FloatArray
from bothworlds.environments.base import (
    Environment,
    Totals,
    benchmark,
    cost_of,
    keep_totals,
    loss_of,
    smallest_of,
    total_of,
)

REGRET_BY_MEANS = "regret to the best fixed arm, both by their mean losses"
DYNAMIC_REGRET = "dynamic regret: to the best arm of each round, both by their mean losses"


@dataclass(frozen=True, repr=False, kw_only=True)
class Moving(Environment):
    """Base class of worlds with moving means in which regret can be measured in both ways."""

    benchmark: Literal["fixed", "dynamic"] = "fixed"

    regret_kind = REGRET_BY_MEANS

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(dynamic=self.benchmark == "dynamic")
        if self.dynamic:
            self._set(regret_kind=DYNAMIC_REGRET)


def draws_from_its_means(kind: type) -> None:
    """Register a parameter type with ``n_arms`` whose ``prepare`` puts the means into ``world.losses``.

    If it has a field ``dynamic``, regret is dynamic where that is True.
    """
    loss_of.register(kind)(_bernoulli)
    keep_totals(kind, lambda env: env.n_arms)
    if "dynamic" in kind._fields:  # type: ignore[attr-defined]
        cost_of.register(kind)(_cost)
        benchmark.register(kind)(_benchmark)
        total_of.register(kind)(_total)


def _bernoulli(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> float:
    return 1.0 if uniforms[0] < world.losses[arm] else 0.0


def _cost(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    cost = float(world.losses[arm])
    if env.dynamic:
        cost -= smallest_of(world.losses)
    return cost, cost


def _benchmark(env: Any, world: Totals, t: int) -> tuple[float, float]:
    best = 0.0 if env.dynamic else smallest_of(world.cumulative)
    return best, best


def _total(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    total = float(world.cumulative[arm])
    if env.dynamic:  # sets are only chosen where the best arm stays the best, as in Seasonal
        total -= smallest_of(world.cumulative)
    return total, total
