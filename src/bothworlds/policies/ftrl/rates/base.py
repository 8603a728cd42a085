"""What learning rates are: frozen values, and kernels chosen by the type of their numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from bothworlds._jit import generic, kernel
from bothworlds._value import Value
from bothworlds.policies.ftrl.state import HORIZON, ROUND, FTRLState
from bothworlds.settings import Positive

UNUSED = 1e300  # a horizon that plays no part; finite, so that states are plain JSON
CONTINUE = 0.0  # what advance_rates returns when nothing restarts


@dataclass(frozen=True, init=False)
class Rates(Value, ABC):
    """Base class of learning rates: immutable, comparable, hashable, printable."""

    registry: ClassVar[dict[str, type[Any]]] = {}
    allowed: ClassVar[str] = "those of bw.rates or your own, such as RootRate(theta)"

    @abstractmethod
    def parameters(self, n_arms: int, horizon: int | None) -> Any:
        """The ``NamedTuple`` whose type selects the kernels."""


@dataclass(frozen=True)
class ScaledRates(Rates):
    """Base class of rates with a factor θ > 0."""

    theta: Positive


@generic(inline=True)
def same_for_all(rate: Any) -> bool:
    """Does ``advance_rates`` only set ``rates[0]``, which is for all arms?"""
    return False


@generic
def begin_rates(rate: Any, state: FTRLState) -> None:
    """Fill ``state.rates`` for the first round after a (re)start; the scalars are set, the sums are zero."""
    raise NotImplementedError("rates must register begin_rates")


@generic(inline=True)
def note_error(rate: Any, state: FTRLState, arm: int, error: float) -> None:
    """Take in the loss of an observed arm minus its prediction; p is that of the round played."""


@generic
def advance_rates(rate: Any, state: FTRLState) -> float:
    """Fill ``state.rates`` for the next round; p and the round are still those of the round played.

    Returns ``CONTINUE``, or the horizon with which the policy is to restart.
    """
    raise NotImplementedError("rates must register advance_rates")


@generic(inline=True)
def rest_rates(rate: Any, state: FTRLState, before: FTRLState, arm: int) -> None:
    """Undo what the round has done to the rate of an arm that was asleep; ``before`` is the state before it.

    Nothing where all arms have the same rate.
    """
    state.sums[arm] = before.sums[arm]
    state.rates[arm] = before.rates[arm]


@generic
def join_rates(rate: Any, state: FTRLState) -> None:
    """Bring the rates up to date with the number of arms; the last one is new (called from Python only).

    Its rate is as after a restart, those of others as before: right where each arm has its own.
    """


@kernel(inline=True)
def log_horizon(horizon: float) -> float:
    """log T, but at least 1: the paper's 1/√(log T) is meant for T ≥ 3."""
    return max(1.0, math.log(horizon))


def log_arms(n_arms: int) -> float:
    """log K, but 1 for a single arm, which any rate serves: nothing is divided by zero."""
    return math.log(n_arms) if n_arms > 1 else 1.0


@kernel(inline=True)
def next_horizon(restarts: bool, state: FTRLState) -> float:
    """The square of the horizon, where it stands for one that is unknown and is over; else ``CONTINUE``."""
    horizon = state.scalars[HORIZON]
    if restarts and state.scalars[ROUND] + 1.0 > horizon:
        return float(horizon * horizon)
    return CONTINUE
