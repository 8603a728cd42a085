"""The paper's own theorems: three regularizers, and the decoupled problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from bothworlds.errors import NotCoveredError
from bothworlds.policies import FTRL, DecoupledTsallisINF, TsallisINF
from bothworlds.policies.ftrl.kernel import FTRLParameters
from bothworlds.policies.ftrl.rates import PaperRateParameters
from bothworlds.simplex.regularizers import LogBarrier, Regularizer, Shannon, Tsallis
from bothworlds.theory.bounds.statement import (
    ADVERSARIAL,
    SELF_BOUNDING,
    Bound,
    BoundSetting,
    Term,
    states,
)
from bothworlds.theory.bounds.tsallis_inf import tsallis_inf_bounds

PAPER = "Jin, Liu and Luo 2023"
NAMED: tuple[Literal["paper", "printed"], ...] = ("paper", "printed")


@dataclass(frozen=True)
class Shape:
    """What the theorem of one regularizer is made of.

    Attributes
    ----------
    theorem:
        Its number.
    factor, factor_text:
        x, such that the self-bounding quantities are S₁(#U·x) and S₂(x).
    adversarial, adversarial_text:
        The main term of the bound that always holds.
    additive:
        The terms W.
    start:
        What the first round adds to PreCost, which W absorbs.
    log_barrier:
        C_log.
    notes:
        What errata say.
    """

    theorem: str
    factor: float
    factor_text: str
    adversarial: float
    adversarial_text: str
    additive: tuple[Term, ...]
    start: Term | None
    log_barrier: float
    notes: tuple[str, ...] = ()


def _same(one: Any, other: FTRLParameters) -> bool:
    """Do two policies play the same, but for rounding of their constants?"""
    if not isinstance(one, FTRLParameters):
        return False
    parts = ((one.regularizer, other.regularizer), (one.estimator, other.estimator))
    if any(type(a) is not type(b) or a != b for a, b in parts) or type(one.rate) is not type(other.rate):
        return False
    numbers = [(one.log_barrier, other.log_barrier), (one.rate.theta, other.rate.theta)]
    if isinstance(one.rate, PaperRateParameters):  # else α = ½, and one rate for all arms
        numbers.append((one.rate.alpha, other.rate.alpha))
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in numbers)


def covered(policy: FTRL, s: BoundSetting) -> tuple[Regularizer, float, tuple[str, ...]]:
    """Regularizer, C_log and notes, if a theorem has exactly this policy's numbers; else NotCoveredError."""
    regularizer, n, horizon = policy.regularizer, s.n_arms, int(s.horizon)
    refusal = (
        "FTRL has one with constants='paper' (or 'printed') and the "
        "regularizer LogBarrier(), Tsallis(beta) or Shannon()"
    )
    if not isinstance(regularizer, LogBarrier | Tsallis | Shannon):
        raise NotCoveredError(refusal)
    mine = policy.parameters(n, horizon)
    if not any(
        _same(mine, FTRL(regularizer, constants=name).parameters(n, max(2, horizon))) for name in NAMED
    ):
        raise NotCoveredError(refusal)
    needed = regularizer.constants("paper", n).log_barrier
    notes: tuple[str, ...] = ()
    if mine.log_barrier < needed:
        notes = (
            f"as printed, with C = {mine.log_barrier:.4g}; the lemmas need C ≥ {needed:.4g}, "
            "which constants='paper' takes",
        )
    return regularizer, float(mine.log_barrier), notes


def shape(regularizer: Regularizer, log_barrier: float, s: BoundSetting) -> Shape:
    """The theorem in numbers."""
    k, t, log_t = s.n_arms, s.rounds, s.log_t
    barrier = Term("log-barrier", "C_log·K·log T", log_barrier * k * log_t, "additive")
    if isinstance(regularizer, LogBarrier):
        residual = Term("residual", "K²/√(log T)", k**2 / math.sqrt(log_t), "additive")
        return Shape(
            "Theorem 3.1 (log-barrier)",
            log_t,
            "log T",
            math.sqrt(k * t * log_t),
            "√(KT·log T)",
            (residual, barrier),
            None,
            log_barrier,
        )
    if isinstance(regularizer, Shannon):
        residual = Term("residual", "K²·(log T)^(3/2)", k**2 * log_t**1.5, "additive")
        return Shape(
            "Theorem 3.2 (Shannon)",
            log_t**2,
            "log²T",
            math.sqrt(k * t) * log_t,
            "√(KT)·log T",
            (residual, barrier),
            None,
            log_barrier,
        )
    assert isinstance(regularizer, Tsallis)
    beta = regularizer.beta
    product = beta * (1.0 - beta)
    residual = Term("residual", "K²·√β/(1−β)^(3/2)", k**2 * math.sqrt(beta) / (1 - beta) ** 1.5, "additive")
    half = beta == 0.5
    return Shape(
        f"Theorem 3.3 (Tsallis, β = {beta:g})",
        log_t / product,
        "log T/(β(1−β))",
        math.sqrt(k * t * (1.0 if half else log_t) / product),
        "√(KT/(β(1−β)))" if half else "√(KT·log T/(β(1−β)))",
        (residual, barrier),
        Term("start", "K/√(β(1−β))", k / math.sqrt(product), "additive"),
        log_barrier,
    )


@states(FTRL)
def ftrl(policy: FTRL, s: BoundSetting) -> list[Bound]:
    """Theorems 3.1 to 3.3; for the numbers of Tsallis-INF, what is known of that."""
    mine, other = (one.parameters(s.n_arms, int(s.horizon)) for one in (policy, TsallisINF()))
    if _same(mine, other):
        return tsallis_inf_bounds(TsallisINF(), s)
    regularizer, log_barrier, notes = covered(policy, s)
    form = shape(regularizer, log_barrier, s)
    source = f"{PAPER}, {form.theorem}"
    main = Term("worst case", form.adversarial_text, form.adversarial, "main")
    bounds = [Bound(ADVERSARIAL, (main, *form.additive), False, source, notes=notes)]
    if s.gaps is not None:
        gaps = s.gaps.paper * form.factor
        terms = (
            Term("gaps", f"𝔾·{form.factor_text}", gaps, "main"),
            Term("corruption", f"√(C·𝔾·{form.factor_text})", math.sqrt(s.corruption * gaps), "corruption"),
            Term("spread", "D", s.spread, "spread"),
            *form.additive,
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, notes=notes))
    return bounds


@states(DecoupledTsallisINF)
def decoupled(policy: DecoupledTsallisINF, s: BoundSetting) -> list[Bound]:
    """Theorem 3.4, and for the original scale Rouyer and Seldin's constants."""
    k, root = s.n_arms, math.sqrt(s.n_arms * s.rounds)
    source = f"{PAPER}, Theorem 3.4 (decoupled)"
    bounds: list[Bound] = []
    notes: tuple[str, ...] = ()
    if policy.scale == "original":
        bounds += _rouyer_seldin(s, root)
        notes = ("stated for θ = K^(1/6), scale='paper'; the original θ is ¾ of it",)
    else:
        worst = Term("worst case", "√(KT)", root, "main")
        bounds.append(Bound(ADVERSARIAL, (worst,), False, source))
    if s.gaps is not None:
        gap = s.gaps.decoupled
        terms = (
            Term("gaps", "√(K·Σ_V 1/Δ_i²)", gap, "main"),
            Term("corruption", "√C·(K·Σ_V 1/Δ_i²)^(1/4)", math.sqrt(s.corruption * gap), "corruption"),
            Term("spread", "D", s.spread, "spread"),
            Term("arms", "K", float(k), "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, False, source, notes=notes))
    return bounds


def _rouyer_seldin(s: BoundSetting, root: float) -> list[Bound]:
    source = "Rouyer and Seldin 2020"
    worst = (Term("worst case", "4.25·√(KT)", 4.25 * root, "main"), Term("one", "1", 1.0, "additive"))
    bounds = [Bound(ADVERSARIAL, worst, True, source)]
    if s.gaps is not None and s.gaps.n_optimal == 1 and s.corruption == 0.0:
        k, g = s.n_arms, s.gaps
        larger = max(math.sqrt(85.0 * g.classic), 17.0 / math.sqrt(g.smallest_gap))
        terms = (
            Term(
                "gaps",
                "8·√(K/Δ_min)·max(√(85·Σ_V 1/Δ_i), 17/√Δ_min)",
                8.0 * math.sqrt(k / g.smallest_gap) * larger,
                "main",
            ),
            Term("arms", "13·√K", 13.0 * math.sqrt(k), "additive"),
        )
        bounds.append(Bound(SELF_BOUNDING, terms, True, source, "one optimal arm, no corruption"))
    return bounds
