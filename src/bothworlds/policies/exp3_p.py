"""EXP3.P: exponential weights whose regret is small with high probability, against any adversary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, draws_from_its_p, init, inspect, learn, step
from bothworlds.policies.shared.confidence import Delta, delta_or, require_horizon
from bothworlds.simplex.kernel import CONVERGED


class EXP3PParameters(NamedTuple):
    """η, γ, b and the number of arms."""

    eta: float
    gamma: float
    bonus: float
    n_arms: int


class EXP3PState(NamedTuple):
    """Cumulative estimated gains, and the distribution of the round to come."""

    gains: FloatArray
    p: FloatArray
    scalars: FloatArray


ROUND = 1  # number of losses seen; at 0 there is nothing, which states of version 0.1 have too
N_SCALARS = 2


@dataclass(frozen=True, repr=False)
class EXP3P(Policy, name="exp3-p"):
    """EXP3.P of Auer et al., with the constants of Bubeck and Cesa-Bianchi. Needs the horizon T.

    With gains g = 1 − ℓ, in each round

        p = (1 − γ)·softmax(η·G) + γ/K,   G_i += (g_i·1[i is drawn] + b)/p_i  for every arm,

        b = √(log(K/δ)/(T·K)),   η = 0.95·√(log K/(T·K)),   γ = 1.05·√(K·log K/T).

    The bonus b/p_i makes G an upper bound on the true cumulative gains with probability 1 − δ. Then the
    regret is at most 5.15·√(T·K·log(K/δ)). Checked by its derivation: if γ ≤ ½ and (1 + b)·K·η ≤ γ, the
    regret is at most b·T·K + γ·T + (1 + b)·η·K·T + log(K/δ)/b + log(K)/η, and with these constants the five
    terms are at most 1, 1.05, 1.05, 1 and 1/0.95 times √(T·K·log(K/δ)). (Where a condition fails, T is so
    small that the bound exceeds T.) γ is cut at 1.

    Parameters
    ----------
    delta:
        δ in (0, 1], the probability with which the bound may fail; None is 1/T.

    Notes
    -----
    A late loss is divided by the probability it was drawn with; the bonus by the one in force.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.EXP3P(), n_arms=2, horizon=1000, arms=[0], losses=[0.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.5085, 0.4915]])

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire: The Nonstochastic Multiarmed Bandit Problem. 2002.
    S. Bubeck, N. Cesa-Bianchi: Regret Analysis of Stochastic and Nonstochastic Multi-armed Bandit Problems.
    2012. Theorem 3.2.
    """

    fixed_arms: ClassVar[str | None] = "its bonus assumes that every arm can be drawn in every round"

    delta: Delta | None = None

    def parameters(self, n_arms: int, horizon: int | None) -> EXP3PParameters:
        """η, γ and b for this horizon."""
        horizon = require_horizon(self, horizon, "TsallisINF()")
        delta = delta_or(self, horizon)
        log_arms = math.log(max(2, n_arms))  # one arm is played anyway; this only keeps η above 0
        return EXP3PParameters(
            0.95 * math.sqrt(log_arms / (horizon * n_arms)),
            min(1.0, 1.05 * math.sqrt(n_arms * log_arms / horizon)),
            math.sqrt(math.log(n_arms / delta) / (horizon * n_arms)),
            n_arms,
        )


draws_from_its_p(EXP3PParameters)


@init.register(EXP3PParameters)
def _(params: EXP3PParameters) -> EXP3PState:
    n = params.n_arms
    return EXP3PState(np.zeros(n), np.full(n, 1.0 / n), np.zeros(N_SCALARS))


@kernel
def softmax(values: FloatArray, scale: float, out: FloatArray) -> None:
    """``out`` ∝ exp(scale·values), of sum one; what underflows is 0."""
    largest = values[0]
    for i in range(1, values.size):
        largest = max(largest, values[i])
    total = 0.0
    for i in range(values.size):
        out[i] = math.exp(scale * (values[i] - largest))
        total += out[i]
    for i in range(values.size):
        out[i] /= total


@learn.register(EXP3PParameters)
def _(params: EXP3PParameters, state: EXP3PState, arm: int, loss: float, weight: float, memo: float) -> None:
    for i in range(params.n_arms):
        state.gains[i] += params.bonus / state.p[i]
    state.gains[arm] += (1.0 - loss) / weight
    state.scalars[ROUND] += 1.0


@step.register(EXP3PParameters)
def _(params: EXP3PParameters, state: EXP3PState) -> int:
    n = params.n_arms
    softmax(state.gains, params.eta, state.p)
    for i in range(n):
        state.p[i] = (1.0 - params.gamma) * state.p[i] + params.gamma / n
    return CONVERGED


@inspect.register(EXP3PParameters)
def _(params: EXP3PParameters, state: EXP3PState, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    out_rates[:] = 1.0 / params.eta  # p ∝ exp(−L/γ) elsewhere: γ is 1/η
    out_estimates[:] = state.scalars[ROUND] - state.gains  # losses are 1 − gains
