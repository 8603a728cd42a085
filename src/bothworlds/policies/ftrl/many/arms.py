"""Arms that sleep and retire where there are many; none can be added."""

from __future__ import annotations

from typing import Any

from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import grow, learn_absent, retire
from bothworlds.policies.ftrl.kernel import HOPELESS
from bothworlds.policies.ftrl.many.counted import CountedParameters
from bothworlds.policies.ftrl.many.search import resettle
from bothworlds.policies.ftrl.many.state import LOSS, MANY_ARMS, PER_ARM, ROUND, ManyArmsState
from bothworlds.policies.ftrl.many.tsallis import ManyArmsParameters
from bothworlds.simplex.kernel import CONVERGED


@learn_absent.register(ManyArmsParameters)
@learn_absent.register(CountedParameters)
def _(params: Any, state: ManyArmsState, before: ManyArmsState, awake: FloatArray, loss: float) -> int:
    if loss == 0.0 or state.scalars[ROUND] != before.scalars[ROUND] + 1.0:
        return CONVERGED  # nothing to give, or a round that has not counted
    for arm in range(params.n_arms):
        if awake[arm] == 0.0:
            state.arms[PER_ARM * arm + LOSS] += loss
    return resettle(params, state)


@retire.register(ManyArmsParameters)
@retire.register(CountedParameters)
def _(params: Any, state: ManyArmsState, arm: int) -> None:
    state.arms[PER_ARM * arm + LOSS] = HOPELESS
    resettle(params, state)


@grow.register(ManyArmsParameters)
@grow.register(CountedParameters)
def _(params: Any, state: Any) -> Any:
    raise InvalidArgumentError(
        "arms",
        params.n_arms,
        f"fewer than {MANY_ARMS} where arms are added to this policy",
        fix="make the bandit with all arms, and disable those that are yet to come",
    )
