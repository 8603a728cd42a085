"""The only loop: a policy in a world, block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds.environments.base import benchmark, cost_of, loss_of, prepare, watches
from bothworlds.environments.delayed import DelayParameters, Mailbox, post
from bothworlds.policies.base import act, distribution, inspect, update
from bothworlds.simplex.kernel import FAILED

# how a block ended
COMPLETE, BAD_LOSS, UNSOLVED = range(3)

NO_LETTER = -1
NEVER = -1  # in place of a round

# running totals of a replication
COST, CLEAN, SUFFERED, MARK = range(4)
N_TALLY = 4

# what is kept at a checkpoint
REGRET, CLEAN_REGRET, LOSS = range(3)
N_KEPT = 3


class Record(NamedTuple):
    """What a traced run writes down in every round; arrays without rows, if it is not traced."""

    p: FloatArray
    rates: FloatArray
    estimates: FloatArray
    arms: IntArray
    observed: IntArray
    losses: FloatArray


def no_record(n_arms: int) -> Record:
    """A record that keeps nothing."""
    return new_record(0, n_arms)


def new_record(rounds: int, n_arms: int) -> Record:
    """Room for so many rounds (and the state after the last)."""
    shape = (rounds + 1 if rounds else 0, n_arms)
    arms = np.empty((2, rounds), dtype=np.int64)
    return Record(np.empty(shape), np.empty(shape), np.empty(shape), arms[0], arms[1], np.empty(rounds))


def cut_record(record: Record, rounds: int) -> Record:
    """The first rounds of a record (and the state after them), for a run that ended early."""
    return Record(
        record.p[: rounds + 1],
        record.rates[: rounds + 1],
        record.estimates[: rounds + 1],
        record.arms[:rounds],
        record.observed[:rounds],
        record.losses[:rounds],
    )


@kernel
def exchange(
    delay: DelayParameters,
    box: Mailbox,
    t: int,
    observe: int,
    loss: float,
    weight: float,
    epoch: int,
    uniform: float,
) -> int:
    """Send off the feedback of round t; return the slot of the first letter that is due now (−1: none)."""
    slot = post(delay, box, t, uniform)
    letter = box.contents[slot]
    letter[0], letter[1], letter[2], letter[3] = observe, loss, weight, epoch
    due = t % box.first.size
    slot = int(box.first[due])
    box.first[due] = -1.0
    return slot


@entry
def play_block(
    params: Any,
    state: Any,
    env: Any,
    world: Any,
    delay: DelayParameters,
    box: Mailbox,
    policy_uniforms: FloatArray,
    world_uniforms: FloatArray,
    before: int,
    marks: IntArray,
    tally: FloatArray,
    p: FloatArray,
    kept: FloatArray,
    kept_p: FloatArray,
    record: Record,
) -> tuple[int, int, float]:
    """Play rounds before+1, before+2, …; return (how it ended, the round, the loss that ended it).

    At a mark, ``kept`` gets regret and losses, and ``kept_p``, unless it has no rows, the distribution.
    """
    traced = record.arms.size > 0
    mark = int(tally[MARK])
    following = marks[mark] if mark < marks.size else NEVER
    for k in range(policy_uniforms.shape[0]):
        t = before + k + 1
        draws = world_uniforms[k]
        if watches(env):
            distribution(params, state, p)
        prepare(env, world, t, p, draws)
        if traced:
            distribution(params, state, record.p[t - 1])
            inspect(params, state, record.rates[t - 1], record.estimates[t - 1])
        arm, observe, _, weight, epoch = act(params, state, policy_uniforms[k])
        loss = loss_of(env, world, t, observe, draws)
        if not 0.0 <= loss <= 1.0:
            return BAD_LOSS, t, loss
        cost, clean = cost_of(env, world, t, arm, draws)
        tally[COST] += cost
        tally[CLEAN] += clean
        tally[SUFFERED] += loss if observe == arm else loss_of(env, world, t, arm, draws)
        if traced:
            record.arms[t - 1] = arm
            record.observed[t - 1] = observe
            record.losses[t - 1] = loss
        slot = NO_LETTER
        if delay.longest > 0:
            slot = exchange(delay, box, t, observe, loss, weight, epoch, draws[-1])
        learning = delay.longest == 0 or slot >= 0
        while learning:  # once, or for every letter: one loop, so that ``update`` is compiled once
            if slot >= 0:
                letter = box.contents[slot]
                observe, loss, weight, epoch = int(letter[0]), letter[1], letter[2], int(letter[3])
                slot = int(box.following[slot])
            if update(params, state, observe, loss, weight, epoch) == FAILED:
                return UNSOLVED, t, loss
            learning = slot >= 0
        if t == following:
            best, clean_best = benchmark(env, world, t)
            kept[mark, REGRET] = tally[COST] - best
            kept[mark, CLEAN_REGRET] = tally[CLEAN] - clean_best
            kept[mark, LOSS] = tally[SUFFERED]
            if mark < kept_p.shape[0]:
                distribution(params, state, kept_p[mark])
            mark += 1
            tally[MARK] = mark
            following = marks[mark] if mark < marks.size else NEVER
    last = before + policy_uniforms.shape[0]
    if traced and last == record.arms.size:
        distribution(params, state, record.p[last])
        inspect(params, state, record.rates[last], record.estimates[last])
    return COMPLETE, last, 0.0
