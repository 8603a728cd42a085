"""The log-barrier with counted rates: a round changes the rate of one arm only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from bothworlds import _check
from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, act, distribution, init, inspect, observation_weight, update
from bothworlds.policies.estimators import ImportanceWeightedParameters
from bothworlds.policies.ftrl_kernel import FTRLParameters, follow
from bothworlds.policies.ftrl_state import HORIZON as FTRL_HORIZON
from bothworlds.policies.ftrl_state import ROUND as FTRL_ROUND
from bothworlds.policies.ftrl_state import FTRLState
from bothworlds.policies.many.sample import pick
from bothworlds.policies.many.search import change, fill, search
from bothworlds.policies.many.state import (
    EPOCH,
    HORIZON,
    LOSS,
    MANY_ARMS,
    OFFSET,
    PER_ARM,
    ROUND,
    SCALE,
    TOUCHED_ARMS,
    WEIGHT,
    ManyArmsState,
    empty_state,
    line_up,
    probability,
)
from bothworlds.policies.rates import (
    KNOWN,
    ON,
    RESTARTS,
    advance_rates,
    begin_rates,
)
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.regularizers import LogBarrier


class CountedRateParameters(NamedTuple):
    """γ_i = √((1 + N_i)/log T), for a known T or one that is squared when it is over."""

    schedule: int
    horizon: float


class CountedParameters(NamedTuple):
    """The same policy for the machine for many arms: p_i = (C + γ_i)/(L_i − x)."""

    power: int
    log_barrier: float
    schedule: int
    horizon: float
    n_arms: int

    @property
    def touched_arms(self) -> int:
        """How many arms a round touches, in effect."""
        return TOUCHED_ARMS


@dataclass(frozen=True, repr=False)
class CountedBarrier(Policy):
    """The paper's log-barrier algorithm with pulls counted in place of probabilities: fast with many arms.

    Algorithm 1 with the log-barrier has the rates γ_i = θ·√(1 + Σ_{τ<t} max(p_i^τ, 1/T)), θ = 1/√(log T).
    They all move in every round, so that a round takes time proportional to the number of arms. Here

        γ_i^t = θ·√(1 + N_i),     N_i = how often arm i was pulled before round t,

    which moves only for the arm that was pulled. From 400 arms on, the time of a round hardly depends on
    their number.

    *Why that is a fair exchange.* γ^t is known before round t and never decreases, which is what the paper's
    lemmas ask of it. In expectation N_i equals Σ p_i; and since γ_i^t is fixed before the draw,
    E Σ_t p_i^t/γ_i^t = E Σ_t 1[a_t = i]/γ_i^t ≤ (2/θ)·E√(N_i), where the last sum runs over 1/√1, 1/√2, …
    So both sums that the analysis balances, Σ_t p_i^t/γ_i^t and γ_i^T, have the bound in terms of
    E√(N_i) ≤ √(E Σ p_i) that the paper's rates give them. This is an argument, not a theorem of the paper:
    what it costs in regret is measured in docs/benchmarks.md.

    Parameters
    ----------
    log_barrier:
        C ≥ 0. 1 is what works in practice ("light"), 162 is the paper's.

    Notes
    -----
    With an unknown horizon the policy restarts at horizons T_0 = max(4, K), T_{k+1} = T_k², as FTRL does.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.CountedBarrier(), n_arms=3, horizon=100, arms=[0, 1], losses=[1.0, 0.0]).p.round(3)
    array([[0.333, 0.333, 0.333],
           [0.242, 0.379, 0.379],
           [0.234, 0.407, 0.359]])

    References
    ----------
    T. Jin, J. Liu, H. Luo: Improved Best-of-Both-Worlds Guarantees for Multi-Armed Bandits. NeurIPS 2023
    (the algorithm whose rates are exchanged).
    """

    log_barrier: float = 1.0

    def __post_init__(self) -> None:
        value = _check.number("log_barrier", self.log_barrier, at_least=0.0)
        object.__setattr__(self, "log_barrier", value)

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """Those of an FTRL with rates of its own."""
        schedule = RESTARTS if horizon is None else KNOWN
        rounds = float(max(4, n_arms) if horizon is None else horizon)
        rate = CountedRateParameters(schedule, rounds)
        return follow(LogBarrier(), ImportanceWeightedParameters(), rate, self.log_barrier, n_arms)

    def resolve(self, n_arms: int, horizon: int | None) -> Any:
        """The parameters, or for many arms those of a machine with the same distribution."""
        params = super().resolve(n_arms, horizon)
        if n_arms < MANY_ARMS:
            return params
        return CountedParameters(1, self.log_barrier, params.rate.schedule, params.rate.horizon, n_arms)


@kernel
def counted_rate(horizon: float, count: float) -> float:
    """γ of an arm that was pulled ``count`` times."""
    return math.sqrt((1.0 + count) / max(1.0, math.log(horizon)))


# --- few arms: a schedule of rates for the FTRL machine -------------------------------------------------


@begin_rates.register(CountedRateParameters)
def _(rate: CountedRateParameters, state: FTRLState) -> None:
    state.rates[:] = counted_rate(state.scalars[FTRL_HORIZON], 0.0)


@advance_rates.register(CountedRateParameters)
def _(rate: CountedRateParameters, state: FTRLState, observe: int, error: float) -> float:
    horizon = state.scalars[FTRL_HORIZON]
    state.sums[observe] += 1.0
    if rate.schedule == RESTARTS and state.scalars[FTRL_ROUND] + 1.0 > horizon:
        return float(horizon * horizon)
    state.rates[observe] = counted_rate(horizon, state.sums[observe])
    return ON


# --- many arms ------------------------------------------------------------------------------------------


@kernel
def begin(params: CountedParameters, state: ManyArmsState, horizon: float) -> None:
    """All arms, which stand in a row, are equal."""
    state.scalars[ROUND] = 1.0
    state.scalars[SCALE] = 1.0
    state.scalars[HORIZON] = horizon
    fill(params, state, params.log_barrier + counted_rate(horizon, 0.0))


@init.register(CountedParameters)
def _(params: CountedParameters) -> ManyArmsState:
    state = empty_state(params.n_arms)
    begin(params, state, params.horizon)
    return state


@act.register(CountedParameters)
def _(
    params: CountedParameters, state: ManyArmsState, uniforms: FloatArray
) -> tuple[int, int, float, float, int]:
    arm = pick(state, 1, uniforms[0])
    p, epoch = observation_weight(params, state, arm)
    return arm, arm, p, p, epoch


@observation_weight.register(CountedParameters)
def _(params: CountedParameters, state: ManyArmsState, arm: int) -> tuple[float, int]:
    return probability(1, state.arms, state.scalars, arm), int(state.scalars[EPOCH])


@kernel
def count_of(params: CountedParameters, state: ManyArmsState, arm: int) -> float:
    """N of an arm; it need not be kept, γ tells."""
    ratio = (state.arms[PER_ARM * arm + WEIGHT] - params.log_barrier) / counted_rate(
        state.scalars[HORIZON], 0.0
    )
    return float(math.floor(ratio * ratio - 0.5))


@update.register(CountedParameters)
def _(
    params: CountedParameters, state: ManyArmsState, observe: int, loss: float, weight: float, epoch: int
) -> int:
    scalars = state.scalars
    if epoch != int(scalars[EPOCH]):
        return CONVERGED  # drawn before the last restart
    horizon = scalars[HORIZON]
    scalars[ROUND] += 1.0
    if params.schedule == RESTARTS and scalars[ROUND] > horizon:
        scalars[EPOCH] += 1.0
        line_up(params.n_arms, state.arms, state.members)
        begin(params, state, horizon * horizon)
        return CONVERGED
    rate = counted_rate(horizon, count_of(params, state, observe) + 1.0)
    after = state.arms[PER_ARM * observe + LOSS] + loss / weight
    change(params, state, observe, after, params.log_barrier + rate)
    return search(params, state, observe)


@distribution.register(CountedParameters)
def _(params: CountedParameters, state: ManyArmsState, out: FloatArray) -> None:
    for arm in range(params.n_arms):
        out[arm] = probability(1, state.arms, state.scalars, arm)


@inspect.register(CountedParameters)
def _(
    params: CountedParameters, state: ManyArmsState, out_rates: FloatArray, out_estimates: FloatArray
) -> None:
    for arm in range(params.n_arms):
        out_rates[arm] = state.arms[PER_ARM * arm + WEIGHT] - params.log_barrier
        out_estimates[arm] = state.arms[PER_ARM * arm + LOSS] + state.scalars[OFFSET]
