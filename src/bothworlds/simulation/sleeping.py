"""The loop for worlds in which not all arms are awake: see ``environments/sleeping.py``."""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, IntArray, copy_state, entry, kernel
from bothworlds.environments.base import add_to_totals, cost_of, loss_of, prepare, reads_p, wake
from bothworlds.policies.base import (
    act_among,
    after_draw,
    before_draw,
    distribution,
    learn,
    learn_absent,
    memo_of,
    pull,
    restrict,
    step,
)
from bothworlds.simplex.kernel import FAILED
from bothworlds.simulation.engine import BAD_LOSS, CLEAN, COMPLETE, COST, MARK, SUFFERED, UNSOLVED, measure


@kernel
def best_awake(env: Any, world: Any, t: int, awake: FloatArray, uniforms: FloatArray) -> tuple[float, float]:
    """The smallest cost of an arm that is awake, and that in the uncorrupted world."""
    best = math.inf
    clean_best = math.inf
    for i in range(awake.size):
        if awake[i] == 1.0:
            cost, clean = cost_of(env, world, t, i, uniforms)
            best = min(best, cost)
            clean_best = min(clean_best, clean)
    return best, clean_best


@entry
def play_awake(
    params: Any,
    state: Any,
    env: Any,
    world: Any,
    before_round: Any,
    awake: FloatArray,
    policy_uniforms: FloatArray,
    world_uniforms: FloatArray,
    before: int,
    marks: IntArray,
    tally: FloatArray,
    p: FloatArray,
    room: FloatArray,
    measured: FloatArray,
    distributions: FloatArray,
) -> tuple[int, int, float]:
    """Play rounds before+1, before+2, … as ``play_block`` does, with the arms that ``wake`` gives.

    ``before_round`` is room for a state, ``awake`` for the arms, and ``room`` for a distribution.
    """
    mark = int(tally[MARK])
    for k in range(policy_uniforms.shape[0]):
        t = before + k + 1
        draws = world_uniforms[k]
        everybody = wake(env, t, draws, awake) == awake.size
        there = draws[:0] if everybody else awake
        before_draw(params, state, 0, there)
        if reads_p(env):
            if everybody:
                distribution(params, state, p)
            else:
                restrict(params, state, awake, p)
        prepare(env, world, t, p, draws)
        add_to_totals(env, world)
        if everybody:
            arm, _, weight, memo = pull(params, state, policy_uniforms[k])
        else:
            arm, weight = act_among(params, state, policy_uniforms[k], awake, room)
            memo = memo_of(params, state, arm, policy_uniforms[k])
            after_draw(params, state, arm)
        loss = loss_of(env, world, t, arm, draws)
        if not 0.0 <= loss <= 1.0:
            return BAD_LOSS, t, loss
        cost, clean = cost_of(env, world, t, arm, draws)
        best, clean_best = best_awake(env, world, t, awake, draws)
        tally[COST] += cost - best
        tally[CLEAN] += clean - clean_best
        tally[SUFFERED] += loss
        if not everybody:
            copy_state(state, before_round)
        learn(params, state, arm, loss, weight, memo)
        status = step(params, state)
        if not everybody and status != FAILED:
            status = learn_absent(params, state, before_round, awake, loss)
        if status == FAILED:
            return UNSOLVED, t, loss
        if mark < marks.size and marks[mark] == t:
            measure(tally, 0.0, 0.0, measured[mark])  # what the best cost is subtracted in every round
            if mark < distributions.shape[0]:
                distribution(params, state, distributions[mark])
            mark += 1
            tally[MARK] = mark
    return COMPLETE, before + policy_uniforms.shape[0], 0.0
