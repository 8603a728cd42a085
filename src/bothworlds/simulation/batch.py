"""Many replications of a policy at once on one processor core, with the bits each would have alone.

Only for a policy whose rounds are short enough for this to pay: Tsallis-INF (and its relatives with β = ⅔)
with few arms, on worlds that do not watch it. A replication on its own mostly waits for one operation to
end before the next can begin. Here four share every operation, in the lanes of a block, and up to four such
fours take turns, operation by operation: they do not wait for each other.

Each four has a row of every array, in which what is per arm is interleaved: arm i of lane w is at 4i + w.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds._simd import (
    LANES,
    each_at_most,
    fill,
    gather,
    indexable,
    item_of,
    least,
    load,
    make_block,
    most,
    scatter,
    smallest,
    store,
)
from bothworlds.environments.base import add_to_totals, benchmark, cost_of, loss_of, prepare, reads_p
from bothworlds.policies.base import FEW, init
from bothworlds.policies.ftrl.estimators import ImportanceWeightedParameters
from bothworlds.policies.ftrl.kernel import RECENTER, FTRLParameters
from bothworlds.policies.ftrl.rates import CommonRateParameters
from bothworlds.policies.ftrl.state import FTRLState
from bothworlds.simplex.kernel import FAILED
from bothworlds.simplex.steps import MULTIPLIER, TOTAL, HalfTsallisStep, TwoThirdsTsallisStep, advance
from bothworlds.simplex.steps.root_tsallis_batch import (
    CONFIRMED,
    N_FRESH,
    confirm_batch,
    correct_batch,
    finish_batch,
    invert_batch,
    predict_batch,
)
from bothworlds.simulation.engine import (
    BAD_LOSS,
    CLEAN,
    CLEAN_REGRET,
    COMPLETE,
    COST,
    LOSS,
    MARK,
    N_TALLY,
    NEVER,
    REGRET,
    SUFFERED,
    UNSOLVED,
)

MOST = 16  # replications at once: more gain nothing

# what a round leaves in ``BatchState.met``, a block each
ARM, CHANCE, BEFORE, AFTER = range(4)
N_MET = 4


class BatchState(NamedTuple):
    """The states of replications, a row for every four, interleaved, and room to work in."""

    losses: FloatArray
    p: FloatArray
    carried: FloatArray
    fresh: FloatArray
    """Room for what is carried next."""
    met: FloatArray
    """What happens in the round."""
    tally: FloatArray
    """Running totals."""
    single: FTRLState
    """Room for one replication."""
    unwatched: FloatArray
    """The distribution that worlds get which do not watch: NaN."""


def fit(params: Any, env: Any) -> bool:
    """Can replications of this policy in this world be played many at once?"""
    return (
        isinstance(params, FTRLParameters)
        and isinstance(params.step, (HalfTsallisStep, TwoThirdsTsallisStep))
        and isinstance(params.estimator, ImportanceWeightedParameters)
        and isinstance(params.rate, CommonRateParameters)
        and params.n_arms <= FEW
        and not reads_p(env)
    )


def batch_state(params: FTRLParameters, fours: int) -> BatchState:
    """Fresh replications, four times as many."""
    single = init(params)

    def row_each(values: FloatArray) -> FloatArray:
        return aligned(np.tile(np.repeat(values, LANES), (fours, 1)))

    return BatchState(
        row_each(single.losses),
        row_each(single.p),
        row_each(single.carried),
        row_each(np.zeros(N_FRESH)),
        row_each(np.zeros(N_MET)),
        row_each(np.zeros(N_TALLY)),
        single,
        np.full(single.p.size, np.nan),
    )


def aligned(values: FloatArray) -> FloatArray:
    """A copy that begins where a cache line does: blocks that cross into the next take twice as long."""
    room = np.empty(values.size + 8)
    begin = -(room.ctypes.data // 8) % 8
    found = room[begin : begin + values.size].reshape(values.shape)
    found[:] = values
    return found


@kernel
def alone(
    params: FTRLParameters,
    single: FTRLState,
    losses: FloatArray,
    carried: FloatArray,
    p: FloatArray,
    w: int,
    moved: int,
    before: float,
) -> int:
    """The step of one replication on its own, when its lane does not confirm."""
    for i in range(params.n_arms):
        single.losses[i] = losses[LANES * i + w]
    for k in range(single.carried.size):
        single.carried[k] = carried[LANES * k + w]
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
        p[LANES * i + w] = single.p[i]
    for k in range(single.carried.size):
        carried[LANES * k + w] = single.carried[k]
    return status


@kernel
def patch(params: FTRLParameters, state: BatchState, four: int) -> int:
    """After a round in which not all four lanes confirm: keep those that do, do the others one by one."""
    fresh, carried, met = state.fresh[four], state.carried[four], state.met[four]
    worst = 0
    for w in range(LANES):
        if fresh[LANES * CONFIRMED + w] == 1.0:
            for k in range(state.single.carried.size):
                if k != CONFIRMED:
                    carried[LANES * k + w] = fresh[LANES * k + w]
        else:
            moved, before = int(met[LANES * ARM + w]), met[LANES * BEFORE + w]
            status = alone(params, state.single, state.losses[four], carried, state.p[four], w, moved, before)
            worst = max(worst, status)
    return worst


@kernel
def recenter_batch(losses: FloatArray, carried: FloatArray, n: int) -> None:
    """Subtract a whole number from the losses of each replication that needs it, as ``recenter`` does."""
    for w in range(LANES):
        if carried[LANES * MULTIPLIER + w] > RECENTER:
            shift = math.floor(carried[LANES * MULTIPLIER + w])
            for i in range(n):
                losses[LANES * i + w] -= shift
            carried[LANES * MULTIPLIER + w] -= shift


@kernel(inline=True)
def draw_batch(params: FTRLParameters, state: BatchState, u: FloatArray, k: int, f: int) -> None:
    """The arms: how many have a sum of p that does not exceed the target; never one with p = 0."""
    a, n = LANES * f, params.n_arms
    p, met = state.p[f], state.met[f]
    target = make_block(u[a, k], u[a + 1, k], u[a + 2, k], u[a + 3, k]) * load(
        state.carried[f], LANES * TOTAL
    )
    reached, arms = fill(0.0), fill(0.0)
    for i in range(n):
        reached = reached + load(p, LANES * i)
        arms = arms + each_at_most(reached, target)
    arms = least(arms, n - 1.0)
    chance = gather(p, arms)
    store(met, LANES * ARM, arms)
    if smallest(chance) == 0.0:
        step_back(p, met)
        arms = load(met, LANES * ARM)
        chance = gather(p, arms)
    store(met, LANES * CHANCE, chance)
    store(met, LANES * BEFORE, gather(state.losses[f], arms))


@kernel
def step_back(p: FloatArray, met: FloatArray) -> None:
    """To an arm with p > 0: rounding kept the sum below the target, and zeros came last."""
    for w in range(LANES):
        arm = int(met[LANES * ARM + w])
        while p[LANES * arm + w] == 0.0 and arm > 0:
            arm -= 1
        met[LANES * ARM + w] = arm


@kernel(inline=True)
def meet(
    env: Any, world: Any, t: int, arm: float, draws: FloatArray, unwatched: FloatArray
) -> tuple[float, float, float]:
    """Round t of one replication in its world: the loss, and what the arm costs."""
    prepare(env, world, t, unwatched, draws)
    add_to_totals(env, world)
    loss = loss_of(env, world, t, int(arm), draws)
    cost, clean = cost_of(env, world, t, int(arm), draws)
    return loss, cost, clean


@kernel(inline=True)
def meet_batch(state: BatchState, env: Any, worlds: Any, t: int, uniforms: FloatArray, k: int, f: int) -> Any:
    """Round t of four replications: their losses."""
    a, b, c, d = LANES * f, LANES * f + 1, LANES * f + 2, LANES * f + 3
    arms, p, tally = state.met[f], state.unwatched, state.tally[f]
    loss0, cost0, clean0 = meet(env, item_of(worlds, a), t, arms[LANES * ARM], uniforms[a, k], p)
    loss1, cost1, clean1 = meet(env, item_of(worlds, b), t, arms[LANES * ARM + 1], uniforms[b, k], p)
    loss2, cost2, clean2 = meet(env, item_of(worlds, c), t, arms[LANES * ARM + 2], uniforms[c, k], p)
    loss3, cost3, clean3 = meet(env, item_of(worlds, d), t, arms[LANES * ARM + 3], uniforms[d, k], p)
    losses = make_block(loss0, loss1, loss2, loss3)
    add_to_tally(tally, COST, make_block(cost0, cost1, cost2, cost3))
    add_to_tally(tally, CLEAN, make_block(clean0, clean1, clean2, clean3))
    add_to_tally(tally, SUFFERED, losses)
    return losses


@kernel(inline=True)
def add_to_tally(tally: FloatArray, k: int, block: Any) -> None:
    """Add to the running totals of four replications."""
    store(tally, LANES * k, load(tally, LANES * k) + block)


@kernel(inline=True)
def learn_batch(losses: FloatArray, met: FloatArray, suffered: Any) -> None:
    """Add to the estimates of four arms."""
    after = load(met, LANES * BEFORE) + suffered / load(met, LANES * CHANCE)
    store(met, LANES * AFTER, after)
    scatter(losses, load(met, LANES * ARM), after)


@kernel(inline=True)
def solve_batch(params: FTRLParameters, state: BatchState) -> int:
    """The step of all replications, part by part: a part waits for that before, but not for its like."""
    step, n, fours = params.step, params.n_arms, state.p.shape[0]
    end = state.single.rates[0] * params.regularizer.factor
    for f in range(fours):
        before, after = load(state.met[f], LANES * BEFORE), load(state.met[f], LANES * AFTER)
        predict_batch(step, end, state.carried[f], before, after, state.fresh[f])
    for f in range(fours):
        invert_batch(step, state.losses[f], state.p[f], n, state.fresh[f])
    for f in range(fours):
        correct_batch(step, end, state.fresh[f])
    for f in range(fours):
        finish_batch(step, end, state.p[f], n, state.fresh[f])
    highest = fill(-math.inf)
    worst = 0
    for f in range(fours):
        if not confirm_batch(step, end, state.carried[f], state.fresh[f]):
            worst = max(worst, patch(params, state, f))
        highest = most(load(state.carried[f], LANES * MULTIPLIER), highest)
    if not smallest(RECENTER - highest) >= 0.0:
        for f in range(fours):
            recenter_batch(state.losses[f], state.carried[f], n)
    return worst


@kernel
def keep_batch(
    state: BatchState,
    env: Any,
    worlds: Any,
    t: int,
    mark: int,
    measured: FloatArray,
    distributions: FloatArray,
) -> None:
    """Keep regret, losses and distributions at a checkpoint."""
    for j in range(measured.shape[0]):
        best, clean_best = benchmark(env, item_of(worlds, j), t)
        f, w = j // LANES, j % LANES
        measured[j, mark, REGRET] = state.tally[f, LANES * COST + w] - best
        measured[j, mark, CLEAN_REGRET] = state.tally[f, LANES * CLEAN + w] - clean_best
        measured[j, mark, LOSS] = state.tally[f, LANES * SUFFERED + w]
        if mark < distributions.shape[1]:
            for i in range(distributions.shape[2]):
                distributions[j, mark, i] = state.p[f, LANES * i + w]


@entry
def play_batch(
    params: FTRLParameters,
    state: BatchState,
    env: Any,
    worlds: Any,
    policy_uniforms: FloatArray,
    world_uniforms: FloatArray,
    before: int,
    marks: IntArray,
    measured: FloatArray,
    distributions: FloatArray,
) -> int:
    """Play rounds before+1, before+2, … of the replications in ``state``; return how it ended.

    Uniforms, ``measured`` and ``distributions`` are those of ``play_block`` with one more, first, index; the
    last two only have those replications that are asked for. ``worlds`` are always ``MOST``, used or not:
    their number is part of their type, and one kernel is to serve all.
    """
    indexed = indexable(worlds)
    fours = state.p.shape[0]
    mark = int(state.tally[0, LANES * MARK])
    following = marks[mark] if mark < marks.size else NEVER
    for k in range(world_uniforms.shape[1]):
        t = before + k + 1
        for f in range(fours):
            draw_batch(params, state, policy_uniforms, k, f)
        fair = fill(1.0)
        for f in range(fours):
            losses = meet_batch(state, env, indexed, t, world_uniforms, k, f)
            fair = fair * (each_at_most(0.0, losses) * each_at_most(losses, 1.0))
            learn_batch(state.losses[f], state.met[f], losses)
        if smallest(fair) == 0.0:
            return BAD_LOSS
        if params.rate.growing:
            state.single.rates[0] = params.rate.theta * math.sqrt(1.0 + t)
        if solve_batch(params, state) == FAILED:
            return UNSOLVED
        if t == following:
            keep_batch(state, env, indexed, t, mark, measured, distributions)
            mark += 1
            following = marks[mark] if mark < marks.size else NEVER
    state.tally[0, LANES * MARK] = mark
    return COMPLETE
