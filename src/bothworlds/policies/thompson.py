"""Thompson sampling with Beta priors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray, kernel
from bothworlds.policies.base import (
    Policy,
    act,
    distribution,
    init,
    learn,
    memo_of,
    restrict,
    weighs,
    weighs_nothing,
    weight_of,
)
from bothworlds.policies.graphs.graph import require_loops
from bothworlds.policies.several import act_several, mark_best
from bothworlds.policies.shared.beta import probability_of_best, probability_of_smallest
from bothworlds.problem import GRAPHS, SETS, Groups, Problem
from bothworlds.rng import expand
from bothworlds.variates import sample_beta


class ThompsonParameters(NamedTuple):
    """The number of arms."""

    n_arms: int


class ThompsonSetParameters(NamedTuple):
    """The number of arms, and the sets."""

    n_arms: int
    groups: Groups


class ThompsonState(NamedTuple):
    """The parameters of the posterior of each arm's mean loss: Beta(ones_i, zeros_i)."""

    ones: FloatArray
    """1 + the number of losses 1 seen."""
    zeros: FloatArray
    """1 + the number of losses 0 seen."""


class ThompsonSetState(NamedTuple):
    """The same, and room for the draws of a round and for the set."""

    ones: FloatArray
    zeros: FloatArray
    drawn: FloatArray
    chosen: FloatArray


@dataclass(frozen=True, repr=False)
class Thompson(Policy, name="thompson"):
    """Thompson sampling: draw a mean loss for every arm from its posterior, play the smallest.

    The prior of each mean is uniform, Beta(1, 1), and the posterior after losses 0 and 1 is
    Beta(1 + ones, 1 + zeros). A fractional loss ℓ counts as 1 with probability ℓ, else as 0, which keeps
    its mean. On iid losses the regret is asymptotically optimal for Bernoulli losses, and low in practice;
    an adversary makes it linear. It plays sets too, the m smallest draws (MP-TS, multiple plays), which is
    asymptotically optimal likewise; where sets have different sizes, those of them below the loss of leaving
    an arm out (measured, not proved). And it learns from all that a feedback graph shows (TS-N), if each arm
    shows itself.

    A draw says which arm, not how probable it was: the distribution, P(arm i has the smallest draw), is
    integrated when somebody asks, as ``Bandit.pull`` does. It is accurate to 1e-6. The rounding takes its
    randomness from the pull whose loss it is: replications are independent, and late losses are rounded as
    they would have been at once.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.Thompson(), n_arms=2, arms=[0, 1], losses=[1.0, 0.0]).p.round(6)
    array([[0.5     , 0.5     ],
           [0.333333, 0.666667],
           [0.166667, 0.833333]])

    References
    ----------
    W. Thompson: On the Likelihood that One Unknown Probability Exceeds Another. Biometrika 1933.
    S. Agrawal, N. Goyal: Analysis of Thompson Sampling for the Multi-armed Bandit Problem. COLT 2012 (the
    rounding).
    J. Komiyama, J. Honda, H. Nakagawa: Optimal Regret Analysis of Thompson Sampling in Stochastic Multi-armed
    Bandit Problem with Multiple Plays. ICML 2015 (sets).
    A. Tossou, C. Dimitrakakis, D. Dubhashi: Thompson Sampling for Stochastic Bandits with Graph Feedback.
    AAAI 2017 (graphs).
    """

    explicit: ClassVar[bool] = False
    fixed_arms: ClassVar[str | None] = None
    fits: ClassVar[frozenset[str]] = frozenset({SETS, GRAPHS})

    def parameters(self, n_arms: int, horizon: int | None) -> ThompsonParameters:
        """K; the horizon plays no part."""
        return ThompsonParameters(n_arms)

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> ThompsonSetParameters:
        """K and the sets."""
        require_loops(problem, n_arms)
        return ThompsonSetParameters(n_arms, problem.groups(n_arms))


def prior(n_arms: int) -> ThompsonState:
    """Beta(1, 1) for every arm."""
    return ThompsonState(np.ones(n_arms), np.ones(n_arms))


@kernel
def bernoulli(loss: float, memo: float) -> float:
    """1 with probability ``loss``, else 0; the memo is uniform on (0, 1): always for 1, never for 0."""
    return 1.0 if memo < loss else 0.0


def _act(params: Any, state: Any, uniforms: FloatArray) -> int:
    arm = 0
    smallest = math.inf
    for i in range(params.n_arms):
        value = sample_beta(state.ones[i], state.zeros[i], uniforms[0], i)
        if value < smallest:
            smallest = value
            arm = i
    return arm


def _weight(params: Any, state: Any, arm: int) -> float:
    return math.nan  # an integral that learning does not need


def _memo(params: Any, state: Any, arm: int, uniforms: FloatArray) -> float:
    # for the rounding: a number that no arm's draw has used
    return expand(uniforms[0], params.n_arms << 32)


def _distribution(params: Any, state: Any, out: FloatArray) -> None:
    probability_of_smallest(state.ones, state.zeros, 1, out)


def _restrict(params: Any, state: Any, awake: FloatArray, out: FloatArray) -> None:
    posteriors = np.empty((3, params.n_arms))
    count = 0
    for i in range(params.n_arms):
        if awake[i] == 1.0:
            posteriors[0, count] = state.ones[i]
            posteriors[1, count] = state.zeros[i]
            count += 1
    probability_of_smallest(posteriors[0, :count], posteriors[1, :count], 1, posteriors[2, :count])
    count = 0
    for i in range(params.n_arms):
        out[i] = 0.0
        if awake[i] == 1.0:
            out[i] = posteriors[2, count]
            count += 1


def samples_its_posterior(kind: type) -> None:
    """Register all kernels but ``init`` and ``learn`` of parameters with ``n_arms``.

    The state must have the posteriors' parameters as ``ones`` and ``zeros``, at least 1.
    """
    act.register(kind)(_act)
    weight_of.register(kind)(_weight)
    weighs.register(kind)(weighs_nothing)
    memo_of.register(kind)(_memo)
    distribution.register(kind)(_distribution)
    restrict.register(kind, allocates=True)(_restrict)


samples_its_posterior(ThompsonParameters)


@init.register(ThompsonParameters)
def _(params: ThompsonParameters) -> ThompsonState:
    return prior(params.n_arms)


def _learn(params: Any, state: Any, arm: int, loss: float, weight: float, memo: float) -> None:
    one = bernoulli(loss, memo)
    state.ones[arm] += one
    state.zeros[arm] += 1.0 - one


learn.register(ThompsonParameters)(_learn)


# --- sets ---------------------------------------------------------------------------------------------------


@init.register(ThompsonSetParameters)
def _(params: ThompsonSetParameters) -> ThompsonSetState:
    n = params.n_arms
    return ThompsonSetState(*prior(n), np.zeros(n), np.zeros(n))


@act_several.register(ThompsonSetParameters)
def _(params: ThompsonSetParameters, state: ThompsonSetState, uniforms: FloatArray, out: IntArray) -> int:
    for i in range(params.n_arms):
        state.drawn[i] = sample_beta(state.ones[i], state.zeros[i], uniforms[0], i)
    mark_best(params.groups, state.drawn, state.chosen)
    count = 0
    for i in range(params.n_arms):
        if state.chosen[i] == 1.0:
            out[count] = i
            count += 1
    return count


@memo_of.register(ThompsonSetParameters)
def _(params: ThompsonSetParameters, state: ThompsonSetState, arm: int, uniforms: FloatArray) -> float:
    return expand(uniforms[0], (params.n_arms + arm) << 32)  # a number of its own for every arm


@distribution.register(ThompsonSetParameters)
def _(params: ThompsonSetParameters, state: ThompsonSetState, out: FloatArray) -> None:
    groups = params.groups
    for g in range(groups.first.size):
        first, last = groups.first[g], groups.last[g]
        probability_of_best(
            state.ones[first:last],
            state.zeros[first:last],
            groups.fewest[g],
            groups.most[g],
            groups.outside,
            out[first:last],
        )


weight_of.register(ThompsonSetParameters)(_weight)
weighs.register(ThompsonSetParameters)(weighs_nothing)
learn.register(ThompsonSetParameters)(_learn)
