"""What could be concluded from a replication while it is played: evidence at its checkpoints."""

from __future__ import annotations

from typing import Any

import numpy as np

from bothworlds._jit import FloatArray, IntArray
from bothworlds.environments import Environment
from bothworlds.inference import state as evidence_state
from bothworlds.inference.checkpoints import CheckpointEvidence, Truth, evidence_at_checkpoint
from bothworlds.inference.sums import N_COUNTS, PULLS
from bothworlds.policies.base import Policy
from bothworlds.simulation.engine import RoundRecord, no_record

N_LOOKED = len(CheckpointEvidence._fields)


class EvidenceRecorder:
    """Keeps what ``Bandit(evidence=…)`` would keep, and looks at it at the checkpoints.

    Probabilities are kept of policies that draw from some, and of no others: ``"full"``, or ``"arms"``.
    Answers count when they arrive.
    """

    def __init__(self, policy: Policy, environment: Environment, marks: IntArray) -> None:
        self.environment, self.marks = environment, marks
        self.state = evidence_state.init_evidence(environment.n_arms, policy.explicit)
        self.looks: FloatArray = np.full((marks.size, N_LOOKED), np.nan)
        self._waiting: tuple[Any, ...] = no_record(environment.n_arms)[3:]  # without what is for traces

    def follow(self, record: RoundRecord, world: Any, t: int) -> None:
        """Take in the rounds of a record, of which t is the last, and look if that is a checkpoint."""
        n_arms = self.environment.n_arms
        self.state.sums.counts[PULLS::N_COUNTS] += np.bincount(record.arms, minlength=n_arms)
        columns = [np.concatenate(pair) for pair in zip(self._waiting, record[3:], strict=True)]
        due = columns[-1]
        self._waiting = tuple(column[due > t] for column in columns)
        there = np.argsort(due, kind="stable")[: np.count_nonzero(due <= t)]  # in the order of arrival
        arms, _, losses, weights, _ = (column[there] for column in columns)
        evidence_state.answered_many(self.state, arms, 1.0 - losses, weights)
        mark = np.searchsorted(self.marks, t)
        if mark < self.marks.size and self.marks[mark] == t:
            self.looks[mark] = evidence_at_checkpoint(self.state, self._truth(world, t))

    def _truth(self, world: Any, t: int) -> Truth:
        losses = self.environment.mean_losses_so_far(world, t)
        best = self.environment.optimal_arms
        if best is None and losses is not None:
            best = tuple(np.flatnonzero(losses == losses.min()).tolist())
        return Truth(best, None if losses is None else 1.0 - losses, self.environment.stationary)
