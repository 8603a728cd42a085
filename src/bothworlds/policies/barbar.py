"""BARBAR: epochs of growing length, in which no arm is ever given up."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, draws_from_its_p, init, learn, memo_of, step
from bothworlds.policies.shared.confidence import Delta, delta_or, require_horizon
from bothworlds.simplex.kernel import CONVERGED

MULTIPLIERS = {"theory": 1024.0, "practical": 1.0}


class BARBARParameters(NamedTuple):
    """λ and the number of arms."""

    samples: float
    n_arms: int


class BARBARState(NamedTuple):
    """Estimated gaps, and what was seen in the current epoch."""

    gaps: FloatArray
    """Δ_i of the last epoch."""
    quotas: FloatArray
    """n_i: how often each arm is to be drawn in this epoch, in expectation."""
    sums: FloatArray
    """S_i: the gains seen of it in this epoch."""
    p: FloatArray
    """n_i/N, the distribution throughout this epoch."""
    scalars: FloatArray
    """The number of epochs completed, and of the rounds left in this one."""


EPOCH, LEFT = range(2)
N_SCALARS = 2


@dataclass(frozen=True, repr=False)
class BARBAR(Policy, name="barbar"):
    """BARBAR of Gupta, Koren and Talwar, for stochastic losses of which some are corrupted. Needs T.

    Gains are g = 1 − ℓ. With Δ_i = 1 at first, epoch m = 1, 2, … lasts N = Σ n_i rounds,
    n_i = ⌈λ/Δ_i²⌉, draws each arm with probability n_i/N, and sums its gains to S_i. Then, with
    r_i = S_i/n_i (over the expected, not the realized, number of draws) and
    r* = max_i (r_i − Δ_i/16), the new gaps are Δ_i = max{2^−m, r* − r_i}.

    λ = 1024·log((8·K/δ)·log2 T) with ``constants="theory"``. With probability 1 − δ the regret is then
    O(K·C + Σ (log T/Δ_i)·log(K·log T/δ)), where C is the sum of the largest corruption of each round. But
    the first epoch alone, uniform play, takes K·λ ≈ 10^5 rounds for 8 arms. ``constants="practical"``
    drops the 1024, and with it the theorem.

    A loss that comes after the end of its epoch is not used. log2 T counts as at least 1.

    Parameters
    ----------
    constants:
        ``"practical"`` or ``"theory"``.
    delta:
        δ in (0, 1]; None is 1/T.

    Examples
    --------
    >>> import bothworlds as bw
    >>> trace = bw.replay(bw.BARBAR(), n_arms=2, horizon=1000, arms=[0] * 88, losses=[0.0] * 88)
    >>> trace.p[[0, -1]].round(4)  # in the first epoch, and in the third
    array([[0.5   , 0.5   ],
           [0.9458, 0.0542]])

    References
    ----------
    A. Gupta, T. Koren, K. Talwar: Better Algorithms for Stochastic Bandits with Adversarial Corruptions.
    COLT 2019.
    """

    fixed_arms: ClassVar[str | None] = "its epochs assume that every arm can be drawn in every round"

    constants: Literal["theory", "practical"] = "practical"
    _: KW_ONLY
    delta: Delta | None = None

    def parameters(self, n_arms: int, horizon: int | None) -> BARBARParameters:
        """λ in numbers."""
        horizon = require_horizon(self, horizon, "LightBarrier()")
        inside = 8.0 * n_arms / delta_or(self, horizon) * max(1.0, math.log2(horizon))
        return BARBARParameters(MULTIPLIERS[self.constants] * math.log(inside), n_arms)


draws_from_its_p(BARBARParameters, weighs_losses=False)


@memo_of.register(BARBARParameters)
def _(params: BARBARParameters, state: BARBARState, arm: int, uniforms: FloatArray) -> float:
    return float(state.scalars[EPOCH])


@init.register(BARBARParameters)
def _(params: BARBARParameters) -> BARBARState:
    n = params.n_arms
    state = BARBARState(np.ones(n), np.empty(n), np.empty(n), np.empty(n), np.zeros(N_SCALARS))
    begin_epoch(params, state)
    return state


@kernel
def begin_epoch(params: BARBARParameters, state: BARBARState) -> None:
    """Begin an epoch with the gaps of the last one."""
    total = 0.0
    for i in range(params.n_arms):
        state.sums[i] = 0.0
        state.quotas[i] = math.ceil(params.samples / (state.gaps[i] * state.gaps[i]))
        total += state.quotas[i]
    for i in range(params.n_arms):
        state.p[i] = state.quotas[i] / total
    state.scalars[LEFT] = total


@learn.register(BARBARParameters)
def _(
    params: BARBARParameters, state: BARBARState, arm: int, loss: float, weight: float, memo: float
) -> None:
    if memo == state.scalars[EPOCH]:  # else the sums belong to another epoch by now
        state.sums[arm] += 1.0 - loss
        state.scalars[LEFT] -= 1.0


@step.register(BARBARParameters)
def _(params: BARBARParameters, state: BARBARState) -> int:
    scalars = state.scalars
    if scalars[LEFT] > 0.0:
        return CONVERGED
    scalars[EPOCH] += 1.0
    best = -math.inf
    for i in range(params.n_arms):
        best = max(best, state.sums[i] / state.quotas[i] - state.gaps[i] / 16.0)
    for i in range(params.n_arms):
        state.gaps[i] = max(0.5 ** scalars[EPOCH], best - state.sums[i] / state.quotas[i])
    begin_epoch(params, state)
    return CONVERGED
