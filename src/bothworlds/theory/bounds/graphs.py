"""Bounds of the policies for feedback graphs; where each arm shows itself alone, of the usual bandit."""

from __future__ import annotations

import math

from bothworlds.errors import NotCoveredError
from bothworlds.policies import AdaHedge, Hedge, MatchedTsallis
from bothworlds.policies.graphs.graph import clique_cover
from bothworlds.theory.bounds.statement import (
    ADVERSARIAL,
    SELF_BOUNDING,
    Bound,
    Setting,
    Term,
    states,
)

UNIQUE = "one best arm"
COVER = ("ζ is bounded by the cliques of a greedy cover",)


def _undirected(s: Setting) -> bool:
    """Does each arm show itself, and are two that are shown by one another both?"""
    shows = s.problem.neighbors(s.n_arms)
    return all(i in arms and all(i in shows[j] for j in arms) for i, arms in enumerate(shows))


@states(MatchedTsallis)
def matched_tsallis(policy: MatchedTsallis, s: Setting) -> list[Bound]:
    """O(√(ζT(1 + log(K/ζ)))), and O(ω·log T + √(Cω·log T)) with one best arm; of the paper's constants."""
    if policy.constants != "paper":
        raise NotCoveredError("MatchedTsallis has one with constants='paper'; the light ones are measured")
    if policy.alpha is not None and policy.alpha != MatchedTsallis().alpha_for(s.problem, s.n_arms):
        raise NotCoveredError("MatchedTsallis has one with the alpha that fits the graph, alpha=None")
    if not _undirected(s):
        raise NotCoveredError("the theorem is about undirected graphs in which each arm shows itself")
    source, k = "Ito, Tsuchiya and Honda 2024, Theorem 27", s.n_arms
    zeta, alpha = clique_cover(s.problem, k), policy.alpha_for(s.problem, k)
    worst = math.sqrt(zeta * s.rounds * (1.0 + math.log(k / zeta)))
    bounds = [
        Bound(
            ADVERSARIAL, (Term("worst case", "√(ζT(1+log(K/ζ)))", worst, "main"),), False, source, notes=COVER
        )
    ]
    if s.gaps is not None and s.gaps.n_optimal == 1:
        omega = 2.0 * zeta * (k / zeta) ** (1.0 - alpha) / (alpha * (1.0 - alpha) * s.gaps.smallest_gap)
        log_t = math.log(max(s.rounds, math.e))
        terms = (
            Term("gaps", "ω·log T, ω = 2ζ(K/ζ)^{1−α}/(α(1−α)Δ_min)", omega * log_t, "main"),
            Term("corruption", "√(C·ω·log T)", math.sqrt(s.corruption * omega * log_t), "corruption"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, UNIQUE, COVER))
    return bounds


@states(Hedge)
def hedge(policy: Hedge, s: Setting) -> list[Bound]:
    """(1/c + c/4)·√(T·log K) where all is shown, (1/c + c)·√(KT·log K) where each arm shows itself alone.

    By log K/η_T + Σ η_t·v_t with v = ⅛ for losses in [0, 1] (Hoeffding's lemma) and v = K/2 for estimates,
    with η_t = c·√(log K/t) and c·√(log K/(Kt)).
    """
    k, c = s.n_arms, policy.rate
    if s.shows is None:
        value = (1.0 / c + c) * math.sqrt(k * s.rounds * math.log(k))
        term = Term("worst case", "(1/c + c)·√(KT·log K)", value, "main")
        return [Bound(ADVERSARIAL, (term,), True, "Alon et al. 2017, where no arm shows another")]
    if s.shows != "all":
        raise NotCoveredError("Hedge has one with shows='all', and for bandits")
    value = (1.0 / c + 0.25 * c) * math.sqrt(s.rounds * math.log(k))
    term = Term("worst case", "(1/c + c/4)·√(T·log K)", value, "main")
    bounds = [Bound(ADVERSARIAL, (term,), True, "Freund and Schapire 1997, with a rate for all times")]
    return bounds + _stochastic(s, "Mourtada and Gaïffas 2019")


@states(AdaHedge)
def ada_hedge(policy: AdaHedge, s: Setting) -> list[Bound]:
    """√(T·log K) + (4/3)·log K + 2 where all losses are shown."""
    if s.shows != "all":
        raise NotCoveredError("AdaHedge has one with shows='all'")
    log_k = math.log(s.n_arms)
    terms = (
        Term("worst case", "√(T·log K)", math.sqrt(s.rounds * log_k), "main"),
        Term("start", "(4/3)·log K + 2", 4.0 / 3.0 * log_k + 2.0, "additive"),
    )
    source = "de Rooij, van Erven, Grünwald and Koolen 2014"
    return [Bound(ADVERSARIAL, terms, True, source), *_stochastic(s, source)]


def _stochastic(s: Setting, source: str) -> list[Bound]:
    """O(log K/Δ_min) on iid losses, with one best arm."""
    if s.gaps is None or s.gaps.n_optimal > 1 or s.corruption > 0.0:
        return []
    term = Term("gaps", "log K/Δ_min", math.log(s.n_arms) / s.gaps.smallest_gap, "main")
    return [Bound(SELF_BOUNDING, (term,), False, source, f"iid losses, {UNIQUE}")]
