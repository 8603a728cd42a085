"""Exponential weights for experts and feedback graphs: Hedge, and AdaHedge, which tunes itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bothworlds._jit import kernel
from bothworlds.policies.base import Policy, init, step
from bothworlds.policies.graphs.graph import (
    Graph,
    GraphState,
    add_latest,
    complete_estimates,
    graph_of,
    learns_what_it_sees,
    new_graph_state,
    update_seen,
)
from bothworlds.policies.shared.estimated_losses import TUNING
from bothworlds.problem import GRAPHS, PLAIN, Problem
from bothworlds.settings import Positive
from bothworlds.simplex.kernel import CONVERGED


class HedgeParameters(NamedTuple):
    """The constant of the rate, log K, and the graph."""

    rate: float
    log_arms: float
    graph: Graph


class AdaHedgeParameters(NamedTuple):
    """log K, and the graph."""

    log_arms: float
    graph: Graph


@dataclass(frozen=True, repr=False)
class Hedge(Policy, name="hedge"):
    """Hedge: exponential weights, p_i ∝ exp(−η_t·L_i), with η_t = c·√(log K/t) where all losses are shown.

    On other graphs it is EXP3.G: L is the sum of ℓ̂_i = 1[i is observed]·ℓ_i/P_i, P_i the probability of
    being observed, and in place of t is the variance of the estimates, Σ_{s<t} Σ_i p_{s,i}/P_{s,i}, with that
    of the first round once more in advance. That is t where P = 1, and K·t for bandits.

    *What is proved.* Where all losses are shown, with c = 2: adversarial √(T·log K), and O(log K/Δ) in
    stochastic worlds, so that it is best of both worlds. Where each arm shows itself alone: adversarial
    (c + 1/c)·√(K·T·log K), and no logarithm in stochastic worlds.

    Parameters
    ----------
    rate:
        c > 0.

    Notes
    -----
    An arm j that does not show itself and has p_j > ½ gets the estimate 1 + 1[observed]·(ℓ_j − 1)/P_j, and
    min{p_j, 1 − p_j}/P_j in the variance.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["rain", "sun"], bw.Hedge(), shows="all", seed=7)
    >>> bandit.update(bandit.pull(), losses={"rain": 1.0, "sun": 0.0})
    >>> {arm: round(p, 3) for arm, p in bandit.probabilities.items()}
    {'rain': 0.236, 'sun': 0.764}

    References
    ----------
    Y. Freund, R. Schapire: A Decision-Theoretic Generalization of On-Line Learning and an Application to
    Boosting. JCSS 1997.
    J. Mourtada, S. Gaïffas: On the Optimality of the Hedge Algorithm in the Stochastic Regime. JMLR 2019.
    N. Alon, N. Cesa-Bianchi, C. Gentile, S. Mannor, Y. Mansour, O. Shamir: Nonstochastic Multi-armed Bandits
    with Graph-structured Feedback. SIAM Journal on Computing 2017.
    """

    fits: ClassVar[frozenset[str]] = frozenset({GRAPHS})

    rate: Positive = 2.0

    def parameters(self, n_arms: int, horizon: int | None) -> HedgeParameters:
        """For bandit feedback; the horizon plays no part."""
        return self.parameters_for(PLAIN, n_arms, horizon)

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> HedgeParameters:
        """For what the arms show."""
        return HedgeParameters(self.rate, math.log(n_arms), graph_of(problem, n_arms))


@dataclass(frozen=True, repr=False)
class AdaHedge(Policy, name="ada-hedge"):
    """AdaHedge: exponential weights, p_i ∝ exp(−η_t·L_i), whose rate follows what hedging has cost.

    η_t = log K/Σ_{s<t} δ_s with the mixability gaps δ = <p, ℓ> + (1/η)·log Σ_i p_i·exp(−η·ℓ_i) ≥ 0 of each
    round. While they are all 0 it follows the leader. There is nothing to tune, neither range nor horizon.

    *What is proved.* Where all losses are shown: adversarial √(T·log K) + (4/3)·log K + 2; and with one best
    arm, whose gap is Δ up to a corruption of C in all, 4·log K/Δ + 2·√(C·log K/Δ) + (8/3)·log K + 4: best of
    both worlds. (The first is de Rooij et al.'s; the second follows from their bound by the variance, as
    ``theory/bounds/graphs.py`` shows.) On other graphs it runs on ℓ̂_i = 1[i is observed]·ℓ_i/P_i, P_i the
    probability of being observed, and nothing is proved here.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["rain", "sun"], shows="all", seed=7)
    >>> bandit.policy
    AdaHedge()
    >>> for _ in range(3):
    ...     bandit.update(bandit.pull(), losses={"rain": 0.75, "sun": 0.5})
    >>> {arm: round(p, 3) for arm, p in bandit.probabilities.items()}
    {'rain': 0.033, 'sun': 0.967}

    References
    ----------
    S. de Rooij, T. van Erven, P. Grünwald, W. Koolen: Follow the Leader If You Can, Hedge If You Must. JMLR
    2014.
    """

    fits: ClassVar[frozenset[str]] = frozenset({GRAPHS})

    def parameters(self, n_arms: int, horizon: int | None) -> AdaHedgeParameters:
        """For bandit feedback; the horizon plays no part."""
        return self.parameters_for(PLAIN, n_arms, horizon)

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> AdaHedgeParameters:
        """For what the arms show."""
        return AdaHedgeParameters(math.log(n_arms), graph_of(problem, n_arms))


learns_what_it_sees(HedgeParameters)
learns_what_it_sees(AdaHedgeParameters)


# --- the weights --------------------------------------------------------------------------------------------


@kernel
def set_weights(graph: Graph, state: GraphState, rate: float) -> None:
    """p_i ∝ exp(−η·L_i); for η = ∞ the same for all leaders."""
    p, losses = state.p, state.losses
    smallest = losses[0]
    for i in range(1, p.size):
        smallest = min(smallest, losses[i])
    total = 0.0
    for i in range(p.size):
        lead = losses[i] - smallest
        p[i] = 1.0 if lead == 0.0 else math.exp(-rate * lead)
        total += p[i]
    for i in range(p.size):
        p[i] /= total
        state.rates[i] = 1.0 / rate if rate > 0.0 else 0.0  # a single arm has no rate
    update_seen(graph, state)


@kernel
def variance(graph: Graph, state: GraphState) -> float:
    """Σ_i p_i/P_i, where an arm that does not show itself counts with the smaller of p and 1 − p."""
    total = 0.0
    for i in range(state.p.size):
        share = state.p[i]
        if graph.blind[i] == 1.0:
            share = min(share, state.seen[i])  # which is 1 − p, as exactly as can be
        if share > 0.0:
            total += share / state.seen[i]
    return total


@kernel
def mixability_gap(state: GraphState, rate: float) -> float:
    """δ of the estimates of the round; with η = ∞ the mix is the smallest."""
    p, latest = state.p, state.latest
    smallest = math.inf
    for i in range(p.size):
        if p[i] > 0.0:
            smallest = min(smallest, latest[i])
    mean = 0.0
    mix = 0.0
    for i in range(p.size):
        if p[i] > 0.0:
            excess = latest[i] - smallest
            mean += p[i] * excess
            mix += p[i] if excess == 0.0 else p[i] * math.exp(-rate * excess)
    return mean if rate == math.inf else max(0.0, mean + math.log(mix) / rate)


@kernel
def rate_of(log_arms: float, cost: float) -> float:
    """log K over what hedging has cost so far, ∞ before it has cost anything."""
    return math.inf if cost == 0.0 else log_arms / cost


@init.register(HedgeParameters)
def _(params: HedgeParameters) -> GraphState:
    state = new_graph_state(params.graph, 0)
    state.scalars[TUNING] = variance(params.graph, state)
    set_weights(params.graph, state, params.rate * math.sqrt(params.log_arms / state.scalars[TUNING]))
    return state


@step.register(HedgeParameters)
def _(params: HedgeParameters, state: GraphState) -> int:
    if complete_estimates(state):
        state.scalars[TUNING] += variance(params.graph, state)
        add_latest(state)
        set_weights(params.graph, state, params.rate * math.sqrt(params.log_arms / state.scalars[TUNING]))
    return CONVERGED


@init.register(AdaHedgeParameters)
def _(params: AdaHedgeParameters) -> GraphState:
    state = new_graph_state(params.graph, 0)
    set_weights(params.graph, state, math.inf)
    return state


@step.register(AdaHedgeParameters)
def _(params: AdaHedgeParameters, state: GraphState) -> int:
    if complete_estimates(state):
        scalars = state.scalars
        scalars[TUNING] += mixability_gap(state, rate_of(params.log_arms, scalars[TUNING]))
        add_latest(state)
        set_weights(params.graph, state, rate_of(params.log_arms, scalars[TUNING]))
    return CONVERGED
