"""What iid worlds have in common: fixed means, and regret that is the sum of gaps."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, cost_of
from bothworlds.errors import InvalidArgumentError
from bothworlds.settings import Within

Gap: TypeAlias = Annotated[float, Within(above=0.0, at_most=1.0)]


def check_optimal(optimal: int, n_arms: int) -> None:
    """Of so many arms that many are the best."""
    if optimal > n_arms:
        raise InvalidArgumentError("optimal", optimal, f"at most the number of arms, {n_arms}")


def check_means(name: str, means: Any) -> tuple[float, ...]:
    """Numbers in [0, 1], one per arm, at least one."""
    values = _check.vector(name, means, at_least=0.0, at_most=1.0)
    if values.size == 0:
        raise InvalidArgumentError(name, means, "at least one number, one per arm", got="an empty sequence")
    return tuple(values.tolist())


@dataclass(frozen=True, repr=False)
class Stationary(Environment):
    """Base class of worlds whose arms have fixed means."""

    stationary = True

    @abstractmethod
    def mean_losses(self) -> FloatArray:
        """The mean loss of every arm."""

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return int(self.mean_losses().size)

    @property
    def gaps(self) -> FloatArray:
        """Mean loss of every arm minus that of the best."""
        means = self.mean_losses()
        gaps = means - means.min()
        return np.where(gaps < 1e-12, 0.0, gaps)  # means that differ by rounding are equal

    def mean_losses_so_far(self, world: Any, t: int) -> FloatArray:
        """The same at every t: the means are fixed."""
        return self.mean_losses()


def costs_its_gap(kind: type) -> None:
    """Register a parameter type with ``gaps``: playing an arm costs its gap."""
    cost_of.register(kind)(_gap)


def _gap(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return env.gaps[arm], env.gaps[arm]
