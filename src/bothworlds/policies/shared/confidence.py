"""What policies share that need the horizon T and the probability δ with which their promise may fail."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from bothworlds.errors import InvalidArgumentError
from bothworlds.settings import Within

Delta: TypeAlias = Annotated[float, Within(above=0.0, at_most=1.0, fix="or None for the default")]


def delta_or(policy: Any, horizon: int) -> float:
    """``delta``, or 1/T, with which a failure costs no more than one round in expectation."""
    return 1.0 / horizon if policy.delta is None else float(policy.delta)


def require_horizon(policy: Any, horizon: int | None, instead: str) -> int:
    """The horizon, or an error that names a policy which needs none."""
    if horizon is None:
        raise InvalidArgumentError(
            "horizon",
            None,
            f"given for {type(policy).__name__}, which is tuned to it",
            fix=f"give horizon=T, or use {instead}, which needs none",
        )
    return horizon
