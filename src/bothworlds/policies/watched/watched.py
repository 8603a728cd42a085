"""``bw.Watched``: a policy, and a watch over it that restarts it when the ranking of the arms has changed."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import (
    Policy,
    act,
    before_draw,
    carry_over,
    copy,
    distribution,
    draw,
    grow,
    init,
    inspect,
    learn,
    learn_absent,
    marked,
    memo_of,
    outdated,
    retire,
    step,
    weight_of,
)
from bothworlds.policies.ftrl.estimators import IMPORTANCE_WEIGHTED
from bothworlds.policies.ftrl.ftrl import FTRL, Alias
from bothworlds.policies.watched.alarm import compare_with_level
from bothworlds.policies.watched.state import (
    EXCESS,
    FAVORITE,
    GAP,
    LEFT,
    LOSS_SUM,
    N_BETS,
    N_SCALARS,
    NONE,
    RESTARTS,
    SEEN,
    SHORT_GAP,
    SINCE,
    WatchedParameters,
    WatchedState,
)
from bothworlds.policies.watched.trial import charge, mix_in_shares, try_out
from bothworlds.settings import NonNegative, Within
from bothworlds.simplex.kernel import CONVERGED


@dataclass(frozen=True, repr=False)
class Watched(Policy, name="watched"):
    """A policy that is restarted when the ranking of the arms has changed, and only then.

    Policies for fixed worlds hardly play what they hold to be bad, so after a change of the best arm they
    need about as many rounds to notice as they have played. The watch compares every loss with the level of
    its arm. If the favorite, the arm with the largest probability, has become worse, either the ranking has
    changed, or all arms have moved together, as they do with the seasons. Only trying the others tells. So a
    *trial* begins, in which the distribution is

        p' = (1 − ε)·p + ε·u

    with p that of the policy inside and u on the other arms, in proportion to how good they look. It ends in
    a restart of the policy inside (another arm is better), with the policy as it was (all have moved, or the
    favorite is back), or without result (it has cost what it may). Trying costs regret: what trials may cost
    is a share of what the policy's own exploration has cost so far, by estimate, plus 2√K; and each trial
    that ends without a restart makes the next alarm and the next restart harder. Beyond that there is a cap:
    with e = (1 − p_a/p'_a)(ℓ_a − g), an unbiased estimate of what p' costs more than p in this round, and
    X ← max{0, X + e} in trials, there is no trial while X > √(K·rounds). Here g is the mean of the losses
    seen, or 0 over policies that learn by plain importance weighting.

    The rules in full: with levels n_i, s_i (number and sum of the losses seen of an arm), a loss ℓ of an arm
    with n ≥ 30, μ = s/n, σ² = max(μ(1−μ), 1/n) and u = min(1, μ + 1.5σ/√n) moves four CUSUMs
    S ← max(0, S + log(1 + min(c/σ, 0.9/u)·(ℓ − u))), c = 0.1, 0.2, 0.4, 0.8, and four mirrored ones. An alarm
    is S ≥ 2 + log(1 + t) + q, t the rounds since the last restart, q the doubt: the number of trials without
    restart (for the mirrored ones q counts as 0, and an alarm only moves the levels). A trial ends with a
    restart if the log-likelihood ratio of an arm against the favorite reaches 4 + q + log K, or that of all
    others together 4 + q, or if it is at least 1 and the others look by 4 + q as if they had stayed as they
    were; and if the regret so far, estimated, is at most √(K·rounds). The files ``alarm.py`` and ``trial.py``
    have the rest, each constant with its reason.

    Parameters
    ----------
    policy:
        Any policy that draws from explicit probabilities: FTRL and its kin, ``EpsilonGreedy``, ``BARBAR``, …;
        not ``Thompson``, index policies, or decoupled ones.
    explore:
        ε in (0, 1): how much of a trial's rounds go to the arms that are tried.
    budget:
        What trials may cost, as a share of what the policy's own exploration has cost; 0 leaves 2√K, a
        quarter of what was won over the best fixed arm, and rare trials at growing intervals.

    Notes
    -----
    Proved: probabilities are exact at every pull, trials included, so that whatever is unbiased inside stays
    so; with feedback at once, all trials together cost at most √(KT) + 1 in expectation (ε/(1 − ε) for 1 if
    ε > ½), whatever the policy inside and the adversary; and ``Watched(TsallisINF())`` has regret at most
    7.9·√(KT) + 1 for ε = 0.4. The page "What a watch may cost" has the proofs. Only measured: all the rest.
    ``benchmarks/watched.py`` prints what is gained after a change, and what is given away in worlds without
    one.

    Not noticed: an arm that becomes better while the favorite stays what it was. The policy inside finds it
    in its own time. The watch follows an attack on the favorite in mid-run and comes back afterwards. The
    budget is not a hard cap: chance is allowed for, and rare trials come on top; √(K·rounds) is one.

    A restart forgets all but the mean of the trial's losses, for policies that use one. Feedback that was
    drawn before it and comes after it counts for the watch, not for the policy inside. Memory is twice that
    of the policy inside, and eleven numbers per arm.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.Watched(bw.LightBarrier())
    >>> bw.replay(policy, n_arms=2, arms=[0, 0, 1], losses=[1.0, 1.0, 0.0]).p[-1].round(3)
    array([0.292, 0.708])

    The best arm falls back in the middle, and another takes its place:

    >>> world = bw.environments.Switching(n_arms=5, gap=0.3)
    >>> run = bw.simulate([policy, bw.LightBarrier()], world, horizon=8000, replications=4, seed=1)
    >>> watched, plain = run.regret[:, :, -1].mean(axis=1)
    >>> bool(watched < plain - 500)
    True
    """

    marks_memos: ClassVar[bool] = True
    fixed_arms: ClassVar[str | None] = None  # or why those of the policy inside are

    policy: Policy
    _: KW_ONLY
    explore: Annotated[float, Within(above=0.0, below=1.0)] = 0.4
    budget: NonNegative = 0.15

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _can_be_watched(type(self.policy)):
            self._refuse()
        self._set(fixed_arms=self.policy.fixed_arms, notes_draws=self.policy.notes_draws)

    def _refuse(self) -> None:
        working = sorted(kind.__name__ for kind in Policy.registry.values() if _can_be_watched(kind))
        raise InvalidArgumentError(
            "policy",
            self.policy,
            "one that draws every arm it shows from explicit probabilities, and is not itself around another",
            fix=f"these do: {', '.join(working)}",
        )

    def parameters(self, n_arms: int, horizon: int | None) -> WatchedParameters:
        """Those of the policy inside, ε and the budget."""
        policy = self.policy.resolve(n_arms, horizon)
        if math.isnan(weight_of(policy, init(policy), 0)):
            self._refuse()
        return WatchedParameters(
            policy, self.explore, self.budget, n_arms, not _weighs_importance(self.policy, n_arms, horizon)
        )


def _can_be_watched(kind: type[Policy]) -> bool:
    return kind.explicit and not (kind.decoupled or kind.in_blocks or kind.marks_memos)


def _weighs_importance(policy: Policy, n_arms: int, horizon: int | None) -> bool:
    """Are the estimates inside 1[i = a]·ℓ/p_i? Then those of the watch are to be the same."""
    ftrl = policy.ftrl(n_arms, horizon) if isinstance(policy, Alias) else policy
    return isinstance(ftrl, FTRL) and ftrl.estimator == IMPORTANCE_WEIGHTED and ftrl.predictions is None


@init.register(WatchedParameters)
def _(params: WatchedParameters) -> WatchedState:
    n = params.n_arms
    state = WatchedState(
        policy=init(params.policy),
        fresh=init(params.policy),
        counts=np.zeros(n),
        sums=np.zeros(n),
        recent_counts=np.zeros(n),
        recent_sums=np.zeros(n),
        seen_in=np.zeros(n),
        wealths=np.ones(N_BETS),
        run_counts=np.zeros(N_BETS),
        run_sums=np.zeros(N_BETS),
        trial_counts=np.zeros(n),
        trial_sums=np.zeros(n),
        shares=np.zeros(n),
        before=np.zeros(n),
        estimates=np.zeros(n),
        p=np.zeros(n),
        scalars=np.zeros(N_SCALARS),
    )
    state.scalars[GAP] = SHORT_GAP
    state.scalars[LEFT] = state.scalars[FAVORITE] = NONE
    return state


@before_draw.register(WatchedParameters, inline=True)
def _(params: WatchedParameters, state: WatchedState, outstanding: int, awake: FloatArray) -> None:
    before_draw(params.policy, state.policy, outstanding, awake)


@act.register(WatchedParameters, inline=True)
def _(params: WatchedParameters, state: WatchedState, uniforms: FloatArray) -> int:
    if state.scalars[FAVORITE] != NONE:
        return draw(state.p, uniforms[0])
    return act(params.policy, state.policy, uniforms)


@weight_of.register(WatchedParameters, inline=True)
def _(params: WatchedParameters, state: WatchedState, arm: int) -> float:
    if state.scalars[FAVORITE] != NONE:
        return float(state.p[arm])
    return weight_of(params.policy, state.policy, arm)


@distribution.register(WatchedParameters)
def _(params: WatchedParameters, state: WatchedState, out: FloatArray) -> None:
    if state.scalars[FAVORITE] != NONE:
        copy(state.p, out)
    else:
        distribution(params.policy, state.policy, out)


@memo_of.register(WatchedParameters, inline=True)
def _(params: WatchedParameters, state: WatchedState, arm: int, uniforms: FloatArray) -> float:
    return marked(memo_of(params.policy, state.policy, arm, uniforms), state.scalars[RESTARTS])


@learn.register(WatchedParameters, inline=True)
def _(
    params: WatchedParameters, state: WatchedState, arm: int, loss: float, weight: float, memo: float
) -> None:
    scalars = state.scalars
    reference = (0.5 + scalars[LOSS_SUM]) / (1.0 + scalars[SEEN]) if params.centered else 0.0
    deviation = loss - reference
    if scalars[FAVORITE] != NONE:
        charge(params, state, arm, deviation)
    if not outdated(memo, scalars[RESTARTS]):
        learn(params.policy, state.policy, arm, loss, weight, marked(memo, 0.0))
    scalars[LOSS_SUM] += loss
    scalars[SEEN] += 1.0
    scalars[SINCE] += 1.0
    scalars[EXCESS] += deviation
    state.estimates[arm] += deviation / weight
    if scalars[FAVORITE] != NONE:
        try_out(params, state, arm, loss)
    else:
        compare_with_level(params, state, arm, loss)


@step.register(WatchedParameters, inline=True)
def _(params: WatchedParameters, state: WatchedState) -> int:
    status = step(params.policy, state.policy)
    if state.scalars[FAVORITE] != NONE:
        mix_in_shares(params, state)
    return status


@learn_absent.register(WatchedParameters)
def _(
    params: WatchedParameters, state: WatchedState, before: WatchedState, awake: FloatArray, loss: float
) -> int:
    deviation = state.scalars[EXCESS] - before.scalars[EXCESS]  # the learner's own
    for i in range(params.n_arms):
        if awake[i] == 0.0:
            state.estimates[i] += deviation
    if state.scalars[RESTARTS] != before.scalars[RESTARTS]:
        return CONVERGED
    status = learn_absent(params.policy, state.policy, before.policy, awake, loss)
    if state.scalars[FAVORITE] != NONE:
        mix_in_shares(params, state)
    return status


@grow.register(WatchedParameters)
def _(params: WatchedParameters, state: WatchedState) -> WatchedState:
    grown: WatchedState = init(params)._replace(
        policy=grow(params.policy, state.policy), fresh=grow(params.policy, state.fresh)
    )
    carry_over(state[2:], grown[2:])
    grown.estimates[-1] = state.scalars[EXCESS]
    return grown


@retire.register(WatchedParameters)
def _(params: WatchedParameters, state: WatchedState, arm: int) -> None:
    for inside in (state.policy, state.fresh):
        retire(params.policy, inside, arm)
    state.shares[arm] = 0.0
    if state.scalars[FAVORITE] == arm or not state.shares.any():
        state.scalars[FAVORITE] = NONE  # nothing is left to try


@inspect.register(WatchedParameters)
def _(
    params: WatchedParameters, state: WatchedState, out_rates: FloatArray, out_estimates: FloatArray
) -> None:
    inspect(params.policy, state.policy, out_rates, out_estimates)
