"""Tsallis-INF and INF: two settings of the FTRL machine with ½-Tsallis entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from bothworlds import _check
from bothworlds.policies.base import Policy
from bothworlds.policies.confidence import require_horizon
from bothworlds.policies.estimators import ImportanceWeighted, reduced_variance
from bothworlds.policies.ftrl import FTRL
from bothworlds.policies.ftrl_kernel import FTRLParameters
from bothworlds.policies.many.state import MANY_ARMS
from bothworlds.policies.many.tsallis import ManyArmsParameters
from bothworlds.simplex.regularizers import Tsallis


@dataclass(frozen=True, repr=False)
class TsallisINF(Policy):
    """Tsallis-INF of Zimmert and Seldin: ½-Tsallis entropy, one rate for all arms, no horizon needed.

    p^t = argmin <p, L> − 2γ_t Σ_i √p_i, with

    * ``estimator="iw"``: γ_t = √t and importance weighting; regret ≤ 4√(KT) + 1 always;
    * ``estimator="rv"``: γ_t = √t/2 and the reduced-variance estimator, with baseline ½ where p_i ≥ 16/t;
      about half the regret.

    ``TsallisINF()`` is ``FTRL(Tsallis(0.5), log_barrier=0, theta=1, alpha=0.5)``. From 400 arms on, its time
    per round hardly depends on their number: a million is fine. The distribution is the same to 1e-11; which
    arm a random number leads to is not.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.TsallisINF(), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.1594, 0.8406]])

    References
    ----------
    J. Zimmert, Y. Seldin: Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits.
    JMLR 2021.
    """

    estimator: Literal["iw", "rv"] = "iw"

    def __post_init__(self) -> None:
        _check.one_of("estimator", self.estimator, ("iw", "rv"))

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """Those of the equivalent FTRL."""
        iw = self.estimator == "iw"
        return FTRL(
            Tsallis(0.5),
            log_barrier=0.0,
            theta=1.0 if iw else 0.5,
            alpha=0.5,
            estimator=ImportanceWeighted() if iw else reduced_variance(),
        ).parameters(n_arms, horizon)

    def resolve(self, n_arms: int, horizon: int | None) -> Any:
        """The parameters, or for many arms those of a machine with the same distribution."""
        params = super().resolve(n_arms, horizon)
        if self.estimator == "rv" or n_arms < MANY_ARMS:
            return params
        return ManyArmsParameters(power=2, explore=2, theta=1.0, growing=True, n_arms=n_arms)


@dataclass(frozen=True, repr=False)
class INF(Policy):
    """INF of Audibert and Bubeck with q = 2: ½-Tsallis entropy at the fixed rate γ = √(T/2).

    Regret ≤ √(8KT) against any adversary; no better in benign worlds. Needs the horizon.

    References
    ----------
    J.-Y. Audibert, S. Bubeck: Minimax Policies for Adversarial and Stochastic Bandits. COLT 2009.
    """

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """Those of an FTRL whose rates do not grow."""
        horizon = require_horizon(self, horizon, "TsallisINF()")
        theta = math.sqrt(horizon / 2.0)
        params = FTRL(Tsallis(0.5), log_barrier=0.0, theta=theta, alpha=0.5).parameters(n_arms, horizon)
        return params._replace(rate=params.rate._replace(growing=False))

    def resolve(self, n_arms: int, horizon: int | None) -> Any:
        """The parameters, or for many arms those of a machine with the same distribution."""
        params = super().resolve(n_arms, horizon)
        if n_arms < MANY_ARMS:
            return params
        return ManyArmsParameters(power=2, explore=2, theta=params.rate.theta, growing=False, n_arms=n_arms)
