"""Rounds with several arms, or with several observations.

A round of a problem that is not plain, as ``Bandit`` and ``simulate`` play it::

    before_draw(params, state, outstanding, awake)
    act_several(params, state, uniforms, played)      the arms that are played: one, or a set, or none
    …                                                 which are observed: these, or those that these show
    weight_of(params, state, arm)                     for each: the probability with which it was to be
    memo_of(params, state, arm, uniforms)             for each
    …                                                 now, later, or never
    learn(params, state, arm, loss, weight, memo)     for each
    step(params, state)                               once; pass_round where none is observed

Weights and memos are fixed at the draw. Arm j *shows* arm i if i is observed when j is played. Where arms
show others, ``weight_of`` of i is the sum of the probabilities of the arms that show it, which a policy for
graphs knows from its parameters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, generic, kernel
from bothworlds.policies.base import act, before_draw, learn, memo_of, probability_of, step, weight_of
from bothworlds.problem import Groups, Problem
from bothworlds.simplex.kernel import CONVERGED


class Shown(NamedTuple):
    """Which arms each arm shows: i shows ``arms[first[i]:last[i]]``; itself alone, where these are empty."""

    first: IntArray
    last: IntArray
    arms: IntArray


class Round(NamedTuple):
    """The arms played and the arms observed (``shown``), with room for as many as there can be."""

    played: IntArray
    probabilities: FloatArray
    """With which each arm of ``played`` was to be played."""
    shown: IntArray
    weights: FloatArray
    memos: FloatArray
    losses: FloatArray


def shown_by(problem: Problem, n_arms: int) -> Shown:
    """What the arms of a problem show."""
    if problem.shows is None:
        nothing = np.empty(0, dtype=np.int64)
        return Shown(nothing, nothing, nothing)
    if problem.shows == "all":
        ends = np.full(n_arms, n_arms, dtype=np.int64)
        return Shown(np.zeros(n_arms, dtype=np.int64), ends, np.arange(n_arms, dtype=np.int64))
    ends = np.cumsum([len(arms) for arms in problem.shows]).astype(np.int64)
    arms = np.array([arm for arms in problem.shows for arm in arms], dtype=np.int64)
    return Shown(np.concatenate([[0], ends[:-1]]).astype(np.int64), ends, arms)


def new_round(problem: Problem, n_arms: int) -> Round:
    """Arrays for as many arms as a round of the problem can play and observe."""
    m = problem.sizes(n_arms)[1]
    n = m if problem.shows is None else max(map(len, problem.neighbors(n_arms)))
    played, shown = np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64)
    return Round(played, np.empty(m), shown, np.empty(n), np.empty(n), np.empty(n))


@generic
def act_several(params: Any, state: Any, uniforms: FloatArray, out: IntArray) -> int:
    """Draw the arms to play, distinct, in increasing order; return how many. By default one, with ``act``."""
    out[0] = act(params, state, uniforms)
    return 1


@kernel
def mark_best(groups: Groups, values: FloatArray, out: FloatArray) -> None:
    """1 for the arms of the set with the smallest sum of ``values``, of equal ones the first; 0 for others.

    An arm that is left out counts as ``outside``.
    """
    for g in range(groups.first.size):
        first, last = groups.first[g], groups.last[g]
        for i in range(first, last):
            out[i] = 0.0
        for count in range(groups.most[g]):
            best = -1
            for i in range(first, last):
                if out[i] == 0.0 and (best < 0 or values[i] < values[best]):
                    best = i
            if count >= groups.fewest[g] and values[best] >= groups.outside:
                break
            out[best] = 1.0


@generic
def pass_round(params: Any, state: Any) -> int:
    """End a round in which no arm was observed; return the status of the solver.

    By default there is nothing to do. A policy whose sets may be empty learns that none was chosen.
    """
    return CONVERGED


@kernel
def draw_round(params: Any, state: Any, uniforms: FloatArray, graph: Shown, out: Round) -> tuple[int, int]:
    """Draw a round into ``out``, all but its losses; return how many are played, and how many observed."""
    n_played = act_several(params, state, uniforms, out.played)
    count = 0
    for j in range(n_played):
        arm = out.played[j]
        out.probabilities[j] = probability_of(params, state, arm)
        if graph.first.size == 0:
            out.shown[count] = arm
            count += 1
        else:
            for k in range(graph.first[arm], graph.last[arm]):
                out.shown[count] = graph.arms[k]
                count += 1
    for k in range(count):
        out.weights[k] = weight_of(params, state, out.shown[k])
        out.memos[k] = memo_of(params, state, out.shown[k], uniforms)
    return n_played, count


@kernel
def learn_round(params: Any, state: Any, drawn: Round, count: int) -> int:
    """Learn the losses of a round, and end it; return the status of the solver."""
    for k in range(count):
        learn(params, state, drawn.shown[k], drawn.losses[k], drawn.weights[k], drawn.memos[k])
    return step(params, state) if count > 0 else pass_round(params, state)


@entry
def pull_several(
    params: Any, state: Any, uniforms: FloatArray, outstanding: int, graph: Shown, out: Round
) -> tuple[int, int]:
    """Draw a round into ``out``, all but its losses; return how many are played, and how many observed."""
    before_draw(params, state, outstanding, uniforms[:0])  # all arms are awake
    return draw_round(params, state, uniforms, graph, out)


@entry
def update_several(params: Any, state: Any, drawn: Round, count: int) -> int:
    """A round with several observations."""
    return learn_round(params, state, drawn, count)
