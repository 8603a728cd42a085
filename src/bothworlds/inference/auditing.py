"""Were actions drawn with the probabilities that a log gives them?

If all probabilities of every decision are there: the ratio θ_a = (N_a + 10)/(Σ p(a) + 10) of how often an arm
was drawn and should have been, so far, is a bet on the next draw, at odds that are fair if it comes from p.
If only those of the arms played are there: 1{a played}/p(a) has mean 1 (or less), which is a bet for every
arm.

Nothing else that is concluded from a log holds if it fails this.

Reference: M. Lindon, A. Malek: Anytime-valid inference for multinomial count data. NeurIPS 2022.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bothworlds._jit import FloatArray, IntArray, entry
from bothworlds.inference.engine import FACTORS, N_BETS, e_values, logs_of, multiply, normalize
from bothworlds.inference.log import ACTION, PROPENSITY, LogBatch, LogReader

PRIOR = 10.0
THRESHOLD = math.log(1000.0)


@dataclass(frozen=True)
class Audit:
    """What the audit of a log says; true if its actions were not drawn with its propensities.

    Attributes
    ----------
    log_e:
        The logarithm of the evidence against the propensities: the largest so far.
    threshold:
        The audit fails at this, log 1000: for honest propensities in one log of a thousand.
    decisions:
        How many were looked at.
    arm:
        The arm that was drawn too often most clearly.
    distributions:
        Were the probabilities of all arms there, in every decision? The audit is sharper then.
    """

    log_e: float
    threshold: float
    decisions: int
    arm: Any
    distributions: bool

    def __bool__(self) -> bool:
        return self.log_e >= self.threshold

    def __str__(self) -> str:
        if self:
            return (
                f"the audit FAILS (log e {self.log_e:.1f}): {self.arm} was played more often than its "
                "propensities allow; nothing that is concluded from this log holds"
            )
        return f"actions agree with propensities (log e {self.log_e:.1f}, fails at {self.threshold:.1f})"


@entry
def _audit_distributions(
    actions: IntArray, table: FloatArray, drawn: FloatArray, expected: FloatArray, scalars: FloatArray
) -> None:
    n_arms = table.shape[1]
    for i in range(actions.size):
        mean, total = 0.0, 0.0
        for a in range(n_arms):
            mean += table[i, a] * (drawn[a] + PRIOR) / (expected[a] + PRIOR)
            total += table[i, a]
        arm = actions[i]
        theta = (drawn[arm] + PRIOR) / (expected[arm] + PRIOR)
        scalars[0] += math.log(theta) - math.log(mean / total)
        scalars[1] = max(scalars[1], scalars[0])
        drawn[arm] += 1.0
        for a in range(n_arms):
            expected[a] += table[i, a]


@entry
def _audit_propensities(
    actions: IntArray, propensities: FloatArray, growth: FloatArray, octaves: FloatArray, counts: FloatArray
) -> None:
    for i in range(actions.size):
        arm = actions[i]
        multiply(growth, arm * N_BETS, 1.0 / propensities[i])
        counts[arm] += 1.0
        if counts[arm] % FACTORS == 0.0:
            normalize(growth, octaves, arm * N_BETS, (arm + 1) * N_BETS)


def room_for(values: FloatArray, size: int) -> FloatArray:
    """The same numbers, and zeros up to this size."""
    return values if values.size >= size else np.append(values, np.zeros(size - values.size))


class Auditor:
    """Sums over the decisions that were read so far, and what they say."""

    def __init__(self) -> None:
        self.decisions = 0
        self.distributions = False
        self._drawn, self._expected = np.zeros(0), np.zeros(0)
        self._growth, self._octaves = np.zeros(0), np.zeros(0)
        self._scalars = np.array([0.0, 0.0])
        self._arm = 0

    def take_in(self, batch: LogBatch) -> None:
        """Add some decisions to the sums."""
        self.decisions += batch.actions.size
        n_arms = max(batch.distributions.shape[1], int(batch.actions.max(initial=-1)) + 1)
        self._drawn = room_for(self._drawn, n_arms)
        if len(batch.distributions):
            self.distributions = True
            self._expected = room_for(self._expected, n_arms)
            _audit_distributions(
                batch.actions, batch.distributions, self._drawn, self._expected, self._scalars
            )
            ratio = (self._drawn + PRIOR) / (self._expected + PRIOR)
            self._arm = int(ratio.argmax())
            return
        self._growth, self._octaves = (
            room_for(self._growth, n_arms * N_BETS),
            room_for(self._octaves, n_arms * N_BETS),
        )
        _audit_propensities(batch.actions, batch.propensities, self._growth, self._octaves, self._drawn)
        values = e_values(logs_of(self._growth, self._octaves), self.decisions, 1.0)
        self._arm = int(values.argmax())
        top = float(values.max())
        now = top + math.log(float(np.mean(np.exp(values - top))))
        self._scalars[1] = max(self._scalars[1], now)

    def result(self, labels: Sequence[Any]) -> Audit:
        """The audit of all decisions so far."""
        arm = labels[self._arm] if labels else None
        return Audit(float(self._scalars[1]), THRESHOLD, self.decisions, arm, self.distributions)


def audit(log: Any, *, arms: Sequence[Any] | None = None) -> Audit:
    """Were the actions of a log drawn with the probabilities that it gives them?

    Parameters
    ----------
    log:
        A table of decisions with the columns ``action`` and ``propensity``, better with ``propensity_<arm>``
        for every arm; see :func:`evaluate`.
    arms:
        The labels of all arms; None: those that are found.

    Examples
    --------
    >>> import bothworlds as bw
    >>> honest = {"action": [0, 1] * 300, "propensity": [0.5] * 600}
    >>> print(bw.inference.audit(honest))
    actions agree with propensities (log e 0.0, fails at 6.9)
    >>> bool(bw.inference.audit({"action": [0, 0, 0, 1] * 100, "propensity": [0.5] * 400}))
    True
    """
    source, auditor = LogReader(log, needs=(ACTION, PROPENSITY), arms=arms), Auditor()
    for batch in source:
        auditor.take_in(batch)
    return auditor.result(source.labels)
