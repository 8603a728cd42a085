"""Bounds of what learns more than which arm is best: whom to trust, and what to do in every state."""

from __future__ import annotations

import math

from bothworlds.bandit import Advised, PolicyOptimization
from bothworlds.errors import NotCoveredError
from bothworlds.theory.bounds.statement import (
    ADVERSARIAL,
    SELF_BOUNDING,
    Bound,
    BoundSetting,
    Term,
    states,
)


@states(Advised)
def advised(bandit: Advised, s: BoundSetting) -> list[Bound]:
    """Regret to the best of N experts, M arms: 2√(MT·log N) for EXP4, and best of both worlds for matching.

    EXP4, with η_t = √(log N/(Mt)) and estimates ℓ̂ ≥ 0: by e^{−x} ≤ 1 − x + x²/2 for x ≥ 0, with rates that do
    not grow, Σ_t <q, ℓ̂> − ℓ̂_i ≤ log N/η_T + ½·Σ_t η_t·<q, ℓ̂²>. And E<q, ℓ̂²> ≤ Σ_J Σ_i q_i·φ_{i,J}²/P_J ≤
    Σ_J Σ_i q_i·φ_{i,J}/P_J = M. So regret is at most √(MT·log N) + ½·√(M·log N)·Σ_t t^{−1/2} ≤ 2√(MT·log N).
    """
    n, m = s.n_arms, len(bandit.arms)
    log_n = math.log(n)
    if bandit.method == "exp4":
        value = 2.0 * math.sqrt(m * s.rounds * log_n)
        source = "Auer, Cesa-Bianchi, Freund and Schapire 2002, with a rate for all times"
        return [Bound(ADVERSARIAL, (Term("worst case", "2√(MT·log N)", value, "main"),), True, source)]
    if bandit.method != "spm-paper":
        raise NotCoveredError("Advised has one with method='exp4' or 'spm-paper'; the light one is measured")
    source = "Ito, Tsuchiya and Honda 2024, Theorem 29"
    worst = Term("worst case", "√(MT·log N)", math.sqrt(m * s.rounds * log_n), "main")
    bounds = [Bound(ADVERSARIAL, (worst,), False, source)]
    if s.gaps is not None and s.gaps.n_optimal == 1:
        alpha = 1.0 - 0.25 / log_n
        omega = m * n ** (1.0 - alpha) / (alpha * (1.0 - alpha) * s.gaps.smallest_gap)
        log_t = math.log(max(s.rounds, math.e))
        terms = (
            Term("gaps", "ω·log T, ω = M·N^{1−α}/(α(1−α)Δ_min)", omega * log_t, "main"),
            Term("corruption", "√(C·ω·log T)", math.sqrt(s.corruption * omega * log_t), "corruption"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, "one best expert"))
    return bounds


@states(PolicyOptimization)
def policy_optimization(learner: PolicyOptimization, s: BoundSetting) -> list[Bound]:
    """O(√(H³·S·A·T·log T)) for T episodes, of the paper's constants."""
    if learner.constants != "paper":
        raise NotCoveredError(
            "PolicyOptimization has one with constants='paper'; the light ones are measured"
        )
    depth = len(learner.probabilities)
    value = math.sqrt(depth**3 * s.n_arms * s.rounds * math.log(max(s.rounds, math.e)))
    term = Term("worst case", "√(H³·SA·T·log T)", value, "main")
    note = "of leading order; the gap-dependent bound of its docstring is not evaluated"
    return [Bound(ADVERSARIAL, (term,), False, "Dann, Wei and Zimmert 2023", notes=(note,))]
