"""Tsallis-INF for feedback that comes late: a second regularizer follows the number of outstanding pulls."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import (
    Policy,
    act,
    before_draw,
    distribution,
    init,
    inspect,
    learn,
    memo_of,
    step,
    weight_of,
)
from bothworlds.policies.ftrl.aliases import TsallisINF, half_tsallis
from bothworlds.policies.ftrl.kernel import RECENTER, FTRLParameters, recenter
from bothworlds.policies.ftrl.rates import log_arms
from bothworlds.policies.ftrl.state import DRIFT, LEARNED, FTRLState
from bothworlds.policies.wrapper import passes_on
from bothworlds.settings import NonNegative
from bothworlds.simplex.kernel import CONVERGED, FAILED
from bothworlds.simplex.regularizers import Shannon
from bothworlds.simplex.regularizers.hybrid import HybridParameters
from bothworlds.simplex.regularizers.shannon import ShannonParameters
from bothworlds.simplex.steps import MULTIPLIER
from bothworlds.simplex.steps.base import general

WINDOW = 65_536  # rounds: a pull that has waited for so long does not count any more, where pulls are skipped
BITS = 32  # rounds in a number


class DelayedParameters(NamedTuple):
    """Tsallis-INF, Shannon entropy, and what makes 1/η = weight·√(factor·D/log K)."""

    ftrl: FTRLParameters
    entropy: ShannonParameters
    weight: float
    factor: float
    log_arms: float
    skipping: bool


class DelayedState(NamedTuple):
    """That of Tsallis-INF, single numbers, and which pulls after ``CUT`` have had their feedback, in bits."""

    ftrl: FTRLState
    scalars: FloatArray
    answered: FloatArray


DRAWN = 0  # t, the round of the last draw
DELAY = 1  # D, the sum over rounds of the outstanding pulls that counted
COUNTED = 2  # outstanding pulls that count
CUT = 3  # pulls up to this round do not count: they have had their feedback, or were skipped
SOLVED = 4  # 1 if p is that of the draw to come
STATUS = 5  # of the solver before a draw, which the next step reports
N_SCALARS = 6


@dataclass(frozen=True, repr=False)
class DelayedTsallisINF(Policy, name="delayed-tsallis-inf"):
    """Tsallis-INF with late feedback, of Zimmert and Seldin: safe whatever the delays are.

    In round t, with L the sum of ℓ/p over the feedback that has come (p that of its draw), it plays

        p^t = argmin <p, L> − 2√t·Σ_i √p_i + (1/η_t)·Σ_i p_i·log p_i .

    1/η grows with the outstanding pulls. Let σ_t be their number in round t and D_t = σ_1 + … + σ_t, then

    * ``skipping=False``: 1/η_t = c·√(2·D_t/log K), c the ``weight``;
    * ``skipping=True``: 1/η_t = c·√(D_t/log K), and a pull that has been outstanding for more than
      √(D_t/log K) rounds does not count in σ any more. Its feedback is used all the same if it comes.

    It needs to know neither delays nor horizon; feedback may never come. As long as none is late, it is
    Tsallis-INF, bit by bit.

    Parameters
    ----------
    skipping:
        Whether pulls that are outstanding for very long are left out. If feedback gets lost, it should be.
    weight:
        c ≥ 0. 1 is that of the theorems; less trusts in delays that do no harm; 0 is :class:`TsallisINF`.

    Notes
    -----
    Proved, with D = Σ d_s the total delay, against any adversary that does not look at the draws:

    * ``skipping=False``: regret ≤ 4√(KT) + ½(c + 1/c)·√(8·D·log K) for any weight c > 0;
    * ``skipping=True, weight=1``: regret ≤ 4√(KT) + 10·max{min_S(#S + √(D_S̄·log K)), 2·log K}, over sets S of
      rounds that are left out of the delay.

    With skipping and another weight (the default) no theorem is known to us, and in stochastic worlds there
    is none for any of them. What that is worth is on the page on delay in the docs: ignoring delay, as
    every other policy does, was better in all worlds but one that was built against it.

    A pull that was forgotten, or whose wait is over, counts as one whose feedback never comes. A pull that
    has waited for 65,536 rounds is skipped in any case, where pulls are skipped: so memory is bounded.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["blue", "green"], bw.DelayedTsallisINF(), seed=7)
    >>> pulls = [bandit.pull() for _ in range(20)]
    >>> for pull in pulls:
    ...     bandit.update(pull, reward=float(pull.arm == "green"))
    >>> bool(bandit.probabilities["green"] > 0.8)
    True

    References
    ----------
    J. Zimmert, Y. Seldin: An Optimal Algorithm for Adversarial Bandits with Arbitrary Delays. AISTATS 2020.
    """

    notes_draws: ClassVar[bool] = True  # but for weight 0
    fixed_arms: ClassVar[str | None] = (
        "nobody has said what arms that were asleep are to learn of late feedback"
    )

    skipping: bool = True
    _: KW_ONLY
    weight: NonNegative = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(notes_draws=self.weight > 0.0)

    def parameters(self, n_arms: int, horizon: int | None) -> Any:
        """Those of Tsallis-INF and of what counts delay; for weight 0 Tsallis-INF itself."""
        if self.weight == 0.0:
            return TsallisINF().resolve(n_arms, horizon)
        return DelayedParameters(
            half_tsallis(n_arms),
            Shannon().parameters(),
            self.weight,
            1.0 if self.skipping else 2.0,
            log_arms(n_arms),
            self.skipping,
        )


@init.register(DelayedParameters)
def _(params: DelayedParameters) -> DelayedState:
    words = WINDOW // BITS if params.skipping else 0
    state = DelayedState(init(params.ftrl), np.zeros(N_SCALARS), np.zeros(words))
    state.scalars[SOLVED] = 1.0
    return state


@before_draw.register(DelayedParameters)
def _(params: DelayedParameters, state: DelayedState, outstanding: int, awake: FloatArray) -> None:
    # pulls are counted here, not by whoever plays: of those that were made before a restart, or are no
    # longer waited for, this policy knows what the theorems want to know
    scalars = state.scalars
    if scalars[SOLVED] == 0.0:
        scalars[STATUS] = solve_ahead(params, state)
    scalars[SOLVED] = 0.0
    scalars[DRAWN] += 1.0
    scalars[DELAY] += scalars[COUNTED]
    if params.skipping:
        skip(state, math.sqrt(scalars[DELAY] / params.log_arms))
    scalars[COUNTED] += 1.0


@kernel
def solve_ahead(params: DelayedParameters, state: DelayedState) -> int:
    """The distribution of the draw to come, if nothing else arrives before it."""
    ftrl, scalars = state.ftrl, state.scalars
    delay = scalars[DELAY] + scalars[COUNTED]
    rate = math.sqrt(scalars[DRAWN] + 1.0)
    for i in range(ftrl.rates.size):
        ftrl.rates[i] = rate
    ftrl.scalars[LEARNED] = 0.0
    ftrl.scalars[DRIFT] = 0.0
    weight = params.weight * math.sqrt(params.factor * delay / params.log_arms) / rate
    hybrid = HybridParameters(params.ftrl.regularizer, params.entropy, weight)
    status = general(hybrid, ftrl.losses, ftrl.rates, 0.0, ftrl.carried, ftrl.p)
    if ftrl.carried[MULTIPLIER] > RECENTER:
        recenter(params.ftrl, ftrl)
    return status


@kernel
def skip(state: DelayedState, threshold: float) -> None:
    """Leave out the oldest pull that counts and is outstanding, if it has been so for longer than that.

    It alone can be: if a younger one were over the threshold, which does not shrink, this one would have
    been so in the round before.
    """
    scalars, answered = state.scalars, state.answered
    t = scalars[DRAWN]
    oldest = scalars[CUT] + 1.0
    while oldest < t and has_bit(answered, oldest):
        turn_bit(answered, oldest)
        oldest += 1.0
    if oldest < t and (t - oldest > threshold or t - oldest >= WINDOW - 1):
        scalars[COUNTED] -= 1.0
        oldest += 1.0
    scalars[CUT] = oldest - 1.0


@kernel(inline=True)
def has_bit(bits: FloatArray, number: float) -> bool:
    """Is the bit of this round set?"""
    place = int(number) % WINDOW
    return (int(bits[place // BITS]) >> (place % BITS)) & 1 == 1


@kernel(inline=True)
def turn_bit(bits: FloatArray, number: float) -> None:
    """Set the bit of this round, or clear it if it is set."""
    place = int(number) % WINDOW
    bits[place // BITS] = float(int(bits[place // BITS]) ^ (1 << (place % BITS)))


passes_on(DelayedParameters, act, weight_of, distribution, inspect)


@memo_of.register(DelayedParameters)
def _(params: DelayedParameters, state: DelayedState, arm: int, uniforms: FloatArray) -> float:
    return float(state.scalars[DRAWN])


@learn.register(DelayedParameters)
def _(
    params: DelayedParameters, state: DelayedState, arm: int, loss: float, weight: float, memo: float
) -> None:
    scalars = state.scalars
    if memo > scalars[CUT]:
        scalars[COUNTED] -= 1.0
        if params.skipping:
            turn_bit(state.answered, memo)
    learn(params.ftrl, state.ftrl, arm, loss, weight, 0.0)  # it never restarts


@step.register(DelayedParameters)
def _(params: DelayedParameters, state: DelayedState) -> int:
    scalars = state.scalars
    if scalars[DELAY] + scalars[COUNTED] == 0.0 and params.ftrl.n_arms > 1:
        status = step(params.ftrl, state.ftrl)
    else:
        status = solve_ahead(params, state)
    if scalars[STATUS] == FAILED:
        status = FAILED
    scalars[STATUS] = CONVERGED
    scalars[SOLVED] = 1.0
    return status
