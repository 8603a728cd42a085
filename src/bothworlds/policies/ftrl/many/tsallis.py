"""Tsallis-INF with many arms: plain importance weighting, one rate for all arms, β = ½ or ⅔."""

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
    observe,
    probability_of,
    step,
    weight_of,
)
from bothworlds.policies.ftrl.many.sample import pick
from bothworlds.policies.ftrl.many.search import change_arm, fill_one_bucket, search_multiplier
from bothworlds.policies.ftrl.many.series import sum_up
from bothworlds.policies.ftrl.many.state import (
    LOSS,
    MOVED,
    NOTHING,
    OFFSET,
    PER_ARM,
    ROUND,
    SCALE,
    SHIFT,
    TOUCHED_ARMS,
    UNIT,
    ManyArmsState,
    distance,
    empty_state,
    first_power,
    probability,
    whole_power,
)


class ManyArmsParameters(NamedTuple):
    """p_i = (c/(L_i − x))^s with c = (s−1)·γ, and γ = θ√t, or γ = θ where it does not grow."""

    power: int
    """s = 1/(1 − β): 2 or 3."""
    explore: int
    """Arms are observed with probability ∝ (L − x)^−explore; that is s, unless the policy is decoupled."""
    theta: float
    growing: bool
    n_arms: int

    @property
    def touched_arms(self) -> int:
        """How many arms a round touches, in effect."""
        return TOUCHED_ARMS


@kernel
def rate(params: ManyArmsParameters, t: float) -> float:
    """γ in round t."""
    return params.theta * math.sqrt(t if params.growing else 1.0)


@first_power.register(ManyArmsParameters)
def _(params: ManyArmsParameters) -> int:
    return min(params.power, params.explore)


@init.register(ManyArmsParameters)
def _(params: ManyArmsParameters) -> ManyArmsState:
    state = empty_state(params.n_arms)
    state.scalars[ROUND] = 1.0
    state.scalars[SCALE] = (params.power - 1.0) * rate(params, 1.0)
    fill_one_bucket(params, state, 1.0)
    return state


@act.register(ManyArmsParameters)
def _(params: ManyArmsParameters, state: ManyArmsState, uniforms: FloatArray) -> int:
    return pick(state, params.power, uniforms[0])


@observe.register(ManyArmsParameters)
def _(params: ManyArmsParameters, state: ManyArmsState, arm: int, uniforms: FloatArray) -> int:
    return arm if params.explore == params.power else pick(state, params.explore, uniforms[-1])


@weight_of.register(ManyArmsParameters)
def _(params: ManyArmsParameters, state: ManyArmsState, arm: int) -> float:
    scalars = state.scalars
    if params.explore == params.power:
        return probability(params.power, state.arms, scalars, arm)
    total = sum_up(scalars, params.explore, params.explore - first_power(params), scalars[SHIFT])[0]
    return whole_power(scalars[UNIT] / distance(state.arms, scalars, arm), params.explore) / total


@probability_of.register(ManyArmsParameters)
def _(params: ManyArmsParameters, state: ManyArmsState, arm: int) -> float:
    return probability(params.power, state.arms, state.scalars, arm)


@learn.register(ManyArmsParameters, inline=True)
def _(
    params: ManyArmsParameters, state: ManyArmsState, arm: int, loss: float, weight: float, memo: float
) -> None:
    state.scalars[MOVED] = NOTHING
    if loss > 0.0:
        state.scalars[MOVED] = arm
        change_arm(params, state, arm, state.arms[PER_ARM * arm + LOSS] + loss / weight, 1.0)


@step.register(ManyArmsParameters, inline=True)
def _(params: ManyArmsParameters, state: ManyArmsState) -> int:
    scalars = state.scalars
    scalars[ROUND] += 1.0
    scalars[SCALE] = (params.power - 1.0) * rate(params, scalars[ROUND])
    return search_multiplier(params, state, int(scalars[MOVED]))


@distribution.register(ManyArmsParameters)
def _(params: ManyArmsParameters, state: ManyArmsState, out: FloatArray) -> None:
    for arm in range(params.n_arms):
        out[arm] = probability(params.power, state.arms, state.scalars, arm)


@inspect.register(ManyArmsParameters)
def _(
    params: ManyArmsParameters, state: ManyArmsState, out_rates: FloatArray, out_estimates: FloatArray
) -> None:
    out_rates[:] = rate(params, state.scalars[ROUND])
    for arm in range(params.n_arms):
        out_estimates[arm] = state.arms[PER_ARM * arm + LOSS] + state.scalars[OFFSET]
