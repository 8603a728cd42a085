"""The loop for rounds with several arms or several observations: see ``policies/several.py``."""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds.environments.base import (
    add_to_totals,
    benchmark,
    cost_of,
    loss_of,
    prepare,
    total_of,
    watches,
)
from bothworlds.policies.base import before_draw, distribution
from bothworlds.policies.several import Round, Shown, draw_round, learn_round
from bothworlds.simplex.kernel import FAILED
from bothworlds.simulation.engine import (
    BAD_LOSS,
    CLEAN,
    CLEAN_REGRET,
    COMPLETE,
    COST,
    LOSS,
    MARK,
    REGRET,
    SUFFERED,
    UNSOLVED,
)


@kernel
def sum_of_smallest(values: FloatArray, count: int) -> float:
    """The sum of the ``count`` smallest, which come first then."""
    total = 0.0
    for k in range(count):
        best = k
        for i in range(k + 1, values.size):
            if values[i] < values[best]:
                best = i
        values[k], values[best] = values[best], values[k]
        total += values[k]
    return total


@kernel
def best_set(
    env: Any, world: Any, t: int, count: int, uniforms: FloatArray, room: FloatArray
) -> tuple[float, float]:
    """The cost of the best fixed set of so many arms in rounds 1 … t, and that in the uncorrupted world."""
    if count == 1:
        return benchmark(env, world, t)
    for i in range(room.size):
        room[i] = total_of(env, world, t, i, uniforms)[0]
    best = sum_of_smallest(room, count)
    for i in range(room.size):
        room[i] = total_of(env, world, t, i, uniforms)[1]
    return best, sum_of_smallest(room, count)


@entry
def play_rounds(
    params: Any,
    state: Any,
    env: Any,
    world: Any,
    graph: Shown,
    drawn: Round,
    policy_uniforms: FloatArray,
    world_uniforms: FloatArray,
    before: int,
    marks: IntArray,
    tally: FloatArray,
    p: FloatArray,
    measured: FloatArray,
    distributions: FloatArray,
) -> tuple[int, int, float]:
    """Play rounds before+1, before+2, … as ``play_block`` does; ``graph`` says what is shown."""
    mark = int(tally[MARK])
    m = drawn.played.size
    for k in range(policy_uniforms.shape[0]):
        t = before + k + 1
        draws = world_uniforms[k]
        before_draw(params, state, 0, draws[:0])  # all arms are awake, and no pull is outstanding
        if watches(env):
            distribution(params, state, p)
            for i in range(p.size):
                p[i] /= m
        prepare(env, world, t, p, draws)
        add_to_totals(env, world)
        count = draw_round(params, state, policy_uniforms[k], graph, drawn)
        for j in range(count):
            loss = loss_of(env, world, t, drawn.shown[j], draws)
            if not 0.0 <= loss <= 1.0:
                return BAD_LOSS, t, loss
            drawn.losses[j] = loss
        for j in range(m):
            cost, clean = cost_of(env, world, t, drawn.played[j], draws)
            tally[COST] += cost
            tally[CLEAN] += clean
            tally[SUFFERED] += loss_of(env, world, t, drawn.played[j], draws)
        if learn_round(params, state, drawn, count) == FAILED:
            return UNSOLVED, t, math.nan
        if mark < marks.size and marks[mark] == t:
            best, clean_best = best_set(env, world, t, m, draws, p)
            measured[mark, REGRET] = tally[COST] - best
            measured[mark, CLEAN_REGRET] = tally[CLEAN] - clean_best
            measured[mark, LOSS] = tally[SUFFERED]
            if mark < distributions.shape[0]:
                distribution(params, state, distributions[mark])
            mark += 1
            tally[MARK] = mark
    return COMPLETE, before + policy_uniforms.shape[0], 0.0
