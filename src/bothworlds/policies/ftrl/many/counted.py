"""The log-barrier with counted rates and many arms: p_i = (C + γ_i)/(L_i − x)."""

from __future__ import annotations

import math
from typing import NamedTuple

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import (
    act,
    distribution,
    init,
    inspect,
    learn,
    memo_of,
    step,
    weight_of,
)
from bothworlds.policies.ftrl.many.sample import pick
from bothworlds.policies.ftrl.many.search import change_arm, fill_one_bucket, search_multiplier
from bothworlds.policies.ftrl.many.state import (
    HORIZON,
    LOSS,
    MOVED,
    NOTHING,
    OFFSET,
    PER_ARM,
    RESTARTS,
    ROUND,
    SCALE,
    TOUCHED_ARMS,
    WEIGHT,
    ManyArmsState,
    empty_state,
    line_up,
    probability,
)
from bothworlds.policies.ftrl.rates import counted_rate
from bothworlds.simplex.kernel import CONVERGED


class CountedParameters(NamedTuple):
    """The power s = 1, C, whether the horizon is unknown, T (or the first T_k), and the number of arms."""

    power: int
    log_barrier: float
    restarts: bool
    horizon: float
    n_arms: int

    @property
    def touched_arms(self) -> int:
        """How many arms a round touches, in effect."""
        return TOUCHED_ARMS


@kernel
def restart_counted(params: CountedParameters, state: ManyArmsState, horizon: float) -> None:
    """All arms, which stand in a row, are equal."""
    state.scalars[ROUND] = 1.0
    state.scalars[SCALE] = 1.0
    state.scalars[HORIZON] = horizon
    fill_one_bucket(params, state, params.log_barrier + counted_rate(horizon, 0.0))


@init.register(CountedParameters)
def _(params: CountedParameters) -> ManyArmsState:
    state = empty_state(params.n_arms)
    restart_counted(params, state, params.horizon)
    return state


@act.register(CountedParameters)
def _(params: CountedParameters, state: ManyArmsState, uniforms: FloatArray) -> int:
    return pick(state, 1, uniforms[0])


@weight_of.register(CountedParameters)
def _(params: CountedParameters, state: ManyArmsState, arm: int) -> float:
    return probability(1, state.arms, state.scalars, arm)


@memo_of.register(CountedParameters)
def _(params: CountedParameters, state: ManyArmsState, arm: int, uniforms: FloatArray) -> float:
    return float(state.scalars[RESTARTS])


@kernel
def count_of(params: CountedParameters, state: ManyArmsState, arm: int) -> float:
    """N of an arm; it need not be kept, γ tells."""
    ratio = (state.arms[PER_ARM * arm + WEIGHT] - params.log_barrier) / counted_rate(
        state.scalars[HORIZON], 0.0
    )
    return float(math.floor(ratio * ratio - 0.5))


@learn.register(CountedParameters, inline=True)
def _(
    params: CountedParameters, state: ManyArmsState, arm: int, loss: float, weight: float, memo: float
) -> None:
    if memo != state.scalars[RESTARTS]:
        return  # drawn before the last restart
    rate = counted_rate(state.scalars[HORIZON], count_of(params, state, arm) + 1.0)
    after = state.arms[PER_ARM * arm + LOSS] + loss / weight
    change_arm(params, state, arm, after, params.log_barrier + rate)
    state.scalars[MOVED] = arm


@step.register(CountedParameters, inline=True)
def _(params: CountedParameters, state: ManyArmsState) -> int:
    scalars = state.scalars
    moved, horizon = int(scalars[MOVED]), scalars[HORIZON]
    if moved == NOTHING:
        return CONVERGED
    scalars[MOVED] = NOTHING
    scalars[ROUND] += 1.0
    if params.restarts and scalars[ROUND] > horizon:
        scalars[RESTARTS] += 1.0
        line_up(params.n_arms, state.arms, state.members)
        restart_counted(params, state, horizon * horizon)
        return CONVERGED
    return search_multiplier(params, state, moved)


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
