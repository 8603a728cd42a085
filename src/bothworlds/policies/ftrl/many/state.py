"""The state of the machine for many arms: four arrays, and where in them everything is.

Few arrays, because compiled code counts the references to each of them at every call; and arrays of floats
throughout, whole numbers included, so that every state is saved the same way. Kernels allocate nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, generic, kernel

TOUCHED_ARMS = 64  # a round takes the time of one that touches so many
MANY_ARMS = 400  # from here on faster than passes over all arms: measured in docs/benchmarks.md

# --- arms: what is known of one arm stands side by side, so that it is one access to the memory ---
LOSS = 0  # cumulative estimated loss minus the whole number scalars[OFFSET]
WEIGHT = 1  # b
HOME = 2  # its bucket; FAR: none
PLACE = 3  # its place among the members of that bucket
PER_ARM = 4

# --- buckets: one number of each bucket after the other; bucket j is at LOW + j, WIDTH + j, … ---
BUCKETS = 512  # how many there can be; 5 or 6 for each doubling of L − x up to where arms are far
LOW = 0 * BUCKETS  # where its interval begins; EMPTY if there is no such bucket
WIDTH = 1 * BUCKETS  # how long it is
SIZE = 2 * BUCKETS  # a power of 2 that b of no member exceeds, and all exceed half of
COUNT = 3 * BUCKETS  # how many members it has
START = 4 * BUCKETS  # where they begin
ROOM = 5 * BUCKETS  # for how many there is room
NEARNESS = 6 * BUCKETS  # 1/(low − x) for the largest x that the series reaches: what bounds p of the members
COARSE = 7 * BUCKETS  # MOMENTS numbers of each bucket, each a sum of terms rounded to units of 2^−26 …
MOMENTS = 24
FINE = COARSE + MOMENTS * BUCKETS  # … and of what the rounding left, in units of 2^−52
ORDER = FINE + MOMENTS * BUCKETS  # scratch: the buckets in the order of their members
N_BUCKETS = ORDER + BUCKETS

FAR = (
    0  # the bucket of arms so far away that together they have no weight: it has neither members nor moments
)
EMPTY = 1e308  # finite, so that states are plain JSON

# --- scalars ---
ROUND = 0  # t, the round to come, counted from the last restart
OFFSET = 1  # what has been subtracted from all losses so far
CENTER = 2  # where the series is expanded
SHIFT = 3  # x, relative to the center, in units of UNIT
UNIT = 4  # at the center all arms have L − x of at least this
SCALE = 5  # c
AGE = 6  # number of changes of the series since it was made from the buckets
USED = 7  # the buckets from here on are empty
FILLED = 8  # the members from here on are unused
FAR_EDGE = 9  # arms with L from here on are far
RESTARTS = 10  # number of restarts so far
HORIZON = 11  # T, or T_k since the last restart
SERIES = 12  # Σ b_i·(UNIT/(L_i − CENTER))^k for TERMS successive k
TERMS = 16
SCRATCH = SERIES + TERMS  # for the moments of one bucket
FOUR = SCRATCH + MOMENTS  # for four numbers
MOVED = FOUR + 4  # from ``learn`` to ``step``: the arm whose loss or weight has changed
N_SCALARS = MOVED + 1

NOTHING = -1  # in place of an arm


class ManyArmsState(NamedTuple):
    """All that is known."""

    arms: FloatArray
    members: FloatArray
    """The arms in each bucket, with room to grow."""
    buckets: FloatArray
    scalars: FloatArray


def empty_state(n_arms: int) -> ManyArmsState:
    """Room for everything, and all arms in a row."""
    arms = np.zeros(PER_ARM * n_arms)
    arms[PLACE::PER_ARM] = np.arange(n_arms)
    members = np.zeros(3 * n_arms + 16 * BUCKETS)
    members[:n_arms] = np.arange(n_arms)
    scalars = np.zeros(N_SCALARS)
    scalars[MOVED] = NOTHING
    return ManyArmsState(arms, members, np.zeros(N_BUCKETS), scalars)


@kernel
def line_up(n_arms: int, arms: FloatArray, members: FloatArray) -> None:
    """All arms in a row again. (In Python a million is many: ``empty_state`` has other means.)"""
    for arm in range(n_arms):
        arms[PER_ARM * arm + PLACE] = arm
        members[arm] = arm


@generic
def first_power(params: Any) -> int:
    """The smallest k of the series: s, unless something else is drawn with a smaller one."""
    return int(params.power)


@kernel
def distance(arms: FloatArray, scalars: FloatArray, arm: int) -> float:
    """L − x of an arm; without forming x, whose rounding would count where L − x is small against L."""
    return float((arms[PER_ARM * arm + LOSS] - scalars[CENTER]) - scalars[SHIFT] * scalars[UNIT])


@kernel
def whole_power(base: float, power: int) -> float:
    """base^power for power 1, 2 or 3."""
    if power == 1:
        return base
    return base * base if power == 2 else base * base * base


@kernel
def probability(power: int, arms: FloatArray, scalars: FloatArray, arm: int) -> float:
    """p of an arm."""
    ratio = scalars[SCALE] / distance(arms, scalars, arm)
    return float(arms[PER_ARM * arm + WEIGHT] * whole_power(ratio, power))
