"""Late feedback: how late it comes, and the queue in which it waits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel

FIXED, GEOMETRIC, HEAVY = range(3)
LAWS = ("fixed", "geometric", "heavy")
NEVER = 2**62  # the round in which lost feedback is due


class DelayParameters(NamedTuple):
    """The law of the delay (a number of ``LAWS``), its mean, the longest that occurs; how much gets lost."""

    law: int
    mean: float
    longest: int
    lost: float


AT_ONCE = DelayParameters(FIXED, 0.0, 0, 0.0)


@kernel
def sample_delay(delay: DelayParameters, uniform: float) -> int:
    """A delay, by inversion."""
    if delay.law == FIXED or delay.mean == 0.0:
        return int(delay.mean)
    tail = 1.0 - uniform  # in (0, 1]
    if delay.law == GEOMETRIC:
        value = math.log(tail) / math.log(delay.mean / (1.0 + delay.mean))
    else:
        value = delay.mean * (1.0 / math.sqrt(tail) - 1.0)
    return int(min(value, float(delay.longest)))


class Queue(NamedTuple):
    """Observations on their way. Slot s is that of the round t with t ≡ s modulo the number of slots."""

    observations: FloatArray
    """Arm, loss, weight and memo of every slot."""
    first: FloatArray
    """For every due round (modulo), the slot of the oldest observation, or −1."""
    last: FloatArray
    """For every due round (modulo), the slot of the youngest observation, or −1."""
    following: FloatArray
    """For every slot, the next one due in the same round, or −1."""


def empty_queue(delay: DelayParameters) -> Queue:
    """One slot more than the longest delay: a slot is always free again in time."""
    n = delay.longest + 1
    return Queue(np.zeros((n, 4)), np.full(n, -1.0), np.full(n, -1.0), np.full(n, -1.0))


@kernel
def enqueue(
    delay: DelayParameters,
    queue: Queue,
    t: int,
    arm: int,
    loss: float,
    weight: float,
    memo: float,
    uniform: float,
) -> int:
    """Let the observation of round t wait, behind others due in the same round; return it, NEVER if lost."""
    if uniform < delay.lost:
        return NEVER
    n = queue.first.size
    slot = t % n
    due_round = t + sample_delay(delay, (uniform - delay.lost) / (1.0 - delay.lost))
    due = due_round % n
    observation = queue.observations[slot]
    observation[0], observation[1], observation[2], observation[3] = arm, loss, weight, memo
    queue.following[slot] = -1.0
    if queue.first[due] < 0.0:
        queue.first[due] = slot
    else:
        queue.following[int(queue.last[due])] = slot
    queue.last[due] = slot
    return due_round


@kernel
def read_slot(queue: Queue, slot: int) -> tuple[int, float, float, float, int]:
    """Arm, loss, weight and memo of an observation, and the slot of the next one due in the same round."""
    observation = queue.observations[slot]
    return int(observation[0]), observation[1], observation[2], observation[3], int(queue.following[slot])


@kernel
def due_now(queue: Queue, t: int) -> int:
    """The slot of the first observation that is due in round t, which leaves the queue (−1: none)."""
    due = t % queue.first.size
    slot = int(queue.first[due])
    queue.first[due] = -1.0
    return slot
