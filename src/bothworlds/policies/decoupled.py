"""Decoupled exploration and exploitation: play one arm, observe another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, generic
from bothworlds.policies.base import (
    Policy,
    act,
    copy,
    distribution,
    find,
    init,
    inspect,
    observation_weight,
    sum_of,
    update,
)
from bothworlds.policies.ftrl import FTRL
from bothworlds.policies.ftrl_kernel import FTRLParameters
from bothworlds.policies.ftrl_state import EPOCH, FTRLState
from bothworlds.simplex.regularizers import Tsallis
from bothworlds.simplex.steps import MULTIPLIER, TOTAL, TwoThirdsTsallisStep

BETA = 2.0 / 3.0


class DecoupledParameters(NamedTuple):
    """An FTRL policy for exploitation, and the power in g ∝ p^power."""

    ftrl: FTRLParameters
    power: float


class DecoupledState(NamedTuple):
    """The FTRL state, and room for p^power."""

    ftrl: FTRLState
    explore: FloatArray


@dataclass(frozen=True, repr=False)
class DecoupledTsallisINF(Policy):
    """Decoupled-Tsallis-INF of Rouyer and Seldin, as analysed in Section 3 of Jin, Liu and Luo (2023).

    For problems in which each round plays one arm and shows the loss of another. ``pull.arm`` is drawn
    from the ⅔-Tsallis FTRL distribution p and is played; ``pull.observe`` is drawn from g with
    g_i ∝ p_i^{2/3}, and its loss is what ``update`` wants. In stochastic worlds the regret does
    not grow with T.

    γ_t = θ·√t with θ = K^{1/6} (``scale="paper"``) or θ = ¾·K^{1/6} (``scale="original"``, Rouyer and
    Seldin's own normalisation, which the paper calls the same algorithm; it has the lower regret).

    References
    ----------
    C. Rouyer, Y. Seldin: Tsallis-INF for Decoupled Exploration and Exploitation in Multi-armed Bandits.
    COLT 2020.
    """

    draws: ClassVar[int] = 2

    scale: Literal["paper", "original"] = "paper"

    def __post_init__(self) -> None:
        _check.one_of("scale", self.scale, ("paper", "original"))

    def parameters(self, n_arms: int, horizon: int | None) -> DecoupledParameters:
        """The FTRL inside, and the exploration power 1 − β/2 = ⅔."""
        theta = (1.0 if self.scale == "paper" else 0.75) * n_arms ** (1.0 / 6.0)
        ftrl = FTRL(Tsallis(BETA), log_barrier=0.0, theta=theta, alpha=0.5)
        return DecoupledParameters(ftrl.parameters(n_arms, horizon), 1.0 - BETA / 2.0)


@init.register(DecoupledParameters)
def _(params: DecoupledParameters) -> DecoupledState:
    ftrl = init(params.ftrl)
    state = DecoupledState(ftrl, np.empty(params.ftrl.n_arms))
    explore(params.ftrl.step, state, params.power)
    return state


@act.register(DecoupledParameters)
def _(
    params: DecoupledParameters, state: DecoupledState, uniforms: FloatArray
) -> tuple[int, int, float, float, int]:
    arm = find(state.ftrl.p, uniforms[0] * state.ftrl.carried[TOTAL])
    total = sum_of(state.explore)
    observe = find(state.explore, uniforms[1] * total)
    weight = state.explore[observe] / total
    return arm, observe, state.ftrl.p[arm], weight, int(state.ftrl.scalars[EPOCH])


@observation_weight.register(DecoupledParameters)
def _(params: DecoupledParameters, state: DecoupledState, arm: int) -> tuple[float, int]:
    return state.explore[arm] / sum_of(state.explore), int(state.ftrl.scalars[EPOCH])


@update.register(DecoupledParameters)
def _(
    params: DecoupledParameters, state: DecoupledState, observe: int, loss: float, weight: float, epoch: int
) -> int:
    status = update(params.ftrl, state.ftrl, observe, loss, weight, epoch)
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


@distribution.register(DecoupledParameters)
def _(params: DecoupledParameters, state: DecoupledState, out: FloatArray) -> None:
    copy(state.ftrl.p, out)


@inspect.register(DecoupledParameters)
def _(
    params: DecoupledParameters, state: DecoupledState, out_rates: FloatArray, out_estimates: FloatArray
) -> None:
    inspect(params.ftrl, state.ftrl, out_rates, out_estimates)
