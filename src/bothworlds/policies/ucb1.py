"""UCB1, the classic for stochastic worlds, and what best-of-both-worlds policies are measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bothworlds import _check
from bothworlds.policies.base import Policy
from bothworlds.policies.index import index, register_index_policy


class UCB1Parameters(NamedTuple):
    """The exploration constant and the number of arms."""

    alpha: float
    n_arms: int


@dataclass(frozen=True, repr=False)
class UCB1(Policy, name="ucb1"):
    """UCB1: after each arm once, the arm with the smallest  mean loss − √(α·log t/n_i).

    Deterministic: its distribution puts all mass on one arm. Regret O(Σ log T/Δ_i) on iid losses; an
    adversary, even a stochastically constrained one, makes it linear.

    Parameters
    ----------
    alpha:
        α > 0; 2 is Auer et al.'s, 1.5 is used in Zimmert and Seldin's comparisons.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.UCB1(), n_arms=2, arms=[0, 1], losses=[1.0, 0.0]).p
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time Analysis of the Multiarmed Bandit Problem. 2002.
    """

    explicit: ClassVar[bool] = False
    fixed_arms: ClassVar[str | None] = None

    alpha: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _check.number("alpha", self.alpha, above=0.0))

    def parameters(self, n_arms: int, horizon: int | None) -> UCB1Parameters:
        """α and K; the horizon plays no part."""
        return UCB1Parameters(self.alpha, n_arms)


register_index_policy(UCB1Parameters)


@index.register(UCB1Parameters)
def _(params: UCB1Parameters, mean: float, count: float, log_round: float) -> float:
    return mean - math.sqrt(params.alpha * log_round / count)
