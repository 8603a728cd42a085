"""Bounds of the other systems, as far as they were read in their papers or derived."""

from __future__ import annotations

import functools
import math

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.errors import NotCoveredError
from bothworlds.policies import (
    BARBAR,
    EXP3,
    EXP3IX,
    EXP3P,
    ITH22,
    KLUCB,
    SAO,
    UCB1,
    Avner,
    BroadOMD,
    EliminationRace,
    EXP3PlusPlus,
    Thompson,
)
from bothworlds.policies.ftrl.rates import log_arms
from bothworlds.policies.shared.confidence import delta_or
from bothworlds.theory.bounds.divergences import bernoulli_divergence
from bothworlds.theory.bounds.statement import (
    ADVERSARIAL,
    SELF_BOUNDING,
    Bound,
    BoundSetting,
    Term,
    states,
)
from bothworlds.theory.bounds.tsallis_inf import UNCORRUPTED, UNIQUE, unique

IID = "iid losses"
CLEAN = ("for regret on the uncorrupted means; its C is the budget, at most what is used here",)


@states(BroadOMD)
def broad_omd(policy: BroadOMD, s: BoundSetting) -> list[Bound]:
    """O(√(K·L*·log T) + K·log T) with L* ≤ T, and O(K·log T/Δ_min)."""
    if policy.anytime or policy.eta > 1.0 / 162.0:
        raise NotCoveredError("BroadOMD has one with eta ≤ 1/162, not anytime")
    source, k, log_t = "Wei and Luo 2018, Theorem 10", s.n_arms, s.log_t
    arms = Term("arms", "K·log T", k * log_t, "additive")
    worst = Term("worst case", "√(KT·log T)", math.sqrt(k * s.rounds * log_t), "main")
    bounds = [
        Bound(ADVERSARIAL, (worst, arms), False, source, notes=("with L* ≤ T, the loss of the best arm",))
    ]
    if unique(s, corrupted=False):
        assert s.gaps is not None
        gap = Term("gaps", "K·log T/Δ_min", s.gaps.crude * log_t, "main")
        bounds.append(Bound(SELF_BOUNDING, (gap,), False, source, UNCORRUPTED))
    return bounds


@states(ITH22)
def ith22(policy: ITH22, s: BoundSetting) -> list[Bound]:
    """O(√(K·log T·E ΣH)): √(KT·log T·log K) always, K·log T·log(KT)/Δ_min with one optimal arm."""
    source, k, log_t = "Ito, Tsuchiya and Honda 2022", s.n_arms, s.log_t
    worst = Term("worst case", "√(KT·log T·log K)", math.sqrt(k * s.rounds * log_t * log_arms(k)), "main")
    bounds = [Bound(ADVERSARIAL, (worst,), False, source)]
    if unique(s):
        assert s.gaps is not None
        gap = s.gaps.crude * log_t * math.log(k * s.horizon)
        terms = (
            Term("gaps", "K·log T·log(KT)/Δ_min", gap, "main"),
            Term("corruption", "√(C·K·log T·log(KT)/Δ_min)", math.sqrt(s.corruption * gap), "corruption"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, UNIQUE))
    return bounds


@states(Avner)
def avner(policy: Avner, s: BoundSetting) -> list[Bound]:
    """O(√(KT·log K)), decoupled."""
    worst = math.sqrt(s.n_arms * s.rounds * math.log(s.n_arms))
    term = Term("worst case", "√(KT·log K)", worst, "main")
    return [Bound(ADVERSARIAL, (term,), False, "Avner, Mannor and Shamir 2012")]


@states(UCB1)
def ucb1(policy: UCB1, s: BoundSetting) -> list[Bound]:
    """8·Σ log T/Δ_i + (1 + π²/3)·Σ Δ_i on iid losses; against an adversary nothing.

    On a graph (UCB-N) the proof holds as it is: an arm is pulled after it was seen 8·log T/Δ_i² times only if
    a mean is off by its bonus, and the union over the counts of *observations* is the same.
    """
    if policy.alpha != 2.0:
        raise NotCoveredError("UCB1 has one with alpha=2")
    if s.gaps is None or s.corruption > 0.0:
        return []
    once = (1.0 + math.pi**2 / 3.0) * s.gaps.total
    terms = (
        Term("gaps", "8·Σ_V log T/Δ_i", 8.0 * math.log(s.rounds) * s.gaps.classic, "main"),
        Term("once", "(1 + π²/3)·Σ_V Δ_i", once, "additive"),
    )
    return [Bound(SELF_BOUNDING, terms, True, "Auer, Cesa-Bianchi and Fischer 2002", IID)]


@states(KLUCB)
def kl_ucb(policy: KLUCB, s: BoundSetting) -> list[Bound]:
    """Σ_V Δ_i·(f/kl(m_i − ε, m* + δ) + 1/(2ε²) + 2/δ² + 3), f = log T + c·log log T, for the best ε, δ.

    The theorem is for the exploration log(1 + t·log²t), which is below log t + 3·log log t from t = 4 on.
    The earlier rounds are at most three plays more.
    """
    if policy.c < 3.0:
        raise NotCoveredError("KLUCB has one with c=3, the exploration of its theorem")
    if s.means is None or s.corruption > 0.0:
        return []
    log_t = math.log(s.rounds)
    level = log_t + policy.c * math.log(max(log_t, 1.0))
    best = min(s.means)
    once, main = 0.0, 0.0
    for mean in s.means:
        if mean > best:
            plays, rest = _kl_ucb_plays(mean, best, level)
            main += (mean - best) * plays
            once += (mean - best) * (rest + 3.0)
    terms = (
        Term("gaps", "Σ_V Δ_i·(log T + c·log log T)/kl(m_i − ε, m* + δ)", main, "main"),
        Term("margins", "Σ_V Δ_i·(1/(2ε²) + 2/δ² + 3)", once, "additive"),
    )
    notes = ("ε and δ are chosen for each arm, on a grid, to make the sum small",)
    return [Bound(SELF_BOUNDING, terms, True, "Lattimore and Szepesvári 2020, Theorem 10.6", IID, notes)]


def _kl_ucb_plays(mean: float, best: float, level: float) -> tuple[float, float]:
    """level/kl(m − ε, b + δ) and 1/(2ε²) + 2/δ², for the margins in the grid with the smallest sum."""
    inverse, rest = _margins(mean, best)
    k = int(np.argmin(level * inverse + rest))
    return level * float(inverse[k]), float(rest[k])


@functools.lru_cache(maxsize=1024)
def _margins(mean: float, best: float) -> tuple[FloatArray, FloatArray]:
    """1/kl and the rest, for ε and δ that are fortieths of the gap with a sum below it."""
    unit = (mean - best) / 40.0
    pairs = [(i * unit, j * unit) for i in range(1, 39) for j in range(1, 40 - i)]
    inverse = np.array([1.0 / bernoulli_divergence(mean - e, best + d) for e, d in pairs])
    return inverse, np.array([0.5 / (e * e) + 2.0 / (d * d) for e, d in pairs])


@states(Thompson)
def thompson(policy: Thompson, s: BoundSetting) -> list[Bound]:
    """(1 + ε)·Σ_V Δ_i·log T/kl(m_i, m*) + O(K/ε²): the leading constant is exact, the rest an order.

    For sets of m arms, m* is the mean of the worst of the best m, and Δ_i the distance to it (one best set).
    """
    unstated = s.means is None or s.corruption > 0.0 or s.shows is not None or s.problem.sizes_differ
    if unstated or (s.most > 1 and s.gaps is not None and s.gaps.n_optimal != s.most):
        return []
    assert s.means is not None
    best = sorted(s.means)[s.most - 1]
    slope = sum((m - best) / bernoulli_divergence(m, best) for m in s.means if m > best)
    terms = (
        Term("gaps", "Σ_V Δ_i·log T/kl(m_i, m*)", slope * math.log(s.rounds), "main"),
        Term("arms", "K", float(s.n_arms), "additive"),
    )
    notes = ("the constant of the first term is exact as T grows: no policy has a smaller one",)
    source = "Agrawal and Goyal 2013" if s.most == 1 else "Komiyama, Honda and Nakagawa 2015"
    return [Bound(SELF_BOUNDING, terms, False, source, IID, notes)]


@states(EXP3)
def exp3(policy: EXP3, s: BoundSetting) -> list[Bound]:
    """2·√(KT·log K)."""
    worst = 2.0 * math.sqrt(s.n_arms * s.rounds * math.log(s.n_arms))
    term = Term("worst case", "2·√(KT·log K)", worst, "main")
    source = "Bubeck and Cesa-Bianchi 2012, Theorem 3.1"
    return [Bound(ADVERSARIAL, (term,), True, source)]


@states(EXP3IX)
def exp3_ix(policy: EXP3IX, s: BoundSetting) -> list[Bound]:
    """O(√(KT·log K) + √(KT/log K)·log(1/δ)) with probability 1 − δ; here integrated over δ."""
    product, log_k = s.n_arms * s.rounds, log_arms(s.n_arms)
    terms = (
        Term("worst case", "√(KT·log K)", math.sqrt(product * math.log(s.n_arms)), "main"),
        Term("tail", "√(KT/log K)", math.sqrt(product / log_k), "main"),
    )
    notes = ("the bound with probability 1 − δ, integrated over δ",)
    return [Bound(ADVERSARIAL, terms, False, "Neu 2015", notes=notes)]


@states(EXP3P)
def exp3_p(policy: EXP3P, s: BoundSetting) -> list[Bound]:
    """5.15·√(KT·log(K/δ)) with probability 1 − δ, T the horizon told; else at most T."""
    delta = delta_or(policy, int(s.horizon))
    worst = 5.15 * math.sqrt(s.n_arms * s.horizon * math.log(s.n_arms / delta))
    terms = (
        Term("worst case", "5.15·√(KT·log(K/δ))", worst, "main"),
        Term("failure", "δ·T", delta * s.horizon, "additive"),
    )
    return [Bound(ADVERSARIAL, terms, True, "Bubeck and Cesa-Bianchi 2012, Theorem 3.2")]


@states(EXP3PlusPlus)
def exp3_plus_plus(policy: EXP3PlusPlus, s: BoundSetting) -> list[Bound]:
    """4·√(KT·log K) always; O(Σ log²T/Δ_i) + Õ(Σ K/Δ_i³) on iid losses."""
    source = "Seldin and Lugosi 2017"
    worst = 4.0 * math.sqrt(s.n_arms * s.rounds * math.log(s.n_arms))
    bounds = [Bound(ADVERSARIAL, (Term("worst case", "4·√(KT·log K)", worst, "main"),), True, source)]
    theorem = policy.alpha == 3.0 and policy.beta == 256.0
    if s.gaps is not None and s.corruption == 0.0 and theorem:
        terms = (
            Term("gaps", "Σ_V log²T/Δ_i", math.log(s.rounds) ** 2 * s.gaps.classic, "main"),
            Term("gaps once", "Σ_V K/Δ_i³", s.n_arms * s.gaps.cubed, "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, IID))
    return bounds


@states(SAO)
def sao(policy: SAO, s: BoundSetting) -> list[Bound]:
    """260·K(1 + log K)·log²β/Δ_min on iid losses, and a √T bound, with T the horizon told."""
    k, t = s.n_arms, s.horizon
    log_beta = float(policy.parameters(k, int(t)).log_beta)
    source, logs = "Bubeck and Slivkins 2012", 1.0 + math.log(k)
    failure = () if policy.delta is None else (Term("failure", "δ·T", policy.delta * t, "additive"),)
    root = math.sqrt(t * k * log_beta + 5.0 * (k * log_beta) ** 2)
    worst = (
        Term(
            "worst case",
            "60(1 + log K)(1 + log T)·√(KT·log β + 5K²·log²β)",
            60.0 * logs * (1.0 + math.log(t)) * root,
            "main",
        ),
        Term("arms", "200·K²·log²β", 200.0 * (k * log_beta) ** 2, "additive"),
        *failure,
    )
    bounds = [Bound(ADVERSARIAL, worst, True, source)]
    if s.gaps is not None and s.corruption == 0.0:
        value = 260.0 * logs * s.gaps.crude * log_beta**2
        gap = Term("gaps", "260·K(1 + log K)·log²β/Δ_min", value, "main")
        bounds.append(Bound(SELF_BOUNDING, (gap, *failure), True, source, IID))
    return bounds


@states(BARBAR)
def barbar(policy: BARBAR, s: BoundSetting) -> list[Bound]:
    """O(K·C + Σ (log T/Δ_i)·log(K·log T/δ)) with probability 1 − δ."""
    if policy.constants != "theory":
        raise NotCoveredError("BARBAR has one with constants='theory'")
    if s.gaps is None:
        return []
    delta = delta_or(policy, int(s.horizon))
    inner = math.log(s.n_arms * s.log_t / delta)
    terms = (
        Term("gaps", "Σ_V log T/Δ_i·log(K·log T/δ)", s.gaps.classic * s.log_t * inner, "main"),
        Term("corruption", "K·C", s.n_arms * s.corruption, "corruption"),
        Term("failure", "δ·T", delta * s.horizon, "additive"),
    )
    return [Bound(SELF_BOUNDING, terms, False, "Gupta, Koren and Talwar 2019", notes=CLEAN)]


@states(EliminationRace)
def elimination_race(policy: EliminationRace, s: BoundSetting) -> list[Bound]:
    """Õ(Σ (K·C + log T)/Δ_i)."""
    if s.gaps is None:
        return []
    g = s.gaps.classic
    terms = (
        Term("gaps", "Σ_V log T/Δ_i", g * s.log_t, "main"),
        Term("corruption", "K·C·Σ_V 1/Δ_i", s.n_arms * s.corruption * g, "corruption"),
    )
    notes = ("up to logarithms", *CLEAN)
    return [Bound(SELF_BOUNDING, terms, False, "Lykouris, Mirrokni and Paes Leme 2018", notes=notes)]
