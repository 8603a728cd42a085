"""The drift alarm: are the rewards of each arm independent and identically distributed?

The first 20 answers of an arm fix a cutoff (½ if all are 0 or 1, else their median). From then on its rewards
are above the cutoff or not, and seven forgetful experts, mixed as they predict well, bet on which. Whatever
the rate θ of "above", the product of their predictions over θ^k·(1 − θ)^(n−k) is a martingale; over the
largest value of that, it is below one for all θ at once. What a bet of 1, shared by all arms, has become
reaches 1/error with probability at most ``error``, ever. An arm that arrives later, as number K, gets its
share, 1/K, of what there is then.

Order matters: answers are to come in the order of the decisions, or with delays that do not depend on the
reward. If those that are "yes" come first, that is a drift, of the answers.

Reference: L. Wasserman, A. Ramdas, S. Balakrishnan: Universal inference. PNAS 117 (2020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, kernel

OPENING = 20  # answers that fix the cutoff
MEMORIES = (1.0, 1 - 1 / 16, 1 - 1 / 64, 1 - 1 / 256, 1 - 1 / 1024, 1 - 1 / 4096, 1 - 1 / 16384)
N_EXPERTS = len(MEMORIES)
KEEP = np.array(MEMORIES)  # γ_d: what an expert keeps of the past
KEEP.flags.writeable = False
# the numbers of an arm: seven, s1, s0 and v of the experts, and the first rewards
SEEN, CUTOFF, COUNT, YES, GAIN, LOG_E, STAKE = range(7)
ABOVE, BELOW, TRUST, FIRST = 7, 7 + N_EXPERTS, 7 + 2 * N_EXPERTS, 7 + 3 * N_EXPERTS
N_NUMBERS = FIRST + OPENING
TOTAL, ANSWERS, THRESHOLD, RAISED_AT, RAISED_BY = range(5)  # of the alarm
QUIET = 0.0


class DriftState(NamedTuple):
    """The numbers of each arm side by side, the arms in a row; and those of the alarm."""

    arms: FloatArray
    scalars: FloatArray


def init_drift(n_arms: int, error: float = 0.05) -> DriftState:
    """An alarm that is ever false with probability at most ``error``."""
    error = _check.number("error", error, above=0.0, below=1.0)
    arms = np.zeros((n_arms, N_NUMBERS))
    arms[:, STAKE] = 1.0 / n_arms
    arms[:, TRUST : TRUST + N_EXPERTS] = 1.0 / N_EXPERTS
    return DriftState(arms.reshape(-1), np.array([1.0, 0.0, 1.0 / error, QUIET, -1.0]))


def stake_another(drift: DriftState) -> None:
    """The last arm has just arrived, and gets its share."""
    numbers = drift.arms.reshape(-1, N_NUMBERS)
    n_arms = len(numbers)
    numbers[:-1, STAKE] *= (n_arms - 1.0) / n_arms
    numbers[-1, STAKE] = drift.scalars[TOTAL] / n_arms


@dataclass(frozen=True)
class Alarm:
    """What the drift alarm says; true if it has been raised.

    Attributes
    ----------
    log_e:
        The logarithm of the evidence against rewards that are independent and identically distributed, now.
    threshold:
        At this the alarm is raised, for good.
    arm:
        The arm that moved most.
    since:
        The number of the answer at which it was raised; None if it was not.
    """

    log_e: float
    threshold: float
    arm: Any
    since: int | None

    def __bool__(self) -> bool:
        return self.since is not None

    def __str__(self) -> str:
        if self.since is None:
            return f"no drift seen (log e {self.log_e:.1f}, alarm at {self.threshold:.1f})"
        return f"the rewards of {self.arm} have drifted: alarm at answer {self.since:,}"


def alarm_of(drift: DriftState, labels: Sequence[Any]) -> Alarm:
    """The state of the alarm, in words."""
    numbers = drift.arms.reshape(-1, N_NUMBERS)
    log_es, stakes = numbers[:, LOG_E], numbers[:, STAKE]
    top = float(log_es.max())
    raised = drift.scalars[RAISED_AT] != QUIET
    arm = int(drift.scalars[RAISED_BY]) if raised else int(log_es.argmax())
    return Alarm(
        log_e=top + math.log(float(np.sum(stakes * np.exp(log_es - top)))),
        threshold=math.log(drift.scalars[THRESHOLD]),
        arm=labels[arm],
        since=int(drift.scalars[RAISED_AT]) if raised else None,
    )


@kernel
def note_reward(drift: DriftState, arm: int, reward: float) -> None:
    """The next reward of an arm, in the order of decisions."""
    scalars = drift.scalars
    numbers = drift.arms[arm * N_NUMBERS : (arm + 1) * N_NUMBERS]
    scalars[ANSWERS] += 1.0
    numbers[SEEN] += 1.0
    if numbers[SEEN] <= OPENING:
        opening = numbers[FIRST:]
        insert(opening, int(numbers[SEEN]) - 1, reward)
        if numbers[SEEN] == OPENING:
            numbers[CUTOFF] = cutoff_of(opening)
        return
    before = worth(numbers)
    ask_experts(numbers, 1.0 if reward > numbers[CUTOFF] else 0.0)
    scalars[TOTAL] += worth(numbers) - before
    if scalars[RAISED_AT] == QUIET and scalars[TOTAL] >= scalars[THRESHOLD]:
        scalars[RAISED_AT] = scalars[ANSWERS]
        scalars[RAISED_BY] = likeliest(drift)


@kernel(inline=True)
def worth(numbers: FloatArray) -> float:
    """The stake of an arm times its e-value: what it is worth now."""
    return float(numbers[STAKE] * math.exp(min(numbers[LOG_E], 600.0)))


@kernel
def insert(opening: FloatArray, n: int, reward: float) -> None:
    """Keep the first rewards of an arm in order of size."""
    place = n
    while place > 0 and opening[place - 1] > reward:
        opening[place] = opening[place - 1]
        place -= 1
    opening[place] = reward


@kernel
def cutoff_of(opening: FloatArray) -> float:
    """½ if all are 0 or 1, else the median."""
    for i in range(OPENING):
        if opening[i] != 0.0 and opening[i] != 1.0:
            return float(0.5 * (opening[OPENING // 2 - 1] + opening[OPENING // 2]))
    return 0.5


@kernel
def ask_experts(numbers: FloatArray, x: float) -> None:
    """Let the experts of an arm predict x, which is 0 or 1, and learn it."""
    z = 0.0
    for d in range(N_EXPERTS):
        q = (numbers[ABOVE + d] + 0.5) / (numbers[ABOVE + d] + numbers[BELOW + d] + 1.0)
        z += numbers[TRUST + d] * (q if x == 1.0 else 1.0 - q)
    numbers[GAIN] += math.log(z)
    numbers[COUNT] += 1.0
    numbers[YES] += x
    n, k = numbers[COUNT], numbers[YES]
    shared = 0.5 / (n + 9.0)  # β: so much of the trust is given to all alike, whoever was right
    for d in range(N_EXPERTS):
        q = (numbers[ABOVE + d] + 0.5) / (numbers[ABOVE + d] + numbers[BELOW + d] + 1.0)
        likely = q if x == 1.0 else 1.0 - q
        numbers[TRUST + d] = (1.0 - shared) * numbers[TRUST + d] * likely / z + shared / N_EXPERTS
        numbers[ABOVE + d] = KEEP[d] * numbers[ABOVE + d] + x
        numbers[BELOW + d] = KEEP[d] * numbers[BELOW + d] + 1.0 - x
    best = 0.0  # the largest log-likelihood of a rate that stands still
    if 0.0 < k < n:
        best = k * math.log(k / n) + (n - k) * math.log(1.0 - k / n)
    numbers[LOG_E] = numbers[GAIN] - best


@kernel
def likeliest(drift: DriftState) -> int:
    """The arm with the largest e-value."""
    n_arms = drift.arms.size // N_NUMBERS
    found = 0
    for a in range(1, n_arms):
        if drift.arms[a * N_NUMBERS + LOG_E] > drift.arms[found * N_NUMBERS + LOG_E]:
            found = a
    return found
