"""The paper's lemmas, each as a check of one account, and what a check finds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bothworlds._jit import FloatArray, IntArray
from bothworlds.policies.ftrl.ftrl import FTRL
from bothworlds.policies.ftrl.rates import CommonRateParameters, PaperRateParameters, log_horizon
from bothworlds.simplex.divergence import divergences_of, profile_of
from bothworlds.simplex.regularizers.log_barrier import LogBarrierParameters
from bothworlds.simplex.regularizers.shannon import ShannonParameters
from bothworlds.simplex.regularizers.tsallis import TsallisParameters
from bothworlds.theory.accounting.accounts import Account
from bothworlds.theory.accounting.ledger import ftrl_of

# Every margin is relative to the size of what is compared. p is exact to about 1e-14 (more where the step is
# ill-conditioned: 100 times that at β = 0.99), divergences add a few roundings, and a round sums up K
# of them: what is equal, or has the sign zero, on paper may be off by this much and no more.
ROUNDING = 1e-12


class Finding(NamedTuple):
    """The worst margin of a check (negative: violated), the rounds looked at, and a number seen."""

    margin: float
    rounds: int
    seen: float = np.nan


def equal(left: FloatArray, right: FloatArray, scale: FloatArray) -> Finding:
    """How far two sides of an equation are apart: a margin of −1e-16 is as good as it gets."""
    defect = np.abs(left - right) / np.maximum(scale, np.finfo(float).tiny)
    return Finding(-float(defect.max(initial=0.0)), int(defect.size), float(defect.max(initial=0.0)))


def at_most(left: FloatArray, right: FloatArray, scale: FloatArray) -> Finding:
    """The smallest slack of left ≤ right."""
    slack = (right - left) / np.maximum(scale, np.finfo(float).tiny)
    return Finding(float(slack.min(initial=np.inf)), int(slack.size))


def within(ratio: FloatArray, limit: float) -> Finding:
    """The slack of ratio ≤ limit relative to the limit; the largest ratio is what was seen."""
    largest = float(np.max(ratio, initial=-np.inf))
    return Finding((limit - largest) / limit if np.isfinite(largest) else np.inf, int(ratio.size), largest)


def _regularizer(account: Account) -> Any:
    return ftrl_of(account.parameters).regularizer


def _has_theorem(account: Account) -> bool:
    """Whether the constants are those of a theorem for plain bandits."""
    return isinstance(account.policy, FTRL) and account.policy.constants in ("paper", "printed")


def decomposition(account: Account) -> Finding:
    """total − benchmark = suboptimal + optimal + residual (− gap, if decoupled)."""
    t = account.terms
    names = ("total", "benchmark", "suboptimal", "optimal", "residual", "gap")
    scale = np.sum([np.abs(t[name]) for name in names], axis=0)
    right = t["suboptimal"] + t["optimal"] + t["residual"] - t["gap"]
    return equal(t["total"] - t["benchmark"], right, scale)


def suboptimal_parts(account: Account) -> Finding:
    """suboptimal = stability + penalty."""
    t = account.terms
    scale = np.abs(t["suboptimal"]) + np.abs(t["stability"]) + np.abs(t["penalty"])
    return equal(t["suboptimal"], t["stability"] + t["penalty"], scale)


def ito_lemma_16(account: Account) -> Finding:
    """<ℓ̂^t, p^t − q̃^t> = D^{t,t+1}(p^t, p^{t+1}) + D^t(q̃^t, p^t) − D^{t,t+1}(q̃^t, p^{t+1})."""
    early, late = account.rates[:-1], account.rates[1:]
    here, reg, barrier = account.q_tilde[:-1], _regularizer(account), account.log_barrier
    from_p = divergences_of(reg, here, account.p[:-1], early, early, barrier).sum(axis=1)
    # the skew with γ^{t+1} − γ^t itself, not with the difference of the rounded rates; ψ(0) = 0 where C = 0
    values = np.where(here > 0.0, profile_of(reg, np.where(here > 0.0, here, 1.0))[0], 0.0)
    from_next = divergences_of(reg, here, account.p[1:], late, late, barrier) - account.growths * values
    from_next = from_next.sum(axis=1)
    regret = (account.estimates * (account.p[:-1] - here)).sum(axis=1)
    total = account.terms["total"]
    scale = np.abs(regret) + np.abs(total) + np.abs(from_p) + np.abs(from_next)
    return equal(regret, total + from_p - from_next, scale)


def optimal_arms(account: Account) -> Finding:
    """D_U^{t,t+1}(p^t, p̄^{t+1}) ≤ D_U^{t,t+1}(q^t, q^{t+1}) in every round."""
    benchmark, optimal = account.terms["benchmark"], account.terms["optimal"]
    scale = np.abs(benchmark) + np.abs(optimal + benchmark)
    return at_most(optimal, np.zeros_like(optimal), scale)


def ratios(account: Account) -> tuple[float, float]:
    """The smallest and the largest of p^{t+1}/p^t and p̄^{t+1}/p^t."""
    both = np.stack([account.p[1:], account.p_bar]) / account.p[:-1]
    return float(both.min()), float(both.max())


def multiplicative(account: Account) -> Finding | None:
    """½ ≤ p^{t+1}/p^t ≤ 2 and the same for p̄^{t+1}; the margin is 1 at equality and 0 at ½ or 2."""
    if not _has_theorem(account):
        return None
    low, high = ratios(account)
    margin = 1.0 + min(math.log2(low), -math.log2(high))
    return Finding(margin, len(account), low if -math.log2(low) > math.log2(high) else high)


def multipliers(account: Account) -> Finding:
    """The four bounds on λ_U, λ_V and λ_K in terms of the Hessians before and after the round."""
    whole = np.arange(account.n_arms)
    grown, still = account.growths, np.zeros_like(account.growths)
    on_v = still if account.decoupled else grown
    mixed = grown.copy()
    mixed[:, account.suboptimal] = on_v[:, account.suboptimal]
    end = account.p[1:] if account.p_tilde is None else account.p_tilde
    sides = (
        ("U", account.optimal, account.p_bar, grown),
        ("V", account.suboptimal, account.p_bar, on_v),
        ("K", whole, end, mixed),
    )
    # one scale for the round: where nothing is lost on V, λ_V is zero but for the rounding of the others
    scale = _scale(account, mixed)
    return min(_multiplier(account, *side, scale) for side in sides)


def _hessian(account: Account, rates: FloatArray, x: FloatArray) -> FloatArray:
    return rates * profile_of(_regularizer(account), x)[2] + account.log_barrier / x**2


def _scale(account: Account, growths: FloatArray) -> FloatArray:
    """What λ_K is a mean of, by absolute value, plus all multipliers."""
    weights = 1.0 / _hessian(account, account.rates[:-1], account.p[:-1])
    first = profile_of(_regularizer(account), account.p[:-1])[1]
    sizes = weights * (np.abs(growths * first) + np.abs(account.estimates))
    total = sizes.sum(axis=1) / weights.sum(axis=1)
    return np.asarray(total + sum(np.abs(account.multipliers[side]) for side in "UVK"))


def _multiplier(
    account: Account, side: str, arms: IntArray, end: FloatArray, growths: FloatArray, scale: FloatArray
) -> Finding:
    reg = _regularizer(account)
    p, q = account.p[:-1, arms], end[:, arms]
    grown, early = growths[:, arms], account.rates[:-1, arms]
    late = early + grown
    first_p, first_q = profile_of(reg, p)[1], profile_of(reg, q)[1]
    c = account.multipliers[side]
    found = []
    for sign, rates, x, first in (
        (1.0, late, p, first_p),
        (1.0, early, p, first_q),
        (-1.0, early, q, first_q),
        (-1.0, late, q, first_p),
    ):
        weights = 1.0 / _hessian(account, rates, x)
        bound = (weights * (grown * first + account.estimates[:, arms])).sum(axis=1) / weights.sum(axis=1)
        found.append(at_most(sign * c, sign * bound, scale))
    return min(found)


def stability(account: Account) -> Finding | None:
    """stability ≤ B·Σ_V ℓ̂_i²/w_i, w the Hessian of φ^t at p^t: B = 8 if C ≥ 162, 1 for Tsallis without C."""
    reg, arms = _regularizer(account), account.suboptimal
    bare = (
        isinstance(reg, TsallisParameters) and account.log_barrier == 0.0 and (account.estimates >= 0.0).all()
    )
    if not (_has_theorem(account) or bare):
        return None
    p = account.p[:-1, arms]
    norm = (account.estimates[:, arms] ** 2 / _hessian(account, account.rates[:-1, arms], p)).sum(axis=1)
    values = account.terms["stability"]
    hit = norm > 0.0  # where nothing was lost on V, stability is −D ≤ 0
    calm = at_most(values[~hit], np.zeros_like(values[~hit]), np.abs(values[~hit]))
    bound = within(values[hit] / norm[hit], 1.0 if bare else 8.0)
    return Finding(bound.margin if calm.margin >= 0.0 else calm.margin, len(account), bound.seen)


def penalty(account: Account) -> Finding | None:
    """What growing rates cost on V: nothing for the log-barrier, else at most B times a sum over V."""
    reg, arms, values = _regularizer(account), account.suboptimal, account.terms["penalty"]
    n, rates = len(account), account.rates[1:, arms]
    if account.decoupled:
        rounds = np.arange(1, n + 1)
        reference = (account.rates[0, 0] / np.sqrt(rounds + 1.0)) * (account.p[1:, arms] ** (2 / 3)).sum(
            axis=1
        )
        return within(values / reference, 3.0)
    if not _has_theorem(account):
        return None
    if isinstance(reg, LogBarrierParameters):
        return at_most(values, np.zeros(n), np.abs(values))
    clipped = np.maximum(account.p[:-1, arms], 1.0 / (account.horizon or n))
    if isinstance(reg, TsallisParameters):
        reference = (clipped ** (1.0 - reg.beta) / (reg.beta * rates)).sum(axis=1)
        return within(values / reference, 2.0)
    if isinstance(reg, ShannonParameters):
        limit = 2.0 * (1.0 + 1.0 / log_horizon(account.horizon or n))
        return within(values / (1.0 / rates).sum(axis=1), limit)
    return None


def rate_sum_ratio(x: FloatArray, alpha: float, weights: FloatArray | None = None) -> FloatArray:
    """Σ_t x_t^{1−α}a_t/√(1 + Σ_{s≤t} x_s^{1−2α}) over √(Σ x_t a_t²·log(1 + Σ x_t^{1−2α})), column by column.

    The learning-rate lemma says that it is at most 2.
    """
    a = np.ones_like(x) if weights is None else weights
    inner = 1.0 + np.cumsum(x ** (1.0 - 2.0 * alpha), axis=0)
    left = (x ** (1.0 - alpha) * a / np.sqrt(inner)).sum(axis=0)
    return np.asarray(left / np.sqrt((x * a**2).sum(axis=0) * np.log(inner[-1])))


def learning_rates(account: Account) -> Finding | None:
    """The learning-rate lemma, constant 2, on x_t = max(p_i^t, 1/T) of every arm."""
    rate = ftrl_of(account.parameters).rate
    if not isinstance(rate, PaperRateParameters | CommonRateParameters):
        return None
    alpha = rate.alpha if isinstance(rate, PaperRateParameters) else 0.5
    clipped = np.maximum(account.p[:-1], 1.0 / (account.horizon or len(account)))
    found = within(rate_sum_ratio(clipped, alpha), 2.0)
    return found._replace(rounds=len(account))


def self_bounding(account: Account, gaps: ArrayLike, regret: FloatArray | None = None) -> Finding:
    """S₁ ≤ z·R + 1/(4z·Δ_min) and S₂ ≤ z·R + Σ_V 1/(4z·Δ_i) at the best z, up to every round.

    R is the regret (plus C, where there is corruption) up to each round; by default Σ_t <p^t, Δ>, what
    it is in a world with these gaps.
    """
    delta = np.asarray(gaps, dtype=np.float64)[account.suboptimal]
    if regret is None:
        regret = np.cumsum(account.p[:-1, account.suboptimal] @ delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = account.s1 / np.sqrt(regret / delta.min())
        second = account.s2 / np.sqrt(regret * (1.0 / delta).sum())
    ratio = np.nan_to_num(np.maximum(first, second), nan=np.inf)
    return within(ratio, 1.0)


def group_multiplicative(account: Account) -> Finding | None:
    """Σ p̄^{4/3} ≤ 2(1+1/t)²·Σ p^{4/3} over U, and ≤ 8·Σ p^{4/3} over V, for the decoupled policy."""
    reg = _regularizer(account)
    if not account.decoupled or not isinstance(reg, TsallisParameters):
        return None
    power = 2.0 - reg.beta
    t = np.arange(1, len(account) + 1)
    limits = {0: 2.0 * (1.0 + 1.0 / t) ** 2, 1: np.full(t.size, 8.0)}
    found = []
    for side, arms in enumerate((account.optimal, account.suboptimal)):
        ratio = (account.p_bar[:, arms] ** power).sum(axis=1) / (account.p[:-1, arms] ** power).sum(axis=1)
        found.append((float(((limits[side] - ratio) / limits[side]).min()), float(ratio.max())))
    return Finding(min(margin for margin, _ in found), len(account), max(seen for _, seen in found))


def preprocessing_parts(account: Account) -> dict[str, float]:
    """What the cost of preprocessing is made of, over the whole run; the parts add up to it exactly.

    start = D^1(q̃^1, p^1), end = −D^{n+1}(q̃^{n+1}, p^{n+1}); optimal and suboptimal are what φ_U and
    φ_V at q̃ gain on φ_U at q (the paper's B_1 and B_2); drift = −ε·Σ_t <L̂_U^{t+1}, q^{t+1} − q^t>.
    """
    reg, barrier, q, q_tilde = _regularizer(account), account.log_barrier, account.q, account.q_tilde

    def phi(x: FloatArray, t: int, arms: IntArray) -> float:
        if (x[arms] == 0.0).all():
            return 0.0  # the decoupled q̃ on V: ψ(0) = 0 and there is no barrier
        values = account.rates[t, arms] * profile_of(reg, x[arms])[0]
        return float(values.sum() - (barrier * np.log(x[arms]).sum() if barrier else 0.0))

    def far(t: int) -> float:
        rates = account.rates[t]
        return float(divergences_of(reg, q_tilde[t], account.p[t], rates, rates, barrier).sum())

    u, v, n = account.optimal, account.suboptimal, len(account)
    sums = np.cumsum(account.estimates, axis=0)[:, u]
    return {
        "start": far(0),
        "end": -far(n),
        "optimal": phi(q_tilde[n], n, u) - phi(q_tilde[0], 0, u) - phi(q[n], n, u) + phi(q[0], 0, u),
        "suboptimal": phi(q_tilde[n], n, v) - phi(q_tilde[0], 0, v),
        "drift": -account.epsilon * float((sums * np.diff(q[:, u], axis=0)).sum()),
    }


def preprocessing(account: Account) -> Finding:
    """Σ_t preprocessing is the sum of its parts, and drift ≤ ε·Σ_t <ℓ̂_U^t, 1>."""
    parts = preprocessing_parts(account)
    values = account.terms["preprocessing"]
    scale = sum(abs(part) for part in parts.values()) + np.abs(values).sum()
    same = equal(np.array([values.sum()]), np.array([sum(parts.values())]), np.array([scale]))
    limit = account.epsilon * account.estimates[:, account.optimal].sum()
    drift = at_most(np.array([parts["drift"]]), np.array([limit]), np.array([scale]))
    return Finding(min(same.margin, drift.margin), len(account), same.seen)
