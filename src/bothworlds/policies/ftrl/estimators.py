"""Loss estimators, the third part of FTRL: from one observed loss to an estimate of all losses.

The unbiased ones have the form  ℓ̂_i = b_i + 1[i = a]·(ℓ_a − b_a)/p_a  for the observed arm a, with
baselines b that are fixed before the draw: E[ℓ̂_i] = b_i + p_i (ℓ_i − b_i)/p_i = ℓ_i, whatever b is.
They differ in b.

A baseline lowers the variance of the arms it predicts well, but where p_i is small it makes steps that a
weak regularizer cannot hold. Hence the cap b_i ≤ κ·p_i·|∂_i φ|, which for the log-barrier is κ·(C + γ_i).
By the KKT conditions |∂_i φ(p)| = L_i − λ, so the cap costs one product.

``ImplicitExploration`` is biased on purpose.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from bothworlds._jit import generic, kernel
from bothworlds._value import Value
from bothworlds.policies.ftrl.state import FTRLState
from bothworlds.settings import Positive, Within
from bothworlds.simplex.steps import MULTIPLIER

__all__ = ["CappedBaseline", "Estimator", "ImplicitExploration", "ImportanceWeighted"]


def __dir__() -> list[str]:
    return __all__


AT_THE_CAP = 1.0 + 1e-12  # what equals its cap up to rounding is within it


@dataclass(frozen=True, init=False)
class Estimator(Value, ABC):
    """Base class of loss estimators."""

    registry: ClassVar[dict[str, type[Any]]] = {}
    allowed: ClassVar[str] = "one of bw.estimators or your own, such as ImportanceWeighted()"

    @abstractmethod
    def parameters(self) -> Any:
        """The ``NamedTuple`` whose type selects the kernel."""


class ImportanceWeightedParameters(NamedTuple):
    """No parameter; the type selects the kernel."""


class ImplicitExplorationParameters(NamedTuple):
    """What the inverse rate is multiplied with."""

    scale: float


class BaselineParameters(NamedTuple):
    """The baseline (NaN: the running mean of the losses), κ, and what happens beyond the cap."""

    baseline: float
    kappa: float
    drop: bool


@dataclass(frozen=True)
class ImportanceWeighted(Estimator, name="importance-weighted"):
    """The paper's estimator: ℓ̂_i = 1[i = a]·ℓ_a/p_a. No baseline.

    Examples
    --------
    >>> import bothworlds as bw
    >>> estimator = bw.estimators.ImportanceWeighted()
    >>> policy = bw.FTRL(bw.Shannon(), rates=bw.rates.RootRate(1.0), estimator=estimator)
    >>> bw.replay(policy, n_arms=2, arms=[0, 1], losses=[1.0, 0.5]).estimates.round(3)
    array([[0.   , 0.   ],
           [2.   , 0.   ],
           [2.   , 0.622]])
    """

    def parameters(self) -> ImportanceWeightedParameters:
        """The (empty) parameter tuple of the kernel."""
        return ImportanceWeightedParameters()


@dataclass(frozen=True)
class CappedBaseline(Estimator, name="capped-baseline"):
    """A baseline for every arm, capped where the regularizer could not hold it.

    b_i = min{b, κ·p_i·abs(∂_i φ)} with b the running mean (½ + Σ losses seen)/(1 + number seen), or a fixed
    number. With ``beyond="drop"`` an arm whose cap is below b gets no baseline at all.

    Parameters
    ----------
    kappa:
        κ > 0; ½ gives the cap ½(C + γ_i) for the log-barrier.
    baseline:
        A number in [0, 1], or None for the running mean.
    beyond:
        ``"cap"`` or ``"drop"``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> estimator = bw.estimators.CappedBaseline()
    >>> policy = bw.FTRL(bw.Shannon(), rates=bw.rates.RootRate(1.0), estimator=estimator)
    >>> bw.replay(policy, n_arms=2, arms=[0, 1], losses=[1.0, 0.5]).estimates.round(3)
    array([[0.   , 0.   ],
           [1.827, 0.173],
           [2.068, 0.783]])
    """

    kappa: Positive = 0.5
    _: KW_ONLY
    baseline: Annotated[float, Within(at_least=0.0, at_most=1.0, fix="or None")] | None = None
    beyond: Literal["cap", "drop"] = "cap"

    def parameters(self) -> BaselineParameters:
        """The parameter tuple of the kernel."""
        fixed = math.nan if self.baseline is None else self.baseline
        return BaselineParameters(fixed, self.kappa, self.beyond == "drop")


@dataclass(frozen=True)
class ImplicitExploration(Estimator, name="implicit-exploration"):
    """The biased estimator of EXP3-IX: ℓ̂_i = 1[i = a]·ℓ_a/(p_a + s/γ_a), γ the learning rate in force.

    Adding to the denominator underestimates losses, rare arms' the most: E[ℓ̂_i] = ℓ_i·p_i/(p_i + s/γ_i).
    That is exploration without mixing, and it bounds ℓ̂ by γ_i/s, which is what bounds with high
    probability need.

    Parameters
    ----------
    scale:
        s > 0; ½ is EXP3-IX's, whose parameter is half its learning rate η = 1/γ.

    Examples
    --------
    >>> import bothworlds as bw
    >>> estimator = bw.estimators.ImplicitExploration()
    >>> policy = bw.FTRL(bw.Shannon(), rates=bw.rates.RootRate(1.0), estimator=estimator)
    >>> bw.replay(policy, n_arms=2, arms=[0, 1], losses=[1.0, 0.5]).estimates.round(3)
    array([[0.   , 0.   ],
           [1.   , 0.   ],
           [1.   , 0.489]])
    """

    scale: Positive = 0.5

    def parameters(self) -> ImplicitExplorationParameters:
        """The parameter tuple of the kernel."""
        return ImplicitExplorationParameters(self.scale)


IMPORTANCE_WEIGHTED = ImportanceWeighted()

REDUCED_VARIANCE = CappedBaseline(kappa=0.25, baseline=0.5, beyond="drop")
"""Zimmert and Seldin's reduced-variance estimator: b = ½ where p_i ≥ η_t², else 0.

With ½-Tsallis entropy, γ_t = √t/2 and η_t = 4/√t, p_i ≥ η_t² is ¼·p_i·abs(∂_i φ) = ¼·γ_t·√p_i ≥ ½.
"""


@generic
def estimate(estimator: Any, state: FTRLState, mean: float, arm: int, loss: float, weight: float) -> float:
    """Add the estimate ℓ̂ to ``state.losses``; return the baseline that the observed arm had.

    ``mean`` is that of all losses seen, before this one.
    """
    raise NotImplementedError("an estimator must register estimate")


@generic
def moves_one(estimator: Any) -> bool:
    """Does only the estimate of the observed arm change?"""
    return True


@moves_one.register(BaselineParameters)
def _(estimator: BaselineParameters) -> bool:
    return False


@estimate.register(ImportanceWeightedParameters)
def _(
    estimator: ImportanceWeightedParameters,
    state: FTRLState,
    mean: float,
    arm: int,
    loss: float,
    weight: float,
) -> float:
    state.losses[arm] += loss / weight
    return 0.0


@estimate.register(ImplicitExplorationParameters)
def _(
    estimator: ImplicitExplorationParameters,
    state: FTRLState,
    mean: float,
    arm: int,
    loss: float,
    weight: float,
) -> float:
    state.losses[arm] += loss / (weight + estimator.scale / state.rates[arm])
    return 0.0


@estimate.register(BaselineParameters)
def _(
    estimator: BaselineParameters, state: FTRLState, mean: float, arm: int, loss: float, weight: float
) -> float:
    losses, p = state.losses, state.p
    multiplier = state.carried[MULTIPLIER]
    baseline = mean if math.isnan(estimator.baseline) else estimator.baseline
    observed = capped(estimator, baseline, estimator.kappa * p[arm] * (losses[arm] - multiplier))
    for i in range(losses.size):
        losses[i] += capped(estimator, baseline, estimator.kappa * p[i] * (losses[i] - multiplier))
    losses[arm] += (loss - observed) / weight
    return observed


@kernel
def capped(estimator: BaselineParameters, baseline: float, cap: float) -> float:
    """The baseline of one arm."""
    if baseline <= cap * AT_THE_CAP:
        return baseline
    return 0.0 if estimator.drop else cap
