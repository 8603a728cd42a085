"""Stability–penalty matching: one rate rule for bandits, feedback graphs and experts."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from bothworlds._jit import kernel
from bothworlds.policies.base import Policy, init, step
from bothworlds.policies.graphs.graph import (
    Graph,
    GraphState,
    add_latest,
    clique_cover,
    complete_estimates,
    graph_of,
    learns_what_it_sees,
    new_graph_state,
    update_seen,
)
from bothworlds.policies.shared.matching import begin_matching, raise_beta, solve_matched, star_and_penalty
from bothworlds.problem import GRAPHS, PLAIN, Problem
from bothworlds.settings import Within
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.regularizers.hybrid import HybridParameters
from bothworlds.simplex.regularizers.tsallis import Tsallis
from bothworlds.simplex.steps.base import N_CARRIED

WHOLE = 1.0  # sums are of ℓ̂ itself


class MatchedTsallisParameters(NamedTuple):
    """Regularizers, α, β of the first round, β̄, the factor of z, and the graph."""

    regularizer: Any
    alpha: float
    first_rate: float
    fixed_rate: float
    scale: float
    graph: Graph


INSIDE = Within(above=0.0, below=1.0, fix="or None for the one that fits the graph")


@dataclass(frozen=True, repr=False)
class MatchedTsallis(Policy, name="matched-tsallis"):
    """FTRL with Tsallis entropy whose rate matches stability and penalty, for bandits, graphs and experts.

    With the estimates ℓ̂_i = 1[i is observed]·ℓ_i/P_i, P_i the probability of being observed, and L their
    sums,

        p = argmin <p, L> + β_t·ψ_α(p) + β̄·ψ_{1−α}(p),   ψ_α(p) = −(1/α)·Σ_i (p_i^α − p_i),

        β_{t+1} = β_t + z_t/(β_t·h_t),   h_t = −ψ_α(p),   z_t = (1/(1−α))·Σ_i min{p_i, p_*}^{2−α}/P_i,

    p_* = min{max p, 1 − max p}. No horizon is needed. With ζ the independence number of the graph (of which
    the number of cliques in a greedy cover is an upper bound) α = 1 − 1/(2(1 + log(K/ζ))): ½ for bandits.

    *What is proved.* With ``constants="paper"``, β_1 = 4K/(1−α) and β̄ = 8/(1−α) (0 for α ≤ ½), on undirected
    graphs in which each arm shows itself: adversarial O(√(ζ·T·(1 + log(K/ζ)))), and stochastic, with
    corruption C, O(ω·log T + √(C·ω·log T)) with ω ≤ 2ζ·(K/ζ)^{1−α}/(α(1−α)Δ_min), if one arm alone is best.
    With ``constants="light"``, β_1 = 1, β̄ = 0 and half of z, nothing is: they are measured. On directed
    graphs, and where an arm does not show itself, no theorem covers either.

    Parameters
    ----------
    constants:
        ``"light"`` or ``"paper"``, which is close to uniform play for the first thousands of rounds.
    alpha:
        α in (0, 1); None: as above.

    Notes
    -----
    Half of z is the stability to second order. With α = ½ and bandit feedback β grows as √t: the policy
    is then close to Tsallis-INF. An arm j that does not show itself and has p_j > ½ is seldom observed; its
    estimate is 1 + 1[observed]·(ℓ_j − 1)/P_j (Dann, Wei and Zimmert 2023, Algorithm 11).

    A round takes O(edges). Where all losses are shown, :class:`AdaHedge` has several times less regret.

    Examples
    --------
    >>> import bothworlds as bw
    >>> shows = {"low": ["low", "mid"], "mid": ["low", "mid", "high"], "high": ["mid", "high"]}
    >>> bandit = bw.Bandit(list(shows), bw.MatchedTsallis(), shows=shows, seed=7)
    >>> pull = bandit.pull()
    >>> pull.arm, pull.observe
    ('mid', ('low', 'mid', 'high'))
    >>> bandit.update(pull, losses={"low": 1.0, "mid": 0.5, "high": 0.0})
    >>> {arm: round(p, 3) for arm, p in bandit.probabilities.items()}
    {'low': 0.179, 'mid': 0.334, 'high': 0.487}

    References
    ----------
    S. Ito, T. Tsuchiya, J. Honda: Adaptive Learning Rate for Follow-the-Regularized-Leader: Competitive
    Analysis and Best-of-Both-Worlds. COLT 2024 (Algorithm 1, rule (10), Theorem 27).
    C. Dann, C.-Y. Wei, J. Zimmert: A Blackbox Approach to Best of Both Worlds in Bandits and Beyond. COLT
    2023.
    """

    fits: ClassVar[frozenset[str]] = frozenset({GRAPHS})
    fixed_arms: ClassVar[str | None] = "its rate is matched to arms of which all are there"

    constants: Literal["light", "paper"] = "light"
    _: KW_ONLY
    alpha: Annotated[float, INSIDE] | None = None

    def parameters(self, n_arms: int, horizon: int | None) -> MatchedTsallisParameters:
        """For bandit feedback; the horizon plays no part."""
        return self.parameters_for(PLAIN, n_arms, horizon)

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> MatchedTsallisParameters:
        """For what the arms show."""
        graph = graph_of(problem, n_arms)
        alpha = self.alpha_for(problem, n_arms)
        first = Tsallis(alpha).parameters()
        if self.constants == "light":
            return MatchedTsallisParameters(first, alpha, 1.0, 0.0, 0.5, graph)
        rate = 4.0 * n_arms / (1.0 - alpha)
        if alpha <= 0.5:
            return MatchedTsallisParameters(first, alpha, rate, 0.0, 1.0, graph)
        both = HybridParameters(first, Tsallis(1.0 - alpha).parameters(), 1.0)
        fixed = 32.0 * n_arms / ((1.0 - alpha) ** 2 * rate)
        return MatchedTsallisParameters(both, alpha, rate, fixed, 1.0, graph)

    def alpha_for(self, problem: Problem, n_arms: int) -> float:
        """α for a problem."""
        if self.alpha is not None:
            return self.alpha
        return 1.0 - 0.5 / (1.0 + math.log(n_arms / clique_cover(problem, n_arms)))


learns_what_it_sees(MatchedTsallisParameters)


@kernel
def stability_and_penalty(alpha: float, state: GraphState) -> tuple[float, float]:
    """z = Σ_i min{p_i, p_*}^{2−α}/P_i/(1−α), P_i the probability of being observed; and h."""
    p = state.p
    star, h = star_and_penalty(alpha, p)
    z = 0.0
    for i in range(p.size):
        share = min(p[i], star)
        if share > 0.0:
            z += share ** (2.0 - alpha) / state.seen[i]
    return z / (1.0 - alpha), h


@init.register(MatchedTsallisParameters)
def _(params: MatchedTsallisParameters) -> GraphState:
    state = new_graph_state(params.graph, N_CARRIED)
    begin_matching(params, state, WHOLE)
    return state


@step.register(MatchedTsallisParameters)
def _(params: MatchedTsallisParameters, state: GraphState) -> int:
    if not complete_estimates(state):
        return CONVERGED
    z, h = stability_and_penalty(params.alpha, state)
    raise_beta(params, state, z, h)
    status = solve_matched(params, state, add_latest(state), WHOLE, state.p)
    update_seen(params.graph, state)
    return status
