"""Coverage of the intervals: along a run whose true means are known, which of them were ever wrong."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds.inference.engine import FACTORS, N_BETS, log_e, multiply, normalize
from bothworlds.inference.state import EvidenceState, init_evidence
from bothworlds.inference.sums import (
    ANY,
    ANY_LOSS,
    FULL,
    N_COUNTS,
    PLAYED,
    PLAYED_LOSS,
    PULLS,
    Sums,
    note_answer,
    note_decision,
)


class Missed(NamedTuple):
    """Which intervals were ever wrong at a look: one flag per arm, or one."""

    arms: FloatArray
    """The mean of each arm over the rounds in which it was played: its mean, in a stationary world."""
    any: FloatArray
    """The mean of each arm over all rounds."""
    value: FloatArray
    """What the policy was worth."""
    uniform: FloatArray
    """What uniform play would have been worth, by weights."""


class RunningSums(NamedTuple):
    """What :func:`note_missed` adds up on the way."""

    logs: FloatArray
    growth: FloatArray
    octaves: FloatArray
    means: FloatArray
    """Arms × 2: the means so far, of the rounds in which an arm was played, and of all."""


@kernel
def outside(logs: FloatArray, n: float, mean: float, threshold: float) -> bool:
    """Is the mean below the lower bound that these sums give?"""
    return bool(log_e(logs, n, min(max(mean, 0.0), 1.0))[0] >= threshold)


@kernel
def add_logs(growth: FloatArray, octaves: FloatArray, start: int, logs: FloatArray) -> None:
    """Add the logarithms of the products at ``start``."""
    for j in range(N_BETS):
        logs[j] += octaves[start + j] * math.log(2.0) + math.log1p(growth[start + j])


@kernel
def clear(values: FloatArray) -> None:
    """Set all values to 0."""
    for i in range(values.size):
        values[i] = 0.0


@kernel
def look_at_arm(sums: Sums, arm: int, means: FloatArray, t: float, threshold: float, logs: FloatArray) -> int:
    """Which of the two intervals of an arm are wrong: 1 for that of the rounds played, 2 for that of all."""
    wrong = 0
    for kind in (PLAYED, PLAYED_LOSS, ANY, ANY_LOSS):
        clear(logs)
        add_logs(sums.growth, sums.octaves, (arm * FULL + kind) * N_BETS, logs)
        of_all = kind in (ANY, ANY_LOSS)
        n = t if of_all else sums.counts[arm * N_COUNTS + PULLS]
        mean = means[1 if of_all else 0] / max(n, 1.0)
        if outside(logs, n, mean if kind in (PLAYED, ANY) else 1.0 - mean, threshold):
            wrong |= 2 if of_all else 1
    return wrong


@entry
def note_missed(
    state: EvidenceState,
    arms: IntArray,
    rewards: FloatArray,
    table: FloatArray,
    means: FloatArray,
    threshold: float,
    every: int,
    running: RunningSums,
    missed: Missed,
) -> None:
    """Play a run again, and look after every so many rounds."""
    sums, n_arms, logs = state.sums, table.shape[1], running.logs
    own, even = 0.0, 0.0
    for i in range(arms.size):
        arm, p = arms[i], table[i, arms[i]]
        note_decision(sums, arm)
        note_answer(sums, arm, rewards[i], p)
        weight = 1.0 / (n_arms * p)
        multiply(running.growth, 0, weight * rewards[i])
        multiply(running.growth, N_BETS, weight * (1.0 - rewards[i]))
        if i % FACTORS == FACTORS - 1:
            normalize(running.growth, running.octaves, 0, 2 * N_BETS)
        running.means[arm, 0] += means[i, arm]
        for a in range(n_arms):
            running.means[a, 1] += means[i, a]
            own += table[i, a] * means[i, a]
            even += means[i, a] / n_arms
        t = i + 1.0
        if (i + 1) % every != 0:
            continue
        for a in range(n_arms):
            wrong = look_at_arm(sums, a, running.means[a], t, threshold, logs)
            missed.arms[a] = max(missed.arms[a], float(wrong & 1))
            missed.any[a] = max(missed.any[a], float(wrong >> 1))
        for side in range(2):
            clear(logs)
            for a in range(n_arms):
                add_logs(sums.growth, sums.octaves, (a * FULL + side) * N_BETS, logs)
            if outside(logs, t, abs(side - own / t), threshold):
                missed.value[0] = 1.0
            clear(logs)
            add_logs(running.growth, running.octaves, side * N_BETS, logs)
            if outside(logs, t, abs(side - even / t), threshold):
                missed.uniform[0] = 1.0


def ever_missed(
    arms: IntArray,
    rewards: FloatArray,
    table: FloatArray,
    means: FloatArray,
    *,
    error: float = 0.05,
    every: int = 1,
) -> Missed:
    """Which intervals of a run were ever wrong, looked at after every so many rounds.

    Parameters
    ----------
    arms, rewards:
        What was played, and what came back, in [0, 1].
    table:
        The probabilities of all arms in every round, rounds × arms.
    means:
        The true conditional means, rounds × arms.
    error:
        Of each interval.
    every:
        Rounds between two looks.
    """
    n_arms = table.shape[1]
    missed = Missed(np.zeros(n_arms), np.zeros(n_arms), np.zeros(1), np.zeros(1))
    note_missed(
        init_evidence(n_arms, True),
        np.ascontiguousarray(arms),
        np.ascontiguousarray(rewards),
        np.ascontiguousarray(table),
        np.ascontiguousarray(means),
        -math.log(error / 2.0),
        every,
        RunningSums(np.zeros(N_BETS), np.zeros(2 * N_BETS), np.zeros(2 * N_BETS), np.zeros((n_arms, 2))),
        missed,
    )
    return missed
