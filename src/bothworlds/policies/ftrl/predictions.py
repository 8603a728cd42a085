"""Optimistic FTRL: the leader also weighs in a prediction m_i of every arm's next loss.

    p^t = argmin <p, Σ_{s<t} ℓ̂^s + m^t> + regularizer,    ℓ̂^t = m^t + (ℓ_a − m_a)/p_a·e_a .

The machine is the plain FTRL one; what it calls losses is Σℓ̂ + m here. From round to round that sum grows
by ℓ̂^t − m^t + m^{t+1}, in which m^t cancels: add m^{t+1} to all arms and (ℓ_a − m_a^t)/p_a to arm a.
Predictions survive restarts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, generic, kernel
from bothworlds._value import Value
from bothworlds.policies.base import (
    act,
    carry_over,
    copy,
    distribution,
    grow,
    init,
    inspect,
    learn,
    learn_absent,
    memo_of,
    retire,
    step,
    weight_of,
)
from bothworlds.policies.ftrl.kernel import FTRLParameters, solve_anew, update_p
from bothworlds.policies.ftrl.state import LEARNED, LOSS_SUM, RESTARTS, FTRLState
from bothworlds.policies.several import act_several, pass_round
from bothworlds.policies.wrapper import passes_on
from bothworlds.settings import Within
from bothworlds.simplex.steps import SEVERAL

__all__ = ["MeanPredictions", "Predictions", "SteadyPredictions"]


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, init=False)
class Predictions(Value, ABC):
    """Base class of predictions m_i of the next loss of every arm.

    All are ½ at first, and move towards each loss that is seen of their arm by a part of the difference.
    """

    registry: ClassVar[dict[str, type[Any]]] = {}
    allowed: ClassVar[str] = "those of bw.predictions or your own, such as MeanPredictions()"

    @abstractmethod
    def parameters(self) -> Any:
        """The ``NamedTuple`` whose type selects the kernel ``part_of_error``."""


@generic(inline=True)
def part_of_error(predictions: Any, count: float) -> float:
    """The part of the error by which a prediction moves at the ``count``-th loss seen of its arm."""
    raise NotImplementedError("predictions must register part_of_error")


class SteadyParameters(NamedTuple):
    """η."""

    eta: float


@dataclass(frozen=True)
class SteadyPredictions(Predictions, name="steady-predictions"):
    """m_i moves towards each loss seen of arm i by η times the difference.

    Parameters
    ----------
    eta:
        η in [0, ½]; with 0 the predictions stay ½.

    Examples
    --------
    >>> import bothworlds as bw
    >>> steady = bw.predictions.SteadyPredictions(0.25)
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.DeviationRates(), predictions=steady)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0], losses=[1.0]).p.round(3)
    array([[0.5  , 0.5  ],
           [0.431, 0.569]])
    """

    eta: Annotated[float, Within(at_least=0.0, at_most=0.5)] = 0.25

    def parameters(self) -> SteadyParameters:
        """η."""
        return SteadyParameters(self.eta)


@part_of_error.register(SteadyParameters, inline=True)
def _(predictions: SteadyParameters, count: float) -> float:
    return predictions.eta


class MeanParameters(NamedTuple):
    """No parameter; the type selects the kernel."""


@dataclass(frozen=True)
class MeanPredictions(Predictions, name="mean-predictions"):
    """m_i = (½ + Σ losses seen of i)/(1 + number seen of i): least squares.

    Examples
    --------
    >>> import bothworlds as bw
    >>> mean = bw.predictions.MeanPredictions()
    >>> policy = bw.FTRL(bw.LogBarrier(), rates=bw.rates.DeviationRates(), predictions=mean)
    >>> bw.replay(policy, n_arms=2, horizon=100, arms=[0], losses=[1.0]).p.round(3)
    array([[0.5  , 0.5  ],
           [0.424, 0.576]])
    """

    def parameters(self) -> MeanParameters:
        """No number."""
        return MeanParameters()


@part_of_error.register(MeanParameters, inline=True)
def _(predictions: MeanParameters, count: float) -> float:
    return 1.0 / (1.0 + count)


class OptimisticParameters(NamedTuple):
    """The FTRL inside, with plain importance weighting, and the predictions."""

    ftrl: FTRLParameters
    predictions: Any


class OptimisticState(NamedTuple):
    """The FTRL state, m, and how often each arm has been seen."""

    ftrl: FTRLState
    predictions: FloatArray
    counts: FloatArray


@init.register(OptimisticParameters)
def _(params: OptimisticParameters) -> OptimisticState:
    n = params.ftrl.n_arms
    state = OptimisticState(init(params.ftrl), np.full(n, 0.5), np.zeros(n))
    begin_with_predictions(params, state)
    return state


@kernel
def begin_with_predictions(params: OptimisticParameters, state: OptimisticState) -> int:
    """The first round after a (re)start, when Σℓ̂ = 0."""
    copy(state.predictions, state.ftrl.losses)
    return update_p(params.ftrl, state.ftrl, SEVERAL, 0.0, 0.0)


passes_on(OptimisticParameters, act, act_several, weight_of, memo_of, retire, distribution)
passes_on(OptimisticParameters, learn_absent)  # of Σℓ̂ + m: the predictions of the absent stay


@learn.register(OptimisticParameters, inline=True)
def _(
    params: OptimisticParameters, state: OptimisticState, arm: int, loss: float, weight: float, memo: float
) -> None:
    ftrl = state.ftrl
    error = loss - state.predictions[arm]
    state.counts[arm] += 1.0
    part = part_of_error(params.predictions, state.counts[arm])
    state.predictions[arm] += part * error
    if memo != ftrl.scalars[RESTARTS]:  # drawn before the last restart: only the prediction survives restarts
        ftrl.losses[arm] += part * error
        return
    if ftrl.scalars[LEARNED] == 0.0:  # the first of its round
        for i in range(ftrl.losses.size):
            ftrl.losses[i] += state.predictions[i]
    else:
        ftrl.losses[arm] += part * error
    learn(params.ftrl, ftrl, arm, error, weight, memo)
    ftrl.scalars[LOSS_SUM] += loss - error


@step.register(OptimisticParameters, inline=True)
def _(params: OptimisticParameters, state: OptimisticState) -> int:
    ftrl = state.ftrl
    if ftrl.scalars[LEARNED] == 0.0:
        return update_p(params.ftrl, ftrl, SEVERAL, 0.0, 0.0)  # an outdated loss has moved its prediction
    restarts = ftrl.scalars[RESTARTS]
    status = step(params.ftrl, ftrl)
    if ftrl.scalars[RESTARTS] != restarts:
        return begin_with_predictions(params, state)
    return status


@pass_round.register(OptimisticParameters)
def _(params: OptimisticParameters, state: OptimisticState) -> int:
    for i in range(state.predictions.size):
        state.ftrl.losses[i] += state.predictions[i]
    return pass_round(params.ftrl, state.ftrl)


@grow.register(OptimisticParameters)
def _(params: OptimisticParameters, state: OptimisticState) -> OptimisticState:
    fresh = init(params)
    carry_over(state.predictions, fresh.predictions)
    carry_over(state.counts, fresh.counts)
    ftrl = grow(params.ftrl, state.ftrl)
    ftrl.losses[-1] += fresh.predictions[-1]
    solve_anew(params.ftrl, ftrl)
    return OptimisticState(ftrl, fresh.predictions, fresh.counts)


@inspect.register(OptimisticParameters)
def _(
    params: OptimisticParameters, state: OptimisticState, out_rates: FloatArray, out_estimates: FloatArray
) -> None:
    inspect(params.ftrl, state.ftrl, out_rates, out_estimates)
    out_estimates -= state.predictions
