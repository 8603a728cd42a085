"""Adversaries that read the policy's distribution before they set the losses of a round.

They see the distribution of the arm to be *played*, never the draw. What that is for policies that do not
draw: UCB1 and KL-UCB put probability 1 on the arm they will choose, so they are fully predictable;
Thompson sampling has the exact probability that an arm's posterior draw is the best (by quadrature);
ε-greedy has its mixture. Comparisons against such adversaries hang on this: a deterministic policy has
nothing to hide, and its linear regret here is a theorem, not an accident.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, Totals, keep_totals, loss_of, prepare, watches


@dataclass(frozen=True, repr=False, kw_only=True)
class _Adversary(Environment):
    n_arms: int

    regret_kind = "regret to the best fixed arm on the realised losses"

    def __post_init__(self) -> None:
        _check.integer("n_arms", self.n_arms, at_least=2)


class ThresholdParameters(NamedTuple):
    """The number of arms."""

    n_arms: int


@dataclass(frozen=True, repr=False, kw_only=True)
class ThresholdAdversary(_Adversary):
    """Loss 1 for every arm with probability of at least 1/K, else 0: what the policy leans to is punished.

    "At least", so that a policy that starts uniform does not stay so for ever, untouched.
    """

    def parameters(self, horizon: int) -> ThresholdParameters:
        """K."""
        return ThresholdParameters(self.n_arms)


@prepare.register(ThresholdParameters)
def _(env: ThresholdParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(env.n_arms):
        # what falls short of 1/K only by rounding does not
        world.losses[i] = 1.0 if p[i] * env.n_arms >= 1.0 - 1e-9 else 0.0
        world.totals[i] += world.losses[i]


class FavouriteParameters(NamedTuple):
    """The number of arms."""

    n_arms: int


@dataclass(frozen=True, repr=False, kw_only=True)
class FavouriteAttack(_Adversary):
    """Loss 1 for the arm with the largest probability (the first of them), 0 for all others."""

    def parameters(self, horizon: int) -> FavouriteParameters:
        """K."""
        return FavouriteParameters(self.n_arms)


@prepare.register(FavouriteParameters)
def _(env: FavouriteParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    favourite = 0
    for i in range(1, env.n_arms):
        if p[i] > p[favourite]:
            favourite = i
    for i in range(env.n_arms):
        world.losses[i] = 1.0 if i == favourite else 0.0
        world.totals[i] += world.losses[i]


class KillerParameters(NamedTuple):
    """The number of arms."""

    n_arms: int


@dataclass(frozen=True, repr=False, kw_only=True)
class DeterministicKiller(_Adversary):
    """Loss 1 for an arm that is played for certain, 0 for all others.

    Against a deterministic policy this is an oblivious sequence, found by simulating the policy, on which it
    loses every round while some arm loses at most T/K: regret ≥ T(1−1/K). A policy that randomises is
    never touched by it.
    """

    def parameters(self, horizon: int) -> KillerParameters:
        """K."""
        return KillerParameters(self.n_arms)


@prepare.register(KillerParameters)
def _(env: KillerParameters, world: Totals, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    for i in range(env.n_arms):
        world.losses[i] = 1.0 if p[i] >= 1.0 - 1e-9 else 0.0
        world.totals[i] += world.losses[i]


def _as_set(env: Any, world: Totals, t: int, arm: int, uniforms: FloatArray) -> float:
    return float(world.losses[arm])


def _yes(env: Any) -> bool:
    return True


for _kind in (ThresholdParameters, FavouriteParameters, KillerParameters):
    keep_totals(_kind, lambda env: env.n_arms)
    loss_of.register(_kind)(_as_set)
    watches.register(_kind)(_yes)
