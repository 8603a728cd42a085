"""What worlds with moving means have in common: Bernoulli losses, regret by means to the best fixed arm."""

from __future__ import annotations

from typing import Any

from bothworlds._jit import FloatArray
from bothworlds.environments.base import Totals, keep_totals, loss_of

REGRET = "regret to the best fixed arm, both by their mean losses"


def draws_from_its_means(kind: type) -> None:
    """Register a parameter type with ``n_arms`` whose ``prepare`` puts the means into ``world.losses``."""
    loss_of.register(kind)(_bernoulli)
    keep_totals(kind, lambda env: env.n_arms)


def _bernoulli(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> float:
    return 1.0 if uniforms[0] < world.losses[arm] else 0.0
