"""Any policy, restarted every so many rounds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, copy_state
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import (
    Policy,
    act,
    after_draw,
    before_draw,
    distribution,
    grow,
    init,
    inspect,
    learn,
    learn_absent,
    marked,
    memo_of,
    observe,
    outdated,
    probability_of,
    restrict,
    retire,
    step,
    weighs,
    weight_of,
)
from bothworlds.policies.wrapper import passes_on
from bothworlds.settings import Count
from bothworlds.simplex.kernel import CONVERGED


class RestartingParameters(NamedTuple):
    """The policy inside, its fresh state, and how long it lives."""

    policy: Any
    fresh: Any
    every: int


class RestartingState(NamedTuple):
    """That of the policy inside, and the single numbers below."""

    policy: Any
    scalars: FloatArray


RESTARTS, AGE, LEARNED = 0, 1, 2  # restarts so far; losses since; from ``learn`` to ``step``: anything new?
N_SCALARS = 3


@dataclass(frozen=True, repr=False)
class Restarting(Policy, name="restarting"):
    """Another policy that is started afresh every n rounds, so that no past weighs on it for ever.

    If the best arm switches S − 1 times in T rounds and the policy inside has regret at most c·√(K·n) within
    n rounds, the regret to the best arm of each time is at most c·T·√(K/n) + S·n (a stretch with a switch is
    given up): with n ≈ (T/S)^{2/3}·K^{1/3} it is O((K·S)^{1/3}·T^{2/3}), in any world. If you know when the
    world changes, call :meth:`Bandit.restart` instead.

    Parameters
    ----------
    policy:
        Any policy but a wrapper. It is told that its horizon is n.
    every:
        n: the number of losses (of arms drawn since the last restart) after which it is restarted; at
        least the number of arms.

    Notes
    -----
    Losses that come late, of arms drawn before a restart, are not used. To tell them, their memo carries the
    number of restarts in its last 16 bits: the memo of the policy inside keeps 36 bits of precision.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.Restarting(bw.TsallisINF(), every=2)
    >>> bw.replay(policy, n_arms=2, arms=[0, 0, 0], losses=[1.0, 1.0, 1.0]).p.round(3)
    array([[0.5  , 0.5  ],
           [0.159, 0.841],
           [0.5  , 0.5  ],
           [0.159, 0.841]])
    """

    marks_memos: ClassVar[bool] = True

    policy: Policy
    _: KW_ONLY
    every: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy.marks_memos:
            raise InvalidArgumentError("policy", self.policy, "a policy that is not a wrapper itself")
        inherited = ("draws", "decoupled", "in_blocks", "notes_draws", "fixed_arms")
        self._set(**{name: getattr(self.policy, name) for name in inherited})

    def parameters(self, n_arms: int, horizon: int | None) -> RestartingParameters:
        """Those of the policy inside, for a life of n rounds."""
        if self.every < n_arms:
            raise InvalidArgumentError("every", self.every, f"at least the number of arms, {n_arms}")
        rounds = self.every if horizon is None else min(self.every, horizon)
        params = self.policy.resolve(n_arms, rounds)
        return RestartingParameters(params, init(params), self.every)


@init.register(RestartingParameters)
def _(params: RestartingParameters) -> RestartingState:
    return RestartingState(init(params.policy), np.zeros(N_SCALARS))


passes_on(RestartingParameters, before_draw, after_draw, act, observe, weight_of, probability_of, weighs)
passes_on(RestartingParameters, restrict, learn_absent, retire, distribution, inspect)


@memo_of.register(RestartingParameters)
def _(params: RestartingParameters, state: RestartingState, arm: int, uniforms: FloatArray) -> float:
    return marked(memo_of(params.policy, state.policy, arm, uniforms), state.scalars[RESTARTS])


@learn.register(RestartingParameters)
def _(
    params: RestartingParameters, state: RestartingState, arm: int, loss: float, weight: float, memo: float
) -> None:
    scalars = state.scalars
    if outdated(memo, scalars[RESTARTS]):
        return
    learn(params.policy, state.policy, arm, loss, weight, marked(memo, 0.0))
    scalars[LEARNED] = 1.0
    scalars[AGE] += 1.0


@step.register(RestartingParameters)
def _(params: RestartingParameters, state: RestartingState) -> int:
    scalars = state.scalars
    if scalars[LEARNED] == 0.0:
        return CONVERGED
    scalars[LEARNED] = 0.0
    if scalars[AGE] < params.every:
        return step(params.policy, state.policy)
    scalars[AGE] = 0.0
    scalars[RESTARTS] += 1.0
    copy_state(params.fresh, state.policy)
    return CONVERGED


@grow.register(RestartingParameters)
def _(params: RestartingParameters, state: RestartingState) -> RestartingState:
    return RestartingState(grow(params.policy, state.policy), state.scalars.copy())
