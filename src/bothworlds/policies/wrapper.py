"""Policies around another one: kernels that pass on to the one inside."""

from __future__ import annotations

from typing import Any

from bothworlds._jit import FloatArray, IntArray
from bothworlds.policies.base import (
    act,
    after_draw,
    before_draw,
    distribution,
    inspect,
    learn_absent,
    memo_of,
    observe,
    probability_of,
    restrict,
    retire,
    weighs,
    weight_of,
)
from bothworlds.policies.several import act_several


def passes_on(kind: type, *kernels: Any) -> None:
    """Register these kernels for parameters and states whose first fields are those of a policy inside.

    They do what those of the policy inside do.
    """
    for kernel in kernels:
        kernel.register(kind, inline=True)(_PASSED_ON[kernel])


def _act(params: Any, state: Any, uniforms: FloatArray) -> int:
    return act(params[0], state[0], uniforms)


def _act_several(params: Any, state: Any, uniforms: FloatArray, out: IntArray) -> int:
    return act_several(params[0], state[0], uniforms, out)


def _observe(params: Any, state: Any, arm: int, uniforms: FloatArray) -> int:
    return observe(params[0], state[0], arm, uniforms)


def _weight_of(params: Any, state: Any, arm: int) -> float:
    return weight_of(params[0], state[0], arm)


def _probability_of(params: Any, state: Any, arm: int) -> float:
    return probability_of(params[0], state[0], arm)


def _weighs(params: Any) -> bool:
    return weighs(params[0])


def _memo_of(params: Any, state: Any, arm: int, uniforms: FloatArray) -> float:
    return memo_of(params[0], state[0], arm, uniforms)


def _before_draw(params: Any, state: Any, outstanding: int, awake: FloatArray) -> None:
    before_draw(params[0], state[0], outstanding, awake)


def _after_draw(params: Any, state: Any, arm: int) -> None:
    after_draw(params[0], state[0], arm)


def _distribution(params: Any, state: Any, out: FloatArray) -> None:
    distribution(params[0], state[0], out)


def _restrict(params: Any, state: Any, awake: FloatArray, out: FloatArray) -> None:
    restrict(params[0], state[0], awake, out)


def _learn_absent(params: Any, state: Any, before: Any, awake: FloatArray, loss: float) -> int:
    return learn_absent(params[0], state[0], before[0], awake, loss)


def _retire(params: Any, state: Any, arm: int) -> None:
    retire(params[0], state[0], arm)


def _inspect(params: Any, state: Any, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    inspect(params[0], state[0], out_rates, out_estimates)


_PASSED_ON: dict[Any, Any] = {
    act: _act,
    act_several: _act_several,
    observe: _observe,
    weight_of: _weight_of,
    probability_of: _probability_of,
    weighs: _weighs,
    memo_of: _memo_of,
    before_draw: _before_draw,
    after_draw: _after_draw,
    distribution: _distribution,
    restrict: _restrict,
    learn_absent: _learn_absent,
    retire: _retire,
    inspect: _inspect,
}
