"""Index policies: after each arm once, the arm with the smallest index. All that they share is here."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, generic, kernel
from bothworlds.policies.base import (
    act,
    distribution,
    init,
    is_awake,
    learn,
    restrict,
    step,
    sum_of,
    weighs,
    weighs_nothing,
    weight_of,
)
from bothworlds.simplex.kernel import CONVERGED


class IndexState(NamedTuple):
    """Number and sum of the losses seen of every arm, and the arm of the round to come."""

    counts: FloatArray
    sums: FloatArray
    chosen: FloatArray


@generic
def index(params: Any, mean: float, count: float, log_round: float) -> float:
    """The index of an arm from its mean loss, how often it was seen, and log t; the smallest is played."""
    raise NotImplementedError("an index policy must register index")


@generic(inline=True)
def round_to_come(params: Any, state: Any) -> float:
    """t; by default each round has shown one loss."""
    return sum_of(state.counts) + 1.0


@kernel
def smallest_index(params: Any, state: Any, awake: FloatArray) -> int:
    """The first unseen arm, else the first with the smallest index, of those awake."""
    log_round = math.log(round_to_come(params, state))
    best, smallest = 0, math.inf
    for i in range(params.n_arms):
        if not is_awake(awake, i):
            continue
        if state.counts[i] == 0.0:
            return i
        value = index(params, state.sums[i] / state.counts[i], state.counts[i], log_round)
        if value < smallest:
            smallest = value
            best = i
    return best


@generic
def next_arm(params: Any, state: Any) -> int:
    """:func:`smallest_index` where all arms are awake; a policy may register a faster way to the same arm."""
    return smallest_index(params, state, state.chosen[:0])


def _init(params: Any) -> IndexState:
    return IndexState(np.zeros(params.n_arms), np.zeros(params.n_arms), np.zeros(1))


def _act(params: Any, state: Any, uniforms: FloatArray) -> int:
    return int(state.chosen[0])


def _weight(params: Any, state: Any, arm: int) -> float:
    return 1.0 if arm == state.chosen[0] else 0.0


def learn_mean(params: Any, state: Any, arm: int, loss: float, weight: float, memo: float) -> None:
    """Count the loss, and add it up."""
    state.counts[arm] += 1.0
    state.sums[arm] += loss


def _step(params: Any, state: IndexState) -> int:
    state.chosen[0] = next_arm(params, state)
    return CONVERGED


def _distribution(params: Any, state: Any, out: FloatArray) -> None:
    out[:] = 0.0
    out[int(state.chosen[0])] = 1.0


def _restrict(params: Any, state: IndexState, awake: FloatArray, out: FloatArray) -> None:
    out[:] = 0.0
    out[smallest_index(params, state, awake)] = 1.0


def plays_its_choice(kind: type) -> None:
    """Register act, weight_of, weighs, distribution of a policy whose state has its arm as ``chosen``."""
    act.register(kind)(_act)
    weight_of.register(kind)(_weight)
    weighs.register(kind)(weighs_nothing)
    distribution.register(kind)(_distribution)


def register_index_policy(kind: type) -> None:
    """Give parameters of this type, which must have ``n_arms``, all kernels but :func:`index`."""
    plays_its_choice(kind)
    init.register(kind)(_init)
    learn.register(kind)(learn_mean)
    step.register(kind)(_step)
    restrict.register(kind)(_restrict)
