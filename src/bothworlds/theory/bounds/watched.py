"""The bound of a watch over Tsallis-INF, proved on the page "What a watch may cost"."""

from __future__ import annotations

import math

from bothworlds.errors import NotCoveredError
from bothworlds.policies import TsallisINF, Watched
from bothworlds.theory.bounds.statement import ADVERSARIAL, Bound, BoundSetting, Term, states


@states(Watched)
def watched(policy: Watched, s: BoundSetting) -> list[Bound]:
    """√(Kτ) + (2 + 2B)·√(K(T−τ)) at the worst τ, √(KT) + 1 for trials, B·K^¼·√T for chance; B = 1/(1−ε)."""
    if policy.policy != TsallisINF():
        raise NotCoveredError("Watched has one over TsallisINF()")
    root, growth = math.sqrt(s.n_arms * s.rounds), 1.0 / (1.0 - policy.explore)
    epochs = math.hypot(1.0, 2.0 + 2.0 * growth) * root
    chance = growth * s.n_arms**0.25 * math.sqrt(s.rounds)
    terms = (
        Term("last epoch and before", "√(1 + (2 + 2B)²)·√(KT), B = 1/(1−ε)", epochs, "main"),
        Term("trials", "√(KT)", root, "main"),
        Term("chance", "B·K^¼·√T", chance, "main"),
        Term("one", "1", 1.0, "additive"),
    )
    notes = ("for feedback that comes at once; the same with any number of restarts",)
    return [Bound(ADVERSARIAL, terms, True, "docs/watch-proof.md", notes=notes)]
