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
    BoundSetting,
    Term,
    states,
)

UNIQUE = "one best arm"
COVER = ("ζ is bounded by the cliques of a greedy cover",)


def _undirected(s: BoundSetting) -> bool:
    """Does each arm show itself, and are two that are shown by one another both?"""
    shows = s.problem.neighbors(s.n_arms)
    return all(i in arms and all(i in shows[j] for j in arms) for i, arms in enumerate(shows))


@states(MatchedTsallis)
def matched_tsallis(policy: MatchedTsallis, s: BoundSetting) -> list[Bound]:
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
def hedge(policy: Hedge, s: BoundSetting) -> list[Bound]:
    """(1/c + c/4)·√(T·log K) where all is shown, (1/c + c)·√(KT·log K) where each arm shows itself alone.

    *Proof.* With rates that never grow, the mix losses −(1/η_t)·log Σ p_i·e^{−η_t·ℓ_i} add up to at most
    L_i + log K/η_T for every i, since −(1/η)·log((1/K)·Σ e^{−η·L_i}) falls in η. So regret is at most
    log K/η_T + Σ δ_t, δ the mixability gap: at most η_t/8 for losses in [0, 1] (Hoeffding's lemma), and
    E δ_t ≤ ½·η_t·E Σ p_i·ℓ̂_i² ≤ η_t·K/2 for estimates that are not negative. η_t = c·√(log K/t) and
    c·√(log K/(Kt)), with Σ 1/√t ≤ 2√T, give the above.

    *On iid losses* with one best arm, O(log K/Δ): the rounds up to t₀ = a·log K/Δ² cost at most that with
    T = t₀, which is O(log K/Δ). In a later round p_i ≤ e^{−η_t·D_i}, D_i the lead of the best arm over i,
    which is below tΔ_i/2 with probability at most e^{−tΔ_i²/8}. So arm i costs at most
    Δ_i·(e^{−cΔ_i·√(t·log K)/2} + e^{−tΔ_i²/8}) then; with a = max(16/c², 16) both are at most K^{−2} at t₀,
    and their sums from t₀ on are O(1/(K·Δ_i)), in all O(1/Δ).
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
    if s.gaps is not None and s.gaps.n_optimal == 1 and s.corruption == 0.0:
        term = Term("gaps", "log K/Δ_min", math.log(k) / s.gaps.smallest_gap, "main")
        source = "Mourtada and Gaïffas 2019"
        bounds.append(Bound(SELF_BOUNDING, (term,), False, source, f"iid losses, {UNIQUE}"))
    return bounds


@states(AdaHedge)
def ada_hedge(policy: AdaHedge, s: BoundSetting) -> list[Bound]:
    """√(T·log K) + (4/3)·log K + 2 where all losses are shown; with one best arm, a number for any T.

    De Rooij et al. prove R ≤ 2·√(V·log K) + c with c = (4/3)·log K + 2 and V = Σ_t v_t, v_t the variance of
    the losses under p_t, whatever they are; V ≤ T/4 is the first bound. In short, for D = Σ δ_t: as for Hedge
    R ≤ log K/η_T + D ≤ 2D. By Bernstein's inequality δ_t/η_t ≤ v_t/2 + δ_t/3, and log K/η_t is the sum of the
    gaps before, so D² = Σ (2·δ_t·log K/η_t + δ_t²) ≤ V·log K + ((2/3)·log K + 1)·D.

    *The second.* Let i be the best arm, Δ its gap and C the corruption. The variance of ℓ under p is at most
    E_p(ℓ − ℓ_i)² ≤ 1 − p_i, and E Σ(1 − p_i) ≤ (R + C)/Δ for the expected regret R. With a = log K/Δ and
    Jensen's inequality R ≤ 2·√(a·(R + C)) + c, so √(R + C) ≤ √a + √(a + c + C), and
    R ≤ 2a + c + 2·√(a·(a + c + C)) ≤ 4a + 2c + 2·√(aC).
    """
    if s.shows != "all":
        raise NotCoveredError("AdaHedge has one with shows='all'")
    log_k = math.log(s.n_arms)
    terms = (
        Term("worst case", "√(T·log K)", math.sqrt(s.rounds * log_k), "main"),
        Term("start", "(4/3)·log K + 2", 4.0 / 3.0 * log_k + 2.0, "additive"),
    )
    source = "de Rooij, van Erven, Grünwald and Koolen 2014"
    bounds = [Bound(ADVERSARIAL, terms, True, source)]
    if s.gaps is not None and s.gaps.n_optimal == 1:
        a = log_k / s.gaps.smallest_gap
        with_gaps = (
            Term("gaps", "4·log K/Δ_min", 4.0 * a, "main"),
            Term("corruption", "2·√(C·log K/Δ_min)", 2.0 * math.sqrt(a * s.corruption), "corruption"),
            Term("start", "(8/3)·log K + 4", 8.0 / 3.0 * log_k + 4.0, "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, with_gaps, True, f"{source}, and V ≤ Σ(1 − p)", UNIQUE))
    return bounds
