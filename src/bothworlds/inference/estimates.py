"""Estimates of what a policy is worth, from decisions of another, with an interval for one fixed time.

With w = π(a)/p(a), μ̂ the mean of the earlier answers of each arm (½ before the first), and

    Γ_i = Σ_a π_i(a)·μ̂(a) + w_i·(r_i − μ̂(a_i))

the estimates are  ipw = mean of w·r,  snipw = Σ w·r/Σ w,  aipw = mean of Γ,  and the adaptively weighted
θ̂ = Σ h·Γ/Σ h with h_i = (Σ_a π_i(a)²/p_i(a))^−½, which does not let a few rounds with small p decide:
θ̂ ± z·√(Σ h²(Γ − θ̂)²)/Σ h is an asymptotic interval, also where p depends on the past.

References: V. Hadad, D. Hirshberg, R. Zhan, S. Wager, S. Athey, PNAS 118 (2021); R. Zhan et al., KDD 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds.inference.engine import FACTORS, LARGEST, N_BETS, multiply, normalize
from bothworlds.inference.intervals import number_text

# of a policy: the sums of 1, w, w², w·r, Γ; of h, h·Γ, h², h²·Γ, h²·Γ²; the largest w, and Σ_a π(a)·μ̂(a)
N, W, W2, WR, GAMMA, H, HG, HH, HHG, HHGG, MOST, BASELINE = range(12)
N_TOTALS = 12


@dataclass(frozen=True)
class Estimate:
    """An estimate with an approximate interval, for this time only: it does not survive a second look.

    Attributes
    ----------
    value:
        The estimate.
    low, high:
        The ends of the interval.
    error:
        The approximate probability that what is estimated is outside.
    """

    value: float
    low: float
    high: float
    error: float

    def __str__(self) -> str:
        width = abs(self.high - self.low)
        digits = 3 if not width else min(9, max(0, 2 - math.floor(math.log10(width))))
        return f"{number_text(self.value, digits)} ({self.low:.{digits}f}, {self.high:.{digits}f})"


class Tally(NamedTuple):
    """What is kept while policies are evaluated; the numbers of each policy side by side."""

    totals: FloatArray
    """Policies × ``N_TOTALS``."""
    growth: FloatArray
    """Policies × 2 × bets: w·r and w·(1 − r)."""
    octaves: FloatArray
    counts: FloatArray
    """The answers of each arm, and their sum."""
    rewards: FloatArray


def new_tally(n_policies: int, n_arms: int) -> Tally:
    """Nothing seen yet."""
    size = 2 * N_BETS * n_policies
    return Tally(
        np.zeros(n_policies * N_TOTALS), np.zeros(size), np.zeros(size), np.zeros(n_arms), np.zeros(n_arms)
    )


@kernel
def direct_estimate(tally: Tally, target: FloatArray, arm: int, mean: float) -> float:
    """Σ π(a)·μ̂(a), where ``arm`` has just been answered and ``mean`` was its μ̂ before."""
    total = 0.0
    for a in range(target.size):
        if target[a] > 0.0:
            other = tally.rewards[a] / tally.counts[a] if tally.counts[a] > 0.0 else 0.5
            total += target[a] * (mean if a == arm else other)
    return total


@kernel
def steadiness(target: FloatArray, p: FloatArray) -> float:
    """h = (Σ π(a)²/p(a))^−½."""
    spread = 0.0
    for a in range(target.size):
        if target[a] > 0.0:
            spread += target[a] * target[a] / p[a]
    return 1.0 / math.sqrt(spread)


@entry
def tally_up(
    tally: Tally,
    actions: IntArray,
    rewards: FloatArray,
    propensities: FloatArray,
    distributions: FloatArray,
    targets: FloatArray,
    moving: bool,
) -> None:
    """Take in decisions, in order. ``targets``: policies × arms; if ``moving``, rows × arms of one policy.

    A policy of NaN is the logger's own. Decisions without answer (NaN) are left out.
    """
    n_policies = tally.totals.size // N_TOTALS
    known = distributions.shape[0] > 0
    for i in range(actions.size):
        reward, arm = rewards[i], actions[i]
        if math.isnan(reward):
            continue
        mean = tally.rewards[arm] / tally.counts[arm] if tally.counts[arm] > 0.0 else 0.5
        tally.rewards[arm] += reward
        tally.counts[arm] += 1.0
        change = tally.rewards[arm] / tally.counts[arm] - mean
        for m in range(n_policies):
            totals = tally.totals[m * N_TOTALS : (m + 1) * N_TOTALS]
            target = targets[i] if moving else targets[m]
            own = math.isnan(target[0])
            weight = 1.0 if own else min(target[arm] / propensities[i], LARGEST)
            if moving:
                totals[BASELINE] = direct_estimate(tally, target, arm, mean)
            elif totals[N] == 0.0:
                totals[BASELINE] = 0.5
            totals[N] += 1.0
            gamma = reward if own else totals[BASELINE] + weight * (reward - mean)
            totals[GAMMA] += gamma
            if not moving and not own:
                totals[BASELINE] += target[arm] * change
            if known or own:
                h = 1.0 if own else steadiness(target, distributions[i])
                totals[H] += h
                totals[HG] += h * gamma
                totals[HH] += h * h
                totals[HHG] += h * h * gamma
                totals[HHGG] += h * h * gamma * gamma
            if weight > 0.0:
                totals[W] += weight
                totals[W2] += weight * weight
                totals[WR] += weight * reward
                totals[MOST] = max(totals[MOST], weight)
                start = 2 * N_BETS * m
                multiply(tally.growth, start, weight * reward)
                multiply(tally.growth, start + N_BETS, weight * (1.0 - reward))
        if i % FACTORS == FACTORS - 1 or i == actions.size - 1:
            normalize(tally.growth, tally.octaves, 0, tally.growth.size)


def adaptive(totals: FloatArray, error: float) -> Estimate | None:
    """The adaptively weighted estimate, if the probabilities of all arms were there."""
    if not totals[H] > 0.0:
        return None
    value = totals[HG] / totals[H]
    variance = max(0.0, totals[HHGG] - 2.0 * value * totals[HHG] + value * value * totals[HH])
    reach = NormalDist().inv_cdf(1.0 - error / 2.0) * math.sqrt(variance) / totals[H]
    return Estimate(float(value), float(value - reach), float(value + reach), error)
