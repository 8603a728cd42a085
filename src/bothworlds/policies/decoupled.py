"""Decoupled exploration and exploitation: play one arm, observe another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, generic
from bothworlds.policies.base import (
    Policy,
    act,
    distribution,
    find,
    init,
    inspect,
    learn,
    memo_of,
    observe,
    probability_of,
    step,
    sum_of,
    weight_of,
)
from bothworlds.policies.ftrl.aliases import exponential_weights
from bothworlds.policies.ftrl.ftrl import FTRL
from bothworlds.policies.ftrl.kernel import FTRLParameters
from bothworlds.policies.ftrl.many.state import MANY_ARMS
from bothworlds.policies.ftrl.many.tsallis import ManyArmsParameters
from bothworlds.policies.ftrl.rates import RootRate
from bothworlds.policies.ftrl.state import FTRLState
from bothworlds.policies.wrapper import passes_on
from bothworlds.problem import PLAIN, Problem
from bothworlds.simplex.regularizers import Shannon, Tsallis
from bothworlds.simplex.steps import MULTIPLIER, TwoThirdsTsallisStep

BETA = 2.0 / 3.0
UNSEEN = "it does not see the loss of the arm it plays, which absent arms are to get"


class DecoupledParameters(NamedTuple):
    """An FTRL policy for exploitation, and the power in g ∝ p^power."""

    ftrl: FTRLParameters
    power: float


class DecoupledState(NamedTuple):
    """The FTRL state, and room for p^power."""

    ftrl: FTRLState
    explore: FloatArray


@dataclass(frozen=True, repr=False)
class DecoupledTsallisINF(Policy, name="decoupled-tsallis-inf"):
    """Decoupled-Tsallis-INF of Rouyer and Seldin, as analyzed in Section 3 of Jin, Liu and Luo (2023).

    For problems in which each round plays one arm and shows the loss of another. ``pull.arm`` is drawn
    from the ⅔-Tsallis FTRL distribution p and is played; ``pull.observe`` is drawn from g with
    g_i ∝ p_i^{2/3}, and its loss is what ``update`` wants. In stochastic worlds the regret does
    not grow with T.

    γ_t = θ·√t with θ = K^{1/6} (``scale="paper"``) or θ = ¾·K^{1/6} (``scale="original"``, Rouyer and
    Seldin's own normalization, which the paper calls the same algorithm; it has the lower regret).

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.DecoupledTsallisINF(), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.2009, 0.7991]])

    References
    ----------
    C. Rouyer, Y. Seldin: Tsallis-INF for Decoupled Exploration and Exploitation in Multi-armed Bandits.
    COLT 2020.
    """

    draws: ClassVar[int] = 2
    decoupled: ClassVar[bool] = True
    fixed_arms: ClassVar[str | None] = UNSEEN
    accountable: ClassVar[bool] = True

    scale: Literal["paper", "original"] = "paper"

    def parameters(self, n_arms: int, horizon: int | None) -> DecoupledParameters:
        """The FTRL inside, and the exploration power 1 − β/2 = ⅔."""
        theta = (1.0 if self.scale == "paper" else 0.75) * n_arms ** (1.0 / 6.0)
        ftrl = FTRL(Tsallis(BETA), rates=RootRate(theta)).parameters(n_arms, horizon)
        return DecoupledParameters(ftrl, 1.0 - BETA / 2.0)

    def resolve(self, n_arms: int, horizon: int | None, problem: Problem = PLAIN) -> Any:
        """The parameters, or for many arms those of a machine with the same distributions."""
        params = super().resolve(n_arms, horizon, problem)
        if n_arms < MANY_ARMS:
            return params
        theta = params.ftrl.rate.theta  # p ∝ (L − x)^−3, so that p^⅔ ∝ (L − x)^−2
        return ManyArmsParameters(power=3, explore=2, theta=theta, growing=True, n_arms=n_arms)


@dataclass(frozen=True, repr=False)
class Avner(Policy, name="avner"):
    """Decoupled exponential weights: play from p ∝ exp(−η_t·L), observe from q with q_i ∝ √p_i.

    For problems in which each round plays one arm and shows the loss of another: ``pull.arm`` is to be
    played, ``pull.observe`` is the arm whose loss ``update`` wants. η_t = √(log K/(tK)) and
    ℓ̂_i = 1[observed i]·ℓ_i/q_i. Regret O(√(TK log K)) against any adversary.

    This is the form for losses; the original is for gains. That q is the right one can be seen from the
    stability term Σ_i p_i·E[ℓ̂_i²] ≤ Σ_i p_i/q_i, which over distributions q is least at q ∝ √p, where it is
    (Σ_i √p_i)² ≤ K. So the bound, and the best rate, are those of EXP3, and smaller when p is concentrated.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.Avner(), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.3031, 0.6969]])

    References
    ----------
    O. Avner, S. Mannor, O. Shamir: Decoupling Exploration and Exploitation in Multi-Armed Bandits. ICML 2012.
    C. Rouyer, Y. Seldin: Tsallis-INF for Decoupled Exploration and Exploitation in Multi-armed Bandits.
    COLT 2020.
    """

    draws: ClassVar[int] = 2
    decoupled: ClassVar[bool] = True
    fixed_arms: ClassVar[str | None] = UNSEEN
    accountable: ClassVar[bool] = True

    def parameters(self, n_arms: int, horizon: int | None) -> DecoupledParameters:
        """EXP3 inside, and the exploration power ½; the horizon plays no part."""
        ftrl = FTRL(Shannon(), rates=exponential_weights(n_arms)).parameters(n_arms, horizon)
        return DecoupledParameters(ftrl, 0.5)


@init.register(DecoupledParameters)
def _(params: DecoupledParameters) -> DecoupledState:
    ftrl = init(params.ftrl)
    state = DecoupledState(ftrl, np.empty(params.ftrl.n_arms))
    explore(params.ftrl.step, state, params.power)
    return state


passes_on(DecoupledParameters, act, memo_of, distribution, inspect)


@observe.register(DecoupledParameters)
def _(params: DecoupledParameters, state: DecoupledState, arm: int, uniforms: FloatArray) -> int:
    return find(state.explore, uniforms[1] * sum_of(state.explore))


@weight_of.register(DecoupledParameters)
def _(params: DecoupledParameters, state: DecoupledState, arm: int) -> float:
    return float(state.explore[arm] / sum_of(state.explore))


@probability_of.register(DecoupledParameters)
def _(params: DecoupledParameters, state: DecoupledState, arm: int) -> float:
    return float(state.ftrl.p[arm])


@learn.register(DecoupledParameters, inline=True)
def _(
    params: DecoupledParameters, state: DecoupledState, arm: int, loss: float, weight: float, memo: float
) -> None:
    learn(params.ftrl, state.ftrl, arm, loss, weight, memo)


@step.register(DecoupledParameters, inline=True)
def _(params: DecoupledParameters, state: DecoupledState) -> int:
    status = step(params.ftrl, state.ftrl)
    explore(params.ftrl.step, state, params.power)
    return status


@generic
def explore(step: Any, state: DecoupledState, power: float) -> None:
    """Fill ``explore`` with numbers in proportion to p^power."""
    for i in range(state.explore.size):
        state.explore[i] = state.ftrl.p[i] ** power


@explore.register(TwoThirdsTsallisStep)
def _(step: TwoThirdsTsallisStep, state: DecoupledState, power: float) -> None:
    # p = (c/y)³, and the power is ⅔; c = 1 will do
    shift = state.ftrl.carried[MULTIPLIER]
    for i in range(state.explore.size):
        y = state.ftrl.losses[i] - shift
        state.explore[i] = 1.0 / (y * y)
