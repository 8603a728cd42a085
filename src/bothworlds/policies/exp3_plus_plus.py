"""EXP3++: exponential weights with exploration guided by estimated gaps."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, draws_from_its_p, init, inspect, learn, step
from bothworlds.policies.ftrl.aliases import exponential_weights
from bothworlds.policies.ftrl.ftrl import FTRL
from bothworlds.policies.ftrl.kernel import FTRLParameters
from bothworlds.policies.ftrl.rates import RootRate
from bothworlds.policies.ftrl.state import ROUND, FTRLState
from bothworlds.settings import Positive
from bothworlds.simplex.regularizers import Shannon


class EXP3PlusPlusParameters(NamedTuple):
    """The exponential weights inside, and the constants of the confidence bounds and of the exploration."""

    ftrl: FTRLParameters
    alpha: float
    beta: float


class EXP3PlusPlusState(NamedTuple):
    """The exponential weights' state, ρ̃ of the round to come, number and sum of each arm's losses."""

    ftrl: FTRLState
    p: FloatArray
    counts: FloatArray
    sums: FloatArray


@dataclass(frozen=True, repr=False)
class EXP3PlusPlus(Policy, name="exp3-plus-plus"):
    """EXP3++ in the parametrization of Seldin and Lugosi (2017).

    After each arm once, arm a is drawn with probability ρ̃(a) = (1 − Σε)·ρ(a) + ε(a), where

    * ρ(a) ∝ exp(−η_t·L(a)) with η_t = ½·√(log K/(tK)) and losses importance-weighted by ρ̃;
    * ε(a) = min{1/(2K), ½·√(log K/(tK)), β·log t/(t·Δ̂(a)²)};
    * Δ̂(a) = max{0, LCB(a) − min UCB}, with bounds  mean loss ± √(α·log(t·K^{1/α})/(2N(a)))  clipped
      to [0, 1] (Δ̂ = 0: the third term is infinite).

    The losses of the first K rounds enter L too; their arms are certain, so they are weighted by 1.
    Regret ≤ 4·√(KT log K) against any adversary, O(Σ log²T/Δ_a) in stochastic worlds. The constants are
    the theory's: at practical horizons exploration costs more than the gaps save.

    Parameters
    ----------
    alpha, beta:
        α > 0 and β > 0; 3 and 256 are those of the theorem.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.EXP3PlusPlus(), n_arms=2, arms=[0, 1, 0], losses=[1.0, 0.0, 1.0]).p.round(4)
    array([[1.    , 0.    ],
           [0.    , 1.    ],
           [0.472 , 0.528 ],
           [0.4204, 0.5796]])

    References
    ----------
    Y. Seldin, G. Lugosi: An Improved Parametrization and Analysis of the EXP3++ Algorithm for Stochastic and
    Adversarial Bandits. COLT 2017.
    """

    fixed_arms: ClassVar[str | None] = "it plays each arm once first, and waits for one that is asleep"

    alpha: Positive = 3.0
    _: KW_ONLY
    beta: Positive = 256.0

    def parameters(self, n_arms: int, horizon: int | None) -> EXP3PlusPlusParameters:
        """EXP3 at half its rate, α and β; the horizon plays no part."""
        halved = RootRate(exponential_weights(n_arms).theta / 0.5)
        ftrl = FTRL(Shannon(), rates=halved).parameters(n_arms, None)
        return EXP3PlusPlusParameters(ftrl, self.alpha, self.beta)


@init.register(EXP3PlusPlusParameters)
def _(params: EXP3PlusPlusParameters) -> EXP3PlusPlusState:
    n = params.ftrl.n_arms
    state = EXP3PlusPlusState(init(params.ftrl), np.zeros(n), np.zeros(n), np.zeros(n))
    set_p(params, state)
    return state


@kernel
def set_p(params: EXP3PlusPlusParameters, state: EXP3PlusPlusState) -> None:
    """Fill ``p``: the first arm not seen yet, else ρ̃."""
    n = params.ftrl.n_arms
    for i in range(n):
        if state.counts[i] == 0.0:
            state.p[:] = 0.0
            state.p[i] = 1.0
            return
    t = state.ftrl.scalars[ROUND]
    log_k = math.log(n)
    width = 0.5 * (params.alpha * math.log(t) + log_k)  # ½α·log(t·K^{1/α})
    # Clipping the bounds to [0, 1] would change no positive difference, and make none positive: no clip.
    smallest = math.inf  # min UCB
    for i in range(n):
        smallest = min(smallest, (state.sums[i] + math.sqrt(width * state.counts[i])) / state.counts[i])
    cap = min(0.5 / n, 0.5 * math.sqrt(log_k / (t * n)))
    total = 0.0
    for i in range(n):
        gap = (state.sums[i] - math.sqrt(width * state.counts[i])) / state.counts[i] - smallest
        explore = cap
        if gap > 0.0:
            explore = min(cap, params.beta * math.log(t) / (t * gap * gap))
        state.p[i] = explore
        total += explore
    for i in range(n):
        state.p[i] += (1.0 - total) * state.ftrl.p[i]


draws_from_its_p(EXP3PlusPlusParameters)


@learn.register(EXP3PlusPlusParameters, inline=True)
def _(
    params: EXP3PlusPlusParameters,
    state: EXP3PlusPlusState,
    arm: int,
    loss: float,
    weight: float,
    memo: float,
) -> None:
    state.counts[arm] += 1.0
    state.sums[arm] += loss
    learn(params.ftrl, state.ftrl, arm, loss, weight, memo)


@step.register(EXP3PlusPlusParameters, inline=True)
def _(params: EXP3PlusPlusParameters, state: EXP3PlusPlusState) -> int:
    status = step(params.ftrl, state.ftrl)
    set_p(params, state)
    return status


@inspect.register(EXP3PlusPlusParameters)
def _(
    params: EXP3PlusPlusParameters,
    state: EXP3PlusPlusState,
    out_rates: FloatArray,
    out_estimates: FloatArray,
) -> None:
    inspect(params.ftrl, state.ftrl, out_rates, out_estimates)
