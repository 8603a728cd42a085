"""The state of evidence: the sums of all decisions, and the drift alarm."""

from __future__ import annotations

import math
from typing import NamedTuple

from bothworlds._jit import FloatArray, IntArray, entry
from bothworlds.inference.alarm import DriftState, init_drift, note_reward, stake_another
from bothworlds.inference.sums import Sums, init_sums, is_full, note_answer, note_decision
from bothworlds.policies.base import carry_over


class EvidenceState(NamedTuple):
    """Arrays that kernels change in place; :mod:`bothworlds.statefile` packs and unpacks them."""

    sums: Sums
    drift: DriftState


def init_evidence(n_arms: int, full: bool, *, drift_error: float = 0.05) -> EvidenceState:
    """Nothing seen yet; ``full`` keeps what needs probabilities, too."""
    return EvidenceState(init_sums(n_arms, full), init_drift(n_arms, drift_error))


def with_another_arm(state: EvidenceState) -> EvidenceState:
    """The same with one arm more, of which nothing is known."""
    grown = init_evidence(state.sums.pulls.size + 1, is_full(state.sums))
    carry_over(state, grown)
    stake_another(grown.drift)
    return grown


@entry
def answered(state: EvidenceState, arm: int, reward: float, probability: float) -> None:
    """The reward, in [0, 1], of an earlier decision, and the probability of its arm at the draw.

    Where probabilities are approximate, give the largest that they may be: that is safe on both sides.
    """
    note_answer(state.sums, arm, reward, probability)
    note_reward(state.drift, arm, reward)


@entry
def answered_many(
    state: EvidenceState, arms: IntArray, rewards: FloatArray, probabilities: FloatArray
) -> None:
    """:func:`answered`, for one after the other."""
    for i in range(arms.size):
        note_answer(state.sums, arms[i], rewards[i], probabilities[i])
        note_reward(state.drift, arms[i], rewards[i])


@entry
def imputed(state: EvidenceState, arm: int, reward: float, probability: float) -> None:
    """:func:`answered`, with what was filled in when the wait was over: its time says nothing of drift."""
    note_answer(state.sums, arm, reward, probability)


@entry
def take_in(state: EvidenceState, arms: IntArray, rewards: FloatArray, probabilities: FloatArray) -> None:
    """Decisions with their answers, in order; NaN for one that was not answered."""
    for i in range(arms.size):
        note_decision(state.sums, arms[i])
        if not math.isnan(rewards[i]):
            note_answer(state.sums, arms[i], rewards[i], probabilities[i])
            note_reward(state.drift, arms[i], rewards[i])
