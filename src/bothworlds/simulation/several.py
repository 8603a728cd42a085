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
    reads_p,
    total_of,
)
from bothworlds.policies.base import before_draw, distribution, sum_of
from bothworlds.policies.several import Round, Shown, draw_round, learn_round
from bothworlds.problem import Groups
from bothworlds.simplex.kernel import FAILED
from bothworlds.simulation.engine import BAD_LOSS, CLEAN, COMPLETE, COST, MARK, SUFFERED, UNSOLVED, measure


@kernel
def least_sum(groups: Groups, nothing: float, values: FloatArray) -> float:
    """The smallest sum over a set, whose arms are put aside; leaving one out is worth ``nothing``."""
    total = 0.0
    for g in range(groups.first.size):
        for k in range(groups.most[g]):
            place = groups.first[g] + k
            best = place
            for i in range(place + 1, groups.last[g]):
                if values[i] < values[best]:
                    best = i
            if k >= groups.fewest[g] and values[best] >= nothing:
                break
            values[place], values[best] = values[best], values[place]
            total += values[place] - nothing
    return total


@kernel
def best_set(
    env: Any, world: Any, t: int, groups: Groups, nothing: float, uniforms: FloatArray, room: FloatArray
) -> tuple[float, float]:
    """The cost of the best fixed set in rounds 1 … t, and that in the uncorrupted world."""
    for i in range(room.size):
        room[i] = total_of(env, world, t, i, uniforms)[0]
    best = least_sum(groups, t * nothing, room)
    for i in range(room.size):
        room[i] = total_of(env, world, t, i, uniforms)[1]
    return best, least_sum(groups, t * nothing, room)


@entry
def play_rounds(
    params: Any,
    state: Any,
    env: Any,
    world: Any,
    graph: Shown,
    drawn: Round,
    groups: Groups,
    nothing: float,
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
    """Play rounds before+1, before+2, … as ``play_block`` does; ``graph`` says what is shown.

    Where sets of ``groups`` have different sizes, leaving an arm out costs ``nothing``.
    """
    mark = int(tally[MARK])
    for k in range(policy_uniforms.shape[0]):
        t = before + k + 1
        draws = world_uniforms[k]
        before_draw(params, state, 0, draws[:0])  # all arms are awake, and no pull is outstanding
        if reads_p(env):
            distribution(params, state, p)
            mass = sum_of(p)
            for i in range(p.size):
                p[i] /= mass
        prepare(env, world, t, p, draws)
        add_to_totals(env, world)
        n_played, count = draw_round(params, state, policy_uniforms[k], graph, drawn)
        for j in range(count):
            loss = loss_of(env, world, t, drawn.shown[j], draws)
            if not 0.0 <= loss <= 1.0:
                return BAD_LOSS, t, loss
            drawn.losses[j] = loss
        for j in range(n_played):
            cost, clean = cost_of(env, world, t, drawn.played[j], draws)
            tally[COST] += cost - nothing
            tally[CLEAN] += clean - nothing
            tally[SUFFERED] += loss_of(env, world, t, drawn.played[j], draws)
        if learn_round(params, state, drawn, count) == FAILED:
            return UNSOLVED, t, math.nan
        if mark < marks.size and marks[mark] == t:
            if graph.first.size > 0:
                best, clean_best = benchmark(env, world, t)
            else:
                best, clean_best = best_set(env, world, t, groups, nothing, draws, room)
            measure(tally, best, clean_best, measured[mark])
            if mark < distributions.shape[0]:
                distribution(params, state, distributions[mark])
            mark += 1
            tally[MARK] = mark
    return COMPLETE, before + policy_uniforms.shape[0], 0.0
