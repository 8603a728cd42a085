"""Thompson sampling that knows the last observations only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.policies.base import Policy, init, learn
from bothworlds.policies.thompson import bernoulli, prior, samples_its_posterior
from bothworlds.settings import Count


class SlidingWindowThompsonParameters(NamedTuple):
    """The length of the window, and the number of arms."""

    window: int
    n_arms: int


class SlidingWindowThompsonState(NamedTuple):
    """The posteriors, Beta(ones_i, zeros_i), and the observations they are made of."""

    ones: FloatArray
    zeros: FloatArray
    arms: FloatArray
    """The arms of the last observations, in a ring."""
    bits: FloatArray
    """Their losses, rounded to 0 or 1."""
    seen: FloatArray
    """How many observations there have been."""


@dataclass(frozen=True, repr=False)
class SlidingWindowThompson(Policy, name="sliding-window-thompson"):
    """Thompson sampling on the last τ observations (of all arms together): older ones are forgotten.

    The posterior of an arm is Beta(1 + ones, 1 + zeros), as for :class:`Thompson`, counted in the window. A
    fractional loss counts as 1 with that probability, else as 0. Follows changes of the best arm within
    about τ rounds; on iid losses regret is linear in T, with a small slope. Takes memory for τ observations,
    in a saved bandit too. No bound is known for an adversary.

    Parameters
    ----------
    window:
        τ ≥ 1.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.SlidingWindowThompson(window=1)
    >>> bw.replay(policy, n_arms=2, arms=[0, 1], losses=[1.0, 1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.3333, 0.6667],
           [0.6667, 0.3333]])

    References
    ----------
    F. Trovò, S. Paladino, M. Restelli, N. Gatti: Sliding-Window Thompson Sampling for Non-Stationary
    Settings. JAIR 2020.
    """

    explicit: ClassVar[bool] = False
    fixed_arms: ClassVar[str | None] = None

    window: Count = 2000

    def parameters(self, n_arms: int, horizon: int | None) -> SlidingWindowThompsonParameters:
        """τ and K; the horizon plays no part."""
        return SlidingWindowThompsonParameters(self.window, n_arms)


samples_its_posterior(SlidingWindowThompsonParameters)


@init.register(SlidingWindowThompsonParameters)
def _(params: SlidingWindowThompsonParameters) -> SlidingWindowThompsonState:
    ring = np.zeros((2, params.window))
    return SlidingWindowThompsonState(*prior(params.n_arms), ring[0], ring[1], np.zeros(1))


@learn.register(SlidingWindowThompsonParameters)
def _(
    params: SlidingWindowThompsonParameters,
    state: SlidingWindowThompsonState,
    arm: int,
    loss: float,
    weight: float,
    memo: float,
) -> None:
    at = int(state.seen[0]) % params.window
    if state.seen[0] >= params.window:
        oldest = int(state.arms[at])
        state.ones[oldest] -= state.bits[at]
        state.zeros[oldest] -= 1.0 - state.bits[at]
    one = bernoulli(loss, memo)
    state.ones[arm] += one
    state.zeros[arm] += 1.0 - one
    state.arms[at] = arm
    state.bits[at] = one
    state.seen[0] += 1.0
