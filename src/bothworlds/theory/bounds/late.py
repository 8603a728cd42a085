"""Bounds for late feedback, and for switching costs."""

from __future__ import annotations

import math

from bothworlds.errors import NotCoveredError
from bothworlds.policies import DelayedTsallisINF, TsallisSwitch
from bothworlds.theory.bounds.statement import ADVERSARIAL, SELF_BOUNDING, Bound, BoundSetting, Term, states
from bothworlds.theory.bounds.tsallis_inf import UNCORRUPTED, importance_weighted, unique


@states(DelayedTsallisINF, late=True)
def delayed_tsallis_inf(policy: DelayedTsallisINF, s: BoundSetting) -> list[Bound]:
    """Those of Tsallis-INF without delay; else 4√(KT) and a term in the total delay D.

    Without skipping, Theorem 1's proof holds for every rate η that does not grow: regret is at most
    4√(KT) + log K/η_T + Σ_t η_t·σ_t. With 1/η_t = c·√(2·D_t/log K) that is c·√(2·D·log K) for the second term
    and, as Σ_t σ_t/√D_t ≤ 2√D, (2/c)·√(D·log K/2) for the third: √(2·D·log K)·(c + 1/c) together.
    """
    if s.delay == 0.0:
        return importance_weighted(s)
    c, log_k = policy.weight, math.log(s.n_arms)
    worst = Term("worst case", "4·√(KT)", 4.0 * math.sqrt(s.n_arms * s.rounds), "main")
    if not policy.skipping and c > 0.0:
        value = 0.5 * (c + 1.0 / c) * math.sqrt(8.0 * s.delay * log_k)
        late = Term("delay", "½(c + 1/c)·√(8·D·log K)", value, "main")
        notes = () if c == 1.0 else ("stated for c = 1; its proof holds for every weight c > 0",)
        return [Bound(ADVERSARIAL, (worst, late), True, "Zimmert and Seldin 2020, Theorem 1", notes=notes)]
    if policy.skipping and c == 1.0:
        value = 10.0 * max(math.sqrt(s.delay * log_k), 2.0 * log_k)
        late = Term("delay", "10·max{√(D·log K), 2·log K}", value, "main")
        notes = ("with S = ∅: where few pulls have most of the delay, the theorem says more",)
        return [Bound(ADVERSARIAL, (worst, late), True, "Zimmert and Seldin 2020, Theorem 2", notes=notes)]
    raise NotCoveredError(
        "DelayedTsallisINF has one with delay for skipping=True, weight=1 and for skipping=False, weight > 0"
    )


@states(TsallisSwitch)
def tsallis_switch(policy: TsallisSwitch, s: BoundSetting) -> list[Bound]:
    """O((λK)^{1/3}·T^{2/3} + √(KT)), and O(((λK)^{2/3}·T^{1/3} + log T)·Σ 1/Δ_i) with one optimal arm."""
    source, product = "Rouyer, Seldin and Cesa-Bianchi 2021", policy.cost * s.n_arms
    notes = ("for regret with the cost of every switch",)
    worst = (
        Term("switches", "(λK)^{1/3}·T^{2/3}", (product * s.rounds**2) ** (1.0 / 3.0), "main"),
        Term("worst case", "√(KT)", math.sqrt(s.n_arms * s.rounds), "main"),
    )
    bounds = [Bound(ADVERSARIAL, worst, False, source, notes=notes)]
    if unique(s, corrupted=False):
        assert s.gaps is not None
        classic = s.gaps.classic
        switches = (product**2 * s.rounds) ** (1.0 / 3.0) * classic
        terms = (
            Term("switches", "(λK)^{2/3}·T^{1/3}·Σ_V 1/Δ_i", switches, "main"),
            Term("gaps", "Σ_V log T/Δ_i", math.log(s.rounds) * classic, "main"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, UNCORRUPTED, notes))
    return bounds
