"""FTRL in time that hardly depends on the number of arms.

For policies in which a round changes one arm only: p_i = b_i·(c/(L_i − x))^s with a whole s, where nothing
but c and x is shared by the arms. Tsallis-INF (s = 2, b = 1), its decoupled variant (s = 3, b = 1) and the
log-barrier with counted rates (s = 1, c = 1, b_i = C + γ_i) are of this form.

Three levels, each summing up the one below:

* *arms*: L_i and b_i, exact;
* *buckets* (``buckets.py``): arms whose L lie in a short interval, short against its distance from x.
  A bucket knows the moments Σ b_i·d_i^m of the places of its arms within the interval, exactly, so that
  Σ b_i/(L_i − x)^k is a series that converges for every x far enough below. When x comes near, the bucket
  makes way for narrower ones. When x recedes, nothing needs to be done;
* one *series* (``series.py``): the Taylor series of Σ b_i/(L_i − x)^k around a recent x, from the buckets.
  Within its reach a round costs a handful of operations, whatever the number of arms.

A bucket also bounds the probability of its arms from above, tightly: that is all that drawing an arm by
rejection needs (``sample.py``).
"""

from __future__ import annotations

from typing import Any

from bothworlds.policies.ftrl.estimators import ImportanceWeightedParameters
from bothworlds.policies.ftrl.kernel import FTRLParameters
from bothworlds.policies.ftrl.many import arms as arms
from bothworlds.policies.ftrl.many.counted import CountedParameters
from bothworlds.policies.ftrl.many.state import MANY_ARMS
from bothworlds.policies.ftrl.many.tsallis import ManyArmsParameters
from bothworlds.policies.ftrl.rates import CommonRateParameters, CountedRateParameters
from bothworlds.simplex.steps import HalfTsallisStep, LogBarrierStep


def with_many_arms(params: Any) -> Any:
    """The parameters of the machine for many arms with the same distribution, if there is one; else these."""
    if (
        not isinstance(params, FTRLParameters)
        or params.n_arms < MANY_ARMS
        or not isinstance(params.estimator, ImportanceWeightedParameters)
    ):
        return params
    rate, n = params.rate, params.n_arms
    if isinstance(params.step, HalfTsallisStep) and isinstance(rate, CommonRateParameters):
        return ManyArmsParameters(power=2, explore=2, theta=rate.theta, growing=rate.growing, n_arms=n)
    if isinstance(params.step, LogBarrierStep) and isinstance(rate, CountedRateParameters):
        return CountedParameters(1, params.log_barrier, rate.restarts, rate.horizon, n)
    return params
