"""What a policy is: frozen parameters, and kernels chosen by the type of the parameter tuple.

A policy of the public face (``FTRL(...)``, ``UCB1()``) is a frozen dataclass. Once the number of arms and
the horizon are known it becomes a ``NamedTuple`` of numbers, whose type selects the kernels below. All
state is in a second ``NamedTuple``, of arrays, that ``update`` changes in place; ``act`` only reads it.

``update`` does all the learning, so a policy is a function of the feedback in its order of arrival:
pulls without feedback do not move it, and the distribution in force can be read at any time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from bothworlds import _check
from bothworlds._jit import FloatArray, entry, generic, kernel
from bothworlds._lanes import LANES, add_up, fill, load, whole
from bothworlds._value import Value
from bothworlds.errors import InvalidArgumentError


@dataclass(frozen=True, repr=False)
class Policy(Value, ABC):
    """Base class of policies: immutable, comparable, hashable, printable."""

    draws: ClassVar[int] = 1
    """How many uniform random numbers one pull consumes."""

    @abstractmethod
    def parameters(self, n_arms: int, horizon: int | None) -> Any:
        """The ``NamedTuple`` of numbers whose type selects the kernels."""

    def resolve(self, n_arms: int, horizon: int | None) -> Any:
        """Check the number of arms and the horizon, then give the parameters."""
        n_arms = _check.integer("n_arms", n_arms, at_least=1)
        if horizon is not None:
            fix = f"there are {n_arms} arms: give a longer horizon, or None if it is unknown"
            horizon = _check.integer("horizon", horizon, at_least=n_arms, fix=fix)
        return self.parameters(n_arms, horizon)


# --- the kernels of a policy ----------------------------------------------------------------------------


@generic
def init(params: Any) -> Any:
    """A fresh state (allocates; called from Python only)."""
    raise NotImplementedError("a policy must register init")


@generic
def act(params: Any, state: Any, uniforms: FloatArray) -> tuple[int, int, float, float, int]:
    """Draw: (arm to play, arm to observe, probability of playing it, weight of the observation, epoch).

    The weight is the probability with which the observed arm is observed; ``update`` wants it back, with
    the epoch. A probability that is dear to compute may be NaN: ``distribution`` knows it. Changes nothing.
    """
    raise NotImplementedError("a policy must register act")


@generic
def update(params: Any, state: Any, observe: int, loss: float, weight: float, epoch: int) -> int:
    """Learn the loss of an observed arm, in place. Returns the status of the solver (0: converged)."""
    raise NotImplementedError("a policy must register update")


@generic
def distribution(params: Any, state: Any, out: FloatArray) -> None:
    """The probabilities from which the next arm to play will be drawn."""
    raise NotImplementedError("a policy must register distribution")


@generic
def observation_weight(params: Any, state: Any, arm: int) -> tuple[float, int]:
    """The weight and epoch that ``act`` would return had it drawn ``arm`` for observation."""
    return 1.0, 0


@generic(allocates=True)
def inspect(params: Any, state: Any, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    """Learning rates and cumulative estimated losses in force; NaN for policies that have none."""
    out_rates[:] = math.nan
    out_estimates[:] = math.nan


@kernel
def draw(p: FloatArray, uniform: float) -> int:
    """The arm at the quantile ``uniform`` of the (unnormalised) distribution ``p``; never one with p = 0."""
    return find(p, uniform * sum_of(p))


@kernel
def sum_of(values: FloatArray) -> float:
    """The sum, in lanes."""
    n = values.size
    sums = fill(0.0)
    for i in range(0, whole(n), LANES):
        sums = sums + load(values, i)
    total = add_up(sums)
    for i in range(whole(n), n):
        total += values[i]
    return total


@kernel
def copy(values: FloatArray, out: FloatArray) -> None:
    """``out[:] = values``, which would take a temporary copy, and seconds to compile."""
    for i in range(values.size):
        out[i] = values[i]


FEW = 64  # up to so many arms are added up one by one, more in pairs of blocks


@kernel(inline=True)
def find(p: FloatArray, target: float) -> int:
    """The first arm at which the sum of ``p`` exceeds ``target``; never one with p = 0."""
    n = p.size
    reached = 0.0
    begin = 0
    if n > FEW:
        while begin + 2 * LANES <= n:
            more = reached + add_up(load(p, begin) + load(p, begin + LANES))
            if more > target:
                break
            reached = more
            begin += 2 * LANES
    last = max(0, begin - 1)
    for i in range(begin, n):
        reached += p[i]
        if p[i] > 0.0:
            last = i
            if reached > target:
                break
    while p[last] == 0.0 and last > 0:  # rounding kept the sum below the target, and zeros came last
        last -= 1
    return last


# --- called from Python, one pull at a time -------------------------------------------------------------


@entry
def act_once(params: Any, state: Any, uniforms: FloatArray) -> tuple[int, int, float, float, int]:
    """One draw."""
    return act(params, state, uniforms)


@entry
def update_once(params: Any, state: Any, observe: int, loss: float, weight: float, epoch: int) -> int:
    """One lesson."""
    return update(params, state, observe, loss, weight, epoch)


@entry
def read_distribution(params: Any, state: Any, out: FloatArray) -> None:
    """The distribution in force."""
    distribution(params, state, out)


def require_policy(policy: Any, name: str = "policy", index: tuple[int, ...] = ()) -> Policy:
    """``policy`` itself, or an error that says what a policy looks like."""
    if not isinstance(policy, Policy):
        is_class = isinstance(policy, type) and issubclass(policy, Policy)
        fix = f"write {policy.__name__}()" if is_class else ""
        raise InvalidArgumentError(
            name, policy, "a policy such as LightBarrier() or TsallisINF()", fix=fix, index=index
        )
    return policy
