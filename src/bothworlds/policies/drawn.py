"""What policies share whose state holds the distribution ``p`` of the round to come.

Their state has ``p``, and ``scalars`` with the number of restarts so far at ``EPOCH``.
"""

from __future__ import annotations

from typing import Any

from bothworlds._jit import FloatArray
from bothworlds.policies.base import act, copy, distribution, draw, observation_weight

EPOCH = 0  # number of restarts so far


def _act_weighted(params: Any, state: Any, uniforms: FloatArray) -> tuple[int, int, float, float, int]:
    arm = draw(state.p, uniforms[0])
    p = state.p[arm]
    return arm, arm, p, p, int(state.scalars[EPOCH])


def _act_plain(params: Any, state: Any, uniforms: FloatArray) -> tuple[int, int, float, float, int]:
    arm = draw(state.p, uniforms[0])
    return arm, arm, state.p[arm], 1.0, int(state.scalars[EPOCH])


def _weight(params: Any, state: Any, arm: int) -> tuple[float, int]:
    return state.p[arm], int(state.scalars[EPOCH])


def _no_weight(params: Any, state: Any, arm: int) -> tuple[float, int]:
    return 1.0, int(state.scalars[EPOCH])


def read_p(params: Any, state: Any, out: FloatArray) -> None:
    """Copy ``p``."""
    copy(state.p, out)


def register_drawn(kind: type, *, weighted: bool) -> None:
    """Draw from ``state.p``. ``weighted``: ``update`` divides by the probability, so it wants it back.

    A policy that does not divide gets the weight 1, and may be replayed on any history.
    """
    act.register(kind)(_act_weighted if weighted else _act_plain)
    observation_weight.register(kind)(_weight if weighted else _no_weight)
    distribution.register(kind)(read_p)
