"""Four replications of a policy in the lanes of one processor core, with the bits each would have alone.

Only for a policy whose rounds are short enough for this to pay: Tsallis-INF (and its relatives with β = ⅔)
with few arms, on worlds that do not watch it. A replication on its own mostly waits for one operation to
end before the next can begin; four do not wait for each other.

Everything per arm is interleaved: arm i of replication w is at 4i + w.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds._lanes import LANES, at_most, fill, load, pack, smallest, store
from bothworlds.environments.base import benchmark, cost_of, loss_of, prepare, watches
from bothworlds.policies.base import FEW, init
from bothworlds.policies.estimators import ImportanceWeightedParameters
from bothworlds.policies.ftrl_kernel import RECENTRE, FTRLParameters
from bothworlds.policies.ftrl_state import FTRLState
from bothworlds.policies.rates import CommonRateParameters
from bothworlds.simplex.kernel import FAILED
from bothworlds.simplex.steps import MULTIPLIER, TOTAL, HalfTsallisStep, TwoThirdsTsallisStep, advance
from bothworlds.simplex.steps.root_tsallis_lanes import CONFIRMED, advance_lanes
from bothworlds.simulate.engine import (
    BAD_LOSS,
    CLEAN,
    CLEAN_REGRET,
    COMPLETE,
    COST,
    LOSS,
    MARK,
    NEVER,
    REGRET,
    SUFFERED,
    UNSOLVED,
)


class LaneState(NamedTuple):
    """What four replications know, interleaved, and room to work in."""

    losses: FloatArray
    p: FloatArray
    carried: FloatArray
    fresh: FloatArray
    """Room for what is carried next."""
    drawn: FloatArray
    """The arms of the round, one number per lane."""
    before: FloatArray
    """Their estimates before the round, where the round is not yet done."""
    single: FTRLState
    """Room for one replication."""


def fit(params: Any, env: Any) -> bool:
    """Can four replications of this policy in this world share a core?"""
    return (
        isinstance(params, FTRLParameters)
        and isinstance(params.step, (HalfTsallisStep, TwoThirdsTsallisStep))
        and isinstance(params.estimator, ImportanceWeightedParameters)
        and isinstance(params.rate, CommonRateParameters)
        and params.n_arms <= FEW
        and not watches(env)
    )


def lane_state(params: FTRLParameters) -> LaneState:
    """Four fresh replications."""
    single = init(params)
    return LaneState(
        np.repeat(single.losses, LANES),
        np.repeat(single.p, LANES),
        np.repeat(single.carried, LANES),
        np.repeat(single.carried, LANES),
        np.zeros(LANES),
        np.zeros(LANES),
        single,
    )


@kernel
def alone(params: FTRLParameters, state: LaneState, w: int, moved: int, before: float) -> int:
    """The step of one replication on its own, when its lane does not confirm."""
    single = state.single
    for i in range(params.n_arms):
        single.losses[i] = state.losses[LANES * i + w]
    for k in range(single.carried.size):
        single.carried[k] = state.carried[LANES * k + w]
    status = advance(
        params.step,
        params.regularizer,
        single.losses,
        single.rates,
        params.log_barrier,
        single.carried,
        single.p,
        moved,
        before,
        0.0,
    )
    for i in range(params.n_arms):
        state.p[LANES * i + w] = single.p[i]
    for k in range(single.carried.size):
        state.carried[LANES * k + w] = single.carried[k]
    return status


@kernel
def patch(params: FTRLParameters, state: LaneState) -> int:
    """After a round in which not all lanes confirm: keep those that do, do the others one by one."""
    worst = 0
    for w in range(LANES):
        if state.fresh[LANES * CONFIRMED + w] == 1.0:
            for k in range(state.single.carried.size):
                if k != CONFIRMED:
                    state.carried[LANES * k + w] = state.fresh[LANES * k + w]
        else:
            worst = max(worst, alone(params, state, w, int(state.drawn[w]), state.before[w]))
    return worst


@kernel
def recentre_lanes(params: FTRLParameters, state: LaneState) -> None:
    """Subtract a whole number from the losses of each replication that needs it, as ``recentre`` does."""
    for w in range(LANES):
        if state.carried[LANES * MULTIPLIER + w] > RECENTRE:
            shift = math.floor(state.carried[LANES * MULTIPLIER + w])
            for i in range(params.n_arms):
                state.losses[LANES * i + w] -= shift
            state.carried[LANES * MULTIPLIER + w] -= shift


@kernel(inline=True)
def draw_lanes(params: FTRLParameters, state: LaneState, uniforms: FloatArray, k: int) -> None:
    """Fill ``drawn`` with the arms: how many have a sum of p that does not exceed the target."""
    four = pack(uniforms[0, k], uniforms[1, k], uniforms[2, k], uniforms[3, k])
    target = four * load(state.carried, LANES * TOTAL)
    reached, arms = fill(0.0), fill(0.0)
    for i in range(params.n_arms):
        reached = reached + load(state.p, LANES * i)
        arms = arms + at_most(reached, target)
    store(state.drawn, 0, arms)


@kernel(inline=True)
def meet(
    state: LaneState, env: Any, world: Any, t: int, draws: FloatArray, w: int, n: int, tally: FloatArray
) -> tuple[float, float, float]:
    """Round t of one replication in its world: the loss, and the estimate of the arm before and after."""
    arm = min(int(state.drawn[w]), n - 1)
    while state.p[LANES * arm + w] == 0.0 and arm > 0:
        arm -= 1
    prepare(env, world, t, state.single.p, draws)
    loss = loss_of(env, world, t, arm, draws)
    cost, clean = cost_of(env, world, t, arm, draws)
    tally[w, COST] += cost
    tally[w, CLEAN] += clean
    tally[w, SUFFERED] += loss
    at = LANES * arm + w
    before = state.losses[at]
    after = before + loss / state.p[at]
    state.losses[at] = after
    state.drawn[w] = arm
    return loss, before, after


@entry
def play_lanes(
    params: FTRLParameters,
    state: LaneState,
    env: Any,
    worlds: Any,
    policy_uniforms: FloatArray,
    world_uniforms: FloatArray,
    before: int,
    marks: IntArray,
    tally: FloatArray,
    kept: FloatArray,
    kept_p: FloatArray,
) -> int:
    """Play rounds before+1, before+2, … of four replications; return how it ended.

    Uniforms, ``tally``, ``kept`` and ``kept_p`` are those of ``play_block`` with one more, first, index. The
    worlds are four arguments in one: a loop over them would copy all four for each.
    """
    n = params.n_arms
    mark = int(tally[0, MARK])
    following = marks[mark] if mark < marks.size else NEVER
    for k in range(world_uniforms.shape[1]):
        t = before + k + 1
        draw_lanes(params, state, policy_uniforms, k)
        loss0, old0, new0 = meet(state, env, worlds[0], t, world_uniforms[0, k], 0, n, tally)
        loss1, old1, new1 = meet(state, env, worlds[1], t, world_uniforms[1, k], 1, n, tally)
        loss2, old2, new2 = meet(state, env, worlds[2], t, world_uniforms[2, k], 2, n, tally)
        loss3, old3, new3 = meet(state, env, worlds[3], t, world_uniforms[3, k], 3, n, tally)
        if not (min(loss0, loss1, loss2, loss3) >= 0.0 and max(loss0, loss1, loss2, loss3) <= 1.0):
            return BAD_LOSS
        if params.rate.growing:
            state.single.rates[0] = params.rate.theta * math.sqrt(1.0 + t)
        confirmed = advance_lanes(
            params.step,
            state.single.rates[0] * params.regularizer.factor,
            state.losses,
            state.carried,
            state.p,
            pack(old0, old1, old2, old3),
            pack(new0, new1, new2, new3),
            n,
            state.fresh,
        )
        if confirmed < LANES:
            store(state.before, 0, pack(old0, old1, old2, old3))
            if patch(params, state) == FAILED:
                return UNSOLVED
        if not smallest(RECENTRE - load(state.carried, LANES * MULTIPLIER)) >= 0.0:
            recentre_lanes(params, state)
        if t == following:
            for w in range(LANES):
                best, clean_best = benchmark(env, worlds[w], t)
                kept[w, mark, REGRET] = tally[w, COST] - best
                kept[w, mark, CLEAN_REGRET] = tally[w, CLEAN] - clean_best
                kept[w, mark, LOSS] = tally[w, SUFFERED]
                if mark < kept_p.shape[1]:
                    for i in range(n):
                        kept_p[w, mark, i] = state.p[LANES * i + w]
            mark += 1
            following = marks[mark] if mark < marks.size else NEVER
    tally[0, MARK] = mark
    return COMPLETE
