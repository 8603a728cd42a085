"""LightBarrier, the default policy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bothworlds.policies.base import Policy
from bothworlds.policies.estimators import CappedBaseline
from bothworlds.policies.ftrl import FTRL
from bothworlds.policies.ftrl_kernel import FTRLParameters
from bothworlds.policies.rates import KNOWN, RUNNING, UNUSED, log_horizon
from bothworlds.simplex.regularizers import LogBarrier


@dataclass(frozen=True, repr=False)
class LightBarrier(Policy):
    """The default policy: the paper's log-barrier algorithm made light.

    It is Algorithm 1 with the log-barrier (α = 0), C = ½ and θ = ¾/√(log T), and two changes:

    * the estimator has a capped baseline: with ḡ = (½ + Σ losses seen)/(1 + number seen) and
      b_i = min{ḡ, ½(C + γ_i)}, the estimate is ℓ̂_i = b_i + 1[i = a]·(ℓ_a − b_a)/p_a;
    * the rates weigh rounds by their squared prediction error:
      γ_i^t = θ·√(1 + Σ_{τ<t} 4(ℓ_τ − b_{a_τ})²·max(p_i^τ, 1/T)).

    With an unknown horizon, log(t + K) stands for log T and 1/t for the clip; it never restarts.

    What is proved: the estimator is unbiased, because b is fixed before the draw. What is only measured:
    its regret. No theorem covers this policy; for one that has a theorem, take
    ``FTRL(LogBarrier(), constants="paper")`` and expect to pay for it.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.LightBarrier(), n_arms=2, arms=[0, 0, 1], losses=[1.0, 1.0, 0.0]).p[-1].round(3)
    array([0.292, 0.708])
    """

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """Those of FTRL with the two changes."""
        theta = 0.75 if horizon is None else 0.75 / math.sqrt(log_horizon(horizon))
        params = FTRL(
            LogBarrier(), log_barrier=0.5, theta=theta, alpha=0.0, estimator=CappedBaseline(kappa=0.5)
        ).parameters(n_arms, horizon)
        rate = params.rate._replace(
            over_log=horizon is None,
            error_weighted=True,
            schedule=RUNNING if horizon is None else KNOWN,
            horizon=UNUSED if horizon is None else float(horizon),
        )
        return params._replace(rate=rate)
