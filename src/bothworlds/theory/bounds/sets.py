"""Bounds of the policies for sets of m arms; m = 1 is the usual bandit. Regret is to the best fixed set.

Gaps are the distances of the arms to the worst of the best m. All but CombUCB1's assume that the best set is
the only one: as many gaps of 0 as arms are chosen.
"""

from __future__ import annotations

import math

from bothworlds.errors import NotCoveredError
from bothworlds.policies import LBINFV, CombUCB1, HybridINF
from bothworlds.theory.bounds.statement import (
    ADVERSARIAL,
    SELF_BOUNDING,
    Bound,
    Setting,
    Term,
    states,
)

UNIQUE_SET = "one best set"
IID = "iid losses"


def _unique(s: Setting) -> bool:
    return s.gaps is not None and s.gaps.n_optimal == s.choose


@states(HybridINF)
def hybrid_inf(policy: HybridINF, s: Setting) -> list[Bound]:
    """O(√(mKT)), for m > K/2 O((K−m)·√(T·log(K/(K−m)))); O(Σ (log T + log²K)/Δ_i) on iid losses."""
    source, k, m, rest = "Zimmert, Luo and Wei 2019", s.n_arms, s.choose, s.n_arms - s.choose
    if 2 * m <= k:
        worst = Term("worst case", "√(mKT)", math.sqrt(m * k * s.rounds), "main")
    else:
        value = rest * math.sqrt(s.rounds * math.log(k / rest))
        worst = Term("worst case", "(K−m)·√(T·log(K/(K−m)))", value, "main")
    bounds = [Bound(ADVERSARIAL, (worst,), False, source)]
    if _unique(s) and s.corruption == 0.0:
        assert s.gaps is not None
        terms = (
            Term("gaps", "Σ_V log T/Δ_i", s.gaps.classic * math.log(max(s.rounds, math.e)), "main"),
            Term("arms", "Σ_V log²K/Δ_i", s.gaps.classic * math.log(k) ** 2, "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, UNIQUE_SET))
    return bounds


@states(LBINFV)
def lb_inf_v(policy: LBINFV, s: Setting) -> list[Bound]:
    """√(4K·min{L*, mT − L*, Q}·log T), and (Σ_V max{8σ_i²/Δ_i, 2(1+ε)} + 2(1+ε)m)·log T, to leading order."""
    source, k, m, log_t = "Tsuchiya, Ito and Honda 2023", s.n_arms, s.choose, s.log_t
    worst = Term("worst case", "√(2KmT·log T)", math.sqrt(2.0 * k * m * s.rounds * log_t), "main")
    notes = ("with min{L*, mT − L*} ≤ mT/2, L* the loss of the best set; terms of lower order are left out",)
    bounds = [Bound(ADVERSARIAL, (worst,), False, source, notes=notes)]
    if _unique(s):
        assert s.gaps is not None
        least = 2.0 * (1.0 + policy.epsilon)
        gap = least * (s.gaps.classic + m) * log_t
        terms = (
            Term("gaps", "2(1+ε)·(Σ_V 1/Δ_i + m)·log T", gap, "main"),
            Term("corruption", "√(C·m·R)", math.sqrt(s.corruption * m * gap), "corruption"),
        )
        notes = ("with variances σ_i² ≤ ¼, max{8σ_i²/Δ_i, 2(1+ε)} ≤ 2(1+ε)/Δ_i; lower orders are left out",)
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, UNIQUE_SET, notes))
    return bounds


@states(CombUCB1)
def comb_ucb1(policy: CombUCB1, s: Setting) -> list[Bound]:
    """O(mK·log T/Δ_min) and O(√(mKT·log T)) on iid losses; against an adversary nothing."""
    if policy.alpha != 1.5:
        raise NotCoveredError("CombUCB1 has one with alpha=1.5")
    if s.gaps is None or s.corruption > 0.0:
        return []
    source, log_t = "Kveton, Wen, Ashkan and Szepesvári 2015", math.log(max(s.rounds, math.e))
    gap = Term("gaps", "mK·log T/Δ_min", s.choose * s.n_arms * log_t / s.gaps.smallest_gap, "main")
    free = Term("without gaps", "√(mKT·log T)", math.sqrt(s.choose * s.n_arms * s.rounds * log_t), "main")
    return [Bound(SELF_BOUNDING, (term,), False, source, IID) for term in (gap, free)]
