"""Finding out: a trial of the other arms, after the favorite has become worse.

Two things can have happened. The others have stayed what they were, or have become better: then one of them
may be the best now, and the policy is to start again. Or all have moved together, as in a season: then the
ranking is what it was, and the policy is right. A trial compares the others with the favorite's losses
*inside the trial* (those before it tell of another time), and with both stories.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bothworlds._jit import kernel
from bothworlds.policies.base import begin_again, distribution, weight_of
from bothworlds.policies.shared.kl import kl
from bothworlds.policies.watched.alarm import BASE_BUDGET, move_levels, renew
from bothworlds.policies.watched.state import (
    ALLOWANCE,
    DOUBT,
    DOUBT_THEN,
    EXPECTED,
    EXPLORED,
    FAVORITE,
    GAP,
    GATE,
    LEFT,
    LENGTH,
    NONE,
    RESTARTS,
    RUN,
    SHORT_GAP,
    SINCE,
    SPENT,
    TRIALS,
    WatchedParameters,
    WatchedState,
    cap,
    moved,
    odds_ratio,
    regret_so_far,
)

CONVINCED = 4.0  # h₁ = 4 + q: log-likelihood ratio at which the ranking has changed
SAME = 1.5  # h₂ = 1.5 + 3/(K − 1): at which an arm is dropped; a pair needs more than one arm of many
SAME_FOR_PAIR = 3.0
BACK = 4.0  # at which the favorite is what it was before the alarm
AT_LEAST = 1.0  # log-likelihood ratio of the others against the favorite, where the two stories decide
PRIOR = 3.0  # the run that raised the alarm counts as so many losses of the favorite, at most
SHY, BOLD = -2.0, 3.0  # an arm is tried in proportion to its likelihood ratio, between e^−2 and e^3
ROUNDS_PER_ARM = 400.0  # a trial is over after 400·K rounds and as many as the policy has played
GATE_SHARE = 0.5  # after a trial without result, the next begins with half of what trials may cost in all

# verdicts
GO_ON, CONFIRMED, REJECTED, RETURNED, UNRESOLVED = range(5)


class TrialResult(NamedTuple):
    """What a trial has found so far, from which its verdict follows."""

    level: float
    """m_f: the mean of the favorite in the trial."""
    largest: float
    """max_j Λ_j: by how much an arm is better than the favorite, as a log-likelihood ratio."""
    together: float
    """Λ: by how much all others together are."""
    stayed: float
    """Σ l_j: by how much the others look as they did before, rather than moved with the favorite."""
    cost: float
    """Σ n_j(m_j − m_f): what trying the others has cost, as estimated."""
    tried: float
    """N = Σ n_j: the number of losses of the others in the trial."""
    n_active: float
    """How many arms are still tried."""
    rival: bool
    """Was an arm better before than the favorite is now?"""


@kernel
def kl_either_side(p: float, q: float) -> float:
    """kl(p, q) for q below or above p; :func:`kl` is for q ≤ p."""
    return kl(p, q) if q <= p else kl(1.0 - p, 1.0 - q)


@kernel
def better(n: float, total: float, other_n: float, other_total: float) -> float:
    """Log-likelihood ratio of different means against one: positive if the first mean is the smaller."""
    if n == 0.0 or other_n == 0.0:
        return 0.0
    mean, other = total / n, other_total / other_n
    pooled = (total + other_total) / (n + other_n)
    ratio = n * kl_either_side(mean, pooled) + other_n * kl_either_side(other, pooled)
    return ratio if mean < other else -ratio


@kernel
def charge(params: WatchedParameters, state: WatchedState, arm: int, deviation: float) -> None:
    """Add (1 − p_a/p'_a)(ℓ_a − g), whose mean is <p' − p, ℓ>: what playing p' in place of p has cost.

    Before the policy inside learns: p is that of the draw. (Of late feedback it may be another one's.)
    """
    mixed = state.p[arm]
    if mixed > 0.0:  # or late feedback of an arm that has retired
        share = 1.0 - weight_of(params.policy, state.policy, arm) / mixed
        state.scalars[TRIALS] = max(0.0, state.scalars[TRIALS] + share * deviation)


@kernel
def try_out(params: WatchedParameters, state: WatchedState, arm: int, loss: float) -> None:
    """Take in a loss inside a trial; may end it, and may restart the policy inside."""
    state.scalars[LENGTH] += 1.0
    state.trial_counts[arm] += 1.0
    state.trial_sums[arm] += loss
    result = weigh_trial(params, state)
    verdict = judge(params, state, result)
    if verdict != GO_ON:
        end_trial(params, state, result, verdict)


@kernel
def weigh_trial(params: WatchedParameters, state: WatchedState) -> TrialResult:
    """What the trial says so far; sets the shares of the arms that are tried, to 0 for those dropped."""
    scalars, before = state.scalars, state.before
    favorite = int(scalars[FAVORITE])
    n, total = state.trial_counts[favorite], state.trial_sums[favorite]
    prior = min(scalars[RUN], PRIOR)
    level = (total + prior * scalars[EXPECTED]) / (n + prior)
    ratio = odds_ratio(level, before[favorite])
    same = SAME + SAME_FOR_PAIR / (params.n_arms - 1)
    largest, stayed, tried, tried_total, n_active = -math.inf, 0.0, 0.0, 0.0, 0.0
    rival = False
    for j in range(params.n_arms):
        if j == favorite:
            continue
        rival = rival or before[j] < level
        nj, sj = state.trial_counts[j], state.trial_sums[j]
        if nj > 0.0:
            tried += nj
            tried_total += sj
            mean, held = sj / nj, state.counts[j]
            advantage = better(nj, sj, n, total)
            story = kl_either_side(mean, moved(before[j], ratio)) - kl_either_side(mean, before[j])
            story *= nj * held / (nj + held)
            largest = max(largest, advantage)
            stayed += story
            if advantage <= -same or (mean >= level and story <= -same):
                state.shares[j] = 0.0
            elif state.shares[j] > 0.0:
                state.shares[j] = math.exp(min(max(advantage, SHY), BOLD))
        if state.shares[j] > 0.0:
            n_active += 1.0
    together = better(tried, tried_total, n, total)
    cost = tried_total - tried * level
    return TrialResult(level, largest, together, stayed, cost, tried, n_active, rival)


@kernel
def judge(params: WatchedParameters, state: WatchedState, result: TrialResult) -> int:
    """The verdict on what was found: one of the five above."""
    scalars = state.scalars
    enough = CONVINCED + scalars[DOUBT]
    if (
        result.largest >= enough + math.log(params.n_arms)
        or result.together >= enough
        or (result.stayed >= enough and result.together >= AT_LEAST and result.rival)
    ):
        # what has been lost before a restart cannot be won back after it
        capped = regret_so_far(state) > cap(params, state)
        return UNRESOLVED if capped else CONFIRMED
    if result.n_active == 0.0:
        return REJECTED
    favorite = int(scalars[FAVORITE])
    n = state.trial_counts[favorite]
    if n > 0.0:
        mean = state.trial_sums[favorite] / n
        if (
            n * (kl_either_side(mean, scalars[EXPECTED]) - kl_either_side(mean, state.before[favorite]))
            >= BACK
        ):
            return RETURNED
    chance = math.sqrt(result.tried * result.level * (1.0 - result.level))
    if (
        result.cost - chance > scalars[ALLOWANCE]
        or scalars[TRIALS] > cap(params, state)
        or scalars[LENGTH] > ROUNDS_PER_ARM * params.n_arms + scalars[SINCE]
    ):
        return REJECTED if result.stayed < 0.0 and result.together < 0.0 else UNRESOLVED
    return GO_ON


@kernel
def end_trial(params: WatchedParameters, state: WatchedState, result: TrialResult, verdict: int) -> None:
    """Bring the levels up to date with the verdict; a confirmed change restarts the policy inside."""
    scalars = state.scalars
    favorite = int(scalars[FAVORITE])
    scalars[FAVORITE] = NONE
    scalars[SPENT] += max(0.0, result.cost)
    if verdict == CONFIRMED:
        restart_inside(params, state, favorite)
        return
    scalars[DOUBT] += 1.0
    if verdict == UNRESOLVED:
        may_cost = params.budget * scalars[EXPLORED] + BASE_BUDGET * math.sqrt(params.n_arms)
        scalars[GATE] = GATE_SHARE * may_cost
        return
    if verdict == REJECTED:
        move_levels(state, favorite, result.level)
        state.counts[favorite] = 0.0
        state.sums[favorite] = 0.0
    for i in range(params.n_arms):
        state.counts[i] += state.trial_counts[i]
        state.sums[i] += state.trial_sums[i]


@kernel
def restart_inside(params: WatchedParameters, state: WatchedState, favorite: int) -> None:
    """The policy inside starts again, told the losses of the trial; all levels are forgotten."""
    scalars = state.scalars
    count, total = 0.0, 0.0
    for i in range(params.n_arms):
        count += state.trial_counts[i]
        total += state.trial_sums[i]
        state.counts[i] = 0.0
        state.sums[i] = 0.0
        state.recent_counts[i] = 0.0
        state.recent_sums[i] = 0.0
    begin_again(params.policy, state.policy, state.fresh, total, count)
    renew(state)
    scalars[RESTARTS] += 1.0
    scalars[SINCE] = 0.0
    scalars[LEFT] = favorite
    scalars[DOUBT_THEN] = scalars[DOUBT]
    scalars[GAP] = SHORT_GAP
    scalars[GATE] = 0.0


@kernel
def mix_in_shares(params: WatchedParameters, state: WatchedState) -> None:
    """p' = (1 − ε)·p + ε·u, u in proportion to the shares of the arms that are tried."""
    distribution(params.policy, state.policy, state.p)
    total = 0.0
    for i in range(params.n_arms):
        total += state.shares[i]
    for i in range(params.n_arms):
        state.p[i] = (1.0 - params.explore) * state.p[i] + params.explore * state.shares[i] / total
