"""ε-greedy: the best arm so far, or with probability ε any arm."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, draws_from_its_p, init, is_awake, learn, restrict, step
from bothworlds.settings import Positive, Within
from bothworlds.simplex.kernel import CONVERGED


class EpsilonGreedyParameters(NamedTuple):
    """ε (NaN: min(1, c·K/t)), c, and the number of arms."""

    epsilon: float
    c: float
    n_arms: int


class EpsilonGreedyState(NamedTuple):
    """Number and sum of the losses seen of every arm, and the distribution of the round to come."""

    counts: FloatArray
    sums: FloatArray
    p: FloatArray


@dataclass(frozen=True, repr=False)
class EpsilonGreedy(Policy, name="epsilon-greedy"):
    """ε-greedy: p_i = ε_t/K + (1 − ε_t)·1[i is the arm with the smallest mean loss so far].

    An arm not yet seen counts as the best; of equals the first is taken. With ``epsilon=None``
    ε_t = min(1, c·K/t). This is Auer et al.'s ε_n-greedy, min(1, c'·K/(d²·t)) for gaps of at least d, with
    c = c'/d². Their bound is logarithmic for c' > 5 and d ≤ Δ, which needs the gap; c = 5 is d = 1, the
    least exploration in that family, and hard instances want more. A constant ε never stops exploring:
    its regret is linear, ε·T times the mean gap.

    Parameters
    ----------
    epsilon:
        A constant ε in [0, 1], or None for the decaying one.
    c:
        c > 0; plays no part if ``epsilon`` is given.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.EpsilonGreedy(0.2), n_arms=2, arms=[0, 1], losses=[1.0, 0.5]).p
    array([[0.9, 0.1],
           [0.1, 0.9],
           [0.1, 0.9]])

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time Analysis of the Multiarmed Bandit Problem. 2002.
    """

    fixed_arms: ClassVar[str | None] = None

    epsilon: Annotated[float, Within(at_least=0.0, at_most=1.0, fix="or None for min(1, c·K/t)")] | None = (
        None
    )
    _: KW_ONLY
    c: Positive = 5.0

    def parameters(self, n_arms: int, horizon: int | None) -> EpsilonGreedyParameters:
        """ε, c and K; the horizon plays no part."""
        return EpsilonGreedyParameters(math.nan if self.epsilon is None else self.epsilon, self.c, n_arms)


draws_from_its_p(EpsilonGreedyParameters, weighs_losses=False)


@init.register(EpsilonGreedyParameters)
def _(params: EpsilonGreedyParameters) -> EpsilonGreedyState:
    n = params.n_arms
    state = EpsilonGreedyState(np.zeros(n), np.zeros(n), np.empty(n))
    fill_p(params, state, state.p[:0], state.p)
    return state


@kernel
def fill_p(
    params: EpsilonGreedyParameters, state: EpsilonGreedyState, awake: FloatArray, out: FloatArray
) -> None:
    """Fill ``out`` with the distribution of the round to come among the arms that are awake."""
    n = params.n_arms
    seen = 0.0
    best = 0
    smallest = math.inf
    n_awake = 0.0
    for i in range(n):
        count = state.counts[i]
        seen += count
        out[i] = 0.0
        if not is_awake(awake, i):
            continue
        n_awake += 1.0
        out[i] = 1.0
        mean = state.sums[i] / count if count > 0.0 else -1.0  # below any mean: an unseen arm is the best
        if mean < smallest:
            smallest = mean
            best = i
    epsilon = min(1.0, params.c * n / (seen + 1.0)) if math.isnan(params.epsilon) else params.epsilon
    for i in range(n):
        out[i] *= epsilon / n_awake
    out[best] += 1.0 - epsilon


@restrict.register(EpsilonGreedyParameters)
def _(params: EpsilonGreedyParameters, state: EpsilonGreedyState, awake: FloatArray, out: FloatArray) -> None:
    fill_p(params, state, awake, out)


@learn.register(EpsilonGreedyParameters)
def _(
    params: EpsilonGreedyParameters,
    state: EpsilonGreedyState,
    arm: int,
    loss: float,
    weight: float,
    memo: float,
) -> None:
    state.counts[arm] += 1.0
    state.sums[arm] += loss


@step.register(EpsilonGreedyParameters)
def _(params: EpsilonGreedyParameters, state: EpsilonGreedyState) -> int:
    fill_p(params, state, state.p[:0], state.p)
    return CONVERGED
