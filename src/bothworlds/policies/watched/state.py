"""What the watch knows, and the single numbers in it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bothworlds._jit import FloatArray, kernel


class WatchedParameters(NamedTuple):
    """The policy inside (its type selects its kernels), ε, the share for trials, and the number of arms."""

    policy: Any
    explore: float
    budget: float
    n_arms: int
    centered: bool
    """Are losses compared with their mean ḡ, rather than with 0?"""


class WatchedState(NamedTuple):
    """The policy inside, and what the watch over it knows: eleven numbers per arm."""

    policy: Any
    """The state of the policy inside."""
    fresh: Any
    """That state as it was before the first round."""

    counts: FloatArray
    """n_i: the level of an arm, what it was like while nothing was suspected."""
    sums: FloatArray
    """s_i: the sum of those losses."""
    recent_counts: FloatArray
    """The losses seen since the last renewal, which belong to the level once the suspicion is over."""
    recent_sums: FloatArray
    seen_in: FloatArray
    """The renewal in which these were seen."""

    wealths: FloatArray
    """e^S of the eight CUSUMs: four bets that losses have grown, four that they have shrunk."""
    run_counts: FloatArray
    """For each, the number of losses since it was last at S = 0."""
    run_sums: FloatArray
    """The sum of their differences from the level of their arm."""

    trial_counts: FloatArray
    """The losses seen in the trial."""
    trial_sums: FloatArray
    shares: FloatArray
    """Of the arms that are tried: what they are tried in proportion to; 0 for others."""
    before: FloatArray
    """m_i°: the level before the trial, as a mean."""

    estimates: FloatArray
    """Σ (ℓ − g)/w over the losses seen of each arm: what it would have lost, compared with g, ḡ or 0."""
    p: FloatArray
    """In a trial the distribution in force; else room to work in."""
    scalars: FloatArray
    """The single numbers below."""


RESTARTS = 0  # of the policy inside
SEEN = 1  # losses
SINCE = 2  # those since the last restart
LOSS_SUM = 3
EXCESS = 4  # Σ (ℓ − g) of all losses
RENEWAL = 5  # how often all CUSUMs have been at 0
EXPLORED = 6  # R_b: what the policy's own exploration has cost, as estimated
SPENT = 7  # what the trials have cost
GATE = 8  # a trial may begin if so much is left of what trials may cost
DOUBT = 9  # q: grows with every trial that ends without a restart
GAP = 10  # rounds between poor trials: those that begin with less than 2√K left, or less than the gate
LAST_POOR = 11  # when the last poor trial began
LEFT = 12  # the favorite before the last restart, until the next alarm judges that restart; else NONE
DOUBT_THEN = 13  # q at that restart
# of a trial
FAVORITE = 14  # the arm that has become worse, or NONE: no trial
EXPECTED = 15  # m*: its mean by the run that raised the alarm
RUN = 16  # the number of losses in that run
ALLOWANCE = 17  # what the trial may cost
LENGTH = 18  # losses seen in it
# of all trials
TRIALS = 19  # what they have cost, estimated without bias; gains beyond what was lost are forgotten
N_SCALARS = 20

NONE = -1.0
SHORT_GAP = 500.0  # rounds between the first two poor trials

N_BETS = 8  # a block that losses have grown, a block that they have shrunk
FEW_SAMPLES = 10.0  # an arm's level that was moved by inference, not by samples, counts as so many at most


@kernel
def regret_so_far(state: WatchedState) -> float:
    """R̂: losses seen minus the smallest estimated loss of an arm; g of every round is in both."""
    smallest = state.estimates[0]
    for i in range(1, state.estimates.size):
        smallest = min(smallest, state.estimates[i])
    return float(state.scalars[EXCESS] - smallest)


@kernel
def cap(params: WatchedParameters, state: WatchedState) -> float:
    """√(K·rounds): no restart while the regret so far is above it, no trial while trials have cost more."""
    return math.sqrt(params.n_arms * state.scalars[SEEN])


@kernel
def odds_ratio(mean: float, other: float) -> float:
    """By what the odds of ``other`` are to be multiplied for those of ``mean``."""
    return mean * (1.0 - other) / ((1.0 - mean) * other)


@kernel
def moved(mean: float, ratio: float) -> float:
    """The mean whose odds are ``ratio`` times those of ``mean``: a common shift on the logit scale."""
    return mean * ratio / (1.0 - mean + mean * ratio)
