"""The state of the FTRL machine, which its parts (estimators, rates, predictions) read and write."""

from __future__ import annotations

from typing import NamedTuple

from bothworlds._jit import FloatArray


class FTRLState(NamedTuple):
    """All that an FTRL policy knows. Between rounds ``p`` is the solution for ``losses`` and ``rates``."""

    losses: FloatArray
    """Cumulative estimated losses minus the whole number ``scalars[OFFSET]``."""
    sums: FloatArray
    """What the rates sum up over the rounds, one number per arm; zero after a restart."""
    rates: FloatArray
    """γ_i of the round to come; only the first, if all are the same and the step reads no other."""
    p: FloatArray
    """Distribution of the round to come."""
    scalars: FloatArray
    """The single numbers below."""
    carried: FloatArray
    """What the step's kernel carries from round to round, λ and Σp first: see simplex/steps."""


ROUND = 0  # t, the round to come, counted from the last restart
OFFSET = 1  # what has been subtracted from all losses so far
HORIZON = 2  # T, or T_k since the last restart
RESTARTS = 3  # number of restarts so far
LOSS_SUM = 4  # losses seen, restarts survived
LOSS_COUNT = 5
# from ``learn`` to ``step``, zero between rounds
LEARNED = 6  # number of observations
MOVED = 7  # the one arm whose loss has changed
BEFORE = 8  # its loss before that
DRIFT = 9  # by how much most losses have grown
ERRORS = 10  # sum of the squared prediction errors, where the rates want it
BEGUN = 11  # LOSS_SUM at the last restart: the learner's own loss since then is what has come on top
N_SCALARS = 12
