"""The loop of plain bandits: a policy in a world, block by block.

``several`` and ``sleeping`` have those of other problems, ``batch`` one for many replications at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds.environments.base import add_to_totals, benchmark, cost_of, loss_of, prepare, reads_p
from bothworlds.environments.delay import DelayParameters, Queue, due_now, enqueue, read_slot
from bothworlds.policies.base import (
    before_draw,
    distribution,
    inspect,
    learn,
    pull,
    step,
)
from bothworlds.simplex.kernel import FAILED

# how a block ended
COMPLETE, BAD_LOSS, UNSOLVED = range(3)

NONE_DUE = -1  # in place of a slot of the queue
NEVER = -1  # in place of a round

# running totals of a replication
COST, CLEAN, SUFFERED, MARK, OUTSTANDING = range(5)
N_TALLY = 5

# what is kept at a checkpoint
REGRET, CLEAN_REGRET, LOSS = range(3)
N_MEASURED = 3


class RoundRecord(NamedTuple):
    """What is written down in every round; arrays without rows where nothing is.

    The first three are the policy's, before every round and after the last: for traces.
    """

    p: FloatArray
    rates: FloatArray
    estimates: FloatArray
    arms: IntArray
    observed: IntArray
    losses: FloatArray
    weights: FloatArray
    """The probabilities with which arms were to be shown."""
    due: IntArray
    """The rounds after which losses are known."""


def no_record(n_arms: int) -> RoundRecord:
    """A record that keeps nothing."""
    return new_record(0, n_arms)


def new_record(rounds: int, n_arms: int, *, traced: bool = True) -> RoundRecord:
    """Room for so many rounds; ``traced``: and for the policy's distributions, rates and estimates."""
    shape = (rounds + 1 if rounds and traced else 0, n_arms)
    traces = np.empty(shape), np.empty(shape), np.empty(shape)
    arms, observed, due = np.empty((3, rounds), dtype=np.int64)
    return RoundRecord(*traces, arms, observed, np.empty(rounds), np.empty(rounds), due)


def part_of(record: RoundRecord, first: int, stop: int) -> RoundRecord:
    """The rounds of a record after ``first``, up to ``stop``, as a view."""
    traces = [table[first : stop + 1] for table in record[:3]]
    return RoundRecord._make([*traces, *(column[first:stop] for column in record[3:])])


@kernel
def measure(tally: FloatArray, best: float, clean_best: float, out: FloatArray) -> None:
    """What is kept at a checkpoint: regret to what the best would have cost, and losses."""
    out[REGRET] = tally[COST] - best
    out[CLEAN_REGRET] = tally[CLEAN] - clean_best
    out[LOSS] = tally[SUFFERED]


@kernel
def trace(params: Any, state: Any, record: RoundRecord, row: int) -> None:
    """Write down p, rates and estimates, out of the loop: there, addresses of rows grow in every round."""
    distribution(params, state, record.p[row])
    inspect(params, state, record.rates[row], record.estimates[row])


@entry
def play_block(
    params: Any,
    state: Any,
    env: Any,
    world: Any,
    delay: DelayParameters,
    queue: Queue,
    policy_uniforms: FloatArray,
    world_uniforms: FloatArray,
    before: int,
    marks: IntArray,
    tally: FloatArray,
    p: FloatArray,
    measured: FloatArray,
    distributions: FloatArray,
    record: RoundRecord,
) -> tuple[int, int, float]:
    """Play rounds before+1, before+2, …; return (how it ended, the round, the loss that ended it).

    At a mark, ``measured`` gets regret and losses; ``distributions``, unless without rows, the distribution.
    ``record`` has room for these rounds, or none.
    """
    recorded, traced = record.arms.size > 0, record.p.shape[0] > 0
    mark = int(tally[MARK])
    following = marks[mark] if mark < marks.size else NEVER
    for k in range(policy_uniforms.shape[0]):
        t = before + k + 1
        draws = world_uniforms[k]
        before_draw(params, state, int(tally[OUTSTANDING]), draws[:0])  # all arms are awake
        if reads_p(env):
            distribution(params, state, p)
        prepare(env, world, t, p, draws)
        add_to_totals(env, world)
        if traced:
            trace(params, state, record, k)
        arm, shown, weight, memo = pull(params, state, policy_uniforms[k])
        loss = loss_of(env, world, t, shown, draws)
        if not 0.0 <= loss <= 1.0:
            return BAD_LOSS, t, loss
        cost, clean = cost_of(env, world, t, arm, draws)
        tally[COST] += cost
        tally[CLEAN] += clean
        tally[SUFFERED] += loss if shown == arm else loss_of(env, world, t, arm, draws)
        slot, due = NONE_DUE, t
        if delay.longest > 0:
            due = enqueue(delay, queue, t, shown, loss, weight, memo, draws[-1])
            tally[OUTSTANDING] += 1.0
            slot = due_now(queue, t)
        if recorded:
            record.arms[k], record.observed[k], record.due[k] = arm, shown, due
            record.losses[k], record.weights[k] = loss, weight
        learning = delay.longest == 0 or slot >= 0
        while learning:  # once, or for every observation that is due: so the learning is compiled once
            if slot >= 0:
                shown, loss, weight, memo, slot = read_slot(queue, slot)
                tally[OUTSTANDING] -= 1.0
            learn(params, state, shown, loss, weight, memo)
            if step(params, state) == FAILED:
                return UNSOLVED, t, loss
            learning = slot >= 0
        if t == following:
            best, clean_best = benchmark(env, world, t)
            measure(tally, best, clean_best, measured[mark])
            if mark < distributions.shape[0]:
                distribution(params, state, distributions[mark])
            mark += 1
            tally[MARK] = mark
            following = marks[mark] if mark < marks.size else NEVER
    rounds = policy_uniforms.shape[0]
    if traced:
        trace(params, state, record, rounds)
    return COMPLETE, before + rounds, 0.0
