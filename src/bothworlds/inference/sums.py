"""What is kept of the decisions of a bandit: for each arm counts, and products of bets.

For a reward r in [0, 1] of arm a, played with probability p, let w = 1/p. The numbers x that are bet on, and
their means given the past, μ being that of the arm in this round:

    PLAYED, PLAYED_LOSS        r and 1 − r, given that a was played               μ and 1 − μ
    ANY, ANY_LOSS              w·r and w·(1 − r), and 0 where others were played  μ and 1 − μ
    REGRET, REGRET_LOSS        w·r + 1 − r and w·(1 − r) + r, see regret.py

The first two need no probabilities; all six are kept if there are some. Decisions are counted when they are
made: an answer that is outstanding, or lost, adds 0 to both sides, which is safe whatever the delay depends
on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference.engine import FACTORS, LARGEST, N_BETS, join_products, logs_of, multiply, normalize

PLAYED, PLAYED_LOSS, ANY, ANY_LOSS, REGRET, REGRET_LOSS = range(6)
ARMS_ONLY, FULL = 2, 6  # kinds of products
PULLS, ANSWERS, REWARDS, WEIGHTS, WEIGHTED = range(5)  # of an arm
N_COUNTS = 5


class Sums(NamedTuple):
    """Few arrays, since a kernel pays for each: the numbers of each arm side by side, the arms in a row."""

    counts: FloatArray
    """Arms × ``N_COUNTS``."""
    growth: FloatArray
    """Products, as 2^octaves·(1 + growth): arms × kinds × bets."""
    octaves: FloatArray

    @property
    def pulls(self) -> FloatArray:
        """Decisions, by arm."""
        return self.counts[PULLS::N_COUNTS]

    @property
    def answers(self) -> FloatArray:
        """Answers, by arm."""
        return self.counts[ANSWERS::N_COUNTS]

    @property
    def rewards(self) -> FloatArray:
        """The sum of the rewards, by arm."""
        return self.counts[REWARDS::N_COUNTS]

    @property
    def weights(self) -> FloatArray:
        """Σ w, by arm; 0 where probabilities are not kept."""
        return self.counts[WEIGHTS::N_COUNTS]

    @property
    def weighted(self) -> FloatArray:
        """Σ w·r, by arm."""
        return self.counts[WEIGHTED::N_COUNTS]

    def __add__(self, other: Any) -> Any:
        """The sums of both, as if one bandit had seen everything."""
        if not isinstance(other, Sums):
            return NotImplemented
        if self.pulls.size != other.pulls.size or self.growth.size != other.growth.size:
            raise InvalidArgumentError(
                "sums",
                other,
                f"of {self.pulls.size} arms and {kinds_of(self)} kinds",
                got=f"{other.pulls.size} arms and {kinds_of(other)} kinds",
            )
        one, two = normalized(self), normalized(other)
        growth, octaves = join_products(one.growth, one.octaves, two.growth, two.octaves)
        return Sums(self.counts + other.counts, growth, octaves)


def init_sums(n_arms: int, full: bool) -> Sums:
    """Sums of nothing; ``full`` keeps those that need probabilities, too."""
    size = n_arms * (FULL if full else ARMS_ONLY) * N_BETS
    return Sums(np.zeros(n_arms * N_COUNTS), np.zeros(size), np.zeros(size))


def kinds_of(sums: Sums) -> int:
    """How many products are kept for each arm."""
    return sums.growth.size // (sums.pulls.size * N_BETS)


def is_full(sums: Sums) -> bool:
    """Are those kept that need probabilities?"""
    return kinds_of(sums) == FULL


def normalized(sums: Sums) -> Sums:
    """A copy whose products are small numbers."""
    mantissas, exponents = np.frexp(sums.growth + 1.0)
    much = sums.growth >= 1.0
    return sums._replace(
        growth=np.where(much, 2.0 * mantissas - 1.0, sums.growth),
        octaves=sums.octaves + np.where(much, exponents - 1, 0),
    )


def logs_by_arm(sums: Sums) -> FloatArray:
    """The logarithms of all products, arms × kinds × bets."""
    return logs_of(sums.growth, sums.octaves).reshape(sums.pulls.size, -1, N_BETS)


@kernel(inline=True)
def note_decision(sums: Sums, arm: int) -> None:
    """Count a decision for this arm."""
    sums.counts[arm * N_COUNTS + PULLS] += 1.0


@kernel
def note_answer(sums: Sums, arm: int, reward: float, probability: float) -> None:
    """The reward, in [0, 1], of a decision for ``arm`` that was made with this probability."""
    kinds = FULL if sums.growth.size * N_COUNTS == FULL * N_BETS * sums.counts.size else ARMS_ONLY
    counts = sums.counts[arm * N_COUNTS : (arm + 1) * N_COUNTS]
    start = arm * kinds * N_BETS
    loss = 1.0 - reward
    counts[ANSWERS] += 1.0
    counts[REWARDS] += reward
    multiply(sums.growth, start, reward)
    multiply(sums.growth, start + N_BETS, loss)
    if kinds == FULL:
        weight = min(1.0 / probability, LARGEST)
        counts[WEIGHTS] += weight
        counts[WEIGHTED] += weight * reward
        multiply(sums.growth, start + ANY * N_BETS, weight * reward)
        multiply(sums.growth, start + ANY_LOSS * N_BETS, weight * loss)
        multiply(sums.growth, start + REGRET * N_BETS, weight * reward + loss)
        multiply(sums.growth, start + REGRET_LOSS * N_BETS, weight * loss + reward)
    if counts[ANSWERS] % FACTORS == 0.0:
        normalize(sums.growth, sums.octaves, start, start + kinds * N_BETS)
