"""``bw.inference.evidence`` and ``bw.inference.drift``: the arms of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bothworlds.inference.alarm import Alarm, alarm_of
from bothworlds.inference.intervals import World
from bothworlds.inference.log import ACTION, PROPENSITY, REWARD, LogReader
from bothworlds.inference.state import EvidenceState, init_evidence, take_in, with_another_arm
from bothworlds.inference.statements import Evidence


def _state_of(reader: LogReader, drift_error: float = 0.05) -> EvidenceState:
    """The sums of all decisions of a log, and its drift alarm."""
    full = PROPENSITY in reader.wanted
    state: EvidenceState | None = None
    for batch in reader:
        n_arms = len(reader.labels)
        state = state or init_evidence(n_arms, full, drift_error=drift_error)
        while state.sums.pulls.size < n_arms:
            state = with_another_arm(state)
        propensities = batch.propensities if full else np.ones(batch.actions.size)
        take_in(state, batch.actions, batch.rewards, propensities)
    assert state is not None
    return state


def evidence(
    log: Any,
    *,
    error: float = 0.05,
    world: World | None = None,
    low: float = 0.0,
    high: float = 1.0,
    arms: Sequence[Any] | None = None,
    missing: str | None = None,
    joint: bool = False,
) -> Evidence:
    """What the decisions of a log say about its arms.

    Parameters
    ----------
    log, error, low, high, arms, missing:
        As in :func:`evaluate`; without a column ``propensity`` there are no statements for any world.
    world, joint:
        As in :class:`Evidence`.

    Examples
    --------
    >>> import bothworlds as bw
    >>> log = {"action": ["green", "red"] * 500, "reward": [1, 0, 1, 1] * 250}
    >>> bw.inference.evidence(log).ruled_out
    ('red',)
    """
    reader = LogReader(
        log,
        needs=(ACTION, REWARD),
        may_have=(PROPENSITY,),
        low=low,
        high=high,
        arms=arms,
        missing=missing,
    )
    state = _state_of(reader)
    return Evidence(state, tuple(reader.labels), error=error, world=world, low=low, high=high, joint=joint)


def drift(
    log: Any,
    *,
    error: float = 0.05,
    low: float = 0.0,
    high: float = 1.0,
    arms: Sequence[Any] | None = None,
) -> Alarm:
    """Have the rewards of an arm moved? True if the alarm is raised.

    Rows without reward are left out. Rows must be in the order of the decisions.

    Parameters
    ----------
    log, low, high, arms:
        As in :func:`evaluate`; no propensities are needed.
    error:
        The probability of a false alarm, ever.

    Examples
    --------
    >>> import bothworlds as bw
    >>> log = {"action": [0] * 400, "reward": [1, 0] * 100 + [1, 0, 0, 0, 0] * 40}
    >>> print(bw.inference.drift(log))
    the rewards of 0 have drifted: alarm at answer 320
    """
    reader = LogReader(log, needs=(ACTION, REWARD), low=low, high=high, arms=arms, missing="ignorable")
    return alarm_of(_state_of(reader, error).drift, reader.labels)
