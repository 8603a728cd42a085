"""Thompson sampling that fades what it has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from bothworlds._jit import kernel
from bothworlds.policies.base import Policy, init, learn
from bothworlds.policies.thompson import ThompsonState, bernoulli, prior, samples_its_posterior
from bothworlds.settings import Within

FORGOTTEN = 1e-9  # an observation that weighs less counts as none: posteriors are Beta(1, 1) again, exactly


class DiscountedThompsonParameters(NamedTuple):
    """The discount, and the number of arms."""

    discount: float
    n_arms: int


@dataclass(frozen=True, repr=False)
class DiscountedThompson(Policy, name="discounted-thompson"):
    """Thompson sampling in which every observation weighs less by a factor γ with each one that follows.

    The posterior of an arm is Beta(1 + ones, 1 + zeros), as for :class:`Thompson`, with

        ones_i ← γ·ones_i + 1[i was seen, and its loss counts as 1],   zeros_i likewise,

    for all arms at each observation: about 1/(1 − γ) observations are remembered. A fractional loss counts
    as 1 with that probability, else as 0. It follows changes of the best arm, and pays for it: an arm that
    was not seen for a while is tried again, so that regret on iid losses is linear in T, with a small slope.
    No bound is known for an adversary.

    Parameters
    ----------
    discount:
        γ in (0, 1]; 1 is :class:`Thompson`, the default remembers about 2,000 observations.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.DiscountedThompson(0.5), n_arms=2, arms=[0, 1], losses=[1.0, 1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.3333, 0.6667],
           [0.5714, 0.4286]])

    References
    ----------
    V. Raj, S. Kalyani: Taming Non-stationary Bandits: A Bayesian Approach. 2017.
    """

    explicit: ClassVar[bool] = False
    fixed_arms: ClassVar[str | None] = None

    discount: Annotated[float, Within(above=0.0, at_most=1.0)] = 0.9995

    def parameters(self, n_arms: int, horizon: int | None) -> DiscountedThompsonParameters:
        """γ and K; the horizon plays no part."""
        return DiscountedThompsonParameters(self.discount, n_arms)


samples_its_posterior(DiscountedThompsonParameters)


@init.register(DiscountedThompsonParameters)
def _(params: DiscountedThompsonParameters) -> ThompsonState:
    return prior(params.n_arms)


@kernel
def faded(discount: float, value: float) -> float:
    """A parameter of the posterior, 1 + γ·(what was seen)."""
    left = discount * (value - 1.0)
    return 1.0 + left if left >= FORGOTTEN else 1.0


@learn.register(DiscountedThompsonParameters)
def _(
    params: DiscountedThompsonParameters,
    state: ThompsonState,
    arm: int,
    loss: float,
    weight: float,
    memo: float,
) -> None:
    for i in range(params.n_arms):
        state.ones[i] = faded(params.discount, state.ones[i])
        state.zeros[i] = faded(params.discount, state.zeros[i])
    one = bernoulli(loss, memo)
    state.ones[arm] += one
    state.zeros[arm] += 1.0 - one
