"""Noticing: eight CUSUMs compare every loss with the level of its arm.

A CUSUM is the logarithm of a wealth. A bettor who holds that the losses of an arm have mean at most u stakes
against a growth with a factor 1 + λ(ℓ − u), whose expectation is then at most 1; bets that losses have
shrunk mirror it. The wealth is set back to 1 whenever it falls below. Kept as a product it costs no
logarithm.

What was seen since the last *renewal*, when all wealths were at 1, may already belong to a changed world: it
waits beside the levels until the next renewal clears it, or an alarm drops it.
"""

from __future__ import annotations

import math
from typing import Any

from bothworlds._jit import kernel
from bothworlds._simd import all_at_most, each_at_most, fill, least, load, make_block, most, store
from bothworlds.policies.base import distribution, weight_of
from bothworlds.policies.watched.state import (
    ALLOWANCE,
    DOUBT,
    DOUBT_THEN,
    EXPECTED,
    EXPLORED,
    FAVORITE,
    FEW_SAMPLES,
    GAP,
    GATE,
    LAST_POOR,
    LEFT,
    LENGTH,
    N_BETS,
    NONE,
    RENEWAL,
    RUN,
    SEEN,
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

MAJORITY = 0.5  # an arm with more probability than this is the favorite
LEARN_FIRST = 30.0  # an arm's level is learned from so many losses before it is compared with anything
SURE = 1.5  # bets are against the level plus so many standard errors: what is not known of it is no change
STAKES = (0.1, 0.2, 0.4, 0.8)  # λσ: for changes of so many standard deviations
MOST_AT_STAKE = 0.9  # a bet loses no more of the wealth
ALARM = math.exp(2.0)  # e^2·(1 + t) is enough for an alarm: S ≥ 2 + log(1 + t), which false ones seldom reach
WAITING = 50.0  # samples beyond twice the level's that may wait; then they are the level
BASE_BUDGET = 2.0  # √K times this is what trials may cost before anything was explored
SHARE_OF_GAIN = 0.25  # of what the policy has won over the best fixed arm, trials may use so much


@kernel(inline=True)
def compare_with_level(params: WatchedParameters, state: WatchedState, arm: int, loss: float) -> None:
    """Compare a loss outside trials with the level of its arm, and add it there; may begin a trial."""
    scalars, counts, sums = state.scalars, state.counts, state.sums
    favorite = arm  # as in most rounds
    if weight_of(params.policy, state.policy, arm) <= MAJORITY:
        favorite = favorite_of(params, state)
    if state.seen_in[arm] != scalars[RENEWAL]:
        add_recent(state, arm)
        state.seen_in[arm] = scalars[RENEWAL]
    n = counts[arm]
    if arm != favorite and n > 0.0 and counts[favorite] > 0.0:
        scalars[EXPLORED] += max(0.0, sums[arm] / n - sums[favorite] / counts[favorite])
    if n < LEARN_FIRST:
        counts[arm] += 1.0
        sums[arm] += loss
        return
    state.recent_counts[arm] += 1.0
    state.recent_sums[arm] += loss
    calm, alarmed = bet(state, n, sums[arm] / n, loss)
    if calm:
        scalars[RENEWAL] += 1.0
    elif state.recent_counts[arm] > 2.0 * n + WAITING:
        renew(state)
    elif alarmed:
        answer(params, state, favorite)


@kernel(inline=True)
def bet(state: WatchedState, n: float, level: float, loss: float) -> tuple[bool, bool]:
    """Bet on a loss; say whether all wealths are back at 1, and whether one may be enough for an alarm."""
    deviation = math.sqrt(max(level * (1.0 - level), 1.0 / n))
    margin = SURE * deviation / math.sqrt(n)
    high, low = min(1.0, level + margin), max(0.0, level - margin)
    stakes = make_block(STAKES[0], STAKES[1], STAKES[2], STAKES[3]) / deviation
    grown = load(state.wealths, 0) * (1.0 + least(stakes, fill(MOST_AT_STAKE / high)) * (loss - high))
    shrunk = load(state.wealths, 4) * (1.0 - least(stakes, fill(MOST_AT_STAKE / (1.0 - low))) * (loss - low))
    keep(state, 0, grown, loss - level)
    keep(state, 4, shrunk, loss - level)
    highest = most(grown, shrunk)
    calm = all_at_most(highest, fill(1.0))
    return calm, not all_at_most(highest, fill(ALARM * (1.0 + state.scalars[SINCE])))


@kernel(inline=True)
def keep(state: WatchedState, at: int, wealths: Any, residual: float) -> None:
    """Four wealths, set back to 1 where they are below, with the number and sum of residuals since then."""
    back = each_at_most(wealths, fill(1.0))
    going = 1.0 - back
    store(state.wealths, at, going * wealths + back)
    store(state.run_counts, at, going * (load(state.run_counts, at) + 1.0))
    store(state.run_sums, at, going * (load(state.run_sums, at) + residual))


@kernel
def favorite_of(params: WatchedParameters, state: WatchedState) -> int:
    """The arm with the largest probability."""
    distribution(params.policy, state.policy, state.p)
    favorite = 0
    for i in range(1, params.n_arms):
        if state.p[i] > state.p[favorite]:
            favorite = i
    return favorite


@kernel(inline=True)
def add_recent(state: WatchedState, arm: int) -> None:
    """What waits beside the level of an arm becomes part of it."""
    state.counts[arm] += state.recent_counts[arm]
    state.sums[arm] += state.recent_sums[arm]
    state.recent_counts[arm] = 0.0
    state.recent_sums[arm] = 0.0


@kernel
def renew(state: WatchedState) -> None:
    """Set all CUSUMs back to 0; what waits beside the levels is cleared."""
    state.scalars[RENEWAL] += 1.0
    for k in range(N_BETS):
        state.wealths[k] = 1.0
        state.run_counts[k] = 0.0
        state.run_sums[k] = 0.0


@kernel
def answer(params: WatchedParameters, state: WatchedState, favorite: int) -> None:
    """Alarm, if doubt allows: find out by a trial whether others have become better than the favorite.

    If losses have shrunk there is nothing to find out: the favorite has become better.
    """
    scalars = state.scalars
    first = 0
    for k in range(1, N_BETS):
        if state.wealths[k] > state.wealths[first]:
            first = k
    worse = first < N_BETS // 2
    doubt = scalars[DOUBT] if worse else 0.0
    if state.wealths[first] <= ALARM * (1.0 + scalars[SINCE]) * math.exp(doubt):
        return
    if scalars[LEFT] != NONE:  # a restart that led back to the arm it had left was a mistake
        scalars[DOUBT] = scalars[DOUBT_THEN] + 2.0 if scalars[LEFT] == favorite else 0.0
        scalars[LEFT] = NONE
    for i in range(params.n_arms):
        if state.seen_in[i] == scalars[RENEWAL]:
            state.recent_counts[i] = 0.0
            state.recent_sums[i] = 0.0
        add_recent(state, i)
        state.before[i] = (state.sums[i] + 0.5) / (state.counts[i] + 1.0)
    run = state.run_counts[first]
    edge = 0.5 / (run + 1.0)
    expected = min(max(state.before[favorite] + state.run_sums[first] / run, edge), 1.0 - edge)
    renew(state)
    if worse:
        begin_trial(params, state, favorite, expected, run)
    else:
        move_levels(state, favorite, expected)
        state.counts[favorite] = run
        state.sums[favorite] = run * expected


@kernel
def move_levels(state: WatchedState, favorite: int, mean: float) -> None:
    """All levels but that of the favorite, as if they had moved with it to ``mean``, and not well known."""
    ratio = odds_ratio(mean, state.before[favorite])
    for i in range(state.counts.size):
        if i != favorite:
            state.counts[i] = min(state.counts[i], FEW_SAMPLES)
            state.sums[i] = state.counts[i] * moved(state.before[i], ratio)


@kernel
def begin_trial(
    params: WatchedParameters, state: WatchedState, favorite: int, expected: float, run: float
) -> None:
    """Begin a trial, if enough is left of what trials may cost, or if the last poor one was long ago."""
    scalars = state.scalars
    least_budget = BASE_BUDGET * math.sqrt(params.n_arms)
    gain = max(0.0, -regret_so_far(state))
    left_to_spend = params.budget * scalars[EXPLORED] + least_budget - scalars[SPENT] + SHARE_OF_GAIN * gain
    paid = left_to_spend >= scalars[GATE]
    if params.n_arms == 1 or not (paid or scalars[SEEN] - scalars[LAST_POOR] >= scalars[GAP]):
        return
    if scalars[TRIALS] > cap(params, state):
        return
    if not paid or left_to_spend < least_budget:
        scalars[LAST_POOR] = scalars[SEEN]
        scalars[GAP] *= 2.0
    scalars[FAVORITE] = favorite
    scalars[EXPECTED] = expected
    scalars[RUN] = run
    scalars[ALLOWANCE] = left_to_spend if paid else least_budget
    scalars[LENGTH] = 0.0
    for i in range(params.n_arms):
        state.trial_counts[i] = 0.0
        state.trial_sums[i] = 0.0
        state.shares[i] = 0.0 if i == favorite else 1.0
