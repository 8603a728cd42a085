"""Which arm is better, and which cannot be the best: evidence against what would have to be true.

In a stationary world the products of two arms are independent bets that never move in the same round, so that
their product is a bet on both means at once; the least favorable pair of means that agrees with a hypothesis
gives the evidence against it. In any world one product will do: w_a·r + w_b·(1 − r) has mean 1 + μ(a) − μ(b),
and at most one of the two is not 0.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds.inference.engine import N_BETS, add_term, bounds, e_values, log_e
from bothworlds.inference.sums import ANY, ANY_LOSS, PLAYED, PLAYED_LOSS, Sums, logs_by_arm

BoolArray: TypeAlias = NDArray[np.bool_]

RIVALS = 64  # so many arms, with the largest lower bounds, are asked whether they are better than another
STEPS = 100
CLOSE = 1e-10  # nats


# --- stationary: the best of several ------------------------------------------------------------------------


@kernel
def log_e_of_rivals(
    gains: FloatArray, losses: FloatArray, n: FloatArray, arm: int, rivals: IntArray, share: float, m: float
) -> tuple[float, float, float]:
    """The evidence that μ(arm) < m, and that a rival has more than m: its log, and two derivatives in m.

    Each rival has the same share of the bet; the rest, if any, is not bet.
    """
    value, slope, bend = log_e(losses[arm], n[arm], 1.0 - m)
    top, total, first, second = -math.inf, 0.0, 0.0, 0.0
    for k in range(rivals.size):
        b = rivals[k]
        if b == arm:
            continue
        term, steep, curved = log_e(gains[b], n[b], m)
        square = curved + steep * steep
        top, total, first, second = add_term(top, total, first, second, term, steep, square)
    first /= total
    second = max(0.0, second / total - first * first)
    return value + top + math.log(share * total), first - slope, bend + second


@kernel
def least_evidence(
    gains: FloatArray, losses: FloatArray, n: FloatArray, arm: int, rivals: IntArray, share: float
) -> float:
    """The smallest value of :func:`log_e_of_rivals` over m in [0, 1], from below: it is convex in m.

    The bracket [low, high] holds the minimum: its slope is ≤ 0 at low and ≥ 0 at high, or they are the ends.
    A tangent bounds what may be left. Newton's steps where they stay inside, halving otherwise.
    """
    low, high, m = 0.0, 1.0, 0.5
    floor = -math.inf
    for step in range(STEPS):
        value, slope, bend = log_e_of_rivals(gains, losses, n, arm, rivals, share, m)
        if slope > 0.0:
            high = m
        else:
            low = m
        left = slope * (m - low) if slope > 0.0 else slope * (m - high)
        floor = max(floor, value - left)
        if left <= CLOSE or high - low < 1e-15:
            break
        m = m - slope / bend if bend > 0.0 else -1.0
        if not low < m < high or step % 3 == 2:
            m = 0.5 * (low + high)
    return floor


@entry
def least_evidence_of_all(
    gains: FloatArray, losses: FloatArray, n: FloatArray, rivals: IntArray, share: float, out: FloatArray
) -> None:
    """:func:`least_evidence` for every arm."""
    for arm in range(n.size):
        out[arm] = least_evidence(gains, losses, n, arm, rivals, share)


@entry
def least_evidence_of(
    gains: FloatArray, losses: FloatArray, n: FloatArray, arm: int, rivals: IntArray, share: float
) -> float:
    """:func:`least_evidence` for one arm."""
    return float(least_evidence(gains, losses, n, arm, rivals, share))


@entry
def rule_out_all(
    gains: FloatArray,
    losses: FloatArray,
    n: FloatArray,
    means: FloatArray,
    rivals: IntArray,
    share: float,
    threshold: float,
    out: BoolArray,
) -> None:
    """Is :func:`least_evidence` of an arm at least the threshold? At the mean of the arm it seldom is."""
    for arm in range(n.size):
        here = log_e_of_rivals(gains, losses, n, arm, rivals, share, means[arm])[0]
        out[arm] = here >= threshold and least_evidence(gains, losses, n, arm, rivals, share) >= threshold


class StationaryWorld:
    """Comparisons that assume that no mean moves; ``factors``: so many times the data of each arm."""

    def __init__(self, sums: Sums, factors: FloatArray | None = None) -> None:
        logs = logs_by_arm(sums)
        scale = np.ones(sums.pulls.size) if factors is None else factors
        self.gains = np.ascontiguousarray(logs[:, PLAYED] * scale[:, None])
        self.losses = np.ascontiguousarray(logs[:, PLAYED_LOSS] * scale[:, None])
        self.n = sums.pulls * scale
        self.means = sums.rewards / np.maximum(sums.answers, 1.0)

    @property
    def n_arms(self) -> int:
        """How many are compared."""
        return self.n.size

    def threshold(self, error: float) -> float:
        """An arm is out at this: the best one ever is with probability at most ``error``."""
        return -math.log(error)

    def _rivals(self) -> IntArray:
        """Those that may be better than others: a smaller sum of bets is a safe one."""
        if self.n_arms <= RIVALS:
            return np.arange(self.n_arms)
        return np.sort(np.argsort(-bounds(self.gains, self.n, 0.05))[:RIVALS])

    def not_best(self) -> FloatArray:
        """For each arm the log of the evidence against its being the best."""
        out = np.zeros(self.n_arms)
        if self.n_arms > 1:
            share = 1.0 / (self.n_arms - 1)
            least_evidence_of_all(self.gains, self.losses, self.n, self._rivals(), share, out)
        return out

    def out(self, error: float) -> BoolArray:
        """Which arms are not the best, soon: those whose evidence is at least the threshold."""
        out = np.zeros(self.n_arms, dtype=np.bool_)
        if self.n_arms > 1:
            share, threshold = 1.0 / (self.n_arms - 1), self.threshold(error)
            rivals = self._rivals()
            rule_out_all(self.gains, self.losses, self.n, self.means, rivals, share, threshold, out)
        return out

    def not_best_of(self, arm: int) -> float:
        """The same for one arm."""
        share = 1.0 / (self.n_arms - 1)
        return least_evidence_of(self.gains, self.losses, self.n, arm, self._rivals(), share)

    def better(self, a: int, b: int) -> float:
        """The log of the evidence against μ(a) ≤ μ(b)."""
        return least_evidence_of(self.gains, self.losses, self.n, b, np.array([a]), 1.0)

    def contrast(self, weights: FloatArray, level: float) -> float:
        """A lower bound for Σ weights·μ, with this one-sided error."""
        return contrast_lower(self.gains, self.losses, self.n, weights, level)

    def difference(self, a: int, b: int, level: float) -> float:
        """A lower bound for μ(a) − μ(b), with this one-sided error."""
        weights = np.zeros(self.n_arms)
        weights[a] += 1.0
        weights[b] -= 1.0
        return self.contrast(weights, level)


# --- any world ----------------------------------------------------------------------------------------------


@kernel
def log_mean_e(gains: FloatArray, losses: FloatArray, t: float, arm: int, logs: FloatArray) -> float:
    """The log of the mean evidence that another arm is better; ``logs`` is room."""
    top, total = -math.inf, 0.0
    for b in range(gains.shape[0]):
        if b != arm:
            for j in range(N_BETS):
                logs[j] = gains[b, j] + losses[arm, j]
            top, total, _, _ = add_term(top, total, 0.0, 0.0, log_e(logs, t, 1.0)[0], 0.0, 0.0)
    return top + math.log(total / (gains.shape[0] - 1))


@entry
def log_mean_e_of(
    gains: FloatArray, losses: FloatArray, t: float, arms: IntArray, logs: FloatArray, out: FloatArray
) -> None:
    """:func:`log_mean_e` of some arms."""
    for k in range(arms.size):
        out[k] = log_mean_e(gains, losses, t, arms[k], logs)


class AnyWorld:
    """Comparisons of means over all rounds that assume nothing; ``factor``: so many times the data."""

    def __init__(self, sums: Sums, factor: float = 1.0) -> None:
        logs = logs_by_arm(sums) * factor
        self.gains, self.losses = (np.ascontiguousarray(logs[:, kind]) for kind in (ANY, ANY_LOSS))
        self.t = float(sums.pulls.sum()) * factor

    @property
    def n_arms(self) -> int:
        """How many are compared."""
        return len(self.gains)

    def threshold(self, error: float) -> float:
        """An arm is out at this. Which arm is the best may change: all of them may be, in turn."""
        return math.log(self.n_arms / error)

    def not_best(self) -> FloatArray:
        """For each arm the log of the evidence that the mean of another is larger, over all rounds so far."""
        return self._not_best(np.arange(self.n_arms))

    def _not_best(self, arms: IntArray) -> FloatArray:
        out = np.zeros(arms.size)
        if self.n_arms > 1:
            log_mean_e_of(self.gains, self.losses, self.t, arms, np.empty(N_BETS), out)
        return out

    def out(self, error: float) -> BoolArray:
        """Which arms are not the best: those whose evidence is at least the threshold."""
        return self.not_best() >= self.threshold(error)

    def not_best_of(self, arm: int) -> float:
        """The evidence of one arm."""
        return float(self._not_best(np.array([arm]))[0])

    def better(self, a: int, b: int) -> float:
        """The log of the evidence against "the mean of a, over all rounds so far, is at most that of b"."""
        return float(e_values(self.gains[a] + self.losses[b], self.t, 1.0)[0])

    def difference(self, a: int, b: int, level: float) -> float:
        """A lower bound for the difference of the means over all rounds, with this one-sided error."""
        return float(bounds(self.gains[a] + self.losses[b], self.t, level, top=2.0)[0]) - 1.0


# --- linear contrasts in a stationary world -----------------------------------------------------------------


@kernel
def place(logs: FloatArray, n: float, ratio: float) -> tuple[float, float]:
    """The u in [0, 1] that minimizes ratio·u + log E(u), and log E there.

    −(log E)' decreases; it is at most n/u, so that u ≤ n/ratio. Newton's steps on its logarithm inside the
    bracket, halving where they leave it.
    """
    value, slope, _ = log_e(logs, n, 0.0)
    if -slope <= ratio:
        return 0.0, value
    value, slope, _ = log_e(logs, n, 1.0)
    if -slope >= ratio:
        return 1.0, value
    low, high = 0.0, min(1.0, n / ratio)
    u = 0.5 * high
    for step in range(STEPS):
        value, slope, bend = log_e(logs, n, u)
        if -slope > ratio:
            low = u
        else:
            high = u
        if abs(slope + ratio) * (high - low) <= CLOSE * 1e-3 or high - low <= 1e-15 * high:
            break
        u = u + math.log(-slope / ratio) * -slope / bend if slope < 0.0 < bend else -1.0
        if not low < u < high or step % 3 == 2:
            u = 0.5 * (low + high)
    return u, value


@entry
def least_contrast(logs: FloatArray, n: FloatArray, costs: FloatArray, threshold: float) -> float:
    """The smallest Σ costs·u over all u in [0, 1]^k with Σ log E_k(u_k) ≤ threshold, by its dual, from below.

    Every multiplier κ gives a lower bound, min_u Σ costs·u + κ(Σ log E − threshold), concave in κ, whose
    slope is the excess of Σ log E at its minimizer; halving of log κ finds the best.
    """
    low, high = -60.0, 60.0
    best = 0.0
    for _ in range(STEPS):
        kappa = math.exp(0.5 * (low + high))
        cost, excess = 0.0, -threshold
        for k in range(n.size):
            u, value = place(logs[k], n[k], costs[k] / kappa)
            cost += costs[k] * u
            excess += value
        best = max(best, cost + kappa * excess)
        if excess > 0.0:
            low = 0.5 * (low + high)
        else:
            high = 0.5 * (low + high)
        if kappa * abs(excess) * (high - low) <= 1e-13:
            break
    return best


def contrast_lower(
    gains: FloatArray, losses: FloatArray, n: FloatArray, weights: FloatArray, level: float
) -> float:
    """A lower bound for Σ weights·μ: arms with positive weight as low, the others as high as they can be."""
    used = np.flatnonzero(weights)
    if used.size == 0:
        return 0.0
    size = float(np.abs(weights).max())
    scaled = weights[used] / size
    logs = np.where((scaled > 0.0)[:, None], gains[used], losses[used])
    most = float(np.abs(scaled).sum())
    found = least_contrast(np.ascontiguousarray(logs), n[used], np.abs(scaled), -math.log(level))
    return size * (float(np.minimum(scaled, 0.0).sum()) + min(found, most))


# --- many claims --------------------------------------------------------------------------------------------


def e_bh(log_e: Any, *, error: float = 0.05) -> IntArray:
    """Which of many hypotheses to reject so that few rejections are false: the e-BH procedure.

    Of K evidences the k largest are claims, k being the largest for which the k-th is at least K/(k·error).
    The expected share of false ones among the claims is then at most ``error``, whatever depends on what, and
    whenever you stop.

    Parameters
    ----------
    log_e:
        The logarithms of the evidence against each hypothesis.
    error:
        The share of false claims, on average.

    Returns
    -------
    array
        The indices of the claims, strongest first.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.inference.e_bh([5.1, 0.3, 4.2, -1.0])
    array([0, 2])

    References
    ----------
    R. Wang, A. Ramdas: False discovery rate control with e-values. JRSS-B 84 (2022).
    """
    values = _check.vector("log_e", log_e)
    error = _check.number("error", error, above=0.0, below=1.0)
    order = np.argsort(-values, kind="stable")
    ranks = np.arange(1, values.size + 1)
    enough = np.flatnonzero(values[order] >= np.log(values.size / (ranks * error)))
    return order[: enough[-1] + 1] if enough.size else order[:0]
