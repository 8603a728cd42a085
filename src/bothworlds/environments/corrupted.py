"""Corruption: an adversary with a budget changes the losses of another environment."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.environments.base import (
    benchmark,
    cost_of,
    loss_of,
    open_world,
    prepare,
    reads_p,
    total_of,
)
from bothworlds.environments.wrapper import Wrapper, passes_on
from bothworlds.errors import InvalidArgumentError
from bothworlds.settings import NonNegative

STRATEGIES = ("front", "targeted", "adaptive", "inside")
FRONT, TARGETED, ADAPTIVE, INSIDE = range(4)


class CorruptedParameters(NamedTuple):
    """The base environment and its gaps, the budget, the strategy, the optimal arms."""

    base: Any
    gaps: FloatArray
    budget: float
    strategy: int
    optimal: FloatArray
    """1 for optimal arms, else 0."""
    first: int
    second: int
    """The first two optimal arms (the same, where there is only one)."""


class CorruptedWorld(NamedTuple):
    """The base world, this round's clean and corrupted losses, the budget spent, if the round is touched."""

    base: Any
    clean: FloatArray
    corrupted: FloatArray
    changes: FloatArray
    """What has been added to the losses of every arm so far."""
    scalars: FloatArray


SPENT, TOUCHED = 0, 1


@dataclass(frozen=True, repr=False)
class Corrupted(Wrapper, name="corrupted"):
    """Another environment whose losses an adversary changes, within a budget C = Σ_t max_i abs(change).

    Strategies, each applied while the budget lasts:

    * ``"front"``: in the first rounds every loss ℓ becomes 1 − ℓ;
    * ``"targeted"``: optimal arms get loss 1, all others 0;
    * ``"adaptive"``: the same, but only in rounds in which the policy gives the optimal arms together a
      probability of at least #U/K;
    * ``"inside"``: the first two optimal arms are given loss 1 in turn. Gaps to suboptimal arms never
      shrink in the policy's favor, so this probes the paper's D rather than its C. Needs two optimal arms.

    ``regret`` is measured on the corrupted losses, as in the paper, against the arm that is best on them (the
    base's part by its means); ``clean_regret`` on the base's own means, as in the literature on robust
    bandits. They differ by at most 2C. The constants C and D of the paper's self-bounding condition are up
    to twice the budget.

    Parameters
    ----------
    base:
        An environment with fixed gaps, neither Corrupted nor Delayed. (Delay what is corrupted, not the
        other way round.)
    budget:
        C ≥ 0.
    strategy:
        One of the above.

    Examples
    --------
    >>> import bothworlds as bw
    >>> clean = bw.environments.Bernoulli(n_arms=4, gap=0.2)
    >>> bw.environments.Corrupted(clean, budget=100.0, strategy="front").corruption(horizon=1000)
    200.0
    """

    budget: NonNegative
    _: KW_ONLY
    strategy: Literal["front", "targeted", "adaptive", "inside"] = "front"

    regret_kind = "regret on the corrupted losses; clean_regret: sum of the gaps of the arms played"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base.gaps is None:
            raise InvalidArgumentError("base", self.base, "an environment with fixed gaps")
        if isinstance(self.base, Corrupted):
            raise InvalidArgumentError("base", self.base, "an environment that is not Corrupted itself")
        if self.strategy == "inside" and len(self.base.optimal_arms or ()) < 2:
            raise InvalidArgumentError(
                "base", self.base, "an environment with at least two optimal arms for strategy='inside'"
            )

    @property
    def gaps(self) -> FloatArray | None:
        """Those of the base."""
        return self.base.gaps

    def corruption(self, horizon: int) -> float:
        """At most twice the budget."""
        return 2.0 * min(self.budget, horizon)

    def spread(self, horizon: int) -> float:
        """At most twice the budget; 0 with a single optimal arm."""
        return 0.0 if len(self.optimal_arms or ()) == 1 else 2.0 * min(self.budget, horizon)

    def parameters(self, horizon: int) -> CorruptedParameters:
        """Those of the base, and the adversary's."""
        arms, gaps = self.optimal_arms, self.base.gaps
        assert arms is not None
        assert gaps is not None
        optimal = np.zeros(self.n_arms)
        optimal[list(arms)] = 1.0
        return CorruptedParameters(
            self.base.parameters(horizon),
            gaps,
            self.budget,
            STRATEGIES.index(self.strategy),
            optimal,
            arms[0],
            arms[min(1, len(arms) - 1)],
        )


passes_on(CorruptedParameters)


@open_world.register(CorruptedParameters)
def _(env: CorruptedParameters) -> CorruptedWorld:
    n = env.optimal.size
    return CorruptedWorld(open_world(env.base), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(2))


@reads_p.register(CorruptedParameters)
def _(env: CorruptedParameters) -> bool:
    return env.strategy == ADAPTIVE


@kernel
def wants(env: CorruptedParameters, p: FloatArray) -> bool:
    """Does the adversary act in this round, if it can pay?"""
    if env.strategy != ADAPTIVE:
        return True
    mass = 0.0
    size = 0.0
    for i in range(p.size):
        mass += p[i] * env.optimal[i]
        size += env.optimal[i]
    return mass * p.size >= size * (1.0 - 1e-12)


@kernel
def changed(env: CorruptedParameters, t: int, arm: int, loss: float) -> float:
    """The loss that the adversary would put in place of ``loss``."""
    if env.strategy == FRONT:
        return 1.0 - loss
    if env.strategy == INSIDE:
        return 1.0 if arm == (env.first if t % 2 == 1 else env.second) else loss
    return float(env.optimal[arm])


@prepare.register(CorruptedParameters)
def _(env: CorruptedParameters, world: CorruptedWorld, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    prepare(env.base, world.base, t, p, uniforms)
    scalars = world.scalars
    scalars[TOUCHED] = 0.0
    if scalars[SPENT] >= env.budget or not wants(env, p):
        return
    price = 0.0
    for i in range(env.optimal.size):
        world.clean[i] = loss_of(env.base, world.base, t, i, uniforms)
        world.corrupted[i] = changed(env, t, i, world.clean[i])
        price = max(price, abs(world.corrupted[i] - world.clean[i]))
    left = env.budget - scalars[SPENT]
    if price > left:  # what is left of the budget is enough for a part of the change
        for i in range(env.optimal.size):
            world.corrupted[i] = world.clean[i] + (world.corrupted[i] - world.clean[i]) * (left / price)
        price = left
    for i in range(env.optimal.size):
        world.changes[i] += world.corrupted[i] - world.clean[i]
    scalars[SPENT] += price
    scalars[TOUCHED] = 1.0


@loss_of.register(CorruptedParameters)
def _(env: CorruptedParameters, world: CorruptedWorld, t: int, arm: int, uniforms: FloatArray) -> float:
    if world.scalars[TOUCHED] == 1.0:
        return float(world.corrupted[arm])
    return loss_of(env.base, world.base, t, arm, uniforms)


@cost_of.register(CorruptedParameters)
def _(
    env: CorruptedParameters, world: CorruptedWorld, t: int, arm: int, uniforms: FloatArray
) -> tuple[float, float]:
    _, gap = cost_of(env.base, world.base, t, arm, uniforms)
    if world.scalars[TOUCHED] == 0.0:
        return gap, gap
    return gap + world.corrupted[arm] - world.clean[arm], gap


@benchmark.register(CorruptedParameters)
def _(env: CorruptedParameters, world: CorruptedWorld, t: int) -> tuple[float, float]:
    # the best fixed arm on the corrupted losses, the base's by their means: t·Δ_i + what was added to arm i
    best = math.inf
    for i in range(env.gaps.size):
        best = min(best, t * env.gaps[i] + world.changes[i])
    return best, 0.0


@total_of.register(CorruptedParameters)
def _(
    env: CorruptedParameters, world: CorruptedWorld, t: int, arm: int, uniforms: FloatArray
) -> tuple[float, float]:
    clean = t * env.gaps[arm]
    return clean + world.changes[arm], clean
