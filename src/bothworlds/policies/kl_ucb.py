"""KL-UCB: UCB with the confidence bound that fits Bernoulli losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bothworlds.policies.base import Policy
from bothworlds.policies.shared.index import index, register_index_policy
from bothworlds.policies.shared.kl import kl_lower
from bothworlds.settings import NonNegative


class KLUCBParameters(NamedTuple):
    """The constant of log log t, and the number of arms."""

    c: float
    n_arms: int


@dataclass(frozen=True, repr=False)
class KLUCB(Policy, name="kl-ucb"):
    """KL-UCB: after each arm once, the arm whose loss could be the smallest, by Bernoulli large deviations.

    The index of an arm with mean loss m, seen n times, is  min{q ≤ m : n·kl(m, q) ≤ log t + c·log log t},
    and the smallest is played. This is Garivier and Cappé's max{q : n·kl(μ, q) ≤ …} of the mean reward
    μ = 1 − m, because kl(1 − m, 1 − q) = kl(m, q). log log t counts as 0 while t < e.

    Deterministic. On iid Bernoulli losses its regret is asymptotically optimal, Σ Δ_i·log T/kl(m_i, m*);
    losses anywhere in [0, 1] are allowed. An adversary makes it linear.

    Parameters
    ----------
    c:
        c ≥ 0; 3 in the theorem, 0 in the authors' recommendation for practice.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.KLUCB(), n_arms=2, arms=[0, 1], losses=[1.0, 0.5]).p
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])

    References
    ----------
    A. Garivier, O. Cappé: The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond. COLT 2011.
    """

    explicit: ClassVar[bool] = False
    fixed_arms: ClassVar[str | None] = None

    c: NonNegative = 0.0

    def parameters(self, n_arms: int, horizon: int | None) -> KLUCBParameters:
        """c and K; the horizon plays no part."""
        return KLUCBParameters(self.c, n_arms)


register_index_policy(KLUCBParameters)


@index.register(KLUCBParameters)
def _(params: KLUCBParameters, mean: float, count: float, log_round: float) -> float:
    level = log_round + params.c * math.log(max(1.0, log_round))
    return kl_lower(mean, level / count)
