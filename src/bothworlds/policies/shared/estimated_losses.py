"""Cumulative estimated losses of all arms, as policies for graphs and for linear losses keep them.

Their states have ``losses``, the sums minus the number ``scalars[OFFSET]``; ``latest``, the estimates of the
round, from ``learn`` to ``step``; and ``rates``. Where the smallest sum is large, a whole number is
subtracted from all of them, which is exact below 2^53: differences of small numbers keep their digits.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import inspect
from bothworlds.policies.ftrl.kernel import RECENTER as RECENTER  # noqa: PLC0414 - for those who say when

# the first of the single numbers ``scalars``
TUNING = 0  # what the rate is made of
OFFSET = 1  # what has been subtracted from all losses so far


@kernel
def add_latest_to(losses: FloatArray, latest: FloatArray) -> float:
    """Add the estimates of the round to the sums, and set them to 0; return the smallest sum."""
    smallest = math.inf
    for i in range(losses.size):
        losses[i] += latest[i]
        latest[i] = 0.0
        smallest = min(smallest, losses[i])
    return smallest


@kernel
def recenter_at(losses: FloatArray, smallest: float, scalars: FloatArray) -> float:
    """Subtract the whole part of the smallest sum from all sums; return it."""
    shift = float(math.floor(smallest))
    for i in range(losses.size):
        losses[i] -= shift
    scalars[OFFSET] += shift
    return shift


def shows_its_losses(kind: type) -> None:
    """Register inspect of a policy with such a state."""
    inspect.register(kind)(_inspect)


def _inspect(params: Any, state: Any, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    for i in range(out_rates.size):
        out_rates[i] = state.rates[i]
        out_estimates[i] = state.losses[i] + state.scalars[OFFSET]
