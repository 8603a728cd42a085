"""Policies written in Python, or by other packages."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy, act, distribution, init, learn, weighs, weight_of


class PythonParameters(NamedTuple):
    """The policy itself, the number of arms, and the horizon if it is known."""

    policy: Any
    n_arms: int
    horizon: int | None


class PythonState(NamedTuple):
    """The player, once it is made, and how often each arm was played."""

    player: list[Any]
    counts: FloatArray


class PythonPolicy(Policy):
    """Base class for a policy of another package, or of your own in plain Python, in simulations and studies.

    Subclass it with a ``name`` and give ``make(n_arms, horizon, seed)``: a fresh player for one replication.
    A player has ``select()``, which gives the number of an arm, and ``update(arm, reward)`` with a reward in
    [0, 1]; where its methods are called otherwise, override ``select`` and ``update`` here. All randomness
    of a player must come from the seed, so that replications are independent and can be repeated.

    It is played without the compiler, some hundred thousand rounds a minute. It does not tell its
    distribution: the shares of pulls so far stand for it in reports, worlds that read it are refused, and so
    is ``Bandit``, which needs probabilities.

    Examples
    --------
    >>> import random
    >>> import bothworlds as bw
    >>> class Greedy:
    ...     def __init__(self, n_arms, seed):
    ...         self.random = random.Random(seed)
    ...         self.sums, self.counts = [1.0] * n_arms, [1] * n_arms
    ...     def select(self):
    ...         if self.random.random() < 0.1:
    ...             return self.random.randrange(len(self.sums))
    ...         return max(range(len(self.sums)), key=lambda i: self.sums[i] / self.counts[i])
    ...     def update(self, arm, reward):
    ...         self.sums[arm] += reward
    ...         self.counts[arm] += 1
    >>> class GreedyPolicy(bw.policies.PythonPolicy, name="greedy-of-mine"):
    ...     def make(self, n_arms, horizon, seed):
    ...         return Greedy(n_arms, seed)
    >>> world = bw.environments.Bernoulli(n_arms=3, gap=0.4)
    >>> run = bw.simulate([GreedyPolicy(), bw.Uniform()], world, horizon=300, replications=4, seed=1)
    >>> bool(run.regret[0, :, -1].mean() < 0.5 * run.regret[1, :, -1].mean())
    True
    """

    explicit: ClassVar[bool] = False
    in_python: ClassVar[bool] = True

    @abstractmethod
    def make(self, n_arms: int, horizon: int | None, seed: int) -> Any:
        """A fresh player."""

    def select(self, player: Any) -> int:
        """The arm that a player plays: 0 … n_arms − 1."""
        arm: int = player.select()
        return arm

    def update(self, player: Any, arm: int, reward: float) -> None:
        """Tell a player the reward of the arm it played."""
        player.update(arm, reward)

    def parameters(self, n_arms: int, horizon: int | None) -> PythonParameters:
        """The policy itself: its kernels call it."""
        return PythonParameters(self, n_arms, horizon)


@init.register(PythonParameters)
def _(params: PythonParameters) -> PythonState:
    return PythonState([], np.zeros(params.n_arms))


@act.register(PythonParameters)
def _(params: PythonParameters, state: PythonState, uniforms: FloatArray) -> int:
    if not state.player:  # the first pull: its random number is the seed
        seed = int(uniforms[0] * 2.0**53)
        state.player.append(params.policy.make(params.n_arms, params.horizon, seed))
    chosen = params.policy.select(state.player[0])
    arm = _check.integer("select()", chosen, at_least=0)
    if arm >= params.n_arms:
        raise InvalidArgumentError("select()", chosen, f"an arm in 0..{params.n_arms - 1}")
    return arm


@weight_of.register(PythonParameters)
def _(params: PythonParameters, state: PythonState, arm: int) -> float:
    return float("nan")


@weighs.register(PythonParameters)
def _(params: PythonParameters) -> bool:
    return False


@learn.register(PythonParameters)
def _(
    params: PythonParameters, state: PythonState, arm: int, loss: float, weight: float, memo: float
) -> None:
    state.counts[arm] += 1.0
    params.policy.update(state.player[0], arm, 1.0 - loss)


@distribution.register(PythonParameters)
def _(params: PythonParameters, state: PythonState, out: FloatArray) -> None:
    total = state.counts.sum()
    out[:] = state.counts / total if total > 0.0 else 1.0 / params.n_arms
