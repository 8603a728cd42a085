"""Systematic sampling: a set of m arms, each with exactly the probability it is to have, from one uniform.

W. Madow: On the Theory of Systematic Sampling, II. Annals of Mathematical Statistics 1949.
"""

from __future__ import annotations

from typing import Any

from bothworlds._jit import FloatArray, IntArray, kernel
from bothworlds.policies.base import sum_of
from bothworlds.policies.several import act_several


@kernel
def draw_set(p: FloatArray, uniform: float, out: IntArray) -> None:
    """Fill ``out`` with as many distinct arms as it has room for, m, in increasing order.

    Σp must be m up to rounding, and no p above 1. Lay the arms side by side on a line, each as long as its
    p: chosen are those that hold one of the points u, u + 1, …, u + m − 1. An arm is no longer than the
    distance of two points, so it holds at most one, and it holds one with probability p. Rounding in Σp is
    taken up by the distance, Σp/m.
    """
    distance = sum_of(p) / out.size
    point = uniform * distance
    reached = 0.0
    count = 0
    for i in range(p.size):
        reached += p[i]
        if point < reached and count < out.size:
            out[count] = i
            count += 1
            point += distance
    while count < out.size:  # rounding put the last point beyond the end: the likeliest that was not chosen
        insert_likeliest(p, out, count)
        count += 1


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
    """Register act_several of a policy whose state holds as ``p`` the probabilities of being chosen."""
    act_several.register(kind)(_draw_from_p)


def _draw_from_p(params: Any, state: Any, uniforms: FloatArray, out: IntArray) -> None:
    draw_set(state.p, uniforms[0], out)
