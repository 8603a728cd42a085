"""Bounds of the policies for linear bandits; all of them where losses are linear in the features."""

from __future__ import annotations

import math

from bothworlds.errors import NotCoveredError
from bothworlds.policies import EXP2, LinearSPM
from bothworlds.theory.bounds.statement import (
    ADVERSARIAL,
    SELF_BOUNDING,
    Bound,
    BoundSetting,
    Term,
    states,
)

LINEAR = "mean losses linear in the features"


@states(LinearSPM)
def linear_spm(policy: LinearSPM, s: BoundSetting) -> list[Bound]:
    """O(√(dT·log K)), and O(d·log K·log T/Δ) with one best arm; of the paper's constants."""
    policy.space(s.n_arms)
    if policy.constants != "paper":
        raise NotCoveredError("LinearSPM has one with constants='paper'; the light ones are measured")
    source, d, log_k = "Ito, Tsuchiya and Honda 2024, Theorem 18", policy.dimension, math.log(s.n_arms)
    worst = Term("worst case", "√(dT·log K)", math.sqrt(d * s.rounds * log_k), "main")
    bounds = [Bound(ADVERSARIAL, (worst,), False, source, LINEAR)]
    if s.gaps is not None and s.gaps.n_optimal == 1:
        omega = d * log_k / s.gaps.smallest_gap
        log_t = math.log(max(s.rounds, math.e))
        terms = (
            Term("gaps", "d·log K·log T/Δ_min", omega * log_t, "main"),
            Term(
                "corruption",
                "√(C·d·log K·log T/Δ_min)",
                math.sqrt(s.corruption * omega * log_t),
                "corruption",
            ),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, f"{LINEAR}, one best arm"))
    return bounds


@states(EXP2)
def exp2(policy: EXP2, s: BoundSetting) -> list[Bound]:
    """½(1/k + 4k(1 + c))·√(dT·log K) + c·d·log K; the docstring of EXP2 has the proof."""
    policy.space(s.n_arms)
    k, c, d, log_k = policy.rate, policy.design.certificate, policy.dimension, math.log(s.n_arms)
    factor = 0.5 * (1.0 / k + 4.0 * k * (1.0 + c))
    terms = (
        Term(
            "worst case",
            "½(1/k + 4k(1+c))·√(dT·log K)",
            factor * math.sqrt(d * s.rounds * log_k),
            "main",
        ),
        Term("start", "c·d·log K", c * d * log_k, "additive"),
    )
    source = "Bubeck, Cesa-Bianchi and Kakade 2012, with a rate for all times"
    return [Bound(ADVERSARIAL, terms, True, source, LINEAR)]
