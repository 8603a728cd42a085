"""Steps of a policy from round to round; ``choose_step`` knows which kernel serves which problem."""

from __future__ import annotations

from typing import Any

from bothworlds.simplex.regularizers.log_barrier import LogBarrierParameters
from bothworlds.simplex.regularizers.shannon import ShannonParameters
from bothworlds.simplex.regularizers.tsallis import TsallisParameters
from bothworlds.simplex.steps.barrier import ShannonBarrierStep, TsallisBarrierStep
from bothworlds.simplex.steps.base import (
    MULTIPLIER,
    SEVERAL,
    TAKEN_OVER,
    TOTAL,
    GeneralStep,
    advance,
    begin,
    carries,
    cold,
    note_round,
    one_rate,
    shift_multipliers,
)
from bothworlds.simplex.steps.closed import ShannonClosedStep, TsallisClosedStep
from bothworlds.simplex.steps.log_barrier import LogBarrierStep
from bothworlds.simplex.steps.root_tsallis import HalfTsallisStep, TwoThirdsTsallisStep
from bothworlds.simplex.steps.sets import SetStep


def choose_step(regularizer: Any, log_barrier: float, one_rate_for_all: bool, n_arms: int) -> Any:
    """The fastest kernel for a regularizer's parameters, an extra barrier, and rates of this kind."""
    if n_arms == 1:
        return GeneralStep()  # which knows without a search
    if isinstance(regularizer, LogBarrierParameters):
        return LogBarrierStep()
    if log_barrier > 0.0 and isinstance(regularizer, TsallisParameters):
        return TsallisBarrierStep()
    if log_barrier > 0.0 and isinstance(regularizer, ShannonParameters):
        return ShannonBarrierStep()
    simple = log_barrier == 0.0 and one_rate_for_all
    if isinstance(regularizer, TsallisParameters) and simple and regularizer.beta == 0.5:
        return HalfTsallisStep()
    if isinstance(regularizer, TsallisParameters) and simple and regularizer.beta == 2.0 / 3.0:
        return TwoThirdsTsallisStep()
    if isinstance(regularizer, TsallisParameters):
        return TsallisClosedStep()
    if isinstance(regularizer, ShannonParameters):
        return ShannonClosedStep()
    return GeneralStep()


__all__ = [
    "MULTIPLIER",
    "SEVERAL",
    "TAKEN_OVER",
    "TOTAL",
    "GeneralStep",
    "HalfTsallisStep",
    "LogBarrierStep",
    "SetStep",
    "ShannonBarrierStep",
    "ShannonClosedStep",
    "TsallisBarrierStep",
    "TsallisClosedStep",
    "TwoThirdsTsallisStep",
    "advance",
    "begin",
    "carries",
    "choose_step",
    "cold",
    "note_round",
    "one_rate",
    "shift_multipliers",
]
