"""Systematic sampling: a set of arms, each with exactly the probability it is to have, from one uniform.

W. Madow: On the Theory of Systematic Sampling, II. Annals of Mathematical Statistics 1949.
"""

from __future__ import annotations

from typing import Any

from bothworlds._jit import FloatArray, IntArray, kernel
from bothworlds.policies.base import sum_of
from bothworlds.policies.several import act_several
from bothworlds.problem import Groups
from bothworlds.rng import expand


@kernel
def draw_groups(groups: Groups, p: FloatArray, uniform: float, out: IntArray) -> int:
    """Draw from each group on its own; return how many arms ``out`` got, in increasing order.

    Groups after the first have uniforms of their own, which grow from the given one.
    """
    count = 0
    for g in range(groups.first.size):
        first, last = groups.first[g], groups.last[g]
        own = uniform if g == 0 else expand(uniform, g)
        found = draw_set(p[first:last], own, groups.fewest[g], out[count : count + groups.most[g]])
        for k in range(count, count + found):
            out[k] += first
        count += found
    return count


@kernel
def draw_set(p: FloatArray, uniform: float, fewest: int, out: IntArray) -> int:
    """Fill ``out`` with distinct arms in increasing order; return how many, ``fewest`` to its room.

    Σp must be between those two numbers up to rounding, and no p above 1. Lay the arms side by side on a
    line, each as long as its p: chosen are those that hold one of the points u, u + 1, u + 2, … An arm is no
    longer than the distance of two points, so it holds at most one, and one with probability p. There are as
    many points as Σp, rounded up or down. Where that is to be m, rounding in Σp is taken up by the
    distance, Σp/m.
    """
    distance = sum_of(p) / out.size if fewest == out.size else 1.0
    point = uniform * distance
    reached = 0.0
    count = 0
    for i in range(p.size):
        reached += p[i]
        if point < reached and count < out.size:
            out[count] = i
            count += 1
            point += distance
    while count < fewest:  # rounding put the last point beyond the end: the likeliest that was not chosen
        insert_likeliest(p, out, count)
        count += 1
    return count


@kernel
def insert_likeliest(p: FloatArray, out: IntArray, count: int) -> None:
    """Add the arm with the largest p to the ``count`` arms in ``out``, which stay in increasing order."""
    best = -1
    place = 0
    for i in range(p.size):
        if place < count and out[place] == i:
            place += 1
        elif best < 0 or p[i] > p[best]:
            best = i
    k = count
    while k > 0 and out[k - 1] > best:
        out[k] = out[k - 1]
        k -= 1
    out[k] = best


def draws_sets_from_its_p(kind: type) -> None:
    """Register act_several of a policy with ``groups`` whose state has the probabilities of arms as ``p``."""
    act_several.register(kind)(_draw_set_from_p)


def _draw_set_from_p(params: Any, state: Any, uniforms: FloatArray, out: IntArray) -> int:
    return draw_groups(params.groups, state.p, uniforms[0], out)
