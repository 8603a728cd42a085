"""The conjecture lab: is the sum that decides the adversarial bound O(√(KT)) for every sequence?

The paper's remark after its learning-rate lemma conjectures, for every β in (0, 1) and every sequence of
distributions,

    Σ_i Σ_{t≤T} (p_i^t)^{1−β} / √(1 + Σ_{s≤t} max(p_i^s, 1/T)^{1−2β}) = O(√(KT)),

which would remove √(log T) from the adversarial bound of β-Tsallis entropy. Here it is evaluated on runs
(:func:`of_trace`), on structured families, and on sequences found by gradient ascent (:func:`search`,
:func:`survey`); :func:`proved` is what a short argument gives.
"""

from bothworlds.theory.conjecture.families import FAMILIES, staggered_limit
from bothworlds.theory.conjecture.lab import Survey, growth_table, report, survey
from bothworlds.theory.conjecture.objective import log_gradient, of_trace, proved, ratio, value
from bothworlds.theory.conjecture.search import Found, search

__all__ = [
    "FAMILIES",
    "Found",
    "Survey",
    "growth_table",
    "log_gradient",
    "of_trace",
    "proved",
    "ratio",
    "report",
    "search",
    "staggered_limit",
    "survey",
    "value",
]
