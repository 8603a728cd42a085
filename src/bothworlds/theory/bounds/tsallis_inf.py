"""Bounds of Tsallis-INF and of Ito's log-barrier policy, all with explicit constants."""

from __future__ import annotations

import math

from bothworlds.policies import INF, Ito21, TsallisINF, TsallisINFOracle
from bothworlds.theory.bounds.statement import ADVERSARIAL, SELF_BOUNDING, Bound, BoundSetting, Term, states

UNIQUE = "one optimal arm"
UNCORRUPTED = "one optimal arm, no corruption"


def unique(s: BoundSetting, *, corrupted: bool = True) -> bool:
    """Are there gaps with one optimal arm (and, unless ``corrupted``, no corruption)?"""
    return s.gaps is not None and s.gaps.n_optimal == 1 and (corrupted or s.corruption == 0.0)


@states(TsallisINF)
def tsallis_inf_bounds(policy: TsallisINF, s: BoundSetting) -> list[Bound]:
    """Zimmert and Seldin's, and for importance weighting Ito's for several optimal arms."""
    return reduced_variance(s) if policy.estimator == "rv" else importance_weighted(s)


def importance_weighted(s: BoundSetting) -> list[Bound]:
    """4√(KT) + 1 always; Σ_V (4·log T + 68)/Δ_i + 4√K; and without uniqueness Ito's Theorem 2."""
    source, root = "Zimmert and Seldin 2019, IW", math.sqrt(s.n_arms * s.rounds)
    worst = (Term("worst case", "4·√(KT)", 4.0 * root, "main"), Term("one", "1", 1.0, "additive"))
    bounds = [Bound(ADVERSARIAL, worst, True, source)]
    if s.gaps is None:
        return bounds
    if unique(s, corrupted=False):
        log_rounds = math.log(s.rounds)  # no horizon is told: the bound at any round
        terms = (
            Term("gaps", "4·Σ_V log T/Δ_i", 4.0 * log_rounds * s.gaps.classic, "main"),
            Term("gaps once", "68·Σ_V 1/Δ_i", 68.0 * s.gaps.classic, "additive"),
            Term("arms", "4·√K", 4.0 * math.sqrt(s.n_arms), "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, True, source, UNCORRUPTED))
    bounds.append(several_optimal_arms(s, s.gaps.classic))
    return bounds


def several_optimal_arms(s: BoundSetting, classic: float) -> Bound:
    """Ito's Theorem 2, R ≤ Σ_t (5/√t)·E Σ_V √p_i + 10K + D, solved for R under the condition.

    By 5·√(p/t) ≤ z·p·Δ + 25/(4zΔt), Σ_{t≤T} 1/t ≤ 1 + log T and the condition, for every z in (0, 1)

        R ≤ z(R + C) + B/z + W,   B = (25/4)(1 + log T)·Σ_V 1/Δ_i,   W = 10K + D;

    the best z gives R ≤ 2B + W + 2·√(B(B + C + W)). The last root is split into what it is with
    C = D = 0, what D adds and what C adds.
    """
    b = 6.25 * (1.0 + math.log(s.rounds)) * classic
    w, c, d = 10.0 * s.n_arms, s.corruption, s.spread
    clean = 2.0 * math.sqrt(b * (b + w))
    spread = 2.0 * math.sqrt(b * (b + w + d))
    full = 2.0 * math.sqrt(b * (b + w + d + c))
    terms = (
        Term("gaps", "4B, B = (25/4)(1 + log T)·Σ_V 1/Δ_i", 4.0 * b, "main"),
        Term(
            "corruption", "2√B·(√(B + 10K + D + C) − √(B + 10K + D))", max(0.0, full - spread), "corruption"
        ),
        Term("spread", "D + 2√B·(√(B + 10K + D) − √(B + 10K))", d + max(0.0, spread - clean), "spread"),
        Term("arms", "10K + 2√B·(√(B + 10K) − √B)", w + clean - 2.0 * b, "additive"),
    )
    notes = ("Theorem 2 bounds the regret by plays of suboptimal arms; the last step is derived here",)
    return Bound(SELF_BOUNDING, terms, True, "Ito 2021, Theorem 2", notes=notes)


def reduced_variance(s: BoundSetting) -> list[Bound]:
    """2√(KT) + 14K·log T + 16 always, and with one optimal arm a bound in X, C and K·log T."""
    k, log_t = s.n_arms, math.log(s.rounds)
    source = "Zimmert and Seldin 2021, RV"
    worst = (
        Term("worst case", "2·√(KT)", 2.0 * math.sqrt(k * s.rounds), "main"),
        Term("arms", "14K·log T", 14.0 * k * log_t, "additive"),
        Term("constant", "16", 16.0, "additive"),
    )
    printed = "its statement prints 10K·log T, its proof gives 14"
    bounds = [Bound(ADVERSARIAL, worst, True, source, notes=(printed,))]
    if unique(s):
        assert s.gaps is not None
        x = (log_t + 3.0) * s.gaps.classic + 2.0 / s.gaps.smallest_gap
        c = s.corruption
        cost = c if c <= x else 2.0 * math.sqrt(x * c) - x
        terms = (
            Term("gaps", "X = Σ_V (log T + 3)/Δ_i + 2/Δ_min", x, "main"),
            Term("corruption", "C, or 2·√(X·C) − X where C > X", cost, "corruption"),
            Term("arms", "28K·log T", 28.0 * k * log_t, "additive"),
            Term("constant", "1.5·√K + 32", 1.5 * math.sqrt(k) + 32.0, "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, True, source, UNIQUE))
    return bounds


@states(INF)
def inf(policy: INF, s: BoundSetting) -> list[Bound]:
    """√(8KT), T the horizon told: rates do not grow."""
    worst = Term("worst case", "√(8KT)", math.sqrt(8.0 * s.n_arms * s.horizon), "main")
    return [Bound(ADVERSARIAL, (worst,), True, "Audibert and Bubeck 2009")]


@states(Ito21)
def ito21(policy: Ito21, s: BoundSetting) -> list[Bound]:
    """R ≤ a·√(log T)·Σ_{i≠i*} √(E Σ_t p_i) + W, W = 3K·log T; a = 6, and 3 for predictions fixed at ½."""
    a = 3.0 if policy.eta == 0.0 else 6.0
    k, log_t, source = s.n_arms, s.log_t, "Ito 2021, Algorithm 1"
    w = 3.0 * k * log_t
    worst = (
        Term("worst case", f"{a:g}·√((K−1)T·log T)", a * math.sqrt((k - 1) * s.rounds * log_t), "main"),
        Term("arms", "3K·log T", w, "additive"),
    )
    bounds = [Bound(ADVERSARIAL, worst, True, source)]
    if unique(s):
        assert s.gaps is not None
        g = s.gaps.classic * log_t
        clean, full = a * math.sqrt(g * w), a * math.sqrt(g * (w + s.corruption))
        terms = (
            Term("gaps", f"{a * a:g}·Σ_V log T/Δ_i", a * a * g, "main"),
            Term(
                "corruption",
                f"{a:g}√(Σ_V log T/Δ_i)·(√(C + 3K·log T) − √(3K·log T))",
                full - clean,
                "corruption",
            ),
            Term("arms", f"3K·log T + {a:g}√(3K·log T·Σ_V log T/Δ_i)", w + clean, "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, True, source, UNIQUE))
    return bounds


@states(TsallisINFOracle)
def oracle(policy: TsallisINFOracle, s: BoundSetting) -> list[Bound]:
    """O(Σ log T/Δ_i) for every power, given the gaps."""
    if not unique(s, corrupted=False):
        return []
    assert s.gaps is not None
    term = Term("gaps", "Σ_V log T/Δ_i", s.log_t * s.gaps.classic, "main")
    return [Bound(SELF_BOUNDING, (term,), False, "Zimmert and Seldin 2021, Theorem 4", UNCORRUPTED)]
