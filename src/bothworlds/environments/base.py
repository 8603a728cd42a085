"""What an environment is: frozen parameters, and kernels chosen by the type of the parameter tuple.

A *world* is the state of an environment in one replication; ``open_world`` makes it. In round t the engine
calls, in this order, ``prepare`` (which sets the losses or means of the round; an adversary may read the
policy's distribution, never its draw), ``add_to_totals``, ``loss_of`` for the arm observed, and ``cost_of``
for the arm played. Everything random comes from ``uniforms``, a row of ``draws`` numbers per round, which is
the same for every policy: policies are compared on common random numbers.

Regret is Σ_t cost_of(arm played) − benchmark. Where the environment has a fixed best arm with known means,
the cost is the gap of the arm and the benchmark is 0 (pseudo-regret). Where it has not, the cost is the
mean loss (or, if there are no means, the loss) of the arm, and the benchmark is the smallest total of
those over all fixed arms. Where regret is dynamic, the cost is the gap to the best arm of the round, and the
benchmark is 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, generic, require_kernels
from bothworlds._jit import kernel as kernel  # noqa: PLC0414 - for what kernels of others call
from bothworlds._value import Value
from bothworlds.environments.delay import AT_ONCE, DelayParameters
from bothworlds.errors import InvalidArgumentError
from bothworlds.problem import PLAIN, Problem


@dataclass(frozen=True, repr=False, init=False)
class Environment(Value, ABC):
    """Base class of environments: immutable, comparable, hashable, printable, known by ``name=``."""

    registry: ClassVar[dict[str, type[Any]]] = {}
    namespace = "environment"
    allowed: ClassVar[str] = "an environment such as Bernoulli(...)"

    draws: ClassVar[int] = 1
    """How many uniform random numbers one round consumes."""

    regret_kind: ClassVar[str] = "pseudo-regret: sum of the gaps of the arms played"
    """How regret is measured here, in words."""

    dynamic: ClassVar[bool] = False
    """Is regret measured to the best arm of each round, and not to the best fixed arm?"""

    made_in_blocks: ClassVar[bool] = False
    """Are its losses made block by block in Python? Then :meth:`block` makes them."""

    can_end: ClassVar[bool] = False
    """Can it run out of rounds, as a log does? Then a loss that is not there is NaN."""

    stationary: ClassVar[bool] = False
    """Does every arm have a mean that never moves, by the losses that policies observe?"""

    sleeps: ClassVar[bool] = False
    """Are there rounds in which not all arms can be played? Then ``wake`` knows which can."""

    shows_any_arm: ClassVar[bool] = True
    """Can it show the loss of an arm that is not played?"""

    sets_add_up: ClassVar[bool] = True
    """Is what a set of arms costs the sum over its arms, each by itself?"""

    if TYPE_CHECKING:  # a field of some environments, a property of others

        @property
        def n_arms(self) -> int:
            """The number of arms."""

    @abstractmethod
    def parameters(self, horizon: int) -> Any:
        """The ``NamedTuple`` whose type selects the kernels."""

    def block(self, random: np.random.Generator, before: int, last: int) -> Any:
        """The parameters for rounds before+1 … last, where the world is made in blocks."""
        raise NotImplementedError

    def delay(self, horizon: int) -> DelayParameters:
        """How late feedback comes: by default at once."""
        return AT_ONCE

    @property
    def problem(self) -> Problem:
        """What is chosen in a round, and what is shown: by default one arm, and its loss."""
        return PLAIN

    @property
    def outside_cost(self) -> float:
        """What ``cost_of`` would say of leaving an arm out, where sets of arms have different sizes."""
        return 0.0

    @property
    def gaps(self) -> FloatArray | None:
        """Mean loss of every arm minus that of the best, where these are fixed; else None."""
        return None

    @property
    def optimal_arms(self) -> tuple[int, ...] | None:
        """The set U of optimal arms, where there are gaps."""
        return None if self.gaps is None else tuple(np.flatnonzero(self.gaps == 0.0).tolist())

    def mean_losses(self) -> FloatArray | None:
        """The mean loss of every arm, where it never moves; else None."""
        return None

    def mean_losses_so_far(self, world: Any, t: int) -> FloatArray | None:
        """The mean loss that every arm has shown over rounds 1 … t, or would have; None if nobody knows.

        By default that of a world which keeps totals.
        """
        known = isinstance(world, Totals) and world.cumulative.size == self.n_arms > 1
        return world.cumulative / t if known else None

    def corruption(self, horizon: int) -> float | None:
        """C of the self-bounding condition (at most), where it is known; 0 for a world with fixed gaps."""
        return None if self.gaps is None else 0.0

    def spread(self, horizon: int) -> float | None:
        """D, by how much arms of U differ in total (at most), where it is known; 0 with fixed gaps."""
        return None if self.gaps is None else 0.0


def take_over(environment: Environment, base: Environment) -> None:
    """Give a world around another the capabilities of the one inside, which must be plain."""
    if not base.problem.plain:
        kind, outer = type(environment).__name__, type(base).__name__
        fix = f"write {outer}({kind}(...), ...)"
        raise InvalidArgumentError("base", base, "a world in which one arm is chosen", fix=fix)
    if base.sleeps:
        late = type(environment).delay is not Environment.delay  # what sleeps has no late feedback
        kind, outer = type(environment).__name__, type(base).__name__
        fix = f"leave out {kind}" if late else f"write {outer}({kind}(...), ...)"
        raise InvalidArgumentError("base", base, "a world whose arms are always awake", fix=fix)
    for name in ("draws", "dynamic", "made_in_blocks", "can_end", "shows_any_arm", "sets_add_up"):
        environment._set(**{name: getattr(base, name)})


class Totals(NamedTuple):
    """A world with the losses (or means) of this round, which it sets; the engine adds them up."""

    losses: FloatArray
    cumulative: FloatArray


def totals_world(n_arms: int) -> Totals:
    """A world of zeros, before the first round."""
    return Totals(np.zeros(n_arms), np.zeros(n_arms))


@generic
def open_world(env: Any) -> Any:
    """A fresh world (allocates; called from Python only); by default one that remembers nothing."""
    return totals_world(1)


@generic(inline=True)
def reads_p(env: Any) -> bool:
    """Does ``prepare`` read ``p``, the policy's distribution? It is only computed if so."""
    return False


@generic
def wake(env: Any, t: int, uniforms: FloatArray, out: FloatArray) -> int:
    """1 for the arms that can be played in round t, 0 for others; return how many. By default all can."""
    for i in range(out.size):
        out[i] = 1.0
    return out.size


@generic(inline=True)
def prepare(env: Any, world: Any, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    """Set the losses or means of round t, before the draw. ``p`` is the distribution, or NaN: ``reads_p``."""


@generic(inline=True)
def add_to_totals(env: Any, world: Any) -> None:
    """After ``prepare``: add this round to the totals of every fixed arm, where the world has them."""


@generic
def loss_of(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    """The loss of an arm in round t."""
    raise NotImplementedError("an environment must register loss_of")


@generic
def cost_of(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    """What playing the arm in round t adds to the regret, and to the regret in the uncorrupted world."""
    raise NotImplementedError("an environment must register cost_of")


def keep_totals(kind: type, n_arms: Callable[[Any], int]) -> None:
    """Register a parameter type whose ``prepare`` sets ``world.losses``, the losses (or means) of the round.

    Then playing an arm costs what it has there, and the benchmark is the smallest total.
    """
    open_world.register(kind)(lambda env: totals_world(n_arms(env)))
    add_to_totals.register(kind)(_add_losses)
    cost_of.register(kind)(_cost_from_totals)
    benchmark.register(kind)(_smallest_total)
    total_of.register(kind)(_total)


def _add_losses(env: Any, world: Totals) -> None:
    for i in range(world.losses.size):
        world.cumulative[i] += world.losses[i]


def _cost_from_totals(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return world.losses[arm], world.losses[arm]


@kernel
def smallest_of(values: FloatArray) -> float:
    """The smallest of ``values``."""
    smallest = values[0]
    for i in range(1, values.size):
        smallest = min(smallest, values[i])
    return float(smallest)


def _smallest_total(env: Any, world: Totals, t: int) -> tuple[float, float]:
    smallest = smallest_of(world.cumulative)
    return smallest, smallest


def _total(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return world.cumulative[arm], world.cumulative[arm]


@generic
def total_of(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    """What playing the arm in rounds 1 … t would have cost, and that in the uncorrupted world.

    For sets, whose benchmark is the sum of the smallest of these. By default t times the cost of this round:
    right where costs are gaps that stay.
    """
    cost, clean = cost_of(env, world, t, arm, uniforms)
    return t * cost, t * clean


@generic(inline=True)
def benchmark(env: Any, world: Any, t: int) -> tuple[float, float]:
    """The cost of the best fixed arm in rounds 1 … t, and that in the uncorrupted world."""
    return 0.0, 0.0


def require_world(environment: Environment, horizon: int) -> None:
    """Refuse an environment without the kernels that each must have."""
    env = environment.parameters(horizon)
    helper = "keep_totals({}, lambda env: env.n_arms)"
    require_kernels(environment, env, {loss_of: "draws_from_its_means({})", cost_of: helper})
    if add_to_totals.implementations.get(type(env)) is _add_losses:
        require_kernels(environment, env, {open_world: helper, prepare: ""})  # which sets what is added
