"""Bounds of the policies for sets of arms; sets of one arm are the usual bandit. Regret is to the best set.

Gaps are the distances of the arms to the worst of the best m. All but CombUCB1's assume that the best set is
the only one: as many gaps of 0 as arms are chosen.

Where sets have different sizes, m is the most that are chosen, and an arm that is left out has the loss
``outside``, ℓ₀. The papers have losses in [−1, 1] (HYBRID) or [0, 1] (LBINFV) and an action set X ⊂ {0, 1}^K
of any kind. Subtracting ℓ₀ from all losses makes the empty set cost 0; for HYBRID that is the paper's own
case with ℓ₀ = ½, and otherwise the same proof, whose stability term E[ℓ̂²] ≤ ℓ²/p + 2ℓℓ₀ + ℓ₀² is of the same
order; for LBINFV the proof reads losses only as ℓ − m, which a shift of both leaves as it is.
"""

from __future__ import annotations

import math

from bothworlds.errors import NotCoveredError
from bothworlds.policies import LBINFV, CombUCB1, HybridINF
from bothworlds.theory.bounds.statement import (
    ADVERSARIAL,
    SELF_BOUNDING,
    Bound,
    BoundSetting,
    Term,
    states,
)

UNIQUE_SET = "one best set"
IID = "iid losses"


def _unique(s: BoundSetting) -> bool:
    return s.gaps is not None and s.gaps.n_optimal == s.choose


def distances(s: BoundSetting) -> tuple[list[float], list[float]]:
    """By how much means are over the loss of leaving an arm out, and by how much others are under it."""
    assert s.means is not None
    gaps = [mean - s.outside for mean in s.means]
    return [gap for gap in gaps if gap > 0.0], [-gap for gap in gaps if gap < 0.0]


def smallest_difference(s: BoundSetting) -> float:
    """What the best set is ahead of the next one, which differs by one arm more, less, or other; NaN: none.

    Were several exchanges needed, each alone would lead to a set that is allowed too, and not be better.
    """
    assert s.means is not None
    fewest, most = s.problem.sizes(s.n_arms)
    means = sorted(s.means)
    size = max(fewest, min(most, sum(mean < s.outside for mean in means)))
    inside, rest = means[:size], means[size:]
    found = [other - mean for mean in inside for other in rest]
    if size > fewest:
        found += [s.outside - mean for mean in inside]
    if size < most:
        found += [mean - s.outside for mean in rest]
    return min((gap for gap in found if gap > 0.0), default=math.nan)


@states(HybridINF)
def hybrid_inf(policy: HybridINF, s: BoundSetting) -> list[Bound]:
    """O(√(mKT)), for m > K/2 O((K−m)·√(T·log(K/(K−m)))); O(Σ (log T + log²K)/Δ_i) on iid losses."""
    source, k, m, rest = "Zimmert, Luo and Wei 2019", s.n_arms, s.most, s.n_arms - s.most
    if 2 * m <= k or s.problem.sizes_differ:
        worst = Term("worst case", "√(mKT)", math.sqrt(m * k * s.rounds), "main")
    else:
        value = rest * math.sqrt(s.rounds * math.log(k / rest))
        worst = Term("worst case", "(K−m)·√(T·log(K/(K−m)))", value, "main")
    bounds = [Bound(ADVERSARIAL, (worst,), False, source)]
    if s.choose == "any" and s.means is not None and s.outside not in s.means:
        over, under = distances(s)
        terms = (
            Term("arms to leave", "Σ log T/Δ_i", sum(1.0 / gap for gap in over) * s.log_t, "main"),
            Term("arms to choose", "Σ 1/|Δ_i|", sum(1.0 / gap for gap in under), "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, f"{source}, Theorem 2", IID))
    if _unique(s) and s.corruption == 0.0:
        assert s.gaps is not None
        terms = (
            Term("gaps", "Σ_V log T/Δ_i", s.gaps.classic * math.log(max(s.rounds, math.e)), "main"),
            Term("arms", "Σ_V log²K/Δ_i", s.gaps.classic * math.log(k) ** 2, "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, UNIQUE_SET))
    return bounds


@states(LBINFV)
def lb_inf_v(policy: LBINFV, s: BoundSetting) -> list[Bound]:
    """√(4K·min{L*, mT − L*, Q}·log T), and (Σ_V max{8σ_i²/Δ_i, 2(1+ε)} + 2(1+ε)m)·log T, to leading order."""
    source, k, m, log_t = "Tsuchiya, Ito and Honda 2023", s.n_arms, s.most, s.log_t
    if s.problem.sizes_differ:  # whose L* is shifted: with Σα ≤ mT
        worst = Term("worst case", "√(4KmT·log T)", math.sqrt(4.0 * k * m * s.rounds * log_t), "main")
        return [Bound(ADVERSARIAL, (worst,), False, source, notes=("terms of lower order are left out",))]
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
def comb_ucb1(policy: CombUCB1, s: BoundSetting) -> list[Bound]:
    """O(mK·log T/Δ_min) and O(√(mKT·log T)) on iid losses; against an adversary nothing."""
    if policy.alpha != 1.5:
        raise NotCoveredError("CombUCB1 has one with alpha=1.5")
    if s.problem.sizes_differ:
        smallest = math.nan if s.means is None else smallest_difference(s)
    else:
        smallest = math.nan if s.gaps is None else s.gaps.smallest_gap
    if math.isnan(smallest) or s.corruption > 0.0:
        return []
    source, log_t = "Kveton, Wen, Ashkan and Szepesvári 2015", math.log(max(s.rounds, math.e))
    gap = Term("gaps", "mK·log T/Δ_min", s.most * s.n_arms * log_t / smallest, "main")
    free = Term("without gaps", "√(mKT·log T)", math.sqrt(s.most * s.n_arms * s.rounds * log_t), "main")
    return [Bound(SELF_BOUNDING, (term,), False, source, IID) for term in (gap, free)]
