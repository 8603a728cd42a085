"""Adversaries that read the policy's distribution before they set the losses of a round.

They see the distribution of the arm to be *played*, never the draw. What that is for policies that do not
draw: UCB1 and KL-UCB put probability 1 on the arm they will choose, so they are fully predictable;
Thompson sampling has the exact probability that an arm's posterior draw is the best (by quadrature);
ε-greedy has its mixture. Comparisons against such adversaries hang on this: a deterministic policy has
nothing to hide, and its linear regret here is a theorem, not an accident.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, Totals, keep_totals, loss_of, reads_p
from bothworlds.environments.table import REGRET_ON_LOSSES
from bothworlds.settings import Within


@dataclass(frozen=True, repr=False, kw_only=True)
class Adversary(Environment):
    """Base class of adversaries: losses are set in ``prepare``, regret is to the best fixed arm."""

    n_arms: Annotated[int, Within(at_least=2)]

    regret_kind = REGRET_ON_LOSSES


def reads_the_distribution(kind: type) -> None:
    """Register a parameter type with ``n_arms`` whose ``prepare`` reads p and sets ``world.losses``."""
    keep_totals(kind, lambda env: env.n_arms)
    loss_of.register(kind)(_as_set)
    reads_p.register(kind)(_yes)


def _as_set(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> float:
    return float(world.losses[arm])


def _yes(env: Any) -> bool:
    return True
