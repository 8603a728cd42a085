"""Tsallis-INF in blocks, for problems in which changing arms costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import (
    Policy,
    after_draw,
    before_draw,
    copy,
    draws_from_its_p,
    init,
    inspect,
    learn,
    memo_of,
    step,
)
from bothworlds.policies.ftrl.aliases import half_tsallis
from bothworlds.policies.ftrl.kernel import FTRLParameters, update_p
from bothworlds.policies.ftrl.state import FTRLState
from bothworlds.problem import SWITCHING, Problem
from bothworlds.settings import NonNegative
from bothworlds.simplex.kernel import CONVERGED, FAILED
from bothworlds.simplex.steps import SEVERAL


class SwitchParameters(NamedTuple):
    """Tsallis-INF, and the cost of a switch."""

    ftrl: FTRLParameters
    cost: float


class SwitchState(NamedTuple):
    """The state of Tsallis-INF, whose p is that of the block; the distribution in force; single numbers."""

    ftrl: FTRLState
    p: FloatArray
    scalars: FloatArray


BLOCK = 0  # n, that of the last draw
LEFT = 1  # draws that are left of it
ARM = 2  # which it plays
READY = 3  # 1 if p is that of the draw to come
STATUS = 4  # of the solver before a draw, which the next step reports
N_SCALARS = 5


@dataclass(frozen=True, repr=False)
class TsallisSwitch(Policy, name="tsallis-switch"):
    """Tsallis-Switch of Rouyer, Seldin and Cesa-Bianchi: Tsallis-INF in blocks, where switching arms costs.

    If every round whose arm is another than that of the round before costs λ on top of its loss, a policy
    that draws an arm in every round pays for that. Here an arm is drawn once for each block n = 1, 2, …, from

        p^n = argmin <p, L> − 2γ_n·Σ_i √p_i,   γ_n = (a_n + 1)·√(n/2),   a_n = (3λ/2)·√(n/K),

    and played for max{⌈a_n⌉, 1} rounds. L is the sum of ℓ/p^n_i over the losses seen of each arm.

    Parameters
    ----------
    cost:
        λ ≥ 0, in units of the loss, which is in [0, 1].

    Notes
    -----
    Proved by its authors, switches included: regret O((λK)^{1/3}·T^{2/3} + √(KT)) against any adversary that
    does not look at the draws, and O(((λK)^{2/3}·T^{1/3} + log T)·Σ_i 1/Δ_i) in stochastic worlds with one
    optimal arm, also if they shift. The constants in a_n and γ_n were not checked against the paper.

    Within a block the next arm is known: its probability is 1. Feedback may be late; it is divided by the
    probability with which its block drew the arm. With λ = 0 it is Tsallis-INF, at a rate √2 times smaller.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["blue", "green"], bw.TsallisSwitch(cost=2.0), seed=7)
    >>> pulls = [bandit.pull() for _ in range(6)]
    >>> [round(pull.probability, 2) for pull in pulls]     # blocks of 3, 3, 4, …
    [0.5, 1.0, 1.0, 0.5, 1.0, 1.0]

    References
    ----------
    C. Rouyer, Y. Seldin, N. Cesa-Bianchi: An Algorithm for Stochastic and Adversarial Bandits with Switching
    Costs. ICML 2021.
    """

    in_blocks: ClassVar[bool] = True
    notes_draws: ClassVar[bool] = True
    fits: ClassVar[frozenset[str]] = frozenset({SWITCHING})
    fixed_arms: ClassVar[str | None] = "an arm that falls asleep would end its block"

    cost: NonNegative = 1.0

    def parameters(self, n_arms: int, horizon: int | None) -> SwitchParameters:
        """Those of Tsallis-INF, and the cost; the horizon plays no part."""
        return SwitchParameters(half_tsallis(n_arms), self.cost)

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> SwitchParameters:
        """The same: the cost of the problem is the one it knows."""
        if not math.isclose(problem.switching_cost, self.cost):
            wanted = f"with the cost of the problem, {problem.switching_cost:g} in units of the loss"
            raise InvalidArgumentError("policy", self, wanted, fix="leave the policy out")
        return self.parameters(n_arms, horizon)


draws_from_its_p(SwitchParameters)


@init.register(SwitchParameters)
def _(params: SwitchParameters) -> SwitchState:
    n = params.ftrl.n_arms
    state = SwitchState(init(params.ftrl), np.full(n, 1.0 / n), np.zeros(N_SCALARS))
    state.scalars[READY] = 1.0
    return state


@kernel
def look_ahead(params: SwitchParameters, state: SwitchState) -> int:
    """The distribution of the draw to come: that of a new block, or the arm of the one that is not over."""
    scalars = state.scalars
    scalars[READY] = 1.0
    if scalars[LEFT] > 0.0 or state.p.size == 1:
        for i in range(state.p.size):
            state.p[i] = 0.0
        state.p[int(scalars[ARM])] = 1.0
        return CONVERGED
    n = scalars[BLOCK] + 1.0
    state.ftrl.rates[0] = (length(params, n) + 1.0) * math.sqrt(0.5 * n)
    status = update_p(params.ftrl, state.ftrl, SEVERAL, 0.0, 0.0)
    copy(state.ftrl.p, state.p)
    return status


@kernel(inline=True)
def length(params: SwitchParameters, n: float) -> float:
    """a_n, of which a block has at least as many rounds."""
    return 1.5 * params.cost * math.sqrt(n / params.ftrl.n_arms)


@before_draw.register(SwitchParameters)
def _(params: SwitchParameters, state: SwitchState, outstanding: int, awake: FloatArray) -> None:
    scalars = state.scalars
    if scalars[READY] == 0.0:
        scalars[STATUS] = look_ahead(params, state)
    scalars[READY] = 0.0
    if scalars[LEFT] == 0.0:
        scalars[BLOCK] += 1.0
        scalars[LEFT] = max(1.0, math.ceil(length(params, scalars[BLOCK])))
    scalars[LEFT] -= 1.0


@memo_of.register(SwitchParameters)
def _(params: SwitchParameters, state: SwitchState, arm: int, uniforms: FloatArray) -> float:
    return float(state.ftrl.p[arm])  # with which its block drew it


@after_draw.register(SwitchParameters)
def _(params: SwitchParameters, state: SwitchState, arm: int) -> None:
    state.scalars[ARM] = arm


@learn.register(SwitchParameters)
def _(
    params: SwitchParameters, state: SwitchState, arm: int, loss: float, weight: float, memo: float
) -> None:
    state.ftrl.losses[arm] += loss / memo


@step.register(SwitchParameters)
def _(params: SwitchParameters, state: SwitchState) -> int:
    scalars = state.scalars
    status = look_ahead(params, state)
    if scalars[STATUS] == FAILED:
        status = FAILED
    scalars[STATUS] = CONVERGED
    return status


@inspect.register(SwitchParameters)
def _(params: SwitchParameters, state: SwitchState, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    inspect(params.ftrl, state.ftrl, out_rates, out_estimates)
